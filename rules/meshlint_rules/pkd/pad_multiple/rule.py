"""PKD005: packed sequences padded to less than cp asks for."""

from __future__ import annotations

from collections.abc import Iterator
from math import lcm

from meshlint.config.attention import swap
from meshlint.config.packing import is_packed
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Severity, Span, Verdict


class PadMultiple(LaunchRule):
    """Packed sequences that are padded to less than context parallelism asks for.

    ## What it does

    With cp > 1 and packed sequences, finds a pad multiple (`pad_seq_to_mult` of Megatron-Bridge's packing specs,
    `make_sequence_length_divisible_by` of NeMo-RL) that is not a multiple of `2 * context_parallel_size`; NeMo-RL also
    wants the factor `tensor_model_parallel_size` under sequence parallelism. Frameworks that pad by themselves (verl,
    slime, ms-swift, Megatron-LM's SFT data) are left out.

    ## Why this is bad

    Each **sequence** of the pack is cut into 2 * cp chunks. Where its length does not divide, the cut rounds down, and
    no error is raised. Measured with Transformer Engine 2.20.2, cp = 4, lengths 700, 300, 1048 and so on: 12 of 4096
    tokens are dropped and 12 are doubled; with p2p the output is off by 5 % and dq by 35 % (relative L2), with
    all_gather by 6 % and 7 %. With a2a the output is right and the gradients of keys and values are off by 5 % (cp = 2,
    lengths 350, 150, 524 and 1024). Multiples of 2 * cp are right. NeMo-RL from 0.6 on asserts, when the first batch is
    packed.

    ## Example

    ```python
    cfg.model.context_parallel_size = 4
    cfg.dataset.offline_packing_specs.pad_seq_to_mult = 4
    ```

    ## Use instead

    ```python
    cfg.model.context_parallel_size = 4
    cfg.dataset.offline_packing_specs.pad_seq_to_mult = 8
    ```

    ## References/versions

    From 0.6 on Megatron-Bridge's `run_recipe.py` makes the pad anew from the final sizes (v0.6.0
    scripts/training/recipe_runner.py:401), so a recipe that is judged by itself is a warning there: it is wrong
    wherever another script hands it to `finetune()`.

    Megatron-Bridge has the field since 0.3. A pack that is padded as a whole does not help: the cut is per sequence.
    """

    code = "PKD005"
    slug = "pad-multiple"
    outcomes = (Outcome.WRONG, Outcome.CRASH_LATE)
    references = (
        Reference(
            "src/megatron/bridge/data/datasets/packed_sequence.py:72-93 at v0.3.1; data/packing/config.py:39 at v0.6.0"
        ),
        Reference("nemo_rl/models/megatron/data.py:557-562 at v0.6.0: the assertion; v0.5.0 pads by itself"),
        Reference(
            "transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py:4921 at v2.18, docstring"
        ),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask who pads first: most frameworks do it themselves."""
        if config.habit("pads_each_sequence_to") != "pad_multiple":
            return
        cp = config.number("context_parallel_size")
        if cp <= 1 or not is_packed(config) or config.data("pad_multiple") is None:
            return
        pad, need = config.number("pad_multiple"), _needed(config, cp)
        if pad > 0 and pad % need == 0:
            return
        if config.habit("checks_pad_multiple"):
            yield _verdict(
                config, pad, need, Outcome.CRASH_LATE, "every rank stops with an assertion at the first batch"
            )
        elif pad % (2 * cp):
            yield _verdict(
                config,
                pad,
                2 * cp,
                Outcome.WRONG,
                "the cut into chunks rounds down, tokens are dropped and others doubled, without an error",
            )


def _needed(config: EffectiveConfig, cp: int) -> int:
    """Give the multiple that the framework asks for: 2*cp, times tp under sequence parallelism where it checks that."""
    if not config.habit("checks_pad_multiple"):
        return 2 * cp
    tp = config.number("tensor_model_parallel_size")
    return 2 * cp * tp if tp > 1 and config.data("sequence_parallel") else 2 * cp


def _place(config: EffectiveConfig) -> str:
    """Give the field to mend: the pad, but cp where the pad comes from another file that others use too."""
    pad, cp = config.value("pad_multiple").span, config.value("context_parallel_size").span
    apart = pad is not None and cp is not None and pad.path != cp.path
    return "context_parallel_size" if pad is None or apart else "pad_multiple"


def _own_place(config: EffectiveConfig) -> Span | None:
    """Give the place of the pad itself where it takes the value of another size, which must not be edited for it."""
    others = {config.value(name).span for name in ("context_parallel_size", "tensor_model_parallel_size")}
    spans = [origin.span for origin in config.value("pad_multiple").origins if origin.span is not None]
    if _place(config) != "pad_multiple" or not spans or spans[0] not in others:
        return None
    return next((span for span in spans if span not in others), None)


_MENDED = (
    " Started by scripts/training/run_recipe.py, which from megatron-bridge 0.6 on makes the pad anew, the recipe is "
    "right; handed to finetune() by any other script, it is not."
)


def _verdict(config: EffectiveConfig, pad: int, need: int, outcome: Outcome, how: str) -> Verdict:
    cp = config.number("context_parallel_size")
    better = lcm(max(pad, 1), need)
    better = better if better <= 16 * need else need
    product = f"2 * cp = {need}" if need == 2 * cp else f"2 * cp * tp = {need}"
    mended = bool(config.habit("run_script_mends_pad"))
    own = _own_place(config)
    tensor = ("tensor_model_parallel_size", "sequence_parallel") if config.habit("checks_pad_multiple") else ()
    edits = () if own is not None else swap(config.value("pad_multiple"), str(pad), str(better))
    return Verdict(
        f"each packed sequence is padded to a multiple of {pad}, and context_parallel_size = {cp} cuts it into "
        f"{2 * cp} chunks: {pad} is not a multiple of {product}, so {how}." + (_MENDED if mended else ""),
        outcome,
        at=_place(config),
        span=own,
        fields=("pad_multiple", "context_parallel_size", *tensor, "packed_sequences"),
        fix=Fix(f"Set pad_multiple to {better}.", edits, safe=own is None and not mended),
        severity=Severity.WARNING if mended else None,
    )


RULE = PadMultiple
