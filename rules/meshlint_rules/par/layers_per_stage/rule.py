"""PAR003: layers that the pipeline stages do not divide."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.frameworks.layout import layout_rows
from meshlint.config.sizes import COUNTED_APART, LARGEST, positive, smaller_divisors
from meshlint.config.value import Data
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict, Window
from meshlint.words import plural

STAGES_CHECKED = Window(
    "megatron-core",
    since="0.11",
    says="each stage asserts that its layers come out even",
    source="megatron/core/transformer/transformer_block.py:110 at core_v0.11.0; core_v0.10.0 :84, :101 round down",
)
NONE_BETWEEN = Window(
    "megatron-core",
    until="0.13",
    says="two stages with a number each divide by zero",
    source="megatron/core/transformer/transformer_config.py:824 at core_v0.12.3; mended at core_v0.13.0 :972",
)
CHUNKS_EVEN = Window(
    "megatron-core",
    since="0.11",
    says="the layers of a chunk ask for stages of equal size",
    source="megatron/training/arguments.py:352 at core_v0.11.0; :530 at core_v0.16.1; :921 at core_v0.19.0; "
    "not at core_v0.10.0",
)
EMPTY_REFUSED = Window(
    "megatron-core",
    since="0.16",
    says="layers without a stage between, and stages without a layer, are refused",
    source="megatron/core/transformer/transformer_config.py:1405 at core_v0.16.0; absent at core_v0.15.3",
)
LAYERS = "num_layers"
PP = "pipeline_model_parallel_size"
VPP = "virtual_pipeline_model_parallel_size"
CHUNK = "num_layers_per_virtual_pipeline_stage"
FIRST, LAST = "num_layers_in_first_pipeline_stage", "num_layers_in_last_pipeline_stage"
EMBEDDING, LOSS = "account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split"
LAYOUT = "pipeline_model_parallel_layout"
APART = ("encoder_num_layers", "decoder_num_layers")
"""Layers of an encoder and a decoder, which are split by other rules."""


class LayersPerStage(LaunchRule):
    """Layers that cannot be divided among the pipeline stages.

    ## What it does

    Finds `num_layers` (and the embedding and the loss, where they count as layers) that is not a multiple of pp, or of
    pp * vpp. Where the first or the last stage has a number of its own, the layers between have to come out even;
    a single stage that has both builds the last's. Such a number and an embedding or a loss that counts exclude each
    other, and from 0.11 on it has to be above 0. Where a pipeline layout writes the stages out, its stages have to be a
    multiple of pp, its layers `num_layers`, and the first mark the embedding, the last the loss; it excludes all of the
    above.
    Models with a hybrid pattern, encoder-decoder models, and AReaL, which lays out the stages itself, are left out.

    ## Why this is bad

    Megatron-LM's command line asserts it among its arguments, elsewhere the stage that builds its layers does; either
    way the run stops. Before megatron-core 0.11 nothing checks it outside of the command line: the number is rounded
    down, and the model lacks its last layers without a word.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --num-layers 30 --pipeline-model-parallel-size 4
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --num-layers 30 --pipeline-model-parallel-size 4 --decoder-last-pipeline-num-layers 6
    ```

    ## References/versions
    """

    code = "PAR003"
    slug = "layers-per-stage"
    outcomes = (Outcome.CRASH_START, Outcome.CRASH_LATE, Outcome.WRONG)
    windows = (STAGES_CHECKED, COUNTED_APART, NONE_BETWEEN, CHUNKS_EVEN, EMPTY_REFUSED)
    references = (
        Reference(
            "megatron/training/arguments.py:529-571 at core_v0.16.1; :264 at core_v0.8.0; :326-346 at core_v0.10.0"
        ),
        Reference(
            "megatron/core/transformer/transformer_block.py:155, :174 at core_v0.16.1; :150, :169 at core_v0.19.0"
        ),
        Reference("megatron/core/transformer/transformer_config.py:1294-1480 at core_v0.16.1; :583 at core_v0.11.0"),
        Reference("megatron/core/transformer/pipeline_parallel_layer_layout.py:84-135 at core_v0.16.1, since 0.13"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask for pp first: with one stage, everything divides, unless the stage has a number of its own."""
        ends = any(config.value(name).data is not None for name in (FIRST, LAST, CHUNK))
        if config.habit("lays_out_stages") or (config.number(PP) <= 1 and not ends and not _counted_alone(config)):
            return
        layout = config.data(LAYOUT)
        if layout:
            yield from _laid_out(config, layout)
            return
        if config.data("is_hybrid_model") or any(config.data(name) is not None for name in APART):
            return
        if config.data(LAYERS) is None:
            return
        if config.data(FIRST) is not None or config.data(LAST) is not None:
            yield from _uneven(config)
        else:
            yield from _even(config)


def _laid_out(config: EffectiveConfig, layout: Data) -> Iterator[Verdict]:
    """Judge stages that are written out (core_v0.13.0 transformer_config.py:872-922; main :2243-2290)."""
    beside = [name for name in (FIRST, LAST) if config.data(name) is not None]
    beside += [name for name in (EMBEDDING, LOSS) if config.data(name)]
    if beside:
        text = f"{LAYOUT} together with {' and '.join(beside)}"
        fix = Fix(f"Leave {' and '.join(beside)} out: the layout says it all.")
        yield Verdict(f"{text}: {_RAISES}.", Outcome.CRASH_START, at=beside[-1], fields=(LAYOUT, *beside[:-1]), fix=fix)
        return
    rows, pp = layout_rows(layout), positive(config, PP)
    marks = "".join(rows)
    if not marks:
        return
    fields: tuple[str, ...] = ()
    if len(rows) % pp:
        text, fields = f"the {plural(len(rows), 'stage')} of {LAYOUT} are no multiple of {PP} = {pp}", (PP,)
    elif marks[0] != "E" or marks[-1] != "L" or marks.count("E") + marks.count("L") != 2:
        text = f"{LAYOUT} does not hold one embedding at its start and one loss at its end"
    elif config.data(LAYERS) not in (None, marks.count("t")):
        text = f"{LAYOUT} holds {plural(marks.count('t'), 'layer')}, and {LAYERS} = {config.data(LAYERS)}"
        fields = (LAYERS,)
    else:
        return
    how = "an assertion about it fails when the model's config is made, and every rank stops"
    fix = Fix(f"Write a layout of {LAYERS} layers over a multiple of {PP} stages, from one embedding to one loss.")
    yield Verdict(f"{text}: {how}.", Outcome.CRASH_START, at=LAYOUT, fields=fields, fix=fix)


def _not_positive(ends: list[tuple[str, int]]) -> Iterator[Verdict]:
    """Judge numbers of a stage below 1, which are refused since the release that checks stages."""
    for name, count in ends:
        if count < 1:
            fix = Fix(f"Set {name} to 1 or more, or leave it out.")
            yield Verdict(f"{name} = {count} is not positive: {_RAISES}.", Outcome.CRASH_START, at=name, fix=fix)
            return


def _counted_alone(config: EffectiveConfig) -> bool:
    """Say whether an embedding or a loss takes a stage of its own where there may be no other."""
    return config.within(COUNTED_APART) and any(config.data(name) for name in (EMBEDDING, LOSS))


def _even(config: EffectiveConfig) -> Iterator[Verdict]:
    layers, pp = positive(config, LAYERS), positive(config, PP)
    counted = [name for name in (EMBEDDING, LOSS) if config.data(name)]
    total = layers + len(counted)
    what = f"{LAYERS} = {layers}"
    if counted:
        names = " and ".join("the embedding" if name == EMBEDDING else "the loss" for name in counted)
        what = f"{what}, {total} with {names},"
    if total % pp:
        sizes = smaller_divisors(total, pp)
        fix = f"Set {PP} to one of {sizes}, or give the first or the last stage a number of layers of its own."
        yield _verdict(config, f"{what} is not a multiple of {PP} = {pp}", (LAYERS, *counted), counted, total % pp, fix)
        return
    if counted and config.data(VPP) is None and config.within(COUNTED_APART):
        rest = pp - len(counted)
        if rest == 0 or layers % rest:
            fix = f"Take megatron-core 0.12 or later, or leave {' and '.join(counted)} out."
            text = f"{LAYERS} = {layers} are to be shared by {rest} stages, the embedding and the loss left out"
            yield _verdict(config, text, (LAYERS, *counted), counted, 0, fix)
            return
    each = total // pp
    chunk = config.data(CHUNK)
    if isinstance(chunk, int) and chunk > 0:
        if each % chunk:
            fix = f"Set {CHUNK} to a divisor of {each}."
            text = f"{each} layers of a stage ({total} / {pp}) are not a multiple of {CHUNK} = {chunk}"
            yield _verdict(config, text, (LAYERS, CHUNK, *counted), counted, 0, fix, CHUNK)
        return
    vpp = config.data(VPP)
    if isinstance(vpp, int) and vpp > 1 and each % vpp:
        fix = f"Set {VPP} to one of {smaller_divisors(each, vpp)}, which divide the layers of a stage."
        text = f"{each} layers of a stage ({total} / {pp}) are not a multiple of {VPP} = {vpp}"
        yield _verdict(config, text, (LAYERS, VPP, *counted), counted, each % vpp * pp, fix, VPP)


STAGES_OF_A_RANK = "num_virtual_stages_per_pipeline_rank"
"""The flag whose presence leaves the layers unchecked among the arguments (arguments.py:552-553 at core_v0.16.1)."""


def _verdict(
    config: EffectiveConfig,
    text: str,
    fields: tuple[str, ...],
    counted: list[str],
    lost: int,
    fix: str,
    at: str = PP,
) -> Verdict:
    outcome, how = _outcome(config, at, bool(counted))
    end = f"the last {lost} layers are left out, and nothing says so" if outcome is Outcome.WRONG else how
    return Verdict(
        f"{text}: {end}.", outcome, at=at, fields=tuple(name for name in (*fields, PP) if name != at), fix=Fix(fix)
    )


def _outcome(config: EffectiveConfig, at: str, counted: bool) -> tuple[Outcome, str]:
    """Say what refuses the layers: the arguments, `TransformerConfig`, or the stage that builds them."""
    stop = "and every rank stops"
    checks = config.habit("checks_layers_per_stage")
    one_chunk = config.launch.find(STAGES_OF_A_RANK) is not None  # written as 1: taken for none after the arguments
    argument = at == CHUNK or (at == PP and config.data(VPP) is None and not one_chunk)
    if checks == "config":
        return (
            Outcome.CRASH_START,
            f"{config.framework.title} raises a ValueError when it makes the model's config, {stop}",
        )
    if checks and argument:
        return Outcome.CRASH_START, f"{config.framework.title} asserts it at start, {stop}"
    if counted:
        return Outcome.CRASH_START, f"TransformerConfig raises a ValueError when the model's config is made, {stop}"
    if config.within(STAGES_CHECKED):
        return Outcome.CRASH_LATE, "an assertion about it fails when the model is built, and the stages stop"
    return Outcome.WRONG, ""


def _uneven(config: EffectiveConfig) -> Iterator[Verdict]:
    layers, pp = positive(config, LAYERS), positive(config, PP)
    ends = [(name, config.number(name)) for name in (FIRST, LAST) if config.data(name) is not None]
    if _chunks_refused(config):
        yield _chunked(config, [name for name, _ in ends])
        return
    counted = [name for name in (EMBEDDING, LOSS) if config.data(name)]
    if counted:
        yield _counted_beside(counted, [name for name, _ in ends])
        return
    if config.within(STAGES_CHECKED) and any(count < 1 for _, count in ends):
        yield from _not_positive(ends)
        return
    middle, stages = layers - sum(count for _, count in ends), pp - len(ends)
    if stages < 0 and not (middle == 0 and config.within(EMPTY_REFUSED)):
        yield from _on_one(layers, ends[-1][1])
        return
    outcome, how = _between(config, middle, stages)
    if outcome is not None:
        told = " and ".join(f"{name} = {count}" for name, count in ends)
        yield Verdict(
            f"{LAYERS} = {layers} less {told} leaves {middle} layers for {_stages(stages)} between "
            f"({PP} = {pp}): {how}.",
            outcome,
            at=ends[-1][0],
            fields=tuple(name for name in (LAYERS, *(name for name, _ in ends), PP) if name != ends[-1][0]),
            fix=Fix(_fitting(layers, stages, ends)),
        )
        return
    vpp = config.data(VPP)
    parts = [*ends, ("the stages between", middle // stages if stages else 0)]
    uneven = next(((name, count) for name, count in parts if isinstance(vpp, int) and vpp > 1 and count % vpp), None)
    if uneven is not None:
        yield Verdict(
            f"{uneven[0]} = {uneven[1]} layers a stage is not a multiple of {VPP} = {vpp}: {_RAISES}.",
            Outcome.CRASH_START,
            at=VPP,
            fields=(LAYERS, *(name for name, _ in ends), PP),
            fix=Fix(f"Choose layers for each stage that {VPP} divides, or write the stages out as a layout."),
        )


def _stages(number: int) -> str:
    return plural(number, "stage") if number > 0 else "no stages"


def _chunks_refused(config: EffectiveConfig) -> bool:
    """Say whether the arguments refuse a number of layers of a chunk beside those of the first or last stage."""
    checks = config.habit("checks_layers_per_stage")
    return bool(checks) and checks != "config" and config.data(CHUNK) is not None and config.within(CHUNKS_EVEN)


def _chunked(config: EffectiveConfig, ends: list[str]) -> Verdict:
    return Verdict(
        f"{CHUNK} = {config.data(CHUNK)} together with {' and '.join(ends)}: {config.framework.title} asserts at start "
        "that all stages have the same number of layers, and every rank stops.",
        Outcome.CRASH_START,
        at=CHUNK,
        fields=tuple(ends),
        fix=Fix(f"Give the number of virtual stages of a rank in place of {CHUNK}."),
    )


def _counted_beside(counted: list[str], ends: list[str]) -> Verdict:
    """Judge an embedding or a loss that counts as a layer where stages have numbers of their own."""
    return Verdict(
        f"{' and '.join(counted)} together with {' and '.join(ends)}: {_RAISES}.",
        Outcome.CRASH_START,
        at=counted[-1],
        fields=(*ends, *counted[:-1]),
        fix=Fix(f"Leave {' and '.join(counted)} out, or {' and '.join(ends)}."),
    )


def _on_one(layers: int, last: int) -> Iterator[Verdict]:
    """Judge a single stage that has the numbers of a first and of a last one: it takes the last's."""
    if last == layers:
        return
    yield Verdict(
        f"{PP} = 1 with both {FIRST} and {LAST} = {last}: the one stage is first and last, and builds {last} layers in "
        f"place of {LAYERS} = {layers}. {_amiss(layers - last).capitalize()}, and nothing says so.",
        Outcome.WRONG,
        at=LAST,
        fields=(LAYERS, FIRST, PP),
        fix=Fix(f"Leave {FIRST} and {LAST} out where there is one stage."),
    )


_RAISES = "TransformerConfig raises a ValueError when the model's config is made, and every rank stops"


def _between(config: EffectiveConfig, middle: int, stages: int) -> tuple[Outcome | None, str]:
    """Judge the layers that are left for the stages between the first and the last."""
    if stages and middle % stages:
        return Outcome.CRASH_START, _RAISES
    if not stages and config.within(NONE_BETWEEN):
        return Outcome.CRASH_START, "TransformerConfig divides by the stages between, and every rank stops"
    if bool(middle) == bool(stages):
        return None, ""
    if config.within(EMPTY_REFUSED):
        return Outcome.CRASH_START, _RAISES
    return (None, "") if stages else (Outcome.WRONG, f"{_amiss(middle)}, and nothing says so")


def _amiss(middle: int) -> str:
    """Say how many layers a model has too few or too many, where no stage takes up the difference."""
    return f"the model lacks {middle} of its layers" if middle > 0 else f"the model has {-middle} layers too many"


def _fitting(layers: int, stages: int, ends: list[tuple[str, int]]) -> str:
    """Name numbers of the last written stage that come out even, the nearest first."""
    name, count = ends[-1]
    rest = layers - sum(other for _, other in ends[:-1])
    fitting = [
        n
        for n in range(max(1, count - LARGEST), min(rest, count + LARGEST) + 1)
        if (rest - n == 0) == (stages == 0) and (not stages or (rest - n) % stages == 0)
    ]
    near = sorted(sorted(fitting, key=lambda n: (abs(n - count), n))[:3])
    return (
        f"Set {name} to {' or '.join(map(str, near))}."
        if near
        else f"Change {name}, or write the stages out as a layout."
    )


RULE = LayersPerStage
