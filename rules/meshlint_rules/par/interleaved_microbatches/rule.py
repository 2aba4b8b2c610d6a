"""PAR011: micro-batches that the interleaved schedule cannot group."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.batches import GLOBAL, MICRO, per_step
from meshlint.config.sizes import launched, positive, replica
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict, Window

GROUPED = Window(
    "megatron-core",
    since="0.10",
    says="micro-batches run in groups of microbatch_group_size_per_vp_stage; before it they are a multiple of pp",
    source="megatron/core/pipeline_parallel/schedules.py:645-665 at core_v0.10.0; :631 at core_v0.9.0",
)
GROUP = "microbatch_group_size_per_vp_stage"
PP = "pipeline_model_parallel_size"
VPP = "virtual_pipeline_model_parallel_size"


class InterleavedMicrobatches(LaunchRule):
    """A number of micro-batches that the interleaved pipeline schedule refuses.

    ## What it does

    Counts the micro-batches M of a step, `global_batch_size / (micro_batch_size * data parallel size)`, where vpp is
    above 1. Before megatron-core 0.10, M has to be a multiple of pp. From 0.10 on they run in groups of g =
    `microbatch_group_size_per_vp_stage` (pp where nobody sets it): g has to be from pp to M, and a last group that is
    not whole has to hold pp micro-batches or more.

    ## Why this is bad

    The schedule checks it in the first step, after the model is built and the data is loaded: a ValueError or a
    RuntimeError on every rank.

    ## Example

    ```bash
    torchrun --nproc-per-node 8 pretrain_gpt.py --pipeline-model-parallel-size 4 --global-batch-size 12 \\
        --micro-batch-size 1 --num-virtual-stages-per-pipeline-rank 2
    ```

    ## Use instead

    ```bash
    torchrun --nproc-per-node 8 pretrain_gpt.py --pipeline-model-parallel-size 4 --global-batch-size 16 \\
        --micro-batch-size 1 --num-virtual-stages-per-pipeline-rank 2
    ```

    ## References/versions
    """

    code = "PAR011"
    slug = "interleaved-microbatches"
    outcomes = (Outcome.CRASH_LATE,)
    windows = (GROUPED,)
    references = (
        Reference("megatron/core/pipeline_parallel/schedules.py:995-1015 at core_v0.16.1; :613 at core_v0.8.0"),
        Reference("megatron/core/pipeline_parallel/schedules.py:1133-1153 at core_v0.19.0"),
        Reference("megatron/core/model_parallel_config.py:343 at core_v0.16.1, the group is pp where nobody sets it"),
    )
    frameworks = ("megatron-lm", "megatron-bridge", "nemo2", "ms-swift")

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask for vpp first: most pipelines are not interleaved."""
        vpp = config.data(VPP)
        if not isinstance(vpp, int) or vpp <= 1 or config.number(PP) <= 1 or _cut_otherwise(config):
            return
        step = per_step(config)
        if step is None or step.whole % (step.micro * step.replicas):
            return
        pp, count = positive(config, PP), step.whole // (step.micro * step.replicas)
        if not config.within(GROUPED):
            if count % pp:
                yield _verdict(
                    config, count, f"not a multiple of {PP} = {pp}", _multiple(pp, step.micro * step.replicas)
                )
            return
        given = config.data(GROUP)
        group = given if isinstance(given, int) else pp
        wrong = _refused(count, group, pp)
        if wrong:
            yield _verdict(config, count, wrong, _multiple(max(group, pp), step.micro * step.replicas))


def _cut_otherwise(config: EffectiveConfig) -> bool:
    """Say whether a step's micro-batches are not those of the global batch: rollouts, or packed by length."""
    return config.launch.find("perform_rl_step") is not None or bool(config.data("hybrid_context_parallel"))


def _refused(count: int, group: int, pp: int) -> str:
    """Say why the schedule refuses a number of micro-batches; empty where it does not."""
    if group < pp:
        return f"and a group of {group} ({GROUP}) is smaller than {PP} = {pp}"
    if group > count:
        return f"fewer than a group of {group}" + (f" ({GROUP})" if group != pp else f", which is {PP}")
    if 0 < count % group < pp:
        return f"which leaves a last group of {count % group}, smaller than {PP} = {pp}, after groups of {group}"
    return ""


def _multiple(unit: int, samples: int) -> str:
    return f"Set {GLOBAL} to a multiple of {unit * samples}"


def _verdict(config: EffectiveConfig, count: int, wrong: str, fix: str) -> Verdict:
    more = () if config.data(GROUP) is None else (GROUP,)
    return Verdict(
        f"A step has {count} micro-batches, {wrong}: the interleaved schedule ({VPP} = {config.data(VPP)}) raises an "
        "error in the first step, on every rank.",
        Outcome.CRASH_LATE,
        at=GLOBAL,
        fields=(MICRO, VPP, *more, *replica(config).fields),
        related=launched(config),
        fix=Fix(f"{fix}, or leave {VPP} out."),
    )


RULE = InterleavedMicrobatches
