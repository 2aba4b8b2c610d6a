"""The effective config: which of several sources of a value counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

from meshlint.config.effective import EffectiveConfig, Fork, Resolved, Unjudged
from meshlint.config.framework import Default, Framework, Role, Spelling, Window
from meshlint.config.launch import Launch, Write
from meshlint.config.shapes.source import Shapes
from meshlint.config.value import Data, Kind, Origin, State, Value, derived_from, unknown, written
from meshlint.place import Span
from meshlint.sources.tree import Tree

TP, CP, EP = "tensor_model_parallel_size", "context_parallel_size", "expert_model_parallel_size"


def value(data: Data, line: int = 1) -> Value:
    return written(data, Origin(Kind.WRITTEN, text=str(data), span=Span("x", line)))


def from_tp(config: EffectiveConfig) -> Value | None:
    tp = config.value(TP)
    return derived_from(tp.data, "follows tp", tp) if tp.is_set else None


def never_seven(_: EffectiveConfig, given: Value) -> Value:
    return given.with_data(8) if given.data == 7 else given


TABLE = Framework(
    name="toy",
    title="Toy",
    libraries=("megatron-core",),
    spellings=(
        Spelling(TP, ("tp", "{role}tp")),
        Spelling(CP, ("cp",)),
        Spelling("model_id", ("model",)),
        Spelling("num_layers", ("layers",)),
    ),
    defaults=(
        Default(CP, 1, "x", Window("megatron-core", until="0.16")),
        Default(CP, 2, "x", Window("megatron-core", since="0.16")),
    ),
    derive={EP: from_tp},
    amend={TP: never_seven},
    habits={
        "plain": True,
        "window": Window("megatron-core", since="0.16"),
        "windows": (Window("megatron-core", until="0.12"), Window("megatron-core", since="0.18")),
        "asked": lambda config: config.data(TP) == 4,
    },
)


def config(*writes: Write, versions: tuple[str, ...] = ("0.16.1",), shapes: Shapes | None = None) -> EffectiveConfig:
    launch = Launch("toy", "t", "test", "x", Span("x", 1), writes)
    candidates = {"megatron-core": Resolved(tuple(Version(v) for v in versions))}
    return EffectiveConfig(launch, TABLE, Role("r", "r."), candidates, {}, shapes)


def test_the_last_write_of_any_spelling_counts() -> None:
    assert config(Write("tp", value("2")), Write("r.tp", value("4"))).data(TP) == 4
    assert config(Write("r.tp", value("4")), Write("tp", value("2"))).data(TP) == 2


def test_a_wildcard_hides_what_stands_before_it() -> None:
    wild = Write("r.*", unknown("an argument"))
    assert config(wild, Write("tp", value(2))).data(TP) == 2
    assert config(Write("tp", value(2)), wild).value(TP).is_unknown
    assert config(Write("*", unknown("an argument"))).value(CP).is_unknown


def test_what_cannot_be_meant_is_unknown_at_its_place() -> None:
    made = config(Write("tp", value("two")))
    assert made.value(TP).is_unknown
    assert made.value(TP).span == Span("x", 1)
    with pytest.raises(Unjudged, match="not a whole number"):
        made.need(TP)


def test_a_default_depends_on_the_version() -> None:
    assert config(versions=("0.15.3",)).data(CP) == 1
    assert config(versions=("0.16.1",)).data(CP) == 2
    with pytest.raises(Fork) as fork:
        config(versions=("0.15.3", "0.16.1")).data(CP)
    assert [str(v) for v in fork.value.candidates] == ["0.15.3", "0.16.1"]


def test_derived_values_carry_their_places() -> None:
    made = config(Write("tp", value(2, line=9))).value(EP)
    assert (made.state, made.data, made.span) == (State.SET, 2, Span("x", 9))
    assert made.origins[-1].kind is Kind.DERIVED


def test_amending_comes_last() -> None:
    assert config(Write("tp", value(7))).data(TP) == 8
    assert config(Write("tp", value(6))).data(TP) == 6


def test_habits() -> None:
    made = config(Write("tp", value(4)))
    assert [made.habit(h) for h in ("plain", "window", "windows", "asked", "none")] == [True, True, False, True, None]
    assert config(versions=("0.11.0",)).habit("windows") is True
    with pytest.raises(Fork):
        config(versions=("0.15.3", "0.16.1")).habit("window")


def test_a_name_that_is_no_field() -> None:
    with pytest.raises(KeyError):
        config().value("tp")


def test_a_shape_stands_in_for_what_a_reader_does_not_know(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m/config.json").write_text(
        '{"model_type": "llama", "num_hidden_layers": 6, "hidden_size": 64, "num_attention_heads": 4}'
    )
    shapes = Shapes(Tree(tmp_path, (tmp_path,)))
    model = Write("model", value(str(tmp_path / "m")))
    vague = Write("@num_layers", unknown("it comes from the model"))
    assert config(model, shapes=shapes).data("num_layers") == 6
    assert config(vague, model, shapes=shapes).data("num_layers") == 6
    assert config(vague, shapes=shapes).value("num_layers").reason == "it comes from the model"
    assert config(Write("layers", value(3)), model, vague, shapes=shapes).data("num_layers") == 3
    hidden = config(Write("layers", unknown("an argument")), model, shapes=shapes)
    assert hidden.value("num_layers").reason == "an argument"
