"""PAR005: sequence parallelism without tensor parallelism."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.frameworks.megatron_bridge import SEQUENCE_SWITCHED_OFF
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Severity, Verdict

SP = "sequence_parallel"
TP = "tensor_model_parallel_size"


class SequenceParallelTp1(LaunchRule):
    """Sequence parallelism that is written down with a tensor parallel size of 1, where that is refused.

    ## What it does

    Finds `sequence_parallel` that somebody wrote, with tp = 1, where nothing switches it off.

    ## Why this is bad

    Sequence parallelism splits activations among the tensor parallel ranks; with one rank there is nothing to split,
    and megatron-core raises a ValueError when the model's config is made. Megatron-LM's command line, verl, slime,
    ms-swift, ROLL, NeMo 2 and Megatron-Bridge from 0.4 on switch it off before, and nothing is lost: there the rule
    says nothing. Megatron-Bridge before 0.4, and NeMo-RL on it, do not.

    ## Example

    ```python
    cfg.model.tensor_model_parallel_size = 1
    cfg.model.sequence_parallel = True
    ```

    ## Use instead

    ```python
    cfg.model.tensor_model_parallel_size = 1
    cfg.model.sequence_parallel = False
    ```

    ## References/versions
    """

    code = "PAR005"
    slug = "sequence-parallel-tp1"
    outcomes = (Outcome.CRASH_START,)
    windows = (SEQUENCE_SWITCHED_OFF,)
    references = (
        Reference("megatron/core/model_parallel_config.py:409-411 at core_v0.16.1; :341 at core_v0.10.0, a ValueError"),
        Reference("megatron/training/arguments.py:907-913 at core_v0.16.1; :585 at core_v0.10.0, switched off"),
        Reference("nemo/collections/llm/api.py:1362-1367, switched off"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask for what is written only: where nobody wrote it, a default of the framework's is switched off."""
        written = config.need(SP)
        if not written.is_set or written.data is not True or written.span is None or config.number(TP) != 1:
            return
        if config.habit("switches_sp_off_at_tp1"):
            return
        known = config.pinned(SEQUENCE_SWITCHED_OFF.library)
        yield Verdict(
            f"{SP} is on with {TP} = 1: megatron-core raises a ValueError when the model's config is made, and every "
            "rank stops.",
            Outcome.CRASH_START,
            at=SP,
            fields=(TP,),
            severity=None if known else Severity.WARNING,
            fix=Fix(f"Leave {SP} out, or set {TP} above 1."),
        )


RULE = SequenceParallelTp1
