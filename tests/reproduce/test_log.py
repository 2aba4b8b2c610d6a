"""A training log: whether hierarchical groups were built, by the names that groups bear in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import CommandLine

PLAIN = (
    "node1:7 NCCL INFO ncclCommInitRankConfig comm 0x5 rank 0 nranks 4 commDesc CONTEXT_PARALLEL_GROUP - Init START\n"
)
LEVEL = "[I ProcessGroupNCCL.cpp:1] PG GUID 12(HIERARCHICAL_CONTEXT_PARALLEL_GROUP_L{}) Rank 0\n"
OTHER = "[I ProcessGroupNCCL.cpp:1] PG GUID 3(DATA_PARALLEL_GROUP_WITH_CP) TENSOR_AND_CONTEXT_PARALLEL_GROUP\n"


@pytest.mark.parametrize(
    ("text", "status", "says"),
    [
        (PLAIN + LEVEL.format(0) + LEVEL.format(1), 0, "HIERARCHICAL_CONTEXT_PARALLEL_GROUP_L1 (line 3)"),
        (OTHER + PLAIN, 1, "built (line 2), and no hierarchical ones"),
        (OTHER, 2, "names no context-parallel group"),
        ("", 2, "NCCL_DEBUG=INFO"),
        ("\udcff\x00" * 9 + PLAIN, 1, "no hierarchical ones"),
        ("x" * 65500 + " " + LEVEL.format(1), 0, "HIERARCHICAL_CONTEXT_PARALLEL_GROUP_L1 (line 1)"),
        ("x\x1b[2J" * (1 << 20) + "\n" + PLAIN, 1, "built (line 2)"),
        ("".join(f"HIERARCHICAL_CONTEXT_PARALLEL_GROUP_{n} " for n in range(9999)), 0, "GROUP_15 (line 1)"),
        ("HIERARCHICAL_CONTEXT_PARALLEL_GROUP_" * 4096, 2, "names no context-parallel group"),
    ],
)
def test_a_log_says_which_groups_were_built(
    text: str, status: int, says: str, tmp_path: Path, meshlint: CommandLine
) -> None:
    log = tmp_path / "train.log"
    log.write_text(text, "utf-8", "surrogateescape")
    run = meshlint("check", "--log", log)
    assert (run.status, says in run.out) == (status, True)


def test_a_log_that_is_not_there(meshlint: CommandLine, tmp_path: Path) -> None:
    run = meshlint("check", "--log", tmp_path / "none.log")
    assert run.status == 2
    assert "none.log" in run.err
