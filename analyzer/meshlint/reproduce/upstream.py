"""Cases that run megatron-core alone, on gloo too: its groups, its config classes, and the check of its arguments.

Wheels from 0.17 on carry `megatron/training`, whose `parse_args` and `validate_args` are what Megatron-LM's own
programs begin with; a checkout on PYTHONPATH does as well.
"""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Depth, Happens, fixed

MEGATRON_NEEDS = ("megatron.core",)
MEGATRON_RUNS = "megatron-core's own code"

ARGUMENTS_NEEDS = ("megatron.training.arguments",)
ARGUMENTS_RUNS = "Megatron-LM's own parser and check of arguments"
ARGUMENTS = '''\
import contextlib
import io
import os
import sys
from types import SimpleNamespace

import torch
from megatron.training.arguments import core_transformer_config_from_args, parse_args, validate_args

if not torch.cuda.is_available():  # then the check asks about a GPU before Blackwell
    torch.cuda.get_device_properties = lambda *device: SimpleNamespace(major=9, minor=0)
    torch.cuda.get_device_capability = lambda *device: (9, 0)

def read(flags, connections=1):
    """Read a command line as rank 0 of 2 does in pretrain_gpt.py: these flags beside a small model's."""
    os.environ |= {"RANK": "0", "WORLD_SIZE": "2", "CUDA_DEVICE_MAX_CONNECTIONS": str(connections)}
    model = "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --micro-batch-size 1"
    sizes = "--seq-length 16 --max-position-embeddings 16"
    sys.argv = ["pretrain_gpt.py", *f"{model} {sizes} {flags}".split()]
    with contextlib.redirect_stdout(io.StringIO()):  # its table of all arguments
        return validate_args(parse_args(), {})
'''
WITHOUT_GPUS = """\
if not torch.cuda.is_available():  # then what megatron-core makes on a GPU lies on the CPU
    torch.cuda.current_device = lambda: "cpu"
"""
LAYER_WITHOUT_GPUS = f"""{WITHOUT_GPUS}\
    torch.cuda.get_rng_state = lambda *device: torch.get_rng_state()
    torch.cuda.set_rng_state = lambda state, *device: torch.set_rng_state(state)
    torch.nn.Module.cuda = lambda self: self
"""
SCHEDULE_WITHOUT_GPUS = f"""{WITHOUT_GPUS}\
    zeros, torch.cuda.synchronize = torch.zeros, lambda *device: None
    torch.zeros = lambda *size, device=None, **more: zeros(*size, **more)
"""
"""Lines after which a layer of megatron-core, and its schedule, run on a machine without GPUs too."""

GROUPS = """\
from megatron.core import parallel_state

parallel_state.destroy_model_parallel()
parallel_state.initialize_model_parallel({words})
check("ranks", dist.get_world_size(parallel_state.get_model_parallel_group()) >= 1, True)
"""
CONFIG = """\
from megatron.core.transformer.transformer_config import TransformerConfig

config = TransformerConfig({words})
check("layers", config.num_layers, {layers})
"""


def groups_case(name: str, says: str, failing: str, right: str, error: str, world: int = 2) -> Case:
    """Give a case of `initialize_model_parallel`, with the arguments of both arms as they are written."""
    return _case(name, says, world, GROUPS.format(words=failing), GROUPS.format(words=right), error)


def config_case(
    name: str, says: str, failing: str, right: str, error: str, layers: int = 2, releases: str = ""
) -> Case:
    """Give a case of `TransformerConfig`, with the arguments of both arms beside its smallest ones."""
    plain = f"num_layers={layers}, hidden_size=64, num_attention_heads=4"
    bad, good = (CONFIG.format(words=f"{plain}, {words}", layers=layers) for words in (failing, right))
    return core_case(name, says, bad, good, error, releases=releases)


def core_case(
    name: str,
    says: str,
    failing: str,
    right: str,
    error: str = "",
    *,
    world: int = 1,
    happens: Happens = Happens.CRASH,
    depths: tuple[Depth, ...] = (Depth.CPU, Depth.GPU),
    runs: str = MEGATRON_RUNS,
    prelude: str = "",
    releases: str = "",
    fresh: bool = False,
) -> Case:
    """Give a case of megatron-core's own code, with both arms as programs; `releases` is a specifier of its own."""
    return Case(
        name,
        says,
        world,
        Arm(failing, happens, error=error),
        fixed(right),
        depths=depths,
        needs=MEGATRON_NEEDS,
        releases={"megatron.core": releases} if releases else {},
        prelude=prelude,
        runs=runs,
        alike=True,
        fresh=fresh,
    )


def arguments_case(
    name: str, says: str, failing: str, right: str, error: str = "", happens: Happens = Happens.CRASH
) -> Case:
    """Give a case of Megatron-LM's own check of a command line; both arms call `read` with flags."""
    return Case(
        name,
        says,
        1,
        Arm(failing, happens, error=error),
        fixed(right),
        depths=(Depth.CPU, Depth.GPU),
        needs=ARGUMENTS_NEEDS,
        prelude=ARGUMENTS,
        runs=ARGUMENTS_RUNS,
        alike=True,
    )


def extracted_case(
    name: str, says: str, failing: str, right: str, runs: str, *, world: int = 1, happens: Happens = Happens.WRONG,
    error: str = "", prelude: str = "", depths: tuple[Depth, ...] = (Depth.SIMULATE, Depth.CPU),
) -> Case:  # fmt: skip
    """Give a case of arithmetic or of a check that was cut out of a library; `runs` names it."""
    return Case(
        name, says, world, Arm(failing, happens, error=error), fixed(right), depths, prelude=prelude, runs=runs,
        alike=True,
    )  # fmt: skip


def _case(name: str, says: str, world: int, failing: str, right: str, error: str) -> Case:
    return core_case(name, says, failing, right, error, world=world)
