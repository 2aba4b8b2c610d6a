"""What is installed near a launch: versions, and the source of recipes that a person's own script builds on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from python_trees import context_of, data, launches

from conftest import CommandLine
from meshlint.config.installed import environments, locate, name_command
from meshlint.config.launch import Launch
from meshlint.config.pins.readers import requirement
from meshlint.config.pins.tables import ALIASES, RELEASES
from meshlint.config.registry import framework
from meshlint.config.surface import Context
from meshlint.config.versions import resolve
from meshlint.place import Span

SITE = ".venv/lib/python3.12/site-packages"
CP = "model.context_parallel_size"
PACKAGE = {
    "megatron/bridge/__init__.py": "",
    "megatron/bridge/training/config.py": "class ConfigContainer:\n    pass\n",
    "megatron/bridge/recipes/__init__.py": "from .small import small_pretrain_config\n",
    "megatron/bridge/recipes/small.py": (
        "from megatron.bridge.training.config import ConfigContainer\n"
        "from megatron.bridge.models import GPTModelProvider\n\n"
        "def small_pretrain_config() -> ConfigContainer:\n"
        "    model = GPTModelProvider(num_layers=24, context_parallel_size=2, tensor_model_parallel_size=4)\n"
        "    return ConfigContainer(model=model)\n"
    ),
}
SCRIPT = """\
from megatron.bridge.recipes import small_pretrain_config
from megatron.bridge.training.gpt_step import forward_step
from megatron.bridge.training.pretrain import pretrain

def main():
    cfg = small_pretrain_config()
    cfg.model.context_parallel_size = 4
    cfg.model.cp_comm_type = "a2a+p2p"
    pretrain(cfg, forward_step)

if __name__ == "__main__":
    main()
"""


def tree(root: Path, files: Mapping[str, str] = PACKAGE, *names: str, site: str = SITE) -> None:
    """Write a folder of packages with `NAME-VERSION.dist-info` folders."""
    for name, text in files.items():
        file = root / site / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for name in names:
        (root / site / f"{name}.dist-info").mkdir(parents=True)


def listed(root: Path, script: str = SCRIPT) -> Context:
    """Give the context of a project with one script, whose listing leaves the environment out as a real one does."""
    context = context_of(root, {"train.py": script})
    context.files = ("train.py",)
    return context


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no environment of whoever runs the tests count."""
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.setattr("meshlint.config.installed.sys.prefix", "/nonexistent")


def test_a_script_builds_on_an_installed_recipe(tmp_path: Path) -> None:
    tree(tmp_path, PACKAGE, "megatron_bridge-0.4.0")
    (launch,) = launches(listed(tmp_path), "bridge_recipe")
    assert (data(launch, CP), data(launch, "model.tensor_model_parallel_size")) == (4, 4)
    assert data(launch, "model.num_layers") == 24
    assert f"{SITE}/megatron/bridge/recipes/small.py" in launch.reads


def test_a_recipe_that_is_not_installed_leaves_the_lines_after_it(tmp_path: Path) -> None:
    (launch,) = launches(listed(tmp_path), "bridge_recipe")
    assert (data(launch, CP), data(launch, "model.cp_comm_type")) == (4, "a2a+p2p")
    value = launch.find("model.tensor_model_parallel_size")
    assert value is not None and value.is_unknown
    assert value.reason.startswith(
        "the recipe `small_pretrain_config` is not in reach: megatron-bridge is not installed here"
    )


def test_a_star_import_brings_such_a_recipe_too(tmp_path: Path) -> None:
    script = SCRIPT.replace("import small_pretrain_config", "import *")
    (launch,) = launches(listed(tmp_path, script), "bridge_recipe")
    assert (data(launch, CP), data(launch, "model.cp_comm_type")) == (4, "a2a+p2p")
    value = launch.find("model.tensor_model_parallel_size")
    assert value is not None
    assert value.reason.startswith(
        "the recipe `small_pretrain_config` is not in reach: megatron-bridge is not installed"
    )


def test_two_star_imports_leave_open_which_one_brings_a_name(tmp_path: Path) -> None:
    script = SCRIPT.replace("import small_pretrain_config", "import *").replace("import forward_step", "import *")
    (launch,) = launches(listed(tmp_path, script), "bridge_recipe")
    value = launch.find("model.tensor_model_parallel_size")
    assert value is not None
    assert value.reason == (
        "`small_pretrain_config` could come out of `megatron.bridge.recipes`, `megatron.bridge.training.gpt_step`, "
        "which are not in reach"
    )


def test_sections_of_such_a_recipe_can_have_names_of_their_own(tmp_path: Path) -> None:
    script = SCRIPT.replace("cfg.model.context_parallel_size = 4", "model = cfg.model; model.context_parallel_size = 4")
    (launch,) = launches(listed(tmp_path, script), "bridge_recipe")
    assert data(launch, CP) == 4


def test_what_every_recipe_gives_makes_a_warning(tmp_path: Path, meshlint: CommandLine) -> None:
    file = tmp_path / "train.py"
    file.write_text(SCRIPT.replace("small_pretrain", "llama3_8b_pretrain"))
    words = ("--format", "json", "--pin", "megatron-bridge=0.3.0", "--pin", "transformer-engine=2.8.0")
    run = meshlint("check", *words, file)
    (finding,) = json.loads(run.out)["findings"]
    assert (finding["code"], finding["severity"], finding["line"]) == ("HCP001", "warning", 8)
    file.write_text(file.read_text().replace("llama3_8b", "qwen3_next_80b"))
    assert json.loads(meshlint("check", *words, file).out)["findings"] == []


def test_a_config_that_cannot_be_followed_is_a_launch_all_the_same(tmp_path: Path) -> None:
    script = """
        import sys
        from megatron.bridge import recipes
        from megatron.bridge.training.pretrain import pretrain

        pretrain(getattr(recipes, sys.argv[1])(), None)
        """
    (launch,) = launches(listed(tmp_path, script), "bridge_recipe")
    assert data(launch, CP) == "?"


def test_a_runner_is_judged_with_the_recipe_that_its_caller_names(tmp_path: Path) -> None:
    script = """
        from megatron.bridge.training.pretrain import pretrain

        def run(config):
            pretrain(config, None)
        """
    assert launches(listed(tmp_path, script), "bridge_recipe") == []


@pytest.mark.parametrize("library", sorted(RELEASES))
@pytest.mark.parametrize("spelled", [lambda name: name.replace("-", "_"), lambda name: name.replace("-", ".").upper()])
def test_every_library_that_is_judged_is_read(tmp_path: Path, library: str, spelled: Callable[[str], str]) -> None:
    tree(tmp_path, {}, f"{spelled(library)}-9.8.7")
    assert [found.version(library) for found in environments(listed(tmp_path))] == ["9.8.7"]


@pytest.mark.parametrize("name", sorted(ALIASES))
def test_a_distribution_of_another_name_is_the_library(tmp_path: Path, name: str) -> None:
    tree(tmp_path, {}, f"{name.replace('-', '_')}-2.8.0")
    assert [found.version(ALIASES[name]) for found in environments(listed(tmp_path))] == ["2.8.0"]
    assert requirement(f"{name}[x]==2.8.0") == (ALIASES[name], "==2.8.0")


def test_versions_come_from_the_environment_last(tmp_path: Path) -> None:
    tree(tmp_path, {}, "megatron_core-0.16.1", "transformer_engine_cu12-2.8.0+abc", "torch-2.9.0+cu128", "wheel-1.0")
    context = listed(tmp_path)
    launch = Launch("megatron-lm", "x", "x", "x", Span("train.py", 1))
    found = resolve(launch, framework("megatron-lm"), context)
    shown = {name: [str(v) for v in one.candidates] for name, one in found.items()}
    assert shown == {"megatron-core": ["0.16.1"], "torch": ["2.9.0"], "transformer-engine": ["2.8.0"]}
    assert {o.note for one in found.values() if one.pin for o in one.pin.value.origins} == {"installed in .venv"}
    (tmp_path / "requirements.txt").write_text("megatron-core==0.15.0\n")
    context = listed(tmp_path)
    context.files = ("requirements.txt", "train.py")
    assert [str(v) for v in resolve(launch, framework("megatron-lm"), context)["megatron-core"].candidates] == [
        "0.15.0"
    ]


def test_the_nearest_environment_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outer = tmp_path / "outer"
    tree(outer, {}, "verl-0.7.0", "torch-2.8.0", site="lib/python3.11/site-packages")
    monkeypatch.setenv("VIRTUAL_ENV", str(outer))
    project = tmp_path / "project"
    tree(project, {}, "verl-0.7.1")
    found = environments(listed(project))
    assert [(e.label, dict(e.versions)) for e in found] == [
        (".venv", {"verl": "0.7.1"}),
        ("$VIRTUAL_ENV", {"torch": "2.8.0", "verl": "0.7.0"}),
    ]


def test_the_environment_of_a_command_counts(tmp_path: Path) -> None:
    tree(tmp_path / "env", {}, "verl-0.7.1", site="lib/python3.11/site-packages")
    program = tmp_path / "env/bin/torchrun"
    program.parent.mkdir()
    program.write_text("")
    program.chmod(0o755)
    context = listed(tmp_path)
    assert environments(context) == ()
    for words in (["env/bin/torchrun", "x.py"], ["CP=1", "torchrun", "x.py"]):
        name_command(words, {"PATH": str(program.parent)}, tmp_path, context)
        (found,) = environments(context)
        assert found.version("verl") == "0.7.1"
    assert found.label == "the environment of `torchrun`"


def test_meshlint_itself_counts_only_with_a_library_that_trains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("meshlint.config.installed.sys.prefix", str(tmp_path / "own"))
    site = "lib/python3.11/site-packages"
    tree(tmp_path / "own", {}, "torch-2.8.0", site=site)
    assert environments(listed(tmp_path)) == ()
    tree(tmp_path / "own", {}, "megatron_core-0.16.1", site=site)
    (found,) = environments(listed(tmp_path))
    assert found.version("torch") == "2.8.0"


def test_nothing_is_read_beside_the_packages(tmp_path: Path) -> None:
    outside = tmp_path / "secret"
    outside.mkdir()
    (outside / "__init__.py").write_text("")
    project = tmp_path / "project"
    tree(project, PACKAGE, "megatron_bridge-0.4.0")
    link = project / SITE / "megatron/bridge/linked"
    link.symlink_to(outside)
    context = listed(project)
    assert locate("megatron.bridge.recipes.small", context) is not None
    assert locate("megatron.bridge.linked", context) is None
    assert locate("os.path", context) is None
    assert locate("megatron.core", context) is None  # no distribution says that it is there


def test_what_is_installed_later_is_judged_anew(tmp_path: Path, meshlint: CommandLine) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    first = meshlint("check", tmp_path / "train.py", "--format", "json")
    assert first.status == 0
    tree(tmp_path, PACKAGE, "megatron_bridge-0.4.0")
    second = meshlint("check", tmp_path / "train.py", "--format", "json")
    assert second.status == 1
    (coverage,) = json.loads(second.out)["coverage"]
    assert coverage["versions"]["megatron-bridge"] == "0.4.0"


NEMO = """\
import nemo_run as run
from nemo.collections import llm

recipe = llm.llama3_8b.pretrain_recipe(name="x", num_nodes=2, num_gpus_per_node=8)
recipe.trainer.strategy.context_parallel_size = 4
recipe.model.config.cp_comm_type = "a2a+p2p"
"""


@pytest.mark.parametrize(
    "start",
    ["run.run(recipe)\n", "with run.Experiment('x') as exp:\n    exp.add(recipe, executor=None)\n    exp.run()\n"],
)
def test_a_nemo_recipe_that_is_not_installed_leaves_the_lines_after_it(tmp_path: Path, start: str) -> None:
    (launch,) = launches(listed(tmp_path, NEMO + start), "nemo2_recipe")
    assert (data(launch, "trainer.strategy.context_parallel_size"), data(launch, "model.config.cp_comm_type")) == (
        4,
        "a2a+p2p",
    )
    assert data(launch, "trainer.strategy.tensor_model_parallel_size") == "?"
    assert launch.world is not None
    assert launch.world.data == 16


def test_what_is_unknown_in_a_section_undoes_no_write_before_it(tmp_path: Path, meshlint: CommandLine) -> None:
    (tmp_path / "train.py").write_text(f"{NEMO}run.run(recipe)\n")
    shown = meshlint("config", tmp_path / "train.py").out
    assert "context_parallel_size = 4  train.py:5:49" in shown


def test_a_nemo_runner_with_sizes_from_elsewhere_is_no_launch(tmp_path: Path) -> None:
    script = """
        import nemo_run as run
        from nemo.collections import llm

        def pretrain_recipe(tp):
            strategy = run.Config(llm.MegatronStrategy, tensor_model_parallel_size=tp)
            return run.Partial(llm.pretrain, trainer=run.Config(llm.Trainer, strategy=strategy))

        with run.Experiment("x") as exp:
            exp.add(pretrain_recipe(TP), executor=None)
        """
    assert launches(listed(tmp_path, script.replace("TP)", "read_csv())")), "nemo2_recipe") == []
    (launch,) = launches(listed(tmp_path, script.replace("TP)", "2)")), "nemo2_recipe")
    assert data(launch, "trainer.strategy.tensor_model_parallel_size") == 2
