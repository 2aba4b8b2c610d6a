"""The facts about a fault from which the table of rank rules chooses a code."""

from __future__ import annotations

from meshlint.mesh.blame import Fault
from meshlint.mesh.choose import parts
from meshlint.mesh.dims import ALL, Axes, mesh_of
from meshlint.mesh.evaluate import Layout, Unresolvable, View, evaluate, refuse, truth
from meshlint.mesh.fast import divides
from meshlint.mesh.gate import Expr, shows_apart
from meshlint.mesh.group import Group
from meshlint.mesh.segment import condition_of, cut
from meshlint.mesh.term import Alt, Gate, Loop, Node, Op, Site, Terms, walk
from meshlint.records import dataclass

NEW_GROUP = frozenset(
    {"new_group", "new_subgroups", "new_subgroups_by_enumeration", "create_group", "init_device_mesh"}
)
"""Operations that make groups."""


@dataclass(frozen=True, slots=True)
class Row:
    """What a row of the table asks. All are facts of the blamed gate and the instance that it leaves waiting.

    `empty_side`: one side makes no event on any group that the gate divides. `inside`: the missing event stands inside
    the gate's statement (in the gate's own function), else after it. `guards`: the groups whose membership or size is
    all that the gate tests. `keys`: the batch keys of the unmatched events; `all_keyed` if every one has some.
    """

    new_group: bool
    how: str
    gated: bool
    guards: tuple[Group, ...]
    guard_masks: tuple[int, ...]
    exception: bool
    local: bool
    loop: bool
    empty_side: bool
    composite: bool
    leaves: str
    inside: bool
    keys: tuple[str, ...]
    all_keyed: bool
    weak: bool
    grade: str


def row(terms: Terms, axes: Axes, fault: Fault) -> Row:
    """Give the facts of a fault."""
    stuck_ops = tuple(op for _, op in fault.stuck.arrived)
    keyed = [op.keys for item in (fault.stuck, *fault.also) for _, op in item.arrived]
    node = fault.node
    condition = None if node is None else condition_of(node)
    gate = None if node is None else node.gate
    return Row(
        new_group=any(op.kind in NEW_GROUP for op in stuck_ops),
        how=fault.stuck.how,
        gated=node is not None,
        guards=() if condition is None else _guards(condition)[0],
        guard_masks=() if condition is None else _guards(condition)[1],
        exception=gate is not None and (gate.form in ("except", "finally", "assert") or gate.leaves == "raise"),
        local=fault.grade == "local" or (condition is not None and (condition.local or shows_apart(condition))),
        loop=isinstance(node, Loop),
        empty_side=node is not None and _empty_side(terms, axes, node),
        composite=any("composite" in op.flags for op in stuck_ops),
        leaves="" if gate is None else gate.leaves,
        inside=gate is None or all(stands_inside(gate, op.site) for op in stuck_ops),
        keys=tuple(sorted({key for keys in keyed for key in keys})),
        all_keyed=bool(keyed) and all(keyed),
        weak=fault.weak,
        grade=fault.grade,
    )


def code_of(facts: Row, packed: bool = False) -> str:
    """Give the code of the first row that fits; `packed` says that every unmatched event carries a packed key.

    GRP005, GRP003 and PKD001 are no divergence and are judged elsewhere.
    """
    if facts.new_group:
        return "GRP001"
    if facts.how == "root":
        return "GRP002"
    if packed and facts.all_keyed:
        return "PKD007"
    if facts.guards or facts.guard_masks:
        return "GRP004"
    if facts.exception:
        return "COL005"
    if facts.local:
        return "COL006"
    if facts.loop:
        return "COL004"
    if not facts.gated or not facts.empty_side:
        return "COL003"
    if facts.composite:
        return "COL007"
    return "COL002" if facts.leaves and not facts.inside else "COL001"


def stands_inside(gate: Gate, site: Site) -> bool:
    """Say whether an event stands inside of the gate's statement, seen from the function of the gate."""
    depth = len(gate.site.frames()) - 1
    frames = site.frames()
    if len(frames) <= depth or frames[:depth] != gate.site.frames()[:depth]:
        return False
    here, start = frames[depth].span, gate.site.span
    return here.path == start.path and start.line <= here.line <= max(gate.end_line, start.end_line)


def call_in_gate_function(gate: Gate, site: Site) -> Site:
    """Give the call statement, in the gate's own function, through which an event is reached: the primary line."""
    depth = len(gate.site.frames()) - 1
    frames = site.frames()
    return frames[depth] if len(frames) > depth and frames[:depth] == gate.site.frames()[:depth] else frames[0]


def way_out(fault: Fault) -> Site | None:
    """Give the exit inside of the blamed gate by which a member leaves that never comes to the event."""
    if fault.node is None:
        return None
    for rank in fault.stuck.missing:
        for taken in reversed(fault.run.paths[rank]):
            leave = taken.gate.exit_site
            leaves = taken.gate.leaves in ("return", "break") and bool(taken.value) is taken.gate.leaves_if
            if leave is not None and leaves and stands_inside(fault.node.gate, leave):
                return leave
    return None


def _empty_side(terms: Terms, axes: Axes, node: Alt | Loop) -> bool:
    if isinstance(node, Loop):
        return False
    join = terms.joins.next(node)
    sides = (cut(terms, node.then, join), cut(terms, node.otherwise, join))
    return not all(_meets(side, node.condition, axes) for side in sides)


def _meets(side: Node, condition: Expr, axes: Axes) -> bool:
    return any(divides(condition, group, axes) for group in side.groups)


def _guards(condition: Expr) -> tuple[tuple[Group, ...], tuple[int, ...]]:
    """Give the groups (and masks of plain sizes) that a condition tests, if it tests nothing else."""
    groups: dict[Group, None] = {}
    masks: dict[int, None] = {}
    for part in parts((condition,)):
        if part.op in ("member", "size"):
            groups[part.args[0]] = None
        elif part.op == "extent":
            masks[part.args[0]] = None
    only = _only_guards(condition)
    return (tuple(groups), tuple(masks)) if only else ((), ())


def _only_guards(expr: Expr) -> bool:
    if expr.op in ("member", "size", "extent", "lit"):
        return True
    if expr.op in ("not", "and", "or", "==", "<", "<="):
        return all(_only_guards(arg) for arg in expr.args if isinstance(arg, Expr))
    return False


@dataclass(frozen=True, slots=True)
class SizeGuard:
    """A branch on the size of one set of dims around an event of another group: skipped silently where it is one."""

    node: Alt
    op: Op
    mask: int


def size_guards(terms: Terms, term: Node, axes: Axes) -> tuple[SizeGuard, ...]:
    """Give the events that stand under a size test of other dims alone (`if tp_size > 1: all_reduce(group=dp)`).

    The world and groups that are not known are left out, branches that work on the tested dims too, and tests that
    leave the function. Dense and expert dims of one kind are often told by one name: they are no other dims here.
    """
    kin = _kin(axes)
    found: list[SizeGuard] = []
    for node in walk(term):
        if not isinstance(node, Alt) or node.condition.var or node.gate.leaves:
            continue
        groups, masks = _guards(node.condition)
        if groups or len(masks) != 1 or masks[0] in (0, ALL):
            continue
        join = terms.joins.next(node)
        sides = (cut(terms, node.then, join), cut(terms, node.otherwise, join))
        alone = _without(node.condition, axes)
        if alone is None:
            continue
        inner, other = (sides[1], sides[0]) if alone else sides
        near = masks[0]
        for mask in kin:
            near |= mask if masks[0] & mask else 0
        if other.groups or any(group.dims & near or group.unknown or group.weak for group in inner.groups):
            continue
        ops = [below for below in walk(inner) if isinstance(below, Op) and below.kind not in ("barrier", *NEW_GROUP)]
        found += [SizeGuard(node, op, masks[0]) for op in ops[:1] if stands_inside(node.gate, op.site)]
    return tuple(found)


def _kin(axes: Axes) -> tuple[int, ...]:
    """Give the masks of dims that dense and expert layouts have by one name."""
    known = set(axes.leaves) | {name for name, _ in axes.children}
    pairs = (("tp", "etp"), ("dp", "edp"), ("dp", "ep"))
    return tuple(axes.mask(*pair) for pair in pairs if known.issuperset(pair))


def _without(condition: Expr, axes: Axes) -> bool | None:
    """Give what a test of sizes says where every size is one."""
    try:
        return truth(evaluate(condition, View(Layout(mesh_of(axes)), 0, refuse)))
    except Unresolvable:
        return None
