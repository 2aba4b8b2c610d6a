"""Running rules over fixtures, for this project and for writers of rule packs.

A fixture is a file or folder under `CODE/bad/` or `CODE/good/`: a project tree of its own, as small as it can be. It
says in a comment what must be found, on the line that the finding is at:

    CP_COMM=a2a+p2p   # expect: HCP001 error crash-start

or, where a comment cannot stand on that line, anywhere in the tree with a piece of the line's text after `@`:

    # expect: HCP001 error crash-start @ --cp-comm-type a2a+p2p

A comment `# options: --pin megatron-core=0.12.3 --world-size 8 --env CP=4` gives options of the run, as on the command
line. Everything that a bad tree finds must be expected, and a good tree must find nothing.

A folder that holds nothing but `before/` and `after/` is a change: it is judged as `--diff` judges it, and comments of
`after/` say what the change must be told for. In a pack's tests:

    @pytest.mark.parametrize("case", meshlint.testing.cases("fixtures"), ids=str)
    def test_fixture(case: meshlint.testing.Case) -> None:
        meshlint.testing.check(case)
"""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING

from meshlint.finding import Finding, Outcome, Report, Severity
from meshlint.records import dataclass

if TYPE_CHECKING:
    from meshlint.engine.options import Options as EngineOptions

__all__ = [
    "Case",
    "Expectation",
    "cases",
    "change_text",
    "check",
    "expectations",
    "findings",
    "options",
    "report",
    "report_of",
]

MARK = "expect:"
OPTIONS = "options:"
MAX_TEXT = 2_000_000
"""Characters of a fixture's file that are searched for comments."""


@dataclass(frozen=True, slots=True, order=True)
class Expectation:
    """What must be found: at which line of which file (relative to the fixture's root), and how bad it is."""

    path: str
    line: int
    code: str
    severity: str
    outcome: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.code} {self.severity} {self.outcome}"


@dataclass(frozen=True, slots=True)
class Case:
    """A fixture: the rule it belongs to, whether the tree is good, and the file or folder."""

    code: str
    good: bool
    path: Path

    @property
    def is_change(self) -> bool:
        """Say whether it has two sides."""
        return self.path.is_dir() and {one.name for one in self.path.iterdir()} == {"before", "after"}

    def __str__(self) -> str:
        return (
            f"{self.code}-{'good' if self.good else 'bad'}-{self.path.stem if self.path.is_file() else self.path.name}"
        )


def cases(fixtures: str | Path, codes: Iterable[str] = ()) -> list[Case]:
    """Give the fixtures in a folder that holds CODE/bad and CODE/good; `codes` limits them to some rules."""
    wanted = set(codes)
    return [
        Case(folder.name, kind == "good", path)
        for folder in sorted(Path(fixtures).iterdir())
        if folder.is_dir() and (not wanted or folder.name in wanted)
        for kind in ("bad", "good")
        if (folder / kind).is_dir()
        for path in sorted((folder / kind).iterdir())
        if not path.name.startswith(".")
    ]


def check(case: Case) -> None:
    """Run every rule over a fixture; raises AssertionError, naming each difference, unless it finds what it says."""
    with tempfile.TemporaryDirectory(prefix="meshlint-") as folder:
        root = _copy(case, Path(folder))
        wanted = [] if case.good else expectations(root)
        found = [_as_expectation(f) for f in _judged(case, root).findings]
        if not case.good:
            assert any(e.code == case.code for e in wanted), f"{case}: no comment expects {case.code}"
    missing, extra = _difference(wanted, found)
    lines = [f"  not found: {e}" for e in missing] + [f"  not expected: {e}" for e in extra]
    assert not lines, "\n".join([f"{case}: {case.path}", *lines])


def report_of(case: Case) -> Report:
    """Give the report of `meshlint check` on a fixture, run as `check` runs it."""
    with tempfile.TemporaryDirectory(prefix="meshlint-") as folder:
        return _judged(case, _copy(case, Path(folder)))


def _judged(case: Case, root: Path) -> Report:
    """Judge a fixture that was copied to `root`: as a tree, or as a change of one."""
    if not case.is_change:
        return report(root, options(root))
    from meshlint.engine.change import Asked, check_change

    text = change_text(case.path / "before", case.path / "after")
    return check_change([str(root)], _engine_options(root, options(root)), Asked(text=text))


def change_text(before: str | Path, after: str | Path) -> str:
    """Give the unified diff that leads from one folder of text files to another."""
    old, new = (dict(_texts(Path(folder))) for folder in (before, after))
    return "".join(
        line
        for path in sorted({*old, *new})
        for line in unified_diff(
            old.get(path, "").splitlines(keepends=True),
            new.get(path, "").splitlines(keepends=True),
            fromfile=f"a/{path}" if path in old else "/dev/null",
            tofile=f"b/{path}" if path in new else "/dev/null",
        )
    )


def findings(root: str | Path, words: Sequence[str] = ()) -> tuple[Finding, ...]:
    """Give everything that `meshlint check` finds in a folder; `words` are options as on its command line.

    Known are `--pin`, `--env`, `--world-size`, `--gpu` and `--select`. Raises ValueError for another.
    """
    return report(root, words).findings


def report(root: str | Path, words: Sequence[str] = ()) -> Report:
    """Give the whole report of `meshlint check` on a folder: findings and how far each launch was judged."""
    from meshlint.engine.run import check as run

    return run([str(root)], _engine_options(Path(root), words))


def _engine_options(root: Path, words: Sequence[str]) -> EngineOptions:
    from meshlint.config.effective import option
    from meshlint.engine.options import Options

    given: dict[str, list[str]] = {}
    for name, value in zip(words[::2], words[1::2], strict=True):
        given.setdefault(name, []).append(value)
    unknown = sorted(set(given) - {"--pin", "--env", "--world-size", "--gpu", "--select"})
    if unknown:
        raise ValueError(f"fixtures have no option {unknown[0]}")
    environment = dict(pair.partition("=")[::2] for pair in given.get("--env", ()))
    select = given.get("--select")
    return Options(
        select=None if select is None else tuple(code for word in select for code in word.split(",")),
        pins=dict(pair.partition("=")[::2] for pair in given.get("--pin", ())),
        environment={name: option(value, f"--env {name}={value}") for name, value in environment.items()},
        world_size=int(given["--world-size"][-1]) if "--world-size" in given else None,
        gpu=given.get("--gpu", [""])[-1],
        cwd=root,
        cache=False,
    )


def expectations(root: str | Path) -> list[Expectation]:
    """Read the `expect:` comments of a tree; raises ValueError for one that is malformed or points nowhere."""
    texts = dict(_texts(Path(root)))
    found = []
    for path, text in texts.items():
        lines = text.splitlines()
        for number, line in enumerate(lines, 1):
            for note in _notes(line, MARK):
                found.append(_expectation(path, number, note, texts))
    return sorted(found)


def options(root: str | Path) -> list[str]:
    """Read the `options:` comments of a tree."""
    return [
        word
        for _, text in _texts(Path(root))
        for line in text.splitlines()
        for note in _notes(line, OPTIONS)
        for word in shlex.split(note)
    ]


def _notes(line: str, mark: str) -> Iterator[str]:
    """Give what stands behind `# mark` on a line; several are told apart by a further `#`."""
    for part in line.split("#")[1:]:
        note = part.strip()
        if note.startswith(mark):
            yield note[len(mark) :].strip()


def _expectation(path: str, number: int, note: str, texts: dict[str, str]) -> Expectation:
    head, _, anchor = note.partition(" @ ")
    words = head.split()
    if len(words) != 3:
        raise ValueError(f"{path}:{number}: `{MARK} CODE SEVERITY OUTCOME` is wanted, not {note!r}")
    code, severity, outcome = words[0], Severity(words[1]).value, Outcome(words[2]).value
    if not anchor:
        return Expectation(path, number, code, severity, outcome)
    places = [
        (other, at)
        for other, text in texts.items()
        for at, line in enumerate(text.splitlines(), 1)
        if anchor in line and not any(True for _ in _notes(line, MARK))
    ]
    if len(places) != 1:
        raise ValueError(f"{path}:{number}: {anchor!r} stands on {len(places)} lines; it must stand on one")
    return Expectation(*places[0], code, severity, outcome)


def _texts(root: Path) -> Iterator[tuple[str, str]]:
    for file in sorted(p for p in root.rglob("*") if p.is_file()):
        if file.stat().st_size <= MAX_TEXT:
            yield file.relative_to(root).as_posix(), file.read_text(encoding="utf-8", errors="replace")


def _as_expectation(finding: Finding) -> Expectation:
    return Expectation(
        finding.span.path, finding.span.line, finding.code, finding.severity.value, finding.outcome.value
    )


def _difference(
    wanted: Iterable[Expectation], found: Iterable[Expectation]
) -> tuple[list[Expectation], list[Expectation]]:
    extra = sorted(found)
    missing = []
    for expectation in sorted(wanted):
        if expectation in extra:
            extra.remove(expectation)
        else:
            missing.append(expectation)
    return missing, extra


def _copy(case: Case, folder: Path) -> Path:
    """Copy a fixture to a folder of its own, so that it sees nothing of its neighbours."""
    root = folder / "tree"
    if case.path.is_dir():
        shutil.copytree(case.path / "after" if case.is_change else case.path, root)
    else:
        root.mkdir()
        shutil.copy2(case.path, root / case.path.name)
    return root.resolve()
