"""Reports as plain data, for the JSON formats. `docs/json.md` documents it, `report/schema.json` is its schema."""

from __future__ import annotations

from typing import Any

from meshlint.finding import Coverage, Finding, Fix, LaunchRef, Related, Report
from meshlint.place import Span
from meshlint.report.text import plain, plain_lines

SCHEMA = "1.0"
"""Major and minor version of the form; within a major version keys are only added."""

MAX_DETAILS = 200
"""Notes told of what was not followed; the others are counted. The text of `--verbose` has all of them."""


def report_data(report: Report) -> dict[str, Any]:
    """Give a whole report."""
    return {
        "schema": SCHEMA,
        "tool": tool_data(report),
        "findings": [finding_data(finding) for finding in report.findings],
        "coverage": [coverage_data(coverage) for coverage in report.coverage],
        "code": code_data(report),
    }


def tool_data(report: Report) -> dict[str, Any]:
    """Give the tool's name and version."""
    return {"name": "meshlint", "version": report.version}


def finding_data(finding: Finding) -> dict[str, Any]:
    """Give a finding, every key present."""
    first = finding.launches[0] if finding.launches else None
    return {
        "code": finding.code,
        "slug": finding.slug,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "outcome": finding.outcome.value,
        **_place(finding.span),
        "message": plain_lines(finding.message),
        "related": [_related(related) for related in finding.related],
        "launch": _broken(first) if first is not None else None,
        "launches": [_broken(launch) for launch in finding.launches],
        "framework": finding.framework,
        "versions": dict(sorted(finding.versions.items())),
        "pinned": {library: plain(text) for library, text in sorted(finding.pinned.items())},
        "given": [plain(given) for given in finding.given],
        "fix": _fix(finding.fix) if finding.fix is not None else None,
        "reproducer": finding.reproducer or None,
        "rule_url": finding.rule_url or None,
        "fingerprint": finding.fingerprint,
        "suppressed": plain(finding.suppressed) or None,
        "baselined": finding.baselined,
    }


def coverage_data(coverage: Coverage) -> dict[str, Any]:
    """Give how far one launch was judged."""
    return {
        "launch": _launch(coverage.launch),
        "framework": coverage.framework,
        "surface": coverage.surface,
        "versions": dict(sorted(coverage.versions.items())),
        "judged": list(coverage.judged),
        "not_judged": [
            {"code": stop.code, "field": stop.field, "reason": plain(stop.reason)} for stop in coverage.not_judged
        ],
    }


def code_data(report: Report) -> dict[str, Any]:
    """Give how far the Python code was judged, and what of it was not followed: the notes of `--verbose`, bounded."""
    told = [plain(detail) for detail in report.details[:MAX_DETAILS]]
    return {
        "files": report.code,
        "with_collectives": report.concerned,
        "not_followed": told,
        "more_not_followed": len(report.details) - len(told),
    }


def _place(span: Span) -> dict[str, Any]:
    return {
        "path": plain(span.path),
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }


def _related(related: Related) -> dict[str, Any]:
    return {**_place(related.span), "message": plain(related.label)}


def _launch(launch: LaunchRef) -> dict[str, Any]:
    return {"identity": plain(launch.identity), **_place(launch.span)}


def _broken(launch: LaunchRef) -> dict[str, Any]:
    """Give a launch that a finding breaks, with the roles of it that the finding is about."""
    return {**_launch(launch), "roles": [plain(role) for role in launch.roles]}


def _fix(fix: Fix) -> dict[str, Any]:
    edits = [{**_place(edit.span), "text": edit.text} for edit in fix.edits]
    return {"description": plain(fix.description), "safe": fix.safe, "edits": edits}
