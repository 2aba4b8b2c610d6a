"""Every spelling stands in upstream's source today, or its row says since when it is gone.

Needs `MESHLINT_UPSTREAM`, a folder of checkouts named Megatron-LM, Megatron-Bridge, verl, RL, slime, ms-swift, NeMo,
ROLL and AReaL; skips without.
"""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from meshlint.config.framework import Spelling
from meshlint.config.registry import framework

GONE = ("gone in", "before 0.", "deprecated since", "new name since", "custom in 0.", "core_v0.14.0", "before 0.6")
"""What a row's source says of a key that is no longer there."""


def home(name: str) -> Path:
    folder = os.environ.get("MESHLINT_UPSTREAM")
    path = Path(folder or "", name)
    if not folder or not path.is_dir():
        pytest.skip(f"MESHLINT_UPSTREAM names no folder with a checkout of {name}")
    return path


def words(node: ast.AST) -> Iterator[str]:
    """Give the names that a piece of Python declares: fields, arguments of functions, flags."""
    for part in ast.walk(node):
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            yield part.target.id
        elif isinstance(part, ast.arg):
            yield part.arg
        elif isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.startswith("--"):
            yield part.value.removeprefix("--").replace("-", "_")


@cache
def python(*files: Path) -> frozenset[str]:
    found: set[str] = set()
    for file in files:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.update(words(ast.parse(file.read_text(errors="replace"))))
    return frozenset(found)


@cache
def yaml_keys(*files: Path) -> frozenset[str]:
    lines = (line for file in files for line in file.read_text(errors="replace").splitlines())
    return frozenset(line.split(":")[0].strip("- #'\"") for line in lines if ":" in line)


def every(folder: Path, pattern: str) -> tuple[Path, ...]:
    return tuple(sorted(p for p in folder.rglob(pattern) if p.is_file()))


def core() -> frozenset[str]:
    base = home("Megatron-LM") / "megatron" / "core"
    return python(
        base / "model_parallel_config.py",
        base / "transformer/transformer_config.py",
        base / "distributed/distributed_data_parallel_config.py",
        base / "optimizer/optimizer_config.py",
    )


def megatron() -> frozenset[str]:
    training = home("Megatron-LM") / "megatron" / "training"
    return core() | python(training / "arguments.py", *every(training / "config", "*.py"))


def bridge() -> frozenset[str]:
    base = home("Megatron-Bridge") / "src/megatron/bridge"
    files = (*every(base / "training", "*.py"), *every(base / "data", "*.py"), *every(base / "models", "*provider*.py"))
    return megatron() | python(*files)


def verl() -> frozenset[str]:
    return core() | yaml_keys(*every(home("verl") / "verl/trainer/config", "*.yaml"))


def nemo_rl() -> frozenset[str]:
    base = home("RL")
    return (
        core()
        | python(*every(base / "nemo_rl/models", "*.py"))
        | yaml_keys(*every(base / "examples/configs", "*.yaml"))
    )


def slime() -> frozenset[str]:
    base = home("slime") / "slime"
    return megatron() | python(base / "utils/arguments.py", base / "backends/megatron_utils/arguments.py")


def swift() -> frozenset[str]:
    return python(*every(home("ms-swift") / "swift" / "megatron" / "arguments", "*.py")) | python(
        *every(home("ms-swift") / "swift" / "arguments", "*.py")
    )


def nemo2() -> frozenset[str]:
    base = home("NeMo") / "nemo"
    return core() | python(*every(base / "lightning", "*.py"), *every(base / "collections/llm/gpt", "*.py"))


def roll() -> frozenset[str]:
    base = home("ROLL")
    return core() | python(
        *every(base / "roll/configs", "*.py"), *every(base / "mcore_adapter/src", "training_args.py")
    )


def areal() -> frozenset[str]:
    return python(*every(home("AReaL") / "areal/api", "*.py"))


UPSTREAM: dict[str, Callable[[], frozenset[str]]] = {
    "megatron-lm": megatron,
    "megatron-bridge": bridge,
    "verl": verl,
    "nemo-rl": nemo_rl,
    "slime": slime,
    "ms-swift": swift,
    "nemo2": nemo2,
    "roll": roll,
    "areal": areal,
}


def missing(spelling: Spelling, there: frozenset[str]) -> list[str]:
    return [key for key in spelling.keys if key.rsplit(".", 1)[-1].rsplit("}", 1)[-1] not in there]


@pytest.mark.parametrize("name", UPSTREAM)
def test_spellings_stand_upstream(name: str) -> None:
    there = UPSTREAM[name]()
    rows = [(s, missing(s, there)) for s in framework(name).spellings]
    assert [keys for row, keys in rows if keys and not any(word in row.source for word in GONE)] == []


@pytest.mark.parametrize("name", ["megatron-lm", "megatron-bridge", "slime"])
def test_a_row_that_says_gone_is_gone(name: str) -> None:
    there = UPSTREAM[name]()
    said = [s for s in framework(name).spellings if "gone in" in s.source]
    assert [s.keys for s in said if not missing(s, there)] == []
