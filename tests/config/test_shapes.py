"""Shapes of models: from a local config.json, the hub's cache, or the table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from meshlint.config.fields import FIELDS
from meshlint.config.shapes import hub, source
from meshlint.config.shapes.table import SHAPES, by_name
from meshlint.config.value import Kind, Origin, State, Value, unknown, written
from meshlint.sources.tree import Text, Tree


def model(name: str) -> Value:
    return written(name, Origin(Kind.WRITTEN, name))


def config_json(**fields: object) -> Text:
    return Text("config.json", Path("config.json"), json.dumps(fields))


@pytest.mark.parametrize(
    ("name", "heads", "groups"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", 28, 4),
        ("/models/Qwen3-8B-Base/", 32, 8),
        ("Qwen/Qwen3-4B-Instruct-2507", 32, 8),
        ("meta-llama/Llama-3.1-8B-Instruct", 32, 8),
        ("openai/gpt-oss-20b", 64, 8),
        ("deepseek-ai/DeepSeek-V3", 128, 128),
        ("Qwen/Qwen2.5-VL-7B-Instruct", 28, 4),
        ("google/gemma-3-4b-pt", 8, 4),
    ],
)
def test_names_that_the_table_knows(name: str, heads: int, groups: int) -> None:
    shape = by_name(name)
    assert shape is not None
    assert (shape.heads, shape.groups) == (heads, groups)


@pytest.mark.parametrize("name", ["", "/", "Qwen/Qwen2.5-Omni-7B", "my-own-7B", "Qwen3-8B-pruned", "-instruct"])
def test_names_that_it_does_not_know(name: str) -> None:
    assert by_name(name) is None


def test_every_row_is_sound() -> None:
    names = [name for shape in SHAPES for name in shape.names]
    assert len(names) == len(set(names))
    for shape in SHAPES:
        fields = shape.fields()
        assert set(fields) <= set(FIELDS)
        assert shape.heads % shape.groups == 0, shape.names
        assert shape.source
        assert (shape.experts is None) == (shape.topk is None), shape.names


def test_a_table_shape_says_so(tmp_path: Path) -> None:
    shapes = source.Shapes(Tree(tmp_path, (tmp_path,)), None)
    value = shapes.value("num_attention_heads", model("Qwen/Qwen3-8B"))
    assert (value.state, value.data) == (State.SET, 32)
    assert [o.kind for o in value.origins] == [Kind.WRITTEN, Kind.TABLE]


def test_a_local_config_json_wins_and_has_a_place(tmp_path: Path) -> None:
    folder = tmp_path / "models" / "Qwen3-8B"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(
        json.dumps({"num_hidden_layers": 2, "num_attention_heads": 6, "hidden_size": 48})
    )
    shapes = source.Shapes(Tree(tmp_path, (tmp_path,)), None)
    value = shapes.value("num_query_groups", model("models/Qwen3-8B"))
    assert value.data == 6
    assert value.origins[-1].span is not None
    assert value.origins[-1].span.path == "models/Qwen3-8B/config.json"
    assert shapes.value("kv_channels", model("models/Qwen3-8B")).data == 8


def test_the_hub_cache_is_read(tmp_path: Path) -> None:
    snapshot = tmp_path / "hub" / "models--a--b" / "snapshots" / "abc123"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text(json.dumps({"num_attention_heads": 4}))
    refs = tmp_path / "hub" / "models--a--b" / "refs"
    refs.mkdir()
    (refs / "main").write_text("abc123\n")
    shapes = source.Shapes(Tree(tmp_path, (tmp_path / "nowhere",)), tmp_path / "hub")
    assert shapes.value("num_attention_heads", model("a/b")).data == 4


def test_a_model_that_nothing_states_is_unknown(tmp_path: Path) -> None:
    shapes = source.Shapes(Tree(tmp_path, (tmp_path,)), None)
    assert "my/own" in shapes.value("num_layers", model("my/own")).reason
    assert shapes.value("num_layers", unknown("$MODEL is not set")).is_unknown
    assert shapes.value("num_layers", Value(State.UNSET)).is_unknown


@pytest.mark.parametrize(
    ("fields", "name", "expected"),
    [
        ({"num_attention_heads": 8, "hidden_size": 64}, "num_query_groups", 8),
        ({"num_attention_heads": 8, "num_key_value_heads": 2}, "num_query_groups", 2),
        ({"sliding_window": 4096, "use_sliding_window": False}, "window_size", None),
        ({"sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"]}, "window_size", (128, 0)),
        ({"sliding_window": 128, "layer_types": ["full_attention"]}, "window_size", None),
        (
            {"sliding_window": 9, "layer_types": ["full_attention", "sliding_attention"]},
            "window_attn_skip_freq",
            (0, 1),
        ),
        ({"model_type": "gpt_oss"}, "softmax_type", "learnable"),
        ({"kv_lora_rank": 512}, "multi_latent_attention", True),
        ({"model_type": "nemotron_h"}, "is_hybrid_model", True),
        ({"model_type": "qwen3_next"}, "experimental_attention_variant", "gated_delta_net"),
        ({"text_config": {"num_attention_heads": 3}}, "num_attention_heads", 3),
        ({"n_routed_experts": 64, "num_experts_per_tok": 6}, "moe_router_topk", 6),
    ],
)
def test_what_a_config_json_says(fields: dict[str, object], name: str, expected: object) -> None:
    assert hub.read(config_json(**fields))[name] == expected


def test_every_field_of_a_shape_is_canonical() -> None:
    assert set(source.FIELDS) <= set(FIELDS)


@pytest.mark.parametrize("text", ["", "[]", "{", '"x"', "{" * 100_000, "nul\x00"])
def test_a_config_json_that_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "config.json").write_text(text)
    shapes = source.Shapes(Tree(tmp_path, (tmp_path,)), None)
    assert shapes.value("num_layers", model("m")).is_unknown
