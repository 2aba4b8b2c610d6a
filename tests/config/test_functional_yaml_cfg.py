"""Megatron-LM's `--yaml-cfg` files."""

from __future__ import annotations

from pathlib import Path

import pytest

from meshlint.config.launch import Write
from meshlint.config.surfaces.yaml_cfg import yaml_cfg_writes
from meshlint.sources.tree import Text, Unreadable

TEXT = """\
language_model:
  num_layers: 24
  num_query_groups: null
  bias: {a: 1}
model_parallel:
  context_parallel_size: 4
  hierarchical_context_parallel_sizes: [2, 2]
  sequence_parallel: True
micro_batch_size: 2
data_path: ${DATA}/x
"""


def writes(text: str) -> dict[str, Write]:
    return {w.key: w for w in yaml_cfg_writes(Text("x.yaml", Path("/x.yaml"), text))}


def test_both_sections_are_merged() -> None:
    made = writes(TEXT)
    assert made["yaml_cfg"].value.data == "x.yaml"
    assert made["num_layers"].value.data == 24
    assert made["context_parallel_size"].value.data == 4
    assert made["hierarchical_context_parallel_sizes"].value.data == (2, 2)
    assert made["sequence_parallel"].value.data is True
    assert made["micro_batch_size"].value.data == 2
    assert made["num_query_groups"].value.data is None
    assert "bias" not in made


def test_places() -> None:
    span = writes(TEXT)["context_parallel_size"].value.span
    assert span is not None
    assert (span.line, span.column) == (6, 26)


def test_a_variable_is_unknown() -> None:
    assert writes(TEXT)["data_path"].value.is_unknown


def test_a_key_twice_is_marked() -> None:
    made = yaml_cfg_writes(Text("x.yaml", Path("/x.yaml"), "seed: 1\nseed: 2\n"))
    assert [w.same_place for w in made if w.key == "seed"] == [False, True]


def test_no_yaml() -> None:
    with pytest.raises(Unreadable):
        yaml_cfg_writes(Text("x.yaml", Path("/x.yaml"), "a: ["))
