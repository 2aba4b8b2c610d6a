"""A command given on meshlint's own command line."""

from __future__ import annotations

from pathlib import Path

from meshlint.config.commands.argv import PATH, from_argv, text_of
from meshlint.config.launch import Launch
from meshlint.config.surface import Context
from meshlint.sources.tree import Tree


def launches(argv: list[str], folder: Path, environ: dict[str, str] | None = None) -> list[Launch]:
    return list(from_argv(argv, environ or {}, Context(Tree(folder, (folder,)))))


def data(launch: Launch, key: str) -> object:
    value = launch.find(key)
    return None if value is None else value.data


ARGV = [
    "torchrun",
    "--nproc_per_node",
    "8",
    "pretrain_gpt.py",
    "--tensor-model-parallel-size=4",
    "--x",
    "a b",
    "--swiglu",
]


def test_words_point_into_the_command_line(tmp_path: Path) -> None:
    (found,) = launches(ARGV, tmp_path, {"CUDA_DEVICE_MAX_CONNECTIONS": "1"})
    assert (found.framework, found.surface, found.identity) == ("megatron-lm", "command-line", f"{PATH}::command 1")
    assert found.world is not None and found.world.data == 8
    assert found.environment["CUDA_DEVICE_MAX_CONNECTIONS"].data == "1"
    for key, text in (("tensor_model_parallel_size", "4"), ("x", "'a b'"), ("swiglu", "--swiglu")):
        value = found.find(key)
        assert value is not None and value.span is not None
        assert text_of(ARGV)[value.span.column - 1 : value.span.end_column - 1] == text


def test_a_script_is_followed_with_its_arguments_and_the_environment(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(
        "TP=${1:-8}\ntorchrun pretrain_gpt.py --tensor-model-parallel-size $TP --seq-length $S\n"
    )
    (found,) = launches(["bash", "run.sh", "2"], tmp_path, {"S": "64"})
    assert (data(found, "tensor_model_parallel_size"), data(found, "seq_length")) == ("2", "64")
    assert found.place.path == "run.sh"
    (found,) = launches(["./run.sh"], tmp_path)
    value = found.find("seq_length")
    assert data(found, "tensor_model_parallel_size") == "8"
    assert value is not None and value.is_unknown


def test_a_text_for_the_shell_is_followed(tmp_path: Path) -> None:
    text = "CP=2; torchrun pretrain_gpt.py --context-parallel-size $CP --bf16"
    (found,) = launches(["srun", "bash", "-lc", text], tmp_path)
    assert data(found, "context_parallel_size") == "2"


def test_what_is_no_launch_gives_none(tmp_path: Path) -> None:
    context = Context(Tree(tmp_path, (tmp_path,)))
    for argv in ([], ["ls"], ["bash"], ["bash", "missing.sh"], ["torchrun"], ["bash", "-c"], [""]):
        assert list(from_argv(argv, {}, context)) == []
    assert [p.span.path for p in context.problems] == ["missing.sh"]
