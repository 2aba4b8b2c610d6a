"""ROLL: one section a worker, environments from Hydra's defaults lists, device mappings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hydra_trees import command, data, lines, plant

from conftest import CommandLine
from meshlint.config.commands.roll import READER
from meshlint.config.devices import devices
from meshlint.config.launch import Launch
from meshlint.config.registry import framework
from meshlint.config.surface import Context
from meshlint.config.surfaces.roll_yaml import SURFACE

CONFIG = """\
defaults:
  - ../config/envs@_here_
hydra:
  run: {dir: .}
system_envs:
  NVTE_FLASH_ATTN: '0'
response_length: 4096
adv_estimator: reinforce
actor_train:
  strategy_args:
    strategy_name: megatron_train
    strategy_config:
      tensor_model_parallel_size: 2
      context_parallel_size: ${ways}
  device_mapping: list(range(0,16))
reference:
  strategy_args:
    strategy_name: megatron_infer
    strategy_config: ${actor_train.strategy_args.strategy_config}
  device_mapping: list(range(0,8))
ways: 4
"""
TREE = {
    "examples/start_rlvr_pipeline.py": "",
    "examples/config/envs.yaml": "envs: {max_steps: 3}\n",
    "examples/big/rlvr.yaml": CONFIG,
    "examples/big/run.sh": "",
}


def check(launch: Launch) -> None:
    found = data(launch.writes)
    assert found["envs.max_steps"] == 3
    key = "actor_train.strategy_args.strategy_config.context_parallel_size"
    assert found[key] == 4
    assert lines(launch.writes, key) == ["examples/big/rlvr.yaml:21", "examples/big/rlvr.yaml:14"]
    assert found["reference.strategy_args.strategy_config.tensor_model_parallel_size"] == 2
    assert launch.world is not None and launch.world.data == 16
    assert launch.environment["NVTE_FLASH_ATTN"].data == "0"
    assert [role.name for role in framework("roll").roles(launch)] == ["actor_train", "reference"]


def test_a_file_is_a_launch(tmp_path: Path) -> None:
    context = plant(tmp_path, TREE)
    assert list(SURFACE.entries([p for p in context.files if SURFACE.claims(p)], context)) == ["examples/big/rlvr.yaml"]
    (launch,) = SURFACE.launches("examples/big/rlvr.yaml", context)
    check(launch)


def test_a_role_has_the_ranks_of_its_own_devices(tmp_path: Path, meshlint: CommandLine) -> None:
    plant(tmp_path, TREE)
    words = ("config", "--isolated", "--json", tmp_path / "examples" / "big" / "rlvr.yaml")
    (launch,) = json.loads(meshlint(*words).out)["launches"]
    shown = {role["name"]: role.get("world", launch["world"]) for role in launch["roles"]}
    assert {name: world["data"] for name, world in shown.items()} == {"actor_train": 16, "reference": 8}
    assert "\n  [reference]\n  world_size = 8  " in meshlint(*words[:2], words[3]).out
    (given,) = json.loads(meshlint(*words, "--world-size", "64").out)["launches"]
    assert (given["world"]["data"], [role.get("world") for role in given["roles"]]) == (64, [None, None])


@pytest.mark.parametrize("folder", ["big", "$(nobody knows)"])
def test_a_command_names_folder_and_file(tmp_path: Path, folder: str) -> None:
    texts = ["python", "examples/start_rlvr_pipeline.py", "--config_path", folder, "--config_name", "rlvr"]
    check(started(plant(tmp_path, TREE), texts))


def started(context: Context, texts: list[str]) -> Launch:
    one = command(texts, "examples/big/run.sh")
    assert READER.claims(one)
    (launch,) = READER.launches(one, context.reader(), context)
    return launch


@pytest.mark.parametrize("name", [["--config_name", "nowhere"], []])
def test_a_config_out_of_reach_is_unknown(tmp_path: Path, name: list[str]) -> None:
    launch = started(plant(tmp_path, TREE), ["examples/start_rlvr_pipeline.py", *name])
    value = launch.find("actor_train.strategy_args.strategy_config.context_parallel_size")
    assert value is not None and value.is_unknown


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("list(range(0,8))", 8),
        ("list(range(4))", 4),
        ("list(range(0, 16, 2))", 8),
        ("list([0,1,2,3,8,9])", 6),
        ("[0, 1]", 2),
        ("list(range(0,2))+list(range(14,16))", 4),
        ((0, 1, 2), 3),
        ("list(range(10**9))", None),
        ("list(range(0,8,0))", None),
        ("list(range(0, 999999999))", None),
        ("__import__('os').listdir()", None),
        ("[x for x in range(8)]", None),
        ("list(", None),
        (None, None),
        ("(" * 5000, None),
    ],
)
def test_device_mappings_are_counted_and_never_run(text: object, count: int | None) -> None:
    assert devices(text) == count


@pytest.mark.parametrize(
    ("lengths", "wanted"),
    [
        ("response_length: 4096\nprompt_length: 2048\n", 6144),
        ("response_length: 4096\n", 5120),
        ("response_length: 4096\nsequence_length: 8192\n", 8192),
        ("", None),
    ],
    ids=["both", "the prompt's default", "sequence_length wins", "none"],
)
def test_the_sequence_is_prompt_and_response(
    lengths: str, wanted: int | None, tmp_path: Path, meshlint: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = lengths + "actor_train:\n  strategy_args:\n    strategy_name: megatron_train\n    strategy_config: {}\n"
    (tmp_path / "run.yaml").write_text(text, encoding="utf-8")
    fields = json.loads(meshlint("config", "--json", "run.yaml").out)["launches"][0]["roles"][0]["fields"]
    assert fields["seq_length"]["data"] == wanted
