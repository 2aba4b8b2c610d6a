"""The reading proof: `meshlint config` equals what a person read, value and line, on real launchers drawn by a seed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from draw import COUNT, FORMS, NOT_LAUNCHERS, Form, candidates, draw, draw_more
from sheets import expectations, outcome, usable

from conftest import CommandLine

READ = [form for form in FORMS if expectations(form.name)]


def _checkout(form: Form) -> Path:
    if "MESHLINT_UPSTREAM" not in os.environ:
        pytest.skip("MESHLINT_UPSTREAM names no folder of checkouts")
    folder = Path(os.environ["MESHLINT_UPSTREAM"]) / form.checkout
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    return folder


@pytest.mark.parametrize("form", READ, ids=lambda form: form.name)
def test_reads_what_a_person_reads(form: Form, meshlint: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = _checkout(form)
    wanted = expectations(form.name)
    why = [reason for w in wanted if (reason := usable(w, checkout))]
    if why:
        pytest.skip(why[0])
    monkeypatch.chdir(checkout)
    launches = json.loads(meshlint("config", "--json", *(w["path"] for w in wanted)).out)["launches"]
    results = [outcome(w, launches) for w in wanted]
    assert [line for result in results for line in result.differences] == []
    assert sum(result.compared for result in results) > 0


@pytest.mark.parametrize("form", READ, ids=lambda form: form.name)
def test_expected_files_are_those_that_are_drawn(form: Form) -> None:
    checkout = _checkout(form)
    if any(usable(w, checkout) for w in expectations(form.name)):
        pytest.skip(f"{checkout} is at another revision")
    drawn = draw(form, checkout)
    left = [p for p in candidates(form, checkout) if f"{form.checkout}/{p}" not in NOT_LAUNCHERS]
    assert len(drawn) == min(COUNT, len(left))
    read = {w["path"] for w in expectations(form.name)}
    assert set(drawn) <= read
    assert read - set(drawn) <= set(draw_more(form, checkout))


def test_expected_files_hold_a_launch_and_a_place_for_each_value() -> None:
    for form in READ:
        for wanted in expectations(form.name):
            assert len(wanted["commit"]) == 40
            for launch in wanted["launches"]:
                assert all(str(place).rpartition(":")[2].isdigit() for _, place in launch["fields"].values())
