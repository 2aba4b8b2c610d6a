"""Two launches compared, as text, Markdown and JSON: what differs, and what that comes to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from meshlint.card import AMISS, GO
from meshlint.difference import Changed, Comparison, Difference, Meaning, RoleDifference
from meshlint.finding import Finding, LaunchRef
from meshlint.markdown import code, fenced
from meshlint.place import Span
from meshlint.report.card import place, told
from meshlint.report.data import SCHEMA, finding_data
from meshlint.report.style import Style
from meshlint.report.text import clean, dumps, harmless, line_start, plain
from meshlint.words import plural

FORMATS = ("text", "markdown", "json")
MAX_OTHERS = 8
MAX_ALONE = 5
"""Launches of one side alone that are named."""


def render(
    comparison: Comparison, form: str, version: str = "", colour: bool = False, verbose: bool = False
) -> Iterator[str]:
    """Give the lines in one of FORMATS; raises KeyError for another."""
    if form not in FORMATS:
        raise KeyError(form)
    if form == "json":
        yield from dumps(data(comparison, version), 2).split("\n")
    elif form == "markdown":
        yield from _markdown(comparison)
    else:
        yield from map(harmless, _text(comparison, Style(colour), verbose))


def _text(comparison: Comparison, style: Style, verbose: bool) -> Iterator[str]:
    for pair in comparison.pairs:
        if not pair.same:
            yield from _pair(pair, style, verbose)
            yield ""
    yield from _summary(comparison)


def _summary(comparison: Comparison) -> Iterator[str]:
    """Count the launches that are alike, and name those that one side alone has."""
    same = sum(pair.same for pair in comparison.pairs)
    if same:
        yield f"{plural(same, 'launch')} {'is' if same == 1 else 'are'} the same on both sides."
    for given, alone in ((comparison.before, comparison.only_before), (comparison.after, comparison.only_after)):
        if alone:
            yield f"only in {clean(given)}: {_names(alone)}"


def _names(launches: Sequence[LaunchRef]) -> str:
    named = ", ".join(clean(launch.identity) for launch in launches[:MAX_ALONE])
    more = len(launches) - MAX_ALONE
    return f"{named}, and {more} more" if more > 0 else named


def heading(pair: Difference) -> str:
    """Name both launches; one where they bear one name."""
    before, after = line_start(pair.before.identity), clean(pair.after.identity)
    return before if before == after else f"{before} -> {after}"


def verdict(pair: Difference) -> str:
    """Say whether the launch may go: `GO`, `GO -> NO-GO`."""
    before, after = pair.verdicts
    return before if before == after else f"{before} -> {after}"


def _pair(pair: Difference, style: Style, verbose: bool) -> Iterator[str]:
    worse = pair.verdicts[1] != GO
    yield f"{style('error' if worse else 'good', verdict(pair))}  {style('bold', heading(pair))}"
    for head, rows in sections(pair, verbose):
        yield f"  {style('bold', head)}"
        yield from (f"    {_painted(row, style)}" for row in rows)


def _painted(row: str, style: Style) -> str:
    return row.replace("CROSSES", style("warning", "CROSSES")).replace(AMISS, style("error", AMISS))


def sections(pair: Difference, everything: bool) -> Iterator[tuple[str, list[str]]]:
    """Give the parts of a comparison: a heading, and its lines."""
    if pair.launch:
        yield "launch", _table(pair.launch)
    for role in pair.roles:
        yield from _role(role)
    if pair.appear:
        yield "new findings", [_finding(finding) for finding in pair.appear]
    if pair.disappear:
        yield "findings that go", [_finding(finding) for finding in pair.disappear]
    if pair.others:
        yield "other settings", _others(pair.others, everything)


def _others(others: Sequence[Changed], everything: bool) -> list[str]:
    """Write some of the settings that are written, and count the rest."""
    written = [row for row in others if row.is_written]
    shown = others if everything else written[:MAX_OTHERS]
    more, defaults = len(written) - len(shown), len(others) - len(written)
    counts = [f"{more} more"] if more > 0 else []
    counts += [plural(defaults, "default of the framework that differs", "defaults of the framework that differ")]
    hidden = ", ".join(counts if defaults else counts[:-1])
    rows = _table(shown) if shown else []
    return rows if everything or not hidden else [*rows, f"{hidden}: --verbose"]


def _role(role: RoleDifference) -> Iterator[tuple[str, list[str]]]:
    name = f" of {clean(role.name)}" if role.name else ""
    if role.only:
        yield f"role {clean(role.name)}", [f"only {role.only}"]
    if role.fields:
        yield f"settings{name}", _table(role.fields)
    if role.meaning:
        yield f"what that changes{name}", _meanings(role.meaning)


def _table(rows: Sequence[Changed]) -> list[str]:
    """Write settings in columns: name, both values, and where they are written."""
    wide = max(len(clean(row.name)) for row in rows)
    values = [f"{before} -> {after}" for before, after in zip(*map(_once, _sides(rows)), strict=True)]
    number = max(len(text) for text in values if len(text) <= 40) if any(len(text) <= 40 for text in values) else 0
    return [
        f"{clean(row.name):<{wide}}  {text:<{number}}  {_places(row)}".rstrip()
        for row, text in zip(rows, values, strict=True)
    ]


def _sides(rows: Sequence[Changed]) -> tuple[list[str], list[str]]:
    return [clean(row.before) for row in rows], [clean(row.after) for row in rows]


def _once(told: Sequence[str]) -> list[str]:
    """Give the reason of an unknown value once; below it stands `?` alone."""
    first = {text: at for at, text in reversed(list(enumerate(told)))}
    return ["?" if text.startswith("? (") and first[text] < at else text for at, text in enumerate(told)]


def _places(row: Changed) -> str:
    told_of = [place(span) if span is not None else "" for span in (row.before_at, row.after_at)]
    if not any(told_of):
        return ""
    return told_of[0] if told_of[0] == told_of[1] else f"{told_of[0] or 'not written'} -> {told_of[1] or 'not written'}"


def _meanings(rows: Sequence[Meaning]) -> list[str]:
    wide = max(len(row.what) for row in rows)
    return [
        f"{row.what:<{wide}}  {clean(row.before)} -> {clean(row.after)}{f': {clean(row.note)}' if row.note else ''}"
        for row in rows
    ]


def _finding(finding: Finding) -> str:
    return f"{finding.severity.value} {finding.code} {place(finding.span)}  {told(finding)}"


def _markdown(comparison: Comparison) -> Iterator[str]:
    yield f"## {code(comparison.before)} -> {code(comparison.after)}"
    for pair in comparison.pairs:
        if pair.same:
            continue
        yield ""
        yield f"### {verdict(pair)}: {code(heading(pair))}"
        for head, rows in sections(pair, True):
            yield ""
            yield f"{head[0].upper()}{head[1:]}:"
            yield ""
            yield from fenced("\n".join(rows))
    for line in _summary(comparison):
        yield ""
        yield code(line)


def data(comparison: Comparison, version: str) -> dict[str, Any]:
    """Give the comparison as an object; `docs/json.md` documents it."""
    return {
        "schema": SCHEMA,
        "tool": {"name": "meshlint", "version": version},
        "before": plain(comparison.before),
        "after": plain(comparison.after),
        "pairs": [_pair_data(pair) for pair in comparison.pairs],
        "only_before": [_launch(launch) for launch in comparison.only_before],
        "only_after": [_launch(launch) for launch in comparison.only_after],
    }


def _pair_data(pair: Difference) -> dict[str, Any]:
    return {
        "before": _launch(pair.before),
        "after": _launch(pair.after),
        "verdicts": list(pair.verdicts),
        "launch": [_changed(row) for row in pair.launch],
        "roles": [
            {
                "name": plain(role.name),
                "only": role.only or None,
                "fields": [_changed(row) for row in role.fields],
                "meaning": [_meaning(row) for row in role.meaning],
            }
            for role in pair.roles
        ],
        "others": [_changed(row) for row in pair.others],
        "appear": [finding_data(finding) for finding in pair.appear],
        "disappear": [finding_data(finding) for finding in pair.disappear],
    }


def _launch(launch: LaunchRef) -> dict[str, Any]:
    return {"identity": plain(launch.identity), "path": plain(launch.span.path), "line": launch.span.line}


def _changed(row: Changed) -> dict[str, Any]:
    return {
        "name": plain(row.name),
        "before": plain(row.before),
        "after": plain(row.after),
        "before_at": _at(row.before_at),
        "after_at": _at(row.after_at),
    }


def _meaning(row: Meaning) -> dict[str, Any]:
    return {"what": row.what, "before": plain(row.before), "after": plain(row.after), "note": plain(row.note) or None}


def _at(span: Span | None) -> str | None:
    return None if span is None else f"{plain(span.path)}:{span.line}"
