"""Suppressions: `# meshlint: ignore[CODE] -- reason`, and what is wrong with them (MSH001, MSH002)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from meshlint.engine.house import BAD, UNUSED, house_finding
from meshlint.engine.judge import Judgement
from meshlint.engine.merge import Judged
from meshlint.engine.ruleset import RuleSet, nearest
from meshlint.finding import Severity
from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.rule import LaunchRule, Rule
from meshlint.sources.tree import Text, Tree, Unreadable

if TYPE_CHECKING:
    from meshlint.sources.comments import Comment, Commented

MARK = "meshlint:"
_GRAMMAR = re.compile(r"(ignore|file-ignore)\[([^\[\]]*)\](?:\s+--\s+(\S.*))?")
_FORM = "`# meshlint: ignore[CODE] -- reason` or `# meshlint: file-ignore[CODE] -- reason`"


@dataclass(frozen=True, slots=True)
class Directive:
    """A well-formed suppression: where it stands, the codes, the reason; `whole` for a file's."""

    span: Span
    codes: tuple[str, ...]
    reason: str
    whole: bool
    alone: bool


@dataclass(frozen=True, slots=True)
class Fault:
    """A comment that means to suppress and cannot."""

    span: Span
    sentence: str


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A file's suppressions."""

    directives: tuple[Directive, ...] = ()
    faults: tuple[Fault, ...] = ()
    source: Commented | None = None


@dataclass(slots=True)
class Suppressions:
    """Every file's suppressions, read when a finding touches the file, and which of them did something."""

    tree: Tree
    rules: RuleSet
    files: dict[str, Suppressed] = field(default_factory=dict)
    used: set[tuple[Span, str]] = field(default_factory=set)

    def apply(self, judged: Judged) -> Judged:
        """Mark a finding as suppressed where a comment says so, at its place or a written place that took part."""
        finding = judged.finding
        spans = (finding.span, *(related.span for related in finding.related))
        hits = [d for span in spans for d in self._at(span, finding.code)]
        if not hits:
            return judged
        self.used |= {(d.span, finding.code) for d in hits}
        return replace(judged, finding=replace(finding, suppressed=hits[0].reason or "no reason given"))

    def of(self, path: str) -> Suppressed:
        """Give a file's suppressions."""
        known = self.files.get(path)
        if known is None:
            try:
                known = read(self.tree.read(path), self.rules)
            except Unreadable:
                known = Suppressed()
            self.files[path] = known
        return known

    def _at(self, span: Span, code: str) -> Iterator[Directive]:
        of_file = self.of(span.path)
        if of_file.source is None or not of_file.directives:
            return
        first, last = of_file.source.statement(span.line)
        lines = set(range(min(first, span.line), max(last, span.end_line) + 1))
        lines |= _block_above(of_file.source.comments, first)
        yield from (d for d in of_file.directives if code in d.codes and (d.whole or d.span.line in lines))


def _block_above(comments: Iterable[Comment], first: int) -> set[int]:
    """Give the lines of the unbroken run of comment lines directly above a statement."""
    alone = {c.line for c in comments if c.alone}
    lines = set()
    line = first - 1
    while line in alone:
        lines.add(line)
        line -= 1
    return lines


def read(source: Text, rules: RuleSet) -> Suppressed:
    """Read a file's suppressions; a file without the mark is not looked at."""
    if MARK not in source.text:
        return Suppressed()
    from meshlint.sources.comments import commented

    found = commented(source)
    read_all = [_parse(comment, source.path, rules) for comment in found.comments]
    return Suppressed(
        tuple(d for d in read_all if isinstance(d, Directive)),
        tuple(f for f in read_all if isinstance(f, Fault)),
        found,
    )


def _parse(comment: Comment, path: str, rules: RuleSet) -> Directive | Fault | None:
    at = next((i for i in _hashes(comment.text) if comment.text[i:].lstrip("# \t").startswith(MARK)), None)
    if at is None:
        return None
    span = Span(path, comment.line, comment.column + at, comment.line, comment.column + len(comment.text))
    body = comment.text[at:].lstrip("# \t")[len(MARK) :].strip()
    match = _GRAMMAR.fullmatch(body)
    if match is None:
        return Fault(span, f"it must read {_FORM}")
    codes = tuple(word.strip() for word in match[2].split(","))
    for code in codes:
        rule = rules.get(code)
        if rule is None:
            return Fault(span, _no_rule(code, rules) if code else "it names no rule")
        if not match[3] and rule.severity is Severity.ERROR:
            return Fault(span, f"{code} is an error, so a reason must be given: `-- reason`")
    return Directive(span, codes, match[3] or "", match[1] == "file-ignore", comment.alone)


def _no_rule(code: str, rules: RuleSet) -> str:
    """Say that a code is none; families and slugs, which options take, are none here."""
    named = next((r.code for r in rules.rules if code.lower() in (r.family().lower(), r.slug, r.code.lower())), "")
    if named or code.upper() == "ALL":
        return f"a comment takes exact codes, such as {named or rules.rules[0].code}, and not `{code}`"
    return f"there is no rule `{code}`{nearest(rules.rules, code)}"


def _hashes(text: str) -> Iterator[int]:
    return (i for i, char in enumerate(text) if char == "#")


def house_findings(
    suppressions: Suppressions, paths: Iterable[str], judgements: Sequence[Judgement], complete: bool
) -> Iterator[Judged]:
    """Give what is wrong with the suppressions of the files asked for.

    `complete` says that every launch of the tree was judged by every rule; only then can one be unused.
    """
    for path in paths:
        of_file = suppressions.of(path)
        for fault in of_file.faults:
            message = f"This suppresses nothing: {fault.sentence}" + ("" if fault.sentence.endswith("?") else ".")
            yield from house_finding(suppressions.rules, BAD, fault.span, message)
        if complete:
            yield from _unused(suppressions, path, of_file.directives, judgements)


def _unused(
    suppressions: Suppressions, path: str, directives: Iterable[Directive], judgements: Sequence[Judgement]
) -> Iterator[Judged]:
    users = [j for j in judgements if path in j.reads]
    for directive in directives:
        for code in directive.codes:
            rule = suppressions.rules.get(code)
            idle = (directive.span, code) not in suppressions.used
            if idle and code in suppressions.rules.selected and _decided(rule, users):
                sentence = f"{code} finds nothing here, so this suppression can go."
                yield from house_finding(suppressions.rules, UNUSED, directive.span, sentence, subject=code)


def _decided(rule: type[Rule] | None, users: Sequence[Judgement]) -> bool:
    is_launch_rule = rule is not None and issubclass(rule, LaunchRule)
    stopped = {stop.code for user in users for stop in user.coverage.not_judged}
    return is_launch_rule and bool(users) and rule is not None and rule.code not in stopped
