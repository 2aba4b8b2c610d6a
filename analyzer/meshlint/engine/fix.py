"""Safe fixes written into the files: planned in memory, judged anew there, and written only if they mend and no more.

Nothing is written outside of the tree, through a link, or over a file that is not what was judged.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from meshlint.engine.options import Options
from meshlint.engine.run import judged, scope_of
from meshlint.finding import Edit, Finding, Report
from meshlint.records import dataclass
from meshlint.sources.discover import Scope
from meshlint.sources.splice import MisfitError, spliced

MAX_TRIES = 24
"""Fixes that are tried one by one where all of them together lead to something new."""


class FixError(Exception):
    """A file that cannot be mended; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Mended:
    """A file as it was judged and as it will be, in bytes."""

    path: str
    before: bytes
    after: bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be written, the findings that it mends, and those left with a reason."""

    root: Path
    files: tuple[Mended, ...] = ()
    fixed: tuple[Finding, ...] = ()
    left: tuple[tuple[Finding, str], ...] = ()


def fixable(report: Report) -> tuple[Finding, ...]:
    """Give the findings of a report that have a safe fix and count."""
    return tuple(f for f in report.findings if f.fix is not None and f.fix.safe and f.counts)


def plan(report: Report, paths: Sequence[str], options: Options) -> Plan:
    """Plan the safe fixes of a report on paths; nothing is written. Raises UsageError as the report's run did."""
    draft = _Draft(scope_of(paths, options), report, tuple(_linked(paths, options.cwd)))
    for finding in fixable(report):
        draft.take(finding)
    return _proved(draft, options)


class _Draft:
    """Fixes gathered so far: one file's bytes are read once, and edits that touch one another are not mixed."""

    def __init__(self, scope: Scope, report: Report, linked: tuple[str, ...]) -> None:
        self.scope = scope
        self.linked = linked
        self.sources = report.sources
        self.files: dict[str, bytes] = {}
        self.taken: list[Finding] = []
        self.left: list[tuple[Finding, str]] = []

    def take(self, finding: Finding) -> None:
        """Add the fix of a finding, or note why not."""
        try:
            for path in sorted({edit.span.path for edit in _edits(finding)}):
                if path not in self.files:
                    _check_links(self.scope, path, self.linked)
                    self.files[path] = _readable(self.scope, path, self.sources)
            self._mend([*self.taken, finding])
        except (FixError, MisfitError) as error:
            self.left.append((finding, str(error)))
            return
        self.taken.append(finding)

    def _mend(self, findings: Sequence[Finding]) -> dict[str, bytes]:
        by_path: dict[str, set[Edit]] = {}
        for finding in findings:
            for edit in _edits(finding):
                by_path.setdefault(edit.span.path, set()).add(edit)
        return {path: _with(path, self.files[path], sorted(made, key=_order)) for path, made in by_path.items()}

    def files_with(self, findings: Sequence[Finding]) -> tuple[Mended, ...]:
        """Give the files that some of the fixes change."""
        return tuple(Mended(path, self.files[path], new) for path, new in sorted(self._mend(findings).items()))


def _linked(paths: Sequence[str], cwd: Path) -> Iterator[str]:
    """Give where the given paths lead that are links themselves: a person sees the link, not what is behind it."""
    for path in paths:
        if (cwd / path).is_symlink():
            yield os.path.realpath(cwd / path)


def _check_links(scope: Scope, path: str, linked: Sequence[str]) -> None:
    file = os.path.join(scope.root, path)  # noqa: PTH118 - compared with other texts
    if any(file == top or file.startswith(f"{top}{os.sep}") for top in linked):
        raise FixError(f"{path} is reached through a link")


def _edits(finding: Finding) -> tuple[Edit, ...]:
    return finding.fix.edits if finding.fix is not None else ()


def _order(edit: Edit) -> tuple[object, ...]:
    return (edit.span, edit.text)


def _readable(scope: Scope, path: str, sources: Mapping[str, str]) -> bytes:
    """Read a file that may be written; raises FixError for one that may not, or is not what was judged."""
    file = _own(scope.root, path)
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise FixError(f"{path} cannot be read: {error.strerror}") from None
    if path in sources and _plain(_text(path, raw)) != sources[path]:
        raise FixError(f"{path} has changed since it was judged")
    return raw


def _own(root: Path, path: str) -> Path:
    """Give a plain file of the tree; raises FixError for one outside, or behind a link."""
    if not path or os.path.isabs(path) or ".." in path.split("/"):  # noqa: PTH117
        raise FixError(f"{path} is not in the tree")
    file = root / path
    if os.path.realpath(file) != str(file):
        raise FixError(f"{path} is reached through a link")
    try:
        mode = file.lstat().st_mode
    except OSError as error:
        raise FixError(f"{path} cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(mode):
        raise FixError(f"{path} is no plain file")
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise FixError(f"{path} is read-only")  # another file in its place would go round that
    return file


def _text(path: str, raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise FixError(f"{path} is not UTF-8") from None


def _plain(text: str) -> str:
    """Give a text as it is judged: no mark before it, plain newlines."""
    return text.removeprefix(MARK).replace("\r\n", "\n")


MARK = "\ufeff"


def _with(path: str, raw: bytes, edits: Sequence[Edit]) -> bytes:
    """Give a file with edits made; raises MisfitError, and FixError where the extra for Python is not there."""
    text = _text(path, raw)
    mark = MARK if text.startswith(MARK) else ""
    text = text.removeprefix(MARK)
    return f"{mark}{_rewritten(text, edits) if path.endswith('.py') else spliced(text, edits)}".encode()


def _rewritten(text: str, edits: Sequence[Edit]) -> str:
    try:
        from meshlint.sources.cst import rewritten
    except ImportError:
        raise FixError("Python is edited with libcst: pip install libcst") from None
    return rewritten(text, edits)


def _proved(draft: _Draft, options: Options) -> Plan:
    """Judge what would be written: all at once, and one by one where that leads to something new."""
    taken, left = draft.taken, list(draft.left)
    if not taken:
        return Plan(draft.scope.root, left=tuple(left))
    proof = _Proof(draft, replace(options, tick=None))
    if not proof.holds(taken):
        kept: list[Finding] = []
        for number, finding in enumerate(taken):
            if number < MAX_TRIES and proof.holds([*kept, finding]):
                kept.append(finding)
            else:
                left.append((finding, "it does not mend the finding, or leads to another one"))
        taken = kept
    return Plan(draft.scope.root, draft.files_with(taken), tuple(taken), tuple(left))


class _Proof:
    """What is found in the files to be written, as they are and as they would be."""

    def __init__(self, draft: _Draft, options: Options) -> None:
        self.draft = draft
        self.options = options
        self.before = self._found({})

    def holds(self, fixed: Sequence[Finding]) -> bool:
        """Say whether fixes take their findings away and bring no other."""
        after = self._found({one.path: _plain(_text(one.path, one.after)) for one in self.draft.files_with(fixed)})
        if self.before is None or after is None:
            return False
        gone = Counter(_kind(finding) for finding in fixed)
        return not after - (self.before - gone)

    def _found(self, replaced: Mapping[str, str | None]) -> Counter[tuple[str, str]] | None:
        """Count what is found by code and file; None where the judging itself fails."""
        paths = frozenset(self.draft.files)
        scope = replace(self.draft.scope, asked=tuple(sorted(paths)), named=paths, code=(), replaced=dict(replaced))
        report = judged(scope, self.options)
        return None if report.failures else Counter(_kind(f) for f in report.findings)


def _kind(finding: Finding) -> tuple[str, str]:
    return (finding.code, finding.span.path)


def write(made: Plan) -> Iterator[tuple[str, str]]:
    """Write the files of a plan; give each that could not be written, and a sentence that says why."""
    for one in made.files:
        try:
            _replace(_own(made.root, one.path), one)
        except FixError as error:
            yield one.path, str(error)
        except OSError as error:
            yield one.path, f"{one.path} cannot be written: {error.strerror}"


def _replace(file: Path, one: Mended) -> None:
    """Put new bytes in the place of a file, whole or not at all, with the rights that it had."""
    if file.read_bytes() != one.before:
        raise FixError(f"{one.path} has changed since it was judged")
    rights = stat.S_IMODE(file.stat().st_mode)
    draft = file.with_name(f".{file.name}.{os.getpid()}.meshlint")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            out.write(one.after)
            out.flush()
            os.fsync(out.fileno())
        draft.chmod(rights)
        draft.replace(file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def as_diff(made: Plan) -> Iterator[str]:
    """Give the rows of a unified diff of a plan."""
    from difflib import unified_diff

    for one in made.files:
        before, after = (_rows(_text(one.path, raw)) for raw in (one.before, one.after))
        for row in unified_diff(before, after, f"a/{one.path}", f"b/{one.path}"):
            yield from (row.removesuffix("\n"),) if row.endswith("\n") else (row, "\\ No newline at end of file")


def _rows(text: str) -> list[str]:
    """Split a text as git does, at newlines alone."""
    rows = [f"{row}\n" for row in text.split("\n")]
    return [*rows[:-1], rows[-1][:-1]] if rows[-1] != "\n" else rows[:-1]
