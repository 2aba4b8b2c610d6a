"""Full text: a finding that a stranger can act on, with the lines of every value that took part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from meshlint.finding import Coverage, Finding, LaunchRef, NotJudged, Outcome, Report, Severity
from meshlint.place import Span
from meshlint.report.style import Style
from meshlint.report.text import causes, clean, judged_share, line_start
from meshlint.report.text import lines as text_lines
from meshlint.words import plural

MAX_LAUNCHES = 5
MAX_PLACES = 10
"""Places shown of infos that say the same."""
MAX_WIDTH = 160
MAX_REASONS = 3

OUTCOMES = {
    Outcome.HANG: "the run hangs",
    Outcome.CRASH_START: "the run crashes at start",
    Outcome.CRASH_LATE: "the run crashes late",
    Outcome.WRONG: "the run goes on and is wrong",
    Outcome.IGNORED: "the setting is ignored",
    Outcome.SLOW: "the run is slow",
    Outcome.NONE: "",
}


def render(report: Report, style: Style, verbose: bool = False) -> Iterator[str]:
    """Give the lines of the report."""
    shown = [f for f in report.findings if f.counts]
    lines = {path: text.split("\n") for path, text in report.sources.items()}
    for group in [[finding] for finding in shown] if verbose else _grouped(shown):
        short = group[0].severity is Severity.INFO and not verbose
        yield from _infos(group, lines, style) if short else _finding(group[0], lines, style)
        yield ""
    yield from _summary(report, shown, style)
    yield from _coverage(report, style, verbose)
    if verbose:
        yield from (f"not followed: {clean(detail)}" for detail in report.details)


def _grouped(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Put infos that say the same into one group, at the place of the first; every other finding stands alone."""
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        alone = finding.severity is not Severity.INFO
        key = finding if alone else (finding.code, finding.message, finding.outcome, finding.reproducer)
        groups.setdefault(id(key) if alone else key, []).append(finding)
    return list(groups.values())


def _infos(group: Sequence[Finding], lines: dict[str, list[str]], style: Style) -> Iterator[str]:
    """Give infos that say the same: the message once, each place, one fix, and the launches of all.

    The place in a launch is a line of its own; that in code stands with the gate and all else that took part.
    """
    yield from _head(group[0], style)
    outcome = OUTCOMES[group[0].outcome]
    of_code = not any(finding.launches for finding in group)
    for finding in group[:MAX_PLACES]:
        if of_code:
            yield from _places(finding, lines, style)
            continue
        text = clean(_text(finding.span, lines) or "").strip()
        shown, _, _ = _window(text, 0, 1)
        yield f"  {style('place', _place(finding.span))}" + (f"  {shown}" if shown else "")
    if len(group) > MAX_PLACES:
        yield f"  and {len(group) - MAX_PLACES} more places: --verbose"
    yield from ([f"  ({outcome})"] if outcome and not of_code else [])
    launches = {launch: None for finding in group for launch in finding.launches}
    yield from _facts(replace(group[0], launches=tuple(launches)))


def _head(finding: Finding, style: Style) -> Iterator[str]:
    severity = finding.severity.value
    first, *further = text_lines(finding.message)
    yield f"{style(severity, f'{severity}[{finding.code}]')} {style('bold', finding.slug)}: {first}"
    yield from (f"  {line_start(line)}".rstrip() for line in further)


def _finding(finding: Finding, lines: dict[str, list[str]], style: Style) -> Iterator[str]:
    yield from _head(finding, style)
    yield from _places(finding, lines, style)
    yield from (f"  {clean(given)}" for given in finding.given)
    yield from _facts(finding)


def _places(finding: Finding, lines: dict[str, list[str]], style: Style) -> Iterator[str]:
    """Give the place to edit with its text marked, and every other one that took part."""
    outcome = OUTCOMES[finding.outcome]
    yield f"  {style('place', _place(finding.span))}" + (f"  ({outcome})" if outcome else "")
    yield from _snippet(finding.span, lines, style)
    for related in finding.related:
        yield f"  {style('place', _place(related.span))}  {clean(related.label)}"
        yield from _line(related.span, lines, style)


def _facts(finding: Finding) -> Iterator[str]:
    if finding.versions:
        yield f"  versions judged: {'; '.join(_versions(finding))}"
    if finding.fix is not None:
        yield f"  fix: {clean(finding.fix.description)}"
    if finding.reproducer:
        yield f"  reproduced: {clean(finding.reproducer)}"
    if finding.launches:
        yield f"  launches: {_launches(finding.launches)}"


def _versions(finding: Finding) -> Iterator[str]:
    for library, versions in sorted(finding.versions.items()):
        pinned = finding.pinned.get(library)
        yield f"{library} {clean(versions)}" + (f" ({clean(pinned)})" if pinned else " (no pin)")


def _launches(launches: Sequence[LaunchRef]) -> str:
    named = ", ".join(clean(launch.identity) for launch in launches[:MAX_LAUNCHES])
    more = len(launches) - MAX_LAUNCHES
    return f"{named}, and {more} more ({len(launches)} launches)" if more > 0 else named


def _place(span: Span) -> str:
    return f"{line_start(span.path)}:{span.line}:{span.column}"


def _snippet(span: Span, lines: dict[str, list[str]], style: Style) -> Iterator[str]:
    text = _text(span, lines)
    if text is None:
        return
    margin = " " * len(str(span.line))
    start = clean(text[: span.column - 1])
    last = span.end_column - 1 if span.end_line == span.line else len(text)
    marked = clean(text[span.column - 1 : last]) or " "
    line, before, width = _window(start + marked + clean(text[last:]), len(start), len(marked))
    yield f"  {style('dim', f'{margin} |')}"
    yield f"  {style('dim', f'{span.line} |')} {line}"
    yield f"  {style('dim', f'{margin} |')} {' ' * before}{style('bold', '^' * width)}"


def _window(line: str, start: int, width: int) -> tuple[str, int, int]:
    """Cut a long line down around the marked part."""
    if len(line) <= MAX_WIDTH:
        return line.rstrip(), start, width
    left = max(0, min(start - MAX_WIDTH // 4, len(line) - MAX_WIDTH))
    right = left + MAX_WIDTH
    shown = ("..." if left else "") + line[left:right].rstrip() + ("..." if right < len(line) else "")
    return shown, start - left + (3 if left else 0), min(width, MAX_WIDTH // 2)


def _line(span: Span, lines: dict[str, list[str]], style: Style) -> Iterator[str]:
    text = _text(span, lines)
    if text is not None and text.strip():
        shown, _, _ = _window(clean(text).strip(), len(clean(text[: span.column - 1]).lstrip()), 1)
        yield f"  {style('dim', f'{span.line} |')} {shown}"


def _text(span: Span, lines: dict[str, list[str]]) -> str | None:
    of_file = lines.get(span.path)
    return of_file[span.line - 1] if of_file is not None and 0 < span.line <= len(of_file) else None


def _summary(report: Report, shown: list[Finding], style: Style) -> Iterator[str]:
    hidden = _hidden(report)
    if not shown:
        if any(one.not_judged for one in report.coverage):
            yield f"No findings in the rules that could be judged{hidden}."
        elif report.coverage or report.code or hidden:
            yield style("good", f"No findings{hidden}.")
        return
    counts = [
        style(severity.value, plural(number, severity.value, "infos" if severity is Severity.INFO else ""))
        for severity in Severity
        if (number := sum(f.severity is severity for f in shown))
    ]
    yield f"{', '.join(counts)}{hidden}."


def _hidden(report: Report) -> str:
    """Say how many findings are not shown."""
    suppressed = sum(bool(f.suppressed) for f in report.findings)
    told = [f"{suppressed} suppressed"] if suppressed else []
    told += [f"{report.dropped} left out by per-file-ignores"] if report.dropped else []
    return f" ({', '.join(told)})" if told else ""


def _coverage(report: Report, style: Style, verbose: bool) -> Iterator[str]:
    coverage = report.coverage
    left_out = "; ".join(_left_out(report))
    code = plural(report.code, "Python file") if report.code else ""
    if not coverage:
        if code:
            told = f"The code of {code} was judged ({report.concerned or 'none'} with collectives)"
            told += "; no launch is in scope" + (f"; of the rules, {left_out}" if left_out else "")
            yield style("dim", f"{told}.")
        return
    head = "; ".join(
        part
        for part in (
            f"{judged_share(coverage)} in {plural(len(coverage), 'launch')}",
            code and f"the code of {code} judged",
            left_out,
        )
        if part
    )
    stopped = sum(bool(c.not_judged) for c in coverage)
    if any(finding.code == "MSH003" for finding in report.findings):
        head += "; MSH003 tells what was not read"
    if verbose:
        for one in coverage:
            yield from _launch_coverage(one)
        yield style("dim", f"{head}.")
    elif stopped:
        where = f" the others in {stopped}" if len(coverage) > 1 else " the others"
        yield style("dim", f"{head}. What stopped{where}:")
        yield from (style("dim", line) for line in _causes(coverage))
    else:
        yield style("dim", f"{head}.")


def _left_out(report: Report) -> Iterator[str]:
    """Give the rules that nobody asked for, by the reason: `35 in preview not (--preview)`."""
    words = {"preview": "in preview not judged (--preview)", "ignored": "ignored", "not selected": "not selected"}
    yield from (f"{number} {words[why]}" for why in words if (number := report.left_out.get(why, 0)))


def _causes(coverage: Sequence[Coverage]) -> Iterator[str]:
    """Give a line for each of the most frequent reasons why rules were not judged."""
    found = causes(coverage)
    for cause in found[:MAX_REASONS]:
        where = f"in {plural(cause.launches, 'launch')}: " if len(coverage) > 1 else ""
        yield f"  {where}{cause}"
    if len(found) > MAX_REASONS:
        yield f"  {len(found) - MAX_REASONS} more: --verbose"


def _launch_coverage(one: Coverage) -> Iterator[str]:
    total = len(one.judged) + len(one.not_judged)
    who = f"{line_start(one.launch.identity)} ({one.framework}, {one.surface})"
    yield f"{who}: {len(one.judged)} of {plural(total, 'rule')} judged"
    grouped: dict[tuple[str, str], list[NotJudged]] = {}
    for stop in one.not_judged:
        grouped.setdefault((stop.field, stop.reason), []).append(stop)
    for (field, reason), stops in grouped.items():
        yield f"  not judged: {', '.join(s.code for s in stops)}: {field} ({clean(reason)})"
