"""Launch cards in each format: `text`, `markdown`, `json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from meshlint.card import Card, Group, Item, Line, Pad, RoleCard, Stage, Step, Variant
from meshlint.markdown import code, fenced
from meshlint.place import Span
from meshlint.report import card as text
from meshlint.report.data import SCHEMA, coverage_data, finding_data
from meshlint.report.style import Style
from meshlint.report.text import dumps, harmless, plain

FORMATS = ("text", "markdown", "json")


def render(
    cards: Sequence[Card], form: str, version: str = "", colour: bool = False, verbose: bool = False
) -> Iterator[str]:
    """Give the lines of cards in one of FORMATS; raises KeyError for another."""
    if form not in FORMATS:
        raise KeyError(form)
    if form == "json":
        yield from dumps(data(cards, version), 2).split("\n")
    elif form == "markdown":
        yield from markdown(cards)
    else:
        yield from map(harmless, text.render(cards, Style(colour), verbose))


def markdown(cards: Sequence[Card]) -> Iterator[str]:
    """Give a section a launch: the verdict, the findings, and the card as a block."""
    if len(cards) > 1:
        yield f"## meshlint: {text.tally(cards)}"
        yield ""
    for card in cards:
        yield from _section(card)
        yield ""


def _section(card: Card) -> Iterator[str]:
    yield f"### {card.verdict}: {code(card.launch.identity)}"
    yield ""
    yield f"{code(text.heading(card))}: {text.counts(card)}"
    yield ""
    for finding in card.findings:
        where = f"{code(text.place(finding.span))}{text.of_roles(card, finding)}"
        yield f"- {finding.severity.value} {finding.code} {where}: {code(text.told(finding))}"
    if card.findings:
        yield ""
    yield from fenced("\n".join(f"{label:<{text.LABEL}} {words}".rstrip() for label, words in text.matters(card, True)))


def data(cards: Sequence[Card], version: str) -> dict[str, Any]:
    """Give all cards as an object; `docs/json.md` documents it."""
    return {
        "schema": SCHEMA,
        "tool": {"name": "meshlint", "version": version},
        "cards": [card_data(card) for card in cards],
    }


def card_data(card: Card) -> dict[str, Any]:
    """Give a card, every key present."""
    coverage = coverage_data(card.coverage)
    return {
        "verdict": card.verdict,
        "launch": coverage["launch"],
        "framework": coverage["framework"],
        "surface": coverage["surface"],
        "entry": plain(card.entry),
        "findings": [finding_data(finding) for finding in card.findings],
        "suppressed": card.silenced,
        "judged": coverage["judged"],
        "not_judged": coverage["not_judged"],
        "versions": {one.library: {"releases": one.releases, "pin": plain(one.pin) or None} for one in card.versions},
        "undecided": plain(card.undecided) or None,
        "variants": [_variant(variant, card) for variant in card.variants],
    }


def _variant(variant: Variant, card: Card) -> dict[str, Any]:
    roles = [{**role_data(role), "verdict": card.verdict_of(role)} for role in variant.roles]
    return {"where": [plain(where) for where in variant.where], "roles": roles}


def role_data(role: RoleCard) -> dict[str, Any]:
    """Give the card of a role; a line that hangs on open versions is a list of its values."""
    lines: Mapping[str, Line] = {
        "ranks": role.ranks,
        "nodes": role.nodes,
        "gpus_per_node": role.per_node,
        **role.sizes,
        "order": role.order,
        "groups": role.groups,
        "expert_groups": role.expert_groups,
        "stages": role.stages,
        "step": role.step,
        "length": role.length,
        "pads": role.pads,
    }
    return {"name": role.name, **{name: _line(line) for name, line in lines.items()}}


def _line(line: Line) -> Any:
    return _item(line[0]) if len(line) == 1 else [_item(item) for item in line]


def _item(item: Item) -> dict[str, Any]:
    """Give one thing: its value, or null and the reason why it is not known."""
    told: dict[str, Any] = {"value": _value(item.data)}
    told |= {
        name: plain(words)
        for name, words in (("unknown", item.reason), ("note", item.note), ("versions", item.versions))
        if words
    }
    if item.written:
        told["written"] = [_place(span) for span in item.written]
    if item.unless:
        told["unless"] = [plain(name) for name in item.unless]
    return told


def _place(span: Span) -> str:
    return f"{plain(span.path)}:{span.line}"


def _value(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_value(one) for one in value]
    if isinstance(value, Group):
        first = list(value.first)
        return {"name": value.name, "size": value.size, "count": value.count, "first": first, "nodes": value.nodes}
    if isinstance(value, Stage):
        return {"layers": value.layers, "chunks": list(value.chunks), "beside": list(value.beside)}
    if isinstance(value, Step):
        return {
            "samples": value.samples,
            "micro": value.micro,
            "dp": value.replicas,
            "micro_batches": value.count,
            "by_tokens": value.by_tokens,
            "tokens": value.tokens,
        }
    if isinstance(value, Pad):
        return {
            "what": value.what,
            "given": value.given,
            "is_length": value.is_length,
            "wanted": value.wanted,
            "how": value.how,
            "by": value.by,
            "fits": value.fits,
        }
    return plain(value) if isinstance(value, str) else value
