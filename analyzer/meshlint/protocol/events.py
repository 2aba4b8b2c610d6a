"""Library models applied: what a call that a model knows gives, and the event that it leaves behind."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from meshlint.mesh.dims import ALL, leaf_of
from meshlint.mesh.gate import SETTING, UNRESOLVED, Expr, Origin
from meshlint.mesh.group import TENSOR, WORLD, Group
from meshlint.mesh.simulate import RECEIVES, SENDS
from meshlint.mesh.term import Gate, Site
from meshlint.models.entry import Entry
from meshlint.protocol.apart import written_later
from meshlint.protocol.facts import Node
from meshlint.protocol.items import (
    AltItem,
    Item,
    OpItem,
)
from meshlint.protocol.reading import (
    among_members,
    argument_of,
    atoms_in,
    comes_in_turn,
    is_none,
    is_number,
    is_oneself,
    listed_group,
    may_be_root,
)
from meshlint.protocol.sizes import told_apart
from meshlint.protocol.syntax import (
    argument_node,
    inner_place,
    root_of,
    wrapped_after,
)
from meshlint.protocol.values import (
    BY_USE,
    Config,
    Grp,
    MeshOf,
    OneOf,
    RanksOf,
    Seq,
    Sized,
    Unordered,
    V,
    Work,
)

if TYPE_CHECKING:
    from meshlint.protocol.walk import Walker


_EQUAL_SIZES = ("broadcast", "all_reduce", "reduce")
"""Events whose ranks all bring as many elements."""


_ANY_ORDER = SENDS | RECEIVES | {"broadcast_object_list"}
"""Events of which more than what one rank gives them says which ones meet, or that hand it to the others whole."""


def apply_model(walker: Walker, entry: Entry, args: list[V], kwargs: dict[str, V], node: Node | None, text: str) -> V:
    """Apply a library model."""
    given = argument_of(entry.group, args, kwargs)
    if given is not None and isinstance(given.data, OneOf):
        return apply_each(walker, entry, given, args, kwargs, node, text)
    group, mask = entry_group(walker, entry, args, kwargs)
    values = walker.values
    kind = entry.kind
    if kind == "op":
        if group is None and entry.place == "receiver":
            group = mesh_of_tensor(text.rpartition(".")[0], entry.identity or "tensor's mesh")
        if makes_none(walker, entry, kwargs, node):
            return walker.domain.unknown(walker.key(text), nonnull=True, text=f"{text}()")
        return leave_event(walker, entry, group, args, kwargs, node, text)
    if kind in ("rank", "size", "first", "last", "source", "ranks", "member", "group") and group is None:
        return walker.domain.unknown(walker.key(text), text=text)
    if kind == "rank" and group is not None:
        known_only = entry.weak and not group.unknown
        made = values.coord(mask, weak=True) if known_only else values.group_rank(group)
        return walker.domain.of(made, text=text)
    if kind == "size" and group is not None:
        return walker.domain.of(values.size(group), text=text)
    if kind == "group" and group is not None:
        return V(values.atom(f"group {group.name}", UNRESOLVED), Grp(group), walker.no, text=text)
    if kind in ("first", "last") and group is not None:
        if group.lists is not None or group.members is not None or group.unknown:
            place = values.group_rank(group)
            last = values.arithmetic("-", values.size(group), 1)
            return walker.domain.of(values.compare("==", place, 0 if kind == "first" else last), text=text)
        test = values.first if kind == "first" else values.last
        return walker.domain.of(test(mask, weak=entry.weak), text=text)
    if kind == "yes":
        starts = any(call.endswith("init_process_group") for call in walker.frame.definition.callees)
        return walker.domain.unknown(text, nonnull=True) if starts else walker.domain.const(True)
    if kind == "unordered":
        return walker.domain.of(values.atom(text, UNRESOLVED), Unordered(BY_USE), text)
    if kind == "ranks" and group is not None:
        return walker.domain.of(values.atom(f"ranks of #{mask} {text}", UNRESOLVED), RanksOf(group), text)
    if kind == "member" and group is not None and not group.unknown:
        return walker.domain.of(values.member(group), text=text)
    if kind == "source" and group is not None:
        if entry.place == "argument":
            rank = args[1].expr if len(args) > 1 else values.lit(0)
            return walker.domain.of(values.global_rank(group, rank), text=text)
        index = values.lit(0) if entry.place == "first" else values.arithmetic("-", values.size(group), 1)
        return walker.domain.of(values.global_rank(group, index), text=text)
    if kind == "local":
        return found_alone(walker, entry, node, text)
    if kind == "mesh":
        if entry.op and group is not None:
            leave_event(walker, entry, group, args, kwargs, node, text)
        return mesh_made(walker, args, kwargs, text)
    if kind == "config" and entry.names[0] == "os.environ" and args and args[0].expr.op == "lit":
        launched = walker.domain.environment(args[0].expr.args[0])
        if launched is not None:
            return launched
    if kind == "config":
        return V(values.atom(text, SETTING), Config(text.rpartition(".")[2]), walker.no, text=text)
    if kind == "unwrap" and args:
        return args[0]
    if kind == "object":
        wrapped = entry.effect == "in-place" and node is not None and wraps(walker, entry, args, kwargs, node)
        return walker.domain.unknown(text, nonnull=True, text=f"{text}()" if wrapped else text)
    return walker.domain.unknown(f"{text}()", text=f"{text}()")


def found_alone(walker: Walker, entry: Entry, node: Node | None, text: str) -> V:
    """Give what a rank finds for itself: a file, a clock, or an attribute that only some ranks along dims have."""
    values = walker.values
    if entry.dims:
        none = values.atom(f"{text} is None", Origin.APART, var=walker.domain.mask(entry.dims))
        return V(values.atom(text, UNRESOLVED), None, none, text=text)
    line = node[4] if node is not None else 0
    written = node is not None and node[2] and written_later(walker.frame.definition.body, node[2][0], line, text)
    atom = values.atom(walker.key(text, line), Origin.APART if written or entry.differs else Origin.LOCAL, var=ALL)
    return walker.domain.of(atom, text=text)


def apply_each(
    walker: Walker, entry: Entry, given: V, args: list[V], kwargs: dict[str, V], node: Node | None, text: str
) -> V:
    """Apply a model whose group is one of two: an event on the one or on the other."""
    frame, way = walker.frame, given.data
    outer = frame.items
    sides: list[list[Item]] = []
    results: list[V] = []
    for data in (way.then, way.otherwise):
        frame.items = []
        one = replace(given, data=data)
        results.append(
            apply_model(
                walker,
                entry,
                [one if arg is given else arg for arg in args],
                {name: one if arg is given else arg for name, arg in kwargs.items()},
                node,
                text,
            )
        )
        sides.append(frame.items)
    frame.items = outer
    if sides[0] or sides[1]:
        line = node[4] if node is not None else frame.definition.line
        gate = Gate(walker.site(line, 1, "which group"), "ternary", "", True, line)
        outer.append(AltItem(way.condition, sides[0], sides[1], gate))
    return walker.domain.join(way.condition, results[0], results[1])


def makes_none(walker: Walker, entry: Entry, kwargs: dict[str, V], node: Node | None) -> bool:
    """Say whether a modelled event is none here: switched off, or of a model that is wrapped only later on."""
    off = kwargs.get(entry.off) if entry.off else None
    if off is not None and off.expr.op == "lit" and off.expr.args[0]:
        return True
    on = kwargs.get(entry.on) if entry.on else None
    if entry.on and (on is None or on.expr.op != "lit" or not on.expr.args[0]):
        return True
    if entry.op != "state_dict" or not entry.weak or node is None or not node[2]:
        return False
    return wrapped_after(walker.frame.definition.body, node[2][0], node[4])


def mesh_made(walker: Walker, args: list[V], kwargs: dict[str, V], text: str) -> V:
    """`init_device_mesh(...)` with its names."""
    names = kwargs.get("mesh_dim_names")
    found: list[str] = []
    if names is not None and isinstance(names.data, Seq):
        found = [v.expr.args[0] for v in names.data.items if v.expr.op == "lit"]
    named = tuple(name for name in found if isinstance(name, str))
    mask, _ = walker.mesh_dims(list(named)) if found else (ALL, True)
    made = MeshOf(ALL if mask == 0 else mask, names=named)
    return walker.domain.of(walker.values.atom(f"mesh {text}", UNRESOLVED), made, text)


def mesh_of_tensor(text: str, name: str) -> Group:
    """Give the ranks that share a distributed tensor, or a model of such."""
    identity = f"{TENSOR}{text}"
    return Group(leaf_of(identity), identity=identity, name=name)


def wraps(walker: Walker, entry: Entry, args: list[V], kwargs: dict[str, V], node: Node) -> bool:
    """Let what a call wraps in place be known as what it gives; say so."""
    target, value = argument_node(entry.payload, node), argument_of(entry.payload, args, kwargs)
    path = walker.path(target) if target is not None else ""
    if path and value is not None and value.data is None:
        walker.bind(path, root_of(path), replace(value, text=f"{entry.names[0]}()"))
    return True


def entry_group(walker: Walker, entry: Entry, args: list[V], kwargs: dict[str, V]) -> tuple[Group | None, int]:
    """Give the group an entry speaks of, and its mask; None where the argument is not known."""
    given = argument_of(entry.group, args, kwargs)
    if given is not None and not is_none(given):
        if isinstance(given.data, Grp):
            return given.data.group, given.data.group.dims
        if isinstance(given.data, MeshOf):
            return given.data.group, given.data.dims
        made = walker.domain.group_of(given)
        return (None, 0) if made is None else (made, made.dims)
    if not entry.dims:
        return (WORLD, ALL) if given is not None or entry.group != (-1, "") else (None, 0)
    mask = walker.domain.mask(entry.dims)
    for keyword, position, dims in entry.extra:
        flag = argument_of((position, keyword), args, kwargs)
        if flag is not None and flag.expr.op == "lit" and flag.expr.args[0]:
            mask |= walker.domain.mask(dims)
        elif flag is not None and flag.expr.op != "lit":
            return None, 0
    if mask == ALL:
        return WORLD, ALL
    members: Expr | None = None
    if entry.members == "ends":
        members = walker.values.either(walker.values.first(mask), walker.values.last(mask))
    elif entry.members == "first":
        members = walker.values.first(mask)
    return Group(
        mask, members, identity=entry.identity, name=entry.identity or walker.domain.axes.label(mask), weak=entry.weak
    ), mask


def leave_event(
    walker: Walker, entry: Entry, group: Group | None, args: list[V], kwargs: dict[str, V], node: Node | None, text: str
) -> V:
    """Leave an event behind, and what it makes uniform."""
    call: Node = node if node is not None else ("K", ("N", text), (), (), walker.frame.definition.line, 1, 1, 2)
    payload = argument_of(entry.payload, args, kwargs)
    payload_node = argument_node(entry.payload, call)
    site = walker.call_site(call)
    result = walker.domain.unknown(f"{text}@{walker.frame.path}:{call[4]}", nonnull=True, text=f"{text}()")
    waits = argument_of((-1, entry.asynchronous), args, kwargs) if entry.asynchronous else None
    handle = ""
    if waits is not None and waits.expr.op == "lit" and waits.expr.args[0]:
        handle = f"{walker.frame.path}:{call[4]}:{call[5]}"
        result = V(result.expr, Work(handle), walker.no)
    if entry.creates and among_members(kwargs):
        group = listed_group(argument_of((0, "ranks"), args, kwargs))
    if group is not None:
        facts = event_facts(walker, entry, group, args, kwargs, payload, payload_node, site, call)
        if handle:
            facts["handle"] = handle
        given = argument_of(entry.group, args, kwargs)
        sent = None if entry.op in _ANY_ORDER else payload
        turns = [name for name, value in (("turn of group", given), ("turn", sent)) if comes_in_turn(value)]
        note_size(walker, entry, group, payload, facts)
        if turns:
            facts["flags"] = (*facts.get("flags", ()), turns[0])
        walker.frame.items.append(OpItem(entry.op, group, site, facts))
    dims = ALL if group is None or group.unknown else group.dims
    if entry.effect in ("in-place", "list") and payload_node is not None:
        clear(walker, payload_node, dims, call, None if group is None else (entry.op, site))
    if entry.effect == "returns":
        source = payload or (args[0] if args else None)
        if source is not None:
            key = f"{text}@{walker.frame.path}:{call[4]}:{call[5]}"
            result = replace(walker.domain.cleared(source, dims, key), data=None, null=walker.no, text=f"{text}()")
    if entry.creates and entry.op in ("new_group",):
        return group_made(walker, args, kwargs, text, call)
    return result


def group_made(walker: Walker, args: list[V], kwargs: dict[str, V], text: str, call: Node) -> V:
    """Give the group that `new_group` returns: of the world, of the ranks that all list alike, else unknown."""
    ranks = argument_of((0, "ranks"), args, kwargs)
    if ranks is None and any(name is None for name, _ in call[3]):
        return walker.domain.unknown(walker.key(text, call[4]))
    if ranks is not None:
        walker.frame.listed.append(ranks.expr.id)
    made: Group | None = WORLD if ranks is None or is_none(ranks) else listed_group(ranks)
    if made is None:
        return walker.domain.unknown(walker.key(text, call[4]))
    group = replace(made, identity=f"{walker.frame.path}:{call[4]}")
    return V(walker.values.atom(walker.key(text, call[4]), UNRESOLVED), Grp(group), walker.no)


def event_facts(
    walker: Walker,
    entry: Entry,
    group: Group,
    args: list[V],
    kwargs: dict[str, V],
    payload: V | None,
    payload_node: Node | None,
    site: Site,
    call: Node,
) -> dict[str, Any]:
    """Give the keyword arguments of the event's term."""
    facts: dict[str, Any] = {}
    flags: list[str] = []
    if entry.composite:
        flags.append("composite")
    if entry.object_form:
        flags.append("object")
    if entry.creates:
        flags.append("creates")
    if entry.weak:
        flags.append("weak")
    root = argument_of(entry.root, args, kwargs) or default_root(walker, entry, group, kwargs, call)
    if root is not None and is_number(root.expr) and not atoms_in(root.expr) and may_be_root(entry, group, root.expr):
        facts["root"] = root.expr
    if flags:
        facts["flags"] = tuple(flags)
    if not among_members(kwargs):
        lists = [argument_of(where, args, kwargs) for where in entry.agree]
        agree = tuple(whole_fact(walker, v.expr) for v in lists if v is not None and v.expr.var and not is_oneself(v))
        if agree:
            facts["agree"] = agree
    if payload is not None and payload.label:
        facts["keys"] = (payload.label.lstrip("~"),)
    if entry.op in ("broadcast", "broadcast_object_list") and payload is not None and payload_node is not None:
        path = walker.path(payload_node) or walker.path(inner_place(payload_node))
        if path:
            slot = f"{site.span.path}:{site.span.line}:{site.span.column}"
            facts["into"] = (slot,)
            if payload.expr.op != "atom" or payload.expr.args[1] is not UNRESOLVED:
                facts["value"] = payload.expr
    return facts


def default_root(walker: Walker, entry: Entry, group: Group, kwargs: dict[str, V], call: Node) -> V | None:
    """Give the root of an event that is given none, the first rank of the job; for the world it need not be told."""
    if not entry.root_first or group.dims == ALL or entry.group_root in kwargs:
        return None
    if any(name is None for name, _ in call[3]) or any(arg[0] == "*" for arg in call[2]):
        return None
    return walker.domain.const(0)


def note_size(walker: Walker, entry: Entry, group: Group, payload: V | None, facts: dict[str, Any]) -> None:
    """Note how many elements an event is given where that differs inside of its group."""
    if entry.op not in _EQUAL_SIZES or payload is None or not isinstance(payload.data, Sized):
        return
    many = payload.data.many
    if not many.var & group.dims:
        return
    apart, always = told_apart(many) if atoms_in(many) else (True, True)
    if apart:
        facts["agree"] = (*facts.get("agree", ()), many)
        facts["flags"] = (*facts.get("flags", ()), "sized", *(() if always else ("weak",)))


def whole_fact(walker: Walker, expr: Expr) -> Expr:
    """Give a value as one fact where it is not computed from coordinates alone: nothing inside explains it away."""
    return walker.domain.opaque(f"#{expr.id}", (expr,), close=True) if atoms_in(expr) else expr


def element_after(walker: Walker, value: V, dims: int, key: str) -> V:
    """Give what an element of a list or tensor is after an event over `dims` that writes there."""
    if value.expr.var:
        return replace(walker.domain.cleared(value, dims, key), data=None)
    return walker.domain.unknown(key, text=value.text)


def clear(walker: Walker, node: Node, dims: int, call: Node, event: tuple[str, Site] | None = None) -> None:
    """Take dims away from a place that was reduced, and from all aliases of its storage."""
    targets = node[1] if node[0] in ("L", "T") else (node,)
    for target in targets:
        path = walker.path(inner_place(target))
        if not path:
            continue
        value = walker.frame.env.get(path) or walker.eval(inner_place(target))
        key = f"{path}@{walker.frame.path}:{call[4]}:{call[5]}"
        if event is not None and event[0] in ("broadcast", "broadcast_object_list"):
            slot = f"{event[1].span.path}:{event[1].span.line}:{event[1].span.column}"
            after = replace(value, expr=walker.values.received(slot, var=value.expr.var & ~dims), data=None)
            if after.null is not None and after.null.var & dims:
                after = replace(after, null=None)
        else:
            after = walker.domain.cleared(value, dims, key)
        root = root_of(path)
        reached = {root}
        env, buf = walker.frame.env, value.buf
        for name in [name for name, other in env.items() if other is value or (buf and other.buf == buf)]:
            env[name] = after
            reached.add(name)
        if not walker.frame.parted.isdisjoint(map(root_of, reached)):
            starts = tuple(f"{name}[" for name in (path, *sorted(reached)))
            for name in [name for name in env if name.startswith(starts)]:
                env[name] = element_after(walker, env[name], dims, f"{name}@{key}")
        walker.bind(path, root, after)
        for param in walker.frame.definition.params:
            if param.name in reached:
                walker.frame.cleared[param.name] = walker.frame.cleared.get(param.name, 0) | dims
