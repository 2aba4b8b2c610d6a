"""Senders and receivers of a batch, stage by stage, and which keys reach which stage.

Both questions are about one pair of ranks of the tensor-parallel group on each pipeline stage: the rank that reads the
batch and one that receives it. The pair is walked in step, facts are decided on first use, and a walk ends where the
pair disagrees; so the walks are few. What the stages say is then put together: a contract holds for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from itertools import product
from typing import Any

from meshlint.mesh.choose import parts
from meshlint.mesh.dims import Axes, Mesh, mesh_of
from meshlint.mesh.evaluate import Layout, Unresolvable, View, evaluate
from meshlint.mesh.gate import Expr, Origin
from meshlint.mesh.term import Alt, Exit, Loop, Nil, Node, Op, Opaque, Site, Wait, children, walk
from meshlint.protocol.facts import FileFacts, dotted
from meshlint.protocol.facts import Node as Statement
from meshlint.records import dataclass

WALKS = 800
"""Walks of one pair."""
STEPS = 4000
"""Nodes of one walk."""
SETTINGS = 7
"""Settings whose values are tried in all combinations."""

PIPELINES = (3, 1, 2)
"""How many stages are asked about, in this order."""

STAGE_NAMES = {1: ("only",), 2: ("first", "last"), 3: ("first", "middle", "last")}
"""What stages are called, by how many there are."""

Fact = tuple[int, int]
"""A value number, and the stage where it may differ between stages; -1 for what is alike on all."""

Facts = dict[Fact, Any]

Ends = tuple[Op | None, Op | None]
"""The last event of the rank that sends, and of those that receive."""

Head = tuple[str, tuple[str, ...]]
"""The kind of an event and the keys that it carries."""


@dataclass(frozen=True, slots=True)
class Walk:
    """One walk of a pair: the facts it rests on, whether both agreed to the end, keys sent, heads that differ."""

    facts: Facts
    agrees: bool
    keys: dict[str, Op]
    heads: tuple[Op | None, Op | None] = (None, None)
    blanks: frozenset[str] = frozenset()
    """What the batch does not hold."""
    taken: dict[str, Op] = field(default_factory=dict)
    """Where the second rank takes what the first one sends, by key."""
    last: Ends = (None, None)
    """The last event of each of the two."""
    even: bool = False
    """Whether both make as many events of the same kinds where they disagree: they meet in the wrong ones."""
    met: frozenset[Site] = frozenset()
    """The places of what the first rank did that the second one met."""


@dataclass(frozen=True, slots=True)
class Differ:
    """Senders and receivers that differ on one of so many stages under every contract."""

    stage: int
    stages: int
    heads: tuple[Op | None, Op | None]
    key: str = ""
    """What the batch must hold for it; they differ whatever it holds where this is empty."""
    needs: tuple[str, ...] = ()
    """The settings that must be as they are for it, as text."""
    on: int = 0
    """How many settings must be on together for it."""
    even: bool = False
    """Whether both go on, each event meeting one that carries something else."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A key that reaches some of so many stages and not others."""

    key: str
    present: tuple[int, ...]
    absent: tuple[int, ...]
    stages: int
    op: Op
    taken: Op
    """Where the others take it, on the first stage that it reaches."""
    lasts: tuple[Ends, ...] = ()
    """For each stage that it misses, the last event of the rank that sends, and of those that receive."""


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
    apart: int
    """The dims along which the two ranks differ."""
    stage: int
    below: dict[int, frozenset[Head]]
    """What can come below a node, by its id."""
    lost: int | None = None
    """How many facts were decided when it was clear that the pair disagrees; later ones only show where."""
    awaited: Op | None = None
    """What the second rank stands at."""
    decided: dict[Fact, tuple[Expr, tuple[Any, ...], Any]] = field(default_factory=dict)

    def decide(self, expr: Expr) -> Any:
        """Decide a fact on first use, for both ranks alike."""
        if expr.local or (expr.var & self.apart and expr.op == "atom"):
            raise _Bound
        key = (expr.id, self.stage if expr.var and expr.op == "atom" else -1)
        known = self.decided.get(key)
        if known is None:
            domain: tuple[Any, ...] = (
                (2, 0) if expr.op == "recv" or (expr.op == "atom" and expr.args[2]) else (True, False)
            )
            index = self.prefix[len(self.decided)] if len(self.decided) < len(self.prefix) else 0
            known = self.decided[key] = (expr, domain, domain[index])
        return known[2]

    def run(self) -> Walk:
        """Walk both ranks in step."""
        views = [View(self.layout, rank, self.decide) for rank in self.ranks]
        walkers = [self.events(view) for view in views]
        keys: dict[str, Op] = {}
        taken: dict[str, Op] = {}
        last: Ends = (None, None)
        met: set[Site] = set()
        while True:
            second = next(walkers[1], None)
            self.awaited = second
            first = next(walkers[0], None)
            if first is None and second is None:
                blanks = self.blanks()
                return Walk(self.facts(), True, keys, blanks=blanks, taken=taken, last=last, met=frozenset(met))
            if first is None or second is None or not self.matches(first, second):
                return Walk(self.facts(), False, keys, (first, second), self.blanks(), even=self.even(first, second))
            last = first, second
            met.add(first.site)
            for key in (*first.keys, *second.keys):
                keys.setdefault(key, first)
                taken.setdefault(key, second)
            if first.value is not None and self.read & {*first.into, *second.into}:
                value = evaluate(first.value, views[0])
                for view, op in zip(views, (first, second), strict=True):
                    view.slots.update(dict.fromkeys(op.into, value))

    def even(self, first: Op | None, second: Op | None) -> bool:
        """Say whether the same events can follow on both sides, whatever their order: none is left over."""
        if first is None or second is None or first.kind != second.kind:
            return False
        return self.below[first.id] == self.below[second.id]

    def matches(self, first: Op, second: Op) -> bool:
        """Say whether two heads are one event."""
        return self.fits((first.kind, first.keys), (second.kind, second.keys))

    def facts(self) -> Facts:
        """Give what was decided before the pair had to disagree."""
        counted = list(self.decided.items())[: self.lost]
        return {key: value for key, (_, _, value) in counted}

    def blanks(self) -> frozenset[str]:
        """Give what the batch does not hold."""
        return frozenset(held(expr) for expr, _, value in self.decided.values() if value is True)

    def watch(self, node: Node) -> None:
        """See whether the first rank can still come to what the second one waits in."""
        awaited = self.awaited
        if awaited is None or self.lost is not None:
            return
        wanted, below = (awaited.kind, awaited.keys), self.below.get(node.id, frozenset())
        if wanted not in below and not any(self.fits(head, wanted) for head in below):
            self.lost = len(self.decided)

    def fits(self, first: Head, second: Head) -> bool:
        """Say whether two heads may be one event, by kind and keys: what both sides name is sent to that name."""
        known = self.shared.issuperset(first[1]) or self.shared.issuperset(second[1])
        return first[0] == second[0] and (not known or not first[1] or not second[1] or first[1] == second[1])

    def events(self, view: View) -> Iterator[Op]:
        """Give the events of one rank on groups that hold both ranks."""
        node: Node | None = self.term
        steps = 0
        watching = view.rank == self.ranks[0]
        other = self.ranks[1] if watching else self.ranks[0]
        while node is not None:
            steps += 1
            if steps > STEPS or isinstance(node, Opaque):
                raise _Bound
            if isinstance(node, Alt):
                node = node.then if evaluate(node.condition, view) else node.otherwise
                if watching:
                    self.watch(node)
            elif isinstance(node, Op):
                members = self.layout.members(node.group, view.rank)
                if members is not None and other in members:
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


@dataclass(frozen=True, slots=True)
class _Script:
    """What a pair walks, and what of it is the same in every walk; see `_Pair`."""

    term: Node
    read: frozenset[str]
    shared: frozenset[str]
    apart: int
    below: dict[int, frozenset[Head]]


def _script(term: Node, apart: int) -> _Script:
    below = _below(term)
    branches = [node for node in walk(term) if isinstance(node, Alt)]
    conditions = tuple(node.condition for node in branches)
    read = frozenset(part.args[0] for part in parts(conditions) if part.op == "recv")
    gates = [node for node in branches if node.condition.var & apart]
    shared = frozenset(key for node in gates for key in _both(node, below))
    return _Script(term, read, shared, apart, below)


def walks(script: _Script, mesh: Mesh, ranks: tuple[int, int], stage: int) -> tuple[list[Walk], dict[Fact, Expr]]:
    """Give every walk of a pair, and the facts that were asked. Raises _Bound and Unresolvable."""
    layout = Layout(mesh)
    found: list[Walk] = []
    asked: dict[Fact, Expr] = {}
    prefix: list[int] = []
    fixed = (script.read, script.shared, script.apart, stage, script.below)
    for _ in range(WALKS):
        pair = _Pair(script.term, layout, ranks, prefix, *fixed)
        found.append(pair.run())
        made = [(expr, domain, domain.index(value)) for expr, domain, value in pair.decided.values()][: pair.lost]
        asked.update({key: expr for key, (expr, _, _) in pair.decided.items()})
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


Outline = tuple[tuple[int, ...], ...]

Silent = dict[tuple[str, frozenset[str], Outline], Answer]
"""Answers that name nothing, by the function, what the program refuses, and what the term is but for its places."""


def ask(
    term: Node,
    axes: Axes,
    packed: Any,
    owner: str = "",
    off: frozenset[str] = frozenset(),
    silent: Silent | None = None,
) -> Answer:
    """Ask both questions of a term that hands a batch on inside the tensor-parallel group; `owner` is its function.

    `off` names the settings that the program refuses together with pipeline parallelism: they explain no missing key.
    `silent` are the answers of one program so far. Programs hold one function in several files: which events stand in
    one place counts for what is found, and the places themselves only for what is said of it.
    """
    if not any(node.keys for node in walk(term) if isinstance(node, Op)):
        return Answer(True)
    key = (owner, off, _outline(term))
    known = None if silent is None else silent.get(key)
    if known is not None:
        packed("")  # what it says enters what the verdict rests on
        return known
    answer = _answered(term, axes, packed, owner, off)
    if silent is not None and answer.differ is None and not answer.missing:
        silent[key] = answer
    return answer


def _outline(term: Node) -> Outline:
    """Give what each node does, which nodes follow it, and which events stand in one place: all but the places."""
    nodes = walk(term)
    number = {node.id: place for place, node in enumerate(nodes)}
    sites: dict[Site, int] = {}
    return tuple(
        (
            node.shape,
            sites.setdefault(node.site, len(sites)) if isinstance(node, Op) else -1,
            *[number[child.id] for child in children(node)],
        )
        for node in nodes
    )


def _answered(term: Node, axes: Axes, packed: Any, owner: str, off: frozenset[str]) -> Answer:
    script = _script(term, axes.mask("tp"))
    if not script.shared and not any(packed(key) for _, keys in script.below[term.id] for key in keys):
        return Answer(True)
    answers = [_asked(script, axes, packed, owner, off, count) for count in PIPELINES]
    found = next((a for a in answers if a.differ is not None), None) or next((a for a in answers if a.missing), None)
    return found or Answer(all(a.known for a in answers))


def _asked(script: _Script, axes: Axes, packed: Any, owner: str, off: frozenset[str], count: int) -> Answer:
    """Ask for one number of pipeline stages."""
    mesh = mesh_of(axes, tp=2, pp=count)
    place, tensor = axes.mask("pp"), axes.mask("tp")
    stages: list[list[Walk]] = []
    asked: dict[Fact, Expr] = {}
    try:
        for stage in range(count):
            ranks = [r for r in range(mesh.world) if mesh.index(r, place) == stage]
            ranks.sort(key=lambda r: mesh.index(r, tensor))
            found, facts = walks(script, mesh, (ranks[0], ranks[1]), stage)
            stages.append(found)
            asked.update(facts)
    except (_Bound, Unresolvable):
        return Answer(False)
    settings = [key for key, expr in sorted(asked.items(), key=lambda item: item[0]) if _is_setting(expr)]
    strict = [k for k in settings if asked[k].args[1] is Origin.CONFIG or _parameter(asked[k], owner)]
    if len(strict) > SETTINGS:
        return Answer(False)
    differ = _differ(stages, strict, asked)
    if differ is not None:
        return Answer(True, differ)
    never = _never(stages, asked)
    if never is not None:
        return Answer(True, never)
    if len(settings) > SETTINGS:
        return Answer(False)
    refused = {key for key, expr in asked.items() if str(expr.args[0]).rpartition(".")[2] in off}
    return Answer(True, None, tuple(_missing(stages, settings, packed, refused)))


def _below(term: Node) -> dict[int, frozenset[Head]]:
    """Give, for each node, the kinds and keys of all events that can follow."""
    found: dict[int, frozenset[Head]] = {}
    stack: list[tuple[Node, bool]] = [(term, False)]
    while stack:
        node, done = stack.pop()
        if node.id in found:
            continue
        if not done:
            stack.append((node, True))
            stack += [(child, False) for child in children(node) if child.id not in found]
            continue
        heads = frozenset().union(*(found[child.id] for child in children(node)))
        if isinstance(node, Op) and (node.kind, node.keys) not in heads:
            heads |= {(node.kind, node.keys)}
        found[node.id] = heads
    return found


def without_pipeline(facts: Iterable[FileFacts]) -> frozenset[str]:
    """Give the settings that a program asserts not to be on together with more than one pipeline stage."""
    found: set[str] = set()
    for one in facts:
        for definition in one.definitions:
            if definition.mentions("pipeline_model_parallel_size"):
                for node in definition.body:
                    found.update(_refused(node))
    return frozenset(found)


def _refused(node: Statement) -> Iterator[str]:
    if node[0] != "if":
        return
    name = dotted(node[2])
    if "." in name and any(inner[0] == "assert" and _one_stage(inner[2]) for inner in node[3]):
        yield name.rpartition(".")[2]


def _one_stage(test: Statement) -> bool:
    """Say whether a test asks for one pipeline stage."""
    if test[0] == "U" and test[1] == "not":
        inner = test[2]
        return inner[0] == "Q" and inner[1] == (">",) and _of_stages(inner)
    return test[0] == "Q" and test[1] in (("==",), ("<=",)) and _of_stages(test)


def _of_stages(test: Statement) -> bool:
    return test[3] == (("C", 1),) and dotted(test[2]).endswith("pipeline_model_parallel_size")


def _both(node: Alt, below: dict[int, frozenset[Head]]) -> set[str]:
    """Give the keys that events on both sides of a branch carry."""
    first, second = ({key for _, keys in below[side.id] for key in keys} for side in (node.then, node.otherwise))
    return first & second


def _is_setting(expr: Expr) -> bool:
    """Say whether a fact is one of the program's own, alike on all ranks: neither a contract nor one of a stage."""
    return expr.op == "atom" and not expr.var and expr.args[1] is not Origin.CONTRACT


def _parameter(atom: Expr, owner: str) -> bool:
    """Say whether a fact is a parameter of the function that is asked about: its callers choose it, as a setting."""
    name, _, rest = str(atom.args[0]).partition(":")
    return bool(owner) and name == owner and rest.isidentifier()


def _valuations(keys: list[Fact], stages: list[list[Walk]]) -> Iterator[Facts]:
    domains = [sorted({w.facts[key] for walks in stages for w in walks if key in w.facts}, key=repr) for key in keys]
    for values in product(*domains):
        yield dict(zip(keys, values, strict=True))


def _fits(walk: Walk, facts: Facts) -> bool:
    for key, value in walk.facts.items():  # noqa: SIM110 - the innermost loop over all walks
        if facts.get(key, value) != value:
            return False
    return True


def _joint(stages: list[list[Walk]], facts: Facts) -> Iterator[tuple[Facts, tuple[Walk, ...]]]:
    """Give the ways in which all stages agree under one valuation of all facts."""
    if not stages:
        yield facts, ()
        return
    for one in stages[0]:
        if one.agrees and _fits(one, facts):
            for whole, rest in _joint(stages[1:], {**facts, **one.facts}):
                yield whole, (one, *rest)


def _differ(stages: list[list[Walk]], settings: list[Fact], asked: dict[Fact, Expr]) -> Differ | None:
    for facts in _valuations(settings, stages):
        if next(_joint(stages, facts), None) is None:
            found = _where(stages, facts)
            needed = [key for key in facts if next(_joint(stages, _turned(facts, key)), None) is not None]
            words = tuple(word for key in needed if (word := _worded(asked[key], facts[key])))
            return None if found is None else replace(found, needs=words, on=sum(bool(facts[key]) for key in needed))
    return None


def _turned(facts: Facts, key: Fact) -> Facts:
    """Give a valuation with one setting the other way."""
    value = facts[key]
    return {**facts, key: not value if isinstance(value, bool) else 2 - value}


def _worded(expr: Expr, value: Any) -> str:
    name = str(expr.args[0]).rpartition(".")[2].rpartition(":")[2] if expr.op == "atom" else ""
    return f"`{name}` {'on' if value else 'off'}" if name.isidentifier() else ""


def _where(stages: list[list[Walk]], facts: Facts) -> Differ | None:
    """Name the stage that cannot agree: by itself, else with the stages before it."""
    for count in range(1, len(stages) + 1):
        for stage in range(len(stages) - count + 1):
            if next(_joint(stages[stage : stage + count], facts), None) is None:
                failing = [w for w in stages[stage + count - 1] if not w.agrees and _fits(w, facts)]
                last = max(failing, key=_progress, default=None)
                heads, even = (None, None) if last is None else last.heads, any(walk.even for walk in failing)
                return Differ(stage + count - 1, len(stages), heads, even=even)
    return None


def _progress(walk: Walk) -> tuple[bool, int, int, int]:
    """Say how far a pair came: the one that came farthest shows best where it must disagree.

    One that waits for what the batch is assumed not to hold shows little.
    """
    heads = [head for head in walk.heads if head is not None]
    waits = any(key in walk.blanks for head in heads for key in head.keys)
    return (not waits, len(walk.keys), len(heads), len(walk.facts))


def held(expr: Expr) -> str:
    """Give the key of a batch that a fact says to be absent; none for other facts."""
    if expr.op != "atom" or expr.args[1] is not Origin.CONTRACT:
        return ""
    name = str(expr.args[0])
    return name[7:-9] if name.startswith("batch '") and name.endswith("' is None") else ""


def _never(stages: list[list[Walk]], asked: dict[Fact, Expr]) -> Differ | None:
    """Find a place where the first rank sends a key if the batch holds it, and where the others never take it."""
    met = frozenset().union(*(w.met for found in stages for w in found))
    for fact, expr in sorted(asked.items(), key=lambda item: item[0]):
        key = held(expr)
        walks = [(stage, w) for stage, found in enumerate(stages) for w in found if fact in w.facts]
        if not key or not any(w.agrees for _, w in walks):
            continue
        failing = [(stage, w) for stage, w in walks if not w.facts[fact] and _stands_at(w, key, met)]
        if failing:
            stage, last = max(failing, key=lambda item: _progress(item[1]))
            return Differ(stage, len(stages), last.heads, key, even=any(walk.even for _, walk in failing))
    return None


def _stands_at(walk: Walk, key: str, met: frozenset[Site]) -> bool:
    """Say whether the first rank is left in sending a key, in a place where that never meets anything."""
    first = walk.heads[0]
    return first is not None and key in first.keys and first.site not in met


def _missing(stages: list[list[Walk]], settings: list[Fact], packed: Any, refused: set[Fact]) -> Iterator[Missing]:
    keys = sorted({key for found in stages for w in found for key in w.keys if packed(key)})
    for key in keys:
        for facts in _valuations(settings, stages):
            if any(facts.get(fact) for fact in refused):
                continue
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
            given = joint[present[0]]
            lasts = tuple(joint[stage].last for stage in absent)
            found = Missing(key, present, absent, len(joint), given.keys[key], given.taken[key], lasts)
        elif absent == found.absent:
            lasts = tuple(_further(one, joint[stage].last) for one, stage in zip(found.lasts, absent, strict=True))
            found = replace(found, lasts=lasts)
    return found


def _further(one: Ends, other: Ends) -> Ends:
    """Give the last events that stand further down: what the batch may hold decides how many there are."""
    if one[0] is None or one[1] is None:
        return other
    if other[0] is None or other[1] is None:
        return one
    return max((one, other), key=lambda ends: [op.site.frames()[0].span for op in ends if op is not None])
