"""Three changes that people made, in our own reduced words: the review must say what a reviewer said.

Their history itself is judged where MESHLINT_HISTORY names a folder that holds the git repositories `Megatron-LM` and
`verl`.
"""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from conftest import CommandLine
from meshlint.testing import change_text

RECIPE = """# A recipe on process groups that are built without parallel_state.

from megatron.bridge.models.gpt_provider import GPTModelProvider
from megatron.bridge.training.config import ConfigContainer, DistributedInitConfig, GPTDatasetConfig, TrainingConfig


def long_context_recipe() -> ConfigContainer:
    cfg = ConfigContainer(
        model=GPTModelProvider(num_layers=4, hidden_size=1024, num_attention_heads=16),
        train=TrainingConfig(train_iters=10, micro_batch_size=1, global_batch_size=16),
        dataset=GPTDatasetConfig(seq_length=4096),
        dist=DistributedInitConfig(),
    )
    cfg.model.seq_length = 4096
    cfg.model.context_parallel_size = 4
{}    cfg.dist.use_decentralized_pg = True
    return cfg
"""

ENGINE = """# Train by micro-batches, and report what they lost.

import torch.distributed as dist
from megatron.core import parallel_state as mpu


def reduced(total):
    group = mpu.get_data_parallel_group(with_context_parallel=True)
    dist.all_reduce(total, group=group, op=dist.ReduceOp.AVG)
    return total


class Engine:
    def speaks(self):
        return (
            mpu.get_tensor_model_parallel_rank() == 0
            and mpu.is_pipeline_last_stage()
            and mpu.get_context_parallel_rank() == 0
        )

    def step(self, schedule, batches):
        losses = schedule(batches)
{}        return losses
"""

STAGES = """# Hand a batch on to the other ranks of the tensor-parallel group, as each pipeline stage wants it.

import torch
import torch.distributed as dist
from megatron.core import parallel_state as mpu


def send(item):
    if item is not None:
        dist.broadcast(item, mpu.get_tensor_model_parallel_src_rank(), group=mpu.get_tensor_model_parallel_group())


def batch_of_stage(data, rows):
    if mpu.get_tensor_model_parallel_rank() == 0:
        batch = next(data)
        batch = {{key: batch[key].cuda() for key in ("tokens", "labels", "cu_seqlens", "max_seqlen")}}
        if mpu.is_pipeline_first_stage():
            send(batch["tokens"])
            send(batch["cu_seqlens"])
            send(batch["max_seqlen"])
        elif mpu.is_pipeline_last_stage():
            send(batch["labels"])
{}        return batch
    tokens = torch.empty(rows, dtype=torch.int64, device="cuda")
    labels = torch.empty(rows, dtype=torch.int64, device="cuda")
    cu_seqlens = torch.empty(9, dtype=torch.int32, device="cuda")
    max_seqlen = torch.empty(1, dtype=torch.int32, device="cuda")
    if mpu.is_pipeline_first_stage():
        send(tokens)
        send(cu_seqlens)
        send(max_seqlen)
    elif mpu.is_pipeline_last_stage():
        cu_seqlens = None
        max_seqlen = None
        send(labels)
{}    return {{"tokens": tokens, "labels": labels, "cu_seqlens": cu_seqlens, "max_seqlen": max_seqlen}}
"""


def reviewed(
    meshlint: CommandLine, folder: Path, monkeypatch: pytest.MonkeyPatch, file: str, before: str, after: str
) -> str:
    """Give what a review of a change of one file would post."""
    for side, text in (("before", before), ("after", after)):
        (folder / side).mkdir()
        (folder / side / file).write_text(text)
    return dry_run(meshlint, folder / "after", monkeypatch, change_text(folder / "before", folder / "after"))


def dry_run(meshlint: CommandLine, tree: Path, monkeypatch: pytest.MonkeyPatch, diff: str) -> str:
    """Give what a review of a change of a tree would post, with each run of blanks as one."""
    patch = tree.parent / "change.patch"
    patch.write_text(diff)
    monkeypatch.chdir(tree)
    words = (
        "--repo",
        "o/n",
        "--pr",
        "1",
        "--diff-file",
        patch,
        "--dry-run",
        "--preview",
        "--no-cache",
        "--pin",
        "megatron-bridge=0.5.0",
    )
    run = meshlint("review", *words)
    assert run.status in (0, 1), run.err
    return " ".join(run.out.split())


def line_of(text: str, part: str, number: int = 0) -> int:
    """Give the line that holds a part; the first one, or a later one."""
    return [at for at, line in enumerate(text.split("\n"), 1) if part in line][number]


def test_an_else_branch_for_the_middle_stages_leaves_the_last_one(
    meshlint: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sender = '        else:\n            send(batch["cu_seqlens"])\n            send(batch["max_seqlen"])\n'
    receiver = "    else:\n        send(cu_seqlens)\n        send(max_seqlen)\n"
    after = STAGES.format(sender, receiver)
    text = reviewed(meshlint, tmp_path, monkeypatch, "stages.py", STAGES.format("", ""), after)
    sends, takes = line_of(after, 'send(batch["labels"])'), line_of(after, "send(labels)")
    assert "1 error on lines of this change" in text
    assert f"--- on stages.py:{sends} **error** `PKD001 stage-without-metadata`" in text
    assert (
        "are handed on to the tensor-parallel ranks of the first and middle pipeline stage, and not on the last" in text
    )
    assert f"stages.py:{takes}: send(labels) <- and the others take no more than this on the last stage" in text
    assert f"On the sending rank, behind line {sends}: send(batch['cu_seqlens']); send(batch['max_seqlen'])." in text
    assert f"On the others, behind line {takes}: send(cu_seqlens); send(max_seqlen)" in text
    assert "without setting cu_seqlens and max_seqlen to None before" in text


def test_the_whole_mend_is_silent(meshlint: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sends = 'send(batch["cu_seqlens"])\n            send(batch["max_seqlen"])\n'
    sender = f"        if not mpu.is_pipeline_first_stage():\n            {sends}"
    receiver = "    if not mpu.is_pipeline_first_stage():\n        send(cu_seqlens)\n        send(max_seqlen)\n"
    clears = "        cu_seqlens = None\n        max_seqlen = None\n"
    after = STAGES.format(sender, receiver).replace(clears, "")
    assert reviewed(meshlint, tmp_path, monkeypatch, "stages.py", STAGES.format("", ""), after) == ""


def test_a_sum_that_only_the_source_rank_asks_for(
    meshlint: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gated = '        if self.speaks():\n            losses["extra"] = reduced(losses["total"])\n'
    after = ENGINE.format(gated)
    text = reviewed(meshlint, tmp_path, monkeypatch, "engine.py", ENGINE.format(""), after)
    gate = line_of(after, "if self.speaks()")
    assert f"--- on engine.py:{gate + 1} **error** `COL001 gated-collective`" in text
    assert f"is not reached by all of its ranks: the gate on line {gate} divides them" in text
    assert "tp0 cp0 pp1 waits for ever for tp0 cp1 pp1" in text
    assert "All ranks of one dp-cp group must make this call" in text


def test_levels_of_context_parallelism_on_decentralized_groups(
    meshlint: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels = '    cfg.model.cp_comm_type = "a2a+p2p"\n    cfg.model.hierarchical_context_parallel_sizes = [2, 2]\n'
    after = RECIPE.format(levels)
    text = reviewed(meshlint, tmp_path, monkeypatch, "recipe.py", RECIPE.format(""), after)
    option = line_of(after, "use_decentralized_pg = True")
    assert text.count("`HCP004 decentralized-pg`") == 1
    assert "raises NotImplementedError on every rank while it builds the process groups" in text
    assert (
        f"recipe.py:{option}: cfg.dist.use_decentralized_pg = True <- the fault is here, and the change causes it"
        in text
    )
    assert "without the sizes, with cfg.model.cp_comm_type p2p or a2a, it may stay" in text
    assert "```suggestion" in text


# -- the history itself ----------------------------------------------------------------------------------------------


def repository(name: str) -> Path:
    folder = os.environ.get("MESHLINT_HISTORY", "")
    found = Path(folder) / name
    if not folder or not found.exists():
        pytest.skip(f"MESHLINT_HISTORY names no folder with the git repository {name}")
    return found


def git(folder: Path, *words: str) -> bytes:
    return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True).stdout


def test_the_first_version_of_the_branch_for_middle_stages(
    meshlint: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the tree before the mend, with a branch for all other stages on either side, as that pull request had it."""
    text = git(repository("Megatron-LM"), "show", "5e4fc931b~1:megatron/training/utils.py").decode()
    lines = text.split("\n")
    middle = {
        line_of(text, "            _broadcast(batch['attention_mask'])", 2): (
            "        else:",
            "            _broadcast_cu_seqlens(batch['cu_seqlens'])",
            "            _broadcast(batch['max_seqlen'])",
        ),
        line_of(text, "            _broadcast(attention_mask)", 2): (
            "        else:",
            "            cu_seqlens = _broadcast_cu_seqlens()",
            "            _broadcast(max_seqlen)",
        ),
    }
    after = "\n".join("\n".join((line, *middle.get(at, ()))) for at, line in enumerate(lines, 1))
    told = reviewed(meshlint, tmp_path, monkeypatch, "utils.py", text, after)
    sends, takes = sorted(middle)
    assert f"--- on utils.py:{sends} **error** `PKD001 stage-without-metadata`" in told
    assert "of the first and middle pipeline stage, and not on the last" in told
    assert f"behind line {takes + 3}: cu_seqlens = _broadcast_cu_seqlens(); _broadcast(max_seqlen)" in told


def test_the_change_of_verl_before_its_mend(
    meshlint: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, mend = repository("verl"), "516657fa39595dd557ba34b98ae58d25d0f44e66"
    folders = ("verl/workers/engine/megatron", "verl/utils/megatron", "verl/utils/megatron_utils.py")
    (tmp_path / "tree").mkdir()
    with tarfile.open(fileobj=io.BytesIO(git(source, "archive", f"{mend}~1", *folders))) as archive:
        for member in archive.getmembers():
            if member.isfile() and ".." not in member.name:
                (tmp_path / "tree" / member.name).parent.mkdir(parents=True, exist_ok=True)
                file = archive.extractfile(member)
                assert file is not None
                (tmp_path / "tree" / member.name).write_bytes(file.read())
    diff = git(source, "diff", mend, f"{mend}~1", "--", folders[0]).decode()
    told = dry_run(meshlint, tmp_path / "tree", monkeypatch, diff)
    assert "--- on verl/workers/engine/megatron/transformer_impl.py:670" in told
    assert "`COL001 gated-collective`" in told
    assert "tp0 cp0 pp1 waits for ever for tp0 cp1 pp1" in told
