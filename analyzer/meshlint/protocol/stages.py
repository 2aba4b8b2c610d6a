"""Senders and receivers of a batch, stage by stage, and which keys reach which stage.

Both questions are about one pair of ranks of the tensor-parallel group on each pipeline stage: the rank that reads the
batch and one that receives it. The pair is walked in step, facts are decided on first use, and a walk ends where the
pair disagrees; so the walks are few. What the stages say is then put together: a contract holds for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from meshlint.mesh.choose import parts
from meshlint.mesh.dims import Axes, Mesh, mesh_of
from meshlint.mesh.evaluate import Layout, Unresolvable, View, evaluate, truth
from meshlint.mesh.gate import Expr, Origin
from meshlint.mesh.term import Alt, Exit, Loop, Nil, Node, Op, Opaque, Wait, walk

WALKS = 800
"""Walks of one pair."""
STEPS = 4000
"""Nodes of one walk."""
SETTINGS = 7
"""Settings whose values are tried in all combinations."""

STAGE_NAMES = ("first", "middle", "last")

Facts = dict[int, Any]


@dataclass(frozen=True, slots=True)
class Walk:
    """One walk of a pair: the facts it rests on, whether both agreed to the end, keys sent, heads that differ."""

    facts: Facts
    agrees: bool
    keys: dict[str, Op]
    heads: tuple[Op | None, Op | None] = (None, None)


@dataclass(frozen=True, slots=True)
class Differ:
    """Senders and receivers that differ on a stage under every contract."""

    stage: int
    heads: tuple[Op | None, Op | None]


@dataclass(frozen=True, slots=True)
class Missing:
    """A key that reaches some stages and not others."""

    key: str
    present: tuple[int, ...]
    absent: tuple[int, ...]
    op: Op


class _Bound(Exception):  # noqa: N818 - no verdict
    """The walks are too many, or something in them is not known."""


@dataclass(slots=True)
class _Pair:
    """One walk in progress."""

    term: Node
    layout: Layout
    ranks: tuple[int, int]
    prefix: list[Any]
    read: frozenset[str]
    """The slots that some condition reads."""
    shared: frozenset[str]
    """The keys that are named on both sides of a gate on ranks: one sends, one receives."""
    decided: dict[int, tuple[Expr, tuple[Any, ...], Any]] = field(default_factory=dict)

    def decide(self, expr: Expr) -> Any:
        """Decide a fact on first use, for both ranks alike."""
        if expr.local or (expr.var and expr.op == "atom"):
            raise _Bound
        known = self.decided.get(expr.id)
        if known is None:
            domain: tuple[Any, ...] = (
                (2, 0) if expr.op == "recv" or (expr.op == "atom" and expr.args[2]) else (True, False)
            )
            index = self.prefix[len(self.decided)] if len(self.decided) < len(self.prefix) else 0
            known = self.decided[expr.id] = (expr, domain, domain[index])
        return known[2]

    def run(self) -> Walk:
        """Walk both ranks in step."""
        views = [View(self.layout, rank, self.decide) for rank in self.ranks]
        walkers = [self.events(view) for view in views]
        keys: dict[str, Op] = {}
        while True:
            first, second = (next(walker, None) for walker in walkers)
            if first is None and second is None:
                return Walk(self.facts(), True, keys)
            if first is None or second is None or not self.matches(first, second):
                return Walk(self.facts(), False, keys, (first, second))
            for key in (*first.keys, *second.keys):
                keys.setdefault(key, first)
            if first.value is not None and self.read & {*first.into, *second.into}:
                value = evaluate(first.value, views[0])
                for view, op in zip(views, (first, second), strict=True):
                    view.slots.update(dict.fromkeys(op.into, value))

    def matches(self, first: Op, second: Op) -> bool:
        """Say whether two heads are one event: of one kind, and not of two keys that both sides speak of."""
        known = self.shared.issuperset(first.keys) and self.shared.issuperset(second.keys)
        return first.kind == second.kind and (
            not known or not first.keys or not second.keys or first.keys == second.keys
        )

    def facts(self) -> Facts:
        """Give what was decided."""
        return {key: value for key, (_, _, value) in self.decided.items()}

    def events(self, view: View) -> Iterator[Op]:
        """Give the events of one rank on groups that hold both ranks."""
        node: Node | None = self.term
        steps = 0
        while node is not None:
            steps += 1
            if steps > STEPS or isinstance(node, Opaque):
                raise _Bound
            if isinstance(node, Alt):
                node = node.then if truth(evaluate(node.condition, view)) else node.otherwise
            elif isinstance(node, Op):
                members = self.layout.members(node.group, view.rank)
                if members is not None and set(self.ranks) <= set(members):
                    yield node
                node = node.rest
            elif isinstance(node, Wait):
                node = node.rest
            elif isinstance(node, Loop):
                if node.body.groups:
                    raise _Bound
                node = node.rest
            elif isinstance(node, Nil | Exit):
                return
            else:
                return


def walks(term: Node, mesh: Mesh, ranks: tuple[int, int]) -> tuple[list[Walk], dict[int, Expr]]:
    """Give every walk of a pair, and the facts that were asked. Raises _Bound and Unresolvable."""
    layout = Layout(mesh)
    found: list[Walk] = []
    asked: dict[int, Expr] = {}
    prefix: list[int] = []
    conditions = tuple(node.condition for node in walk(term) if isinstance(node, Alt))
    read = frozenset(part.args[0] for part in parts(conditions) if part.op == "recv")
    tensor = mesh.axes.mask("tp")
    gates = [node for node in walk(term) if isinstance(node, Alt) and node.condition.var & tensor]
    shared = frozenset(key for node in gates for key in _both(node))
    for _ in range(WALKS):
        pair = _Pair(term, layout, ranks, prefix, read, shared)
        found.append(pair.run())
        made = [(expr, domain, domain.index(value)) for expr, domain, value in pair.decided.values()]
        asked.update({expr.id: expr for expr, _, _ in made})
        while made and made[-1][2] + 1 == len(made[-1][1]):
            made.pop()
        if not made:
            return found, asked
        prefix = [index for _, _, index in made]
        prefix[-1] += 1
    raise _Bound


@dataclass(frozen=True, slots=True)
class Answer:
    """What the stages say together; `known` is False at a bound."""

    known: bool
    differ: Differ | None = None
    missing: tuple[Missing, ...] = ()


def ask(term: Node, axes: Axes, packed: Any, owner: str = "") -> Answer:
    """Ask both questions of a term that hands a batch on inside the tensor-parallel group; `owner` is its function."""
    if not any(packed(key) for node in walk(term) if isinstance(node, Op) for key in node.keys):
        return Answer(True)
    mesh = mesh_of(axes, tp=2, pp=3)
    place, tensor = axes.mask("pp"), axes.mask("tp")
    stages: list[list[Walk]] = []
    asked: dict[int, Expr] = {}
    try:
        for stage in range(3):
            ranks = [r for r in range(mesh.world) if mesh.index(r, place) == stage]
            ranks.sort(key=lambda r: mesh.index(r, tensor))
            found, facts = walks(term, mesh, (ranks[0], ranks[1]))
            stages.append(found)
            asked.update(facts)
    except (_Bound, Unresolvable):
        return Answer(False)
    settings = [key for key, expr in sorted(asked.items()) if expr.op == "atom" and expr.args[1] is not Origin.CONTRACT]
    if len(settings) > SETTINGS:
        return Answer(False)
    strict = [k for k in settings if asked[k].args[1] is Origin.CONFIG or _parameter(asked[k], owner)]
    differ = _differ(stages, strict)
    if differ is not None:
        return Answer(True, differ)
    return Answer(True, None, tuple(_missing(stages, settings, packed)))


def _both(node: Alt) -> set[str]:
    first, second = (
        {key for below in walk(side) if isinstance(below, Op) for key in below.keys}
        for side in (node.then, node.otherwise)
    )
    return first & second


def _parameter(atom: Expr, owner: str) -> bool:
    """Say whether a fact is a parameter of the function that is asked about: its callers choose it, as a setting."""
    name, _, rest = str(atom.args[0]).partition(":")
    return bool(owner) and name == owner and rest.isidentifier()


def _valuations(keys: list[int], stages: list[list[Walk]]) -> Iterator[Facts]:
    domains = [sorted({w.facts[key] for walks in stages for w in walks if key in w.facts}, key=repr) for key in keys]
    for values in product(*domains):
        yield dict(zip(keys, values, strict=True))


def _fits(walk: Walk, facts: Facts) -> bool:
    return all(facts.get(key, value) == value for key, value in walk.facts.items())


def _joint(stages: list[list[Walk]], facts: Facts) -> Iterator[tuple[Facts, tuple[Walk, ...]]]:
    """Give the ways in which all stages agree under one valuation of all facts."""
    if not stages:
        yield facts, ()
        return
    for one in stages[0]:
        if one.agrees and _fits(one, facts):
            for whole, rest in _joint(stages[1:], {**facts, **one.facts}):
                yield whole, (one, *rest)


def _differ(stages: list[list[Walk]], settings: list[int]) -> Differ | None:
    for facts in _valuations(settings, stages):
        if next(_joint(stages, facts), None) is None:
            return _where(stages, facts)
    return None


def _where(stages: list[list[Walk]], facts: Facts) -> Differ | None:
    """Name the stage that cannot agree: by itself, else with the stages before it."""
    for count in range(1, len(stages) + 1):
        for stage in range(len(stages) - count + 1):
            if next(_joint(stages[stage : stage + count], facts), None) is None:
                failing = [w for w in stages[stage + count - 1] if not w.agrees and _fits(w, facts)]
                last = max(failing, key=lambda w: (sum(h is not None for h in w.heads), len(w.facts)), default=None)
                return Differ(stage + count - 1, last.heads if last is not None else (None, None))
    return None


def _missing(stages: list[list[Walk]], settings: list[int], packed: Any) -> Iterator[Missing]:
    keys = sorted({key for found in stages for w in found for key in w.keys if packed(key)})
    for key in keys:
        for facts in _valuations(settings, stages):
            answer = _absent(stages, facts, key)
            if answer is not None:
                yield answer
                break


def _absent(stages: list[list[Walk]], facts: Facts, key: str) -> Missing | None:
    found: Missing | None = None
    for number, (_, joint) in enumerate(_joint(stages, facts)):
        if number > WALKS:
            return None
        present = tuple(stage for stage, w in enumerate(joint) if key in w.keys)
        if not present:
            continue
        absent = tuple(stage for stage in range(len(joint)) if stage not in present)
        if not absent:
            return None
        if found is None:
            found = Missing(key, present, absent, joint[present[0]].keys[key])
    return found
