"""PAR008: a global batch that the ranks cannot share."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.batches import GLOBAL, MICRO, per_step
from meshlint.config.sizes import launched, on_nodes, replica, world
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict


class BatchSize(LaunchRule):
    """A global batch that is no whole number of micro-batches for each data parallel rank.

    ## What it does

    Finds `global_batch_size` that is not a multiple of `micro_batch_size` times the data parallel size, which is the
    launched ranks over tp * pp * cp. Runs whose batch grows or is rounded down are left out, and so are verl,
    NeMo-RL, ROLL and AReaL, whose batches are cut another way.

    ## Why this is bad

    Every data parallel rank runs the same number of micro-batches in a step. The counter of micro-batches asserts it
    when it is set up, on every rank, before the model is built.

    ## Example

    ```bash
    torchrun --nproc-per-node 8 pretrain_gpt.py --micro-batch-size 4 --global-batch-size 48
    ```

    ## Use instead

    ```bash
    torchrun --nproc-per-node 8 pretrain_gpt.py --micro-batch-size 2 --global-batch-size 48
    ```

    ## References/versions

    Every version so far.
    """

    code = "PAR008"
    slug = "batch-size"
    outcomes = (Outcome.CRASH_START,)
    references = (
        Reference("megatron/core/num_microbatches_calculator.py:340 at core_v0.16.1; :182 at core_v0.8.0"),
        Reference("src/megatron/bridge/training/initialize.py:110 at v0.4.2; :97 at v0.2.2, sets up the same counter"),
        Reference("slime/backends/megatron_utils/initialize.py:79, nemo/lightning/data.py:100 set up the same counter"),
        Reference("swift/megatron/arguments/megatron_args.py:951, a ValueError of its own"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask for the batches first: many launches leave the global one to the framework."""
        step = per_step(config)
        if step is None or step.whole % (step.micro * step.replicas) == 0:
            return
        ranks, one = world(config), replica(config)
        unit, each = step.micro * step.replicas, ranks // step.replicas
        hold = "that hold one replica" if each == one.ranks else "that take the same samples"
        yield Verdict(
            f"{GLOBAL} = {step.whole} is not a multiple of {MICRO} * data parallel size = {step.micro} * "
            f"{step.replicas} = {unit} ({ranks} ranks{on_nodes(config)} / {each} {hold}): an "
            "assertion about it fails before the model is built, and every rank stops.",
            Outcome.CRASH_START,
            at=GLOBAL,
            fields=(MICRO, *one.fields),
            related=launched(config),
            fix=Fix(_fix(step.whole, unit)),
        )


def _fix(whole: int, unit: int) -> str:
    lower, upper = whole // unit * unit, (whole // unit + 1) * unit
    return f"Set {GLOBAL} to {f'{lower} or {upper}' if lower else upper}."


RULE = BatchSize
