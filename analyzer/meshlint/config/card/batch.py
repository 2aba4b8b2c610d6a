"""Batches: samples of an optimizer step, cut into micro-batches."""

from __future__ import annotations

from meshlint.card import Item, Step
from meshlint.config.batches import GLOBAL, MICRO
from meshlint.config.card.ranks import CP, SENTENCE, noted, places, replicas, shards, unless
from meshlint.config.effective import EffectiveConfig, Unjudged
from meshlint.config.parse import as_int
from meshlint.config.sizes import positive
from meshlint.config.value import Value


def step(config: EffectiveConfig) -> Item:
    """Tell the batches of an optimizer step; no data for a role that only runs forward.

    What does not hang on an unknown number of ranks is told all the same.
    """
    if config.data("training") is False:
        return Item()
    _same_each_step(config)
    samples, note, values = _samples(config)
    dp, cut = _replicas(config), shards(config)
    if dp is not None and cut > 1:
        note, dp = noted(note, f"dp {dp} * {cut} weight shards, each with samples of its own"), dp * cut
    if config.data("dynamic_batch_size") or _packs_micro_batches(config):
        found = Step(samples, None, dp, None, by_tokens=True, tokens=_tokens(config))
        return _told(found, note, values)
    micro, its = _micro(config)
    if dp is None:
        return _told(Step(samples, micro, None, None), note, (*values, its))
    unit = micro * dp
    if config.data("decrease_batch_size_if_needed") and samples > unit and samples % unit:
        note, samples = noted(note, f"rounded down from {samples}"), samples // unit * unit
    if samples % unit:
        raise Unjudged(SENTENCE, f"{samples} samples do NOT FIT: they are no multiple of micro {micro} x dp {dp}")
    return _told(Step(samples, micro, dp, samples // unit), note, (*values, its))


def _tokens(config: EffectiveConfig) -> int | None:
    """Give the most tokens of a micro-batch that is cut by tokens; None where that is not known.

    verl and slime count them by the rank, so that those of a cp group come together (verl 1dda039b9
    workers/engine/utils.py:111; slime utils/dp_schedule.py:120); NeMo-RL counts the micro-batch.
    """
    most, cp = config.value("max_tokens_per_gpu").data, config.value(CP).data
    if not isinstance(most, int) or not isinstance(cp, int):
        return None
    return most if config.framework.name == "nemo-rl" else most * cp


def _told(found: Step, note: str, values: tuple[Value, ...]) -> Item:
    written = tuple(dict.fromkeys(place for value in values for place in places(value)))
    return Item(found, note=note, written=written, unless=unless(*values))


def _replicas(config: EffectiveConfig) -> int | None:
    """Give the data parallel size; None where it is not known, which the card says of the size itself."""
    try:
        return replicas(config)
    except Unjudged:
        return None


def _same_each_step(config: EffectiveConfig) -> None:
    for name in ("rampup_batch_size", "step_batch_size_schedule"):
        if config.data(name) is not None:
            raise Unjudged(SENTENCE, "the batch grows during the run")


def _samples(config: EffectiveConfig) -> tuple[int, str, tuple[Value, ...]]:
    """Give the samples of a step, how they come about, and the values behind them."""
    if config.framework.name == "verl":
        return _of_verl(config)
    if config.framework.name in ("roll", "areal"):
        raise Unjudged(SENTENCE, f"how {config.framework.title} cuts its batches is not followed")
    value = config.need(GLOBAL)
    if value.data is None:
        raise Unjudged(GLOBAL, "it is not set, and the framework works it out")
    return positive(config, GLOBAL), "", (value,)


def _of_verl(config: EffectiveConfig) -> tuple[int, str, tuple[Value, ...]]:
    """Count verl's: the SFT trainer's batch, or the prompts of a mini-batch times the responses to each.

    Source: verl 1dda039b9 trainer/sft_trainer.py:240; trainer/ppo/ray_trainer.py:1353, :1383.
    """
    if config.role.name == "sft":
        whole = _key(config, "data.train_batch_size")
        return _number(whole, "data.train_batch_size"), "", (whole,)
    prompts, responses = config.need(GLOBAL), _key(config, "actor_rollout_ref.rollout.n")
    if prompts.data is None:
        raise Unjudged(GLOBAL, "it is not set")
    each = _number(responses, "actor_rollout_ref.rollout.n")
    note = f"{prompts.data} prompts * {each} responses, one mini-batch"
    return positive(config, GLOBAL) * each, note, (prompts, responses)


def _key(config: EffectiveConfig, key: str) -> Value:
    """Give a key of the framework; ends where nobody writes it."""
    value = config.launch.find(key)
    if value is None or value.data is None:
        raise Unjudged(GLOBAL, value.reason if value is not None and value.is_unknown else f"{key} is not written")
    return value


def _number(value: Value, key: str) -> int:
    try:
        number = as_int(value.data)
    except ValueError as error:
        raise Unjudged(GLOBAL, f"{key}: {error}") from None
    if not isinstance(number, int) or number < 1:
        raise Unjudged(GLOBAL, f"{key} is not a positive number")
    return number


def _micro(config: EffectiveConfig) -> tuple[int, Value]:
    if config.framework.name == "verl" and config.role.name == "sft":
        value = _key(config, "data.micro_batch_size_per_gpu")
        return _number(value, "data.micro_batch_size_per_gpu"), value
    value = config.need(MICRO)
    if value.data is None:
        raise Unjudged(MICRO, "it is not set")
    return positive(config, MICRO), value


def _packs_micro_batches(config: EffectiveConfig) -> bool:
    """Say whether NeMo-RL packs samples into micro-batches by tokens (nemo_rl/models/megatron/data.py)."""
    return config.framework.name == "nemo-rl" and bool(config.data("packed_sequences"))
