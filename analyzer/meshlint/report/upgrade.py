"""What changes verdict where a version moves, as text, Markdown and JSON; other formats report what is new."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from meshlint.finding import Finding
from meshlint.markdown import code
from meshlint.moves import Move, Turned, Upgrade
from meshlint.report import full
from meshlint.report.card import place, told
from meshlint.report.data import finding_data, report_data
from meshlint.report.style import Style
from meshlint.report.text import dumps, harmless, plain
from meshlint.words import plural

FORMATS = ("full", "concise", "markdown", "json")


def render(upgrade: Upgrade, form: str, colour: bool = False, verbose: bool = False) -> Iterator[str]:
    """Give the lines in a format; raises KeyError for one that is not of FORMATS."""
    style = Style(colour)
    if form == "json":
        yield from dumps(data(upgrade), 2).split("\n")
    elif form == "markdown":
        yield from _markdown(upgrade)
    elif form == "full":
        yield from map(harmless, _full(upgrade, style, verbose))
    elif form == "concise":
        yield from map(harmless, _concise(upgrade, style))
    else:
        raise KeyError(form)


def moved(move: Move) -> str:
    """Say how a library moves: `megatron-core 0.16.1 -> 0.19.2 in 3 launches`."""
    parts = []
    for before, number in move.before:
        how = f"stays {before}" if before == move.release else f"{before} -> {move.release}"
        parts.append(f"{how} in {plural(number, 'launch')}")
    parts += [f"not used by {plural(move.elsewhere, 'launch')}"] if move.elsewhere else []
    parts += ["comes along"] if move.along else []
    return f"{move.library} {'; '.join(parts) or f'{move.release}: no launch uses it'}"


def summary(upgrade: Upgrade) -> str:
    """Count what is new, what says something else, what is gone, and what stays."""
    graver = sum(pair.graver for pair in upgrade.turned)
    counts = (
        (len(upgrade.new), "new"),
        (graver, "graver"),
        (len(upgrade.turned) - graver, "changed"),
        (len(upgrade.gone), "gone"),
        (len(upgrade.unchanged), "unchanged"),
    )
    return ", ".join(f"{number} {what}" for number, what in counts if number or what in ("new", "gone", "unchanged"))


def turn(pair: Turned) -> str:
    """Say what a finding was and what it becomes: `warning -> error`, or what happens instead."""
    if pair.before.severity is not pair.after.severity:
        return f"{pair.before.severity.value} -> {pair.after.severity.value}"
    words = [full.OUTCOMES[one.outcome] or "nothing happens" for one in (pair.before, pair.after)]
    return f"{pair.after.severity.value}, {' -> '.join(words)}"


def _full(upgrade: Upgrade, style: Style, verbose: bool) -> Iterator[str]:
    yield from (moved(move) for move in upgrade.moves)
    yield ""
    for head, findings in (("new", upgrade.new), ("graver", [p.after for p in upgrade.turned if p.graver])):
        if findings:
            yield f"{style('bold', head)}:"
            yield ""
            yield from _whole(upgrade, findings, style, verbose)
    yield from _short(upgrade, style, verbose)
    yield f"{summary(upgrade)}."


def _whole(upgrade: Upgrade, findings: Sequence[Finding], style: Style, verbose: bool) -> Iterator[str]:
    """Give findings as `check` does, without its summary."""
    report = replace(upgrade.report, findings=tuple(findings), coverage=(), left_out={})
    lines = list(full.render(report, style, verbose))
    yield from lines[: -1 - len(report.details) * verbose]


def _short(upgrade: Upgrade, style: Style, everything: bool) -> Iterator[str]:
    """Give a line for each finding that is no worse than before."""
    changed = [(turn(pair), pair.after) for pair in upgrade.turned if not pair.graver]
    gone = [(finding.severity.value, finding) for finding in upgrade.gone]
    same = [(finding.severity.value, finding) for finding in upgrade.unchanged]
    for head, rows in (("changed", changed), ("gone", gone), ("unchanged", same if everything else [])):
        if rows:
            yield f"{style('bold', head)}:"
            yield from (f"  {words} {_line(finding, style)}" for words, finding in rows)
            yield ""


def _line(finding: Finding, style: Style) -> str:
    return f"{finding.code} {style('place', place(finding.span))}  {told(finding)}"


def _rows(upgrade: Upgrade) -> Iterator[tuple[str, str, Finding]]:
    """Give what is not as before: what became of it, in a word and in words, and the finding."""
    yield from (("new", finding.severity.value, finding) for finding in upgrade.new)
    yield from (("graver" if pair.graver else "changed", turn(pair), pair.after) for pair in upgrade.turned)
    yield from (("gone", finding.severity.value, finding) for finding in upgrade.gone)


def _concise(upgrade: Upgrade, style: Style) -> Iterator[str]:
    for what, words, finding in _rows(upgrade):
        yield f"{place(finding.span)}:{finding.span.column}: {what} {words} {finding.code} {told(finding)}"


def _markdown(upgrade: Upgrade) -> Iterator[str]:
    yield f"## meshlint: {summary(upgrade)}"
    yield ""
    yield from (f"- {code(moved(move))}" for move in upgrade.moves)
    rows = [*_rows(upgrade), *(("unchanged", f.severity.value, f) for f in upgrade.unchanged)]
    for what in ("new", "graver", "changed", "gone", "unchanged"):
        mine = [(words, finding) for one, words, finding in rows if one == what]
        if mine:
            yield from ("", f"### {what}", "")
        for words, finding in mine:
            yield f"- {words} {finding.code} {code(place(finding.span))}: {code(told(finding))}"


def data(upgrade: Upgrade) -> dict[str, Any]:
    """Give the report of what is new or graver, with `upgrade` beside it; `docs/json.md` documents it."""
    moves = [
        {
            "library": move.library,
            "release": move.release,
            "before": [{"versions": plain(before), "launches": number} for before, number in move.before],
            "elsewhere": move.elsewhere,
            "along": move.along,
        }
        for move in upgrade.moves
    ]
    turned = [
        {"graver": pair.graver, "before": finding_data(pair.before), "after": finding_data(pair.after)}
        for pair in upgrade.turned
    ]
    found = {
        "moves": moves,
        "new": [finding_data(finding) for finding in upgrade.new],
        "changed": turned,
        "gone": [finding_data(finding) for finding in upgrade.gone],
        "unchanged": [finding_data(finding) for finding in upgrade.unchanged],
    }
    return {**report_data(upgrade.report), "upgrade": found}
