"""Which fixes are safe: wishes become edits, and an edit that anything else hangs on loses the name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from meshlint.config.launch import Launch
from meshlint.config.surface import Context
from meshlint.engine import gather
from meshlint.engine.judge import Judgement
from meshlint.engine.options import Options
from meshlint.finding import Edit, Finding, Fix
from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.sources.entries import edits
from meshlint.sources.tree import Unreadable

MAX_ENTRIES = 32
"""Files whose launches are read again to see what hangs on an edit; where there are more, it is not called safe."""

Judged = Sequence[tuple[gather.Entry, Sequence[Judgement]]]
"""The entries of a run, each with what was said of its launches."""


def settled(findings: Iterable[Finding], entries: Judged, context: Context, options: Options) -> Iterator[Finding]:
    """Give findings with fixes that are safe only where nothing else hangs on what they edit."""
    for finding in findings:
        fix = finding.fix
        if fix is None or not (fix.wishes or fix.safe):
            yield finding
            continue
        made = _fulfilled(fix, context)
        safe = fix.safe and bool(made) and not _shared(finding, made, _Around(entries, context, options))
        yield replace(finding, fix=Fix(fix.description, made, safe))


def _fulfilled(fix: Fix, context: Context) -> tuple[Edit, ...]:
    """Give all edits of a fix; none where one of its wishes comes to nothing."""
    made = list(fix.edits)
    for wish in fix.wishes:
        try:
            more = edits(wish, context.tree.read(wish.span.path))
        except Unreadable:
            more = ()
        if not more:
            return ()
        made += more
    return tuple(made)


@dataclass(frozen=True, slots=True)
class _Around:
    """What a run knows: its entries, and how to read them again."""

    entries: Judged
    context: Context
    options: Options

    def launches(self, paths: frozenset[str]) -> list[Launch] | None:
        """Give every launch that reads one of the files; None where they are too many to look at."""
        touched = [entry for entry, said in self.entries if any(j.reads & paths for j in said)]
        if len(touched) > MAX_ENTRIES:
            return None
        before = len(self.context.problems)
        found = [
            launch
            for entry in touched
            for variants in gather.launches(entry, self.context, self.options, [])
            for launch in variants
        ]
        del self.context.problems[before:]
        return found


def _shared(finding: Finding, made: Sequence[Edit], around: _Around) -> bool:
    """Say whether another launch, or another setting of the same one, has to do with the edited places."""
    own = {launch.identity for launch in finding.launches}
    launches = around.launches(frozenset(edit.span.path for edit in made))
    if launches is None:
        return True
    for launch in launches:
        if launch.identity not in own and any(_on_line(place, made) for _, place in _places(launch)):
            return True
        if len({key for key, place in _places(launch) if _within(place, made)}) > 1:
            return True
    return False


def _places(launch: Launch) -> Iterator[tuple[str, Span]]:
    """Give every place that made a setting or a variable of a launch, with its key."""
    named = [(write.key, write.value) for write in launch.writes] + list(launch.environment.items())
    for key, value in named:
        for origin in value.origins:
            if origin.span is not None:
                yield key, origin.span


def _on_line(place: Span, made: Iterable[Edit]) -> bool:
    return any(e.span.path == place.path and e.span.line <= place.line <= e.span.end_line for e in made)


def _within(place: Span, made: Iterable[Edit]) -> bool:
    """Say whether a place and an edit have characters in common."""
    return any(
        e.span.path == place.path
        and (e.span.line, e.span.column) < (place.end_line, place.end_column)
        and (place.line, place.column) < (e.span.end_line, e.span.end_column)
        for e in made
    )
