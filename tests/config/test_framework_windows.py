"""Both edges of every version window that stands in the tables of the frameworks, whichever rule asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import pytest
from packaging.version import Version

from meshlint.config import sizes
from meshlint.config.effective import EffectiveConfig, option
from meshlint.config.framework import Default, Framework, Window
from meshlint.config.frameworks import megatron_bridge, megatron_lm, nemo_rl
from meshlint.config.launch import Launch, Pin, Write
from meshlint.config.registry import FRAMEWORKS, framework
from meshlint.config.surface import Context
from meshlint.config.value import Data, Kind, Origin, State, written
from meshlint.config.versions import resolve
from meshlint.place import Span
from meshlint.sources.tree import Tree
from meshlint_rules import rules

PLACE = Span("launch", 1)
ROLES: dict[str, dict[str, Data]] = {
    "verl": {"actor_rollout_ref.actor.strategy": "megatron"},
    "nemo-rl": {"policy.megatron_cfg.enabled": True},
    "roll": {"actor_train.strategy_args.strategy_name": "megatron_train"},
    "areal": {"actor.backend": "megatron:d1p1t1"},
}
"""What makes a role of Megatron's, where a framework has others."""


def config_at(
    model: Framework, window: Window, version: str, fields: Mapping[str, Data], entry: str = "train"
) -> EffectiveConfig:
    """Give the config of a launch that writes these fields, with the window's library at a version."""
    named = {f"@{name}": data for name, data in fields.items()} | ROLES.get(model.name, {})
    writes = tuple(Write(key, written(data, Origin(Kind.WRITTEN, key, PLACE))) for key, data in named.items())
    launch = Launch(model.name, entry, "test", "launch", PLACE, writes)
    pin = Pin(window.library, f"=={version}", option(version, "--pin"))
    folder = Path("/nonexistent")
    versions = resolve(launch, model, Context(Tree(folder, (folder,)), pins=(pin,)))
    chosen = {library: one.candidates[-1] for library, one in versions.items() if one.candidates}
    return EffectiveConfig(launch, model, model.roles(launch)[0], versions, chosen)


def edges(window: Window) -> Iterator[tuple[str, bool]]:
    """Give the versions on both sides of a window's ends, and whether each lies inside."""
    for edge, inside in ((window.since, True), (window.until, False)):
        if edge is not None:
            *lead, last = Version(edge).release
            before = [*lead, last - 1, 99] if last else [*lead[:-1], lead[-1] - 1, 99]
            yield ".".join(map(str, before)), not inside
            yield edge, inside


MODELS = tuple(framework(name.replace("_", "-")) for name in FRAMEWORKS)


def _counts(model: Framework, row: Default) -> bool:
    """Say whether a default can be the one that counts: a row of the framework's own may stand before it."""
    same = [one for one in model.defaults if one.field == row.field]
    return all(one.window is not None for one in same[: same.index(row)])


DEFAULTS = [(m, row) for m in MODELS for row in m.defaults if row.window is not None and _counts(m, row)]


def _windows(habit: Data) -> tuple[Window, ...]:
    """Give the windows of a habit, which is no function."""
    told = habit if isinstance(habit, tuple) else (habit,)
    return told if all(isinstance(one, Window) for one in told) else ()


HABITS = [
    (model, name, window)
    for model in MODELS
    for name, habit in model.habits.items()
    for window in (() if callable(habit) else _windows(habit))
]


@pytest.mark.parametrize(("model", "row"), DEFAULTS, ids=lambda x: x.name if isinstance(x, Framework) else x.field)
def test_a_default_holds_on_its_versions_and_on_no_others(model: Framework, row: Default) -> None:
    assert row.window is not None
    for version, inside in edges(row.window):
        value = config_at(model, row.window, version, {}).value(row.field)
        assert value.state is State.UNSET
        assert (value.data == row.data) is inside, (version, value)


@pytest.mark.parametrize(
    ("model", "name", "window"), HABITS, ids=lambda x: x.name if isinstance(x, Framework) else str(x)[:30]
)
def test_a_habit_is_there_on_its_versions_and_on_no_others(model: Framework, name: str, window: Window) -> None:
    for version, inside in edges(window):
        assert config_at(model, window, version, {}).habit(name) is inside, version


@dataclass(frozen=True)
class Asked:
    """A window that a function of a framework's table asks for: a field or habit, with its value inside and outside."""

    window: Window
    framework: str
    name: str
    inside: Data
    outside: Data
    fields: Mapping[str, Data] = field(default_factory=dict)
    entry: str = "train"

    def __str__(self) -> str:
        return f"{self.framework}-{self.name}"


PATTERN = {"hybrid_layer_pattern": "M*M*", "num_layers": 8}
ASKED = (
    Asked(megatron_lm.SFT_PACKS, "megatron-lm", "packed_sequences", True, False, {"sft": True}),
    Asked(megatron_lm.PATTERN_RULES, "megatron-lm", "num_layers", 4, 8, PATTERN),
    Asked(
        megatron_bridge.EXPERTS_WHOLE,
        "megatron-bridge",
        "expert_tensor_parallel_size",
        1,
        4,
        {"tensor_model_parallel_size": 4, "expert_model_parallel_size": 2},
    ),
    Asked(megatron_bridge.PAD_MENDED, "megatron-bridge", "run_script_mends_pad", True, False, entry="recipe"),
    Asked(nemo_rl.PAD_CHECKED, "nemo-rl", "pads_each_sequence_to", "pad_multiple", "2*cp*tp"),
)


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_what_a_function_says_turns_at_the_edges(asked: Asked) -> None:
    model = framework(asked.framework)
    for version, inside in edges(asked.window):
        config = config_at(model, asked.window, version, asked.fields, asked.entry)
        habit = asked.name in model.habits
        found = config.habit(asked.name) if habit else config.value(asked.name).data
        assert found == (asked.inside if inside else asked.outside), version


def _of_modules() -> Iterator[Window]:
    """Give the windows that stand as names in the tables' modules."""
    modules = [import_module(f"meshlint.config.frameworks.{name}") for name in (*FRAMEWORKS, "megatron_core", "layout")]
    for module in (*modules, sizes):
        yield from (window for window in vars(module).values() if isinstance(window, Window))


def test_every_window_of_the_tables_has_its_edges() -> None:
    judged = {window for rule in rules() for window in rule.windows}  # whose edges are those of the rules
    known = {*judged, *(asked.window for asked in ASKED), *(window for _, _, window in HABITS)}
    assert [window for window in _of_modules() if window not in known] == []


def test_every_named_window_says_what_holds_there_and_where_it_is_written() -> None:
    assert [window for window in _of_modules() if not window.says or not window.source] == []
