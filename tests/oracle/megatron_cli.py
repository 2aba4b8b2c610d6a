"""Asks Megatron-LM's own `parse_args`, `validate_args` and `TransformerConfig` whether they accept a command line.

Runs under a Python that has torch (a CPU build will do) with a checkout of Megatron-LM, never in meshlint's own
process:

    python tests/oracle/megatron_cli.py CHECKOUT < questions.jsonl > answers.jsonl

A question is {"id", "argv", "env", "world", "te"}; its answer {"id", "accepted", "stage", "error", "where"}. `where` is
the file and line that refused. The validators stop at their first complaint and build no process groups.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import importlib.abc
import importlib.machinery
import io
import json
import os
import sys
import traceback
import types
import typing
from typing import Any

BASE_ENVIRONMENT = {
    "RANK": "0",
    "LOCAL_RANK": "0",
    "NCCL_ALGO": "Ring",
    "NVTE_ALLOW_NONDETERMINISTIC_ALGO": "0",
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    "CUDA_DEVICE_MAX_CONNECTIONS": "1",
}
STUBBED = ("triton",)


class Anything(types.ModuleType):
    """A module, class and function in one: whatever is asked of it is there and does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Anything(f"{self.__name__}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return args[0] if len(args) == 1 and callable(args[0]) else Anything("call")

    def __getitem__(self, key: Any) -> Any:
        return Anything("item")

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (object,)


class Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a stub for every GPU-only module that the validators import but never use."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name.split(".")[0] not in STUBBED:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> types.ModuleType:
        module = Anything(spec.name)
        module.__path__ = []
        module.__version__ = "3.0.0"
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Leave the stub as it is."""


def prepare(checkout: str) -> Any:
    """Make torch look like a machine with H100s and import the validators; give the arguments module."""
    import torch

    # Imported before the stubs: torch must not believe that triton is there.
    for name in ("_dynamo", "_inductor.config", "utils.flop_counter", "_functorch.aot_autograd", "nn.attention"):
        importlib.import_module(f"torch.{name}")

    if not hasattr(typing, "override"):
        typing.override = lambda f: f  # type: ignore[attr-defined]
    sys.meta_path.insert(0, Stubs())
    properties = types.SimpleNamespace(major=9, minor=0, name="NVIDIA H100", total_memory=80 * 2**30)
    torch.cuda.is_available = lambda: True
    torch.cuda.device_count = lambda: 8
    torch.cuda.current_device = lambda: 0
    torch.cuda.get_device_capability = lambda *a, **k: (9, 0)
    torch.cuda.get_device_properties = lambda *a, **k: properties
    sys.path.insert(0, checkout)
    from megatron.training import arguments

    build_parser_once(arguments)
    arguments._print_args = lambda *a, **k: None
    return arguments


def build_parser_once(arguments: Any) -> None:
    """Keep the parser, which otherwise is most of the time that a question takes."""
    made: list[Any] = []
    build = arguments.add_megatron_arguments

    def once(parser: Any) -> Any:
        if not made:
            made.append(with_extra(build(parser)))
        return made[0]

    arguments.add_megatron_arguments = once


def with_extra(parser: Any) -> Any:
    """Add the ModelOpt arguments where they import."""
    try:
        from megatron.post_training.arguments import add_modelopt_args
    except BaseException:
        return parser
    return add_modelopt_args(parser)


def pretend(te: str) -> None:
    """Pretend a Transformer Engine version and an architecture in every loaded megatron module."""
    from packaging.version import Version

    replacements: dict[str, Any] = {
        "get_te_version": lambda: Version(te),
        "is_te_min_version": lambda wanted, check_equality=True: (
            Version(te) >= Version(wanted) if check_equality else Version(te) > Version(wanted)
        ),
        "get_device_arch_version": lambda: 9,
        "is_flash_attn_min_version": lambda *a, **k: True,
    }
    fused = (
        "fused_permute",
        "fused_permute_with_probs",
        "fused_unpermute",
        "fused_sort_chunks_by_index",
        "fused_sort_chunks_by_index_with_probs",
        "fused_apply_rotary_pos_emb",
    )
    for holder in ("megatron.core.transformer.moe.moe_utils", "megatron.core.extensions.transformer_engine"):
        with contextlib.suppress(ImportError):
            vars(importlib.import_module(holder)).update({name: lambda *a, **k: None for name in fused})
    for name, module in list(sys.modules.items()):
        if not name.startswith("megatron") or module is None:
            continue
        for attribute, value in replacements.items():
            if attribute in vars(module):
                setattr(module, attribute, value)
        for attribute in fused:
            if attribute in vars(module) and getattr(module, attribute) is None:
                setattr(module, attribute, lambda *a, **k: None)


def ask(arguments: Any, question: dict[str, Any]) -> dict[str, Any]:
    """Give the answer to one question."""
    os.environ.clear()
    os.environ.update(START | BASE_ENVIRONMENT | question.get("env", {}))
    os.environ["WORLD_SIZE"] = str(question["world"])
    wanted = (question.get("te", "2.8.0"), len(sys.modules))
    if wanted not in PRETENDED:
        pretend(wanted[0])
        PRETENDED[:] = [(wanted[0], len(sys.modules))]
    sys.argv = ["pretrain_gpt.py", *question["argv"]]
    noise = io.StringIO()
    stage = "parse"
    try:
        with contextlib.redirect_stdout(noise), contextlib.redirect_stderr(noise):
            parsed = arguments.parse_args(ignore_unknown_args=False)
            vars(parsed).update({k: copy.copy(v) for k, v in vars(parsed).items() if isinstance(v, list | dict)})
            stage = "validate"
            arguments.validate_args(parsed, {})
            stage = "config"
            arguments.core_transformer_config_from_args(parsed)
    except SystemExit:
        return answer(question, stage, noise.getvalue().strip().splitlines()[-1:] or [""], "argparse")
    except BaseException as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "megatron" in f.filename]
        where = f"{frames[-1].filename.split('megatron/', 1)[-1]}:{frames[-1].lineno}" if frames else ""
        return answer(question, stage, [f"{type(error).__name__}: {error}"], where)
    return {"id": question["id"], "accepted": True, "stage": "", "error": "", "where": ""}


def answer(question: dict[str, Any], stage: str, lines: list[str], where: str) -> dict[str, Any]:
    """Make a refusal."""
    return {"id": question["id"], "accepted": False, "stage": stage, "error": lines[0][:400], "where": where}


PRETENDED: list[tuple[str, int]] = []
"""The Transformer Engine version that the loaded modules were told, and how many modules those were."""

START = dict(os.environ)


def main() -> None:
    """Answer every question on standard input."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever the validators print goes elsewhere
    arguments = prepare(sys.argv[1])
    for line in sys.stdin:
        out.write(json.dumps(ask(arguments, json.loads(line))) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
