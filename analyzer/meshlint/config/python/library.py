"""What calls of Python's own library and of plain values give: builtins, strings, lists, dicts, the environment."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from meshlint.config.python import arguments
from meshlint.config.python.expressions import Pending, copied, plain_key
from meshlint.config.python.machine import MAX_ITEMS, MAX_TEXT, MISSING, CallSite
from meshlint.config.python.values import (
    NONE,
    Bound,
    ClassVal,
    External,
    Func,
    Leaf,
    Map,
    Parser,
    Partial,
    Record,
    Seq,
    Unknown,
    Val,
    origins_of,
    sequence,
    truth,
)
from meshlint.config.value import Data

if TYPE_CHECKING:
    from meshlint.config.python.calls import Calls


def call(machine: Calls, callee: Val, site: CallSite) -> Val | None:
    """Give what a call of a library or of a plain value's method gives; None where that is not known here."""
    if isinstance(callee, External):
        known = _FUNCTIONS.get(callee.dotted.removeprefix("builtins."))
        if known is None and callee.dotted.startswith(("os.", "copy.", "dataclasses.", "math.", "functools.")):
            known = _FUNCTIONS.get(callee.name)
        return known(machine, site) if known is not None else None
    if isinstance(callee, Bound) and callee.function is None:
        return _method(machine, callee, site)
    return None


def _method(machine: Calls, callee: Bound, site: CallSite) -> Val | None:
    receiver = callee.receiver
    if receiver is machine.environ:
        return _environment(machine, callee.name, site)
    if isinstance(receiver, Parser):
        return arguments.method(machine, receiver, callee.name, site)
    if isinstance(receiver, Leaf) and isinstance(receiver.data, str):
        return _text(machine, receiver, callee.name, site)
    if isinstance(receiver, Seq):
        return _list(machine, receiver, callee.name, site)
    if isinstance(receiver, Map):
        return _dict(machine, receiver, callee.name, site)
    return None


# Builtins.


def _converted(kind: Callable[[Any], Any]) -> Callable[[Calls, CallSite], Val]:
    def convert(machine: Calls, site: CallSite) -> Val:
        if not site.args:
            return machine.computed(site.node, kind())  # type: ignore[call-arg]
        value = site.args[0]
        if kind is bool:
            known = truth(value)
            if known is None:
                return machine.unknown(site.node, "whether it is true is not known", value)
            return _same_place(value, known)
        if not isinstance(value, Leaf) or len(site.args) > 1:
            return machine.unknown(site.node, "what is converted is not known", value)
        try:
            if isinstance(value.data, str) and len(value.data) > 64 and kind is not str:
                raise ValueError
            return _same_place(value, kind(value.data))
        except (TypeError, ValueError, OverflowError):
            return machine.unknown(site.node, f"{str(value.data)[:40]!r} is no {kind.__name__}", value)

    return convert


def _same_place(value: Val, data: Data) -> Leaf:
    """Give other data with the places of a value: a conversion is no place to edit."""
    if isinstance(value, Leaf):
        return Leaf(data, value.origins, value.deps)
    return Leaf(data, origins_of(value))


def _sequence(kind: str) -> Callable[[Calls, CallSite], Val]:
    def make(machine: Calls, site: CallSite) -> Val:
        items = machine.iterate(site.args[0], site.node) if site.args else ()
        if kind == "set":
            items = _distinct(items)
        origins = origins_of(site.args[0]) if site.args else (machine.origin(site.node),)
        return sequence(kind, items, origins)

    return make


def _distinct(items: tuple[Val, ...]) -> tuple[Val, ...]:
    found: dict[Any, Val] = {}
    for item in items:
        key = plain_key(item)
        found.setdefault(id(item) if key is MISSING else (type(key).__name__, key), item)
    return tuple(found.values())


def _dict_of(machine: Calls, site: CallSite) -> Val:
    made = Map({}, (machine.origin(site.node),), site.rest)
    for source in site.args[:1]:
        if isinstance(source, Map):
            made.entries.update(source.entries)
            made.rest = made.rest or source.rest
        else:
            for pair in machine.iterate(source, site.node):
                name = plain_key(pair.items[0]) if isinstance(pair, Seq) and len(pair.items) == 2 else MISSING
                if name is MISSING:
                    made.rest = "a key of it is unknown"
                else:
                    made.entries[name] = pair.items[1]  # type: ignore[union-attr]
    made.entries.update(site.kwargs)
    return made


def _len(machine: Calls, site: CallSite) -> Val:
    value = site.args[0] if site.args else NONE
    if isinstance(value, Seq) and not value.open:
        return machine.computed(site.node, len(value.items), value)
    if isinstance(value, Map) and not value.rest:
        return machine.computed(site.node, len(value.entries), value)
    if isinstance(value, Leaf) and isinstance(value.data, str):
        return machine.computed(site.node, len(value.data), value)
    return machine.unknown(site.node, "its length is not known", value)


def _folded(fold: Callable[..., Any]) -> Callable[[Calls, CallSite], Val]:
    def apply(machine: Calls, site: CallSite) -> Val:
        values = site.args
        if len(values) == 1 and not isinstance(values[0], Leaf):
            values = machine.iterate(values[0], site.node)
        if not values or not all(isinstance(v, Leaf) for v in values) or site.kwargs:
            return machine.unknown(site.node, "not all of its arguments are known", *values)
        try:
            data = fold([v.data for v in values])  # type: ignore[union-attr]
        except (TypeError, ValueError, ArithmeticError):
            return machine.unknown(site.node, "it fails", *values)
        return machine._bounded(site.node, data, *values)

    return apply


def _decided_by(fold: Callable[[list[bool]], bool], stop: bool) -> Callable[[Calls, CallSite], Val]:
    def apply(machine: Calls, site: CallSite) -> Val:
        items = machine.iterate(site.args[0], site.node) if site.args else ()
        known = [truth(item) for item in items]
        if stop in known:
            return machine.computed(site.node, stop, *items)
        if None in known:
            return machine.unknown(site.node, "not all of its items are known", *items)
        return machine.computed(site.node, fold([bool(k) for k in known]), *items)

    return apply


def _range(machine: Calls, site: CallSite) -> Val:
    plain = [a.data if isinstance(a, Leaf) else None for a in site.args]
    if not plain or len(plain) > 3 or not all(isinstance(p, int) for p in plain) or plain[2:] == [0]:
        return sequence("list", (machine.unknown_items(site.node, *site.args),))
    numbers = range(*plain)  # type: ignore[arg-type]
    if len(numbers[: MAX_ITEMS + 1]) > MAX_ITEMS:  # the length of the whole may be no size of a machine's
        return sequence("list", (machine.unknown_items(site.node),))
    return sequence("list", tuple(machine.computed(site.node, n, *site.args) for n in numbers))


def _enumerate(machine: Calls, site: CallSite) -> Val:
    items = machine.iterate(site.args[0], site.node) if site.args else ()
    start = site.argument(1, "start")
    first = start.data if isinstance(start, Leaf) and isinstance(start.data, int) else 0
    pairs = [
        item if isinstance(item, Unknown) and item.several else sequence("tuple", (Leaf(first + i), item))
        for i, item in enumerate(items)
    ]
    return sequence("list", tuple(pairs))


def _zip(machine: Calls, site: CallSite) -> Val:
    columns = [machine.iterate(a, site.node) for a in site.args]
    if any(isinstance(v, Unknown) and v.several for column in columns for v in column):
        return sequence("list", (machine.unknown_items(site.node, *site.args),))
    return sequence("list", tuple(sequence("tuple", row) for row in zip(*columns, strict=False)))


def _sorted(machine: Calls, site: CallSite) -> Val:
    items = machine.iterate(site.args[0], site.node) if site.args else ()
    if site.kwargs or not all(isinstance(i, Leaf) for i in items):
        return sequence("list", (machine.unknown_items(site.node, *items),))
    try:
        return sequence("list", tuple(sorted(items, key=lambda i: i.data)))  # type: ignore[union-attr]
    except TypeError:
        return sequence("list", (machine.unknown_items(site.node, *items),))


def _reversed(machine: Calls, site: CallSite) -> Val:
    items = machine.iterate(site.args[0], site.node) if site.args else ()
    return sequence("list", tuple(reversed(items)))


def _getattr(machine: Calls, site: CallSite) -> Val:
    if len(site.args) < 2 or not isinstance(site.args[1], Leaf):
        return machine.unknown(site.node, "which attribute is read is not known", *site.args)
    base, name = site.args[0], str(site.args[1].data)
    gone = machine.missing(base, name)
    if gone is True and len(site.args) > 2:
        return site.args[2]
    value = machine.attribute(base, name)
    if value is None or (isinstance(value, Bound) and isinstance(value.receiver, Leaf)):
        return machine.unknown(site.node, f"`{name}` is not set in what was read", base)
    if isinstance(value, Leaf) and name in machine.knowledge.tracked:
        return machine._tracked(value, name, site.node)
    return value


def _setattr(machine: Calls, site: CallSite) -> Val:
    if len(site.args) == 3:
        base, name, value = site.args
        if isinstance(name, Leaf):
            machine.set_attribute(base, str(name.data), value, (machine.origin(site.node),))
        else:
            machine.taint(base, "which attribute is written is not known")
    return NONE


def _hasattr(machine: Calls, site: CallSite) -> Val:
    if len(site.args) != 2 or not isinstance(site.args[1], Leaf):
        return machine.unknown(site.node, "it is not known")
    name = str(site.args[1].data)
    gone = machine.missing(site.args[0], name)
    if gone is None:
        return machine.unknown(site.node, f"whether it has `{name}` is not known")
    return machine.computed(site.node, not gone)


_TYPES: Mapping[str, type] = {"str": str, "int": int, "float": float, "bool": bool}
_BOXES = {"list": "list", "tuple": "tuple", "set": "set"}


def _isinstance(machine: Calls, site: CallSite) -> Val:
    if len(site.args) != 2:
        return machine.unknown(site.node, "it is not known")
    wanted = site.args[1].items if isinstance(site.args[1], Seq) else (site.args[1],)
    answers = [_is_a(machine, site.args[0], cls) for cls in wanted]
    if True in answers:
        return machine.computed(site.node, True)
    if None in answers:
        return machine.unknown(site.node, "its type is not known", site.args[0])
    return machine.computed(site.node, False)


def _is_a(machine: Calls, value: Val, cls: Val) -> bool | None:
    if isinstance(value, Unknown) or not isinstance(cls, External | ClassVal):
        return None
    if isinstance(value, Leaf):
        kind = _TYPES.get(cls.name)
        return kind is not None and isinstance(value.data, kind)
    if isinstance(value, Seq):
        return _BOXES.get(cls.name) == value.kind
    if isinstance(value, Map):
        return cls.name == "dict"
    if not isinstance(value, Record):
        return None
    if value.cls is None:
        return True if value.type == cls.name else (False if cls.name in _TYPES or cls.name in _BOXES else None)
    names = [getattr(c, "name", "") for c in machine.classes(value.cls)]
    if cls.name in names:
        return True
    return False if machine.closed(value.cls) or cls.name in _TYPES or cls.name in _BOXES else None


def _callable(machine: Calls, site: CallSite) -> Val:
    value = site.args[0] if site.args else NONE
    if isinstance(value, Unknown | External):
        return machine.unknown(site.node, "it is not known", value)
    return machine.computed(site.node, isinstance(value, Func | ClassVal | Partial | Bound))


def _type(machine: Calls, site: CallSite) -> Val:
    value = site.args[0] if len(site.args) == 1 else NONE
    if isinstance(value, Record) and value.cls is not None:
        return value.cls
    return machine.unknown(site.node, "its type is not known", value)


# Modules of the standard library.


def _replace(machine: Calls, site: CallSite) -> Val:
    base = site.args[0] if site.args else NONE
    if not isinstance(base, Record):
        return machine.unknown(site.node, "what is copied is not known", base)
    made = _same_object(base)
    for key, value in site.kwargs.items():
        machine.write(made, key, value, machine.uses(value, site.node, key))
    made.open = made.open or site.rest
    return made


def _same_object(record: Record) -> Record:
    return Record(record.type, record.cls, dict(record.slots), record.open, record.model, record.origins)


def _copy(machine: Calls, site: CallSite) -> Val:
    return site.args[0] if site.args and not isinstance(site.args[0], Record | Map | Seq) else _shallow(machine, site)


def _shallow(machine: Calls, site: CallSite) -> Val:
    value = site.args[0] if site.args else NONE
    if isinstance(value, Record):
        return _same_object(value)
    if isinstance(value, Map):
        return Map(dict(value.entries), value.origins, value.rest)
    if isinstance(value, Seq):
        return sequence(value.kind, value.items, value.origins)
    return value


def _deepcopy(machine: Calls, site: CallSite) -> Val:
    return copied(site.args[0] if site.args else NONE, {})


def _asdict(machine: Calls, site: CallSite) -> Val:
    base = site.args[0] if site.args else NONE
    if not isinstance(base, Record):
        return Map({}, rest="what it is made from is not known")
    entries = {name: machine.record_attribute(base, name) for name in base.names()}
    return Map(entries, base.origins, base.open or ("" if base.cls is None else "it holds its class's defaults too"))


def _partial(machine: Calls, site: CallSite) -> Val:
    if not site.args:
        return machine.unknown(site.node, "it binds nothing")
    return Partial(site.args[0], site.args[1:], tuple(site.kwargs.items()))


def _import_module(machine: Calls, site: CallSite) -> Val:
    name = site.args[0] if site.args else NONE
    if not isinstance(name, Leaf) or not isinstance(name.data, str):
        return machine.unknown(site.node, "which module is imported is not known", name)
    return machine.imported(Pending(name.data, "", 0, machine.frame.module.path))


def _path_join(machine: Calls, site: CallSite) -> Val:
    if site.args and all(isinstance(a, Leaf) and isinstance(a.data, str) for a in site.args):
        text = "/".join(a.data.rstrip("/") for a in site.args)  # type: ignore[union-attr]
        if len(text) <= MAX_TEXT:
            return machine.computed(site.node, text, *site.args)
    return machine.unknown(site.node, "the path is not known", *site.args)


def _path_of_file(machine: Calls, site: CallSite) -> Val:
    return site.args[0] if site.args else NONE


def _dirname(machine: Calls, site: CallSite) -> Val:
    value = site.args[0] if site.args else NONE
    if isinstance(value, Leaf) and isinstance(value.data, str):
        return machine.computed(site.node, value.data.rpartition("/")[0], value)
    return machine.unknown(site.node, "the path is not known", value)


def _getenv(machine: Calls, site: CallSite) -> Val:
    return _environment(machine, "get", site) or NONE


def _environment(machine: Calls, name: str, site: CallSite) -> Val | None:
    """Read or set a variable of the environment: a default counts, with the caveat that the launch may set it."""
    key = site.args[0] if site.args else NONE
    if name not in ("get", "setdefault", "pop") or not isinstance(key, Leaf):
        return _dict(machine, machine.environ, name, site)
    found = machine.environment(str(key.data), None)
    if found is None:
        found = _with_caveat(site.args[1] if len(site.args) > 1 else NONE, f"{key.data} in the environment")
    if name == "setdefault":
        machine.put(machine.environ.entries, key.data, found)
    return found


def _with_caveat(value: Val, caveat: str) -> Val:
    if isinstance(value, Leaf) and value.origins:
        return replace(value, origins=(replace(value.origins[0], caveat=caveat), *value.origins[1:]))
    return value


# Methods of strings, lists and dicts.

_TEXT_METHODS = frozenset(
    [
        "lower",
        "upper",
        "strip",
        "lstrip",
        "rstrip",
        "startswith",
        "endswith",
        "split",
        "rsplit",
        "splitlines",
        "removeprefix",
        "removesuffix",
        "isdigit",
        "title",
        "capitalize",
        "count",
        "find",
        "partition",
        "rpartition",
    ]
)


def _text(machine: Calls, receiver: Leaf, name: str, site: CallSite) -> Val | None:
    plain = [a.data if isinstance(a, Leaf) else MISSING for a in site.args]
    if name in ("resolve", "absolute", "expanduser", "as_posix"):
        return receiver
    if name in ("exists", "is_file", "is_dir"):
        return _exists(machine, receiver, site)
    if name == "join" and len(site.args) == 1:
        return _text_join(machine, receiver, site)
    if name == "format":
        return machine.unknown(site.node, "`format` is not evaluated", receiver)
    if name == "replace" and len(plain) == 2 and all(isinstance(p, str) for p in plain):
        if receiver.data.count(plain[0]) * len(plain[1]) + len(receiver.data) <= MAX_TEXT:
            return machine.computed(site.node, receiver.data.replace(*plain), receiver, *site.args)
        return machine.unknown(site.node, "the string is too long")
    if name not in _TEXT_METHODS or site.kwargs:
        return None
    plain = [tuple(i.data for i in a.items) if _texts(a) else p for a, p in zip(site.args, plain, strict=True)]  # type: ignore[union-attr]
    if any(p is MISSING for p in plain):
        return machine.unknown(site.node, "an argument is not known", *site.args)
    try:
        result = getattr(receiver.data, name)(*plain)
    except (TypeError, ValueError):
        return machine.unknown(site.node, "it fails", receiver)
    if isinstance(result, list | tuple):
        return sequence("list", tuple(machine.computed(site.node, r, receiver) for r in result[:MAX_ITEMS]))
    return machine.computed(site.node, result, receiver)


def _exists(machine: Calls, receiver: Leaf, site: CallSite) -> Val:
    """Ask for a file that a path names; one that is not in the tree may be on the machine that runs it."""
    if machine.program.tree.exists(str(receiver.data)):
        return machine.computed(site.node, True, receiver)
    return machine.unknown(site.node, "whether the file is there is not known", receiver)


def _asked_for(machine: Calls, site: CallSite) -> Val:
    path = site.args[0] if site.args else NONE
    if isinstance(path, Leaf) and isinstance(path.data, str):
        return _exists(machine, path, site)
    return machine.unknown(site.node, "whether the file is there is not known", path)


def _path(machine: Calls, site: CallSite) -> Val:
    return _path_join(machine, site) if len(site.args) > 1 else _path_of_file(machine, site)


def _texts(value: Val) -> bool:
    return isinstance(value, Seq) and all(isinstance(i, Leaf) and isinstance(i.data, str) for i in value.items)


def _text_join(machine: Calls, receiver: Leaf, site: CallSite) -> Val:
    from meshlint.config.python.expressions import string_pieces

    items = machine.iterate(site.args[0], site.node)
    pieces = []
    for index, item in enumerate(items):
        pieces += ([*string_pieces(receiver)] if index else []) + string_pieces(item)
    return machine.joined(site.node, pieces, *items)


def _list(machine: Calls, receiver: Seq, name: str, site: CallSite) -> Val | None:
    items = receiver.items
    if name in ("append", "add") and site.args:
        new = (*items, site.args[0])
    elif name in ("extend", "update") and site.args:
        new = (*items, *machine.iterate(site.args[0], site.node))
    elif name == "insert" and len(site.args) == 2:
        at = plain_key(site.args[0])
        new = (*items[:at], site.args[1], *items[at:]) if isinstance(at, int) else (machine.unknown_items(site.node),)
    elif name == "pop" and items and not receiver.open and not site.args:
        machine.put(receiver.state, "items", items[:-1])
        return items[-1]
    elif name == "copy":
        return sequence(receiver.kind, items, receiver.origins)
    elif name in ("count", "index", "intersection", "union", "difference", "issubset"):
        return _list_query(machine, receiver, name, site)
    else:
        return None
    if len(new) > MAX_ITEMS:
        new = (machine.unknown_items(site.node),)
    machine.put(receiver.state, "items", new)
    return NONE


def _list_query(machine: Calls, receiver: Seq, name: str, site: CallSite) -> Val:
    others = [machine.iterate(a, site.node) if isinstance(a, Seq | Map) else (a,) for a in site.args]
    keys = [plain_key(i) for i in receiver.items]
    wanted = [plain_key(i) for other in others for i in other]
    if any(k is MISSING for k in (*keys, *wanted)) or (not wanted and name in ("count", "index")):
        return machine.unknown(site.node, "not all of its items are known", receiver)
    if name == "count":
        return machine.computed(site.node, keys.count(wanted[0]), receiver)
    if name == "index":
        if wanted[0] in keys:
            return machine.computed(site.node, keys.index(wanted[0]), receiver)
        return machine.unknown(site.node, "it fails", receiver)
    if name == "issubset":
        return machine.computed(site.node, all(k in wanted for k in keys), receiver)
    kept = [i for i, k in zip(receiver.items, keys, strict=True) if (k in wanted) == (name == "intersection")]
    if name == "union":
        kept = [*receiver.items, *(i for other in others for i in other)]
    return sequence("set", _distinct(tuple(kept)), receiver.origins)


def _dict(machine: Calls, receiver: Map, name: str, site: CallSite) -> Val | None:
    if name == "update":
        return _dict_update(machine, receiver, site)
    if name in ("keys", "values", "items"):
        return _dict_view(machine, receiver, name, site)
    if name == "copy":
        return Map(dict(receiver.entries), receiver.origins, receiver.rest)
    if name not in ("get", "pop", "setdefault") or not site.args:
        return None
    key = plain_key(site.args[0])
    fallback = site.args[1] if len(site.args) > 1 else NONE
    if key is MISSING:
        return machine.unknown(site.node, "which key is read is not known", site.args[0])
    found = receiver.entries.get(key)
    if found is None and receiver.rest and isinstance(receiver.entries.get(key, MISSING), object):
        found = machine.unknown(site.node, receiver.rest) if name != "setdefault" else fallback
    if name == "pop":
        machine.drop(receiver.entries, key)
    if name == "setdefault" and key not in receiver.entries:
        machine.put(receiver.entries, key, fallback)
    return found if found is not None else fallback


def _dict_update(machine: Calls, receiver: Map, site: CallSite) -> Val:
    for source in site.args:
        if isinstance(source, Map):
            for key, value in source.entries.items():
                machine.put(receiver.entries, key, value)
            receiver.rest = receiver.rest or source.rest
        else:
            receiver.rest = receiver.rest or "what is merged into it is not known"
    for key, value in site.kwargs.items():
        machine.put(receiver.entries, key, value)
    return NONE


def _dict_view(machine: Calls, receiver: Map, name: str, site: CallSite) -> Val:
    if receiver.rest:
        return sequence("list", (Unknown(receiver.rest, receiver.origins, several=True),))
    if name == "values":
        return sequence("list", tuple(receiver.entries.values()))
    keys = [
        sequence("tuple", tuple(Leaf(p) for p in k)) if isinstance(k, tuple) else Leaf(k, receiver.origins)
        for k in receiver.entries
    ]
    if name == "keys":
        return sequence("list", tuple(keys))
    pairs = (sequence("tuple", (k, v)) for k, v in zip(keys, receiver.entries.values(), strict=True))
    return sequence("list", tuple(pairs))


def _sum(values: list[Any]) -> Any:
    return sum(values)


_FUNCTIONS: Mapping[str, Callable[[Calls, CallSite], Val]] = {
    "int": _converted(int),
    "float": _converted(float),
    "str": _converted(str),
    "bool": _converted(bool),
    "len": _len,
    "min": _folded(min),
    "max": _folded(max),
    "sum": _folded(_sum),
    "abs": _folded(lambda values: abs(values[0])),
    "round": _folded(lambda values: round(*values[:2])),
    "lcm": _folded(lambda values: math.lcm(*values)),
    "gcd": _folded(lambda values: math.gcd(*values)),
    "ceil": _folded(lambda values: math.ceil(values[0])),
    "floor": _folded(lambda values: math.floor(values[0])),
    "prod": _folded(lambda values: math.prod(values)),
    "any": _decided_by(any, True),
    "all": _decided_by(all, False),
    "list": _sequence("list"),
    "tuple": _sequence("tuple"),
    "set": _sequence("set"),
    "frozenset": _sequence("set"),
    "dict": _dict_of,
    "OrderedDict": _dict_of,
    "range": _range,
    "enumerate": _enumerate,
    "zip": _zip,
    "sorted": _sorted,
    "reversed": _reversed,
    "getattr": _getattr,
    "setattr": _setattr,
    "hasattr": _hasattr,
    "isinstance": _isinstance,
    "callable": _callable,
    "type": _type,
    "replace": _replace,
    "copy": _shallow,
    "deepcopy": _deepcopy,
    "asdict": _asdict,
    "partial": _partial,
    "typing.cast": lambda machine, site: site.args[1] if len(site.args) == 2 else NONE,
    "importlib.import_module": _import_module,
    "pathlib.Path": _path,
    "pathlib.PurePath": _path,
    "os.path.exists": lambda machine, site: _asked_for(machine, site),
    "os.path.isfile": lambda machine, site: _asked_for(machine, site),
    "os.path.join": _path_join,
    "os.path.abspath": _path_of_file,
    "os.path.realpath": _path_of_file,
    "os.path.expanduser": _path_of_file,
    "os.path.dirname": _dirname,
    "os.getenv": _getenv,
    "os.environ.get": _getenv,
    "argparse.ArgumentParser": arguments.parser,
    "json.dumps": lambda machine, site: machine.unknown(site.node, "JSON is not built"),
}
