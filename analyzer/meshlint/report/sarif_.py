"""SARIF 2.1.0: one run, one driver, places relative to the root, fingerprints without line numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from meshlint.finding import Edit, Finding, Fix, Report, RuleInfo, Severity
from meshlint.place import Span
from meshlint.report.text import dumps, plain, plain_lines

SCHEMA_URI = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
BASE = "ROOT"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render(report: Report) -> Iterator[str]:
    """Give the log, indented, as ASCII."""
    yield from dumps(log(report), 2).split("\n")


def log(report: Report) -> dict[str, Any]:
    """Give the log as data."""
    used = {finding.code for finding in report.findings}
    rules = [rule for rule in report.rules if rule.code in used]
    order = {rule.code: index for index, rule in enumerate(rules)}
    run = {
        "tool": {"driver": _driver(report, rules)},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {BASE: {"description": {"text": "The root of the checkout, or the current folder."}}},
        "invocations": [_invocation(report)],
        "results": [_result(finding, order) for finding in report.findings],
    }
    return {"$schema": SCHEMA_URI, "version": "2.1.0", "runs": [run]}


def _driver(report: Report, rules: list[RuleInfo]) -> dict[str, Any]:
    return {
        "name": "meshlint",
        "semanticVersion": report.version,
        "rules": [
            {
                "id": rule.code,
                "name": _pascal(rule.slug),
                "shortDescription": {"text": rule.summary or rule.slug},
                "help": {"text": f"`meshlint explain {rule.code}` shows the rule's page."},
                "defaultConfiguration": {"level": _LEVELS[rule.severity]},
            }
            for rule in rules
        ],
    }


def _pascal(slug: str) -> str:
    return "".join(word.capitalize() for word in slug.split("-"))


def _invocation(report: Report) -> dict[str, Any]:
    invocation: dict[str, Any] = {"executionSuccessful": not report.failures}
    if report.notes or report.failures:
        told = [("note", text) for text in report.notes] + [("error", text) for text in report.failures]
        invocation["toolExecutionNotifications"] = [
            {"level": level, "message": {"text": plain(text)}} for level, text in told
        ]
    return invocation


def _result(finding: Finding, order: dict[str, int]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": order.get(finding.code, -1),
        "level": _LEVELS[finding.severity],
        "message": {"text": plain_lines(finding.message)},
        "locations": [{"physicalLocation": _physical(finding.span)}],
        "partialFingerprints": {"meshlint/v1": finding.fingerprint},
        "properties": _properties(finding),
    }
    if finding.related:
        result["relatedLocations"] = [
            {"id": number, "physicalLocation": _physical(r.span), "message": {"text": plain(r.label)}}
            for number, r in enumerate(finding.related, 1)
        ]
    if finding.fix is not None and finding.fix.edits:
        result["fixes"] = [_fix(finding.fix)]
    if finding.suppressed:
        result["suppressions"] = [{"kind": "inSource", "justification": plain(finding.suppressed)}]
    if finding.baselined:
        result["baselineState"] = "unchanged"
    return result


def _properties(finding: Finding) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "confidence": finding.confidence.value,
        "outcome": finding.outcome.value,
        "framework": finding.framework,
        "launches": [plain(launch.identity) for launch in finding.launches],
        "versions": dict(sorted(finding.versions.items())),
    }
    if finding.given:
        properties["given"] = [plain(given) for given in finding.given]
    if finding.fix is not None:
        properties["fix"] = plain(finding.fix.description)
    if finding.reproducer:
        properties["reproduced"] = plain(finding.reproducer)
    return properties


def _physical(span: Span) -> dict[str, Any]:
    return {"artifactLocation": _artifact(span.path), "region": _region(span)}


def _artifact(path: str) -> dict[str, Any]:
    """Give a path as a URI; one outside the root is absolute and has no base."""
    uri = quote(os.fsencode(path), safe="/~!$&'()*+,;=@")
    return {"uri": f"file://{uri}"} if path.startswith("/") else {"uri": uri, "uriBaseId": BASE}


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    by_path: dict[str, list[Edit]] = {}
    for edit in fix.edits:
        by_path.setdefault(edit.span.path, []).append(edit)
    changes = [
        {
            "artifactLocation": _artifact(path),
            "replacements": [
                {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}} for edit in edits
            ],
        }
        for path, edits in sorted(by_path.items())
    ]
    return {"description": {"text": plain(fix.description)}, "artifactChanges": changes}
