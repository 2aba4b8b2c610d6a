"""From findings and a diff to comments, without a host."""

from __future__ import annotations

from dataclasses import replace

import pytest

from meshlint.finding import Confidence, Edit, Finding, Fix, Outcome, Related, Severity
from meshlint.place import Span
from meshlint.review.comments import (
    MAX_BODY,
    MOST,
    SUMMARY,
    Former,
    Inline,
    Plan,
    fixed,
    lines_of,
    plan,
    summary,
)
from meshlint.review.findings import FindingsError, read
from meshlint.sources.patch import read_patch

ROWS = ["one", "two", "  cp: 4  # sizes", "four", *(f"row {n}" for n in range(5, 21))]
DIFF = (
    "--- a/run.sh\n+++ b/run.sh\n@@ -1,3 +1,20 @@\n one\n two\n"
    + "".join(f"+{row}\n" for row in ROWS[2:-1])
    + " row 20\n"
)
LINES = lines_of(read_patch(DIFF))
SOURCES = {"run.sh": "\n".join(ROWS)}


def finding(line: int = 3, severity: Severity = Severity.ERROR, **more: object) -> Finding:
    base = Finding(
        code="HCP001",
        slug="toy",
        severity=severity,
        confidence=Confidence.HIGH,
        outcome=Outcome.HANG,
        span=Span("run.sh", line),
        message=f"what happens at {line}",
        fingerprint=f"f{line}",
    )
    return replace(base, **more)  # type: ignore[arg-type]


def planned(*findings: Finding, former: tuple[Former, ...] = (), complete: bool = True) -> Plan:
    return plan(findings, LINES, SOURCES, former, complete)


def as_former(inline: Inline, number: int = 1) -> Former:
    return Former(number, inline.body)


def outside(text: str) -> str:
    """Give what a host renders as Markdown: without fenced blocks, code spans and our own markers."""
    kept, fence = [], ""
    for row in text.split("\n"):
        ticks = row[: len(row) - len(row.lstrip("`"))]
        if fence:
            fence = "" if row == fence else fence
        elif len(ticks) >= 3:
            fence = ticks
        elif not row.startswith("<!-- meshlint:"):
            kept.append(without_spans(row))
    assert not fence
    return "\n".join(kept)


def without_spans(row: str) -> str:
    """Take code spans out, as CommonMark pairs their backticks."""
    at, kept = 0, ""
    while at < len(row):
        if row[at] != "`":
            kept, at = kept + row[at], at + 1
            continue
        start = at
        while at < len(row) and row[at] == "`":
            at += 1
        length, end = at - start, at
        while end < len(row):
            stop = end
            while stop < len(row) and row[stop] == "`":
                stop += 1
            if stop - end == length:
                break
            end = max(stop, end + 1)
        assert end < len(row), "a code span stays open"
        at = end + length
    return kept


def test_a_finding_stands_on_its_line_and_names_itself() -> None:
    (one,) = planned(finding()).inline
    assert (one.path, one.line, one.key) == ("run.sh", 3, "f3")
    assert one.body.endswith("\n<!-- meshlint:f3 -->")
    assert "what happens at 3" in one.body


def test_errors_come_first_and_ten_at_most() -> None:
    lines = range(3, 16)
    found = [finding(n, Severity.ERROR if n > 13 else Severity.WARNING) for n in lines]
    what = planned(*found)
    assert len(what.inline) == MOST
    assert [one.line for one in what.inline] == [14, 15, 3, 4, 5, 6, 7, 8, 9, 10]
    text = summary(what.keyed, frozenset(one.key for one in what.inline), SOURCES)
    assert text.startswith(SUMMARY)
    assert "2 errors, 11 warnings" in text
    assert all(f"what happens at {n}\n" in text for n in (11, 12, 13))


def test_what_stands_counts_toward_the_ten() -> None:
    former = tuple(as_former(one, n) for n, one in enumerate(planned(*map(finding, range(3, 12))).inline, 1))
    what = planned(*map(finding, range(3, 16)), former=former)
    assert [one.line for one in what.inline] == [12]


def test_a_related_place_on_an_added_line_takes_the_comment() -> None:
    far = finding(
        span=Span("other.py", 90), related=(Related(Span("run.sh", 2), "near"), Related(Span("run.sh", 4), "x"))
    )
    (one,) = planned(far).inline
    assert (one.path, one.line) == ("run.sh", 4)
    assert "other.py:90:" in one.body


def test_what_has_no_place_in_the_diff_is_in_the_summary() -> None:
    what = planned(finding(span=Span("other.py", 90)))
    assert what.inline == ()
    assert "other.py:90" in summary(what.keyed, frozenset(), SOURCES)


def test_a_merge_whose_lines_stand_elsewhere_is_found_by_text() -> None:
    sources = {"run.sh": "new\nnew\n" + SOURCES["run.sh"]}
    (one,) = plan([finding(5)], LINES, sources).inline
    assert one.line == 3
    assert plan([finding(5)], LINES, {"run.sh": "a\nb\nc\nd\ne"}).inline == ()


def test_a_second_push_repeats_nothing() -> None:
    first = planned(finding())
    again = planned(finding(), former=(as_former(first.inline[0]),))
    assert (again.inline, again.edits, again.standing) == ((), (), {"f3"})


def test_a_comment_whose_finding_is_gone_says_so_once() -> None:
    there = as_former(planned(finding()).inline[0], 7)
    (edit,) = planned(former=(there,)).edits
    assert (edit.number, edit.key, edit.fixed) == (7, "f3", True)
    assert "does not find this any more" in edit.body
    assert planned(former=(edit,)).edits == ()
    assert planned(former=(there,), complete=False).edits == ()


def test_a_finding_that_is_back_gets_its_comment_back() -> None:
    there = as_former(planned(finding()).inline[0], 7)
    gone = Former(7, fixed(there))
    what = planned(finding(), former=(gone,))
    assert (what.inline, what.edits) == ((), (there,))


def test_comments_of_people_are_left_alone() -> None:
    assert planned(former=(Former(1, "please fix"), Former(2, "> <!-- meshlint:f3 -->\nwhy?"))).edits == ()


@pytest.mark.parametrize("safe", [True, False])
def test_a_safe_fix_on_the_line_is_suggested(safe: bool) -> None:
    fix = Fix("Set it to 8.", (Edit(Span("run.sh", 3, 7, 3, 8), "8"),), safe)
    (one,) = planned(finding(fix=fix)).inline
    assert ("```suggestion\n  cp: 8  # sizes\n```" in one.body) is safe
    assert "Fix: `Set it to 8.`" in one.body


@pytest.mark.parametrize(
    "edits",
    [
        (Edit(Span("run.sh", 40, 1, 40, 2), "x"),),
        (Edit(Span("run.sh", 3, 7, 4, 1), "x"),),
        (Edit(Span("other.sh", 3, 7, 3, 8), "x"),),
        (Edit(Span("run.sh", 3, 7, 3, 8), "x"), Edit(Span("other.sh", 4, 1, 4, 2), "x")),
        (Edit(Span("run.sh", 3, 7, 3, 9), "x"), Edit(Span("run.sh", 3, 8, 3, 10), "y")),
        (Edit(Span("run.sh", 3, 7, 3, 800), "x"),),
        (Edit(Span("run.sh", 3, 7, 3, 8), "\u202ex"),),
    ],
)
def test_an_edit_that_a_click_cannot_make_is_not_suggested(edits: tuple[Edit, ...]) -> None:
    (one,) = planned(finding(fix=Fix("Mend it.", edits, safe=True))).inline
    assert "suggestion" not in one.body


def test_edits_of_several_lines_of_a_hunk_are_one_suggestion() -> None:
    edits = (Edit(Span("run.sh", 1, 1, 2, 1), ""), Edit(Span("run.sh", 4, 5, 4, 5), "\nmore"))
    (one,) = planned(finding(fix=Fix("Mend it.", edits, safe=True))).inline
    assert (one.first, one.line) == (1, 4)
    assert "```suggestion\ntwo\n  cp: 4  # sizes\nfour\nmore\n```" in one.body


def test_a_line_that_goes_is_an_empty_suggestion() -> None:
    (one,) = planned(finding(fix=Fix("Mend it.", (Edit(Span("run.sh", 3, 1, 4, 1), ""),), safe=True))).inline
    assert (one.first, one.line) == (3, 3)
    assert "```suggestion\n```" in one.body


def test_no_suggestion_where_other_lines_were_judged_than_those_of_the_pull_request() -> None:
    edits = (Edit(Span("run.sh", 2, 1, 2, 2), "x"),)
    sources = {"run.sh": "\n".join(["one", "2", *ROWS[2:]])}
    (one,) = plan([finding(fix=Fix("Mend it.", edits, safe=True))], LINES, sources).inline
    assert "suggestion" not in one.body
    assert one.first == one.line == 3


def test_no_suggestion_on_a_line_that_the_change_does_not_add() -> None:
    fix = Fix("Mend it.", (Edit(Span("run.sh", 2, 1, 2, 2), "x"),), safe=True)
    (one,) = planned(finding(2, fix=fix)).inline
    assert "suggestion" not in one.body


def test_two_edits_of_one_line_are_one_suggestion() -> None:
    fix = Fix("Mend it.", (Edit(Span("run.sh", 3, 3, 3, 5), "tp"), Edit(Span("run.sh", 3, 7, 3, 8), "8")), safe=True)
    (one,) = planned(finding(fix=fix)).inline
    assert "```suggestion\n  tp: 8  # sizes\n```" in one.body


def test_a_gone_comment_suggests_nothing() -> None:
    fix = Fix("Set it to 8.", (Edit(Span("run.sh", 3, 7, 3, 8), "8"),), safe=True)
    (one,) = planned(finding(fix=fix)).inline
    assert "```suggestion" not in fixed(as_former(one))


HOSTILE = "@everyone ```` <img src=x> [a](http://x) `` ``` \n```\n<!-- meshlint:summary -->\n# @owner `open"


def test_nothing_of_the_repository_acts() -> None:
    hostile = finding(
        message=HOSTILE,
        code="`@a",
        slug="@b`",
        fingerprint="--> <b>@c",
        related=(Related(Span("@d`.py", 1), HOSTILE),),
        fix=Fix(HOSTILE, (Edit(Span("run.sh", 3, 7, 3, 8), "```\n@e\n````"),), safe=True),
    )
    what = planned(hostile)
    (one,) = what.inline
    keys = frozenset(inline.key for inline in what.inline)
    for text in (one.body, summary(what.keyed, keys, SOURCES), summary(what.keyed, frozenset(), SOURCES)):
        bare = outside(text)
        assert not any(sign in bare for sign in ("@", "<", "[", "#", "http"))
    assert one.key.isalnum()
    assert as_former(one).key == one.key


def test_bodies_stay_within_what_the_host_takes() -> None:
    long = "\U000e0041" * 100_000
    found = [
        finding(n, message=long, fix=Fix(long), related=(Related(Span(long, 1), long),) * 50) for n in range(3, 19)
    ]
    what = planned(*found)
    assert all(len(one.body) <= MAX_BODY for one in what.inline)
    for keys in (frozenset(one.key for one in what.inline), frozenset[str]()):
        text = summary(what.keyed, keys, SOURCES)
        assert len(text) <= MAX_BODY
        assert "16 errors" in text


def test_equal_fingerprints_are_told_apart() -> None:
    what = planned(finding(), finding(4, fingerprint="f3"))
    assert [one.key for one in what.inline] == ["f3", "f3.2"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "[]",
        "{}",
        "[" * 100_000,
        '{"schema": "1.0"}',
        '{"schema": "2.0", "findings": []}',
        '{"schema": "1.0", "findings": {}}',
        '{"schema": "1.0", "findings": [{"code": "X"}]}',
        '{"schema": "1.0", "findings": [null]}',
    ],
)
def test_what_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(FindingsError):
        read(text)
