"""Cases that run megatron-core alone: its groups and its config classes, on gloo too."""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Depth, Happens, fixed

MEGATRON_NEEDS = ("megatron.core",)
MEGATRON_RUNS = "megatron-core's own code"

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


def config_case(name: str, says: str, failing: str, right: str, error: str, layers: int = 2) -> Case:
    """Give a case of `TransformerConfig`, with the arguments of both arms beside its smallest ones."""
    plain = f"num_layers={layers}, hidden_size=64, num_attention_heads=4"
    bad, good = (CONFIG.format(words=f"{plain}, {words}", layers=layers) for words in (failing, right))
    return _case(name, says, 1, bad, good, error)


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
) -> Case:
    """Give a case of megatron-core's own code, with both arms as programs."""
    return Case(
        name,
        says,
        world,
        Arm(failing, happens, error=error),
        fixed(right),
        depths=depths,
        needs=MEGATRON_NEEDS,
        prelude=prelude,
        runs=runs,
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
