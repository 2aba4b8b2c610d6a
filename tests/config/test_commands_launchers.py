"""Launchers are taken off, and say how many ranks there are."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest

from conftest import CommandLine
from meshlint.config.command import HOLE, Word
from meshlint.config.commands.launchers import Peeled, env_vars, peel
from meshlint.config.value import Kind, Origin, State, Value
from meshlint.place import Span


def words(line: str) -> list[Word]:
    """Make words of a line; `?NAME` is an unknown word, `?*NAME` one that may be several."""
    made = []
    for column, text in enumerate(shlex.split(line), 1):
        origin = (Origin(Kind.WRITTEN, text, Span("run.sh", 1, column)),)
        known, hole, name = text.partition("?")
        if hole and name.strip("*").isidentifier():
            made.append(Word(None, origin, f"{name.strip('*')} is not set", known, name.startswith("*")))
        else:
            made.append(Word(text, origin))
    return made


def peeled(line: str, environment: Mapping[str, Value] | None = None) -> Peeled:
    return peel(words(line), environment or {})


def texts(found: Peeled) -> list[str]:
    return [w.text if w.text is not None else "?" for w in found.words]


def counts(found: Peeled) -> tuple[object, object, object]:
    return tuple(  # type: ignore[return-value]
        None if v is None else v.data if not v.is_unknown else "?"
        for v in (found.nodes, found.gpus_per_node, found.world)
    )


PROGRAM = "train.py --tp 4 -- --last"
LINES = {
    f"torchrun --nproc_per_node 8 --nnodes=2 --master_addr x {PROGRAM}": (2, 8, 16),
    f"torchrun --nproc-per-node=8 --standalone {PROGRAM}": (1, 8, 8),
    f"torchrun {PROGRAM}": (1, 1, 1),
    f"torchrun --nproc_per_node=gpu --nnodes 2 {PROGRAM}": (2, "?", "?"),
    f"torchrun --nproc_per_node ?GPUS --nnodes 2 {PROGRAM}": (2, "?", "?"),
    f"torchrun ?*ARGS {PROGRAM}": ("?", "?", "?"),
    f"torchrun --nnodes 1:4 --nproc_per_node 8 {PROGRAM}": ("?", 8, "?"),
    f"torchrun --nnodes 4:4 --nproc_per_node 8 {PROGRAM}": (4, 8, 32),
    f"mpirun -np 8 -npernode 8 {PROGRAM} : -np 16 {PROGRAM}": ("?", "?", "?"),
    f"srun -N 1 -n 8 {PROGRAM} : -N 2 -n 16 {PROGRAM}": ("?", "?", "?"),
    f"numactl --cpunodebind=0 nsys profile -o out --trace cuda torchrun --nproc_per_node 2 {PROGRAM}": (1, 2, 2),
    f"srun -N4 --ntasks-per-node=8 -l --container-image x {PROGRAM}": (4, 8, 32),
    f"srun -n 16 {PROGRAM}": (None, None, 16),
    f"srun -N 2 torchrun --nnodes 2 --nproc_per_node 4 {PROGRAM}": (2, 4, 8),
    f"mpirun --allow-run-as-root -np 8 -x PATH --mca btl tcp {PROGRAM}": (None, None, 8),
    f"accelerate launch --multi_gpu --num_processes 16 --num_machines 2 {PROGRAM}": (2, None, 16),
    f"deepspeed --num_gpus 4 {PROGRAM}": (1, 4, 4),
    f"timeout 10h uv run --active env A=1 B=2 {PROGRAM}": (None, None, None),
    f"uv run --all-packages --no-sync {PROGRAM}": (None, None, None),
    f"A=1 B=x=y nohup {PROGRAM}": (None, None, None),
    f"docker run --rm --gpus all -e A=1 image:tag torchrun --nproc_per_node 2 {PROGRAM}": (1, 2, 2),
    f"apptainer exec --nv --bind a:b image.sif {PROGRAM}": (None, None, None),
}


@pytest.mark.parametrize(("line", "wanted"), LINES.items())
def test_the_program_is_left_and_the_ranks_are_known(line: str, wanted: tuple[object, ...]) -> None:
    found = peeled(line)
    assert texts(found) == shlex.split(PROGRAM)
    assert counts(found) == wanted


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("python -m torch.distributed.run --nproc_per_node 8 pretrain_gpt.py --tp 1", ["pretrain_gpt.py", "--tp", "1"]),
        ("python3 -u -m torch.distributed.launch --nproc_per_node 8 a.py", ["a.py"]),
        ("torchrun --nproc_per_node 8 -m pkg.train --tp 1", ["-m", "pkg.train", "--tp", "1"]),
        ("python -u -m pkg.train", ["python", "-u", "-m", "pkg.train"]),
        ("python3 train.py --tp 1", ["python3", "train.py", "--tp", "1"]),
        ("srun --label", []),
        ("torchrun", []),
    ],
)
def test_modules_and_interpreters_stay(line: str, wanted: list[str]) -> None:
    assert texts(peeled(line)) == wanted


def test_counts_have_the_place_where_they_are_written() -> None:
    found = peeled("torchrun --nproc_per_node 8 train.py")
    assert found.gpus_per_node is not None and found.gpus_per_node.span == Span("run.sh", 1, 3)
    assert found.nodes is not None and found.nodes.state is State.UNSET


def test_job_options_count_where_srun_gives_none_of_its_own() -> None:
    found = peel(words("srun python train.py"), {}, directives=words("--nodes=4 --ntasks-per-node 8 --gres=gpu:a100:8"))
    assert counts(found) == (4, 8, 32)
    found = peel(words("srun -N 2 python train.py"), {}, directives=words("--nodes=4 --ntasks-per-node 8"))
    assert counts(found) == (2, 8, 16)


def test_launchers_around_a_script_count_for_what_it_starts() -> None:
    found = peel(
        words("python train.py"), {}, wrappers=[words("sbatch --time 1"), words("srun -N 2 --ntasks-per-node 4")]
    )
    assert counts(found) == (2, 4, 8)


def test_variables_in_front_are_the_programs() -> None:
    found = peeled("env A=1 B=?X torchrun train.py")
    assert found.environment["A"].data == "1"
    assert found.environment["B"].is_unknown


def test_devices_that_are_visible_count_for_deepspeed() -> None:
    visible = {"CUDA_VISIBLE_DEVICES": Value(State.SET, "0,1,2")}
    assert counts(peeled("deepspeed train.py", visible)) == (1, 3, 3)
    assert counts(peeled("deepspeed train.py")) == (1, "?", "?")


RAY = """ray job submit --address=x --runtime-env-json='{"env_vars": {"A": "1", "N": 2}}' -- python3 train.py --tp 2"""


def test_ray_starts_what_follows_the_dashes_with_its_variables() -> None:
    found = peeled(RAY)
    assert texts(found) == ["python3", "train.py", "--tp", "2"]
    assert {n: v.data for n, v in found.environment.items()} == {"A": "1", "N": "2"}


def test_rays_variables_are_read_around_what_is_unknown() -> None:
    json = f'--runtime-env-json={{"env_vars": {{"A": "1", "H": "http://{HOLE}:1", "B": "2"}}}}'
    line = [*words("ray job submit"), Word(None, (), "HOST is not set", shape=json), *words("-- python3 train.py")]
    found = peel(line, {}).environment
    assert (found["A"].data, found["B"].data, found["H"].reason) == ("1", "2", "HOST is not set")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"env_vars": {"A": "1"}}', ([("A", "1")], True)),
        ('{"env_vars": {"A": "1", "B": ', ([("A", "1")], False)),
        ('{"working_dir": "."}', ([], True)),
        ("[1]", ([], True)),
        ('{"env_vars": 3}', ([], True)),
        ("not json", ([], False)),
        ('{"env_vars"', ([], False)),
        ("[" * 5000, ([], False)),
    ],
)
def test_a_runtime_environment_gives_what_can_be_read(text: str, wanted: object) -> None:
    assert env_vars(text) == wanted


def test_a_chain_of_launchers_without_end_ends() -> None:
    assert peeled("nohup " * 200 + "train.py").words


@pytest.mark.parametrize(
    ("front", "behind"),
    [
        ("xargs -n 1", ""),
        ("watch -n 1", ""),
        ("find . -name x -exec", " ;"),
        ("parallel -j 1", " ::: 1 2"),
        ("screen -dmS job", ""),
        ("debugpy-run", ""),
        ("/opt/site/launch --queue long --", ""),
        ("strace -f", ""),
    ],
)
def test_whatever_starts_a_launcher_is_taken_off(front: str, behind: str) -> None:
    found = peeled(f"{front} torchrun --nproc-per-node 8 pretrain_gpt.py --a 1{behind}")
    assert texts(found) == ["pretrain_gpt.py", "--a", "1"]
    assert counts(found)[1] == 8


@pytest.mark.parametrize(
    "line",
    [
        "echo torchrun pretrain_gpt.py",
        "pkill -f torchrun pretrain_gpt.py",
        "grep torchrun run.py",
        "pip install torchrun",
    ],
)
def test_who_only_speaks_of_a_launcher_starts_nothing(line: str) -> None:
    assert texts(peeled(line)) == line.split()


def test_a_command_line_in_one_word_is_read(tmp_path: Path, meshlint: CommandLine) -> None:
    sizes = "--tensor-model-parallel-size 3 --num-attention-heads 8 --hidden-size 64 --num-layers 4"
    script = tmp_path / "run.sh"
    command = f"torchrun --nproc-per-node 8 pretrain_gpt.py {sizes}"
    script.write_text(f'tmux new-session -d -s x "{command}"\nfind . -name x -exec {command} \\;\necho "{command}"\n')
    found = meshlint("config", script)
    assert found.status == 0
    starts = [line.rpartition("run.sh:")[2].partition(":")[0] for line in found.out.splitlines() if "::command" in line]
    assert starts == ["1", "2"]
