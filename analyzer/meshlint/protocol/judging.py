"""Judging one term, bounded by counts: runs of the simulation for one root, and nodes of a part."""

from __future__ import annotations

from dataclasses import field, replace

from meshlint.mesh.blame import Fault, Judge
from meshlint.mesh.choose import Facts
from meshlint.mesh.fast import Prover, varies
from meshlint.mesh.gate import atoms, shows_apart
from meshlint.mesh.segment import condition_of
from meshlint.mesh.simulate import Options, Verdict
from meshlint.mesh.term import Alt, Loop, Op, count, walk
from meshlint.mesh.term import Node as Term
from meshlint.records import dataclass

RUNS_PER_ROOT = 400
RUNS_PER_PART = 64
NODES_PER_PART = 120


@dataclass(slots=True)
class BoundedJudge(Judge):
    """A judge whose simulations are bounded for one root, and whose safe answers are shared by shape."""

    left: int = RUNS_PER_ROOT
    thorough: bool = False
    """Look for faults too that are never told by themselves: what a caller shows speaks for what its callee shows."""
    _safe_shapes: dict[tuple[int, Options, Facts], tuple[Verdict, int]] = field(default_factory=dict)
    """What was simulated without a fault, and in how many runs: each term pays for it as if it were the first."""
    _paid: set[tuple[int, Options, Facts]] = field(default_factory=set)
    """What the term that is judged has paid for."""

    def forget(self) -> None:
        """Let go of what one term was judged by, so that the next one finds the same whatever was judged before."""
        Judge.forget(self)
        self.prover = Prover(self.terms, self.axes)
        self._paid.clear()

    def _worth(self, part: Term) -> bool:
        """Say whether some gate of a part is no guess (see `opaque`), or an event of it differs by itself."""
        if self.thorough:
            return True
        nodes = list(walk(part))
        gates = [node for node in nodes if isinstance(node, Alt | Loop) and condition_of(node).var]
        return not gates or not all(map(opaque, gates)) or any(isinstance(n, Op) and varies(n) for n in nodes)

    def _verdict(self, term: Term, options: Options, facts: Facts) -> Verdict:
        options = replace(options, run_cap=min(options.run_cap, RUNS_PER_PART))
        key = (term.shape, options, facts)
        known = self._safe_shapes.get(key)
        if known is not None and key in self._paid:
            self.unjudged += not known[0].known
            return known[0]
        if self.left <= 0 or (term.size > NODES_PER_PART and count(term) > NODES_PER_PART):
            self.unjudged += 1
            return Verdict(None, False)
        if known is not None:
            self.unjudged += not known[0].known
            self.simulated += known[1]
        else:
            before = self.simulated
            known = Judge._verdict(self, term, options, facts), self.simulated - before
        self.left -= max(1, known[1])
        if known[0].run is None:
            self._safe_shapes[key] = known
            self._paid.add(key)
        return known[0]


@dataclass(frozen=True, slots=True)
class Judged:
    """What one term shows, alike whatever was judged before: `cost` is its part of what one file may cost."""

    faults: tuple[Fault, ...]
    unjudged: int
    cost: int
    cut_short: bool


def opaque(node: Alt | Loop) -> bool:
    """Say whether a gate rests on an unknown function of what varies."""
    facts = [atom for atom in atoms(condition_of(node)) if atom.op == "atom"]
    return any(atom.var and not atom.local and not shows_apart(atom) for atom in facts)
