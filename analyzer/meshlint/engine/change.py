"""A change judged by both of its sides: what it causes is what is found after it and not before.

The side before is the tree as it is now with the diff undone in memory; nothing is checked out or written.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from meshlint import __version__
from meshlint.config.pins.files import folder_of
from meshlint.engine.begin import HEAD, Begun, start_diff
from meshlint.engine.options import Options, UsageError
from meshlint.engine.run import judged, scope_of, with_sources
from meshlint.finding import Finding, Related, Report
from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.sources.discover import Scope, repository
from meshlint.sources.git import blob, run_git
from meshlint.sources.patch import MAX_BYTES, FileChange, Patch, PatchError, read_patch, undo
from meshlint.sources.tree import MAX_BYTES as MAX_FILE
from meshlint.sources.tree import Text, Tree, decoded

PROSE = (".md", ".rst", ".png", ".svg", ".jpg", ".jpeg", ".gif", ".pdf", ".css", "LICENSE", "CODEOWNERS")
"""Endings of files that nothing here reads: a change of these alone causes nothing."""

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""Git's name of the tree without files."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A change that a person asked about: a revision to compare with, or a diff as text.

    `mode` is that of `--diff-mode`, and says which of the findings that the change causes are told: all; those with a
    place in a changed file (`file`); in a hunk with its context (`context`); on an added line (`added`).
    """

    base: str = ""
    text: str | None = None
    mode: str = "all"


def check_change(paths: Sequence[str], options: Options, asked: Asked) -> Report:
    """Judge what a change causes. Raises UsageError for a revision or a diff that cannot be used."""
    scope = scope_of(paths, options)
    top = _top(scope, options.cwd)
    text = asked.text if asked.text is not None else _diff(top, asked.base, options.begun)
    if text is None:
        note = f"`{asked.base}`, or what both share, is not in this checkout (a shallow clone?): all findings are told"
        report = judged(scope, options)
        return with_sources(scope, replace(report, notes=(*report.notes, note)))
    if not text.strip():
        return Report(__version__)
    try:
        patch = _shown(read_patch(text), top, scope)
        if all((path or PROSE[0]).endswith(PROSE) for change in patch.files for path in (change.path, change.before)):
            return Report(__version__, files=len(patch.paths))
        undone = undo(patch, Tree(scope.root, scope.roots), _blobs(top))
    except PatchError as error:
        raise UsageError(str(error)) from None
    report = with_sources(scope, _caused(scope, options, patch, undone.contents, asked.mode))
    notes = [f"what was in `{path}` before is not in the diff: its findings count as new" for path in undone.unknown]
    return replace(report, notes=(*report.notes, *notes))


def _blobs(top: Path) -> Callable[[FileChange], str | None]:
    """Give a function that asks git what a file was whose content a diff does not show, as attributes may have it."""

    def before(change: FileChange) -> str | None:
        raw = blob(top, change.blob, MAX_FILE) if _could_be_read(change.path or change.before) else None
        text = decoded(change.before, top, raw) if raw is not None else None
        return text.text if isinstance(text, Text) else None

    return before


def _could_be_read(path: str) -> bool:
    return not path.lower().endswith(OTHER)


OTHER = (*PROSE, ".pt", ".pth", ".bin", ".npy", ".npz", ".safetensors", ".zip", ".gz", ".whl", ".so", ".mp4", ".ipynb")
"""Endings of files that may be many and large, and that nothing here reads."""


def _caused(scope: Scope, options: Options, patch: Patch, contents: Mapping[str, str | None], mode: str) -> Report:
    """Judge the side after, and the one before only where there is something to compare."""
    from meshlint.engine.change_rules import Sides, with_changes

    were = {*contents, *(change.before for change in patch.files)}  # some stay as they are: what cannot be read
    of_code = any(path.endswith(".py") for path in (*patch.paths, *were))
    former = _before(scope, contents)
    now, then = _with_readers(_touched(scope, patch.paths, of_code), _touched(former, were, of_code), options)
    folders = _moved_pins((*patch.paths, *were), former, scope, options)
    now, then = _under(now, scope, folders), _under(then, former, folders)
    were_there = {change.before for change in patch.files} - {""}
    if not were_there <= {*patch.paths}:
        now, then = _with_all_readers(now), _with_all_readers(then)
    elif not {*patch.paths} <= were_there:
        then = _with_all_readers(then)
    report = judged(now, options, keep=False)
    fresh: list[Finding] = []
    if report.findings:
        before = judged(then, replace(options, tick=None), keep=False)
        line = _lines(scope, contents)
        new = _fresh(report.findings, before.findings, patch, line)
        fresh = [_twin(finding, report.findings, before.findings, patch, line) for finding in new]
    failures = list(report.failures)
    fresh = with_changes(fresh, Sides(then, now, patch), options, failures)
    told = [_inside(_placed(finding, patch), patch) for finding in fresh if _within(finding, patch, mode)]
    return replace(report, findings=tuple(sorted(told, key=lambda f: f.sort_key)), failures=tuple(failures))


def _with_readers(now: Scope, then: Scope, options: Options) -> tuple[Scope, Scope]:
    """Look once, for both sides, for the files that could read a changed one: other files are the same on both."""
    from meshlint.engine import readers

    both = replace(now, named=now.named | then.named)
    with readers.begin(both) as begun:
        from meshlint.engine.whole import choose  # what judges is imported and chosen while git searches

        choose(options)
        found = readers.readers(both, Tree(now.root, now.roots), begun)
    return replace(now, readers=found), replace(then, readers=found)


def _with_all_readers(scope: Scope) -> Scope:
    """Judge what could read a changed file in whole: a launch does not tell that it read one that is not there."""
    there = {*scope.files, *scope.asked}
    return replace(scope, asked=tuple(sorted({*scope.asked, *(there & {*(scope.readers or ())})})))


def _moved_pins(paths: Iterable[str], then: Scope, now: Scope, options: Options) -> frozenset[str]:
    """Give the folders under which the change fixes another release of a library."""
    pinning = {path for path in paths if folder_of(path) is not None}
    if not pinning:
        return frozenset()
    from meshlint.config.pins.find import moved
    from meshlint.engine.gather import context_of

    return moved(pinning, context_of(then, options), context_of(now, options))


def _under(scope: Scope, whole: Scope, folders: Iterable[str]) -> Scope:
    """Judge all launches under some folders too: a release counts wherever nothing nearer fixes one."""
    starts = tuple(f"{folder}/" if folder else "" for folder in folders)
    more = (path for path in whole.asked if path.startswith(starts)) if starts else ()
    return replace(scope, asked=tuple(sorted({*scope.asked, *more})))


def diff_since(base: str, cwd: Path) -> str | None:
    """Give the diff from the last common commit with `base` to the files in the checkout around `cwd`.

    None where git cannot tell, as in a shallow clone. Raises UsageError for what is no revision, or no checkout.
    """
    return _diff(repository(cwd.resolve()) or cwd, base)


def _top(scope: Scope, cwd: Path) -> Path:
    """Give the folder that a diff's paths count from: the top of the checkout, else the current folder."""
    return repository(scope.root) or repository(cwd) or cwd


def _diff(top: Path, base: str, begun: Begun | None = None) -> str | None:
    """Give the diff from the last common commit to the files as they are; None where git cannot tell.

    Raises UsageError outside of a checkout.
    """
    if repository(top) is None:
        raise UsageError("--diff wants a git checkout; --diff-file takes a diff from anywhere")
    if base.startswith("-"):
        raise UsageError(f"`{base}` is no revision")
    running = begun.take_diff(top, base) if begun is not None else None
    if running is None and base == HEAD:  # the one that hooks ask for, without the questions below
        running = start_diff(top, base)
    raw = running.finish() if running is not None else None
    if raw is None:
        shared = _shared(top, base)
        raw = start_diff(top, shared).finish() if shared is not None else None
    if raw is None:
        return None
    if len(raw) > MAX_BYTES:
        raise UsageError(
            f"the change since `{base}` is a diff of {len(raw):,} bytes; meshlint reads at most {MAX_BYTES:,}"
        )
    return raw.decode("utf-8", "replace")


def _shared(top: Path, base: str) -> str | None:
    """Give the last commit that `base` and the checkout share; None where git cannot tell, as in a shallow clone."""
    commit = run_git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}")
    if commit is None and base == "HEAD":
        return EMPTY_TREE  # nothing is committed yet
    if commit is None and run_git(top, "rev-parse", "--is-shallow-repository") != b"true\n":
        raise UsageError(f"there is no revision `{base}` in this checkout")
    shared = run_git(top, "merge-base", commit.decode().strip(), "HEAD") if commit is not None else None
    return shared.decode().strip() if shared is not None else None


def _shown(patch: Patch, top: Path, scope: Scope) -> Patch:
    """Give the change with paths as they are shown, without files outside of what may be read."""
    tree = Tree(scope.root, scope.roots)

    def shown(path: str) -> str:
        return tree.shown(Path(os.path.join(top, path))) if path else ""  # noqa: PTH118 - the form that `shown` wants

    files = (replace(file, path=shown(file.path), before=shown(file.before)) for file in patch.files)
    return Patch(tuple(file for file in files if not Path(file.path or file.before).is_absolute()))


def _touched(scope: Scope, paths: Iterable[str], of_code: bool) -> Scope:
    """Judge the launches that read a changed file, and the whole program: a gate in one file starves another's call.

    Where no Python file changes, the program is the same on both sides, and so is what is found in it.
    """
    changed = tuple(sorted(set(paths) & set(scope.asked)))
    return replace(scope, asked=changed, named=frozenset(changed), code=scope.asked if of_code else ())


def _before(scope: Scope, contents: Mapping[str, str | None]) -> Scope:
    """Give the scope before the change: files that it removed are there, those that it added are not."""
    gone = {path for path, text in contents.items() if text is None}
    back = {path for path, text in contents.items() if text is not None}

    def files(now: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted((set(now) | set(more)) - gone))

    whole = set(scope.asked) == set(scope.files)
    return replace(
        scope,
        files=files(scope.files, back),
        asked=files(scope.asked, back if whole else ()),
        named=frozenset(scope.named - gone),
        replaced=contents,
    )


def _lines(scope: Scope, contents: Mapping[str, str | None]) -> Callable[[Span, bool], str]:
    """Give a function that tells the text of a place's line, after the change or before it."""
    sides = (Tree(scope.root, scope.roots, contents), Tree(scope.root, scope.roots))

    def line(span: Span, now: bool) -> str:
        text = sides[now].peek(span.path).split("\n")
        return text[span.line - 1].strip() if 0 < span.line <= len(text) else ""

    return line


def _fresh(
    now: Sequence[Finding], before: Sequence[Finding], patch: Patch, line: Callable[[Span, bool], str]
) -> Iterator[Finding]:
    """Give the findings that were not there before; one that merely moved was, and so was one of a renamed file."""
    known = Counter(f.fingerprint for f in before if not f.suppressed)
    moved = Counter((f.code, f.span.path, line(f.span, False)) for f in before if not f.suppressed)
    former = patch.former
    for finding in now:
        if known[finding.fingerprint] > 0:
            known[finding.fingerprint] -= 1
            continue
        was = (finding.code, former.get(finding.span.path, ""), line(finding.span, True))
        if was[1] and moved[was] > 0:
            moved[was] -= 1
            continue
        yield finding


def _twin(
    finding: Finding,
    now: Sequence[Finding],
    before: Sequence[Finding],
    patch: Patch,
    text: Callable[[Span, bool], str],
) -> Finding:
    """Give the new one of several equal findings, whose order alone tells them apart.

    Where one is added above another, the fingerprint of the lower one is new, and its place is not: it has the place
    of a former one, whose fingerprint the upper one has now. The new place then goes with the new fingerprint.
    """
    at = {(f.code, f.span.path, f.span.line): f.fingerprint for f in before if not f.suppressed}
    there = {f.fingerprint: f for f in now}
    one = finding
    for _ in range(MAX_TWINS):
        change = patch.of(one.span.path)
        line = change.then(one.span.line) if change is not None else None
        name = at.get((one.code, change.before, line)) if change is not None and line is not None else None
        above = there.get(name) if name is not None else None
        if above is None or above.span.line == one.span.line or text(above.span, True) != text(one.span, True):
            break
        one = above
    return replace(one, fingerprint=finding.fingerprint)


MAX_TWINS = 1_000
"""Equal findings in one function that are looked at."""


def _places(finding: Finding) -> tuple[Span, ...]:
    return (finding.span, *(related.span for related in finding.related))


def _within(finding: Finding, patch: Patch, mode: str) -> bool:
    tests: Mapping[str, Callable[[Span], bool]] = {
        "all": lambda span: True,
        "file": lambda span: patch.of(span.path) is not None,
        "context": lambda span: _in_hunk(span, patch.of(span.path)),
        "added": lambda span: _is_added(span, patch.of(span.path)),
    }
    return any(tests[mode](span) for span in _places(finding))


def _in_hunk(span: Span, change: FileChange | None) -> bool:
    return change is not None and any(first <= span.line <= last for first, last in change.hunks)


def _is_added(span: Span, change: FileChange | None) -> bool:
    return change is not None and span.line in change.added


def _inside(finding: Finding, patch: Patch) -> Finding:
    """Call no fix safe that edits a file which the change leaves alone."""
    fix = finding.fix
    if fix is None or not fix.safe or all(patch.of(edit.span.path) is not None for edit in fix.edits):
        return finding
    return replace(finding, fix=replace(fix, safe=False))


def _placed(finding: Finding, patch: Patch) -> Finding:
    """Put a finding on the changed line that took part in it; the place of the fault is then a related one."""
    if _is_added(finding.span, patch.of(finding.span.path)):
        return finding
    at = next((r for r in finding.related if _is_added(r.span, patch.of(r.span.path))), None)
    if at is None:
        return finding
    others = tuple(r for r in finding.related if r is not at)
    label = "the fault is here, and the change causes it"
    return replace(finding, span=at.span, related=(Related(finding.span, label), *others))
