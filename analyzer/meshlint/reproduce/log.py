"""A training log: whether the groups of hierarchical context parallelism were really built.

From megatron-core 0.11 on groups bear a description, `CONTEXT_PARALLEL_GROUP`,
`HIERARCHICAL_CONTEXT_PARALLEL_GROUP_L0` and so on (megatron/core/parallel_state.py:322 and 888 at core_v0.11.0, 402 and
978 at core_v0.16.1), which NCCL and torch print where they log at level INFO. The variables of that module, as in a
traceback, bear almost the same names, `_CONTEXT_PARALLEL_GROUP` and `_HIERARCHICAL_CONTEXT_PARALLEL_GROUPS`, and say
nothing about what was built.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

PLAIN = b"CONTEXT_PARALLEL_GROUP"
LEVELS = b"HIERARCHICAL_"
BOTH = (LEVELS + PLAIN).decode()
PIECE = 1 << 20
"""Bytes that are looked at together; a line of a log may have no end."""

AROUND = 64
"""Bytes around a description that say whether it is one."""

MOST = 16
"""Levels that are told."""

WORD = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")

PACKED = {
    b"\x1f\x8b": "gzip (zcat)",
    b"\x28\xb5\x2f\xfd": "zstd (zstdcat)",
    b"\xfd7zXZ": "xz (xzcat)",
    b"BZh": "bzip2 (bzcat)",
}
"""How compressed files begin, with what reads them."""


@dataclass(slots=True)
class Groups:
    """The lines at which a log first names each group, counted from 1. `packed`: what it is compressed by."""

    plain: int = 0
    levels: dict[str, int] = field(default_factory=dict)
    packed: str = ""


def groups_in(log: BinaryIO) -> Groups:
    """Look for the descriptions of groups. Raises OSError where the log cannot be read."""
    found = Groups()
    for number, text, first, end in _pieces(log):
        if not first and not found.packed:
            found.packed = next((name for magic, name in PACKED.items() if text.startswith(magic)), "")
        at = _next(found, text, first)
        while 0 <= at < end:
            _name(found, text, at, number)
            at = _next(found, text, at + 1)
    return found


def _next(found: Groups, text: bytes, start: int) -> int:
    """Give the next place of the name, from a place on, that may tell something new; -1 where there is none."""
    if not found.plain:
        return text.find(PLAIN, start)
    at = text.find(LEVELS + PLAIN, max(start - len(LEVELS), 0)) if len(found.levels) < MOST else -1
    return at + len(LEVELS) if at >= 0 else -1


def _pieces(log: BinaryIO) -> Iterator[tuple[int, bytes, int, int]]:
    """Give a log in pieces that overlap: the line of the first byte, the text, and the places to look at, from and to.

    Bytes of value 0, every second one where a log is UTF-16, count for nothing.
    """
    number, text, first, more = 1, b"", 0, True
    while more:
        read = log.read(PIECE)
        more = bool(read)
        text += read.replace(b"\0", b"")
        end = max(len(text) - AROUND, first) if more else len(text)
        yield number, text, first, end
        start = max(end - AROUND, 0)
        number += text.count(b"\n", 0, start)
        text, first = text[start:], end - start


def _name(found: Groups, text: bytes, at: int, number: int) -> None:
    """Take note of the group whose description stands at a place, if one does and it is the first of its name."""
    level = text.endswith(LEVELS, 0, at)
    start = at - len(LEVELS) * level
    end = at + len(PLAIN)
    while end < len(text) and text[end] in WORD and end - at < AROUND:
        end += 1
    if not _begins(text, start) or (end < len(text) and text[end] in WORD):
        return
    word = text[start:end].decode("ascii")
    if level and word not in found.levels and len(found.levels) < MOST and _is_level(word.removeprefix(BOTH)):
        found.levels[word] = number + text.count(b"\n", 0, start)
    elif not level and not found.plain and end - at == len(PLAIN):
        found.plain = number + text.count(b"\n", 0, start)


def _begins(text: bytes, start: int) -> bool:
    """Say whether a word begins at a place; the end of a colour, as in `\\x1b[36m`, is no letter of it."""
    if not start or text[start - 1] not in WORD:
        return True
    colour = text[max(start - AROUND, 0) : start].rpartition(b"\x1b[")
    return bool(colour[1]) and colour[2].endswith(b"m") and not colour[2][:-1].strip(b"0123456789;")


def _is_level(rest: str) -> bool:
    """Say whether what follows the name counts a level: `_L0`, `_GLOO_L1`."""
    number = rest.removeprefix("_GLOO").removeprefix("_L")
    return rest.endswith(f"_L{number}") and number.isdigit()


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
    if found.packed:
        return f"the log is compressed by {found.packed}: unpack it, or pipe it to `meshlint check --log -`", 2
    return (
        "the log names no context-parallel group: from megatron-core 0.11 on, NCCL and torch name them where the job "
        "runs with NCCL_DEBUG=INFO and TORCH_CPP_LOG_LEVEL=INFO",
        2,
    )
