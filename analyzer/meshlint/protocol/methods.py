"""Methods of groups, meshes, tensors, handles, dicts and lists; built-in and library functions without a model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from meshlint.mesh.dims import ALL
from meshlint.mesh.gate import UNRESOLVED, Origin
from meshlint.models import names as known
from meshlint.protocol.apart import counted_by_all
from meshlint.protocol.facts import Node
from meshlint.protocol.items import (
    WaitItem,
)
from meshlint.protocol.paced import paced_method
from meshlint.protocol.reading import (
    is_none,
    is_number,
)
from meshlint.protocol.sizes import size_of
from meshlint.protocol.syntax import SAME, root_of
from meshlint.protocol.unordered import (
    SET_METHODS,
    derived,
    grown_set,
    joined_sets,
    made_set,
    settled,
)
from meshlint.protocol.values import (
    HOLLOW,
    Config,
    Func,
    Given,
    Grp,
    Instance,
    Klass,
    Map,
    MeshOf,
    Module,
    Paced,
    RanksOf,
    Selected,
    Seq,
    Sized,
    Unordered,
    V,
    Work,
    Written,
    listed,
    mapped,
    shuffled,
)

if TYPE_CHECKING:
    from meshlint.protocol.walk import Walker


_VIEWS = frozenset(
    ("view", "view_as", "reshape", "flatten", "squeeze", "unsqueeze", "ravel", "narrow", "expand", "data")
)


_COUNTS = frozenset(("numel", "size", "dim", "nelement", "element_size", "count"))


_FILL = ("copy_", "fill_")

_GROW = ("append", "extend", "add", "insert", "update")

_OF_ANYTHING = frozenset((*SAME, *_COUNTS, *_FILL, *_GROW, "rank", "get_local_rank", "get", "fromkeys"))
"""The methods that mean something here of a value of which no more is known."""


def special_method(walker: Walker, base: V, name: str, node: Node) -> V | None:
    """Methods of groups, meshes, tensors, handles, dicts and lists."""
    data = base.data
    if data is None and name not in _OF_ANYTHING:
        return None
    if isinstance(data, Module | Klass | Func | Config):
        return None
    if isinstance(data, Paced):
        return paced_method(walker, base, name, node)
    if isinstance(data, Instance):
        known_method = walker.engine.linker.method(data.key, name) is not None
        return None if known_method or name not in SAME else base
    if isinstance(data, Grp) and name in ("rank", "size"):
        make = walker.values.group_rank if name == "rank" else walker.values.size
        return walker.domain.of(make(data.group))
    if isinstance(data, MeshOf):
        return mesh_method(walker, data, name, node)
    if isinstance(data, RanksOf) and name == "index" and len(node[2]) == 1:
        args, _ = walker.arguments(node)
        if args[0].expr is walker.values.rank():
            return walker.domain.of(walker.values.group_rank(data.group))
        return walker.pure(f"{base.text}.index", args, {}, base, node)
    if name == "fromkeys" and node[2]:
        return filled_dict(walker, node)
    if shuffled(data) or isinstance(data, Unordered):
        made = unordered_method(walker, base, name, node)
        if made is not None:
            return made
    if name == "rank" and data is None and not node[2] and known.is_group(base.text.rpartition(".")[2]):
        group = walker.domain.group_of(base)
        return None if group is None else walker.domain.of(walker.values.group_rank(group))
    if name == "get_local_rank" and data is None and base.text.endswith("mesh"):
        args, kwargs = walker.arguments(node)
        group = walker.domain.group_of(walker.pure(f"{base.text}.get_group", args, kwargs, base, node))
        return None if group is None else walker.domain.of(walker.values.group_rank(group))
    if isinstance(data, Work) and name == "wait":
        walker.frame.items.append(WaitItem(data.handle, walker.call_site(node)))
        return walker.domain.const(None)
    if name in SAME and not isinstance(data, Seq | Map):
        walker.arguments(node)
        same = (with_storage(walker, base, node[1][1]) if name in _VIEWS else base).none_if(walker.no)
        return same.holding(None) if name in ("narrow", "expand") and isinstance(data, Sized) else same
    if name in _COUNTS and not isinstance(data, Seq | Map):
        args, _ = walker.arguments(node)
        parts = (base.expr, *(a.expr for a in args))
        key = f"{name}({','.join(f'#{e.id}' for e in parts)})"
        many = how_many(walker, key, base, node[1][1]) if name in ("numel", "size", "nelement") else None
        if many is not None:
            return many
        if base.expr.op == "atom" and base.expr.args[1] is UNRESOLVED:
            return walker.domain.of(walker.values.atom(key, UNRESOLVED, count=True))
        return walker.domain.of(walker.domain.opaque(key, parts, count=True, close=True))
    if name == "get" and node[2]:
        return get_with_default(walker, base, node)
    if name in _FILL and node[2]:
        args, _ = walker.arguments(node)
        path = walker.path(node[1][1])
        if path:
            given = args[0]
            again = V(given.expr, None, walker.no, base.label, base.buf, given.text, given.phi)
            walker.bind(path, root_of(path), again)
        return base
    if name in _GROW and (node[2] or node[3]):
        return grown(walker, base, name, node)
    return None


def filled_dict(walker: Walker, node: Node) -> V:
    """`dict.fromkeys(keys)`: it keeps their order."""
    args, kwargs = walker.arguments(node)
    made = walker.pure("dict.fromkeys", args, kwargs, None, node)
    return made.holding(derived(args[:1])).none_if(walker.no)


def unordered_method(walker: Walker, base: V, name: str, node: Node) -> V | None:
    """Methods of sets, and of lists and dicts that are made from one."""
    if name in ("items", "keys", "values"):
        return base
    if name == "pop":
        walker.arguments(node)
        return walker.domain.of(walker.values.atom(walker.key("popped", node[4]) + " element", Origin.TURN))
    if name == "sort":
        walker.arguments(node)
        path = walker.path(node[1][1])
        if path:
            walker.bind(path, root_of(path), base.holding(None))
        return walker.domain.const(None)
    if name not in SET_METHODS:
        return None
    args, kwargs = walker.arguments(node)
    made = walker.pure(f"{base.text}.{name}", args, kwargs, base, node)
    other = args[0] if args else walker.domain.unknown("?")
    return made.holding(joined_sets(SET_METHODS[name], base, other)).none_if(walker.no)


def with_storage(walker: Walker, base: V, node: Node) -> V:
    """Give a value that a view is taken of: it has storage, whoever made it."""
    path = walker.path(node)
    if base.buf or not path or walker.frame.env.get(path) is not base:
        return base
    walker.domain.fresh += 1
    made = V(base.expr, base.data, base.null, base.label, walker.domain.fresh, base.text, base.phi)
    walker.bind(path, root_of(path), made)
    return made


def mesh_method(walker: Walker, data: MeshOf, name: str, node: Node) -> V | None:
    """`mesh.get_group("tp")`, `mesh.get_local_rank("tp")`, `mesh.size()`."""
    args, kwargs = walker.arguments(node)
    text = f"mesh.{name}"
    which = args[0] if args else kwargs.get("mesh_dim")
    if which is not None:
        place = which.expr.args[0] if which.expr.op == "lit" else None
        if type(place) is int and -len(data.names) <= place < len(data.names):
            which = walker.domain.const(data.names[place])
        sliced = walker.mesh_slice(data, which, text).data if isinstance(which.expr.args[0], str) else None
        if not isinstance(sliced, MeshOf):
            return walker.domain.unknown(walker.key(text, node[4]))
        data = sliced
    group = data.group
    if name == "get_group":
        return walker.domain.of(walker.values.atom(f"{text}#{group.dims}{group.identity}", UNRESOLVED), Grp(group))
    if name in ("get_local_rank", "get_rank"):
        place = walker.values.group_rank(replace(group, weak=False))
        return walker.domain.of(walker.values.rank() if name == "get_rank" else place)
    if name == "size":
        return walker.domain.of(walker.values.size(group))
    if name == "_flatten":
        return walker.domain.of(walker.values.atom(f"{text}#{group.dims}", UNRESOLVED), data)
    return None


def get_with_default(walker: Walker, base: V, node: Node) -> V:
    """`x.get(key, default)`."""
    args, _ = walker.arguments(node)
    default = args[1] if len(args) > 1 else walker.domain.const(None)
    index = args[0] if args else walker.domain.unknown("?")
    path = walker.path(("S", node[1][1], node[2][0]))
    if path and path in walker.frame.env:
        return walker.frame.env[path]
    if isinstance(base.data, Map) and index.expr.op == "lit" and not base.data.rest:
        found = base.data.get(index.expr.args[0])
        return default if found is None else found
    value = walker.element(base, index)
    if is_none(default):
        return value
    return walker.domain.join(walker.domain.is_none(value), default, value)


def grown(walker: Walker, base: V, name: str, node: Node) -> V:
    """A list or dict grows under the conditions of the path: what it holds varies with them."""
    args, kwargs = walker.arguments(node)
    path = walker.path(node[1][1])
    if not path:
        return walker.domain.const(None)
    parts = (base.expr, *(a.expr for a in args), *(v.expr for v in kwargs.values()), *walker.frame.conditions)
    data: Any = None
    order = grown_set(walker, base, name, args, node)
    if isinstance(base.data, Seq) and name == "append" and len(base.data.items) < 32 and args:
        data = listed((*base.data.items, args[0]))
    if name in ("update", "insert"):
        data = updated(base, args, kwargs) if name == "update" else None
        set_anew = None if data is None else [key for key, _ in data.items[len(base.data.items) :]]
        forget_elements(walker, path, set_anew)
    expr = walker.domain.opaque(f"#{base.expr.id}.{name}@{walker.frame.path}:{node[4]}", parts, close=True)
    data = data if order is None else order
    walker.bind(path, root_of(path), V(expr, data, walker.no, base.label, base.buf, base.text))
    return walker.domain.const(None)


def updated(base: V, args: list[V], kwargs: dict[str, V]) -> Map | None:
    """Give what a dict holds after `update`; None where it was not known, or is given what is not."""
    given = [value.data for value in args]
    if not isinstance(base.data, Map) or not all(isinstance(data, Map) for data in given):
        return None
    items = (*base.data.items, *(item for data in given for item in data.items), *kwargs.items())
    return mapped(items, base.data.rest or any(data.rest for data in given))


def forget_elements(walker: Walker, path: str, keys: list[Any] | None) -> None:
    """Forget the elements of a list or dict that are bound by themselves: those under some keys, or all."""
    env = walker.frame.env
    start = f"{path}["
    gone = None if keys is None else {f"{start}{key!r}]" for key in keys}
    for name in [name for name in env if name.startswith(start) and (gone is None or name in gone)]:
        del env[name]


def call_builtin(walker: Walker, name: str, args: list[V], kwargs: dict[str, V], node: Node) -> V | None:
    """Built-in functions."""
    if name in ("set", "frozenset") and not kwargs:
        return made_set(walker, args, node)
    if name in ("enumerate", "zip", "filter", "map") and (order := derived(args)) is not None:
        return walker.pure(name, args, kwargs, None, node).holding(order).none_if(walker.no)
    if name in ("int", "float", "bool", "str", "abs", "list", "tuple", "sorted", "reversed", "iter") and args:
        if name == "bool":
            return walker.domain.of(walker.domain.truth(args[0]))
        if name == "str":
            return walker.domain.of(walker.domain.opaque(f"str(#{args[0].expr.id})", (args[0].expr,)))
        if name in ("int", "float") and isinstance(args[0].data, Written):
            return walker.domain.of(args[0].data.number, text=args[0].text)
        if name == "sorted" and shuffled(args[0].data):
            return V(settled(walker, args[0], args[0].expr), None, walker.no, args[0].label, 0, args[0].text)
        other = name == "reversed" and isinstance(args[0].data, RanksOf)
        return (args[0].holding(None) if other else args[0]).none_if(walker.no)
    if name == "len" and args:
        if isinstance(args[0].data, Seq):
            return walker.domain.of(walker.values.lit(len(args[0].data.items)))
        if isinstance(args[0].data, RanksOf):
            return walker.domain.of(walker.values.size(args[0].data.group))
        key = f"len(#{args[0].expr.id})"
        many = how_many(walker, key, args[0], node[2][0])
        length = walker.domain.opaque(key, (args[0].expr,), count=True, close=True)
        return many or walker.domain.of(settled(walker, args[0], length))
    if name in ("min", "max") and len(args) == 1 and shuffled(args[0].data):
        return walker.domain.of(settled(walker, args[0], walker.pure(name, args, kwargs, None, node).expr))
    if name == "range" and args:
        numbers = [walker.domain.numeric(a) for a in args[:3]]
        if all(is_number(n) for n in numbers):
            start, stop = (numbers[0], numbers[1]) if len(numbers) > 1 else (walker.values.lit(0), numbers[0])
            return walker.domain.of(walker.values.range(start, stop, numbers[2] if len(numbers) > 2 else 1))
    if name in ("min", "max") and len(args) == 2:
        first, second = walker.domain.numeric(args[0]), walker.domain.numeric(args[1])
        if is_number(first) and is_number(second):
            return walker.domain.of(walker.values.arithmetic(name, first, second))
    if name == "next" and args:
        return V(walker.values.atom(walker.key("next", node[4]), Origin.CONTRACT), null=walker.no, text="batch")
    if name == "getattr" and len(args) >= 2 and args[1].expr.op == "lit" and isinstance(args[1].expr.args[0], str):
        return walker.attribute(args[0], args[1].expr.args[0])
    if name == "isinstance" and len(args) == 2:
        return instance_test(walker, args[0], args[1])
    if name == "partial" and args and isinstance(args[0].data, Func):
        return partial_of(walker, args, kwargs)
    if name == "partial" and len(args) == 1 and isinstance(args[0].data, Module | Given):
        return given_to(walker, args[0], kwargs)
    if name in ("any", "all", "sum") and args:
        if isinstance(args[0].data, Seq) and name != "sum":
            parts = [walker.domain.truth(v) for v in args[0].data.items]
            return walker.domain.of(walker.values.either(*parts) if name == "any" else walker.values.both(*parts))
        whole = walker.domain.opaque(f"{name}(#{args[0].expr.id})", (args[0].expr,))
        return walker.domain.of(settled(walker, args[0], whole))
    return None


def instance_test(walker: Walker, value: V, kind: V) -> V:
    """`isinstance(x, K)`: known where x is an object of a known class or a literal."""
    exact = isinstance(value.data, Instance) and not value.data.weak
    if exact and isinstance(kind.data, Klass) and kind.data.key in walker.engine.linker.mro(value.data.key):
        return walker.domain.const(True)
    if value.expr.op == "lit":
        return walker.domain.unknown(f"isinstance(#{value.expr.id},#{kind.expr.id})", nonnull=True)
    return walker.domain.of(walker.values.atom(f"isinstance(#{value.expr.id},#{kind.expr.id})", Origin.CONTRACT))


def partial_of(walker: Walker, args: list[V], kwargs: dict[str, V]) -> V:
    """`functools.partial(f, ...)`."""
    func = args[0].data
    made = replace(func, args=(*func.args, *args[1:]), kwargs=(*func.kwargs, *kwargs.items()))
    return V(args[0].expr, made, walker.no, text=args[0].text)


def given_to(walker: Walker, callee: V, kwargs: dict[str, V]) -> V:
    """`functools.partial(f, name=...)` of a function of a library; later keywords go before earlier ones."""
    data = callee.data
    before = dict(data.kwargs) if isinstance(data, Given) else {}
    return callee.holding(Given(data.target, tuple({**before, **kwargs}.items())))


def call_library(walker: Walker, name: str, args: list[V], kwargs: dict[str, V], node: Node) -> V | None:
    """Calls of libraries without a model that still say something."""
    last = name.rpartition(".")[2]
    if name.endswith("functools.partial") and args and isinstance(args[0].data, Func):
        return partial_of(walker, args, kwargs)
    if name.endswith("functools.partial") and len(args) == 1 and isinstance(args[0].data, Module | Given):
        return given_to(walker, args[0], kwargs)
    if name.startswith("torch.") and last in ("tensor", "as_tensor", "Tensor", "LongTensor", "IntTensor", "clone"):
        walker.domain.fresh += 1
        if args:
            held = size_held(walker, args[0]) if last in ("tensor", "as_tensor") else None
            return V(only_of(args[0]).expr, held, walker.no, args[0].label, walker.domain.fresh)
    if name.startswith("torch.") and last in (
        "empty",
        "zeros",
        "ones",
        "empty_like",
        "zeros_like",
        "full",
        "ones_like",
    ):
        walker.domain.fresh += 1
        key = f"{last}@{walker.frame.path}:{node[4]}:{node[5]}"
        if last in ("empty", "empty_like"):
            walker.frame.hollow = True
            key = HOLLOW + key
        room = size_made(walker, last, args, kwargs)
        return V(walker.values.atom(key, UNRESOLVED), room, walker.no, "", walker.domain.fresh)
    if name == "types.SimpleNamespace" and not args:
        made = walker.domain.opaque(walker.key(name, node[4]), tuple(value.expr for value in kwargs.values()))
        return V(made, mapped(list(kwargs.items()), any(key is None for key, _ in node[3])), walker.no, text=name)
    if name.startswith("copy.") and args:
        return args[0]
    return None


def only_of(value: V) -> V:
    """Give the number of a list of one number, which stands for the tensor of it; else the value itself."""
    items = value.data.items if isinstance(value.data, Seq) else ()
    return items[0] if len(items) == 1 and not isinstance(items[0].data, Seq | Map | Sized) else value


def size_held(walker: Walker, value: V) -> Sized | None:
    """Give the size of a tensor of given numbers."""
    if not isinstance(value.data, Seq):
        plain = value.expr.op == "lit" and type(value.expr.args[0]) is int
        return Sized(walker.values.lit(1)) if plain else None
    items = value.data.items
    if any(isinstance(item.data, Seq | Sized) or item.text.endswith("]") for item in items):
        return None
    return Sized(walker.values.lit(len(items)))


def size_made(walker: Walker, name: str, args: list[V], kwargs: dict[str, V]) -> Sized | None:
    """Give the size of a tensor that is made by its shape."""
    if name.endswith("_like"):
        return args[0].data if args and isinstance(args[0].data, Sized) else None
    given = [kwargs["size"]] if "size" in kwargs else args
    first = given[0].data if given else None
    sizes = first.items if isinstance(first, Seq) else given[:1] if name == "full" else tuple(given)
    lengths = [size.expr for size in sizes if not isinstance(size.data, Seq | Map)]
    if len(lengths) < len(sizes) or any(length.local for length in lengths):
        return None
    many = size_of(walker.values, lengths)
    return None if many is None else Sized(many)


def how_many(walker: Walker, key: str, value: V, node: Node) -> V | None:
    """Give a number of elements that differs between ranks; None where nothing says so."""
    path = walker.path(node)
    if not isinstance(value.data, Selected):
        return None
    counted = counted_by_all(walker.frame.definition.body, path)
    atom = walker.values.atom(key, Origin.APART if counted else Origin.LOCAL, var=ALL, count=True)
    return walker.domain.of(atom, text=key)
