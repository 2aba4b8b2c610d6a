"""The keys that frameworks have, by release: tables made by `generate.py` beside this file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from packaging.version import Version

MAX_KEY = 80
"""Characters of a key that is compared with others; longer ones are told without a neighbour."""


@cache
def table(name: str) -> Mapping[str, tuple[str, str]]:
    """Give a table: for each key the first release that has it, and the first without it; empty is open."""
    rows: dict[str, tuple[str, str]] = {}
    for line in Path(__file__).with_name(f"{name}.tsv").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            key, since, until, *_ = (*line.split("\t"), "", "")
            rows[key] = (since, until)
    return rows


def holds(window: tuple[str, str], version: Version) -> bool:
    """Say whether a version lies between two releases, the second excluded."""
    plain = Version(version.base_version)
    since, until = window
    return (not since or plain >= Version(since)) and (not until or plain < Version(until))


def nearest(key: str, names: tuple[str, ...]) -> str:
    """Give the key of some tables that another is a misspelling of; empty where none is near.

    Near is one edit away, or two in a key of 12 characters and more; an edit is a character more, less, other, or two
    that changed places. `ep_size` and `cp_size` are two names.
    """
    if not 5 <= len(key) <= MAX_KEY:
        return ""
    allowed = 1 if len(key) < LONG else 2
    near = [(_distance(key, known, allowed), known) for known in _candidates(key, names, allowed)]
    near = [(distance, known) for distance, known in near if distance <= allowed and not _siblings(key, known)]
    return min(near, default=(0, ""))[1]


LONG = 12


def _candidates(key: str, names: tuple[str, ...], allowed: int) -> list[str]:
    """Give the keys of about that length that begin or end as it does."""
    return [
        known
        for name in names
        for known in table(name)
        if abs(len(known) - len(key)) <= allowed and (known[0] == key[0] or known[-1] == key[-1])
    ]


def _siblings(one: str, other: str) -> bool:
    """Say whether two names differ in the dimension that they name only."""
    words, others = one.split("_"), other.split("_")
    if len(words) != len(others):
        return False
    pairs = [(a, b) for a, b in zip(words, others, strict=True) if a != b]
    return all(a in DIMENSIONS and b in DIMENSIONS for a, b in pairs)


DIMENSIONS = ("cp", "dp", "ep", "pp", "sp", "tp", "vp")


def _distance(one: str, other: str, bound: int) -> int:
    """Count the edits between two keys, up to one more than `bound`."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, mark in enumerate(one, 1):
        earlier, before, row = before, row, [i]
        for j, known in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (mark != known))
            if i > 1 and j > 1 and mark == other[j - 2] and one[i - 2] == known:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
        if min(row) > bound:
            return bound + 1
    return row[-1]
