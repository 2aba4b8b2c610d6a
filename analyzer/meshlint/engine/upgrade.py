"""An upgrade judged before it is made: each launch under the pins as they are, and with one or more of them moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from packaging.version import InvalidVersion, Version

from meshlint.config.pins.tables import RELEASES, library_of
from meshlint.engine.options import Options, UsageError
from meshlint.engine.run import check, check_command
from meshlint.finding import Finding, Report
from meshlint.moves import Move, Turned, Upgrade
from meshlint.words import meant

Marking = Callable[[Report], Report]


def check_upgrade(
    paths: Sequence[str],
    options: Options,
    pins: Mapping[str, str],
    command: Sequence[str] | None = None,
    marked: Marking | None = None,
) -> Upgrade:
    """Judge what changes where pins move; raises UsageError for a library or a version that is not known.

    `marked` marks, in a report, the findings that a baseline holds.
    """
    wanted = dict(_release(library, text) for library, text in pins.items())
    moved = _with_pins(options, wanted)
    now, after = (
        check(paths, asked) if command is None else check_command(command, asked) for asked in (options, moved)
    )
    if marked is not None:
        now, after = marked(now), marked(after)
    before = {f.fingerprint: f for f in now.findings if f.counts}
    later = {f.fingerprint: _pinned(f, wanted) for f in after.findings if f.counts}
    new = [f for f in later.values() if f.fingerprint not in before]
    both = [Turned(before[mark], f) for mark, f in later.items() if mark in before]
    turned = [pair for pair in both if _says(pair.before) != _says(pair.after)]
    told = sorted((*new, *(pair.after for pair in turned if pair.graver)), key=lambda f: f.sort_key)
    return Upgrade(
        moves=(
            *(_move(library, release, now) for library, release in sorted(wanted.items())),
            *_along(wanted, now, after),
        ),
        new=tuple(new),
        turned=tuple(turned),
        gone=tuple(f for mark, f in before.items() if mark not in later),
        unchanged=tuple(pair.after for pair in both if _says(pair.before) == _says(pair.after)),
        report=replace(after, findings=tuple(told), failures=tuple(dict.fromkeys((*now.failures, *after.failures)))),
    )


def _pinned(finding: Finding, wanted: Mapping[str, str]) -> Finding:
    """Name the option that moved the pins, where a finding says what fixes a version."""
    pinned = {library: "--upgrade" if library in wanted else by for library, by in finding.pinned.items()}
    return replace(finding, pinned=pinned)


def _says(finding: Finding) -> tuple[object, ...]:
    """Give what makes a finding say something else: how much it weighs, and what happens."""
    return (finding.severity, finding.outcome)


def _release(library: str, text: str) -> tuple[str, str]:
    """Give the library and the release that are meant: `0.19` is the newest of that minor."""
    name = library_of(library)
    if name not in RELEASES:
        hint = meant(name, sorted(RELEASES), cutoff=0.4)
        raise UsageError(f"--upgrade: there is no library `{library}` whose version is judged{hint}")
    known = RELEASES[name]
    try:
        version = Version(text.removeprefix("=="))
    except (InvalidVersion, ValueError):
        raise UsageError(f"--upgrade {name}: `{text[:80]}` is no version such as {known[-1]}") from None
    minor = next((one for one in known if Version(one).release[:2] == _minor(version)), None)
    if minor is None or version.epoch:
        raise UsageError(f"--upgrade {name}: meshlint knows no release {text[:80]}; {_nearest(version, known)}")
    return name, minor if len(version.release) <= 2 and str(version) == version.base_version else str(version)


def _minor(version: Version) -> tuple[int, ...]:
    """Give major and minor; `2` is 2.0."""
    return (*version.release, 0)[:2]


def _nearest(version: Version, known: Sequence[str]) -> str:
    """Name the known releases on both sides of one that is none."""
    below = [one for one in known if Version(one) < version][-1:]
    above = [one for one in known if Version(one) > version][:1]
    if below and above:
        return f"the nearest that it knows are {below[0]} and {above[0]}"
    return f"the newest that it knows is {below[0]}" if below else f"the oldest that it knows is {above[0]}"


def _with_pins(options: Options, wanted: Mapping[str, str]) -> Options:
    """Give options in which the moved pins stand in place of whatever else is given of these libraries."""
    settings = options.settings
    kept = {name: text for name, text in settings.versions.items() if library_of(name) not in wanted}
    pins = {name: text for name, text in options.pins.items() if library_of(name) not in wanted}
    return replace(options, settings=replace(settings, versions=kept), pins={**pins, **wanted}, tick=None)


def _move(library: str, release: str, report: Report) -> Move:
    """Count the launches by the version that they are judged on now."""
    found = Counter(_versions(library, report))
    return Move(library, release, tuple(sorted(found.items())), len(report.coverage) - sum(found.values()))


def _along(wanted: Mapping[str, str], now: Report, after: Report) -> Iterator[Move]:
    """Give the libraries that move with one that is named: what a pinned framework brings along."""
    later = {(one.launch.identity, one.framework): one.versions for one in after.coverage}
    found: dict[tuple[str, str], Counter[str]] = {}
    for one in now.coverage:
        for library, version in one.versions.items():
            then = later.get((one.launch.identity, one.framework), {}).get(library, version)
            if library not in wanted and then != version:
                found.setdefault((library, then), Counter())[version] += 1
    for (library, then), before in sorted(found.items()):
        yield Move(library, then, tuple(sorted(before.items())), along=True)


def _versions(library: str, report: Report) -> Iterator[str]:
    return (one.versions[library] for one in report.coverage if library in one.versions)
