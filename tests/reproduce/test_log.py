"""A training log: whether hierarchical groups were built, by the names that groups bear in it."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import CommandLine
from meshlint.reproduce import log
from meshlint.reproduce.log import groups_in

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
        ("".join(f"HIERARCHICAL_CONTEXT_PARALLEL_GROUP_L{n} " for n in range(9999)), 0, "GROUP_L15 (line 1)"),
        ("HIERARCHICAL_CONTEXT_PARALLEL_GROUP_" * 4096, 2, "names no context-parallel group"),
        ("x" * ((1 << 20) - 30) + " " + LEVEL.format(1), 0, "HIERARCHICAL_CONTEXT_PARALLEL_GROUP_L1 (line 1)"),
        ("x\n" * (1 << 19) + LEVEL.format(1), 0, f"L1 (line {(1 << 19) + 1})"),
        (
            "[default0]:[rank0]:[I1128] PG GUID 3(HIERARCHICAL_CONTEXT_PARALLEL_GROUP_GLOO_L0)",
            0,
            "GROUP_GLOO_L0 (line 1)",
        ),
        ("a\rb\r\n\x1b[36m(Actor pid=3)\x1b[0m \x1b[1;31mCONTEXT_PARALLEL_GROUP\x1b[0m", 1, "built (line 2), and no"),
        ("\0".join("PG GUID 3(CONTEXT_PARALLEL_GROUP)"), 1, "built (line 1), and no hierarchical ones"),
        ("AttributeError: no attribute '_HIERARCHICAL_CONTEXT_PARALLEL_GROUPS'", 2, "names no context-parallel group"),
        ("    assert _CONTEXT_PARALLEL_GROUP is not None, 'not initialized'", 2, "names no context-parallel group"),
        ("HIERARCHICAL_CONTEXT_PARALLEL_GROUPS=None", 2, "from megatron-core 0.11 on"),
        ("HIERARCHICAL_CONTEXT_PARALLEL_GROUP_L and CONTEXT_PARALLEL_GROUP_2", 2, "names no context-parallel group"),
        ("\x1f\udc8b\x08\0", 2, "compressed by gzip (zcat)"),
    ],
)
def test_a_log_says_which_groups_were_built(
    text: str, status: int, says: str, tmp_path: Path, meshlint: CommandLine
) -> None:
    file = tmp_path / "train.log"
    file.write_text(text, "utf-8", "surrogateescape")
    run = meshlint("check", "--log", file)
    assert (run.status, says in run.out) == (status, True)


@given(
    st.lists(st.sampled_from(["\n", " ", "_", "x" * 61, "CONTEXT_PARALLEL_GROUP", "HIERARCHICAL_", "_L1", "\x1b[1m"])),
    st.integers(1, 200),
)
def test_it_counts_for_nothing_how_a_log_is_cut(words: list[str], piece: int) -> None:
    text = "".join(words).encode()
    whole = groups_in(BytesIO(text))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log, "PIECE", piece)
        assert groups_in(BytesIO(text)) == whole


def test_a_log_that_cannot_be_read_is_told_of(meshlint: CommandLine) -> None:
    run = meshlint("check", "--log", "/proc/self/mem")  # it can be opened, and begins nowhere
    assert (run.status, "`/proc/self/mem` cannot be read" in run.err) == (2, True)


def test_a_log_that_is_not_there(meshlint: CommandLine, tmp_path: Path) -> None:
    run = meshlint("check", "--log", tmp_path / "none.log")
    assert run.status == 2
    assert "none.log" in run.err
