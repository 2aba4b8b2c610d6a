"""Advice looks at a bounded number of sizes: no number that somebody writes keeps a rule busy."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from meshlint.config.fields import FIELDS
from meshlint.config.parse import as_int

HUGE = 999_999_999_999
SMALL = {
    "tensor_model_parallel_size": 2,
    "pipeline_model_parallel_size": 2,
    "context_parallel_size": 2,
    "expert_model_parallel_size": 2,
    "num_layers": 8,
    "hidden_size": 64,
    "num_attention_heads": 8,
    "num_query_groups": 4,
    "num_experts": 8,
    "seq_length": 64,
    "max_position_embeddings": 64,
    "micro_batch_size": 1,
    "global_batch_size": 8,
}
SWITCHES = ("sequence-parallel", "use-distributed-optimizer", "group-query-attention", "bf16")
WHOLE = sorted(name for name, field in FIELDS.items() if field.parse is as_int and not name.startswith("@"))
CPU_S = 120
"""What all files together may take; a loop over one such number takes hours."""


def script(huge: dict[str, int], comm: str) -> str:
    values = {**SMALL, **huge}
    flags = [f"--{name.replace('_', '-')} {value}" for name, value in values.items()]
    switches = [f"--{name}" for name in SWITCHES]
    return f"torchrun --nproc-per-node 8 pretrain_gpt.py --cp-comm-type {comm} {' '.join([*flags, *switches])}\n"


def bounded() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))


@pytest.mark.parametrize("comm", ["p2p", "a2a"])
def test_a_huge_number_in_any_field_is_judged(tmp_path: Path, comm: str) -> None:
    for name in WHOLE:
        (tmp_path / f"{name}.sh").write_text(script({name: HUGE}, comm))
    (tmp_path / "all.sh").write_text(script(dict.fromkeys(WHOLE, HUGE), comm))
    words = [sys.executable, "-m", "meshlint", "check", "--no-cache", "--preview", "--format", "json", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, preexec_fn=bounded)
    assert (done.returncode, done.stderr) == (1, "")
    report = json.loads(done.stdout)
    assert len(report["coverage"]) == len(WHOLE) + 1
    assert report["findings"]
