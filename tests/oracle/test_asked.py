"""What every megatron-core on the package index says of the same config, against what meshlint says of it.

The wheels lie in the folder that MESHLINT_CORPUS names (`tests/oracle/wheels.py` brings them); a Python with torch,
named by MESHLINT_TORCH_PYTHON where this one has none, runs megatron-core.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import prove
import pytest
import verdict
from drawn import Fields, drawn, question
from packaging.version import Version
from wheels import CORE, Wheel
from window_proofs import PROOFS, Ask, Proof

from meshlint.config.pins.tables import RELEASES

TORCH = os.environ.get("MESHLINT_TORCH_PYTHON") or (sys.executable if find_spec("torch") else "")
ASKS = [proof for proof in PROOFS if any(isinstance(one, Ask) for one in proof.by)]
VERSIONS = RELEASES["megatron-core"]
DRAWN = int(os.environ.get("MESHLINT_DRAWN", "40"))
"""Configs drawn for each version."""


def configs(version: str) -> list[tuple[str, int, Fields]]:
    """Draw the configs of a version, the same in every run."""
    random = Random(version)
    return [(f"{version} {number}", *drawn(random, version)) for number in range(DRAWN)]


@pytest.fixture(scope="module")
def answers() -> prove.Answers:
    """Ask everything at once: importing a version is most of the time."""
    if not TORCH:
        pytest.skip("no torch here, and MESHLINT_TORCH_PYTHON names no Python with it")
    folder = os.environ.get("MESHLINT_CORPUS")
    if not folder:
        pytest.skip("MESHLINT_CORPUS names no folder of wheels")
    asked = prove.questions(ASKS)
    for version in VERSIONS:
        asked += [question(name, version, world, fields) for name, world, fields in configs(version)]
    try:
        for tree in {one["tree"] for one in asked}:
            Wheel("megatron-core", tree.removeprefix("megatron-core-")).of(Path(folder))
    except FileNotFoundError as error:
        pytest.skip(str(error))
    given = prove.ask(asked, Path(folder), TORCH)
    if any("einops is not installed" in answer["error"] for answer in given.values()):
        pytest.skip(f"{TORCH} has no einops, by which megatron-core builds the groups of two levels")
    return given


def test_every_release_that_is_judged_is_asked() -> None:
    assert {Version(version) for version in VERSIONS} <= {Version(wheel.version) for wheel in CORE}


@pytest.mark.parametrize("proof", ASKS, ids=lambda proof: f"{proof.code}-{proof.window}-{proof.edge}")
def test_megatron_core_answers_otherwise_on_the_other_side_of_an_edge(proof: Proof, answers: prove.Answers) -> None:
    asks = [one for one in proof.by if isinstance(one, Ask)]
    assert [wrong for number, one in enumerate(asks) for wrong in prove.holds(proof, number, one, answers)] == []
    recorded = next(
        row
        for row in json.loads(prove.DATA.read_text("utf-8"))
        if (row["code"], row["window"], row["edge"]) == (proof.code, proof.window, proof.edge)
    )
    told = [prove.told(proof, number, one, answers) for number, one in enumerate(asks)]
    assert [one for one in told if one not in recorded["by"]] == [], "run tests/oracle/prove.py"


@pytest.mark.parametrize("version", VERSIONS)
def test_megatron_core_and_meshlint_agree_on_drawn_configs(version: str, answers: prove.Answers) -> None:
    apart: list[tuple[Any, ...]] = []
    accepted = 0
    for name, world, fields in configs(version):
        said, answer = verdict.told(version, world, fields), answers[name]
        accepted += answer["accepted"]
        if not verdict.agrees(said, answer, fields["num_layers"]):
            apart.append((world, fields, answer, said))
    assert apart == []
    assert DRAWN // 5 < accepted < DRAWN * 4 // 5, "the configs drawn are all right or all wrong"
