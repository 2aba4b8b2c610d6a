"""RCP001: recompute settings that do nothing, or are refused."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.clauses import each
from meshlint.config.experts import trains
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Severity, Verdict, Window

CORE = "megatron-core"
MODULES = Window(
    CORE,
    since="0.12",
    says="selective recompute has modules",
    source="megatron/core/transformer/transformer_config.py, recompute_modules at core_v0.12.3; not at core_v0.11.0",
)
RUNS_OVER = Window(
    CORE,
    until="0.17",
    says="the last unit of uniform recompute runs over the layers of the stage",
    source="megatron/core/transformer/transformer_block.py:539 at core_v0.16.1; cut to the stage, :553, at "
    "core_v0.17.0",
)


class RecomputeIgnored(LaunchRule):
    """Recompute settings without effect, or that contradict each other.

    ## What it does

    Finds, the first two and the last in training only:

    - `recompute_method`, `recompute_num_layers` or `recompute_modules` written without `recompute_granularity`: nothing
      is recomputed (a granularity of null, written beside them, is taken as meant);
    - `recompute_modules` written with `recompute_granularity = full` in one file: whole layers are recomputed, whatever
      the list;
    - `full` without a method or a number of layers, `selective` with a number of layers, and, where Megatron-LM's
      argument check runs, `selective` with a method: refused;
    - `uniform` with a number of layers that does not divide the layers of a stage, before megatron-core 0.17.

    ## Why this is bad

    A setting without effect costs the memory that it was to save: the job runs out of it where its author counted on
    recompute. The others stop every rank: in `TransformerConfig` or the argument check at start, or with an IndexError
    in the first forward pass, where the last unit of layers reaches beyond the stage.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --recompute-method uniform --recompute-num-layers 1
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --recompute-granularity full --recompute-method uniform --recompute-num-layers 1
    ```

    ## References/versions

    See below; the rest holds on every version so far.
    """

    code = "RCP001"
    slug = "recompute-ignored"
    outcomes = (Outcome.IGNORED, Outcome.CRASH_START, Outcome.CRASH_LATE)
    windows = (MODULES, RUNS_OVER)
    references = (
        Reference(
            "megatron/core/transformer/transformer_config.py:451-482 at core_v0.10.0; :1154-1185 at core_v0.16.1"
        ),
        Reference("megatron/core/transformer/transformer_config.py:1724-1755 at core_v0.19.0"),
        Reference("megatron/training/arguments.py:899 at core_v0.16.1; :1385 at core_v0.19.0: selective with a method"),
        Reference("megatron/core/transformer/transformer_block.py:735 at core_v0.16.1: recomputed with full only"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask for the granularity first; the rest hangs on it."""
        granularity = config.data("recompute_granularity")
        if granularity is None:
            off = config.value("recompute_granularity").is_set  # null on purpose switches off what a base recipe has
            if not off and trains(config):
                yield from _without(config)
        elif granularity == "full":
            yield from each(config, _incomplete, _modules, _uneven)
        elif granularity == "selective":
            yield from each(config, _selective)


def _written(config: EffectiveConfig, name: str) -> bool:
    """Say whether somebody wrote a field, other than null and an empty list."""
    value = config.value(name)
    return value.is_set and value.span is not None and value.data not in (None, ())


def _without(config: EffectiveConfig) -> Iterator[Verdict]:
    names = [n for n in ("recompute_method", "recompute_num_layers", "recompute_modules") if _written(config, n)]
    if not names:
        return
    if names == ["recompute_modules"] and not config.within(MODULES):
        return
    said = ", ".join(f"{name} = {_shown(config.data(name))}" for name in names)
    yield Verdict(
        f"{said} without recompute_granularity: nothing is recomputed.",
        Outcome.IGNORED,
        at=names[0],
        fields=(*names[1:], "recompute_granularity"),
        severity=Severity.WARNING,
        fix=Fix(f"Set recompute_granularity to {_granularity(names)}, or leave {' and '.join(names)} out."),
    )


def _granularity(names: list[str]) -> str:
    return "selective" if names == ["recompute_modules"] else "full"


def _shown(data: object) -> str:
    return ", ".join(map(str, data)) if isinstance(data, tuple) else str(data)


def _incomplete(config: EffectiveConfig) -> Iterator[Verdict]:
    for name in ("recompute_method", "recompute_num_layers"):
        if config.data(name) is None:
            yield Verdict(
                f"recompute_granularity = full without {name}: TransformerConfig raises a ValueError, and every rank "
                "stops at start.",
                Outcome.CRASH_START,
                subject=name,
                at="recompute_granularity",
                fields=(name,),
                fix=Fix("Set recompute_method to uniform and recompute_num_layers to 1, or another pair of yours."),
            )
            return


def _modules(config: EffectiveConfig) -> Iterator[Verdict]:
    if not trains(config):
        return
    modules, granularity = config.value("recompute_modules").span, config.value("recompute_granularity").span
    if modules is None or granularity is None or modules.path != granularity.path:
        return  # who overrides the granularity elsewhere may leave the list alone
    if _written(config, "recompute_modules") and config.within(MODULES):
        yield Verdict(
            f"recompute_modules = {_shown(config.data('recompute_modules'))} does nothing with recompute_granularity = "
            "full, which recomputes whole layers.",
            Outcome.IGNORED,
            subject="recompute_modules",
            at="recompute_modules",
            fields=("recompute_granularity",),
            severity=Severity.WARNING,
            fix=Fix("Set recompute_granularity to selective, or leave recompute_modules out."),
        )


def _uneven(config: EffectiveConfig) -> Iterator[Verdict]:
    """Look at stages of equal size only; others are told by their layout, which is not followed here."""
    if config.data("recompute_method") != "uniform" or not trains(config):
        return
    unit = config.number("recompute_num_layers")
    if unit <= 1:
        return
    layers = _stage_layers(config)
    if layers is None or layers % unit == 0 or not config.within(RUNS_OVER):
        return
    yield Verdict(
        f"recompute_method = uniform with recompute_num_layers = {unit} over stages of {layers} layers: the last unit "
        "reaches beyond the stage, and every rank stops with an IndexError in the first forward pass.",
        Outcome.CRASH_LATE,
        subject="uniform",
        at="recompute_num_layers",
        fields=("num_layers", "pipeline_model_parallel_size", "recompute_method"),
        fix=Fix(f"Set recompute_num_layers to a divisor of {layers}."),
    )


_PARTS = (
    "pipeline_model_parallel_layout",
    "num_layers_in_first_pipeline_stage",
    "num_layers_in_last_pipeline_stage",
    "hybrid_layer_pattern",
    "encoder_num_layers",
)


def _stage_layers(config: EffectiveConfig) -> int | None:
    """Give the layers of a model chunk; None where stages differ or do not divide."""
    if any(config.data(name) is not None for name in _PARTS):
        return None
    if config.data("is_hybrid_model") or any(
        config.data(f"account_for_{part}_in_pipeline_split") for part in ("embedding", "loss")
    ):
        return None
    layers, pp = config.number("num_layers"), config.number("pipeline_model_parallel_size")
    chunks = pp * (config.data("virtual_pipeline_model_parallel_size") or 1)
    return layers // chunks if chunks > 0 and layers % chunks == 0 else None


def _selective(config: EffectiveConfig) -> Iterator[Verdict]:
    if config.data("recompute_num_layers") is not None:
        yield _refused(config, "recompute_num_layers", "TransformerConfig raises a ValueError")
    elif config.data("recompute_method") is not None and config.habit("validates_arguments"):
        yield _refused(config, "recompute_method", "the argument check refuses it")


def _refused(config: EffectiveConfig, name: str, what: str) -> Verdict:
    return Verdict(
        f"recompute_granularity = selective with {name} = {config.data(name)}: {what}, and every rank stops at start.",
        Outcome.CRASH_START,
        subject=name,
        at=name,
        fields=("recompute_granularity",),
        fix=Fix(f"Leave {name} out, or set recompute_granularity to full."),
    )


RULE = RecomputeIgnored
