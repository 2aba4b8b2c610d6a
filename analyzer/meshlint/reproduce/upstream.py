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


def _case(name: str, says: str, world: int, failing: str, right: str, error: str) -> Case:
    return Case(
        name,
        says,
        world,
        Arm(failing, Happens.CRASH, error=error),
        fixed(right),
        depths=(Depth.CPU, Depth.GPU),
        needs=MEGATRON_NEEDS,
        runs=MEGATRON_RUNS,
        alike=True,
    )
