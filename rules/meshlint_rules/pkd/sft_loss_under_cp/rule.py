"""PKD006: a fine-tuning loss that cp distorts."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.edits import beside, flip
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Severity, Verdict


class SftLossUnderCp(LaunchRule):
    """A fine-tuning loss that context parallelism distorts.

    ## What it does

    Finds fine-tuning with cp > 1 without `calculate_per_token_loss`, or, on Megatron-Bridge, with
    `average_in_collective`.

    ## Why this is bad

    Fine-tuning masks the prompt, so the ranks that share a sequence hold different numbers of tokens that count; one
    may hold none. Without the per-token loss each rank divides by its own number, and a rank with few such tokens
    weighs as much as one with many. Megatron-Bridge refuses it at start; Megatron-LM's `--sft` trains on it without a
    word, and so does ms-swift where `--calculate_per_token_loss false` takes away its default. There it is a warning:
    how far the weights are off depends on the masks of the data. slime, verl and NeMo-RL divide by the tokens of
    whole sequences, whatever the setting, and are left out.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --sft --context-parallel-size 2
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --sft --context-parallel-size 2 --calculate-per-token-loss
    ```

    ## References/versions

    Megatron-LM has `--sft` since 0.13; Megatron-Bridge asserts since 0.1.
    """

    code = "PKD006"
    slug = "sft-loss-under-cp"
    outcomes = (Outcome.CRASH_START, Outcome.WRONG)
    references = (
        Reference("src/megatron/bridge/training/config.py:1185-1190 at v0.4.0; :1046 at v0.1.0rc4"),
        Reference(
            "pretrain_gpt.py, loss_func, and megatron/core/pipeline_parallel/schedules.py:257-263 at core_v0.16.1"
        ),
        Reference("swift/megatron/trainers/trainer.py:48 and arguments/megatron_args.py:759 of ms-swift at 3602360a"),
        Reference("slime/backends/megatron_utils/cp_utils.py, get_sum_of_sample_mean, and loss.py:1353 at 624b824a"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask for cp first: it is 1 in most configs."""
        if config.habit("fixes_loss") or config.habit("loss_spans_cp"):
            return
        cp = config.number("context_parallel_size")
        if cp <= 1 or not config.data("sft"):
            return
        strict = bool(config.habit("validates_sft_loss"))
        if not config.data("calculate_per_token_loss"):
            yield _per_token(config, cp, strict)
        elif strict and config.data("average_in_collective"):
            yield Verdict(
                f"fine-tuning with context_parallel_size = {cp} and average_in_collective on: {config.framework.title} "
                f"asserts that it is off, and every rank stops at start.",
                Outcome.CRASH_START,
                at="average_in_collective",
                fields=("context_parallel_size", "sft"),
                fix=Fix("Set average_in_collective to False.", flip(config.value("average_in_collective")), safe=True),
            )


def _per_token(config: EffectiveConfig, cp: int, strict: bool) -> Verdict:
    what = (
        f"{config.framework.title} asserts the per-token loss, and every rank stops at start"
        if strict
        else f"each of the {cp} ranks divides the loss by its own number of unmasked tokens, so tokens weigh "
        "differently by the rank they fall on, without an error. A warning, since how far they are off hangs on the "
        "masks of the data"
    )
    written = config.value("calculate_per_token_loss").span is not None
    return Verdict(
        f"fine-tuning with context_parallel_size = {cp} and without calculate_per_token_loss: {what}.",
        Outcome.CRASH_START if strict else Outcome.WRONG,
        at="calculate_per_token_loss" if written else "context_parallel_size",
        fields=("sft", "context_parallel_size", "calculate_per_token_loss"),
        severity=Severity.ERROR if strict else Severity.WARNING,
        fix=_fix(config, strict),
    )


def _fix(config: EffectiveConfig, strict: bool) -> Fix:
    """Where the framework asserts the per-token loss there is one way; elsewhere it is a choice."""
    text = "Turn calculate_per_token_loss on."
    loss, cp = config.value("calculate_per_token_loss"), config.value("context_parallel_size")
    if not strict:
        return Fix(text)
    if loss.span is not None:
        return Fix(text, flip(loss), safe=True)
    wishes = beside(cp, "context_parallel_size", "calculate_per_token_loss", True)
    return Fix(text, wishes=wishes, safe=True)


RULE = SftLossUnderCp
