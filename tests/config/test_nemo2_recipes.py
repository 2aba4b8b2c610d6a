"""NeMo 2 recipes: defaults that flow through helpers, later lines, shapes from the classes of the tree."""

from __future__ import annotations

from pathlib import Path

import pytest
from python_trees import context_of, data, launches, line, named

RECIPE = {
    "recipes/big.py": """
import nemo_run as run
from nemo import lightning as nl
from models.big import BigConfig, BigModel
from nemo.collections.llm import pretrain, Data
from nemo.lightning.callbacks import Overlap, Timing

def model():
    return run.Config(BigModel, config=run.Config(BigConfig))

def trainer(tensor_parallelism: int = 4, context_parallelism: int = 2, num_nodes: int = 4, callbacks=None):
    strategy = run.Config(
        nl.MegatronStrategy,
        tensor_model_parallel_size=tensor_parallelism,
        context_parallel_size=context_parallelism,
    )
    return run.Config(nl.Trainer, devices=8, num_nodes=num_nodes, callbacks=callbacks, strategy=strategy)

@run.cli.factory(target=pretrain, name="big")
def pretrain_recipe(num_nodes: int = 1, performance_mode: bool = False, fn=pretrain) -> run.Partial:
    recipe = run.Partial(
        fn,
        model=model(),
        trainer=trainer(num_nodes=num_nodes, callbacks=[run.Config(Timing)]),
        data=run.Config(Data, seq_length=8192, global_batch_size=512),
    )
    if performance_mode:
        recipe = tuned(recipe)
    return recipe

def tuned(recipe: run.Partial) -> run.Partial:
    recipe.trainer.callbacks.append(run.Config(Overlap, tp_comm_overlap=True))
    return recipe

@run.cli.factory(target=pretrain, name="big_long")
def long_recipe(num_nodes: int = 2) -> run.Partial:
    recipe = tuned(pretrain_recipe(num_nodes=num_nodes))
    recipe.trainer.strategy.context_parallel_size = 8
    recipe.model.config.seq_length = 65536
    return recipe
""",
    "models/big.py": """
from dataclasses import dataclass
from nemo.collections.llm import GPTConfig

@dataclass
class BigConfig(GPTConfig):
    num_layers: int = 80
    num_attention_heads: int = 64

class BigModel:
    pass
""",
}


def test_defaults_of_arguments_and_classes(tmp_path: Path) -> None:
    found = launches(context_of(tmp_path, RECIPE), "nemo2_recipe")
    assert [launch.identity for launch in found] == [
        "recipes/big.py::pretrain_recipe",
        "recipes/big.py::long_recipe",
    ]
    plain = found[0]
    assert data(plain, "trainer.strategy.tensor_model_parallel_size") == 4
    assert line(plain, "trainer.strategy.tensor_model_parallel_size") == 10
    assert data(plain, "model.config.num_layers") == 80
    assert plain.find("model.config.num_layers").span.path == "models/big.py"  # type: ignore[union-attr]
    assert data(plain, "trainer.callbacks.tp_comm_overlap") == "-"
    assert plain.nodes is not None
    assert plain.gpus_per_node is not None
    assert (plain.nodes.data, plain.gpus_per_node.data) == (1, 8)


def test_later_lines_win(tmp_path: Path) -> None:
    launch = named(launches(context_of(tmp_path, RECIPE), "nemo2_recipe"), "long_recipe")
    assert data(launch, "trainer.strategy.context_parallel_size") == 8
    assert line(launch, "trainer.strategy.context_parallel_size") == 37
    assert data(launch, "trainer.callbacks.tp_comm_overlap") is True
    assert launch.nodes is not None
    assert launch.nodes.data == 2


def test_script_that_trains_directly(tmp_path: Path) -> None:
    script = """
import argparse
from nemo import lightning as nl
from nemo.collections import llm

def main(args):
    strategy = nl.MegatronStrategy(tensor_model_parallel_size=args.tp, context_parallel_size=2)
    trainer = nl.Trainer(devices=args.devices, num_nodes=1, strategy=strategy)
    llm.pretrain(model=llm.GPTModel(llm.GPTConfig(num_layers=12)), trainer=trainer, data=llm.Mock(seq_length=1024))

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tp", type=int, default=4)
    parser.add_argument("--devices", type=int, required=True)
    main(parser.parse_args())
"""
    (launch,) = launches(context_of(tmp_path, {"train.py": script}), "nemo2_recipe")
    assert launch.identity == "train.py::main"
    assert data(launch, "trainer.strategy.tensor_model_parallel_size") == 4
    value = launch.find("trainer.strategy.tensor_model_parallel_size")
    assert value is not None
    assert value.origins[0].caveat == "--tp on the command line"
    assert data(launch, "trainer.strategy.context_parallel_size") == 2
    assert data(launch, "trainer.devices") == "?"


def test_ranks_are_nodes_times_devices(tmp_path: Path) -> None:
    plain = launches(context_of(tmp_path, RECIPE), "nemo2_recipe")[0]
    assert plain.world is not None
    assert plain.world.data == 8
    assert str(plain.world.origins[0].span).startswith("recipes/big.py:19:")


TRAINED_BY_COMMAND = {
    "run.sh": "coverage run -a --source=nemo examples/vision.py --devices=8 --tensor-model-parallel-size=11\n",
    "examples/vision.py": """
import argparse
from nemo import lightning as nl
from nemo.collections import vlm
from nemo.collections.llm.api import train
from models.small import SmallConfig

parser = argparse.ArgumentParser()
parser.add_argument("--devices", type=int, default=1)
parser.add_argument("--tensor-model-parallel-size", type=int, default=1)
args = parser.parse_args()

if __name__ == "__main__":
    config = vlm.VisionConfig(language_transformer_config=SmallConfig(seq_length=8192, num_layers=2))
    strategy = nl.MegatronStrategy(tensor_model_parallel_size=args.tensor_model_parallel_size)
    trainer = nl.Trainer(devices=args.devices, strategy=strategy)
    train(model=vlm.VisionModel(config=config), trainer=trainer, data=vlm.MockData(seq_length=8192))
""",
    "models/small.py": """
from dataclasses import dataclass
from nemo.collections.llm import GPTConfig

@dataclass
class SmallConfig(GPTConfig):
    num_layers: int = 32
    num_attention_heads: int = 32
""",
}


FITTED = "trainer.fit(vlm.VisionModel(config=config), vlm.MockData(seq_length=8192))"


@pytest.mark.parametrize("last", ["", FITTED], ids=["train", "fit"])
def test_a_command_that_trains_by_nemo_is_no_megatron_lm_command(last: str, tmp_path: Path) -> None:
    """The flags are those of the file's own parser; the class of the language model says its shape."""
    from meshlint.config.effective import EffectiveConfig
    from meshlint.config.registry import framework
    from meshlint.config.surfaces.shell import SURFACE

    files = dict(TRAINED_BY_COMMAND)
    if last:
        text = files["examples/vision.py"].replace("    train(model=", "    pass  # train(model=")
        files["examples/vision.py"] = f"{text}    {last}\n"
    context = context_of(tmp_path, files)
    (launch,) = SURFACE.launches("run.sh", context)
    model = framework(launch.framework)
    (role,) = model.roles(launch)
    config = EffectiveConfig(launch, model, role, {}, {})
    assert (launch.framework, launch.gpus_per_node and launch.gpus_per_node.data) == ("nemo2", 8)
    assert [config.data(name) for name in ("num_layers", "num_attention_heads", "seq_length")] == [2, 32, 8192]
    assert config.data("tensor_model_parallel_size") == 11


def test_a_strategy_that_cannot_be_followed_is_no_megatron_lm_command_either(tmp_path: Path) -> None:
    from meshlint.config.surfaces.shell import SURFACE

    text = TRAINED_BY_COMMAND["examples/vision.py"].replace("    train(model=", "    elsewhere(model=")
    assert not list(
        SURFACE.launches("run.sh", context_of(tmp_path, {**TRAINED_BY_COMMAND, "examples/vision.py": text}))
    )
