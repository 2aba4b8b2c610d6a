"""Lengths, and what they have to be multiples of under context and sequence parallelism."""

from __future__ import annotations

from math import lcm

from meshlint.card import Item, Pad
from meshlint.config.card.ranks import CP, TP, places, sequence, unless
from meshlint.config.effective import EffectiveConfig, Unjudged
from meshlint.config.packing import is_packed
from meshlint.config.sizes import positive
from meshlint.config.value import State

SEQ = "seq_length"


def length(config: EffectiveConfig) -> Item:
    """Tell the longest sample, in tokens."""
    value = config.need(SEQ)
    if value.data is None:
        raise Unjudged(SEQ, "it is not set")
    if value.state is State.UNSET and not config.habit("seq_is_tensor_length"):
        raise Unjudged(SEQ, f"it is not written, and {config.framework.title} takes sequences as long as they come")
    return Item(positive(config, SEQ), written=places(value), unless=unless(value))


def pads(config: EffectiveConfig) -> Item:
    """Tell what each length is a multiple of, and what it has to be."""
    if not is_packed(config):
        return _unpacked(config)
    how = config.habit("pads_each_sequence_to")
    if how is None:
        return Item((Pad("each packed sequence", None, *_cut(config)),))
    if how == "pad_multiple":
        return _written(config)
    given, (wanted, cut) = _multiple(config, str(how)), _cut(config)
    if given == wanted == 1:
        return Item()
    note = "FP8 pads further" if config.value("fp8").data else ""
    return Item((Pad("each packed sequence", given, wanted, cut, by=f"{config.framework.title} itself"),), note=note)


def _cut(config: EffectiveConfig) -> tuple[int, str]:
    """Give what the cut of a sequence into two chunks a rank asks for."""
    cp = positive(config, CP)
    return (2 * cp, "2*cp") if cp > 1 else (1, "cp = 1")


def _unpacked(config: EffectiveConfig) -> Item:
    """Tell what a row of one sample asks for; where rows differ in length, nothing is known of each."""
    if not config.habit("seq_is_tensor_length"):
        return Item()
    tp, cp, split = positive(config, TP), positive(config, CP), bool(sequence(config).data)
    wanted, how = _cut(config)
    if split and tp > 1:
        wanted = lcm(wanted, tp * cp)
        how = f"lcm({how}, cp*tp)" if cp > 1 else "tp, under SP"
    if wanted == 1:
        return Item()
    if config.data(SEQ) is None:
        raise Unjudged(SEQ, "it is not set")
    return Item((Pad(SEQ, positive(config, SEQ), wanted, how, is_length=True),), written=places(config.value(SEQ)))


def _written(config: EffectiveConfig) -> Item:
    """Tell a pad that the config gives (PKD005 is the rule)."""
    value, (wanted, how) = config.need("pad_multiple"), _cut(config)
    given = None if value.data is None else positive(config, "pad_multiple")
    tp = positive(config, TP)
    if config.habit("checks_pad_multiple") and sequence(config).data and tp > 1:
        cut = how if wanted > 1 else ""
        wanted, how = wanted * tp, f"{cut}*tp, under SP" if cut else "tp, under SP"
    if wanted == 1 and given in (None, 1):
        return Item()
    pad = Pad("each packed sequence", given, wanted, how, by="pad_multiple")
    return Item((pad,), written=places(value), unless=unless(value, config.value(CP)))


def _multiple(config: EffectiveConfig, how: str) -> int:
    """Give the multiple to which a framework pads, from the habit's words; a lone rank of cp cuts nothing."""
    cp, tp = positive(config, CP), positive(config, TP)
    if config.habit("pads_for_sp_only") and not sequence(config).data:
        tp = 1
    cut = 2 * cp if cp > 1 else 1
    found = {
        "2*cp": cut,
        "2*cp*tp": cut * tp,
        "cp*tp": cp * tp,
        "lcm(2*cp,cp*tp)": lcm(cut, cp * tp if sequence(config).data else 1),
    }.get(how)
    if found is None:
        raise Unjudged("pad_multiple", f"what {how} comes to is not known")
    return found
