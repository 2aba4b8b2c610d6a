"""meshlint's own verdict on a config that megatron-core is asked about, without any framework's checks before it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from meshlint.config.effective import option
from meshlint.config.launch import Launch, Pin, Write
from meshlint.config.registry import framework
from meshlint.config.surface import Context
from meshlint.config.value import Kind, Origin, written
from meshlint.config.versions import resolve
from meshlint.engine.judge import Ground, judge
from meshlint.finding import Outcome
from meshlint.place import Span
from meshlint.rule import LaunchRule
from meshlint.sources.tree import Tree
from meshlint_rules import rules

PLACE = Span("recipe.py", 1)
CODES = (
    "PAR001", "PAR002", "PAR003", "PAR004", "PAR007", "PAR009", "PAR010", "MOE004", "OVL003", "CGR001", "CTX009",
    "HCP002",
)  # fmt: skip
"""The rules about what groups, configs and stages refuse by themselves."""
TOLD_BY: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "megatron-bridge": ("megatron-bridge", "provider", {}),
    "megatron-lm": ("megatron-lm", "pretrain_gpt.py", {"yaml_cfg": "gpt.yaml"}),
}
"""Entries that check nothing themselves; the second hands the level sizes on."""
REFUSED = (Outcome.CRASH_START, Outcome.CRASH_LATE)
PINS = {"torch": "2.13.0"}

Said = list[tuple[str, Outcome, str]]


def told(version: str, world: int, fields: Mapping[str, Any]) -> Said:
    """Give what the rules say of a config on one megatron-core: code, outcome and message."""
    levels = "hierarchical_context_parallel_sizes" in fields
    rest = _judged("megatron-bridge", version, world, fields, [code for code in CODES if code != "HCP002"])
    return rest + (_judged("megatron-lm", version, world, fields, ["HCP002"]) if levels else [])


def _judged(by: str, version: str, world: int, fields: Mapping[str, Any], codes: list[str]) -> Said:
    name, entry, keys = TOLD_BY[by]
    given = {f"@{field}": data for field, data in fields.items()} | dict(keys)
    writes = tuple(Write(key, written(_data(data), _origin(key))) for key, data in given.items())
    model = framework(name)
    launch = Launch(model.name, entry, "test", "launch", PLACE, writes, world=written(world, _origin("world")))
    named = {**PINS, "megatron-core": version}
    pins = tuple(Pin(library, f"=={v}", option(v, f"--pin {library}={v}")) for library, v in named.items())
    context = Context(Tree(Path("/nonexistent"), ()), pins=pins)
    chosen = [rule() for rule in rules() if rule.code in codes and issubclass(rule, LaunchRule)]
    judgement = judge([launch], Ground(model, resolve(launch, model, context)), chosen)
    assert not judgement.failures
    return [(one.finding.code, one.finding.outcome, one.finding.message) for one in judgement.judged]


def _origin(name: str) -> Origin:
    return Origin(Kind.WRITTEN, name, PLACE)


def _data(data: Any) -> Any:
    return tuple(data) if isinstance(data, list) else data


def agrees(said: Said, answer: Mapping[str, Any], layers: int) -> bool:
    """Say whether the verdict is megatron-core's: refused, or accepted with other layers built than asked for."""
    refused = any(outcome in REFUSED for _, outcome, _ in said)
    if refused or not answer["accepted"]:
        return refused is not answer["accepted"]
    return (answer["layers"] == layers) is not any(code == "PAR003" for code, _, _ in said)
