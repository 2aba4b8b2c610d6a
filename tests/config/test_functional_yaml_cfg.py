"""Megatron-LM's `--yaml-cfg` files."""

from __future__ import annotations

from pathlib import Path

import pytest

from meshlint.config.launch import Launch, Write
from meshlint.config.surface import Context
from meshlint.config.surfaces.shell import Shell
from meshlint.config.surfaces.yaml_cfg import yaml_cfg_writes
from meshlint.sources.tree import Text, Tree, Unreadable

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


SCRIPT = "torchrun --nproc_per_node 4 pretrain_gpt.py --yaml-cfg conf/gpt.yaml --context-parallel-size 8\n"


def test_a_command_takes_everything_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/gpt.yaml").write_text(TEXT)
    made = launch_of(tmp_path)
    value = made.find("context_parallel_size")
    assert value is not None
    assert value.data == 4
    assert value.span is not None
    assert value.span.path == "conf/gpt.yaml"
    assert "conf/gpt.yaml" in made.reads


def test_a_file_that_is_not_there_makes_all_unknown(tmp_path: Path) -> None:
    value = launch_of(tmp_path).find("context_parallel_size")
    assert value is not None
    assert "--yaml-cfg" in value.reason


def launch_of(root: Path) -> Launch:
    (root / "run.sh").write_text(SCRIPT)
    context = Context(Tree(root, (root,)), ("run.sh",))
    (made,) = Shell().launches("run.sh", context)
    return made
