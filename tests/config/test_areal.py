"""AReaL: allocation words old and new, YAML and commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from hydra_trees import command, data, lines, plant
from hypothesis import given
from hypothesis import strategies as st

from meshlint.config.allocation import Allocation, allocations
from meshlint.config.commands.areal import READER
from meshlint.config.effective import EffectiveConfig
from meshlint.config.launch import Launch
from meshlint.config.registry import framework
from meshlint.config.surface import Context
from meshlint.config.surfaces.areal_yaml import SURFACE
from meshlint.config.versions import resolve

OLD_WORD, TWO = "sglang.d4p1t1+d2p2t1", "sglang:d4t2+megatron:d2p2t1c2"
NAMED, FOLDED = "sglang[r]:d2 + fsdp[a]:d4 | megatron[c]:d4", "megatron:(attn:d2p2t2c2|ffn:d2p2e4)"


@pytest.mark.parametrize(
    ("text", "engines"),
    [
        ("megatron:d4p2t2", [("megatron", "", {"d": 4, "p": 2, "t": 2})]),
        (TWO, [("sglang", "", {"d": 4, "t": 2}), ("megatron", "", {"d": 2, "p": 2, "t": 1, "c": 2})]),
        (OLD_WORD, [("sglang", "", {"d": 4, "p": 1, "t": 1}), ("megatron", "", {"d": 2, "p": 2, "t": 1})]),
        ("sglang.d4+d4p1t1", [("sglang", "", {"d": 4}), ("fsdp", "", {"d": 4, "p": 1, "t": 1})]),
        (FOLDED, [("megatron", "", {"d": 2, "p": 2, "t": 2, "c": 2, "e": 4, "et": 1})]),
        ("megatron:attn:d4t2|ffn:t2e4", [("megatron", "", {"d": 4, "t": 2, "e": 4, "et": 2})]),
        (NAMED, [("sglang", "r", {"d": 2}), ("fsdp", "a", {"d": 4}), ("megatron", "c", {"d": 4})]),
        ("sglang:d4t2+eval", [("sglang", "", {"d": 4, "t": 2})]),
        ("d2e4", [("megatron", "", {"d": 2, "e": 4})]),
    ],
)
def test_allocation_words(text: str, engines: list[tuple[str, str, dict[str, int]]]) -> None:
    assert [(e.backend, e.name, dict(e.degrees)) for e in allocations(text)] == engines


def test_experts_take_no_ranks_of_their_own() -> None:
    assert [e.ranks for e in allocations(f"{TWO}+{FOLDED}")] == [8, 8, 16]


NOT_ONE = [
    "",
    "megatron:",
    "fsdp",
    "d0",
    "d",
    "4d",
    "d4x2",
    "d4+",
    "sglang:d4c2",
    "m4d2",
    "megatron:(attn:d2|ffn:d2p2)",
]


@pytest.mark.parametrize("text", [*NOT_ONE, "d" + "9" * 20, "x" * 600])
def test_what_is_no_allocation(text: str) -> None:
    with pytest.raises(ValueError):
        allocations(text)


@given(st.text(alphabet="dptce0123456789:|+.()[]attnfmegr ", max_size=40))
def test_any_word_is_read_or_refused(text: str) -> None:
    try:
        found = allocations(text)
    except ValueError:
        return
    for engine in found:
        assert engine.ranks >= 1


@given(
    st.dictionaries(st.sampled_from("dptce"), st.integers(1, 64), min_size=1),
    st.booleans(),
)
def test_the_newest_spelling_reads_back(degrees: dict[str, int], apart: bool) -> None:
    attention = {k: v for k, v in degrees.items() if k != "e"} or {"d": 1}
    wanted = {**attention, "e": degrees.get("e", 1), "et": 2} if apart else degrees
    (found,) = allocations(Allocation("megatron", "", wanted).word)
    assert (found.backend, dict(found.degrees)) == ("megatron", wanted)


NEW = """\
cluster: {n_nodes: 2, n_gpus_per_node: 8}
rollout:
  backend: "sglang:d8"
actor:
  backend: "megatron:d2p2t1c2"
  path: some/model
  megatron: {recompute_granularity: full}
ref:
  backend: ${actor.backend}
"""
OLD = """\
cluster:
  n_nodes: 1
  n_gpus_per_node: 8
allocation_mode: sglang.d4p1t1+d1p2t2
actor:
  backend: megatron
ref:
  backend: megatron
"""


def field(context: Context, launch: Launch, name: str) -> object:
    model = framework("areal")
    return EffectiveConfig(launch, model, model.roles(launch)[0], resolve(launch, model, context), {}).value(name).data


def test_engines_have_meshes_of_their_own(tmp_path: Path) -> None:
    context = plant(tmp_path, {"a.yaml": NEW, "b.yaml": "cluster: {n_nodes: 1}\n"})
    assert list(SURFACE.entries(["a.yaml", "b.yaml"], context)) == ["a.yaml"]
    (launch,) = SURFACE.launches("a.yaml", context)
    assert launch.world is not None and launch.world.data == 8
    assert [role.name for role in framework("areal").roles(launch)] == ["actor", "ref"]
    assert [field(context, launch, f"{n}_parallel_size") for n in ("context", "pipeline_model", "tensor_model")] == [
        2,
        2,
        1,
    ]
    assert lines(launch.writes, "ref.backend") == ["a.yaml:5", "a.yaml:9"]


def test_an_older_allocation_gives_every_engine_its_mesh(tmp_path: Path) -> None:
    context = plant(tmp_path, {"a.yaml": OLD})
    (launch,) = SURFACE.launches("a.yaml", context)
    assert data(launch.writes)["ref.backend"] == "megatron:d1p2t2"
    assert launch.world is not None and launch.world.data == 4
    assert lines(launch.writes, "actor.backend") == ["a.yaml:4"]
    assert field(context, launch, "tensor_model_parallel_size") == 2


def test_an_allocation_that_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    context = plant(tmp_path, {"a.yaml": OLD.replace("d1p2t2", "d4p2m1")})
    (launch,) = SURFACE.launches("a.yaml", context)
    assert launch.world is not None and "no mesh" in launch.world.reason


@pytest.mark.parametrize(
    "texts",
    [
        ["python3", "train.py", "--config", "a.yaml", "actor.backend=megatron:d8t2"],
        ["-m", "areal.infra.launcher.ray", "train.py", "--config=a.yaml", "actor.backend=megatron:d8t2"],
    ],
)
def test_a_command_overrides_the_mesh(tmp_path: Path, texts: list[str]) -> None:
    context = plant(tmp_path, {"a.yaml": NEW, "train.py": ""})
    one = command(texts, "run.sh")
    assert READER.claims(one)
    (launch,) = READER.launches(one, context.reader(), context)
    assert launch.world is not None and launch.world.data == 16
    assert lines(launch.writes, "actor.backend") == [f"run.sh:{len(texts)}"]
    assert launch.entry == "train.py"


@pytest.mark.parametrize(
    "texts", [["train.py", "--config", "a.yaml"], ["train.py", "actor.backend=fsdp:d1"], ["-m", "x.y"], []]
)
def test_what_is_not_claimed(texts: list[str]) -> None:
    assert not READER.claims(command(texts))
