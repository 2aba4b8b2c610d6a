"""Megatron-Bridge's commands and YAML: a recipe, then what the script merges over it."""

from __future__ import annotations

from pathlib import Path

import pytest
from python_trees import context_of, data, launches, line

from meshlint.config.commands.argv import from_argv
from meshlint.config.launch import Launch

CP = "model.context_parallel_size"
LIBRARY = {
    "src/megatron/bridge/recipes/__init__.py": "from megatron.bridge.recipes.tiny import *\n",
    "src/megatron/bridge/recipes/tiny.py": """
from megatron.bridge.training.config import ConfigContainer, DatasetConfig
from megatron.bridge import AutoBridge, Specs

def tiny_pretrain_config() -> ConfigContainer:
    cfg = ConfigContainer(model=None, dataset=DatasetConfig(seq_length=4096))
    cfg.model = AutoBridge.from_hf_pretrained("org/tiny").to_megatron_provider(load_weights=False)
    cfg.model.context_parallel_size = 1
    cfg.dataset.offline_packing_specs = Specs(pad_seq_to_mult=1)
    if cfg.model.context_parallel_size > 1:
        cfg.dataset.offline_packing_specs.pad_seq_to_mult = cfg.model.context_parallel_size * 2
    return cfg
""",
}
RUNNER = """
import argparse
from megatron.bridge.training.pretrain import pretrain
from megatron.bridge.training.utils.omegaconf_utils import process_config_with_overrides

FIELDS = (("context_parallel_size", "model.context_parallel_size"), ("seq_length", "dataset.seq_length"))

def parse(argv=None):
    parser = argparse.ArgumentParser()
    sizes = parser.add_argument_group("sizes")
    parser.add_argument("--recipe", required=True)
    sizes.add_argument("-cp", "--context_parallel_size", type=int)
    sizes.add_argument("-sl", "--seq_length", type=int)
    args, rest = parser.parse_known_args(argv)
    chosen = [f"{field}={getattr(args, name)}" for name, field in FIELDS if getattr(args, name) is not None]
    return args, [*chosen, *rest]

def main():
    args, overrides = parse()
    config = load_recipe(args.recipe)
    config = process_config_with_overrides(config, cli_overrides=overrides or None)
    if config.dataset.seq_length is not None:
        config.model.seq_length = config.dataset.seq_length
    pretrain(config=config, forward_step_func=None)

def load_recipe(recipe_name):
    raise ValueError("by import, which is not followed")

if __name__ == "__main__":
    main()
"""
WITH_YAML = """
import argparse
from omegaconf import OmegaConf
from megatron.bridge.recipes import tiny_pretrain_config
from megatron.bridge.training.finetune import finetune
from megatron.bridge.training.utils.omegaconf_utils import (
    apply_overrides,
    create_omegaconf_dict_config,
    parse_hydra_overrides,
)

DEFAULT = "conf/tiny_override.yaml"

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config-file", type=str, default=DEFAULT)
    args, cli = parser.parse_known_args()
    cfg = tiny_pretrain_config()
    conf, excluded = create_omegaconf_dict_config(cfg)
    if args.config_file:
        conf = OmegaConf.merge(conf, OmegaConf.load(args.config_file))
    if cli:
        conf = parse_hydra_overrides(conf, cli)
    apply_overrides(cfg, OmegaConf.to_container(conf, resolve=True), excluded)
    finetune(config=cfg, forward_step_func=None)

if __name__ == "__main__":
    main()
"""
YAML = """
model:
  context_parallel_size: 4
  cp_comm_type: a2a+p2p
  hierarchical_context_parallel_sizes: [2, 2]
train:
  global_batch_size: 32
"""


def run(tmp_path: Path, words: str, files: dict[str, str]) -> Launch:
    context = context_of(tmp_path, {**LIBRARY, **files})
    (launch,) = from_argv(words.split(), {}, context)
    return launch


def test_script_says_how_words_meet_the_recipe(tmp_path: Path) -> None:
    words = "torchrun --nproc_per_node=8 scripts/training/run_recipe.py --recipe tiny_pretrain_config -cp 4 -sl 8192"
    launch = run(tmp_path, f"{words} model.cp_comm_type=a2a+p2p", {"scripts/training/run_recipe.py": RUNNER})
    assert (launch.framework, launch.entry) == ("megatron-bridge", "train")
    assert [data(launch, k) for k in (CP, "model.cp_comm_type", "model.seq_length")] == [4, "a2a+p2p", 8192]
    value = launch.find(CP)
    assert value is not None
    assert value.span is not None
    assert value.span.path == "command line"
    assert [w.value.data for w in launch.history(CP)] == [1, 4]
    assert launch.world is not None
    assert launch.world.data == 8
    assert "src/megatron/bridge/recipes/tiny.py" in launch.reads


def test_runner_that_is_not_in_reach(tmp_path: Path) -> None:
    launch = run(tmp_path, "python run_recipe.py --recipe tiny_pretrain_config -cp 4 train.global_batch_size=8", {})
    assert [data(launch, k) for k in (CP, "train.global_batch_size", "model.seq_length")] == [4, 8, 4096]


def test_recipe_that_is_not_in_reach(tmp_path: Path) -> None:
    launch = run(tmp_path, "python run_recipe.py --recipe nobody_knows -cp 4", {})
    assert [data(launch, k) for k in (CP, "model.tensor_model_parallel_size")] == [4, "?"]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [("", (4, (2, 2), 32)), ("model.context_parallel_size=8", (8, (2, 2), 32)), ("--config-file=", (1, "-", "-"))],
)
def test_yaml_then_words(tmp_path: Path, words: str, wanted: tuple[object, ...]) -> None:
    files = {"examples/train.py": WITH_YAML, "examples/conf/tiny_override.yaml": YAML}
    config = "--config-file examples/conf/tiny_override.yaml"
    launch = run(tmp_path, f"python examples/train.py {config} {words}", files)
    keys = (CP, "model.hierarchical_context_parallel_sizes", "train.global_batch_size")
    assert tuple(data(launch, k) for k in keys) == wanted


def test_yaml_is_a_launch_of_the_script_that_names_it(tmp_path: Path) -> None:
    files = {**LIBRARY, "examples/train.py": WITH_YAML, "examples/conf/tiny_override.yaml": YAML}
    (launch,) = launches(context_of(tmp_path, files), "bridge_yaml")
    assert launch.identity == "examples/conf/tiny_override.yaml::train.py"
    assert (data(launch, CP), line(launch, CP)) == (4, 2)
    assert data(launch, "@model_id") == "org/tiny"
    assert {"examples/conf/tiny_override.yaml", "examples/train.py"} <= launch.reads


def test_provider_builds_its_own_groups(tmp_path: Path) -> None:
    script = """
from megatron.bridge import AutoBridge

def convert():
    bridge = AutoBridge.from_hf_pretrained("org/tiny")
    provider = bridge.to_megatron_provider(load_weights=False)
    provider.context_parallel_size = 4
    provider.cp_comm_type = "a2a+p2p"
    provider.initialize_model_parallel(seed=0, hierarchical_context_parallel_sizes=[2, 2])
    return provider.provide_distributed_model(wrap_with_ddp=False)

convert()
"""
    (launch,) = launches(context_of(tmp_path, {"convert.py": script}), "bridge_recipe")
    assert (launch.entry, launch.identity) == ("provider", "convert.py::convert")
    assert [data(launch, k) for k in (CP, "model.cp_comm_type")] == [4, "a2a+p2p"]
    assert data(launch, "provider_init.hierarchical_context_parallel_sizes") == (2, 2)


def test_load_helper(tmp_path: Path) -> None:
    script = """
from megatron.bridge.training.model_load_save import load_megatron_model

SIZES = {"context_parallel_size": 4}

if __name__ == "__main__":
    load_megatron_model("/checkpoint", mp_overrides=SIZES)
"""
    (launch,) = launches(context_of(tmp_path, {"load.py": script}), "bridge_recipe")
    assert launch.entry == "load"
    key = "mp_overrides.context_parallel_size"
    assert (data(launch, key), line(launch, key)) == (4, 3)


@pytest.mark.parametrize(
    ("word", "key", "wanted"),
    [
        ("model.cp_comm_type=yes", "model.cp_comm_type", "yes"),
        ("model.seq_length=010", "model.seq_length", "010"),
        ("model.hierarchical_context_parallel_sizes=[2,2]", "model.hierarchical_context_parallel_sizes", (2, 2)),
        ("model.hierarchical_context_parallel_sizes='[2,2]'", "model.hierarchical_context_parallel_sizes", "[2,2]"),
        ("model={context_parallel_size:4,cp_comm_type:a2a}", CP, 4),
        ("++model.context_parallel_size=8", CP, 8),
        ("model.context_parallel_size=choice(1,2)", CP, "?"),
        ("model.context_parallel_size=${model.tensor_model_parallel_size}", CP, "?"),
    ],
)
def test_overrides_are_of_hydras_grammar(word: str, key: str, wanted: object, tmp_path: Path) -> None:
    files = {**LIBRARY, "run.py": WITH_YAML, "conf/tiny_override.yaml": YAML}
    (launch,) = from_argv(["torchrun", "run.py", word], {}, context_of(tmp_path, files))
    assert data(launch, key) == wanted
