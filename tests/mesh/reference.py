"""Random protocols as nested statements, and a second simulator that is as plain and different as can be.

Statements are tuples: ("op", line, facts), ("wait", line, handle), ("if", line, condition, then, otherwise),
("for", line, trip, body), ("break",), ("return",), ("raise", line). Conditions are tuples too. The reference runs them
forward, enumerates every valuation of all facts before it starts, and explores states explicitly.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from programs import DP, PP, TP, at

from meshlint.mesh.dims import STANDARD, Mesh, mesh_of
from meshlint.mesh.gate import Expr, Origin
from meshlint.mesh.group import WORLD, Group
from meshlint.mesh.term import Gate, Node, Terms

COUNTS = (2, 1, 0)
MASKS = {"tp": TP, "dp": DP, "pp": PP}


@dataclass(frozen=True)
class Shape:
    """What a random protocol may hold."""

    groups: tuple[str, ...] = ("tp", "dp", "world")
    conditions: tuple[str, ...] = ("first", "odd", "config", "contract", "opaque", "size")
    statements: tuple[str, ...] = ("op", "op", "op", "if", "if", "for", "async", "return", "break", "raise", "prefix")
    sizes: tuple[tuple[str, int], ...] = (("tp", 2), ("dp", 2))
    scoped: bool = False
    """Whether only those ranks read what was sent which came to where it is received, as in programs."""


@dataclass
class Writer:
    """Writes one random protocol."""

    rng: random.Random
    shape: Shape
    line: int = 0
    slots: list[str] = field(default_factory=list)
    handles: list[str] = field(default_factory=list)

    def next_line(self) -> int:
        self.line += 1
        return self.line

    def block(self, depth: int, loops: int, length: int) -> list[tuple[Any, ...]]:
        body: list[tuple[Any, ...]] = []
        received = len(self.slots)
        for _ in range(self.rng.randint(0 if depth else 1, length)):
            body += self.statement(depth, loops)
            if body and body[-1][0] in ("break", "return", "raise"):
                break
        if self.shape.scoped:
            del self.slots[received:]
        return body

    def statement(self, depth: int, loops: int) -> list[tuple[Any, ...]]:
        kind = self.rng.choice(self.shape.statements)
        if kind == "if" and depth < 3:
            line, condition = self.next_line(), self.condition()
            then = self.block(depth + 1, loops, 2)
            otherwise = self.block(depth + 1, loops, 2) if self.rng.random() < 0.6 else []
            if otherwise and self.rng.random() < 0.3:
                otherwise = self.mirrored(then)
            return [("if", line, condition, then, otherwise)]
        if kind == "for" and loops < 1:
            return [("for", self.next_line(), self.trip(), self.block(depth + 1, loops + 1, 2))]
        if kind == "async":
            return self.issue_or_wait()
        if kind == "rounds" and loops < 1 and self.slots:
            trip = ("recv", self.rng.choice(self.slots))
            return [("for", self.next_line(), trip, self.block(depth + 1, loops + 1, 2))]
        if kind == "prefix" and "prefix" in self.shape.statements:
            return self.prefix()
        if kind == "break" and loops and depth > 1:
            return [("break",)]
        if kind in ("return", "raise") and depth:
            return [("return",)] if kind == "return" else [("raise", self.next_line())]
        return [self.op()]

    def mirrored(self, block: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Copy a block under new lines, now and then in another order."""
        copy = [self.relined(statement) for statement in block]
        if self.rng.random() < 0.4:
            self.rng.shuffle(copy)
        return copy

    def relined(self, statement: tuple[Any, ...]) -> tuple[Any, ...]:
        if statement[0] in ("op", "if", "for", "wait"):
            return (statement[0], self.next_line(), *statement[2:])
        return statement

    def op(self, **facts: Any) -> tuple[Any, ...]:
        kind = self.rng.choice(("all_reduce", "all_reduce", "broadcast"))
        return ("op", self.next_line(), {"kind": kind, "group": self.rng.choice(self.shape.groups), **facts})

    def issue_or_wait(self) -> list[tuple[Any, ...]]:
        if self.handles and self.rng.random() < 0.5:
            return [("wait", self.next_line(), self.rng.choice(self.handles))]
        handle = f"h{self.next_line()}"
        self.handles.append(handle)
        return [self.op(handle=handle)]

    def prefix(self) -> list[tuple[Any, ...]]:
        slot = f"n{self.next_line()}"
        self.slots.append(slot)
        number, kind = self.rng.randint(0, 1), self.rng.choice(("contract", "local"))
        value = ("count", f"{'len' if kind == 'contract' else 'own'}{number}", kind)
        return [self.op(kind="broadcast", value=value, into=slot)]

    def condition(self, depth: int = 0) -> tuple[Any, ...]:
        kind = self.rng.choice(self.shape.conditions)
        dim = self.rng.choice([name for name, _ in self.shape.sizes])
        if self.slots and self.rng.random() < 0.4:
            return ("positive", ("recv", self.rng.choice(self.slots)))
        if depth < 2 and self.rng.random() < 0.25:
            if self.rng.random() < 0.5:
                return ("not", self.condition(depth + 1))
            return (self.rng.choice(("and", "or")), self.condition(depth + 1), self.condition(depth + 1))
        if kind == "odd":
            return ("odd",)
        if kind in ("first", "last", "size"):
            return (kind, dim)
        if kind == "member":
            return ("member", "embd")
        if kind == "local":
            return ("fact", f"free{self.rng.randint(0, 1)}", "local", "rank")
        if kind == "opaque":
            return ("fact", f"o{self.rng.randint(0, 1)}-{dim}", "opaque", dim)
        return ("fact", f"{kind[:4]}{self.rng.randint(0, 2)}", kind, "")

    def trip(self) -> tuple[Any, ...]:
        counts = (("count", "steps", "config"), ("count", "batches", "contract"))
        return self.rng.choice((("literal", 2), *counts, *(("rank", name) for name, _ in self.shape.sizes)))


def write(seed: int, shape: Shape) -> list[tuple[Any, ...]]:
    return pruned(without_last_return(pruned(Writer(random.Random(seed), shape).block(0, 0, 4))))


def without_last_return(program: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Leave out a `return` after which nothing would come anyway."""
    if not program:
        return program
    last = program[-1]
    if last[0] == "return":
        return without_last_return(program[:-1])
    if last[0] == "if":
        last = (*last[:3], without_last_return(last[3]), without_last_return(last[4]))
    return [*program[:-1], last]


def pruned(program: Any) -> list[tuple[Any, ...]]:
    """Leave out branches and loops that do nothing, for nobody asks their conditions, and loops that never go round."""
    kept: list[tuple[Any, ...]] = []
    for statement in program:
        if statement[0] == "if":
            statement = (*statement[:3], pruned(statement[3]), pruned(statement[4]))
            if unlined(statement[3]) == unlined(statement[4]):
                kept += statement[3]
                continue
        if statement[0] == "for":
            body = pruned(statement[3])
            while body and body[-1][0] in ("break", "return", "raise"):
                body = body[:-1]
            statement = (*statement[:3], body)
            if not body:
                continue
        if statement[0] == "raise" and any(before[0] in ("if", "for") for before in kept):
            break
        kept.append(statement)
    return kept


def unlined(program: Any) -> Any:
    """Give statements without their lines."""
    if isinstance(program, list):
        return [unlined(statement) for statement in program]
    if program[0] in ("op", "wait", "raise", "if", "for"):
        return (program[0], *(unlined(part) if isinstance(part, list) else part for part in program[2:]))
    return program


def features(program: Any, inside: bool = False) -> set[str]:
    """Give what a protocol holds, in words."""
    found: set[str] = set()
    for statement in program:
        kind = statement[0]
        if kind == "op":
            facts = statement[2]
            told = {"a length prefix": "value" in facts, "an issue": bool(facts.get("handle"))}
            found |= {word for word, holds in told.items() if holds} | {f"the group {facts['group']}"}
        elif kind in ("return", "raise", "break"):
            found.add(f"an early {kind}" + (" in a loop" if inside else ""))
        elif kind == "wait":
            found.add("a wait")
        if kind in ("if", "for"):
            words = _words_of(statement[2], "rounds of" if kind == "for" else "a test of")
            found |= words | features([part for block in statement[3:] for part in block], inside or kind == "for")
    if sum(word.startswith("the group") for word in found) > 1:
        found.add("several groups")
    return found


def _words_of(item: Any, what: str) -> set[str]:
    kinds = {"fact": item[2] if item[0] == "fact" else "", "count": item[2] if item[0] == "count" else ""}
    words = {f"{what} {kinds.get(item[0]) or item[0]}"} if item[0] not in ("not", "and", "or", "positive") else set()
    return words.union(*(_words_of(part, what) for part in item[1:] if isinstance(part, tuple)))


# The same protocol as a term.


@dataclass
class Translator:
    terms: Terms = field(default_factory=Terms)

    def term(self, program: list[tuple[Any, ...]]) -> Node:
        nil = self.terms.nil
        return self.block(program, nil, nil, nil)

    def block(self, program: list[tuple[Any, ...]], rest: Node, stop: Node, leave: Node) -> Node:
        for statement in reversed(program):
            rest = self.statement(statement, rest, stop, leave)
        return rest

    def statement(self, statement: tuple[Any, ...], rest: Node, stop: Node, leave: Node) -> Node:
        kind = statement[0]
        if kind == "break":
            return stop
        if kind == "return":
            return leave
        if kind == "raise":
            return self.terms.exit(at(statement[1]))
        if kind == "op":
            return self.op(statement[1], statement[2], rest)
        if kind == "wait":
            return self.terms.wait(statement[2], rest, at(statement[1]))
        if kind == "for":
            body = self.block(statement[3], self.terms.nil, self.terms.stop, self.terms.leave)
            return self.terms.loop(self.expr(statement[2]), body, rest, Gate(at(statement[1]), form="loop"), leave)
        then = self.block(statement[3], rest, stop, leave)
        otherwise = self.block(statement[4], rest, stop, leave)
        return self.terms.alt(self.expr(statement[2]), then, otherwise, Gate(at(statement[1])))

    def op(self, line: int, facts: dict[str, Any], rest: Node) -> Node:
        group, more = self.group(facts["group"]), {}
        if facts["kind"] == "broadcast":
            more["root"] = self.terms.values.global_rank(group, 0)
        if "value" in facts:
            more |= {"value": self.expr(facts["value"]), "into": (facts["into"],)}
        return self.terms.op(facts["kind"], group, rest, at(line), handle=facts.get("handle", ""), **more)

    def group(self, name: str) -> Group:
        if name == "world":
            return WORLD
        if name == "embd":
            values = self.terms.values
            return Group(PP, members=values.either(values.first(PP), values.last(PP)), name="embd")
        return Group(MASKS[name], name=name)

    def expr(self, item: tuple[Any, ...]) -> Expr:
        values, kind = self.terms.values, item[0]
        if kind == "odd":
            total = values.arithmetic("+", values.coord(TP), values.coord(DP))
            return values.compare("==", values.arithmetic("%", total, 2), 0)
        if kind in ("first", "last"):
            return values.first(MASKS[item[1]]) if kind == "first" else values.last(MASKS[item[1]])
        if kind == "size":
            return values.compare(">", values.extent(MASKS[item[1]]), 1)
        if kind == "member":
            return values.member(self.group(item[1]))
        if kind == "fact":
            return values.atom(item[1], Origin(item[2]), var=MASKS.get(item[3], 0))
        if kind == "count":
            return values.atom(item[1], Origin(item[2]), count=True)
        if kind == "literal":
            return values.lit(item[1])
        if kind == "rank":
            return values.arithmetic("+", values.coord(MASKS[item[1]]), 1)
        if kind == "recv":
            return values.received(item[1])
        if kind == "positive":
            return values.compare(">", self.expr(item[1]), 0)
        if kind == "not":
            return values.negate(self.expr(item[1]))
        parts = (self.expr(item[1]), self.expr(item[2]))
        return values.both(*parts) if kind == "and" else values.either(*parts)


# The reference.


def facts_of(program: Any, ranks: list[dict[str, int]]) -> dict[tuple[Any, ...], tuple[tuple[Any, ...], str]]:
    """Give every fact with its domain and its kind: a fact of its own for each setting that it depends on."""
    found: dict[tuple[Any, ...], tuple[tuple[Any, ...], str]] = {}
    if isinstance(program, tuple) and program and program[0] == "fact":
        _, name, kind, dim = program
        for place in places(dim, ranks):
            found[name, place] = ((True, False), kind)
    elif isinstance(program, tuple) and program and program[0] == "count":
        found[program[1], 0] = (COUNTS, program[2])
    elif isinstance(program, tuple) and len(program) == 2 and program[0] == "recv":
        found["recv", program[1]] = (COUNTS, "contract")
    parts = program.values() if isinstance(program, dict) else program if isinstance(program, (list, tuple)) else ()
    for part in parts:
        found.update(facts_of(part, ranks))
    return found


def places(dim: str, ranks: list[dict[str, int]]) -> list[int]:
    """Give the settings that a fact is decided for."""
    if dim == "rank":
        return list(range(len(ranks)))
    return sorted({rank[dim] for rank in ranks}) if dim else [0]


@dataclass
class World:
    """One valuation on one mesh, run to the end."""

    ranks: list[dict[str, int]]
    sizes: dict[str, int]
    values: dict[tuple[Any, ...], Any]
    forced: dict[int, Any]
    asked: dict[tuple[Any, ...], set[int]] = field(default_factory=dict)
    slots: list[dict[str, Any]] = field(default_factory=list)
    raised: bool = False
    idle: frozenset[int] = frozenset()
    """Lines of branches both of whose ways do the same with all that follows: nobody asks their conditions."""

    def members(self, group: str, rank: int) -> tuple[int, ...]:
        me = self.ranks[rank]
        if group == "world":
            return tuple(range(len(self.ranks)))
        if group == "embd":
            ends = (0, self.sizes["pp"] - 1)
            if me["pp"] not in ends:
                return ()
            same = [other for other in self.ranks if all(other[d] == me[d] for d in me if d != "pp")]
            return tuple(self.ranks.index(other) for other in same if other["pp"] in ends)
        return tuple(
            number for number, other in enumerate(self.ranks) if all(other[d] == me[d] for d in me if d != group)
        )

    def fact(self, key: tuple[Any, ...], rank: int) -> Any:
        self.asked.setdefault(key, set()).add(rank)
        return self.values[key]

    def value(self, item: tuple[Any, ...], rank: int) -> Any:
        kind, me = item[0], self.ranks[rank]
        if kind == "odd":
            return (me["tp"] + me["dp"]) % 2 == 0
        if kind in ("first", "last"):
            return me[item[1]] == (0 if kind == "first" else self.sizes[item[1]] - 1)
        if kind == "size":
            return self.sizes[item[1]] > 1
        if kind == "member":
            return bool(self.members(item[1], rank))
        if kind == "fact":
            place = rank if item[3] == "rank" else me[item[3]] if item[3] else 0
            return self.fact((item[1], place), rank)
        if kind == "count":
            return self.fact((item[1], 0), rank)
        if kind == "literal":
            return item[1]
        if kind == "rank":
            return me[item[1]] + 1
        if kind == "recv":
            if item[1] not in self.slots[rank]:
                return self.fact(("recv", item[1]), rank)
            sent, key = self.slots[rank][item[1]]
            self.asked.setdefault(key, set()).add(rank)
            return sent
        if kind == "positive":
            return self.value(item[1], rank) > 0
        if kind == "not":
            return not self.value(item[1], rank)
        if kind == "and":
            return self.value(item[1], rank) and self.value(item[2], rank)
        return self.value(item[1], rank) or self.value(item[2], rank)


LEAVES = {"break", "return"}


def advance(world: World, rank: int, todo: tuple[Any, ...], cause: Any) -> tuple[tuple[Any, ...], Any, Any]:
    """Go on to the next operation or wait: gives (what is left, that statement or None, the last condition)."""
    while todo:
        statement, todo = todo[0], todo[1:]
        kind = statement[0]
        if kind in ("op", "wait"):
            return todo, statement, cause
        if kind == "if":
            cause = statement[2]
            value = _asked(world, statement, rank)
            todo = (*(statement[3] if value else statement[4]), *todo)
        elif kind == "for":
            cause = statement[2]
            trips = _asked(world, statement, rank)
            todo = (*((*statement[3], ("again",)) * trips), ("after",), *todo)
        elif kind == "break":
            while todo and todo[0][0] != "after":
                todo = todo[1:]
        elif kind == "return":
            todo = ()
        elif kind == "raise":
            if outside(cause):
                world.raised = True
            todo = ()
    return (), None, cause


def _asked(world: World, statement: tuple[Any, ...], rank: int) -> Any:
    """Give the value of a statement's condition or trip for a rank; of an idle one nobody remembers the question."""
    value = world.forced.get(statement[1])
    if value is not None:
        return value
    asked = world.asked
    if statement[1] in world.idle:
        world.asked = {}
    value = world.value(statement[2], rank)
    world.asked = asked
    return value


def outside(cause: Any) -> bool:
    """Say whether a condition asks facts, and none that differs between ranks."""
    kinds = leaves_of(cause)
    return bool(kinds) and not {"opaque", "rank"} & set(kinds)


def leaves_of(cause: Any) -> list[str]:
    if not isinstance(cause, tuple):
        return []
    if cause and cause[0] in ("fact", "count"):
        return ["rank" if cause[-1] == "rank" else cause[2]]
    if cause and cause[0] == "recv":
        return ["recv"]
    return [kind for part in cause for kind in leaves_of(part)]


def run(world: World, program: list[tuple[Any, ...]], order: random.Random | None = None) -> list[tuple[int, ...]]:
    """Run one valuation, ranks in a random order if given; gives the members of every instance that is stuck."""
    count = len(world.ranks)
    world.slots = [{} for _ in range(count)]
    todo = [tuple(program)] * count
    cause: list[Any] = [None] * count
    standing: list[Any] = [None] * count
    queue: dict[tuple[str, tuple[int, ...], int], list[dict[str, Any]]] = {}
    handles: list[dict[str, dict[str, Any]]] = [{} for _ in range(count)]
    done = [False] * count
    changed = True
    while changed:
        changed = False
        turn = list(reversed(range(count)))
        if order is not None:
            turn = order.choices(turn, k=count)
        for rank in turn:
            if done[rank] or (standing[rank] is not None and not standing[rank]["matched"]):
                continue
            todo[rank], statement, cause[rank] = advance(world, rank, todo[rank], cause[rank])
            changed = True
            standing[rank] = None
            if statement is None:
                done[rank] = True
            elif statement[0] == "wait":
                standing[rank] = handles[rank].get(statement[2])
            else:
                standing[rank] = call(world, rank, statement[2], queue, handles)
            if order is not None:
                changed = match(world, queue) or changed
        changed = match(world, queue) or changed
        if order is not None and not changed:
            changed = any(not done[r] and (standing[r] is None or standing[r]["matched"]) for r in range(count))
    return sorted({members for (_, members, _), calls in queue.items() if calls})


def call(world: World, rank: int, facts: dict[str, Any], queue: Any, handles: Any) -> dict[str, Any] | None:
    members = world.members(facts["group"], rank)
    if not members:
        return None
    made = {"facts": facts, "matched": False, "value": None}
    if "value" in facts and rank == members[0]:
        made["value"] = (world.value(facts["value"], rank), (facts["value"][1], 0))
    queue.setdefault((facts["group"], members, rank), []).append(made)
    if facts.get("handle"):
        handles[rank][facts["handle"]] = made
        return None
    return made


def match(world: World, queue: Any) -> bool:
    moved = False
    for group, members, _ in list(queue):
        lines = [queue.get((group, members, rank), []) for rank in members]
        while all(lines):
            heads = [line[0] for line in lines]
            if len({head["facts"]["kind"] for head in heads}) > 1:
                break
            value = heads[0]["value"]
            for rank, line in zip(members, lines, strict=True):
                head = line.pop(0)
                head["matched"] = moved = True
                if "into" in head["facts"]:
                    if value is None:
                        world.slots[rank].pop(head["facts"]["into"], None)
                    else:
                        world.slots[rank][head["facts"]["into"]] = value
    return moved


def mesh_ranks(shape: Shape) -> list[dict[str, int]]:
    """Lay out ranks with tp fastest."""
    sizes = dict(shape.sizes)
    names = [name for name in ("tp", "dp", "pp") if name in sizes]
    places = product(*(range(sizes[name]) for name in reversed(names)))
    return [dict(zip(reversed(names), place, strict=True)) for place in places]


def mesh_for(shape: Shape) -> Mesh:
    return mesh_of(STANDARD, **dict(shape.sizes))


@dataclass(frozen=True)
class Outcome:
    """What the reference says: whether it refutes the protocol, and how many valuations it tried."""

    refuted: bool
    valuations: int
    any_stuck: bool


def idle_lines(program: list[tuple[Any, ...]]) -> frozenset[int]:
    """Give the lines of branches whose ways do the same, with all that follows, and of loops that do nothing."""
    found: set[int] = set()
    _doings(tuple(program), found, frozenset(_read(program)))
    return frozenset(found)


def _read(item: Any) -> Iterator[str]:
    """Give the slots that some condition or trip reads."""
    if isinstance(item, tuple) and len(item) == 2 and item[0] == "recv":
        yield item[1]
    for part in item if isinstance(item, (list, tuple)) else ():
        yield from _read(part)


def _doings(way: tuple[Any, ...], idle: set[int], read: frozenset[str]) -> tuple[Any, ...]:
    """Give what a way does up to its end, without lines; what follows a branch is in it, and what is sent if read."""
    calls: list[Any] = []
    for place, statement in enumerate(way):
        kind = statement[0]
        if kind == "if":
            sides = [_doings((*side, *way[place + 1 :]), idle, read) for side in statement[3:]]
            if sides[0] == sides[1]:
                idle.add(statement[1])
                return (*calls, *sides[0])
            return (*calls, ("if", statement[2], *sides))
        if kind == "op":
            facts = statement[2]
            into = facts["into"] if facts.get("into") in read else ""
            calls.append((facts["kind"], facts["group"], facts.get("handle"), into))
        elif kind == "for" and _does_nothing(statement[3], read):
            idle.add(statement[1])
        elif kind != "return":
            calls.append(unlined(statement))
        if kind in ("return", "raise"):
            return tuple(calls)
    return tuple(calls)


def _does_nothing(body: list[tuple[Any, ...]], read: frozenset[str]) -> bool:
    """Say whether a loop's rounds do nothing: they are empty, or break before anything else."""
    return "return" not in str(body) and _doings(tuple(body), set(), read)[:1] in ((), (("break",),))


def condition_at(program: Any, line: int) -> tuple[Any, ...]:
    """Give the condition of the branch at a line."""
    for statement in program:
        if statement[0] == "if" and statement[1] == line:
            return statement[2]
        below = statement[3:] if statement[0] in ("if", "for") else ()
        for block in below:
            if found := condition_at(block, line):
                return found
    return ()


def judge(
    program: list[tuple[Any, ...]],
    shape: Shape,
    forced: dict[int, Any] | None = None,
    cap: int = 200,
    idle: frozenset[int] = frozenset(),
) -> Outcome | None:
    """Try every valuation; None where there are too many."""
    ranks = mesh_ranks(shape)
    facts = facts_of(program, ranks)
    total = 1
    for domain, _ in facts.values():
        total *= len(domain)
    if total > cap:
        return None
    keys = list(facts)
    results = []
    for values in product(*(facts[key][0] for key in keys)):
        world = World(ranks, dict(shape.sizes), dict(zip(keys, values, strict=True)), forced or {}, idle=idle)
        stuck = run(world, program)
        results.append((values, stuck, world.raised, world.asked))
    universal = [facts[key][1] in ("config", "opaque") or key[0].startswith("free") for key in keys]
    return Outcome(_refuted(keys, results, universal), total, any(item[1] for item in results))


def _refuted(keys: list[Any], results: list[Any], universal: list[bool]) -> bool:
    for values, stuck, raised, asked in results:
        if not stuck or raised:
            continue
        fixed = [
            every or any(set(members) <= asked.get(key, set()) for members in stuck)
            for key, every in zip(keys, universal, strict=True)
        ]
        if not any(
            not other[1] and not other[2] and all(a == b for a, b, f in zip(values, other[0], fixed, strict=True) if f)
            for other in results
        ):
            return True
    return False


def any_order_agrees(program: list[tuple[Any, ...]], shape: Shape, seed: int) -> bool:
    """Say whether other interleavings of the ranks end in the same stuck instances, under one random valuation."""
    rng, ranks = random.Random(seed), mesh_ranks(shape)
    values = {key: rng.choice(domain) for key, (domain, _) in facts_of(program, ranks).items()}
    ends = [run(World(ranks, dict(shape.sizes), values, {}), program)]
    ends += [run(World(ranks, dict(shape.sizes), values, {}), program, rng) for _ in range(2)]
    return all(end == ends[0] for end in ends)


def traces_agree(program: list[tuple[Any, ...]], shape: Shape, values: dict[tuple[Any, ...], Any]) -> bool:
    """Compare the calls of every two members of an instance of the one group, as if no call ever blocked."""
    ranks = mesh_ranks(shape)
    [group] = shape.groups
    world = World(ranks, dict(shape.sizes), values, {}, slots=[{} for _ in ranks])
    made = [alone(world, rank, program) for rank in range(len(ranks))]
    return all(made[rank] == made[other] for rank in range(len(ranks)) for other in world.members(group, rank))


def alone(world: World, rank: int, program: list[tuple[Any, ...]]) -> list[str]:
    todo: tuple[Any, ...] = tuple(program)
    cause: Any = None
    kinds = []
    while True:
        todo, statement, cause = advance(world, rank, todo, cause)
        if statement is None:
            return kinds
        if statement[0] == "op":
            kinds.append(statement[2]["kind"])


def one_group_agrees(program: list[tuple[Any, ...]], shape: Shape, seed: int) -> bool:
    """Say whether, under one random valuation, the pairwise comparison and the run agree."""
    rng, ranks = random.Random(seed), mesh_ranks(shape)
    values = {key: rng.choice(domain) for key, (domain, _) in facts_of(program, ranks).items()}
    stuck = run(World(ranks, dict(shape.sizes), values, {}), program)
    return traces_agree(program, shape, values) is not bool(stuck)
