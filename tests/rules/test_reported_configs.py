"""Config faults that people reported or fixed: each that its upstream source confirms is found, its cure is silent.

A row names the public thread or commit, and where the check or the silent path stands in the source.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

RECIPE = '''"""A recipe of our own."""
from megatron.bridge.models.gpt_provider import GPTModelProvider
from megatron.bridge.training.config import (
    CheckpointConfig,
    ConfigContainer,
    DistributedDataParallelConfig,
    DistributedInitConfig,
    GPTDatasetConfig,
    GPTSFTDatasetConfig,
    TrainingConfig,
)


def tiny_recipe() -> ConfigContainer:
    cfg = ConfigContainer(
        model=GPTModelProvider(num_layers=4, hidden_size=4096, num_attention_heads=32, seq_length=4096),
        train=TrainingConfig(train_iters=10, micro_batch_size=1, global_batch_size=16),
        dataset={dataset}(seq_length=4096),
        ddp=DistributedDataParallelConfig(),
        dist=DistributedInitConfig(),
        checkpoint=CheckpointConfig(),
    )
{lines}
    return cfg
'''

SCRIPT = """#!/bin/bash
torchrun --nproc-per-node 8 --nnodes 8 pretrain_gpt.py --num-layers 4 --hidden-size 4096 --num-attention-heads 32 \\
    --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 64 {words}
"""

NEWEST = ("--pin", "transformer-engine=2.19.0")


@dataclass(frozen=True, slots=True)
class Report:
    """A reported fault: the lines that make it, those that cure it, and the code and outcome to be found."""

    source: str
    code: str
    outcome: str
    fault: str
    cure: str
    pins: tuple[str, ...] = NEWEST
    dataset: str = "GPTDatasetConfig"


BEFORE, AFTER = ("--pin", "megatron-bridge=0.3.1"), ("--pin", "megatron-bridge=0.4.0")
TWO_LEVEL = 'cfg.model.context_parallel_size = 16\ncfg.model.cp_comm_type = "a2a+p2p"'
PACKED = "cfg.dataset.enable_offline_packing = True\ncfg.model.calculate_per_token_loss = True"

REPORTS = {
    "two levels without sizes, before the check": Report(
        "Megatron-Bridge issue 2667, commit 91c39a0da; megatron-core core_v0.16.1 "
        "core/extensions/transformer_engine.py builds no hierarchical group and hands None on",
        "HCP001", "wrong", TWO_LEVEL, TWO_LEVEL + "\ncfg.model.hierarchical_context_parallel_sizes = [8, 2]",
        (*NEWEST, *BEFORE),
    ),
    "two levels without sizes, since the check": Report(
        "Megatron-Bridge issue 2667, commit 91c39a0da: training/config.py validates at v0.4.0",
        "HCP001", "crash-start", TWO_LEVEL, TWO_LEVEL + "\ncfg.model.hierarchical_context_parallel_sizes = [8, 2]",
        (*NEWEST, *AFTER),
    ),
    "sizes that do not multiply to cp": Report(
        "Megatron-LM d98e8a64 and Bridge 067f987d, source read: parallel_state.py asserts the product",
        "HCP002", "crash-start",
        TWO_LEVEL + "\ncfg.model.hierarchical_context_parallel_sizes = [4, 2]",
        TWO_LEVEL + "\ncfg.model.hierarchical_context_parallel_sizes = [4, 4]",
    ),
    "decentralized process groups": Report(
        "Megatron-Bridge, source read: training/initialize.py refuses sizes under use_decentralized_pg",
        "HCP004", "crash-start",
        TWO_LEVEL + "\ncfg.model.hierarchical_context_parallel_sizes = [4, 4]\ncfg.dist.use_decentralized_pg = True",
        TWO_LEVEL + "\ncfg.model.hierarchical_context_parallel_sizes = [4, 4]\ncfg.dist.use_decentralized_pg = False",
    ),
    "three levels": Report(
        "Transformer Engine v2.8 attention/dot_product_attention/context_parallel.py asserts two groups",
        "HCP003", "crash-late",
        TWO_LEVEL + "\ncfg.model.hierarchical_context_parallel_sizes = [2, 2, 4]",
        TWO_LEVEL + "\ncfg.model.hierarchical_context_parallel_sizes = [2, 8]",
    ),
    "heads by tp and cp": Report(
        "verl and maxtext reports; Transformer Engine v2.8 context_parallel.py asserts heads % cp over a2a",
        "CTX003", "crash-late",
        "cfg.model.tensor_model_parallel_size = 4\n" + TWO_LEVEL.replace("a2a+p2p", "a2a"),
        "cfg.model.tensor_model_parallel_size = 4\n" + TWO_LEVEL
        + "\ncfg.model.hierarchical_context_parallel_sizes = [8, 2]",
    ),
    "padded to less than 2*cp": Report(
        "Transformer Engine and Bridge reports; thd partitioning floors each sequence by 2*cp",
        "PKD005", "wrong",
        "cfg.model.context_parallel_size = 2\n" + PACKED + "\ncfg.dataset.offline_packing_specs.pad_seq_to_mult = 2",
        "cfg.model.context_parallel_size = 2\n" + PACKED + "\ncfg.dataset.offline_packing_specs.pad_seq_to_mult = 128",
        dataset="GPTSFTDatasetConfig",
    ),
    "packed over two levels before it was allowed": Report(
        "Transformer Engine commit 8ff60f8de, first in v2.19.0 (wheel: context_parallel.py:5520)",
        "PKD004", "crash-late",
        TWO_LEVEL + "\ncfg.model.hierarchical_context_parallel_sizes = [8, 2]\n" + PACKED
        + "\ncfg.dataset.offline_packing_specs.pad_seq_to_mult = 32",
        'cfg.model.context_parallel_size = 16\ncfg.model.cp_comm_type = "p2p"\n' + PACKED
        + "\ncfg.dataset.offline_packing_specs.pad_seq_to_mult = 32",
        ("--pin", "transformer-engine=2.18.0"), "GPTSFTDatasetConfig",
    ),
}  # fmt: skip


def judge(path: Path, pins: tuple[str, ...]) -> list[tuple[str, str]]:
    """Run the command line over a file; give code and outcome of what it finds."""
    command = [sys.executable, "-m", "meshlint", "check", "--isolated", "--no-cache", "--format", "json"]
    done = subprocess.run(
        [*command, *pins, path.name],
        cwd=path.parent,
        env={"PATH": os.environ["PATH"], "HOME": str(path.parent), "PYTHONPATH": os.environ.get("PYTHONPATH", "")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return [(f["code"], f["outcome"]) for f in json.loads(done.stdout)["findings"] if f["severity"] != "info"]


def recipe(folder: Path, report: Report, lines: str) -> Path:
    """Write a recipe with these lines."""
    path = folder / "tiny_recipe.py"
    body = "\n".join(f"    {line}" for line in lines.splitlines())
    path.write_text(RECIPE.format(dataset=report.dataset, lines=body))
    return path


@pytest.mark.parametrize("name", REPORTS)
def test_a_reported_fault_is_found(name: str, tmp_path: Path) -> None:
    report = REPORTS[name]
    assert (report.code, report.outcome) in judge(recipe(tmp_path, report, report.fault), report.pins)


@pytest.mark.parametrize("name", REPORTS)
def test_its_cure_is_silent(name: str, tmp_path: Path) -> None:
    report = REPORTS[name]
    assert judge(recipe(tmp_path, report, report.cure), report.pins) == []


HYBRID = "--context-parallel-size 2 --hybrid-context-parallel"

COMMANDS = {
    "hybrid context parallelism over stages": (
        "Megatron-LM core_v0.16.1, megatron/training/arguments.py asserts one stage and the per-token loss",
        HYBRID + " --calculate-per-token-loss --pipeline-model-parallel-size 2",
        HYBRID + " --calculate-per-token-loss",
    ),
    "hybrid context parallelism without the per-token loss": (
        "Megatron-LM core_v0.16.1, megatron/training/arguments.py",
        HYBRID,
        HYBRID + " --calculate-per-token-loss",
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_hybrid_context_parallelism_excludes(name: str, tmp_path: Path) -> None:
    pins = (*NEWEST, "--pin", "megatron-core=0.16.1")
    path = tmp_path / "run.sh"
    _, fault, cure = COMMANDS[name]
    path.write_text(SCRIPT.format(words=fault))
    assert ("HCP008", "crash-start") in judge(path, pins)
    path.write_text(SCRIPT.format(words=cure))
    assert judge(path, pins) == []


def test_the_word_in_choices_is_no_launch(tmp_path: Path) -> None:
    path = tmp_path / "options.py"
    path.write_text(
        "import argparse\n\nparser = argparse.ArgumentParser()\n"
        + 'parser.add_argument("--cp-comm-type", choices=["p2p", "a2a", "a2a+p2p"])\n'
    )
    assert judge(path, NEWEST) == []


def test_a_list_of_layers_without_two_levels_needs_no_sizes(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text(SCRIPT.format(words="--context-parallel-size 4 --cp-comm-type p2p a2a p2p a2a"))
    assert judge(path, (*NEWEST, "--pin", "megatron-core=0.16.1")) == []


def test_a_later_line_brings_the_sizes(tmp_path: Path) -> None:
    report = REPORTS["two levels without sizes, before the check"]
    lines = TWO_LEVEL + "\ncfg.model.hierarchical_context_parallel_sizes = None\n"
    lines += "cfg.model.hierarchical_context_parallel_sizes = [4, 4]"
    assert judge(recipe(tmp_path, report, lines), report.pins) == []
