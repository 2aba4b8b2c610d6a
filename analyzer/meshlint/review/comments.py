"""From findings and a diff to the comments of a review; nothing here talks to a host.

A finding stands as an inline comment on a line that the diff touches, errors first, and at most MOST of them; the
summary holds the others. Comments are told apart by a hidden marker with the finding's fingerprint, so that a further
push neither repeats one nor leaves one standing whose finding is gone.
"""

from __future__ import annotations

import hashlib
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from meshlint.finding import Edit, Finding, Related
from meshlint.markdown import code, fenced, longest
from meshlint.place import Span
from meshlint.plain import clean
from meshlint.records import dataclass
from meshlint.sources.patch import FileChange, Patch
from meshlint.sources.splice import MisfitError, spliced
from meshlint.words import plural

MOST = 10
"""Inline comments that stand on a pull request at a time."""
MAX_BODY = 60_000
"""Characters of a comment; GitHub refuses more than 65,536."""
MAX_TEXT = 4_000
"""Characters of one message, of one suggestion."""
MAX_PLACES = 12
"""Related places shown for a finding."""
MAX_LINES = 20
"""Lines that one suggestion replaces."""
LISTED = 100
"""Findings that a summary names."""
WIDTH = 88
"""Columns of a fenced block, which a host does not wrap."""
SUMMARY = "<!-- meshlint:summary -->"
_FIXED = "<!-- meshlint:fixed -->"
_HEAD, _TAIL = "<!-- meshlint:", " -->"


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of one file that a host takes comments on: those in a hunk, by number, and which of them are added."""

    texts: Mapping[int, str] = field(default_factory=dict)
    added: frozenset[int] = frozenset()

    def find(self, line: int, text: str | None) -> int | None:
        """Give the line that is `text` here: the same number, or the only one that reads so. None where none is.

        The files that were judged may be a merge with the base, whose lines stand elsewhere.
        """
        if line in self.texts and text in (None, self.texts[line]):
            return line
        same = [number for number, there in self.texts.items() if there == text]
        return same[0] if len(same) == 1 else None


@dataclass(frozen=True, slots=True)
class Inline:
    """A comment to be made on the new side of `path`: on line `line`, or on those from `first` to it."""

    key: str
    path: str
    line: int
    body: str
    first: int = 0


@dataclass(frozen=True, slots=True)
class Former:
    """A comment of ours that is there already; `number` is the host's name for it."""

    number: int
    body: str

    @property
    def key(self) -> str:
        """Give the fingerprint in its marker; empty where it has none."""
        last = self.body.strip().rsplit("\n", 1)[-1].strip()
        return last.removeprefix(_HEAD).removesuffix(_TAIL) if last.startswith(_HEAD) and last.endswith(_TAIL) else ""

    @property
    def fixed(self) -> bool:
        """Say whether it was edited to say that its finding is gone."""
        return self.body.lstrip().startswith(_FIXED)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do on the host: comments to make, bodies to change, and what no line can hold.

    `keyed` are all findings with their keys, the gravest first; `standing` the keys whose comment is there already.
    """

    keyed: tuple[tuple[str, Finding], ...]
    inline: tuple[Inline, ...] = ()
    edits: tuple[Former, ...] = ()
    standing: frozenset[str] = frozenset()


def lines_of(patch: Patch) -> Mapping[str, Lines]:
    """Give the lines that a change's hunks show, by path of the new side."""
    return {change.path: _lines(change) for change in patch.files if change.path and not change.opaque}


def _lines(change: FileChange) -> Lines:
    texts = {}
    for first, now, _ in change.undo:
        texts.update({number: text.rstrip("\n") for number, text in enumerate(now, first)})
    return Lines(texts, change.added)


def plan(
    findings: Iterable[Finding],
    lines: Mapping[str, Lines],
    sources: Mapping[str, str],
    former: Sequence[Former] = (),
    complete: bool = True,
) -> Plan:
    """Decide what to comment and what to edit.

    `sources` are the texts that were judged, by path; without one, line numbers are taken as they are. `complete` says
    that nothing failed, so that what is not found is gone.
    """
    keyed = tuple(_keyed(sorted(findings, key=lambda f: (-f.severity.rank, *f.sort_key))))
    there = {one.key: one for one in reversed(former) if one.key}
    standing = {key for key, _ in keyed if key in there}
    edits = [Former(there[key].number, body(key, f, lines, sources)) for key, f in keyed if _back(there.get(key))]
    if complete:
        edits += [Former(one.number, fixed(one)) for key, one in there.items() if key not in standing and not one.fixed]
    room = MOST - len(standing)
    new = [_inline(key, finding, lines, sources) for key, finding in keyed if key not in standing]
    inline = [one for one in new if one is not None][: max(room, 0)]
    return Plan(keyed, tuple(inline), tuple(edits), frozenset(standing))


def _back(former: Former | None) -> bool:
    return former is not None and former.fixed


def _keyed(findings: Iterable[Finding]) -> Iterator[tuple[str, Finding]]:
    """Name each finding by its fingerprint; a second one of the same gets `.2`."""
    seen: Counter[str] = Counter()
    for finding in findings:
        name = _name(finding.fingerprint)
        seen[name] += 1
        yield (name if seen[name] == 1 else f"{name}.{seen[name]}"), finding


def _name(fingerprint: str) -> str:
    """Give a fingerprint that may stand in a marker: one out of a file may hold anything."""
    if 0 < len(fingerprint) <= 64 and fingerprint.isascii() and fingerprint.isalnum() and fingerprint != "summary":
        return fingerprint
    return hashlib.sha256(fingerprint.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _inline(key: str, finding: Finding, lines: Mapping[str, Lines], sources: Mapping[str, str]) -> Inline | None:
    spot = _spot(finding, lines, sources)
    if spot is None:
        return None
    path, line = spot
    span = reach(finding, spot, lines, sources) if suggestion(finding, spot, lines, sources) else None
    first, last = span if span is not None else (line, line)
    return Inline(key, path, last, body(key, finding, lines, sources), first)


def _spot(finding: Finding, lines: Mapping[str, Lines], sources: Mapping[str, str]) -> tuple[str, int] | None:
    """Give the line to comment on: an added one where one took part, else one in a hunk.

    Lines that read alike elsewhere count only where none of the places is where it was judged.
    """
    places = []
    for span in (finding.span, *(related.span for related in finding.related)):
        line = lines.get(span.path, Lines()).find(span.line, _text(span, sources))
        if line is not None:
            places.append((span.path, line, line == span.line))
    places = [place for place in places if place[2]] or places
    added = (place for place in places if place[1] in lines[place[0]].added)
    spot = next(added, places[0] if places else None)
    return None if spot is None else spot[:2]


def _text(span: Span, sources: Mapping[str, str]) -> str | None:
    """Give the text of a place's line as it was judged; None where it is not known."""
    rows = sources[span.path].split("\n") if span.path in sources else []
    return rows[span.line - 1].rstrip("\r") if 0 < span.line <= len(rows) else None


def body(key: str, finding: Finding, lines: Mapping[str, Lines], sources: Mapping[str, str]) -> str:
    """Give the text of an inline comment, with its marker."""
    spot = _spot(finding, lines, sources)
    told = [*_said(finding, sources, _elsewhere(finding, spot))]
    if spot is not None:
        told += suggestion(finding, spot, lines, sources)
    marker = f"{_HEAD}{key}{_TAIL}"
    whole = "\n".join([*told, "", marker])
    return (
        whole
        if len(whole) <= MAX_BODY
        else "\n".join([_title(finding), "", "It is too long to show here.", "", marker])
    )


def _title(finding: Finding) -> str:
    return f"**{finding.severity.value}** {code(_short(f'{finding.code} {finding.slug}'))}"


def _elsewhere(finding: Finding, spot: tuple[str, int] | None) -> list[Related]:
    """Give the places to show: not the one that the comment stands on, unless it says more there."""
    own = [] if spot == (finding.span.path, finding.span.line) else [Related(finding.span, "the fault is here")]
    return [*own, *finding.related]


def _said(finding: Finding, sources: Mapping[str, str], places: Sequence[Related]) -> Iterator[str]:
    """Give a finding: what it is, the places that took part, the fix."""
    yield _title(finding)
    yield ""
    yield from fenced(_wrapped(finding.message))
    if places:
        yield ""
        yield from fenced("\n".join(_rows(places, sources)))
    if finding.fix is not None:
        yield ""
        yield f"Fix: {code(_cut(finding.fix.description))}"
    if len(finding.launches) > 1:
        yield ""
        yield f"It breaks {plural(len(finding.launches), 'launch')}."


def _rows(places: Sequence[Related], sources: Mapping[str, str]) -> Iterator[str]:
    for related in places[:MAX_PLACES]:
        span = related.span
        text = (_text(span, sources) or "").strip()[:160]
        note = f"    <- {_short(related.label)}" if related.label else ""
        yield clean(f"{span.path}:{span.line}: {text}{note}")
    if len(places) > MAX_PLACES:
        yield f"and {plural(len(places) - MAX_PLACES, 'place')} more"


def _wrapped(message: str) -> str:
    """Fold the sentences of a message; lines that draw something, which begin with a blank, stay as they are."""
    rows: list[str] = []
    for row in _cut(message).split("\n"):
        drawn = len(row) <= WIDTH or row.startswith((" ", "\t"))
        rows += [row] if drawn else textwrap.wrap(row, WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(rows)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]} ..."


def suggestion(
    finding: Finding, spot: tuple[str, int], lines: Mapping[str, Lines], sources: Mapping[str, str]
) -> list[str]:
    """Give a block that the host applies on a click, for a safe fix within one hunk; it replaces `reach`'s lines."""
    span = reach(finding, spot, lines, sources)
    if span is None or finding.fix is None:
        return []
    first, last = span
    old = "".join(f"{lines[spot[0]].texts[number]}\n" for number in range(first, last + 1))
    moved = [Edit(_shifted(edit.span, first - 1), edit.text) for edit in finding.fix.edits]
    try:
        new = spliced(old, moved)
    except MisfitError:
        return []
    if new in (old, "\n") or not (new.endswith("\n") or not new) or len(new) > MAX_TEXT or not _plain_enough(new):
        return []
    fence = "`" * max(3, longest(new) + 1)
    return ["", f"{fence}suggestion", *new.split("\n")[:-1], fence]


def reach(
    finding: Finding, spot: tuple[str, int], lines: Mapping[str, Lines], sources: Mapping[str, str]
) -> tuple[int, int] | None:
    """Give the first and the last line of a suggestion: the commented one, an added one, and those that edits touch.

    None where there is no safe fix, where it is about other lines than those of one hunk, or where the files that were
    judged are not those of the pull request.
    """
    path, line = spot
    there, fix = lines[path], finding.fix
    if fix is None or not fix.safe or not fix.edits or line not in there.added:
        return None
    if (path, line) != (finding.span.path, finding.span.line) or any(e.span.path != path for e in fix.edits):
        return None  # the numbers of the edits are those of another text
    ends = [(e.span.line, _last(e.span)) for e in fix.edits]
    first, last = min(line, *(a for a, _ in ends)), max(line, *(b for _, b in ends))
    if last - first >= MAX_LINES:
        return None
    for number in range(first, last + 1):
        judged = _text(Span(path, number), sources)
        if number not in there.texts or judged not in (None, there.texts[number]):
            return None
    return first, last


def _last(span: Span) -> int:
    """Give the last line that an edit touches: not the one that it ends before."""
    return span.end_line - 1 if span.end_column == 1 and span.end_line > span.line else span.end_line


def _shifted(span: Span, by: int) -> Span:
    return Span(span.path, span.line - by, span.column, span.end_line - by, span.end_column)


def _plain_enough(text: str) -> bool:
    """Say whether text may stand as it is: what a person cannot see, nobody should apply."""
    return all(clean(row.replace("\t", " ")) == row.replace("\t", " ") for row in text.split("\n"))


def fixed(former: Former) -> str:
    """Give the text of a comment whose finding is gone; what it said stays, folded."""
    said = former.body.strip().rsplit("\n", 1)[0].rstrip()
    rows = [_without_suggestion(row) for row in said.split("\n")]
    told = "meshlint does not find this any more."
    fold = ["<details><summary>What it was</summary>", "", *rows, "", "</details>"]
    whole = "\n".join([_FIXED, told, "", *fold, "", f"{_HEAD}{former.key}{_TAIL}"])
    return whole if len(whole) <= MAX_BODY else f"{_FIXED}\n{told}\n\n{_HEAD}{former.key}{_TAIL}"


def _without_suggestion(row: str) -> str:
    """Take from a suggestion what makes it one: its line is not there any more."""
    fence = row.removesuffix("suggestion")
    return f"{fence}text" if len(fence) >= 3 and fence != row and not fence.strip("`") else row


def counts(findings: Sequence[Finding]) -> str:
    """Give `2 errors, 1 warning`."""
    pairs = [(kind, sum(f.severity.value == kind for f in findings)) for kind in ("error", "warning", "info")]
    return ", ".join(plural(number, kind) for kind, number in pairs if number)


def review_body(inline: Sequence[Inline], keyed: Iterable[tuple[str, Finding]]) -> str:
    """Give the text above a review's comments, which the host asks for."""
    keys = {one.key for one in inline}
    return f"meshlint: {counts([f for key, f in keyed if key in keys])} on lines of this change."


NOTHING_LEFT = f"{SUMMARY}\n**meshlint** finds nothing any more that this change causes: all is fixed."
_FOOT = (
    "`meshlint explain CODE` says more of a finding; where it is right as it is, "
    "`# meshlint: ignore[CODE] -- reason` on its line silences it."
)


def summary(keyed: Sequence[tuple[str, Finding]], placed: frozenset[str], sources: Mapping[str, str]) -> str:
    """Give the text of the one summary comment; `placed` are the keys of findings that have a comment of their own."""
    if not keyed:
        return NOTHING_LEFT
    head = [SUMMARY, f"**meshlint** found {counts([f for _, f in keyed])} that this change causes.", ""]
    head += _list([f for key, f in keyed if key in placed])
    size = len("\n".join([*head, _FOOT])) + 200
    rest = [f for key, f in keyed if key not in placed]
    shown: list[str] = []
    for done, finding in enumerate(rest):
        text = "\n".join(["", *_said(finding, sources, [Related(finding.span, "here"), *finding.related])])
        if size + len(text) > MAX_BODY or done >= LISTED:
            shown.append(f"\n{plural(len(rest) - done, 'finding')} more are not shown here.")
            break
        size += len(text) + 1
        shown.append(text)
    title = ["", "Not on a line of the diff, or more than fit there:"] if rest and placed else []
    whole = "\n".join([*head, *title, *shown, "", _FOOT])
    return whole if len(whole) <= MAX_BODY else "\n".join([*head[:2], "", _FOOT])


def _list(findings: Sequence[Finding]) -> Iterator[str]:
    for finding in findings:
        first = _short(finding.message.split("\n", 1)[0])
        where = code(f"{_short(finding.span.path)}:{finding.span.line}")
        yield f"- {finding.severity.value} {code(finding.code)} {where}: {code(first)}"


def _short(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}..."
