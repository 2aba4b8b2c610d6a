"""What was seen of the ranks of one arm, at any depth: the facts that a verdict is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """A call on a group: the operation, the line of the arm's text, the ranks of the instance, and its place.

    `number` counts the rank's calls on this instance from 0. `detail` gives type and count of what is sent.
    """

    op: str
    line: int
    ranks: tuple[int, ...]
    number: int = 0
    detail: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """A value measured against the right one: `error` is relative, ||value - right|| / ||right||."""

    name: str
    value: str
    right: str
    error: float
    line: int = 0


@dataclass(frozen=True, slots=True)
class RankFacts:
    """How one rank ended: `finished`, `waiting` (in `call`), `running`, `raised` (with `error`, at `line`) or `died`.

    `counts` gives the calls that the rank has made, by instance. `clash` says that an error is the two sides' own.
    """

    rank: int
    state: str
    call: Call | None = None
    error: str = ""
    line: int = 0
    checks: tuple[Check, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    clash: bool = False


@dataclass(frozen=True, slots=True)
class ArmFacts:
    """What became of one arm: its ranks, and how long it took. `failure` says why it did not run at all."""

    ranks: tuple[RankFacts, ...]
    seconds: float = 0.0
    failure: str = ""


def from_json(data: Mapping[str, Any]) -> ArmFacts:
    """Read what the worker says of an arm."""
    if data.get("failure"):
        return ArmFacts((), float(data.get("seconds", 0.0)), str(data["failure"]))
    return ArmFacts(tuple(_rank(one) for one in data["ranks"]), float(data["seconds"]))


def _rank(data: Mapping[str, Any]) -> RankFacts:
    call = data.get("call")
    return RankFacts(
        rank=int(data["rank"]),
        state=str(data["state"]),
        call=None if call is None else _call(call),
        error=str(data.get("error", "")),
        line=int(data.get("line", 0)),
        checks=tuple(_check(one) for one in data.get("checks", ())),
        counts={str(key): int(number) for key, number in data.get("counts", {}).items()},
    )


def _call(data: Mapping[str, Any]) -> Call:
    ranks: Sequence[int] = data["ranks"]
    return Call(
        data["op"], data["line"], tuple(ranks), data.get("number", 0), data.get("detail", ""), data.get("group", "")
    )


def _check(data: Mapping[str, Any]) -> Check:
    return Check(data["name"], data["value"], data["right"], float(data["error"]), data.get("line", 0))
