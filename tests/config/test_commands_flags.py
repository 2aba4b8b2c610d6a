"""Flag-style frameworks: Megatron-LM, slime and ms-swift from the words of a command."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_commands_launchers import words

from conftest import CommandLine
from meshlint.config.command import Command
from meshlint.config.commands.dispatch import launches_of
from meshlint.config.commands.flags import Grammar, writes
from meshlint.config.commands.launchers import peel
from meshlint.config.launch import Launch
from meshlint.config.surface import Context
from meshlint.config.value import State, Value
from meshlint.place import Span
from meshlint.sources.tree import Tree

SHAPE = "--num-layers 2 --hidden-size 8 --num-attention-heads 2"


def launches(line: str, folder: Path = Path("/nowhere"), **environment: str) -> list[Launch]:
    context = Context(Tree(folder, (folder,)))
    found = peel(words(line), {name: Value(State.SET, value) for name, value in environment.items()})
    command = Command(
        found.words,
        "run.sh",
        "command 1",
        Span("run.sh", 1),
        environment=found.environment,
        nodes=found.nodes,
        gpus_per_node=found.gpus_per_node,
        world=found.world,
    )
    return list(launches_of(command, context.reader(), context))


def launch(line: str, folder: Path = Path("/nowhere"), **environment: str) -> Launch:
    (found,) = launches(line, folder, **environment)
    return found


def data(found: Launch, key: str) -> object:
    value = found.find(key)
    return "not written" if value is None else "?" if value.is_unknown else value.data


def read(line: str) -> list[tuple[str, object]]:
    made = writes(words(line), Grammar(lists={"sizes"}, bare={"bf16"}))
    return [(w.key, "?" if w.value.is_unknown else w.value.data) for w in made]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("--a 1 --b=2 --c-d x", [("a", "1"), ("b", "2"), ("c_d", "x")]),
        ("--bare --other", [("bare", True), ("other", True)]),
        ("--lr -1e-5 --n -3", [("lr", "-1e-5"), ("n", "-3")]),
        ("--sizes 2 2 --x", [("sizes", ("2", "2")), ("x", True)]),
        ("--sizes 2", [("sizes", ("2",))]),
        ("--many a b c", [("many", ("a", "b", "c"))]),
        ("--k= --v 'x y'", [("k", ""), ("v", "x y")]),
        ("--a ?X --b 2", [("a", "?"), ("b", "2")]),
        ("--a=?X --b 2", [("a", "?"), ("b", "2")]),
        ("--load ?*PATH --b 2", [("load", "?"), ("b", "2")]),
        ("--a 1 ?*REST --b 2", [("a", "1"), ("*", "?"), ("b", "2")]),
        ("--bf16 ?*REST --b 2", [("bf16", True), ("*", "?"), ("b", "2")]),
        ("--flag ?*MODEL_ARGS --b 2", [("flag", True), ("*", "?"), ("b", "2")]),
        ("--?NAME 1", [("*", "?")]),
        ("positional --a 1", [("a", "1")]),
        ("", []),
    ],
)
def test_flags_are_read_as_argparse_reads_them(line: str, wanted: list[tuple[str, object]]) -> None:
    assert read(line) == wanted


def test_a_flag_given_again_is_marked_and_the_last_one_counts() -> None:
    found = launch(f"torchrun pretrain_gpt.py {SHAPE} --seq-length 1 --seq-length=2")
    assert [(w.value.data, w.same_place) for w in found.history("seq_length")] == [("1", False), ("2", True)]
    assert data(found, "seq_length") == "2"


def test_what_an_unknown_word_may_override_is_unknown_and_what_follows_is_not() -> None:
    found = launch("torchrun pretrain_gpt.py --tensor-model-parallel-size 2 ?*MORE --context-parallel-size 4")
    assert data(found, "tensor_model_parallel_size") == "?"
    assert data(found, "context_parallel_size") == "4"


@pytest.mark.parametrize(
    ("line", "framework", "entry"),
    [
        (f"torchrun pretrain_gpt.py {SHAPE}", "megatron-lm", "pretrain_gpt.py"),
        ("python /opt/megatron/pretrain_vlm.py --bf16", "megatron-lm", "pretrain_vlm.py"),
        ("torchrun examples/mimo/train.py --tensor-model-parallel-size 2", "megatron-lm", "train.py"),
        (f"python -m tools.run_server {SHAPE}", "megatron-lm", "tools.run_server"),
        ("python3 train.py --actor-num-nodes 1 --tensor-model-parallel-size 2", "slime", "train.py"),
        ("python3 train_async.py --rollout-batch-size 1", "slime", "train_async.py"),
        ("megatron sft --model x", "ms-swift", "megatron sft"),
        ("/usr/bin/megatron rlhf --model x", "ms-swift", "megatron rlhf"),
        ("python swift/cli/_megatron/pt.py --model x", "ms-swift", "megatron pt"),
    ],
)
def test_programs_belong_to_their_framework(line: str, framework: str, entry: str) -> None:
    found = launch(line)
    assert (found.framework, found.entry, found.identity) == (framework, entry, "run.sh::command 1")


@pytest.mark.parametrize(
    "line",
    [
        "python train.py --lr 1",
        "python preprocess_data.py --input x",
        "swift sft --model x",
        "megatron",
        "?X --tp 1",
        "ls",
    ],
)
def test_other_programs_are_no_launch(line: str) -> None:
    assert launches(line) == []


def test_slimes_actor_is_the_world() -> None:
    found = launch("python3 train.py --actor-num-nodes 4 --actor-num-gpus-per-node 8 --colocate --hf-checkpoint x")
    assert found.world is not None and found.nodes is not None
    assert (found.nodes.data, found.world.data) == (4, 32)
    assert data(found, "colocate") is True
    default = launch("python3 train.py --actor-num-nodes 2 --hf-checkpoint x").world
    assert default is not None and default.data == 16


def test_slimes_world_is_unknown_with_its_parts() -> None:
    found = launch("python3 train.py --actor-num-nodes ?NODES --hf-checkpoint x")
    assert found.world is not None and found.world.reason == "NODES is not set"


def test_swifts_world_is_in_the_environment() -> None:
    found = launch("megatron sft --model x", NPROC_PER_NODE="8", NNODES="2")
    assert found.world is not None and found.world.data == 16
    alone = launch("megatron sft --model x").world
    assert alone is not None and (alone.data, alone.state) == (1, State.UNSET)
    named = launch("megatron sft --model x", NPROC_PER_NODE="all").world
    assert named is not None and named.is_unknown


def test_swifts_file_of_flags_comes_before_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "sft.yaml").write_text(
        "tensor_model_parallel_size: 2\ncontext-parallel-size: 4\ntarget_modules: [a, b]\nENV:\n  NPROC_PER_NODE: 8\n"
    )
    for line in ("megatron sft sft.yaml", "megatron sft --config sft.yaml"):
        found = launch(f"{line} --tensor_model_parallel_size 8", tmp_path)
        assert data(found, "tensor_model_parallel_size") == "8"
        assert data(found, "context_parallel_size") == 4
        assert data(found, "target_modules") == ("a", "b")
        context = found.find("context_parallel_size")
        assert (
            context is not None
            and context.span is not None
            and (context.span.path, context.span.line) == ("sft.yaml", 2)
        )
        assert "sft.yaml" in found.reads
        assert found.world is not None and found.world.data == 8


@pytest.mark.parametrize("content", [None, "a: [", "- 1\n", ""])
def test_swifts_file_that_cannot_be_read_leaves_keys_unknown(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "sft.yaml").write_text(content)
    found = launch("megatron sft sft.yaml --context_parallel_size 2", tmp_path)
    assert data(found, "context_parallel_size") == "2"
    assert data(found, "tensor_model_parallel_size") == ("?" if content in (None, "a: [") else "not written")


UNDERSCORED = "--context-parallel-size 4 --cp_comm_type a2a+p2p"


@pytest.mark.parametrize(
    "line",
    [
        f"torchrun pretrain_gpt.py {SHAPE} {UNDERSCORED}",
        f"torchrun pretrain_gpt.py {SHAPE} {UNDERSCORED.replace(' a2a', '=a2a')}",
        f"python3 train.py --colocate --hf-checkpoint x --num-rollout 1 {UNDERSCORED}",
    ],
)
def test_an_underscore_sets_no_flag_of_megatron(line: str) -> None:
    found = launch(line)
    assert (data(found, "context_parallel_size"), data(found, "cp_comm_type")) == ("4", "?")
    value = found.find("cp_comm_type")
    assert value is not None
    assert "spells it `--cp-comm-type`" in value.reason


def test_ms_swift_takes_underscores() -> None:
    found = launch("megatron sft --model x --cp_comm_type a2a --context_parallel_size 2")
    assert (data(found, "cp_comm_type"), data(found, "context_parallel_size")) == ("a2a", "2")


def test_a_program_with_underscores_of_its_own_is_not_megatrons() -> None:
    assert launches("torchrun mine.py --tensor_model_parallel_size 8 --num_layers 2") == []
    assert len(launches("torchrun mine.py --tensor-model-parallel-size 8")) == 1


def test_what_is_said_of_an_underscore(tmp_path: Path, meshlint: CommandLine) -> None:
    (tmp_path / "run.sh").write_text(f"torchrun pretrain_gpt.py {SHAPE} {UNDERSCORED}\n")
    (tmp_path / "model_config.yaml").write_text(
        "MODEL_ARGS:\n  --context-parallel-size: 4\n  --cp_comm_type: a2a+p2p\n"
    )
    for file in ("run.sh", "model_config.yaml"):
        run = meshlint("check", "--isolated", "--no-cache", "--select", "HCP001", tmp_path / file)
        assert run.status == 0
        assert "0 of 1 rule judged" in run.out
        assert "`--cp_comm_type` is no flag of Megatron-LM's parser, which spells it `--cp-comm-type`" in run.out
