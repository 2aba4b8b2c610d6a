"""PKD008: a pad computed from cp before cp is set."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.packing import is_packed
from meshlint.config.python.derived import derivation
from meshlint.config.value import Origin, Value
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Related, Verdict

CP = "context_parallel_size"


class PadDerivedBeforeOverride(LaunchRule):
    """A pad multiple that was computed from cp before cp got its last value.

    ## What it does

    Finds a pad multiple of packed sequences that a recipe computes from `context_parallel_size`, or leaves alone
    because of it, while a later line, an override or the command line sets another cp, so that the pad does not divide
    by `2 * cp` any more.

    ## Why this is bad

    The recipe's `if` runs once, with the cp that it knows. `-cp 4` on the command line, or a line after the call,
    changes cp and not the pad. The sequences are then cut into 2 * cp chunks that do not divide, which drops tokens
    and doubles others without an error (see PKD005).

    ## Example

    ```python
    def recipe() -> ConfigContainer:
        cfg = base()
        if cfg.model.context_parallel_size > 1:
            cfg.dataset.offline_packing_specs.pad_seq_to_mult = cfg.model.context_parallel_size * 2
        return cfg
    ```

    ```bash
    python run_recipe.py --recipe recipe -cp 4
    ```

    ## Use instead

    ```bash
    python run_recipe.py --recipe recipe -cp 4 dataset.offline_packing_specs.pad_seq_to_mult=8
    ```

    ## References/versions

    Megatron-Bridge has the field since 0.3; its recipes compute it so.
    """

    code = "PKD008"
    slug = "pad-derived-before-override"
    outcomes = (Outcome.WRONG,)
    frameworks = ("megatron-bridge",)
    references = (
        Reference(
            "src/megatron/bridge/recipes/llama/h100/llama3.py:1345 and others at main: the computation in recipes"
        ),
        Reference("scripts/training/run_recipe.py:44 at main: -cp is applied after the recipe returned"),
    )
    supersedes = ("PKD005",)

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Look for a pad with a derivation first: only recipes leave one."""
        pad, then, origin = _derived_pad(config)
        if origin is None or config.habit("pads_each_sequence_to") != "pad_multiple":
            return
        cp = config.number(CP)
        if cp <= 1 or then == cp or not is_packed(config):
            return
        value = config.number("pad_multiple")
        if value % (2 * cp) == 0:
            return
        why = "computed from" if pad.is_set else "left alone because of"
        related = (Related(origin.span, f"{CP} = {then} when the pad was made"),) if origin.span is not None else ()
        yield Verdict(
            f"the pad multiple of packed sequences, {value}, was {why} context_parallel_size = {then}; cp is set to "
            f"{cp} after that, which needs a multiple of {2 * cp}. Tokens are dropped and others doubled, without "
            "an error.",
            Outcome.WRONG,
            at=CP,
            fields=("pad_multiple",),
            related=related,
            fix=Fix(f"Where cp is set to {cp}, set pad_multiple to {2 * cp} too."),
        )


def _derived_pad(config: EffectiveConfig) -> tuple[Value, object, Origin | None]:
    """Give the pad as it was written last, what cp was when it was made, and where; no origin where it was not."""
    for spelling in config.framework.spellings:
        if spelling.field != "pad_multiple":
            continue
        for key in spelling.keys:
            value = config.launch.find(key)
            found = derivation(value, CP)
            if value is not None and found is not None:
                return value, found[0], found[1]
    return config.value("pad_multiple"), None, None


RULE = PadDerivedBeforeOverride
