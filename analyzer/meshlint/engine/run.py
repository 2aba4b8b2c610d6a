"""A run: from the paths that a person gave to the report, out of the cache where nothing changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from meshlint.engine.options import Options, UsageError
from meshlint.engine.patterns import check_pattern
from meshlint.finding import Report
from meshlint.sources.discover import SCRIPTS, Scope, discover
from meshlint.sources.tree import Tree, Unreadable

if TYPE_CHECKING:
    from meshlint.engine.cache import Key


def check(paths: Sequence[str], options: Options) -> Report:
    """Judge every launch, and the program, under the given paths. Raises UsageError for what cannot be asked."""
    scope = scope_of(paths, options)
    return with_sources(scope, judged(scope, options))


def judged(scope: Scope, options: Options, keep: bool = True) -> Report:
    """Judge a scope, or take the report of an equal run out of the cache; raises UsageError.

    Without `keep` the report is neither looked for nor kept: a change is seldom judged twice.
    """
    where = _key(scope, options) if options.cache and keep else None
    report = _cached(where, scope)
    if report is None:
        from meshlint.engine.whole import check_scope

        report, looked = check_scope(scope, options)
        _keep(where, scope, looked, report)
    return report


def with_sources(scope: Scope, report: Report) -> Report:
    """Give a report with the text of every file that it speaks of."""
    return replace(report, sources=dict(_sources(scope, report)))


def check_command(words: Sequence[str], options: Options) -> Report:
    """Judge the command that a person is about to start, in this environment. Raises UsageError for none."""
    if not words:
        raise UsageError("there is no command behind `--`")
    from meshlint.engine.gather import command_text
    from meshlint.engine.whole import check_words

    scope = scope_of_command(words, options)
    report = check_words(words, scope, options)
    path, text = command_text(words)
    return replace(report, sources={**dict(_sources(scope, report)), path: text})


def scope_of_command(words: Sequence[str], options: Options) -> Scope:
    """Find the files around the current folder, and around each program or script that a command names.

    Raises UsageError for a program file that is not there.
    """
    from meshlint.engine.gather import missing_program

    missing = missing_program(words, options.cwd)
    if missing is not None:
        raise UsageError(f"there is no program file `{missing}`, which the command behind `--` starts")
    named = [w for w in words if w.endswith(PROGRAMS) and (options.cwd / w).is_file()]
    return scope_of((".", *named), options)


PROGRAMS = (".py", *SCRIPTS)


MAX_PATTERNS = 2_000
"""Patterns to exclude; each is asked of every file."""


def scope_of(paths: Sequence[str], options: Options) -> Scope:
    """Find the files; raises UsageError for a path that does not exist."""
    settings = options.settings
    if len(settings.exclude) + len(options.exclude) > MAX_PATTERNS:
        raise UsageError(f"more than {MAX_PATTERNS:,} patterns are to be excluded")
    for pattern in settings.exclude:
        check_pattern(pattern, settings.where("exclude"))
    for pattern in options.exclude:
        check_pattern(pattern, "--exclude")
    excluded = (*settings.exclude, *options.exclude)
    begun = options.begun.take_listing if options.begun is not None else None
    scope = discover(paths, options.cwd, excluded, settings.base, begun)
    if scope.missing:
        raise UsageError(f"there is no file or folder `{scope.missing[0]}`")
    return scope


def _key(scope: Scope, options: Options) -> Key:
    from meshlint.engine.cache import folder, key

    settings = options.settings
    return key(folder(settings.cache_dir, settings.base), scope, options.asked())


def _cached(where: Key | None, scope: Scope) -> Report | None:
    if where is None:
        return None
    from meshlint.engine.cache import load

    return load(where, scope.root)


def _keep(where: Key | None, scope: Scope, looked: frozenset[str], report: Report) -> None:
    """Keep a report that is whole."""
    if where is None or report.failures:
        return
    from meshlint.engine.cache import store

    store(where, scope.root, looked, report)


def _sources(scope: Scope, report: Report) -> Iterator[tuple[str, str]]:
    """Give the text of every file that a finding speaks of."""
    tree = Tree(scope.root, scope.roots)
    places = (span for f in report.findings for span in (f.span, *(related.span for related in f.related)))
    for path in sorted({span.path for span in places}):
        try:
            yield path, tree.read(path).text
        except Unreadable:
            continue
