"""Both edges of every version window: the verdict turns where the window says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.version import Version
from version_edges import EDGES, FP8, Edge

from meshlint.config.effective import option
from meshlint.config.launch import Launch, Pin, Write
from meshlint.config.registry import framework
from meshlint.config.surface import Context
from meshlint.config.value import Kind, Origin, written
from meshlint.config.versions import resolve
from meshlint.engine.judge import Ground, Judgement, judge
from meshlint.place import Span
from meshlint.rule import LaunchRule, Rule
from meshlint.sources.tree import Tree
from meshlint_rules import rules

PLACE = Span("launch.sh", 1)
RULES = {rule.code: rule for rule in rules()}


def below(edge: str) -> str:
    """Give a version just below an edge."""
    *lead, last = Version(edge).release
    parts = [*lead, last - 1, 99] if last else [*lead[:-1], lead[-1] - 1, 99]
    return ".".join(map(str, parts))


def judged(edge: Edge, folder: Path, pins: Mapping[str, str]) -> Judgement:
    """Judge the edge's config by its rule."""
    named = {f"@{name}": data for name, data in edge.fields.items()} | dict(edge.keys)
    writes = tuple(Write(key, written(data, Origin(Kind.WRITTEN, key, PLACE))) for key, data in named.items())
    launch = Launch(
        edge.framework,
        edge.entry,
        "test",
        "launch",
        PLACE,
        writes,
        environment={name: written(text, Origin(Kind.WRITTEN, name, PLACE)) for name, text in edge.environment.items()},
        world=written(edge.world, Origin(Kind.WRITTEN, "world", PLACE)) if edge.world else None,
    )
    model = framework(edge.framework)
    given = tuple(Pin(library, f"=={v}", option(v, f"--pin {library}={v}")) for library, v in pins.items())
    context = Context(Tree(folder, (folder,)), pins=given)
    rule = RULES[edge.code]
    assert issubclass(rule, LaunchRule)
    judgement = judge([launch], Ground(model, resolve(launch, model, context)), [rule()])
    assert not judgement.failures
    assert judgement.coverage.judged == (edge.code,), judgement.coverage.not_judged
    return judgement


def outcome(edge: Edge, version: str, folder: Path) -> str:
    """Give what the edge's rule says of its config at one version; empty where it is silent."""
    judgement = judged(edge, folder, {**edge.pins, edge.window.library: version})
    found = {one.finding.outcome.value for one in judgement.judged}
    assert len(found) <= 1
    return next(iter(found), "")


def points() -> Iterator[tuple[Edge, str, str]]:
    """Give each edge's versions and what is said there."""
    for edge in EDGES:
        if edge.window.since is not None:
            yield edge, below(edge.window.since), edge.below
            yield edge, edge.window.since, edge.inside
        if edge.window.until is not None:
            yield edge, below(edge.window.until), edge.inside
            yield edge, edge.window.until, edge.above


@pytest.mark.parametrize(("edge", "version", "expected"), list(points()), ids=lambda x: str(x) or "silent")
def test_edge(edge: Edge, version: str, expected: str, tmp_path: Path) -> None:
    assert outcome(edge, version, tmp_path) == expected


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.code)
def test_every_window_has_its_edges(rule: type[Rule]) -> None:
    covered = [edge.window for edge in EDGES if edge.code == rule.code]
    assert [window for window in rule.windows if window not in covered] == []


def test_every_window_has_a_source() -> None:
    assert [w for rule in RULES.values() for w in rule.windows if not w.says or not w.source] == []


def test_what_differs_by_version_is_said_of_each(tmp_path: Path) -> None:
    fields = {**FP8, "multi_latent_attention": True, "packed_sequences": True}
    edge = next(edge for edge in EDGES if edge.code == "CTX008")
    (found,) = judged(replace(edge, fields=fields), tmp_path, {}).judged
    said = found.finding.message
    assert "On transformer-engine 2.5.0 to 2.14.1: " in said
    assert "On transformer-engine 2.15.0 to 2.18.0: " in said
    assert said.index("dropped for MLA") < said.index("On transformer-engine 2.15.0") < said.index("(THD)")
    assert said.endswith("This holds on transformer-engine 2.5.0 to 2.18.0; no pin says which is used here.")


def test_an_old_release_is_not_taken_for_granted(tmp_path: Path) -> None:
    edge = next(edge for edge in EDGES if edge.code == "HCP005")
    assert judged(edge, tmp_path, {}).judged == ()
