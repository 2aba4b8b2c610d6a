"""The evaluator on the forms in which recipes are written: value and line of each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from python_trees import context_of, data, launches, line, named

from meshlint.config.launch import Launch
from meshlint.config.python.derived import derivation

CP = "model.context_parallel_size"
TP = "model.tensor_model_parallel_size"
PAD = "dataset.offline_packing_specs.pad_seq_to_mult"
HEAD = """\
from megatron.bridge.training.config import ConfigContainer, TrainingConfig
from megatron.bridge.models import GPTModelProvider
"""


def recipe(tmp_path: Path, body: str, more: Mapping[str, str] | None = None, name: str = "recipe") -> Launch:
    files = {"recipes.py": HEAD + body, **(more or {})}
    return named(launches(context_of(tmp_path, files), "bridge_recipe"), name)


def test_attribute_writes_and_keywords(tmp_path: Path) -> None:
    launch = recipe(
        tmp_path,
        """
def recipe() -> ConfigContainer:
    cfg = ConfigContainer(
        model=GPTModelProvider(num_layers=24),
        train=TrainingConfig(global_batch_size=64),
    )
    cfg.model.context_parallel_size = 4
    return cfg
""",
    )
    assert [data(launch, key) for key in (CP, "model.num_layers", "train.global_batch_size")] == [4, 24, 64]
    assert [line(launch, key) for key in (CP, "model.num_layers", "train.global_batch_size")] == [9, 6, 7]
    assert launch.identity == "recipes.py::recipe"
    assert launch.reads == {"recipes.py"}


def test_base_recipe_and_helper_of_other_files(tmp_path: Path) -> None:
    launch = recipe(
        tmp_path,
        """
from pkg import base
from pkg.sizes import WIDE

def recipe() -> ConfigContainer:
    cfg = base()
    widen(cfg, size=WIDE)
    return cfg

def widen(cfg, size):
    cfg.model.tensor_model_parallel_size = size
""",
        {
            "pkg/__init__.py": "from .deep import base_config as base\n",
            "pkg/deep.py": HEAD
            + """
def base_config() -> ConfigContainer:
    cfg = ConfigContainer(model=GPTModelProvider(context_parallel_size=2, tensor_model_parallel_size=1))
    return cfg
""",
            "pkg/sizes.py": "WIDE = 8\n",
        },
    )
    assert (data(launch, CP), data(launch, TP)) == (2, 8)
    value = launch.find(TP)
    assert value is not None
    assert [str(o.span) for o in value.origins] == ["pkg/sizes.py:1:8", "recipes.py:13:44"]
    assert [w.value.data for w in launch.history(TP)] == [1, 8]
    assert launch.reads == {"recipes.py", "pkg/__init__.py", "pkg/deep.py", "pkg/sizes.py"}


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("cfg.model.context_parallel_size = 2 * 2", 4),
        ("cfg.model.context_parallel_size = max(1, 8 // 2)", 4),
        ("cfg.model.context_parallel_size = {'a': 4}['a']", 4),
        ("cfg.model.context_parallel_size = 4 if len('abc') == 3 else 1", 4),
        ("for name, size in {'context_parallel_size': 4}.items():\n        setattr(cfg.model, name, size)", 4),
        ("for size in [1, 2, 4]:\n        cfg.model.context_parallel_size = size", 4),
        ("import os\n    cfg.model.context_parallel_size = int(os.environ.get('CP', '4'))", 4),
        ("sizes = dict(context_parallel_size=4)\n    cfg.model = GPTModelProvider(**sizes)", 4),
        ("import dataclasses\n    cfg.model = dataclasses.replace(cfg.model, context_parallel_size=4)", 4),
        ("from copy import deepcopy\n    other = deepcopy(cfg)\n    other.model.context_parallel_size = 9", "-"),
        ("cfg.model.context_parallel_size = undefined()", "?"),
        ("cfg.model.context_parallel_size = 10 ** 10 ** 10", "?"),
        ("cfg.model.context_parallel_size = len('a' * 10**9)", "?"),
    ],
)
def test_expressions(tmp_path: Path, body: str, wanted: object) -> None:
    launch = recipe(
        tmp_path,
        f"""
def recipe() -> ConfigContainer:
    cfg = ConfigContainer(model=GPTModelProvider(num_layers=2))
    {body}
    return cfg
""",
    )
    assert data(launch, CP) == wanted


def test_defaults_of_arguments_count(tmp_path: Path) -> None:
    launch = recipe(
        tmp_path,
        """
def _common(cp: int = 1, hf_path: str = "", **rest) -> ConfigContainer:
    return ConfigContainer(model=GPTModelProvider(context_parallel_size=cp, **rest))

def recipe(**user_kwargs) -> ConfigContainer:
    recommended = {"cp": 4, "tensor_model_parallel_size": 2}
    combined = {**recommended, **user_kwargs}
    return _common(**combined)
""",
    )
    assert (data(launch, CP), data(launch, TP)) == (4, 2)
    assert line(launch, CP) == 8


def test_unknown_condition_gives_variants(tmp_path: Path) -> None:
    found = launches(
        context_of(
            tmp_path,
            {
                "recipes.py": HEAD
                + """
def recipe() -> ConfigContainer:
    cfg = ConfigContainer(model=GPTModelProvider(num_layers=2))
    if on_blackwell():
        cfg.model.context_parallel_size = 2
    else:
        cfg.model.context_parallel_size = 8
    if something_else():
        cfg.model.color = 1
    return cfg
"""
            },
        ),
        "bridge_recipe",
    )
    assert [data(launch, CP) for launch in found] == [2, 8]
    assert [(b.text, b.taken, b.span.line) for launch in found for b in launch.branches] == [
        ("on_blackwell()", True, 6),
        ("on_blackwell()", False, 6),
    ]
    assert data(found[0], "model.color") == "?"


def test_pad_computed_from_a_size_says_so(tmp_path: Path) -> None:
    launch = recipe(
        tmp_path,
        """
from megatron.bridge.data import Data, PackedSequenceSpecs

def recipe() -> ConfigContainer:
    cfg = ConfigContainer(model=GPTModelProvider(context_parallel_size=1), dataset=Data())
    cfg.dataset.offline_packing_specs = PackedSequenceSpecs(pad_seq_to_mult=1)
    if cfg.model.context_parallel_size > 1:
        cfg.dataset.offline_packing_specs.pad_seq_to_mult = cfg.model.context_parallel_size * 2
    cfg.model.context_parallel_size = 4
    return cfg
""",
    )
    assert (data(launch, CP), data(launch, PAD)) == (4, 1)
    found = derivation(launch.find(PAD), "context_parallel_size")
    assert found is not None
    assert found[0] == 1
    assert found[1].span is not None
    assert found[1].span.line == 7


def test_model_of_a_hub_id(tmp_path: Path) -> None:
    launch = recipe(
        tmp_path,
        """
from megatron.bridge import AutoBridge

def recipe() -> ConfigContainer:
    cfg = ConfigContainer(model=None)
    cfg.model = AutoBridge.from_hf_pretrained("org/name").to_megatron_provider(load_weights=False)
    return cfg
""",
    )
    assert data(launch, "@model_id") == "org/name"
    assert line(launch, "@model_id") == 8
    assert (data(launch, "@num_layers"), data(launch, "@seq_length")) == ("?", "?")
    assert data(launch, CP) == "-"


def test_function_that_was_not_read_may_change_anything(tmp_path: Path) -> None:
    launch = recipe(
        tmp_path,
        """
from somewhere.else_ import tune

def recipe() -> ConfigContainer:
    cfg = ConfigContainer(model=GPTModelProvider(context_parallel_size=2, tensor_model_parallel_size=2))
    tune(cfg.model)
    cfg.model.tensor_model_parallel_size = 4
    return cfg
""",
    )
    assert (data(launch, CP), data(launch, TP)) == ("?", 4)


def test_bases_are_judged_at_their_callers(tmp_path: Path) -> None:
    found = launches(
        context_of(
            tmp_path,
            {
                "recipes.py": HEAD
                + """
def _common() -> ConfigContainer:
    return ConfigContainer(model=None, train=TrainingConfig(global_batch_size=1))

def helper(cfg: ConfigContainer) -> ConfigContainer:
    cfg.model.context_parallel_size = 2
    return cfg

def recipe() -> ConfigContainer:
    cfg = _common()
    cfg.model = GPTModelProvider()
    return helper(cfg)
"""
            },
        ),
        "bridge_recipe",
    )
    assert [launch.identity for launch in found] == ["recipes.py::recipe"]
    assert data(found[0], CP) == 2


@pytest.mark.parametrize("line", ["from pkg import small, other", "from . import small, other"])
def test_a_package_that_imports_its_modules_from_itself(line: str, tmp_path: Path) -> None:
    base = (
        HEAD
        + """
def base() -> ConfigContainer:
    cfg = ConfigContainer(model=GPTModelProvider(num_layers=24))
    cfg.model.context_parallel_size = 2
    return cfg
"""
    )
    launch = recipe(
        tmp_path,
        """
from pkg import small

def recipe() -> ConfigContainer:
    return small.base()
""",
        {"pkg/__init__.py": f"{line}\n", "pkg/small.py": base, "pkg/other.py": ""},
    )
    assert data(launch, CP) == 2


def test_a_student_that_is_distilled_keeps_its_settings(tmp_path: Path) -> None:
    files = {
        "distil.py": HEAD
        + """
from megatron.bridge.models.distillation_provider import convert_to_distillation_provider
from megatron.bridge.training.distill import distill

def main():
    cfg = ConfigContainer(model=GPTModelProvider(num_layers=16))
    teacher = GPTModelProvider(num_layers=28)
    cfg.model = convert_to_distillation_provider(cfg.model, teacher, None)
    cfg.model.tensor_model_parallel_size = 2
    distill(config=cfg)

if __name__ == "__main__":
    main()
"""
    }
    (launch,) = launches(context_of(tmp_path, files), "bridge_recipe")
    assert (data(launch, "model.num_layers"), data(launch, TP), line(launch, TP)) == (16, 2, 11)
