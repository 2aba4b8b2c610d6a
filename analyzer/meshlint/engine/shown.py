"""One finding of a place, and the cases that show it: for `meshlint reproduce CODE --of PATH[:LINE]`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from meshlint.engine.evidence import alike_first, own_case, own_of, unsized
from meshlint.engine.options import Options, UsageError
from meshlint.engine.run import judged, scope_of
from meshlint.finding import Finding
from meshlint.plain import clean
from meshlint.records import dataclass
from meshlint.reproduce.case import Reproducer
from meshlint.words import plural

MOST = 12
"""Findings that a message names."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What shows a finding: its cases, and of what they are made; `own` is False for those of the rule."""

    finding: Finding
    reproducer: Reproducer
    told: str
    own: bool


def split(place: str) -> tuple[str, int]:
    """Part PATH:LINE; line 0 for none. A path that is there as it stands has no line behind it."""
    path, colon, line = place.rpartition(":")
    if not colon or not line.isdecimal() or not line.isascii() or len(line) > 9 or os.path.lexists(place):
        return place, 0
    return path, int(line)


def finding_at(code: str, place: str, options: Options, tree: str = "") -> Finding:
    """Find the one finding of a rule at a place, judged in `tree` or alone; raises UsageError for none or several."""
    path, line = split(place)
    if tree and not os.path.lexists(path):
        raise UsageError(f"there is no file or folder `{clean(path)}`")
    scope = scope_of((tree or path,), options)
    wanted = Path(os.path.realpath(options.cwd / path))
    here = [finding for finding in judged(scope, options).findings if _in(finding, wanted, scope.root)]
    found = [one for one in here if one.code == code]
    there = [one for one in found if line in (0, one.span.line) or line in _started(one)]
    if len({(one.span.path, one.span.line) for one in there}) == 1:
        return there[0]
    if there:
        raise UsageError(
            f"`{clean(path)}` has {plural(len(there), 'finding')} of {code}: {_lines(there)}; say which with PATH:LINE"
        )
    at = f" on line {line}" if line else ""
    others = found or here
    having = f"; it has {_lines(others, codes=not found)}" if others else "; nothing is found there"
    more = "" if tree or Path(path).is_dir() else "; what other files say counts only with --tree FOLDER"
    raise UsageError(f"`{clean(path)}` has no finding of {code}{at}{having}{more}")


def _in(finding: Finding, wanted: Path, root: Path) -> bool:
    """Say whether a finding, or a launch that it breaks, stands in a file or below a folder."""
    places = (finding.span, *(launch.span for launch in finding.launches))
    real = [Path(os.path.realpath(root / span.path)) for span in places]
    return any(one == wanted or wanted in one.parents for one in real)


def _started(finding: Finding) -> tuple[int, ...]:
    return tuple(launch.span.line for launch in finding.launches)


def _lines(findings: Sequence[Finding], codes: bool = False) -> str:
    """Name findings by their lines, with their codes and files where these differ."""
    files = len({one.span.path for one in findings}) > 1
    named = [
        (f"{one.code} " if codes else "") + (f"{clean(one.span.path)}:" if files else "line ") + str(one.span.line)
        for one in findings
    ]
    named = list(dict.fromkeys(named))
    rest = f" and {len(named) - MOST} more" if len(named) > MOST else ""
    return ", ".join(named[:MOST]) + rest


def shown(finding: Finding, reproducer: Reproducer | None) -> Shown | None:
    """Give what shows a finding: its own calls, its own sizes, or the rule's cases; None where there is nothing."""
    if finding.skeleton:
        case = own_case(finding)
        own = Reproducer(finding.code, (case,), "its calls are those of a program, not of a config")
        return Shown(finding, own, f"its own calls on {plural(case.world, 'rank')}", True)
    if reproducer is None:
        return None
    sized = own_of(finding, reproducer)
    if sized is not None:
        cases = alike_first(sized.cases, finding.outcome)
        return Shown(finding, replace(reproducer, cases=cases), sized.told, True)
    return Shown(finding, reproducer, f"the rule's own cases{unsized(reproducer)}", False)
