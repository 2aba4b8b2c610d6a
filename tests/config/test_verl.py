"""verl: dotlists over the checkout's base YAML, over none, over an installed package's; YAML that stands alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hydra_trees import command, data, lines, plant, words

from meshlint.config.command import Command, Word
from meshlint.config.commands.verl import READER
from meshlint.config.effective import EffectiveConfig
from meshlint.config.launch import Launch
from meshlint.config.registry import framework
from meshlint.config.surface import Context
from meshlint.config.surfaces.verl_yaml import SURFACE
from meshlint.config.value import Kind, Origin, State, default, written
from meshlint.config.versions import resolve
from meshlint.place import Span

ACTOR = "actor_rollout_ref.actor.megatron."
REF = "actor_rollout_ref.ref.megatron."


def main(config: str) -> str:
    return f'@hydra.main(config_path="config", config_name="{config}", version_base=None)\ndef main(c): ...\n'


BASE = {
    "verl/trainer/main_ppo.py": main("ppo_trainer"),
    "verl/trainer/sft_trainer.py": main("sft_trainer_engine"),
    "verl/trainer/config/ppo_trainer.yaml": """\
defaults:
  - model_engine: dp
  - actor@actor_rollout_ref.actor: ${model_engine}_actor
  - ref@actor_rollout_ref.ref: ${model_engine}_ref
  - _self_
trainer:
  nnodes: 1
  n_gpus_per_node: 8
algorithm: {use_kl_in_reward: true, adv_estimator: grpo}
""",
    "verl/trainer/config/ppo_megatron_trainer.yaml": """\
defaults:
  - ppo_trainer
  - override model_engine: megatron
  - _self_
""",
    "verl/trainer/config/sft_trainer_engine.yaml": "defaults:\n  - engine: fsdp\n  - _self_\ntrainer: {nnodes: 1}\n",
    "verl/trainer/config/model_engine/dp.yaml": "# @package _global_\nmodel_engine: dp\n",
    "verl/trainer/config/model_engine/megatron.yaml": "# @package _global_\nmodel_engine: megatron\n",
    "verl/trainer/config/actor/dp_actor.yaml": "strategy: fsdp\n",
    "verl/trainer/config/actor/megatron_actor.yaml": """\
defaults:
  - ../engine@megatron: megatron
  - _self_
strategy: megatron
""",
    "verl/trainer/config/ref/dp_ref.yaml": "strategy: fsdp\n",
    "verl/trainer/config/ref/megatron_ref.yaml": """\
defaults:
  - ../engine@megatron: megatron
  - _self_
strategy: megatron
megatron:
  context_parallel_size: ${oc.select:actor_rollout_ref.actor.megatron.context_parallel_size,1}
""",
    "verl/trainer/config/engine/fsdp.yaml": "strategy: fsdp\n",
    "verl/trainer/config/engine/megatron.yaml": """\
strategy: megatron
tensor_model_parallel_size: 1
context_parallel_size: 1
sequence_parallel: true
override_transformer_config: {}
""",
    "verl/experimental/fully_async_policy/fully_async_main.py": main("fully_async_ppo_trainer"),
    "verl/experimental/fully_async_policy/config/fully_async_ppo_megatron_trainer.yaml": """\
hydra:
  searchpath:
    - pkg://verl.trainer.config
defaults:
  - ppo_megatron_trainer
  - _self_
rollout: {nnodes: 2, n_gpus_per_node: 8}
""",
}

MINE = """\
defaults:
  - ppo_megatron_trainer
  - _self_
hydra:
  searchpath:
    - pkg://verl.trainer.config
actor_rollout_ref:
  actor:
    megatron:
      context_parallel_size: 2
"""


def read(context: Context, one: Command) -> Launch:
    """Give the one launch of a command."""
    assert READER.claims(one)
    (launch,) = READER.launches(one, context.reader(), context)
    return launch


def ppo(context: Context, *texts: str, module: str = "verl.trainer.main_ppo", path: str = "examples/run.sh") -> Launch:
    return read(context, command(["python3", "-m", module, *texts], path))


def test_a_dotlist_goes_over_the_base(tmp_path: Path) -> None:
    context = plant(tmp_path, BASE)
    launch = ppo(context, "model_engine=megatron", f"{ACTOR}context_parallel_size=4", "trainer.nnodes=2")
    found = data(launch.writes)
    assert found[f"{ACTOR}context_parallel_size"] == 4
    assert lines(launch.writes, f"{ACTOR}context_parallel_size") == ["examples/run.sh:5"]
    assert launch.world is not None and launch.world.data == 16
    assert launch.entry == "verl.trainer.main_ppo"
    assert "verl/trainer/config/engine/megatron.yaml" in launch.reads


def test_the_ref_follows_the_actor_where_it_is_written(tmp_path: Path) -> None:
    launch = ppo(plant(tmp_path, BASE), "model_engine=megatron", f"{ACTOR}context_parallel_size=4")
    value = launch.find(f"{REF}context_parallel_size")
    assert value is not None and (value.state, value.data) == (State.SET, 4)
    assert value.span is not None and (value.span.path, value.span.line) == ("examples/run.sh", 5)
    assert lines(launch.writes, f"{REF}context_parallel_size")[1] == "verl/trainer/config/ref/megatron_ref.yaml:6"


def test_the_base_s_values_are_defaults_of_this_very_version(tmp_path: Path) -> None:
    context = plant(tmp_path, BASE)
    launch = ppo(context, "--config-name=ppo_megatron_trainer.yaml")
    value = launch.find(f"{ACTOR}sequence_parallel")
    assert value is not None and (value.state, value.data, value.span) == (State.UNSET, True, None)
    model = framework("verl")
    (actor, *_) = model.roles(launch)
    config = EffectiveConfig(launch, model, actor, resolve(launch, model, context), {})
    effective = config.value("tensor_model_parallel_size")
    assert (effective.state, effective.data) == (State.UNSET, 1)
    assert "verl/trainer/config/engine/megatron.yaml:2" in effective.origins[0].note


@pytest.mark.parametrize(
    "texts",
    [["--config-name", "ppo_megatron_trainer"], ["-cn", "ppo_megatron_trainer.yaml"], ["model_engine=megatron"]],
)
def test_the_engine_is_chosen_in_several_ways(tmp_path: Path, texts: list[str]) -> None:
    launch = ppo(plant(tmp_path, BASE), *texts)
    assert [role.name for role in framework("verl").roles(launch)] == ["actor", "ref"]


def test_without_a_choice_nothing_runs_megatron(tmp_path: Path) -> None:
    assert framework("verl").roles(ppo(plant(tmp_path, BASE), "trainer.nnodes=2")) == ()


def test_a_fully_asynchronous_run_trains_on_the_trainer_s_world(tmp_path: Path) -> None:
    module = "verl.experimental.fully_async_policy.fully_async_main"
    launch = ppo(
        plant(tmp_path, BASE), "--config-name=fully_async_ppo_megatron_trainer", "trainer.nnodes=4", module=module
    )
    assert launch.world is not None and launch.world.data == 32
    assert data(launch.writes)["rollout.nnodes"] == 2
    assert data(launch.writes)[f"{ACTOR}tensor_model_parallel_size"] == 1


def test_a_config_of_one_s_own_is_written(tmp_path: Path) -> None:
    own = {"my/config/mine.yaml": MINE.replace("pkg://verl.trainer.config", "file://verl/trainer/config")}
    context = plant(tmp_path, {**BASE, **own})
    launch = read(
        context,
        command(
            ["python3", "-m", "verl.trainer.main_ppo", "--config-path", "my/config", "--config-name", "mine"],
            "run.sh",
            folder="",
        ),
    )
    assert lines(launch.writes, f"{ACTOR}context_parallel_size") == ["my/config/mine.yaml:10"]
    assert lines(launch.writes, f"{REF}context_parallel_size")[0] == "my/config/mine.yaml:10"
    assert data(launch.writes)["model_engine"] == "megatron"


def test_the_sft_trainer_counts_the_launcher_s_ranks(tmp_path: Path) -> None:
    world = default(4, "torchrun")
    one = command(
        ["verl/trainer/sft_trainer.py", "engine=megatron", "engine.tensor_model_parallel_size=2"], "run.sh", world=world
    )
    launch = read(plant(tmp_path, BASE), one)
    assert launch.world is world
    assert [role.name for role in framework("verl").roles(launch)] == ["sft"]
    assert data(launch.writes)["engine.tensor_model_parallel_size"] == 2


# Without the base ---------------------------------------------------------------------------------------------------


def absent(
    tmp_path: Path, *texts: str, monkeypatch: pytest.MonkeyPatch, module: str = "verl.trainer.main_ppo"
) -> Launch:
    no_environment(monkeypatch)
    return ppo(plant(tmp_path, {"examples/run.sh": ""}), *texts, module=module)


def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no environment of whoever runs the tests count."""
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.setattr("meshlint.config.installed.sys.prefix", "/nonexistent")


@pytest.mark.parametrize("texts", [["--config-name=ppo_megatron_trainer"], ["model_engine=megatron"]])
def test_without_a_base_the_table_of_defaults_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, texts: list[str]
) -> None:
    launch = absent(tmp_path, *texts, f"{ACTOR}context_parallel_size=2", monkeypatch=monkeypatch)
    assert launch.find(f"{ACTOR}tensor_model_parallel_size") is None
    assert data(launch.writes)[f"{ACTOR}context_parallel_size"] == 2
    assert launch.world is not None and launch.world.data == 8
    assert "actor" in [role.name for role in framework("verl").roles(launch)]


def test_without_a_base_an_sft_engine_is_still_a_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["engine=megatron", "engine.tensor_model_parallel_size=4"]
    launch = absent(tmp_path, *texts, monkeypatch=monkeypatch, module="verl.trainer.sft_trainer")
    assert [role.name for role in framework("verl").roles(launch)] == ["sft"]
    assert data(launch.writes)["engine.tensor_model_parallel_size"] == 4


def test_an_unknown_config_leaves_the_rest_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launch = absent(tmp_path, "--config-name=house", f"{ACTOR}context_parallel_size=2", monkeypatch=monkeypatch)
    tp, cp = (launch.find(f"{ACTOR}{key}_parallel_size") for key in ("tensor_model", "context"))
    assert tp is not None and "house" in tp.reason
    assert cp is not None and cp.data == 2


@pytest.mark.parametrize("where", [".venv", "$VIRTUAL_ENV"])
def test_an_installed_package_s_own_data_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    no_environment(monkeypatch)
    context = plant(tmp_path / "tree", {"run.sh": ""})
    prefix = {".venv": tmp_path / "tree" / ".venv", "$VIRTUAL_ENV": tmp_path / "env"}[where]
    site = prefix / "lib" / "python3.12" / "site-packages"
    plant(site, {**BASE, "verl/__init__.py": ""})
    (site / "verl-0.7.1.dist-info").mkdir()
    if where == "$VIRTUAL_ENV":
        monkeypatch.setenv("VIRTUAL_ENV", str(prefix))
    launch = ppo(context, "model_engine=megatron", path="run.sh")
    value = launch.find(f"{ACTOR}sequence_parallel")
    assert value is not None and value.data is True
    assert value.origins[0].note.endswith("verl/trainer/config/engine/megatron.yaml:4")


# What is claimed ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "claimed"),
    [
        (["python", "-m", "verl.trainer.main_ppo"], True),
        (["python3", "-u", "-m", "recipe.dapo.main_dapo"], True),
        (["verl.trainer.sft_trainer_ray"], True),
        (["-m", "verl.trainer.fsdp_sft_trainer"], True),
        (["/opt/verl/trainer/main_ppo.py"], True),
        (["train.py", "actor_rollout_ref.actor.ppo_mini_batch_size=8"], True),
        (["xlauncher", "--nodes", "2", "python3", "-m", "verl.trainer.main_ppo", "a=1"], True),
        (["python3", "-m", "verl.trainer.main_generation_server", "actor_rollout_ref.rollout.n=1"], False),
        (["python3", "scripts/print_cfg.py", "actor_rollout_ref.rollout.n=1"], False),
        (["python3", "pretrain_gpt.py", "--tensor-model-parallel-size", "8"], False),
        (["bash", "run.sh"], False),
        ([], False),
    ],
)
def test_what_is_claimed(texts: list[str], claimed: bool) -> None:
    assert READER.claims(command(texts)) is claimed


def test_unknown_words_never_raise(tmp_path: Path) -> None:
    unknown = Word(None, (), "nobody sets it")
    texts = words(["python3", "-m", "verl.trainer.main_ppo"])
    for extra in (
        (unknown,),
        (Word(None, (), "x", "--config-name="),),
        words(["--config-name"]),
        words(["--config-path=/"]),
    ):
        one = Command((*texts, *extra), "run.sh", "command 1", Span("run.sh", 1))
        assert read(plant(tmp_path, BASE), one).framework == "verl"
    assert not READER.claims(Command((unknown,), "run.sh", "command 1", Span("run.sh", 1)))


def test_the_environment_reaches_interpolation(tmp_path: Path) -> None:
    files = {
        **BASE,
        "verl/trainer/config/engine/megatron.yaml": "strategy: megatron\ncontext_parallel_size: ${oc.env:CP,1}\n",
    }
    value = written("4", Origin(Kind.WRITTEN, "CP=4", Span("run.sh", 2)))
    texts = ["-m", "verl.trainer.main_ppo", "model_engine=megatron"]
    launch = read(plant(tmp_path, files), command(texts, "run.sh", environment={"CP": value}))
    assert lines(launch.writes, f"{ACTOR}context_parallel_size")[0] == "run.sh:2"


# YAML ---------------------------------------------------------------------------------------------------------------


def entries(context: Context, paths: Sequence[str]) -> list[str]:
    return list(SURFACE.entries([path for path in paths if SURFACE.claims(path)], context))


def test_a_user_s_yaml_is_a_launch(tmp_path: Path) -> None:
    context = plant(tmp_path, {**BASE, "conf/mine.yaml": MINE, "run.sh": "python -m verl.trainer.main_ppo\n"})
    assert entries(context, context.files) == ["conf/mine.yaml"]
    (launch,) = SURFACE.launches("conf/mine.yaml", context)
    assert lines(launch.writes, f"{ACTOR}context_parallel_size") == ["conf/mine.yaml:10"]
    assert launch.world is not None and launch.world.data == 8


def test_a_yaml_that_a_script_names_gives_way(tmp_path: Path) -> None:
    script = "python -m verl.trainer.main_ppo --config-name=mine\n"
    context = plant(tmp_path, {**BASE, "conf/mine.yaml": MINE, "run.sh": script})
    assert entries(context, context.files) == []
    context.named = frozenset(("conf/mine.yaml",))  # a person who spells it out means it
    assert entries(context, context.files) == ["conf/mine.yaml"]


def test_the_package_s_own_trainers_are_judged_alone_only_where_nothing_starts_them(tmp_path: Path) -> None:
    own = "verl/trainer/config/ppo_megatron_trainer.yaml"
    context = plant(tmp_path, {**BASE, "verl/trainer/config/_generated_ppo_trainer.yaml": "actor_rollout_ref: {}\n"})
    found = entries(context, context.files)
    assert "verl/trainer/config/ppo_trainer.yaml" not in found and own not in found
    assert found == ["verl/experimental/fully_async_policy/config/fully_async_ppo_megatron_trainer.yaml"]
