"""Every window of every rule is proved at both edges, on the releases beside them, and the page says what was seen.

The wheels lie in the folder that MESHLINT_CORPUS names (`tests/oracle/wheels.py` brings them); MESHLINT_MIRRORS has the
git folders for what no wheel has. What megatron-core answers is asked in `test_asked.py`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import prove
import pytest
import te_guards
from packaging.version import Version
from wheels import ENGINE, Wheel
from window_proofs import BESIDE, PROOFS, Proof, Read

ROWS: list[dict[str, Any]] = json.loads(prove.DATA.read_text("utf-8"))
TABLE: dict[str, Any] = json.loads(te_guards.DATA.read_text("utf-8"))
READS = [(proof, one) for proof in PROOFS for one in proof.by if isinstance(one, Read)]


def key(proof: Proof) -> tuple[str, str, str]:
    return (proof.code, proof.window, proof.edge)


def recorded(proof: Proof) -> dict[str, Any]:
    return next(row for row in ROWS if (row["code"], row["window"], row["edge"]) == key(proof))


def wheels(*wanted: Wheel) -> Path:
    folder = os.environ.get("MESHLINT_CORPUS")
    if not folder:
        pytest.skip("MESHLINT_CORPUS names no folder of wheels")
    try:
        for wheel in wanted:
            wheel.of(Path(folder))
    except FileNotFoundError as error:
        pytest.skip(str(error))
    return Path(folder)


def test_every_edge_of_every_window_has_a_proof_and_no_other_has() -> None:
    assert sorted(map(key, PROOFS)) == sorted(prove.edges())


def test_the_page_has_every_proof_as_the_window_says_it() -> None:
    shown = [(row["code"], row["window"], row["edge"], row["says"], row["before"], row["after"]) for row in ROWS]
    said = [(*key(p), prove.windows()[p.code, p.window].says, *prove.beside(p)) for p in PROOFS]
    assert shown == said, "run tests/oracle/prove.py"


def test_the_releases_beside_an_edge_lie_on_its_two_sides() -> None:
    for pairs in BESIDE.values():
        for edge, (before, after) in pairs.items():
            assert Version(before) < Version(edge)
            assert Version(after) >= Version(edge) or Version(after).base_version.startswith(edge)


@pytest.mark.parametrize(
    ("proof", "read"), READS, ids=lambda x: "-".join(key(x)) if isinstance(x, Proof) else x.shape.kind
)
def test_a_statement_stands_on_one_side_of_the_edge(proof: Proof, read: Read) -> None:
    mirrors = os.environ.get("MESHLINT_MIRRORS")
    if read.tags and not mirrors:
        pytest.skip("MESHLINT_MIRRORS names no folder of mirrors")
    releases = (Wheel(prove.library(proof), version) for version in prove.beside(proof))
    folder = Path() if read.tags else wheels(*releases)
    seen = prove.seen(proof, read, folder, Path(mirrors) if mirrors else None)
    assert prove.stands(read, seen)
    assert seen in recorded(proof)["by"], "run tests/oracle/prove.py"


# Transformer Engine's guards: the table, and the windows that follow from it.

FOLLOWS: Mapping[tuple[str, str], str] = {
    ("CTX004", "ASSERTS"): "window",
    ("CTX005", "SINKS"): "sink",
    ("CTX005", "PACKED"): "sink-packed",
    ("CTX008", "SINK"): "sink-fp8",
    ("CTX008", "PACKED"): "fused-fp8-packed",
    ("CTX008", "CUSTOM"): "custom-recipe",
    ("CTX008", "MLA"): "fused-mla-fp8",
    ("CTX011", "REFUSED"): "mla",
    ("CTX011", "NO_BACKEND"): "fused-mla",
    ("PKD002", "REFUSED"): "gather-packed",
    ("PKD003", "REFUSED"): "a2a-packed",
    ("PKD004", "REFUSED"): "levels-packed",
    ("PKD004", "BY_GROUP"): "levels-packed-by-group",
    ("HCP005", "OLD"): "levels",
}
"""The guard that a window of Transformer Engine follows from."""

ALWAYS: Mapping[str, tuple[str, ...]] = {
    "CTX001": ("p2p-even", "gather-even", "a2a-even"),
    "CTX002": ("exchange",),
    "CTX003": ("a2a-heads",),
    "CTX006": ("unfused",),
    "CTX007": ("padding", "bias", "gather-bias", "a2a-bias", "gather-padding", "a2a-padding", "fused-bias-packed"),
    "CTX008": ("flash-fp8",),
}
"""What a rule says of every version it says by guards that all of them have."""

WITHOUT = {("HCP005", "OLD")}
"""Windows of the versions that lack their guard."""


def stretch(name: str) -> tuple[str | None, str | None]:
    """Give the minors from which and until which all versions have a guard, as a window has them; None is open."""
    has = [name in one["lines"] for one in TABLE["versions"]]
    minors = [".".join(one["version"].split(".")[:2]) for one in TABLE["versions"]]
    first, last = has.index(True), len(has) - 1 - has[::-1].index(True)
    assert all(has[first : last + 1]), f"{name} is not there on every version from its first to its last"
    return (None if first == 0 else minors[first], None if last == len(has) - 1 else minors[last + 1])


def test_every_window_of_the_attention_follows_from_a_guard() -> None:
    families = ("CTX", "HCP", "PKD")
    claimed = {
        name
        for name, window in prove.windows().items()
        if window.library == te_guards.LIBRARY and name[0].startswith(families)
    }
    assert claimed == set(FOLLOWS)


@pytest.mark.parametrize(("window", "guard"), FOLLOWS.items(), ids=lambda x: x if isinstance(x, str) else "-".join(x))
def test_a_window_is_its_guards(window: tuple[str, str], guard: str) -> None:
    claimed = prove.windows()[window]
    since, until = stretch(guard)
    if window in WITHOUT:
        since, until = None, since
    oldest = TABLE["versions"][0]["version"]
    if claimed.since is not None and Version(claimed.since) <= Version(oldest):
        since = claimed.since  # the table begins there; that it is not there before is an edge's proof
    assert (claimed.since, claimed.until) == (since, until)
    assert window[0] in te_guards.BY_NAME[guard].rules


@pytest.mark.parametrize(("code", "guard"), [(code, name) for code, names in ALWAYS.items() for name in names])
def test_what_a_rule_says_of_all_versions_all_have(code: str, guard: str) -> None:
    assert stretch(guard) == (None, None)
    assert code in te_guards.BY_NAME[guard].rules


def test_the_table_has_every_guard() -> None:
    assert [one["name"] for one in TABLE["guards"]] == [guard.name for guard in te_guards.GUARDS]
    assert tuple(one["version"] for one in TABLE["versions"]) == te_guards.VERSIONS


@pytest.mark.parametrize("version", [one.version for one in ENGINE if one.version in te_guards.VERSIONS])
def test_the_lines_of_the_table_are_the_wheels(version: str) -> None:
    wheel = Wheel(te_guards.LIBRARY, version)
    made = te_guards.row(version, te_guards.texts(wheel.of(wheels(wheel))))
    assert made in TABLE["versions"], "run tests/oracle/te_guards.py"


def measured() -> list[tuple[str, str]]:
    """Give the rules of the attention and the Transformer Engine on which a GPU showed their crash."""
    found = []
    for file in sorted((te_guards.DATA.parent / "evidence").glob("*-gpu*.json")):
        verdict = json.loads(file.read_text("utf-8"))
        engine = verdict["versions"].get("transformer_engine")
        real = [case for case in verdict["cases"] if case["runs"].startswith("megatron-core's groups and layer")]
        crashed = any(case["shown"] and case["arms"][0]["outcome"] == "crash" for case in real)
        if engine and crashed and verdict["code"] in {code for code, _ in FOLLOWS}:
            found.append((verdict["code"], engine))
    return found


def test_the_windows_hold_where_a_gpu_showed_the_crash() -> None:
    assert ("CTX004", "2.20.2") in measured()
    outside = [
        (code, engine)
        for code, engine in measured()
        if code not in ALWAYS
        and not any(
            Version(window.since or "0") <= Version(engine) < Version(window.until or "999")
            for (owner, _), window in prove.windows().items()
            if owner == code and window.library == te_guards.LIBRARY
        )
    ]
    assert outside == []
