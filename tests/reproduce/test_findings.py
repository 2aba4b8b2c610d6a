"""Findings of the code side, shown by their own protocol: the failing arm fails and the fixed one is right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from code_fixtures import CODES, FIXTURES, SELECT, findings
from test_cases import TORCH, needs_torch

from conftest import CommandLine
from meshlint.engine.evidence import Evidence
from meshlint.engine.options import Options
from meshlint.engine.run import check
from meshlint.finding import Finding, Report
from meshlint.reproduce.case import Depth
from meshlint.reproduce.run import Runner

ALIKE = "ok once its ranks do alike"


def judged(folder: Path) -> Report:
    return check([str(folder)], Options(cache=False, select=SELECT, preview=True, cwd=folder))


def reproduced(report: Report, depth: Depth) -> tuple[Finding, ...]:
    with Runner(python=TORCH) as runner:
        return Evidence(runner, depth).of(report).findings


@pytest.mark.parametrize("code", CODES)
def test_every_finding_is_shown_by_its_own_calls(code: str) -> None:
    own = reproduced(Report("", tuple(findings(code))), Depth.SIMULATE)
    assert own
    assert [(one.span, one.reproducer) for one in own if not one.reproducer.endswith(ALIKE)] == []
    assert [one.span for one in own if "by its own calls" not in one.reproducer] == []


@needs_torch
def test_findings_are_shown_on_gloo() -> None:
    found = reproduced(Report("", tuple(findings(code)[0] for code in ("COL002", "GRP003", "PKD001"))), Depth.CPU)
    assert [(one.span, one.reproducer) for one in found if not one.reproducer.endswith(ALIKE)] == []
    assert all("at depth cpu, by its own calls" in one.reproducer for one in found)


def test_a_pairing_shows_by_its_numbers(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import torch.distributed as dist\n\n\ndef step(loss, metric):\n    if dist.get_rank() == 0:\n"
        "        dist.all_reduce(metric)\n    dist.all_reduce(loss)\n"
    )
    (found,) = reproduced(judged(tmp_path), Depth.SIMULATE)
    assert found.reproducer.startswith("wrong-values at depth simulate, by its own calls on 2 ranks")
    assert "rank 0 waits in all_reduce (train.py:7) for rank 1" in found.reproducer
    assert json.loads(found.skeleton)["failing"].startswith("if rank == 0:  # train.py:5\n")


def test_what_two_sides_send_and_take_carries_one_number() -> None:
    (one,) = [one for one in findings("COL003") if one.span.path.endswith("without_a_pipeline.py")]
    (found,) = reproduced(Report("", (one,)), Depth.SIMULATE)
    assert found.reproducer.startswith("hang at depth simulate")
    assert 'check("line 28", x[0], 18.0)' in json.loads(found.skeleton)["failing"]


def test_a_gate_is_written_by_coordinates_and_what_all_do_alike_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import torch.distributed as dist\nfrom megatron.core import parallel_state as mpu\n\n\n"
        "def step(loss, config):\n    tp = mpu.get_tensor_model_parallel_group()\n"
        "    if config.report and mpu.get_tensor_model_parallel_rank() == 0:\n        dist.all_reduce(loss, group=tp)\n"
        "    if config.wait:\n        dist.barrier()\n"
    )
    (found,) = reproduced(judged(tmp_path), Depth.SIMULATE)
    failing = json.loads(found.skeleton)["failing"]
    assert "if tp_rank == 0:  # train.py:7\n" in failing
    assert "if False" not in failing


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("GRP001", ("if rank < 2:  # only_members_make_the_group.py:8", "dist.new_group([0, 1])  # only_members")),
        ("GRP003", ("def mean(x, group):  # divided_by_the_world.py:7", "x = x / dist.get_world_size()  # divided")),
        ("GRP005", ("def count_batches(value, group=None):  # one", "count_batches(torch.tensor([rank + 1]))  # one")),
        ("PKD001", ("if stage in [0, 2]:\n", "dist.broadcast(cu_seqlens, src=first, group=tp_group)  # nothing_for")),
        (
            "COL003",
            ("count = torch.full((1,), 5.0 if rank == first else 0.0)", 'check("count", count, 5.0)  # room_that'),
        ),
    ],
)
def test_what_no_simulation_finds_is_shown_by_its_own_names(code: str, lines: tuple[str, str]) -> None:
    texts = [json.loads(one.skeleton)["failing"] for one in findings(code)]
    assert [text for text in texts if all(line in text for line in lines)]


def test_names_of_files_stay_words_of_a_comment(tmp_path: Path) -> None:
    name = "a\nraise SystemExit.py"
    (tmp_path / name).write_text(
        "import torch.distributed as dist\n\n\ndef step():\n    if dist.get_rank() == 0:\n        dist.barrier()\n"
    )
    (found,) = reproduced(judged(tmp_path), Depth.SIMULATE)
    assert found.reproducer.startswith("hang")
    assert "\nraise" not in json.loads(found.skeleton)["failing"]


def test_the_report_says_what_was_seen(meshlint: CommandLine) -> None:
    words = ("check", "--isolated", "--no-cache", "--preview", "--select", "COL001", "--reproduce-depth", "simulate")
    file = FIXTURES / "COL001" / "bad" / "in_a_ternary.py"
    run = meshlint(*words, file)
    assert run.status == 1
    assert "reproduced: hang at depth simulate, by its own calls on 2 ranks: rank 0 waits in all_reduce" in run.out
    data = json.loads(meshlint(*words, "--format", "json", file).out)
    assert data["findings"][0]["reproducer"].startswith("hang at depth simulate")
    sarif = json.loads(meshlint(*words, "--format", "sarif", file).out)
    assert sarif["runs"][0]["results"][0]["properties"]["reproduced"].startswith("hang at depth simulate")


def test_a_launch_is_shown_by_its_rule(meshlint: CommandLine) -> None:
    words = ("check", "--isolated", "--no-cache", "--select", "HCP001", "--reproduce-depth", "simulate")
    run = meshlint(*words, FIXTURES / "HCP001" / "bad")
    assert "reproduced: wrong-values at depth simulate, by its own sizes (context_parallel_size 4)" in run.out
    assert "a stand-in" in run.out


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("HCP001", "wrong-values at depth simulate, by its own sizes (context_parallel_size 4)"),
        ("CTX001", "(seq_length 4100, context_parallel_size 4), shrunk: seq_length 4100 to 12"),
        ("CTX003", "(heads of a rank 28, cp_comm_type a2a, all-to-all over 8), shrunk: heads of a rank 28 to 12"),
        ("MOE002", "(num_moe_experts 128, expert_model_parallel_size 6), shrunk: expert_model_parallel_size 6 to 3"),
        ("PAR003", "by its own sizes (num_layers 28, pipeline_model_parallel_size 8)"),
        ("PAR004", "by its own sizes (num_attention_heads 28, tensor_model_parallel_size 8)"),
        ("PAR008", "by its own sizes (global_batch_size 16, micro_batch_size 3, data-parallel ranks 8)"),
        ("PAR009", "crash at depth simulate, by its own sizes (context_parallel_size 0)"),
        ("PAR011", "shrunk: pipeline_model_parallel_size 4 to 2, in groups of 4 to 2, micro-batches 6 to 3"),
        ("CTX010", "ok at depth simulate, by its own sizes (context_parallel_size 1, cp_comm_type a2a)"),
        ("HCP007", "ok at depth simulate, by its own sizes (levels [2, 2], cp_comm_type p2p)"),
        ("PKD006", "by its own sizes (context_parallel_size 4), shrunk: context_parallel_size 4 to 2"),
        ("PKD008", "by its own sizes (pad multiple 4, context_parallel_size 4)"),
        ("PKD009", "crash at depth simulate, by its own sizes (context_parallel_size 4)"),
    ],
)
def test_a_launch_is_shown_by_its_own_sizes(code: str, says: str) -> None:
    report = check([str(FIXTURES / code / "bad")], Options(cache=False, select=(code,), preview=True, cwd=FIXTURES))
    found = {one.reproducer for one in reproduced(report, Depth.SIMULATE)}
    assert any(says in one for one in found), sorted(found)
    assert not any("not shown" in one for one in found)


@pytest.mark.parametrize(
    ("code", "outcome", "says"),
    [
        ("HCP001", "crash-start", "the launch itself is stopped by a check, which this case does without"),
        ("OVL001", "crash-start", "by its own sizes (overlap_param_gather on, overlap_grad_reduce off)"),
        ("OVL002", "crash-start", "crash at depth simulate, by the rule's own cases, since the overlap depends on"),
        ("OVL001", "ignored", "wrong-values at depth simulate, by its own sizes (overlap_param_gather on"),
        ("FRW004", "crash-start", "crash at depth simulate, by the rule's own cases, since a name is known or not"),
        ("FRW004", "ignored", "wrong-values at depth simulate"),
        ("RCP001", "crash-start", "not run: RCP001 has no case at this depth (it has cpu, gpu)"),
        ("RCP001", "ignored", "wrong-values at depth simulate, by the rule's case of recompute_method"),
        ("RCP001", "ignored", "by the rule's own cases, since none of them is about this very setting"),
        ("PAR003", "wrong", "wrong-values at depth simulate, by its own sizes (num_layers 28"),
    ],
)
def test_what_is_run_ends_as_the_finding_states_or_says_otherwise(code: str, outcome: str, says: str) -> None:
    report = check([str(FIXTURES / code / "bad")], Options(cache=False, select=(code,), preview=True, cwd=FIXTURES))
    found = {one.reproducer for one in reproduced(report, Depth.SIMULATE) if one.outcome.value == outcome}
    assert any(says in one for one in found), sorted(found)
