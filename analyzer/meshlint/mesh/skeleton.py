"""A fault as a program of its own: the branches, loops and calls of its protocol, on its own small mesh.

The text is plain torch.distributed as reproducers run it (`rank`, `world`, `groups`, `check`). Gates are computed from
coordinates, facts that the program does not compute have the values of the counterexample, and every call carries the
number of its line, so that a call that pairs with another one gets a wrong number. The fixed arm is the same with the
blamed gate decided alike on all ranks, or with a source that is a member where no gate is at fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

from meshlint.mesh.arms import identifier, lists_apart, packed, place
from meshlint.mesh.blame import Fault
from meshlint.mesh.classify import NEW_GROUP
from meshlint.mesh.dims import ALL
from meshlint.mesh.evaluate import Layout, Unresolvable, View, evaluate, refuse, truth
from meshlint.mesh.gate import Expr
from meshlint.mesh.group import Group
from meshlint.mesh.run import gate_key
from meshlint.mesh.term import Alt, Break, Exit, Loop, Nil, Node, Op, Opaque, Return, Site, Terms, Wait
from meshlint.records import dataclass
from meshlint.told import told_line

LINES = 60
"""A longer program shows nobody anything."""

APART = 4096
"""Elements by which sizes differ where they do. NCCL hangs then where one side waits for more, as with real tensors;
one element more is rounded away in silence (measured on 2 H200, torch 2.11, NCCL 2.28.9: 1 against 2 elements never
hang, 1,024 to 65,536 against twice as many always do in all_reduce, and in broadcast where the receiver takes more).
"""

ROUNDS = 3
"""The most rounds of a loop that are written."""

OBJECTS = ("all_gather_object", "gather_object")
PEERS = {"send": "dst", "isend": "dst", "recv": "src", "irecv": "src"}


NEXT = """\
everybody = dist.new_group(list(range(world)))  # any group that all ranks make next
x = torch.tensor([1.0])
dist.all_reduce(x, group=everybody)
check("sum over all ranks", x, float(world))
"""
"""What shows that some ranks alone made a group: their next one bears another number."""


WRITTEN = frozenset((*OBJECTS, *PEERS, *NEW_GROUP, "all_reduce", "broadcast", "all_gather", "barrier", "reduce"))
"""Operations that stand in the text as what they are; others as a collective that waits for the same ranks."""


ROOTED = {
    "gather": "reduce", "gather_object": "reduce", "scatter": "broadcast", "scatter_object_list": "broadcast"
}  # fmt: skip
"""What stands for an operation to or from one rank, where that rank is what is wrong."""


class Unwritable(Exception):  # noqa: N818 - no fault of the program
    """A protocol that has no text."""


def skeleton(terms: Terms, fault: Fault) -> str:
    """Give both arms of a fault as JSON (`world`, `failing`, `fixed`); "" where it has no short text."""
    if fault.node is None and fault.stuck.arrived[0][1].kind in NEW_GROUP:
        return _lists(fault)
    for term in dict.fromkeys((fault.context, fault.term)):
        try:
            failing, right = (_Writer(terms, fault, forced).written(term) for forced in (False, True))
        except (Unwritable, Unresolvable, RecursionError):
            continue
        sized = fault.node is None and "sized" in fault.stuck.arrived[0][1].flags  # which gloo refuses
        return packed(fault.run.mesh.world, failing, right, also=("crash",) if sized else ())
    return ""


def _lists(fault: Fault) -> str:
    """Show a group for which each rank has a list of its own; ranks of two hosts stand for lists that are not known."""
    op = fault.stuck.arrived[0][1]
    layout = Layout(fault.run.mesh)
    try:
        found = [evaluate(op.agree[0], View(layout, rank, refuse)) for rank in range(fault.run.mesh.world)]
    except (Unresolvable, IndexError):
        found = []
    return lists_apart(op.site.frames()[-1].span, found)


@dataclass(slots=True)
class _Writer:
    """One arm in the making; `forced` decides the blamed gate."""

    terms: Terms
    fault: Fault
    forced: bool
    lines: list[str] = field(default_factory=list)
    tables: dict[str, str] = field(default_factory=dict)
    names: dict[Group, str] = field(default_factory=dict)
    layout: Layout = field(init=False)
    made: list[tuple[Op, str]] = field(default_factory=list)
    """The calls that were written, and the number that each carries."""
    facing: list[tuple[Op, str]] = field(default_factory=list)
    """Those of the other side of a branch that this side has not met yet: what belongs together has one number."""
    makes: bool = False
    """Some ranks alone make a group."""

    def __post_init__(self) -> None:
        """Lay the groups out."""
        self.layout = Layout(self.fault.run.mesh)

    def written(self, term: Node) -> str:
        """Give the text of a term."""
        self.emit(term, "", frozenset())
        text = "\n".join(self.lines)
        head = [f"{name} = {value}" for name, value in sorted(self.tables.items()) if name in text]
        return "\n".join([*head, *self.lines]) + "\n" + (NEXT if self.makes else "")

    # -- structure -----------------------------------------------------------------------------------------------

    def emit(self, term: Node, indent: str, ends: frozenset[int]) -> None:
        """Write a term up to one of the nodes in `ends`."""
        node: Node | None = term
        while node is not None and node.shape not in ends and not isinstance(node, Nil):
            node = self.step(node, indent, ends)

    def step(self, node: Node, indent: str, ends: frozenset[int]) -> Node | None:
        """Write one node; give what follows it."""
        if isinstance(node, Op):
            self.call(node, indent)
            return node.rest
        if isinstance(node, Wait):
            self.line(f"{indent}{_handle(node.handle)}.wait()", node.site)
            return node.rest
        if isinstance(node, Opaque):
            return node.rest
        if isinstance(node, Alt):
            return self.branch(node, indent, ends)
        if isinstance(node, Loop):
            return self.loop(node, indent)
        if isinstance(node, Exit):
            self.line(f"{indent}return", node.site)
        elif isinstance(node, Break):
            self.line(f"{indent}break", None)
        elif isinstance(node, Return):
            raise Unwritable
        return None

    def branch(self, node: Alt, indent: str, ends: frozenset[int]) -> Node | None:
        """Write both sides of a branch to where they meet; one side alone where all ranks take it."""
        join = self.terms.joins.next(node)
        until = ends if join is None else ends | {join.shape}
        alike = None if self.is_blamed(node) else self.alike(node)
        if alike is not None:
            self.emit(node.then if alike else node.otherwise, indent, until)
            return None if join is not None and join.shape in ends else join
        way = self.mended(node)
        if way is not None:
            self.line(f"{indent}if True:", node.gate.site)
            self.lines[-1] += ": all ranks do alike"
            before = len(self.lines)
            self.emit(node.then if way else node.otherwise, indent + "    ", until)
            if len(self.lines) == before:
                self.lines[-1] = self.lines[-1].replace("if True:", "pass").replace("all ranks do alike", "for no rank")
            return None if join is not None and join.shape in ends else join
        sides = []
        begun, outer = len(self.made), self.facing
        for side in (node.then, node.otherwise):
            before = len(self.lines)
            self.emit(side, indent + "    ", until)
            sides.append(self.lines[before:])
            del self.lines[before:]
            self.facing = self.made[begun:] if node.condition.var else outer
        self.facing = outer
        condition = self.condition(node)
        if sides[0]:
            self.line(f"{indent}if {condition}:", node.gate.site)
            self.lines += sides[0]
            if sides[1]:
                self.line(f"{indent}else:", None)
        elif sides[1]:
            self.line(f"{indent}if not {_bracketed(condition)}:", node.gate.site)
        self.lines += sides[1]
        return None if join is not None and join.shape in ends else join

    def alike(self, node: Alt) -> bool | None:
        """Give the side of a branch that all ranks take; None where they differ, or not in every round."""
        try:
            taken = {truth(value) for value in self.taken(node, node.condition)}
        except (Unwritable, Unresolvable):
            return None
        return taken.pop() if len(taken) == 1 else None

    def loop(self, node: Loop, indent: str) -> Node:
        """Write a loop of few rounds."""
        before = len(self.lines)
        self.emit(node.body, indent + "    ", frozenset())
        body = self.lines[before:]
        del self.lines[before:]
        if body:
            self.line(f"{indent}for _ in range({self.trip(node)}):", node.gate.site)
            self.lines += body
        return node.rest

    def line(self, text: str, site: Site | None) -> None:
        """Add a line, with the place that it stands for."""
        self.lines.append(text if site is None else f"{text}  # {_places(site)}")
        if len(self.lines) > LINES:
            raise Unwritable

    # -- calls ---------------------------------------------------------------------------------------------------

    def call(self, op: Op, indent: str) -> None:
        """Write an event; a rank that is no member makes none."""
        instances = [self.layout.members(op.group, rank) for rank in range(self.fault.run.mesh.world)]
        if all(members is not None and len(members) == 1 for members in instances):
            return
        group = self.group(op.group, instances)
        if any(members is None for members in instances):
            self.line(f"{indent}if {group} is not None:", None)
            indent += "    "
        for text in self.texts(op, group):
            self.line(indent + text, op.site if "dist." in text and not text.startswith(("check", "parts")) else None)
            if (op.kind not in WRITTEN or self.kind(op) != op.kind) and self.lines[-1].endswith(_places(op.site)):
                self.lines[-1] += f": {identifier(op.kind, 'a call')}"

    def texts(self, op: Op, group: str) -> Iterator[str]:
        """Give the lines of a call, the last one a check of what came."""
        given = f", group={group}" if group else ""
        number, asked = self.number(op), "" if not op.handle else ", async_op=True"
        held = "" if not op.handle else f"{_handle(op.handle)} = "
        if op.kind in NEW_GROUP:
            self.makes = True
            yield f"dist.new_group({self.listed(op)})"
            return
        many, kind = self.count(op), self.kind(op)
        if op.kind in PEERS:
            peer = op.kind.removeprefix("i")
            yield f"dist.{peer}(torch.full(({many},), {number}), {PEERS[op.kind]}={self.value(op.root)}{given})"
            return
        if op.kind == "broadcast_object_list":
            yield f"dist.broadcast_object_list([{number}], src={self.value(op.root)}{given})"
            return
        if kind in OBJECTS:
            yield f"parts = [None] * dist.get_world_size({group})"
            yield f"dist.all_gather_object(parts, {number}{given})"
            return
        if op.kind == "barrier":
            yield f"dist.barrier({given.removeprefix(', ')})"
            return
        yield f"x = torch.full(({many},), {number})"
        if kind == "broadcast":
            yield f"{held}dist.broadcast(x, src={self.value(op.root)}{given}{asked})"
        elif kind == "reduce":
            yield f"dist.reduce(x, dst={self.value(op.root)}{given})"
            return
        elif kind in ("all_gather", "all_gather_into_tensor", "gather", "scatter"):
            yield f"parts = [torch.zeros({many}) for _ in range(dist.get_world_size({group}))]"
            yield f"dist.all_gather(parts, x{given})"
            return
        else:
            yield f"{held}dist.all_reduce(x{given}{asked})"
        if not op.handle:
            right = f"{number}" if kind == "broadcast" else f"{number} * dist.get_world_size({group})"
            line = told_line(op.site.frames()[0].span)
            if "[rank]" not in many:
                yield f'check("line {line}", x[0], {right})'
            else:  # each must get all that the longest holds
                yield f'check("line {line}", x.sum(), {right} * max({many.removesuffix("[rank]")}))'

    def kind(self, op: Op) -> str:
        """Give the operation that is written for one: with a root that is wrong, one that has a root."""
        return ROOTED.get(op.kind, op.kind) if op.root is not None and self.fault.stuck.how == "root" else op.kind

    def number(self, op: Op) -> str:
        """Give the number that a call carries: its line, or that of the call of the other side that it belongs to."""
        own = f"{told_line(op.site.frames()[0].span)}.0"
        met = [at for at, (other, _) in enumerate(self.facing) if (other.kind, other.group) == (op.kind, op.group)]
        met = [at for at in met if self.facing[at][0].keys == op.keys and (op.keys or at == 0)]
        number = self.facing[met[0]][1] if met else own
        self.facing = self.facing[met[0] + 1 :] if met else self.facing
        self.made.append((op, number))
        return number

    def listed(self, op: Op) -> str:
        """Write the ranks of a new group; those that come to make it where the program's list is not kept."""
        found = [self.evaluated(expr, rank) for expr in op.agree[:1] for rank in range(self.fault.run.mesh.world)]
        if found and all(isinstance(ranks, tuple) for ranks in found):
            return self.table([list(ranks) for ranks in found])
        come = [rank for rank, other in self.fault.stuck.arrived if other.site == op.site]
        return str(sorted(come) or list(range(self.fault.run.mesh.world)))

    def group(self, group: Group, instances: list[tuple[int, ...] | None]) -> str:
        """Give the name of a group, and make it at the head; "" for the world."""
        if group.dims == ALL and group.lists is None and group.members is None and not group.identity:
            return ""
        lists = [list(members) for members in dict.fromkeys(instances) if members is not None]
        if group not in self.names:
            name = identifier(group.name or self.fault.run.mesh.axes.label(group.dims), "its")
            name = name.removesuffix("_group").rstrip("_") or "its"
            while f"{name}_group" in self.names.values():
                name += "_"
            self.names[group] = f"{name}_group"
        self.tables[self.names[group]] = f"groups({lists})"
        return self.names[group]

    # -- values --------------------------------------------------------------------------------------------------

    def condition(self, node: Alt) -> str:
        """Write a condition: by coordinates where it is plain, else by what each rank decided."""
        try:
            taken = [truth(value) for value in self.taken(node, node.condition)]
        except Unwritable:
            return self.plain(node.condition)
        try:
            if taken == [truth(self.evaluated(node.condition, rank)) for rank in range(self.fault.run.mesh.world)]:
                return self.plain(node.condition)
        except (Unwritable, Unresolvable):
            pass
        return self.table(taken)

    def trip(self, node: Loop) -> str:
        """Write how many rounds a loop makes."""
        if self.forced and self.is_blamed(node):
            return str(min(ROUNDS, int(self.fault.forced)))
        rounds = [value if isinstance(value, int) else 1 for value in self.taken(node, node.trip)]
        alike = max(0, min(rounds) - 1) if max(rounds) > ROUNDS else 0
        return self.table([min(ROUNDS, value - alike) for value in rounds])

    def mended(self, node: Alt) -> bool | None:
        """Give the side that all ranks take in the fixed arm: of the blamed gate, and of one that balances it."""
        blamed = self.fault.node
        if not self.forced:
            return None
        if self.is_blamed(node):
            return bool(self.fault.forced)
        if not isinstance(blamed, Alt) or blamed.condition is not node.condition:
            return None
        first, second = self.acting(blamed), self.acting(node)
        if first is None or second is None or first[1] != second[1] or first[0] == second[0]:
            return None
        return not self.fault.forced

    def acting(self, node: Alt) -> tuple[bool, tuple[str, Any]] | None:
        """Give the only side of a branch that does something, and what it begins with."""
        join = self.terms.joins.next(node)
        end = None if join is None else join.shape
        sides = [(way, side) for way, side in ((True, node.then), (False, node.otherwise)) if side.shape != end]
        if len(sides) != 1 or not isinstance(sides[0][1], Op):
            return None
        return sides[0][0], (sides[0][1].kind, sides[0][1].group.partition)

    def is_blamed(self, node: Alt | Loop) -> bool:
        """Say whether a gate is the one at fault."""
        blamed = self.fault.node
        return blamed is not None and gate_key(node) == gate_key(blamed)

    def taken(self, node: Alt | Loop, expr: Expr) -> list[Any]:
        """Give what each rank decided at a gate in the counterexample, or would have."""
        run, key = self.fault.run, gate_key(node)
        found: list[Any] = []
        for rank in range(run.mesh.world):
            values = list(dict.fromkeys(taken.value for taken in run.paths[rank] if gate_key(taken.node) == key))
            if len(values) > 1:
                raise Unwritable
            found.append(values[0] if values else self.evaluated(expr, rank))
        return found

    def evaluated(self, expr: Expr, rank: int) -> Any:
        """Compute a value for one rank, with the facts of the counterexample."""
        return evaluate(expr, View(self.layout, rank, lambda atom: self.decided(atom, rank)))

    def decided(self, atom: Expr, rank: int) -> Any:
        """Give what an atom is in the counterexample; what nobody asked is false, a count one."""
        run = self.fault.run
        choices = [choice for choice in run.choices if choice.atom is atom]
        for choice in choices:
            if rank in choice.asked:
                return choice.value
        if choices and not atom.var:
            return choices[0].value
        return 1 if atom.op == "atom" and atom.args[2] else False

    def value(self, expr: Expr | None) -> str:
        """Write a value that is a rank."""
        if expr is None:
            return "0"
        if self.forced and self.fault.node is None:
            firsts = [self.layout.members(self.fault.stuck.group, rank) for rank in range(self.fault.run.mesh.world)]
            return self.table([members[0] if members else 0 for members in firsts])
        return self.table([self.evaluated(expr, rank) for rank in range(self.fault.run.mesh.world)])

    def count(self, op: Op) -> str:
        """Write a small number of elements; where sizes differ, numbers that differ and are large enough to tell."""
        if "sized" not in op.flags or not op.agree:
            return str(_count(op))
        found = [self.evaluated(op.agree[-1], rank) for rank in range(self.fault.run.mesh.world)]
        if self.forced and self.fault.node is None:
            found = found[:1] * len(found)
        if any(not isinstance(many, int) for many in found):
            raise Unwritable
        order = sorted(set(found))
        return self.table([APART * (1 + order.index(many)) if len(order) > 1 else 1 for many in found])

    def plain(self, expr: Expr) -> str:
        """Write a condition of coordinates, sizes and facts; raises Unwritable for others."""
        if expr.op == "lit":
            return repr(expr.args[0])
        alike = None if expr.var else self.evaluated(expr, 0)
        if isinstance(alike, int):
            return repr(alike)
        if expr.op == "rank":
            return "rank"
        if expr.op == "coord":
            return self.coordinate(expr.args[0])
        if expr.op == "extent":
            return str(self.fault.run.mesh.extent(expr.args[0]))
        if expr.op == "not":
            inner = self.plain(expr.args[0])
            return {"True": "False", "False": "True"}.get(inner, f"not {_bracketed(inner)}")
        if expr.op in ("and", "or"):
            return _joined(expr.op, [self.part(arg) for arg in expr.args])
        if expr.op in ("==", "<", "<=", "+", "-", "*", "//", "%"):
            left, right = (self.plain(arg) for arg in expr.args)
            if expr.op == "==" and expr.args[0].op == "lit":
                left, right = right, left
            return f"{_bracketed(left)} {expr.op} {_bracketed(right)}"
        if expr.op == "atom" and not expr.var:
            return repr(self.decided(expr, 0))
        raise Unwritable

    def part(self, expr: Expr) -> str:
        """Write a part of a condition: what is no matter of coordinates by what it is for each rank."""
        try:
            return self.plain(expr)
        except Unwritable:
            return self.table([truth(self.evaluated(expr, rank)) for rank in range(self.fault.run.mesh.world)])

    def coordinate(self, mask: int) -> str:
        """Name a coordinate, and give its value for each rank at the head."""
        mesh = self.fault.run.mesh
        name = identifier(mesh.axes.label(mask), "place") + "_rank"
        self.tables[name] = f"{[mesh.index(rank, mask) for rank in range(mesh.world)]}[rank]"
        return name

    def table(self, values: list[Any]) -> str:
        """Write a value for each rank."""
        if any(not isinstance(value, (int, list)) for value in values):
            raise Unwritable
        return str(values[0]) if all(value == values[0] for value in values) else f"{values}[rank]"


def _joined(op: str, parts: list[str]) -> str:
    """Join conditions by `and` or `or`, without those that change nothing."""
    neutral, decisive = ("True", "False") if op == "and" else ("False", "True")
    kept = [part for part in parts if part != neutral]
    if decisive in kept or not kept:
        return decisive if kept else neutral
    return kept[0] if len(kept) == 1 else f" {op} ".join(map(_bracketed, kept))


def _places(site: Site) -> str:
    """Name the place of a call: where it stands in the function that is judged, and where it is made in the end."""
    first, last = site.frames()[0].span, site.frames()[-1].span
    if first == last:
        return place(first)
    return f"{place(first)} ({f'line {told_line(last)}' if last.path == first.path else place(last)})"


def _bracketed(text: str) -> str:
    return f"({text})" if " " in text else text


def _count(op: Op) -> int:
    """Give a small number of elements that differs where the sizes differ."""
    if not op.signature:
        return 1
    last = op.signature[-1]
    return 1 + (int(last) % 61 if last.isdigit() else sum(map(ord, "".join(op.signature))) % 61)


def _handle(handle: str) -> str:
    return identifier(handle, "work") + "_work"
