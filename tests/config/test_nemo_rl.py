"""NeMo-RL: inheritance, ranks, commands and the scripts of its test suites."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hydra_trees import command, data, flat, lines, plant

from conftest import CommandLine
from meshlint.config.commands.nemo_rl import READER, initial_variables
from meshlint.config.launch import Launch
from meshlint.config.surface import Context
from meshlint.config.surfaces.nemo_rl_yaml import SURFACE
from meshlint.sources.tree import Tree

MEGATRON = "policy.megatron_cfg."

BASE = """\
grpo: {num_prompts_per_step: 32}
policy:
  model_name: some/model
  max_total_sequence_length: 512
  train_micro_batch_size: 4
  make_sequence_length_divisible_by: ${mul:${policy.megatron_cfg.tensor_model_parallel_size}, 2}
  sequence_packing:
    enabled: true
    train_mb_tokens: ${mul:${policy.max_total_sequence_length}, ${policy.train_micro_batch_size}}
  megatron_cfg:
    enabled: true
    tensor_model_parallel_size: 1
    context_parallel_size: 1
  generation:
    colocated:
      enabled: true
      resources: {gpus_per_node: null, num_nodes: null}
cluster:
  gpus_per_node: 8
  num_nodes: 1
"""
CHILD = "defaults: base.yaml\npolicy:\n  megatron_cfg:\n    context_parallel_size: 4\n"
GRAND = "defaults:\n  - ../child.yaml\ncluster:\n  num_nodes: 4\n"
FAMILY = {"conf/base.yaml": BASE, "conf/child.yaml": CHILD, "conf/deep/grand.yaml": GRAND}


def read(context: Context, path: str) -> Launch:
    (launch,) = SURFACE.launches(path, context)
    return launch


def entries(context: Context, *paths: str) -> list[str]:
    return list(SURFACE.entries(paths or [p for p in context.files if SURFACE.claims(p)], context))


def test_values_keep_the_file_that_writes_them(tmp_path: Path) -> None:
    launch = read(plant(tmp_path, FAMILY), "conf/deep/grand.yaml")
    assert lines(launch.writes, f"{MEGATRON}context_parallel_size") == ["conf/child.yaml:4"]
    assert lines(launch.writes, f"{MEGATRON}tensor_model_parallel_size") == ["conf/base.yaml:12"]
    assert lines(launch.writes, "cluster.num_nodes") == ["conf/deep/grand.yaml:4"]
    assert launch.world is not None and launch.world.data == 32
    assert launch.reads == {"conf/base.yaml", "conf/child.yaml", "conf/deep/grand.yaml"}
    assert launch.entry == "grpo"


def test_arithmetic_is_edited_where_its_arguments_are_written(tmp_path: Path) -> None:
    launch = read(plant(tmp_path, FAMILY), "conf/child.yaml")
    found = data(launch.writes)
    assert found["policy.make_sequence_length_divisible_by"] == 2
    assert found["policy.sequence_packing.train_mb_tokens"] == 2048
    assert lines(launch.writes, "policy.make_sequence_length_divisible_by") == ["conf/base.yaml:12", "conf/base.yaml:6"]


def test_a_base_is_judged_at_its_children(tmp_path: Path) -> None:
    context = plant(tmp_path, {**FAMILY, "conf/other.yaml": "defaults: base.yaml\n"})
    assert sorted(entries(context)) == ["conf/deep/grand.yaml", "conf/other.yaml"]
    assert entries(context, "conf/child.yaml") == ["conf/deep/grand.yaml"]
    assert sorted(entries(context, "conf/base.yaml")) == ["conf/deep/grand.yaml", "conf/other.yaml"]


def test_other_yaml_is_no_launch(tmp_path: Path) -> None:
    files = {
        "a.yaml": "policy: {x: 1}\n",
        "b.yaml": "defaults: [a]\n",
        "c.yaml": "cluster:\n  num_nodes: 1\n",
        "d.yaml": "[1]\n",
    }
    assert entries(plant(tmp_path, files)) == []


def test_several_bases_and_a_section_that_replaces(tmp_path: Path) -> None:
    files = {
        "a.yaml": BASE,
        "b.yaml": "policy:\n  megatron_cfg:\n    tensor_model_parallel_size: 2\n",
        "c.yaml": "defaults: [a.yaml, b.yaml]\ncluster:\n  _override_: true\n  num_nodes: 3\n",
    }
    found = data(read(plant(tmp_path, files), "c.yaml").writes)
    assert found[f"{MEGATRON}tensor_model_parallel_size"] == 2
    assert found["cluster.num_nodes"] == 3
    assert "cluster.gpus_per_node" not in found and "cluster._override_" not in found


APART = """\
  generation:
    colocated:
      enabled: false
      resources: {{gpus_per_node: {gpus}, num_nodes: {nodes}}}
"""
REWARDS = """\
data: {{train: {{env_name: reward_model}}}}
env:
  reward_model:
    resources: {{num_nodes: 1, gpus_per_node: {gpus}}}
"""
TEACHERS = """\
on_policy_distillation:
  enabled: true
  teacher_model_by_agent_name: {math: a, code: b, also_math: a}
  non_colocated_teachers:
    enabled: true
    default_teacher_cfg: {num_nodes: 2}
    teacher_overrides: {code: {num_nodes: 1}}
"""


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("cluster: {num_nodes: 2}\n", (2, 8)),
        ("cluster: {num_nodes: 4}\npolicy:\n" + APART.format(gpus=8, nodes=1), (3, 8)),
        ("policy:\n" + APART.format(gpus=2, nodes="null"), (1, 6)),
        ("cluster: {num_nodes: 9}\n" + TEACHERS, (6, 8)),
        ("cluster: {num_nodes: 3}\n" + REWARDS.format(gpus=8), (2, 8)),
        (REWARDS.format(gpus=2), (1, 6)),
    ],
)
def test_the_ranks_that_train(tmp_path: Path, text: str, ranks: tuple[int, int]) -> None:
    launch = read(plant(tmp_path, {"base.yaml": BASE, "a.yaml": f"defaults: base.yaml\n{text}"}), "a.yaml")
    nodes, gpus, world = launch.nodes, launch.gpus_per_node, launch.world
    assert nodes is not None and gpus is not None and world is not None
    assert (nodes.data, gpus.data, world.data) == (*ranks, ranks[0] * ranks[1])


def test_ranks_that_cannot_be_counted_are_unknown(tmp_path: Path) -> None:
    child = "defaults: base.yaml\ncluster: {num_nodes: 2}\npolicy:\n" + APART.format(gpus=8, nodes=2)
    world = read(plant(tmp_path, {"base.yaml": BASE, "a.yaml": child}), "a.yaml").world
    assert world is not None and "take every node" in world.reason


# Hostile and broken -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"a.yaml": "defaults: b.yaml\n", "b.yaml": "defaults: a.yaml\n"}, "circle"),
        ({"a.yaml": "defaults: a.yaml\n"}, "circle"),
        ({"a.yaml": "defaults: nowhere.yaml\n"}, "no such file"),
        ({"a.yaml": "defaults: ../../../etc/passwd.yaml\n"}, "outside"),
        ({"a.yaml": "defaults: /etc/hosts\n"}, "outside"),
        ({"a.yaml": "defaults: b.yaml\n", "b.yaml": "{% if x %}\n{{ y }}: 1\n"}, "not YAML"),
        ({"a.yaml": "defaults: b.yaml\n", "b.yaml": "a:\n\tb: 1\n"}, "not YAML"),
        ({"a.yaml": "defaults: b.yaml\n", "b.yaml": "- 1\n"}, "no mapping"),
    ],
)
def test_a_base_that_cannot_be_read_is_a_problem_at_its_line(
    tmp_path: Path, files: Mapping[str, str], says: str
) -> None:
    own = "policy: {model_name: x, megatron_cfg: {context_parallel_size: 4}}\ncluster: {num_nodes: 1}\n"
    context = plant(tmp_path, {**files, "a.yaml": files["a.yaml"] + own})
    launch = read(context, "a.yaml")
    cp, tp = launch.find(f"{MEGATRON}context_parallel_size"), launch.find(f"{MEGATRON}tensor_model_parallel_size")
    assert cp is not None and cp.data == 4
    assert tp is not None and tp.is_unknown and ("cannot be read" in tp.reason or "circle" in tp.reason)
    assert any(says in p.sentence for p in context.problems)


def test_a_long_line_of_bases_ends(tmp_path: Path) -> None:
    files = {f"f{i}.yaml": f"defaults: f{i + 1}.yaml\n" for i in range(60)}
    context = plant(tmp_path, {**files, "f60.yaml": BASE})
    read(context, "f0.yaml")
    assert any("too many" in p.sentence for p in context.problems)


# Commands -----------------------------------------------------------------------------------------------------------

RUNNER = """\
import os
def main():
    if not args.config:
        args.config = os.path.join(
            os.path.dirname(__file__), "configs", "base.yaml"
        )
"""
TREE = {"examples/run_grpo.py": RUNNER, "examples/configs/base.yaml": BASE, "examples/configs/child.yaml": CHILD}


def started(context: Context, *texts: str, **more: Any) -> Launch:
    one = command(texts, "scripts/run.sh", **more)
    assert READER.claims(one)
    (launch,) = READER.launches(one, context.reader(), context)
    return launch


def test_a_command_names_its_config_and_overrides_it(tmp_path: Path) -> None:
    texts = ["python", "examples/run_grpo.py", "--config", "examples/configs/child.yaml", "++cluster.num_nodes=2"]
    launch = started(plant(tmp_path, TREE), *texts)
    assert launch.world is not None and launch.world.data == 16
    assert lines(launch.writes, "cluster.num_nodes") == ["scripts/run.sh:5"]
    assert lines(launch.writes, f"{MEGATRON}context_parallel_size") == ["examples/configs/child.yaml:4"]


def test_without_a_config_the_source_names_one(tmp_path: Path) -> None:
    launch = started(plant(tmp_path, TREE), "examples/run_grpo.py", f"{MEGATRON}context_parallel_size=2")
    assert data(launch.writes)[f"{MEGATRON}tensor_model_parallel_size"] == 1
    assert data(launch.writes)[f"{MEGATRON}context_parallel_size"] == 2


def test_a_config_out_of_reach_leaves_the_rest_unknown(tmp_path: Path) -> None:
    launch = started(plant(tmp_path, TREE), "examples/run_grpo.py", "--config=/data/x.yaml", "cluster.num_nodes=2")
    tp = launch.find(f"{MEGATRON}tensor_model_parallel_size")
    assert tp is not None and "/data/x.yaml" in tp.reason


@pytest.mark.parametrize(
    ("texts", "claimed"),
    [
        (["examples/run_sft.py", "--config", "x.yaml"], True),
        (["examples/nemo_gym/run_grpo_nemo_gym.py", "--config", "x.yaml"], True),
        (["examples/run_eval.py", "--config", "x.yaml"], False),
        (["run_sft.py", "--model_name_or_path", "x"], False),
        (["pretrain_gpt.py"], False),
        (["-m", "torch.distributed.run"], False),
    ],
)
def test_what_is_claimed(texts: list[str], claimed: bool) -> None:
    assert READER.claims(command(texts)) is claimed


def test_a_test_suite_s_script_finds_its_config_by_name() -> None:
    found = initial_variables("tests/test_suites/llm/performance/grpo-x-1n8g.sh")
    assert found["CONFIG_PATH"] == "examples/configs/recipes/llm/performance/grpo-x-1n8g.yaml"
    assert (found["EXP_NAME"], found["PROJECT_ROOT"]) == ("grpo-x-1n8g", ".")
    below = initial_variables("third/RL/tests/test_suites/vlm/a.sh")
    assert below["CONFIG_PATH"] == "third/RL/examples/configs/recipes/vlm/a.yaml"
    assert initial_variables("tests/functional/grpo.sh") == {}
    assert initial_variables("tests/test_suites/llm/common.env") == {}


# Upstream -----------------------------------------------------------------------------------------------------------


def test_upstream_configs_resolve_as_omegaconf_resolves_them() -> None:
    omegaconf = pytest.importorskip("omegaconf")
    from meshlint.config.hydra.interpolation import ARITHMETIC

    root = Path(os.environ.get("MESHLINT_UPSTREAM", ""), "RL")
    if not os.environ.get("MESHLINT_UPSTREAM") or not root.is_dir():
        pytest.skip("MESHLINT_UPSTREAM names no folder with a checkout of NeMo-RL in RL")
    for name, function in ARITHMETIC.items():
        omegaconf.OmegaConf.register_new_resolver(name, function, replace=True)
    files = sorted(p.relative_to(root).as_posix() for p in (root / "examples").rglob("*.yaml"))
    context = Context(Tree(root, (root,)), tuple(files))
    drawn = random.Random(7).sample(sorted(entries(context)), 10)
    for path in drawn:
        theirs = dict(flat(merged(omegaconf.OmegaConf, root / path)))
        mine = {w.key: w.value for w in read(context, path).writes}
        known = {key: value.data for key, value in mine.items() if not value.is_unknown}
        assert {k: v for k, v in theirs.items() if k in known} == known
        assert {key for key in theirs if key not in known} <= set(mine)


def merged(conf: Any, file: Path) -> Any:
    """Merge a file over its bases by OmegaConf alone."""
    own = conf.load(file)
    bases = own.pop("defaults", [])
    base = conf.create({})
    for name in [bases] if isinstance(bases, str) else bases:
        base = over(conf, base, merged(conf, file.parent / name))
    return over(conf, base, own)


def over(conf: Any, base: Any, child: Any) -> Any:
    for key in list(child):
        section = None if conf.is_missing(child, key) else child._get_node(key)
        if conf.is_dict(section) and section.get("_override_", False):
            section.pop("_override_")
            base.pop(key, None)
    return conf.merge(base, child)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "run_grpo.py",
            "def main(args):\n    if not args.config:\n"
            '        args.config = os.path.join(os.path.dirname(__file__), "conf", "base.yaml")\n',
        ),
        ("go.sh", "uv run other.py --config conf/base.yaml grpo.x=1\n"),
        ("go.sh", 'uv run other.py --config="${HERE}/conf/base.yaml"\n'),
        ("go.sh", "uv run other.py --config $HERE/conf/base.yaml\n"),
        ("docs/guide.md", "Start it:\n\n    uv run other.py --config conf/base.yaml\n"),
    ],
)
def test_a_base_that_is_started_as_it_is_is_a_launch_too(name: str, text: str, tmp_path: Path) -> None:
    context = plant(tmp_path, {**FAMILY, name: text})
    assert entries(context) == ["conf/base.yaml", "conf/deep/grand.yaml"]
    assert entries(context, "conf/child.yaml") == ["conf/deep/grand.yaml"]


SUITE = {
    "examples/configs/base.yaml": BASE,
    "examples/configs/recipes/llm/mid.yaml": CHILD.replace("base.yaml", "../../base.yaml"),
    "examples/configs/recipes/llm/end.yaml": "defaults: mid.yaml\n",
}


def test_a_recipe_with_a_script_of_its_name_in_the_test_suite_is_a_launch_too(tmp_path: Path) -> None:
    script = "uv run examples/run_grpo.py --config $CONFIG_PATH\n"
    folder = "examples/configs/recipes/llm"
    context = plant(tmp_path, {**SUITE, "tests/test_suites/llm/mid.sh": script})
    assert sorted(entries(context)) == [f"{folder}/end.yaml", f"{folder}/mid.yaml"]
    assert entries(plant(tmp_path / "none", {**SUITE, "tests/test_suites/llm/other.sh": script})) == [
        f"{folder}/end.yaml"
    ]


def test_a_recipe_that_a_person_names_is_judged_by_itself_too(tmp_path: Path) -> None:
    context = plant(tmp_path, {**FAMILY, "conf/part.yaml": "policy:\n  model_name: x\n"})
    context.named = frozenset(("conf/child.yaml", "conf/part.yaml"))
    assert entries(context, "conf/child.yaml") == ["conf/child.yaml", "conf/deep/grand.yaml"]
    assert entries(context, "conf/part.yaml") == []


def test_another_file_of_the_name_starts_no_base(tmp_path: Path) -> None:
    context = plant(tmp_path, {**FAMILY, "go.sh": "uv run other.py --config elsewhere/base.yaml\n"})
    assert entries(context) == ["conf/deep/grand.yaml"]


def test_nodes_that_train_are_told_as_what_is_left_of_the_cluster(meshlint: CommandLine) -> None:
    run = meshlint("check", Path(__file__).parents[2] / "fixtures" / "PAR001" / "bad" / "nemo_rl_apart.yaml")
    assert "nodes = 4 - 1 = 3" in run.out
    assert "of the nodes, these train nothing" in run.out
