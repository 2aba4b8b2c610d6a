"""Layers of each pipeline stage, as megatron-core lays them out."""

from __future__ import annotations

from meshlint.card import Item, Stage
from meshlint.config.card.ranks import PP, SENTENCE, VPP, places, unless
from meshlint.config.effective import EffectiveConfig, Unjudged
from meshlint.config.frameworks.layout import MARKS, layout_rows
from meshlint.config.sizes import COUNTED_APART, positive

LAYERS = "num_layers"
LAYOUT = "pipeline_model_parallel_layout"
PATTERN = "hybrid_layer_pattern"
FIRST, LAST = "num_layers_in_first_pipeline_stage", "num_layers_in_last_pipeline_stage"
EMBEDDING, LOSS = "account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split"
MTP = "mtp_num_layers"
MAX_STAGES = 4096


def stages(config: EffectiveConfig) -> Item:
    """Tell the layers of each stage, and of each model chunk in it."""
    pp = positive(config, PP)
    ends = any(config.value(name).data is not None for name in (FIRST, LAST))
    if pp == 1 and not ends:
        layers = config.need(LAYERS)
        return Item(
            _with_ends(config, [Stage((positive(config, LAYERS),))]), written=places(layers), unless=unless(layers)
        )
    if config.habit("lays_out_stages"):
        raise Unjudged(SENTENCE, f"{config.framework.title} lays the layers out itself")
    if pp > MAX_STAGES:
        raise Unjudged(SENTENCE, f"meshlint lists at most {MAX_STAGES:,} stages")
    if config.data(LAYOUT):
        return _written(config, pp)
    for name in ("encoder_num_layers", "decoder_num_layers"):
        if config.data(name) is not None:
            raise Unjudged(SENTENCE, "an encoder and a decoder are split by rules of their own")
    pattern = config.data(PATTERN) if config.data("is_hybrid_model") else None
    if isinstance(pattern, str) and "|" in pattern:
        return _of_pattern(config, pattern, pp)
    held = _uneven(config, pp) if ends else _even(config, pp)
    layers = config.value(LAYERS)
    return Item(_with_ends(config, held), written=places(layers), unless=unless(layers, config.value(PP)))


def _written(config: EffectiveConfig, pp: int) -> Item:
    """Read a layout: stage k of chunk v stands at v * pp + k.

    Source: core_v0.16.1 transformer/pipeline_parallel_layer_layout.py, `__init__` and `parse_str_to_list`.
    """
    value = config.need(LAYOUT)
    rows = layout_rows(value.data)
    if not rows:
        raise Unjudged(LAYOUT, "its stages cannot be read")
    if len(rows) % pp:
        raise Unjudged(SENTENCE, f"the {len(rows)} stages of the layout do NOT FIT: they are no multiple of pp {pp}")
    layers, held = config.value(LAYERS).data, sum(row.count("t") for row in rows)
    if layers not in (None, held):
        raise Unjudged(SENTENCE, f"the {held} layers of the layout do NOT FIT: {LAYERS} = {layers}")
    return Item(
        tuple(_stage(rows[place::pp]) for place in range(pp)), note="the layout that is written", written=places(value)
    )


def _stage(chunks: tuple[str, ...]) -> Stage:
    marks = "".join(chunks)
    beside = tuple(
        name if marks.count(mark) == 1 else f"{marks.count(mark)} {name}" for mark, name in MARKS if mark in marks
    )
    return Stage(tuple(chunk.count("t") for chunk in chunks), beside)


def _of_pattern(config: EffectiveConfig, pattern: str, pp: int) -> Item:
    """Read a hybrid pattern with stages; what stands behind a slash is multi-token prediction, on the last one."""
    rows = tuple(len(part) for part in pattern.split("/", 1)[0].split("|"))
    if len(rows) % pp:
        raise Unjudged(PATTERN, f"its {len(rows)} stages are no multiple of {PP} = {pp}")
    held = [Stage(rows[place::pp]) for place in range(pp)]
    return Item(
        _with_ends(config, held), note="the stages of the hybrid pattern", written=places(config.value(PATTERN))
    )


def _uneven(config: EffectiveConfig, pp: int) -> list[Stage]:
    """Give the first and the last stage their own layers, the others equal ones (transformer_block.py:103-146)."""
    layers, first, last = positive(config, LAYERS), config.data(FIRST), config.data(LAST)
    ends = [number for number in (first, last) if isinstance(number, int)]
    if pp == 1:
        return [_alone(layers, ends[-1])]
    middle, between = layers - sum(ends), pp - len(ends)
    if between < 0 or middle < 0 or (between and middle % between) or (not between and middle):
        raise Unjudged(
            SENTENCE, f"{layers} layers do NOT FIT: {middle} are left for {max(between, 0)} stages between the ends"
        )
    held = [middle // between] * between if between else []
    held = [*([first] if first is not None else []), *held, *([last] if last is not None else [])]
    return [Stage(_chunks(config, number)) for number in held]


def _alone(layers: int, number: int) -> Stage:
    """Give the one stage, which is the last and then builds the last's layers, else the first's."""
    if number != layers:
        raise Unjudged(SENTENCE, f"{layers} layers do NOT FIT: the one stage builds {number}")
    return Stage((number,))


def _even(config: EffectiveConfig, pp: int) -> list[Stage]:
    """Give every stage as many layers; the embedding and the loss count as one where they are told to (:147-203)."""
    layers, counted = positive(config, LAYERS), [name for name in (EMBEDDING, LOSS) if config.data(name)]
    if counted and config.within(COUNTED_APART):
        raise Unjudged(counted[0], "before megatron-core 0.12 it takes a stage of its own")
    total = layers + len(counted)
    if total % pp:
        what = f"{total} layers" if total == layers else f"{layers} layers, and {total - layers} that count as layers,"
        raise Unjudged(SENTENCE, f"{what} do NOT FIT: they are no multiple of pp {pp}")
    held = [list(_chunks(config, total // pp)) for _ in range(pp)]
    if EMBEDDING in counted:
        held[0][0] -= 1
    if LOSS in counted:
        held[-1][-1] -= 1
    return [Stage(tuple(chunks)) for chunks in held]


def _chunks(config: EffectiveConfig, layers: int) -> tuple[int, ...]:
    """Cut the layers of a stage into the chunks of interleaving."""
    vpp = config.data(VPP)
    if vpp is None:
        return (layers,)
    chunks = positive(config, VPP)
    if layers % chunks or chunks > MAX_STAGES:
        raise Unjudged(SENTENCE, f"{layers} layers of a stage do NOT FIT: they are no multiple of {chunks} chunks")
    return (layers // chunks,) * chunks


def _with_ends(config: EffectiveConfig, held: list[Stage]) -> tuple[Stage, ...]:
    """Put multi-token prediction layers on the last stage, where they are known."""
    more = config.value(MTP).data
    if not isinstance(more, int) or isinstance(more, bool) or more < 1:
        return tuple(held)
    what = "prediction layer" if more == 1 else f"{more} prediction layers"
    return (*held[:-1], Stage(held[-1].chunks, (what,)))
