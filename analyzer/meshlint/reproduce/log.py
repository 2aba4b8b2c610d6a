"""A training log: whether the groups of hierarchical context parallelism were really built.

Groups bear a description (megatron/core/parallel_state.py:420 and 1122 at core_v0.19: `CONTEXT_PARALLEL_GROUP`,
`HIERARCHICAL_CONTEXT_PARALLEL_GROUP_L0` and so on), which NCCL and torch print where they log at level INFO.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TextIO

PLAIN = "CONTEXT_PARALLEL_GROUP"
LEVELS = f"HIERARCHICAL_{PLAIN}"
PIECE = 1 << 16
"""Letters that are looked at together; a line of a log may have no end."""

LONGEST = 64
"""Letters of the longest description."""

MOST = 16
"""Levels that are told."""


@dataclass(slots=True)
class Groups:
    """The lines at which a log first names each group, counted from 1."""

    plain: int = 0
    levels: dict[str, int] = field(default_factory=dict)


def groups_in(log: TextIO) -> Groups:
    """Look for the descriptions of groups."""
    found = Groups()
    for number, text in _pieces(log):
        if PLAIN not in text:
            continue
        for word in _words(text):
            if word.startswith(LEVELS) and len(found.levels) < MOST:
                found.levels.setdefault(word, number)
            elif word == PLAIN and not found.plain:
                found.plain = number
    return found


def _pieces(log: TextIO) -> Iterator[tuple[int, str]]:
    """Give a log's lines with their numbers, long ones in pieces that overlap."""
    number, before = 1, ""
    while piece := log.readline(PIECE):
        yield number, before + piece
        ended = piece.endswith("\n")
        number, before = number + ended, "" if ended else piece[-LONGEST:]


def _words(line: str) -> Iterator[str]:
    word = ""
    for letter in f"{line} ":
        if letter.isalnum() or letter == "_":
            word += letter
        elif word:
            if len(word) <= LONGEST:
                yield word.strip("_")
            word = ""


def verdict(found: Groups) -> tuple[str, int]:
    """Say what a log shows, with an exit status: 0 built, 1 not built, 2 nothing to see."""
    if found.levels:
        named = ", ".join(f"{word} (line {number})" for word, number in sorted(found.levels.items()))
        return f"hierarchical context-parallel groups were built: {named}", 0
    if found.plain:
        return (
            f"context-parallel groups were built (line {found.plain}), and no hierarchical ones: under a2a+p2p each "
            "rank attends to its own part of the sequence only (meshlint explain HCP001)",
            1,
        )
    return (
        "the log names no context-parallel group; NCCL and torch name them with NCCL_DEBUG=INFO and "
        "TORCH_CPP_LOG_LEVEL=INFO",
        2,
    )
