"""slime's Python launchers: words out of option strings, each at its place in the literal."""

from __future__ import annotations

from pathlib import Path

import pytest
from python_trees import context_of, data, launches, line

from meshlint.config.python.program import Program
from meshlint.config.python.values import Piece
from meshlint.config.python.words import words_of
from meshlint.sources.tree import Tree

LAUNCHER = """
import os
import slime.utils.external_utils.command_utils as U

FAST = bool(int(os.environ.get("FAST", "1")))
MODEL_TYPE = "tiny"
GPUS = 8
CP = 2

def execute():
    perf_args = (
        "--tensor-model-parallel-size 4 "
        f"--context-parallel-size {CP} "
        # "--micro-batch-size 1 "
    )
    if FAST:
        perf_args += "--sequence-parallel "
    train_args = (
        f"--hf-checkpoint /root/models/{MODEL_TYPE} "
        f"{U.get_default_wandb_args(__file__)} "
        f"{perf_args} "
        "--actor-num-nodes 2 --actor-num-gpus-per-node 8 --rollout-batch-size 4 --prompt 'two words'"
    )
    U.execute_train(train_args=train_args, num_gpus_per_node=GPUS, megatron_model_type=MODEL_TYPE)

if __name__ == "__main__":
    execute()
"""
MODEL = """
MODEL_ARGS=(
   --num-layers 24
   --num-attention-heads 16
)
"""


def test_launcher(tmp_path: Path) -> None:
    context = context_of(tmp_path, {"tests/test_tiny.py": LAUNCHER, "scripts/models/tiny.sh": MODEL})
    (launch,) = launches(context, "slime_python")
    assert (launch.framework, launch.identity) == ("slime", "tests/test_tiny.py::execute")
    wanted = {
        "tensor_model_parallel_size": ("4", 11),
        "context_parallel_size": ("2", 7),
        "sequence_parallel": (True, 16),
        "hf_checkpoint": ("/root/models/tiny", 18),
        "rollout_batch_size": ("4", 21),
        "num_layers": ("24", 2),
    }
    assert {key: (data(launch, key), line(launch, key)) for key in wanted} == wanted
    assert data(launch, "micro_batch_size") == "-"
    value = launch.find("num_layers")
    assert value is not None
    assert value.span is not None
    assert value.span.path == "scripts/models/tiny.sh"
    assert launch.world is not None
    assert launch.world.data == 16
    assert launch.environment["CUDA_DEVICE_MAX_CONNECTIONS"].data == "1"


def test_missing_model_leaves_its_keys_unknown(tmp_path: Path) -> None:
    (launch,) = launches(context_of(tmp_path, {"run.py": LAUNCHER}), "slime_python")
    assert data(launch, "num_layers") == "?"
    assert data(launch, "tensor_model_parallel_size") == "4"


def test_unknown_words_may_set_any_flag_before_them(tmp_path: Path) -> None:
    text = LAUNCHER.replace("U.get_default_wandb_args(__file__)", "more_flags()")
    context = context_of(tmp_path, {"run.py": text, "scripts/models/tiny.sh": MODEL})
    (launch,) = launches(context, "slime_python")
    assert [data(launch, key) for key in ("hf_checkpoint", "num_layers")] == ["?", "?"]
    assert data(launch, "tensor_model_parallel_size") == "4"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a b", ["a", "b"]),
        (" a  b ", ["a", "b"]),
        ("'a b' c", ["a b", "c"]),
        ('"a b"c', ["a bc"]),
        ("a\\ b", ["a b"]),
        ("a \\\n b", ["a", "b"]),
        ("'' a", ["", "a"]),
        ("", []),
        ("'open", ["open"]),
    ],
)
def test_words(text: str, wanted: list[str], tmp_path: Path) -> None:
    program = Program(Tree(tmp_path, (tmp_path,)), ())
    assert [w.text for w in words_of((Piece(text, ()),), program)] == wanted


def test_unknown_pieces(tmp_path: Path) -> None:
    program = Program(Tree(tmp_path, (tmp_path,)), ())
    pieces = (Piece("--cp=", ()), Piece(None, (), "why"), Piece(" ", ()), Piece(None, (), "why"), Piece(" --tp 4", ()))
    words = words_of(pieces, program)
    assert [(w.text, w.known, w.several) for w in words] == [
        (None, "--cp=", False),
        (None, "", True),
        ("--tp", "", False),
        ("4", "", False),
    ]


def test_a_model_script_that_sources_another_keeps_its_places(tmp_path: Path) -> None:
    files = {
        "tests/test_tiny.py": LAUNCHER,
        "scripts/models/base.sh": "# a line\n" * 6 + MODEL,
        "scripts/models/tiny.sh": 'source "$(dirname -- "${BASH_SOURCE[0]}")/base.sh"\nMODEL_ARGS[0]="--num-layers"\n',
    }
    (launch,) = launches(context_of(tmp_path, files), "slime_python")
    layers = launch.find("num_layers")
    assert layers is not None and layers.data == "24"
    assert layers.span is not None and (layers.span.path, layers.span.line) == ("scripts/models/base.sh", 9)
