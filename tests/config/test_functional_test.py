"""Megatron-LM's functional tests: the value grammar, the resumed run, variables, and ranks from the recipes."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from meshlint.config.effective import EffectiveConfig
from meshlint.config.launch import Launch
from meshlint.config.registry import framework
from meshlint.config.shapes.source import shapes_of
from meshlint.config.surface import Context
from meshlint.config.surfaces.functional_test import SURFACE
from meshlint.config.value import Data, Kind, Origin, Value, written
from meshlint.config.versions import resolve
from meshlint.sources.tree import Tree

CASE = "tests/functional_tests/test_cases/gpt/one/model_config.yaml"
RECIPE = "tests/test_utils/recipes/h100/gpt.yaml"

CONFIG = """\
ENV_VARS:
  CUDA_DEVICE_MAX_CONNECTIONS: 1
  TP: 4
TEST_TYPE: ckpt-resume
BASE: &base
  --num-layers: 12
  --bf16: true
MODEL_ARGS:
  <<: *base
  --tensor-model-parallel-size: ${TP}
  --cp-comm-type: a2a+p2p
  --hierarchical-context-parallel-sizes: [2 2]
  --recompute-modules: "[mlp moe_act]"
  --moe-layer-freq: ([0]*3+[1]*9)
  --spec: megatron.core.models.x layer_spec
  --pipeline-model-parallel-layout: Et*2|(tt|)*5t|tmL
  --seed: $REPEAT
  --empty: ""
  --micro-batch-size: 1
  --micro-batch-size: 2
MODEL_ARGS_2:
  <<: *base
  --num-layers: 24
"""

GPT_RECIPE = """\
type: basic
spec:
  model: gpt
  nodes: 1
  gpus: 8
  script: |-
    ARGUMENTS=(
        "DATA_PATH=/mnt"
        "TRAINING_SCRIPT_PATH=pretrain_gpt.py"
    )
products:
  - test_case: [one]
    products:
      - environment: [dev]
        scope: [nightly]
"""


def tree(root: Path, files: dict[str, str], **environment: str) -> Context:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    given = {k: written(v, Origin(Kind.OPTION, text=v)) for k, v in environment.items()}
    return Context(Tree(root, (root,)), tuple(sorted(files)), environment=given)


def read(root: Path, files: dict[str, str], case: str = CASE, **environment: str) -> tuple[list[Launch], Context]:
    context = tree(root, files, **environment)
    return list(SURFACE.launches(case, context)), context


def config(launch: Launch, context: Context) -> EffectiveConfig:
    table = framework(launch.framework)
    versions = resolve(launch, table, context)
    newest = {library: r.candidates[-1] for library, r in versions.items() if r.candidates}
    return EffectiveConfig(launch, table, table.roles(launch)[0], versions, newest)


def found(launch: Launch, key: str) -> Value:
    value = launch.find(key)
    assert value is not None
    return value


def test_every_set_of_arguments_is_a_launch(tmp_path: Path) -> None:
    launches, _ = read(tmp_path, {CASE: CONFIG})
    assert [x.identity.removeprefix(f"{CASE}::") for x in launches] == ["MODEL_ARGS", "MODEL_ARGS_2"]
    assert [x.place.line for x in launches] == [8, 21]
    assert found(launches[0], "num_layers").data == "12"
    assert found(launches[1], "num_layers").data == "24"
    assert launches[1].find("cp_comm_type") is None


@pytest.mark.parametrize(
    ("field", "data", "line"),
    [
        ("bf16", True, 7),
        ("tensor_model_parallel_size", 4, 3),
        ("cp_comm_type", ("a2a+p2p",), 11),
        ("hierarchical_context_parallel_sizes", (2, 2), 12),
        ("recompute_modules", ("mlp", "moe_act"), 13),
        ("moe_layer_freq", (0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1), 14),
        ("spec", ("megatron.core.models.x", "layer_spec"), 15),
        ("pipeline_model_parallel_layout", "Et*2|(tt|)*5t|tmL", 16),
        ("micro_batch_size", 2, 20),
    ],
)
def test_the_value_grammar(tmp_path: Path, field: str, data: Data, line: int) -> None:
    launches, context = read(tmp_path, {CASE: CONFIG})
    value = config(launches[0], context).need(field)
    assert value.data == data
    assert value.span is not None
    assert value.span.line == line


def test_an_empty_value_drops_the_flag(tmp_path: Path) -> None:
    launches, _ = read(tmp_path, {CASE: CONFIG})
    assert launches[0].find("empty") is None


def test_a_flag_that_stands_twice_is_marked(tmp_path: Path) -> None:
    launches, _ = read(tmp_path, {CASE: CONFIG})
    assert [w.same_place for w in launches[0].history("micro_batch_size")] == [False, True]
    assert [w.same_place for w in launches[1].history("num_layers")] == [False, False]


def test_a_variable_of_the_runner_is_unknown(tmp_path: Path) -> None:
    launches, _ = read(tmp_path, {CASE: CONFIG})
    assert "REPEAT" in found(launches[0], "seed").reason
    given, _ = read(tmp_path, {CASE: CONFIG}, REPEAT="3")
    assert found(given[0], "seed").data == "3"


def test_the_environment(tmp_path: Path) -> None:
    launches, _ = read(tmp_path, {CASE: CONFIG})
    assert launches[0].environment["CUDA_DEVICE_MAX_CONNECTIONS"].data == "1"
    assert "*" not in launches[0].environment
    before, _ = read(tmp_path, {CASE: f"BEFORE_SCRIPT: export X=1\n{CONFIG}"})
    assert before[0].environment["*"].is_unknown


def test_ranks_come_from_the_recipe(tmp_path: Path) -> None:
    launches, _ = read(tmp_path, {CASE: CONFIG, RECIPE: GPT_RECIPE})
    first = launches[0]
    assert first.entry == "pretrain_gpt.py"
    assert first.world is not None
    assert first.world.data == 8
    assert first.world.span is not None
    assert (first.world.span.path, first.world.span.line) == (RECIPE, 5)
    assert RECIPE in first.reads


def test_a_case_on_two_numbers_of_ranks_is_two_launches(tmp_path: Path) -> None:
    small = GPT_RECIPE.replace("gpus: 8", "gpus: 4")
    same = GPT_RECIPE.replace("gpus: 8", "gpus: 4").replace("nodes: 1", "nodes: 2")
    files = {CASE: CONFIG, RECIPE: GPT_RECIPE, "tests/test_utils/recipes/gb200/gpt.yaml": small}
    launches, _ = read(tmp_path, {**files, "tests/test_utils/recipes/gb200/two.yaml": same})
    assert [x.identity.split("::")[1] for x in launches[:2]] == ["MODEL_ARGS on 4 ranks", "MODEL_ARGS on 8 ranks"]


def test_recipes_that_cut_the_same_ranks_into_other_nodes_leave_nodes_open(tmp_path: Path) -> None:
    other = GPT_RECIPE.replace("gpus: 8", "gpus: 4").replace("nodes: 1", "nodes: 2")
    files = {CASE: CONFIG, RECIPE: GPT_RECIPE, "tests/test_utils/recipes/gb200/gpt.yaml": other}
    (launch, *_), _ = read(tmp_path, files)
    assert launch.world is not None
    assert launch.world.data == 8
    for count in (launch.nodes, launch.gpus_per_node):
        assert count is not None
        assert count.reason == "its recipes start it on 1 node of 8 and 2 nodes of 4"
    assert {RECIPE, "tests/test_utils/recipes/gb200/gpt.yaml"} <= launch.reads


def test_a_product_may_give_its_own_gpus(tmp_path: Path) -> None:
    recipe = GPT_RECIPE.replace("scope: [nightly]", "gpus: [2]")
    launches, _ = read(tmp_path, {CASE: CONFIG, RECIPE: recipe})
    assert launches[0].world is not None
    assert launches[0].world.data == 2


def test_a_run_may_give_its_own_gpus(tmp_path: Path) -> None:
    own = f"{CONFIG}MODEL_ENV_VARS:\n  MODEL_ARGS_2:\n    GPUS_PER_NODE: 2\n"
    launches, _ = read(tmp_path, {CASE: own, RECIPE: GPT_RECIPE})
    assert [x.world.data for x in launches if x.world is not None] == [8, 2]


def test_without_a_recipe_ranks_are_open(tmp_path: Path) -> None:
    launches, _ = read(tmp_path, {CASE: CONFIG})
    assert launches[0].world is None
    assert launches[0].entry == "pretrain_gpt.py"


def test_inference_does_not_train(tmp_path: Path) -> None:
    recipe = GPT_RECIPE.replace("pretrain_gpt.py", "examples/inference/advanced/gpt_static_inference.py")
    launches, context = read(tmp_path, {CASE: CONFIG, RECIPE: recipe})
    assert config(launches[0], context).data("training") is False
    launches, context = read(tmp_path, {CASE: f"MODE: inference\n{CONFIG}"})
    assert config(launches[0], context).data("training") is False
    launches, context = read(tmp_path, {CASE: CONFIG})
    assert config(launches[0], context).data("training") is True


def test_a_nemo_case_is_nemo(tmp_path: Path) -> None:
    case = "tests/functional_tests/test_cases/gpt-nemo/one/model_config.yaml"
    text = "MODEL_ARGS:\n  trainer.strategy.tensor_model_parallel_size: 2\n  model.config.num_layers: 12\n"
    launches, context = read(tmp_path, {case: text}, case)
    made = config(launches[0], context)
    assert launches[0].framework == "nemo2"
    assert (made.data("tensor_model_parallel_size"), made.data("num_layers")) == (2, 12)


@pytest.mark.parametrize("text", ["a: 1\n", "MODEL_ARGS: 3\n", "- x\n", "", "MODEL_ARGS:\n"])
def test_a_file_without_arguments_is_no_launch(tmp_path: Path, text: str) -> None:
    launches, context = read(tmp_path, {CASE: text})
    assert (launches, context.problems) == ([], [])


def test_broken_yaml_is_a_problem(tmp_path: Path) -> None:
    launches, context = read(tmp_path, {CASE: "MODEL_ARGS: [\n", RECIPE: "spec: ["})
    assert launches == []
    assert "not YAML" in context.problems[0].sentence


@pytest.fixture(scope="module")
def upstream() -> Context:
    folder = os.environ.get("MESHLINT_UPSTREAM")
    root = Path(folder or "", "Megatron-LM").resolve()
    if not folder or not root.is_dir():
        pytest.skip("MESHLINT_UPSTREAM names no folder with a checkout of Megatron-LM")
    files = (root / "tests").rglob("*.yaml")
    return Context(Tree(root, (root,)), tuple(sorted(f.relative_to(root).as_posix() for f in files)))


def test_upstream_sizes_are_known(upstream: Context) -> None:
    """All parallel sizes, and layers and heads wherever they are written, of every case of the checkout."""
    unknown: Counter[str] = Counter()
    cases = [path for path in upstream.files if SURFACE.claims(path)]
    launches = [launch for path in cases for launch in SURFACE.launches(path, upstream)]
    for launch in launches:
        made = config(launch, upstream)
        sizes = [f"{dim}_parallel_size" for dim in ("tensor_model", "pipeline_model", "context", "expert_model")]
        given = [f for f in ("num_layers", "num_attention_heads") if made.value(f).is_set or launch.find(f) is not None]
        unknown.update(name for name in (*sizes, *given) if made.value(name).is_unknown)
    assert len(launches) >= 231
    assert unknown == Counter()
    assert upstream.problems == []


def test_a_nemo_case_has_the_shape_of_the_recipe_that_its_product_names(tmp_path: Path) -> None:
    recipe = GPT_RECIPE.replace("pretrain_gpt.py", "nemo llm pretrain").replace(
        "scope: [nightly]", "scope: [nightly]\n        nemo_model: [gemma2_2b]"
    )
    (launch, *_), context = read(tmp_path, {CASE: "MODEL_ARGS:\n  trainer.devices: 8\n", RECIPE: recipe})
    model = config(launch, context).value("model_id")
    assert model.data == "gemma2_2b"
    assert model.span is not None
    assert model.span.path == RECIPE
    assert [shapes_of(context).value(name, model).data for name in ("num_layers", "num_attention_heads")] == [26, 8]
