"""`meshlint config --why CODE` says a thing once, for all the releases that it holds on."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import CommandLine

FIXTURES = Path(__file__).parents[2] / "fixtures"
SOFTMAX = FIXTURES / "CTX005" / "bad" / "megatron.sh"
LATENT = FIXTURES / "CTX011" / "bad" / "megatron.sh"


def _results(text: str) -> list[str]:
    return [line[2:].split(": ")[0] for line in text.splitlines() if line.startswith(("  fires", "  silent", "  not "))]


def test_releases_that_decide_alike_are_one_block(meshlint: CommandLine) -> None:
    results = _results(meshlint("config", "--isolated", SOFTMAX, "--why", "CTX005").out)
    assert [line.split(" on ")[0] for line in results] == ["silent", "fires"]
    assert results[0].endswith(" to 2.7.0")
    assert results[1].startswith("fires on transformer-engine 2.8.0 to ")


def test_a_gap_between_releases_is_shown(meshlint: CommandLine) -> None:
    silent = _results(meshlint("config", "--isolated", LATENT, "--why", "CTX011").out)[0]
    assert silent.startswith("silent on transformer-engine 1.13.0 to 2.4.0, 2.15.0 to ")


def test_one_release_is_named_by_itself(meshlint: CommandLine) -> None:
    run = meshlint("config", "--isolated", SOFTMAX, "--why", "CTX005", "--pin", "transformer-engine=2.8.0")
    assert _results(run.out) == ["fires"]
    assert "\n    transformer-engine 2.8.0\n" in run.out


def test_json_names_the_range_too(meshlint: CommandLine) -> None:
    run = meshlint("config", "--isolated", SOFTMAX, "--why", "CTX005", "--json")
    silent, fires = json.loads(run.out)["launches"][0]["why"]
    assert silent["chosen"]["transformer-engine"].endswith(" to 2.7.0")
    assert fires["chosen"]["transformer-engine"].startswith("2.8.0 to ")
    assert fires["result"] == "fires"


def test_a_family_is_no_rule_and_told_as_one(meshlint: CommandLine) -> None:
    run = meshlint("config", "--why", "HCP", ".")
    assert (run.status, "there is no rule `HCP`; it is a family, HCP001 to HCP010" in run.err) == (2, True)
