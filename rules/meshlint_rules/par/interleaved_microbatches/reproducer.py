"""What shows PAR011: checks of megatron-core's own schedule."""

from __future__ import annotations

from meshlint.reproduce.case import Case, Happens, Own, Reproducer
from meshlint.reproduce.own import MOST, Sizes, data_parallel, numbers, told
from meshlint.reproduce.upstream import SCHEDULE_WITHOUT_GPUS, core_case, extracted_case
from meshlint.words import plural

PP, GROUP = "pipeline_model_parallel_size", "microbatch_group_size_per_vp_stage"

SCHEDULED = f"""{SCHEDULE_WITHOUT_GPUS}\
from megatron.core import parallel_state
from megatron.core.enums import ModelType
from megatron.core.pipeline_parallel.schedules import forward_backward_pipelining_with_interleaving
from megatron.core.transformer.transformer_config import TransformerConfig

class Chunk(torch.nn.Module):  # adds one, so that the loss is the number of chunks
    def __init__(self, config):
        super().__init__()
        self.config, self.given, self.model_type = config, None, ModelType.encoder_or_decoder

    def set_input_tensor(self, tensor):
        self.given = tensor[0] if isinstance(tensor, list) else tensor

    def forward(self):
        return (torch.zeros(8, 1, 8) if self.given is None else self.given) + 1

def step(batches, model):
    return model(), lambda out: (out.mean(), {{"loss": out.mean().item()}})

def train(group, count):
    sizes = dict(pipeline_model_parallel_size=world, virtual_pipeline_model_parallel_size=2)
    parallel_state.destroy_model_parallel()
    parallel_state.initialize_model_parallel(**sizes)
    config = TransformerConfig(
        num_layers=2 * world, hidden_size=8, num_attention_heads=4, pipeline_dtype=torch.float32, **sizes,
        microbatch_group_size_per_vp_stage=group)
    losses = forward_backward_pipelining_with_interleaving(
        forward_step_func=step, data_iterator=[None, None], model=[Chunk(config), Chunk(config)],
        num_microbatches=count, seq_length=8, micro_batch_size=1, forward_only=True)
    check("micro-batches of the last stage", len(losses), count * (rank == world - 1))
    for loss in losses:
        check("loss", loss["loss"], 2.0 * world)
"""

CHECKED = """\
stages, group, count = {pp}, {group}, {count}
if not stages <= group <= count:
    raise ValueError(f"M = {{count}} in groups of {{group}} on {{stages}} stages")
if 0 < count % group < stages:
    raise RuntimeError(f"a last group of {{count % group}} on {{stages}} stages")
check("micro-batches", float(count), {count})
"""
CUT = "the check of megatron-core's schedule, extracted (schedules.py:995-1015 at core_v0.16.1)"


def kind(pp: int, group: int, count: int) -> str:
    """Say which check refuses a step, by the names of the rule's cases; "" where none does."""
    if group < pp:
        return "group-below-pp"
    if group > count:
        return "fewer-than-a-group"
    return "last-group" if 0 < count % group < pp else ""


def fewest(pp: int, group: int, count: int) -> tuple[int, int, int] | None:
    """Give the smallest pipeline, group and number of micro-batches that are refused alike, and none larger."""
    sizes = ((p, g, c) for p in range(2, min(pp, MOST) + 1) for g in range(1, group + 1) for c in range(1, count + 1))
    return next((one for one in sizes if kind(*one) == kind(pp, group, count)), None)


def of(pp: int, group: int, count: int) -> tuple[Case, ...]:
    """Make the cases of a step: by the schedule, and by its check alone."""
    right, name = max(group, pp), kind(pp, group, count)
    whole = -(-count // right) * right
    says = (
        f"{plural(count, 'micro-batch')} in groups of {group} (failing) and {whole} in groups of {right} (fixed) on "
        f"{pp} stages of two chunks"
    )
    failing, fixed = (f"train(group={g}, count={c})\n" for g, c in ((group, count), (right, whole)))
    bare, good = (CHECKED.format(pp=pp, group=g, count=c) for g, c in ((group, count), (right, whole)))
    return (
        core_case(name, says, failing, fixed, world=pp, prelude=SCHEDULED, fresh=True, releases=">=0.10"),
        extracted_case(name, says, bare, good, CUT, happens=Happens.CRASH, error="stages"),
    )


def own(sizes: Sizes) -> Own | None:
    """Make the cases of a launch's micro-batches, as megatron-core groups them from 0.10 on."""
    found, dp = numbers(sizes, "global_batch_size", "micro_batch_size", PP), data_parallel(sizes)
    if found is None or dp is None or found[0] % (found[1] * dp):
        return None
    pp, count = found[2], found[0] // (found[1] * dp)
    group = (numbers(sizes, GROUP) or (pp,))[0]
    few = fewest(pp, group, min(count, 1 << 12)) if kind(pp, group, count) and group < 1 << 12 else None
    if few is None:
        return None
    words = {PP: pp, "micro-batches": count, "in groups of": group}
    shrunk = {PP: (pp, few[0]), "in groups of": (group, few[1]), "micro-batches": (count, few[2])}
    return Own(of(*few), told(words, shrunk))


REPRODUCER = Reproducer("PAR011", (*of(2, 2, 3), *of(2, 1, 4), *of(2, 2, 1)), own=own)
