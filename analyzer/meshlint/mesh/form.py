"""What a term asks of a simulation, and its form: all of it that can matter there, without the names in it.

A program says the same thing in many places, each with facts, slots and places of its own. Terms of one form run alike
on a mesh, decision by decision: what was found of one holds for the others.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from meshlint.mesh.choose import expressions, parts
from meshlint.mesh.contract import may_be_lone
from meshlint.mesh.gate import Expr, Origin, picks
from meshlint.mesh.group import Group
from meshlint.mesh.run import Options, gate_key
from meshlint.mesh.term import Alt, Loop, Node, Op, Opaque, Wait, children, walk
from meshlint.records import dataclass

TRIP_CAP = 64
OTHER = "<other>"
"""A value that is none of those a program compares with."""


@dataclass(slots=True)
class Form:
    """A term made ready for simulations, whatever the mesh: communicators, and the values that facts can take."""

    term: Node
    channels: dict[Group, int]
    domains: dict[int, tuple[Any, ...]]
    key: tuple[object, ...] = ()
    """Equal for terms that run alike."""
    places: dict[int, int] = field(default_factory=dict)
    """The number of each expression in the key, by its id."""
    gates: dict[object, int] = field(default_factory=dict)
    """The number of each gate in the key."""
    gate_of: dict[int, int] = field(default_factory=dict)
    """The number of the gate of each branch and loop, by the id of the node."""

    def forced(self, options: Options) -> dict[int, Any]:
        """Give the sides and trips that options force, by the ids of the nodes."""
        wanted = {self.gates[gate]: value for gate, value in options.forced if gate in self.gates}
        return {node: wanted[gate] for node, gate in self.gate_of.items() if gate in wanted} if wanted else {}

    def asked(self, options: Options) -> tuple[object, ...]:
        """Give what options mean here."""
        places, gates = self.places, self.gates
        return (
            options.free_locals,
            options.strict_async,
            tuple([(gates[gate], value) for gate, value in options.forced if gate in gates]),
            tuple(sorted([places[expr] for expr in options.shared if expr in places])),
            options.run_cap,
            options.adversaries,
            options.lone,
        )


def form_of(term: Node) -> Form:
    """Give the form of a term."""
    found = expressions(term)
    form = Form(term, channels(term.groups), domains(term, found))
    _Writer(form).write()
    return form


@dataclass(slots=True)
class _Writer:
    """Writes down a term: each thing once, by numbers in the order of the program."""

    form: Form
    rows: list[object] = field(default_factory=list)
    slots: dict[str, int] = field(default_factory=dict)
    groups: dict[Group, int] = field(default_factory=dict)
    numbers: dict[int, int] = field(default_factory=dict)
    """The number of each communicator."""
    shapes: dict[int, int] = field(default_factory=dict)

    def write(self) -> None:
        """Put the key, and what is where in it, into the form."""
        form, nodes = self.form, list(walk(self.form.term))
        places = {node.id: place for place, node in enumerate(nodes)}
        for node in nodes:
            row = self.node(node)
            self.rows.append((row, tuple([places[child.id] for child in children(node)])))
        domains = [(form.places[expr], domain) for expr, domain in form.domains.items() if expr in form.places]
        form.key = (tuple(self.rows), tuple([(at, tuple([(type(v), v) for v in values])) for at, values in domains]))

    def node(self, node: Node) -> tuple[object, ...]:
        """Write down one node, but for what follows."""
        if isinstance(node, Op):
            return self.op(node)
        if isinstance(node, Alt):
            return ("alt", self.gate(node), self.expr(node.condition))
        if isinstance(node, Loop):
            return ("loop", self.gate(node), self.expr(node.trip))
        if isinstance(node, Wait):
            return ("wait", node.handle)
        if isinstance(node, Opaque):
            return ("opaque", self.shapes.setdefault(node.shape, len(self.shapes)))
        return (type(node).__name__,)

    def op(self, op: Op) -> tuple[object, ...]:
        """Write down an event; what it carries by name alone is left out."""
        channel = self.form.channels[op.group]
        return (
            op.kind,
            self.group(op.group),
            self.numbers.setdefault(channel, len(self.numbers)),
            None if op.root is None else self.expr(op.root),
            op.signature,
            tuple([self.expr(item) for item in op.agree]),
            None if op.value is None else self.expr(op.value),
            tuple([self.slot(slot) for slot in op.into]),
            op.handle,
        )

    def gate(self, node: Alt | Loop) -> int:
        """Number a gate."""
        gates = self.form.gates
        number = self.form.gate_of[node.id] = gates.setdefault(gate_key(node), len(gates))
        return number

    def slot(self, slot: str) -> int:
        """Number a slot."""
        return self.slots.setdefault(slot, len(self.slots))

    def group(self, group: Group) -> int:
        """Number a group; the ranks in its instances are all that counts."""
        place = self.groups.get(group)
        if place is None:
            members = None if group.members is None else self.expr(group.members)
            lists = None if group.lists is None else self.expr(group.lists)
            place = self.groups[group] = len(self.rows)
            self.rows.append(("group", group.dims, members, lists))
        return place

    def expr(self, expr: Expr) -> int:
        """Number an expression."""
        places = self.form.places
        known = places.get(expr.id)
        if known is not None:
            return known
        args = self.args(expr)
        place = places[expr.id] = len(places)
        self.rows.append((place, expr.op, expr.var, expr.local, args))
        return place

    def args(self, expr: Expr) -> tuple[object, ...]:
        """Write down what an expression is made of; of the name of a fact, what the simulation asks of it."""
        if expr.op == "atom":
            origin = expr.args[1]
            return (origin.value, expr.args[2], picks(expr), may_be_lone(expr), expr.weak)
        if expr.op == "recv":
            return (self.slot(expr.args[0]), expr.weak)
        found: list[object] = []
        for arg in expr.args:
            if isinstance(arg, Expr):
                found.append(("expr", self.expr(arg)))
            elif isinstance(arg, Group):
                found.append(("group", self.group(arg)))
            else:
                found.append((type(arg), arg))
        return tuple(found)


def channels(groups: tuple[Group, ...]) -> dict[Group, int]:
    """Number the communicators: groups of one partition are one, unless all their identities are known and differ."""
    unknown = {group.partition for group in groups if not group.identity}
    numbers: dict[object, int] = {}
    table: dict[Group, int] = {}
    for group in groups:
        key = (group.partition, "" if group.partition in unknown else group.identity)
        table[group] = numbers.setdefault(key, len(numbers))
    return table


def domains(term: Node, found: tuple[Expr, ...]) -> dict[int, tuple[Any, ...]]:
    """Give the values that each atom and received value in `found` takes: what the program can tell apart."""
    counted, compared, numbers, texts = _uses(term, found)
    rounds = _rounds(term, found)
    table: dict[int, tuple[Any, ...]] = {}
    for expr in parts(found):
        if expr.op not in ("atom", "recv"):
            continue
        if expr.id in rounds:
            table[expr.id] = (2, 1)
        elif expr.id in counted or (expr.op == "atom" and expr.args[2]):
            table[expr.id] = _count_domain(numbers)
        elif expr.id in compared:
            table[expr.id] = (*(texts if expr.op == "recv" else sorted(compared[expr.id], key=repr)), OTHER)
        else:
            table[expr.id] = (True, False)
    return table


def _rounds(term: Node, found: tuple[Expr, ...]) -> set[int]:
    """Give the unknown counts that do nothing but repeat events: that there may be no round at all explains nothing."""
    trips = {node.trip.id for node in walk(term) if isinstance(node, Loop) and node.body.groups and _unknown(node.trip)}
    others = [expr for expr in found if expr.id not in trips]
    return trips - {expr.id for expr in parts(tuple(others))}


def _unknown(expr: Expr) -> bool:
    return expr.op == "atom" and not expr.var and expr.args[1] is Origin.UNKNOWN


def _uses(term: Node, found: tuple[Expr, ...]) -> tuple[set[int], dict[int, set[Any]], set[int], tuple[Any, ...]]:
    counted = {node.trip.id for node in walk(term) if isinstance(node, Loop)}
    compared: dict[int, set[Any]] = {}
    numbers: set[int] = set()
    texts: dict[Any, None] = {}
    for expr in parts(found):
        if expr.op in ("<", "<=", "+", "-", "*", "//", "%", "min", "max"):
            counted |= {arg.id for arg in expr.args}
        if expr.op not in ("==", "<", "<="):
            continue
        for side, other in (expr.args, expr.args[::-1]):
            if other.op != "lit" or side.op not in ("atom", "recv"):
                continue
            literal = other.args[0]
            if isinstance(literal, int) and not isinstance(literal, bool):
                counted.add(side.id)
                numbers.add(literal)
            else:
                compared.setdefault(side.id, set()).add(literal)
                texts[literal] = None
    return counted, compared, numbers, tuple(texts)


def _count_domain(numbers: set[int]) -> tuple[int, ...]:
    near = {value for number in numbers if 1 < number <= TRIP_CAP for value in (number - 1, number, number + 1)}
    return tuple(dict.fromkeys((2, 1, 0, *sorted(near)[:3])))
