"""What shows PAR009."""

from __future__ import annotations

from meshlint.reproduce.case import Case, Happens, Own, Reproducer
from meshlint.reproduce.own import Sizes, told
from meshlint.reproduce.upstream import core_case, extracted_case

DEGREES = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size",
           "expert_model_parallel_size", "expert_tensor_parallel_size")  # fmt: skip
BATCHES = ("global_batch_size", "micro_batch_size")
MODEL = ("num_layers", "num_attention_heads", "hidden_size")

GROUPED = """\
from megatron.core import parallel_state

parallel_state.destroy_model_parallel()
parallel_state.initialize_model_parallel({name}={size})
check("ranks of the group", dist.get_world_size(parallel_state.get_{group}_group()), 1)
"""
COUNTED = """\
from megatron.core.num_microbatches_calculator import ConstantNumMicroBatchesCalculator

counter = ConstantNumMicroBatchesCalculator({global_batch_size}, {micro_batch_size}, 2, False, 0)
check("micro-batches in a step", counter.get(), 6)
"""
ROUNDED = """\
batch, micro, ranks = {global_batch_size}, {micro_batch_size}, 2
count = batch // (micro * ranks)
assert count >= 1, f"{{count}} micro-batches in a step"
check("micro-batches in a step", float(count), 6)
"""
DIVIDED = """\
ranks, size = 2, {size}
groups = [[size * at + one for one in range(size)] for at in range(ranks // size)]
assert any(rank in group for group in groups), "this rank is in no group"
check("groups", float(len(groups)), 2)
"""
BUILT = """\
from megatron.core import parallel_state
from megatron.core.transformer.dot_product_attention import DotProductAttention
from megatron.core.transformer.enums import AttnMaskType
from megatron.core.transformer.transformer_config import TransformerConfig

parallel_state.destroy_model_parallel()
parallel_state.initialize_model_parallel()
config = TransformerConfig(
    num_layers={num_layers}, hidden_size={hidden_size}, num_attention_heads={num_attention_heads})
core = DotProductAttention(config, 1, AttnMaskType.causal, "self")
check("heads of the layer", core.num_attention_heads_per_partition, 4)
"""
SCALED = """\
layers, hidden, heads = {num_layers}, {hidden_size}, {num_attention_heads}
deviation, scale = (2.0 * layers) ** -0.5, (hidden // heads) ** -0.5
assert isinstance(deviation, float) and isinstance(scale, float), "the root of a negative number"
check("heads", float(heads), 4)
"""
RIGHT = {"num_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "global_batch_size": 12, "micro_batch_size": 1}


def of(name: str, value: int) -> tuple[Case, ...]:
    """Make the cases of one field: by megatron-core, and by what was extracted of it."""
    case = name.removesuffix("_size").replace("_model", "").replace("_", "-")
    if name in DEGREES:
        says = f"groups of {value} ranks by {name}"
        wrong, right = (GROUPED.format(name=name, size=size, group=name.removesuffix("_size")) for size in (value, 1))
        core = core_case(case, says, wrong, right, "Error", world=2)
        cut = "the division of megatron-core's groups, one of which a rank must be in"
        return core, _extracted(case, says, DIVIDED.format(size=value), DIVIDED.format(size=1), cut, world=2)
    says = f"{name} {value} (failing) and {RIGHT[name]} (fixed)"
    real, plain = (COUNTED, ROUNDED) if name in BATCHES else (BUILT, SCALED)
    bad = RIGHT | {name: value}
    cut = "megatron-core's count of micro-batches" if name in BATCHES else "the arithmetic of megatron-core's config"
    return (
        core_case(case, says, real.format(**bad), real.format(**RIGHT), "Error"),
        _extracted(case, says, plain.format(**bad), plain.format(**RIGHT), f"{cut}, extracted"),
    )


def _extracted(name: str, says: str, failing: str, right: str, runs: str, world: int = 1) -> Case:
    return extracted_case(name, says, failing, right, runs, world=world, happens=Happens.CRASH, error="Error")


def own(sizes: Sizes) -> Own | None:
    """Make the cases of the field that a finding is about, with its own value."""
    name = str(sizes.get("subject"))
    value = sizes.get(name)
    if name not in (*DEGREES, *BATCHES, *MODEL) or not isinstance(value, int) or value > 0:
        return None
    small = max(value, -64)
    return Own(of(name, small), told({name: value}, {name: (value, small)}))


REPRODUCER = Reproducer(
    "PAR009", (*of("tensor_model_parallel_size", 0), *of("micro_batch_size", 0), *of("num_layers", 0)), own=own
)
