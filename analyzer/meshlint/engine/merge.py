"""One cause, one finding: what several launches show at one place becomes one finding that lists them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from meshlint.finding import Finding, Fix, LaunchRef
from meshlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Judged:
    """A finding of one launch, and what makes it one with those of other launches."""

    cause: tuple[str, ...]
    finding: Finding


def merge(judged: Iterable[Judged]) -> list[Finding]:
    """Join equal causes, sort, and tell equal fingerprints apart by an ordinal."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for one in judged:
        groups.setdefault((one.cause, one.finding.span, one.finding.suppressed), []).append(one.finding)
    return _numbered(sorted((_join(group) for group in groups.values()), key=lambda f: f.sort_key))


def _join(findings: list[Finding]) -> Finding:
    """Keep the gravest finding, of the first launch among equals, and list the launches of all."""
    first = min(findings, key=lambda f: (-f.severity.rank, *(_order(launch) for launch in f.launches[:1])))
    launches: dict[str, LaunchRef] = {}
    for launch in (launch for finding in findings for launch in finding.launches):
        known = launches.get(launch.identity, launch)
        launches[launch.identity] = replace(launch, roles=tuple(dict.fromkeys((*known.roles, *launch.roles))))
    return replace(first, launches=tuple(sorted(launches.values(), key=_order)), fix=_agreed(first, findings))


def _agreed(first: Finding, findings: list[Finding]) -> Fix | None:
    """Give the fix of the first; it is safe only where all launches ask for the same edits."""
    if first.fix is None or not first.fix.safe:
        return first.fix
    return first.fix if all(_edits(f) == _edits(first) for f in findings) else replace(first.fix, safe=False)


def _edits(finding: Finding) -> object:
    return (finding.fix.edits, finding.fix.wishes) if finding.fix is not None else None


def fingerprint(*parts: str) -> str:
    """Give 20 hexadecimal digits that stand for the parts; names that are not UTF-8 may be among them."""
    import hashlib

    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:20]


def _order(launch: LaunchRef) -> tuple[object, ...]:
    return (launch.span, launch.identity)


def _numbered(findings: list[Finding]) -> list[Finding]:
    seen: dict[str, int] = {}
    numbered = []
    for finding in findings:
        ordinal = seen[finding.fingerprint] = seen.get(finding.fingerprint, 0) + 1
        if ordinal > 1:
            finding = replace(finding, fingerprint=fingerprint(finding.fingerprint, str(ordinal)))
        numbered.append(finding)
    return numbered
