"""PAR009: a size or a batch that is not positive."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.sizes import SIZES
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict

EXPERTS = ("expert_model_parallel_size", "expert_tensor_parallel_size")
BATCHES = ("micro_batch_size", "global_batch_size")
MODEL = ("num_layers", "num_attention_heads", "hidden_size", "seq_length")


class NonPositive(LaunchRule):
    """A parallel size, a batch or a dimension of the model that is zero or below.

    ## What it does

    Finds tp, pp, cp, ep, etp, a micro or global batch, layers, heads, hidden size or sequence length that is written as
    a number below 1. Batches are judged where a global batch is cut into micro-batches: Megatron-LM, slime,
    Megatron-Bridge, NeMo 2 and ms-swift.

    ## Why this is bad

    Ranks are divided by sizes, and batches by batches: zero ends in a ZeroDivisionError or an assertion at start, and a
    negative size in groups that do not exist. A variable that stays empty, or arithmetic of a script that rounds down,
    is how it comes about.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --context-parallel-size 0
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --context-parallel-size 1
    ```

    ## References/versions

    Every version so far.
    """

    code = "PAR009"
    slug = "non-positive"
    outcomes = (Outcome.CRASH_START,)
    references = (
        Reference("megatron/training/arguments.py:314-328, :493-500 at core_v0.16.1; :201, :207 at core_v0.8.0"),
        Reference("megatron/core/parallel_state.py:738-743, :788-792 at core_v0.16.1"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Look at each field that is known; an unknown one says nothing of the others."""
        for name in (*SIZES, *EXPERTS):
            yield from _judged(config, name, "the ranks are divided by it when the process groups are built")
        if config.habit("counts_micro_batches"):
            for name in BATCHES:
                yield from _judged(config, name, "an assertion about it fails at start")
        for name in MODEL:
            yield from _judged(config, name, "no model can be built from it")


def _judged(config: EffectiveConfig, name: str, how: str) -> Iterator[Verdict]:
    value = config.value(name)
    if not value.is_set or isinstance(value.data, bool) or not isinstance(value.data, int) or value.data > 0:
        return
    yield Verdict(
        f"{name} = {value.data} is not positive: {how}, and every rank stops.",
        Outcome.CRASH_START,
        at=name,
        subject=name,
        fix=Fix(f"Set {name} to 1 or more."),
    )


RULE = NonPositive
