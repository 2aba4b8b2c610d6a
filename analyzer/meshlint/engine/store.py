"""Reports to plain data and back, for the cache. Texts of files are left out: they are read again when shown."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from meshlint.finding import (
    Confidence,
    Coverage,
    Edit,
    Finding,
    Fix,
    LaunchRef,
    NotJudged,
    Outcome,
    Related,
    Report,
    RuleInfo,
    Severity,
)
from meshlint.place import Span


def report_data(report: Report) -> dict[str, Any]:
    """Give a report as data that JSON can hold."""
    return {
        "version": report.version,
        "findings": [{**asdict(f), "versions": dict(f.versions), "pinned": dict(f.pinned)} for f in report.findings],
        "coverage": [asdict(coverage) for coverage in report.coverage],
        "rules": [asdict(rule) for rule in report.rules],
        "notes": list(report.notes),
        "details": list(report.details),
        "files": report.files,
        "code": report.code,
        "concerned": report.concerned,
        "left_out": dict(report.left_out),
        "dropped": report.dropped,
    }


def report_of(data: dict[str, Any]) -> Report:
    """Give the report back, without its sources; raises KeyError, TypeError or ValueError if broken."""
    return Report(
        version=data["version"],
        findings=tuple(_finding(item) for item in data["findings"]),
        coverage=tuple(_coverage(item) for item in data["coverage"]),
        rules=tuple(_rule(item) for item in data["rules"]),
        notes=tuple(data["notes"]),
        details=tuple(data["details"]),
        files=data["files"],
        code=data["code"],
        concerned=data["concerned"],
        left_out=data["left_out"],
        dropped=data["dropped"],
    )


def _finding(data: dict[str, Any]) -> Finding:
    typed = {
        "severity": Severity(data["severity"]),
        "confidence": Confidence(data["confidence"]),
        "outcome": Outcome(data["outcome"]),
        "span": Span(*data["span"]),
        "related": tuple(Related(Span(*r["span"]), r["label"]) for r in data["related"]),
        "given": tuple(data["given"]),
        "launches": tuple(_launch(launch) for launch in data["launches"]),
        "fix": _fix(data["fix"]) if data["fix"] is not None else None,
    }
    return Finding(**{**data, **typed})


def _fix(data: dict[str, Any]) -> Fix:
    return Fix(data["description"], tuple(Edit(Span(*e["span"]), e["text"]) for e in data["edits"]), data["safe"])


def _launch(data: dict[str, Any]) -> LaunchRef:
    return LaunchRef(data["identity"], Span(*data["span"]), tuple(data["roles"]))


def _rule(data: dict[str, Any]) -> RuleInfo:
    return RuleInfo(**{**data, "severity": Severity(data["severity"])})


def _coverage(data: dict[str, Any]) -> Coverage:
    return Coverage(
        launch=_launch(data["launch"]),
        framework=data["framework"],
        surface=data["surface"],
        judged=tuple(data["judged"]),
        not_judged=tuple(NotJudged(**stop) for stop in data["not_judged"]),
        versions=data["versions"],
    )
