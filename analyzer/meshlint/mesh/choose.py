"""The smallest meshes on which a term can show what it does.

Only dims along which some condition, root or size differs need more than one rank: ranks that differ elsewhere run the
same program. Two ranks a dim, three where first and last are both asked for, more where constants ask for it, one too
where a size is tested. Dims that the term treats alike count as one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from meshlint.mesh.dims import ALL, Axes, Mesh
from meshlint.mesh.evaluate import Layout, Unresolvable, View, evaluate, refuse, truth
from meshlint.mesh.gate import Expr
from meshlint.mesh.group import Group
from meshlint.mesh.term import Alt, Loop, Node, Op, walk
from meshlint.records import dataclass

RANK_CAP = 16
MESH_CAP = 6
CONSTANT_CAP = 7


def expressions(term: Node) -> tuple[Expr, ...]:
    """Give the expressions that a term's nodes hold, each once, in the order of the program."""
    found: dict[int, Expr] = {}
    groups: tuple[Group, ...] = ()
    for node in walk(term):
        for expr in _held(node):
            found[expr.id] = expr
        if node.groups is not groups:  # those that follow one another mostly have the same
            groups = node.groups
            for group in groups:
                for part in (group.members, group.lists):
                    if part is not None:
                        found[part.id] = part
    return tuple(found.values())


def _held(node: Node) -> tuple[Expr, ...]:
    """Give the expressions of a node itself, those of its groups apart."""
    if isinstance(node, Alt):
        return (node.condition,)
    if isinstance(node, Loop):
        return (node.trip,)
    if isinstance(node, Op):
        return tuple([expr for expr in (node.root, node.value, *node.agree) if expr is not None])
    return ()


def parts(roots: tuple[Expr, ...]) -> Iterator[Expr]:
    """Give every sub-expression once."""
    seen: set[int] = set()
    stack = list(reversed(roots))
    while stack:
        expr = stack.pop()
        if expr.id in seen:
            continue
        seen.add(expr.id)
        yield expr
        stack += [below for arg in expr.args[::-1] for below in _below(arg)]


def _below(arg: object) -> tuple[Expr, ...]:
    if isinstance(arg, Group):
        return tuple(expr for expr in (arg.members, arg.lists) if expr is not None)
    return (arg,) if isinstance(arg, Expr) else ()


@dataclass(slots=True)
class _Wants:
    """What the expressions of a term ask of a mesh."""

    masks: list[int]
    split: list[int]
    ranks: bool = False
    local: bool = False
    world: int = 0
    sizes: dict[int, set[int]] | None = None


Facts = tuple[tuple[Expr, bool], ...]
"""What is known of sizes where a part of a program stands: tests of sizes, and whether they hold."""


def _wants(term: Node, facts: Facts) -> _Wants:
    wants = _Wants([], [group.dims for group in term.groups if group.dims != ALL], sizes={})
    wants.ranks = any(isinstance(node, Op) and _constant_root(node) for node in walk(term))
    for expr in parts((*expressions(term), *(fact for fact, _ in facts))):
        _want(expr, wants)
    return wants


def _constant_root(op: Op) -> bool:
    return op.root is not None and not op.root.var and op.group.dims != ALL


def _want(expr: Expr, wants: _Wants) -> None:
    if expr.op in ("rank", "global") or (expr.var == ALL and not expr.local and expr.op in ("atom", "recv")):
        wants.ranks = True
    wants.local = wants.local or expr.local
    if expr.op in ("list", "range"):
        wants.world = max([wants.world, *(_literal(arg) + 1 for arg in expr.args)])
    if expr.op in ("coord", "extent") and expr.args[0] != ALL:
        wants.masks.append(expr.args[0])
    if expr.op in ("size", "global") and expr.args[0].unknown:
        wants.masks.append(expr.args[0].dims)
    if expr.op == "grank" or (expr.op in ("atom", "recv") and not expr.local and expr.var not in (0, ALL)):
        wants.masks.append(expr.var)
    if expr.op == "//" and expr.args[0].op == "rank":
        wants.world = max(wants.world, 2 * _literal(expr.args[1]))
    if expr.op in ("==", "<", "<=", "%"):
        _sized(expr, wants)
    if expr.op == "or":
        _one_of(expr, wants)


def _one_of(expr: Expr, wants: _Wants) -> None:
    """Want a place beside those that a test lists, where it lists the first ones."""
    listed: dict[int, set[int]] = {}
    for test in expr.args:
        for side, other in (test.args, test.args[::-1]) if test.op == "==" else ():
            form, mask = _counted(side)
            if form in ("coord", "rank") and _literal(other) >= 0:
                listed.setdefault(mask, set()).add(_literal(other))
    for mask, places in listed.items():
        if 1 < len(places) <= CONSTANT_CAP and places == set(range(len(places))):
            wants.sizes = wants.sizes if wants.sizes is not None else {}
            wants.sizes.setdefault(mask, set()).add(len(places) + 1)


def _sized(expr: Expr, wants: _Wants) -> None:
    left, right = expr.args
    for side, other in ((left, right), (right, left)):
        form, mask = _counted(side)
        if not form:
            continue
        sizes = wants.sizes if wants.sizes is not None else {}
        known = sizes.setdefault(mask, set())
        if other.op == "lit" and isinstance(other.args[0], int):
            known |= _constant_sizes(form, expr.op, other.args[0])
        elif form != "extent" and any(part.op in ("extent", "size") for part in parts((other,))):
            known.add(-1)


def _counted(side: Expr) -> tuple[str, int]:
    """Give what a side of a test counts (`coord`, `rank`, `extent`) and along which dims; nothing for the rest."""
    if side.op in ("grank", "size"):
        return ("coord" if side.op == "grank" else "extent", side.args[0].dims) if side.args[0].unknown else ("", 0)
    if side.op in ("coord", "extent"):
        return side.op, side.args[0]
    return ("rank", ALL) if side.op == "rank" else ("", 0)


def _constant_sizes(side: str, op: str, constant: int) -> set[int]:
    if not 0 <= constant <= CONSTANT_CAP:
        return set()
    if op == "%":
        return {constant}
    if side == "extent":
        return {max(1, constant), constant + 1}
    if not constant:
        return {0}
    return {constant + 2} if op == "<=" else {constant + 1}


def _literal(expr: Expr) -> int:
    return expr.args[0] if expr.op == "lit" and isinstance(expr.args[0], int) and expr.args[0] < RANK_CAP else -1


def meshes(term: Node, axes: Axes, facts: Facts = ()) -> tuple[Mesh, ...]:
    """Give the meshes to try, smallest first; empty where none of at most RANK_CAP ranks is feasible."""
    wants = _wants(term, facts)
    classes = _classes(wants, axes)
    options = [(leaf, _sizes_of(mask, wants)) for leaf, mask in classes]
    found: dict[Mesh, None] = {}
    for sizes in sorted(product(*(sizes for _, sizes in options)), key=_cost):
        chosen = {leaf: size for (leaf, _), size in zip(options, sizes, strict=True)}
        for mesh in _completed(chosen, axes, wants.world):
            if _feasible(mesh, facts):
                found.setdefault(mesh)
        if len(found) >= MESH_CAP:
            break
    return tuple(found)[:MESH_CAP]


def _feasible(mesh: Mesh, facts: Facts) -> bool:
    try:
        return all(truth(evaluate(fact, View(Layout(mesh), 0, refuse))) is holds for fact, holds in facts)
    except Unresolvable:
        return False


def sizes_only(expr: Expr) -> bool:
    """Say whether an expression is computed from sizes alone, so that it is a fact about the mesh."""
    return not expr.var and all(part.op not in ("atom", "recv") for part in parts((expr,))) and expr.op != "lit"


def _cost(sizes: tuple[int, ...]) -> tuple[int, int, tuple[int, ...]]:
    """Order settings of sizes: those that leave a dim out come last."""
    return (sizes.count(1), prod(sizes), sizes)


def _classes(wants: _Wants, axes: Axes) -> list[tuple[int, int]]:
    """Give (representative leaf, mask) of each class of leaves that the term treats alike and that must be split."""
    involved = 0
    for mask in wants.masks:
        involved |= mask & axes.everything
    involved |= _crossing(involved, wants, axes)
    classes = [(min(axes.bits(mask)), mask) for mask in _alike(involved, (*wants.masks, *wants.split), axes)]
    return sorted(classes) + _rest_classes(wants, axes, involved)


def _crossing(involved: int, wants: _Wants, axes: Axes) -> int:
    """Give the leaves of groups that meet the dims involved by rank numbers only."""
    found = 0
    for dims in wants.split:
        if (involved & axes.dense_only and dims & axes.expert_only) or (
            involved & axes.expert_only and dims & axes.dense_only
        ):
            found |= dims & axes.everything
    return found


def _alike(mask: int, masks: tuple[int, ...], axes: Axes) -> list[int]:
    """Split a mask into classes of leaves that all of `masks` treat alike; dense and expert leaves stay apart."""
    classes: dict[tuple[bool, ...], int] = {}
    for index in axes.bits(mask):
        apart = bool(axes.expert_only >> index & 1)
        signature = (apart, *(bool(other >> index & 1) for other in masks))
        classes[signature] = classes.get(signature, 0) | 1 << index
    return list(classes.values())


def _rest_classes(wants: _Wants, axes: Axes, involved: int) -> list[tuple[int, int]]:
    """Add the dims that only whole ranks tell apart: those of each group, and one more where nothing groups them."""
    if involved and not wants.ranks and not wants.local:
        return []
    grouped = 0
    for dims in wants.split:
        grouped |= dims & axes.everything & ~involved
    classes = [(_preferred(mask, axes), mask) for mask in _alike(grouped, tuple(wants.split), axes)]
    if wants.ranks or not (classes or involved):
        others = axes.everything & ~(involved | grouped | axes.expert_only)
        classes += [(_preferred(others, axes), others)] if others else []
    return sorted(classes)


def _preferred(mask: int, axes: Axes) -> int:
    for name in ("dp.0", "tp", "pp"):
        if name in axes.leaves and mask >> axes.leaves.index(name) & 1:
            return axes.leaves.index(name)
    return min(axes.bits(mask))


def _sizes_of(mask: int, wants: _Wants) -> tuple[int, ...]:
    asked: set[int] = set()
    for other, sizes in (wants.sizes or {}).items():
        if other & mask and (other != ALL or not wants.masks):
            asked |= sizes
    sizes = {size for size in asked if size >= 1}
    if -1 in asked and asked - {-1, 1}:
        sizes.add(3)
    return tuple(dict.fromkeys((2, *sorted(sizes))))


def _completed(chosen: dict[int, int], axes: Axes, world: int) -> Iterator[Mesh]:
    """Fill in the other leaves: size one, and an expert layout of as many ranks."""
    dense = [chosen.get(index, 1) for index in range(len(axes.leaves))]
    filler = axes.leaves.index("dp.0") if "dp.0" in axes.leaves else axes.dense[-1]
    apart = [index for index in axes.expert if index not in axes.dense]
    asked = [index for index in apart if index in chosen]
    need = prod(chosen[index] for index in asked)
    shared = prod(dense[index] for index in axes.dense if index in axes.expert)
    total = prod(dense[index] for index in axes.dense if index not in axes.expert)
    while total % need or total * shared < world:
        dense[filler] += 1
        total = prod(dense[index] for index in axes.dense if index not in axes.expert)
        if total * shared > RANK_CAP:
            return
    if total * shared > RANK_CAP:
        return
    if not apart:
        yield Mesh(axes, tuple(dense))
        return
    for expert in _expert_sizes(axes, apart, chosen, dense, total // need):
        yield Mesh(axes, expert)


def _expert_sizes(
    axes: Axes, apart: list[int], chosen: dict[int, int], dense: list[int], left: int
) -> Iterator[tuple[int, ...]]:
    base = list(dense)
    for index in apart:
        base[index] = chosen.get(index, 1)
    names = axes.leaves
    free = [index for index in apart if index not in chosen] or [apart[-1]]
    rest = names.index("edp") if "edp" in names and names.index("edp") in free else free[-1]
    if "etp" in names and names.index("etp") in free and "tp" in names and len(free) > 1:
        size = dense[names.index("tp")]
        if left % size == 0:
            first = list(base)
            first[names.index("etp")] = size
            first[rest] *= left // size
            yield tuple(first)
    if any(index in chosen for index in apart) or "etp" not in names or left % dense[names.index("tp")]:
        second = list(base)
        second[rest] *= left
        yield tuple(second)
