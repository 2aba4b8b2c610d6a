"""Short words to write protocols with, for the tests of the mesh room."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from meshlint.mesh.dims import STANDARD
from meshlint.mesh.gate import Expr, Origin
from meshlint.mesh.group import WORLD, Group
from meshlint.mesh.term import Gate, Node, Site, Terms
from meshlint.place import Span

TP, CP, DP, PP, EP = (STANDARD.mask(name) for name in ("tp", "cp", "dp", "pp", "ep"))
GROUPS = {
    "tp": Group(TP, name="tp"),
    "cp": Group(CP, name="cp"),
    "dp": Group(DP, name="dp"),
    "pp": Group(PP, name="pp"),
    "ep": Group(EP, name="ep"),
    "dp-cp": Group(DP | CP, name="dp-cp"),
    "world": WORLD,
}


@dataclass
class Program:
    """Statements written last to first: each method takes what follows. Lines are given by the caller."""

    terms: Terms = field(default_factory=Terms)

    @property
    def end(self) -> Node:
        return self.terms.nil

    @property
    def values(self) -> Any:
        return self.terms.values

    def op(
        self, line: int, group: str | Group, rest: Node | None = None, kind: str = "all_reduce", **facts: Any
    ) -> Node:
        where = GROUPS[group] if isinstance(group, str) else group
        return self.terms.op(kind, where, self.end if rest is None else rest, at(line, kind), **facts)

    def alt(self, line: int, condition: Expr, then: Node, otherwise: Node | None = None, **gate: Any) -> Node:
        other = self.end if otherwise is None else otherwise
        return self.terms.alt(condition, then, other, Gate(at(line, "if"), end_line=gate.pop("end", line), **gate))

    def loop(self, line: int, trip: Expr, body: Node, rest: Node | None = None) -> Node:
        return self.terms.loop(trip, body, self.end if rest is None else rest, Gate(at(line, "for"), form="loop"))

    def atom(self, key: str, origin: Origin = Origin.CONTRACT, **facts: Any) -> Expr:
        return self.terms.values.atom(key, origin, **facts)


def at(line: int, label: str = "") -> Site:
    return Site(Span("train.py", line), label)
