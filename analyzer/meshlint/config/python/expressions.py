"""Expressions: names, attributes, literals, operators, f-strings."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from meshlint.config.python.machine import (
    MAX_BITS,
    MAX_DEPTH,
    MAX_ITEMS,
    MAX_TEXT,
    MISSING,
    CallSite,
    Exhausted,
    Frame,
    Machine,
    record_taints,
    same,
)
from meshlint.config.python.program import Module
from meshlint.config.python.values import (
    NONE,
    Bound,
    ClassVal,
    Dep,
    External,
    Func,
    Leaf,
    Map,
    ModuleVal,
    Partial,
    Piece,
    Record,
    Seq,
    Slot,
    Unknown,
    Val,
    origins_of,
    sequence,
    truth,
)
from meshlint.config.value import Data

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
}
_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
BUILTINS = frozenset(
    [
        "int",
        "float",
        "str",
        "bool",
        "len",
        "min",
        "max",
        "sum",
        "abs",
        "list",
        "tuple",
        "dict",
        "set",
        "frozenset",
        "sorted",
        "range",
        "enumerate",
        "zip",
        "getattr",
        "setattr",
        "hasattr",
        "isinstance",
        "issubclass",
        "callable",
        "type",
        "print",
        "any",
        "all",
        "vars",
        "repr",
        "round",
        "super",
        "object",
        "property",
        "staticmethod",
        "classmethod",
        "reversed",
        "map",
        "filter",
        "id",
        "iter",
        "next",
        "open",
        "delattr",
        "dir",
        "divmod",
        "pow",
        "ord",
        "chr",
        "format",
        "hash",
        "input",
        "Exception",
        "ValueError",
        "TypeError",
        "KeyError",
        "RuntimeError",
        "ImportError",
        "NotImplementedError",
        "AttributeError",
        "ModuleNotFoundError",
        "FileNotFoundError",
        "OSError",
        "AssertionError",
    ]
)


class Expressions(Machine):
    """The evaluation of expressions."""

    def evaluate(self, node: ast.expr) -> Val:
        """Give an expression's value; raises Exhausted beyond the bounds."""
        self.steps += 1
        if self.steps > self.limit:
            raise Exhausted
        kind = type(node)
        if kind is ast.Constant:
            return self.caches.leaves.get(id(node)) or self._constant(node)  # type: ignore[arg-type]
        if kind is ast.Name:
            return self._name(node)  # type: ignore[arg-type]
        handler = _HANDLERS.get(kind)
        if handler is None:
            return self.unknown(node, f"`{self.frame.module.source.text(node)}` is not evaluated")
        if self.depth >= MAX_DEPTH:
            return self.unknown(node, "it is nested too deeply to be evaluated")
        self.depth += 1
        try:
            return handler(self, node)
        finally:
            self.depth -= 1

    # Names.

    def _constant(self, node: ast.Constant) -> Val:
        data = node.value
        if isinstance(data, bytes | complex) or data is Ellipsis:
            return Unknown("it is no value of a config", (self.origin(node),))
        if isinstance(data, int) and data.bit_length() > MAX_BITS:
            return Unknown("the number is too large", (self.origin(node),))
        known = self.caches.leaves[id(node)] = Leaf(data, (self.origin(node),))
        return known

    def _name(self, node: ast.Name) -> Val:
        value = self.lookup(node.id)
        if value is None:
            return self._beyond_stars(node)
        if node.id in self.knowledge.tracked and isinstance(value, Leaf):
            return self._tracked(value, node.id, node)
        return value

    def _beyond_stars(self, node: ast.Name) -> Val:
        """Give a name that nothing in reach defines: that of the one star import whose module is not in reach."""
        module = self.frame.module
        stars = [self.imported(s) if isinstance(s, Pending) else s for s in module.stars] if module.source else []
        outside = list(dict.fromkeys(star.dotted for star in stars if isinstance(star, External)))
        if len(outside) == 1 and not node.id.startswith("_"):
            return External(f"{outside[0]}.{node.id}")
        if not outside:
            return self.unknown(node, f"`{node.id}` is not defined in what was read")
        named = ", ".join(f"`{dotted}`" for dotted in outside[:3])
        return self.unknown(node, f"`{node.id}` could come out of {named}, which are not in reach")

    def _tracked(self, value: Leaf, name: str, node: ast.AST) -> Leaf:
        if value.data is None:
            return value
        first = value.origins[0] if value.origins else self.origin(node)
        marked = self.marked(value, (Dep(name, value.data, first),))
        return marked if isinstance(marked, Leaf) else value

    def lookup(self, name: str) -> Val | None:
        """Give the value of a name, as the current frame sees it; None where nothing defines it."""
        frame: Frame | None = self.frame
        while frame is not None and name not in frame.outer:
            value = frame.names.get(name)
            if value is not None:
                return self.settled(frame.names, name, value)
            frame = frame.closure
        value = self.member(self.frame.module, name)
        if value is not None:
            return value
        return External(f"builtins.{name}") if name in BUILTINS else None

    def settled(self, names: dict[Any, Any], name: str, value: Val) -> Val:
        """Resolve an import at its first use."""
        if isinstance(value, Pending):
            value = self.imported(value)
            names[name] = value
        return value

    def imported(self, pending: Pending) -> Val:
        """Give what an import statement names; a library's that is not in the tree is `External`."""
        program = self.program
        if pending.level:
            path = program.relative(pending.level, pending.dotted, pending.importer)
        else:
            path = program.find(pending.dotted, pending.importer)
        if path is None:
            return External(f"{pending.dotted}.{pending.name}" if pending.name else pending.dotted)
        module = self.module_value(pending.dotted, path, pending.importer)
        if not pending.name:
            return module
        if path == pending.importer:  # a package that imports from itself: the name there is this very import
            value: Val | None = self.submodule(module, pending.name)
        else:
            value = self.module_member(module, pending.name)
        return value if value is not None else External(f"{pending.dotted}.{pending.name}")

    def module_value(self, dotted: str, path: str, importer: str) -> ModuleVal:
        """Give the module at a path, or the package that a folder is."""
        return ModuleVal(dotted, self.program.module(path) if path.endswith(".py") else None, path)

    def module_member(self, value: ModuleVal, name: str) -> Val | None:
        """Give a name of a module or package, a submodule included; None where it has none."""
        if value.module is not None:
            found = self.member(value.module, name)
            if found is not None:
                return found
        return self.submodule(value, name)

    def submodule(self, value: ModuleVal, name: str) -> Val | None:
        """Give a module or package inside a package; None where it has none of the name."""
        path = self.program.inside(value.importer, name)
        return None if path is None else self.module_value(f"{value.dotted}.{name}", path, path)

    def member(self, module: Module, name: str) -> Val | None:
        """Give a name of a module's namespace, running the module first where it has not run."""
        if module.source is None:
            return None
        self.touched[module.path] = None
        if not module.state:
            self.run_module(module)
        value = module.names.get(name)
        if value is not None:
            return self.settled(module.names, name, value)
        if name.startswith("_"):
            return None
        for star in reversed(module.stars):
            found = self._of_star(star, name)
            if found is not None:
                return found
        return None

    def _of_star(self, star: Val, name: str) -> Val | None:
        """Look for a name in a star-imported module; each module once for one name, since stars may lead round."""
        if not isinstance(star, Pending):
            return None
        module = self.imported(star)
        if not isinstance(module, ModuleVal) or module.module is None:
            return None
        key = (module.module.path, name)
        if key in self.searched or self.depth >= MAX_DEPTH:
            return None
        first = not self.searched
        self.searched.add(key)
        self.depth += 1
        try:
            return self.member(module.module, name)
        finally:
            self.depth -= 1
            if first:
                self.searched.clear()

    def run_module(self, module: Module) -> None:
        """Evaluate a module's own statements, once for all runs."""
        module.state = "running"
        kept = self.frame, self.journal, self.control, self.decisions, self.steps
        self.frame = Frame(module, module.names)
        self.journal, self.control, self.decisions, self.steps = [], (), {}, 0
        module.names["__file__"] = Leaf(module.path)
        module.names["__name__"] = Leaf("")
        try:
            self.execute(module.source.tree.body)
        except (Exhausted, RecursionError):
            self.cut = True
        finally:
            self.frame, self.journal, self.control, self.decisions, self.steps = kept
            module.state = "done"
            own(self.caches.shared, module.names, 0)

    # Attributes.

    def _attribute(self, node: ast.Attribute) -> Val:
        base = self.evaluate(node.value)
        value = self.attribute(base, node.attr)
        if value is None:
            return self.unknown(node, f"`{self.frame.module.source.text(node)}` is not set in what was read", base)
        if isinstance(value, Leaf) and node.attr in self.knowledge.tracked:
            return self._tracked(value, node.attr, node)
        return value

    def attribute(self, base: Val, name: str) -> Val | None:
        """Give an attribute; None where it is not known, and `Unknown` where it is known to be unknown."""
        if isinstance(base, Record):
            return self.record_attribute(base, name)
        if isinstance(base, ModuleVal):
            return self.module_member(base, name)
        if isinstance(base, External):
            if base.dotted == "os" and name == "environ":
                return self.environ
            return External(f"{base.dotted}.{name}")
        if isinstance(base, Unknown):
            return Unknown(base.reason, base.origins, base.site)
        if isinstance(base, ClassVal):
            return self.class_attribute(base, name)
        if isinstance(base, Func | Partial) and name in ("__name__", "__qualname__"):
            return Leaf(base.name) if isinstance(base, Func) else None
        if isinstance(base, Func):
            return None
        if isinstance(base, Leaf) and isinstance(base.data, str) and name in ("parent", "name", "stem"):
            return Leaf(str(getattr(PurePosixPath(base.data), name)), base.origins)
        return Bound(base, name)

    def record_attribute(self, record: Record, name: str) -> Val | None:
        """Give an attribute of a config object: what was written, else its class's default, property or method."""
        history = record.slots.get(name)
        taints = record_taints(record)
        if history:
            last = history[-1]
            if taints and taints[-1].order > last.order:
                return taints[-1].value
            return last.value  # type: ignore[no-any-return]
        if taints:
            return taints[-1].value
        found = self._of_class(record, name)
        if found is not None:
            return found
        if record.type == "Namespace":
            return None
        if name in self.knowledge.calls or name in self.knowledge.sinks or name in self.knowledge.quiet:
            return Bound(record, name)
        if name in self.knowledge.reads and not record.open.startswith("the recipe"):
            return Leaf(self.knowledge.reads[name])
        if record.cls is not None and not record.open and name in self.knowledge.own:
            return None
        if record.cls is None or record.open or not self.closed(record.cls):
            reason = record.open or f"`{name}` is not set here, and the class `{record.type}` was not read"
            if record.cls is None and not record.open:
                return Unknown(reason)
            return Unknown(reason)
        return None

    def _of_class(self, record: Record, name: str) -> Val | None:
        if record.cls is None:
            return None
        found = self.class_attribute(record.cls, name)
        if isinstance(found, Func):
            if _decorated(found.node, "property", "cached_property"):
                return self.call_function(found, CallSite(self.caches.call(found.node), (), {}), record)
            return Bound(record, name, found)
        if isinstance(found, Record | Seq | Map):
            # A default object belongs to this one from now on; it was made when this one was.
            self.put(record.slots, name, ())
            self.write(record, name, found)
        return found

    def classes(self, cls: ClassVal) -> list[Val]:
        """Give a class and its bases, nearest first; a base that is not in the tree is `External` or `Unknown`."""
        found: list[Val] = []
        todo: list[Val] = [cls]
        while todo and len(found) < 40:
            current = todo.pop(0)
            if any(current is known for known in found):
                continue
            found.append(current)
            if isinstance(current, ClassVal):
                todo[:0] = [self.within(current.module, base) for base in current.node.bases[:8]]
        return found

    def closed(self, cls: ClassVal) -> bool:
        """Say whether every base of a class was read."""
        plain = ("builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol")
        return all(
            isinstance(c, ClassVal) or (isinstance(c, External) and c.dotted in plain) for c in self.classes(cls)
        )

    def within(self, module: Module, node: ast.expr) -> Val:
        """Evaluate an expression at the top of another module."""
        kept = self.frame, self.control
        self.frame, self.control = Frame(module, {}), ()
        try:
            return self.evaluate(node)
        finally:
            self.frame, self.control = kept

    def class_attribute(self, cls: ClassVal, name: str) -> Val | None:
        """Give what a class or one of its bases defines under a name."""
        for current in self.classes(cls):
            if isinstance(current, ClassVal) and name in current.members:
                return self._class_member(current, name)
        return None

    def _class_member(self, cls: ClassVal, name: str) -> Val | None:
        statement = cls.members[name]
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            return Func(statement, cls.module, owner=cls)
        if isinstance(statement, ast.ClassDef):
            return None
        value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        if value is None:
            return None
        if any(_simple(base) in ("Enum", "IntEnum", "StrEnum") for base in cls.node.bases):
            return External(f"{cls.name}.{name}")
        factory = _factory(value)
        if factory is not None:
            return self._made(cls, factory)
        if name not in cls.defaults:
            plain = _field_default(value)
            cls.defaults[name] = self.within(cls.module, plain) if plain is not None else None
            own(self.caches.shared, cls.defaults, 0)
        return cls.defaults[name]  # type: ignore[no-any-return]

    def _made(self, cls: ClassVal, factory: ast.expr) -> Val:
        callee = self.within(cls.module, factory)
        kept = self.frame
        self.frame = Frame(cls.module, {}, cls.name)
        try:
            return self.call(callee, CallSite(self.caches.call(factory), (), {}))
        finally:
            self.frame = kept

    def missing(self, base: Val, name: str) -> bool | None:
        """Say whether an object has no such attribute; None where that is not known."""
        if isinstance(base, Record):
            found = self.record_attribute(base, name)
            if found is None:
                return True
            if isinstance(found, Unknown) and not base.slots.get(name):
                return False if name in self.knowledge.has else None
            return False
        if isinstance(base, Leaf):
            return None if isinstance(base.data, str) else True
        if isinstance(base, ModuleVal):
            return self.module_member(base, name) is None
        return None

    # Literals.

    def _items(self, nodes: list[ast.expr]) -> tuple[Val, ...]:
        items: list[Val] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                items += self.iterate(self.evaluate(node.value), node)
            else:
                items.append(self.evaluate(node))
            if len(items) > MAX_ITEMS:
                return (*items[:MAX_ITEMS], Unknown("the list is too long", several=True))
        return tuple(items)

    def _list(self, node: ast.List) -> Val:
        return sequence("list", self._items(node.elts), (self.origin(node),))

    def _tuple(self, node: ast.Tuple) -> Val:
        return sequence("tuple", self._items(node.elts), (self.origin(node),))

    def _set(self, node: ast.Set) -> Val:
        return sequence("set", self._items(node.elts), (self.origin(node),))

    def _dict(self, node: ast.Dict) -> Val:
        made = Map({}, (self.origin(node),))
        for key, value in islice(zip(node.keys, node.values, strict=True), MAX_ITEMS):
            if key is None:
                self._merge(made, self.evaluate(value))
                continue
            name = plain_key(self.evaluate(key))
            found = self.evaluate(value)
            if name is MISSING:
                made.rest = "a key of it is unknown"
            else:
                made.entries[name] = found
        if len(node.keys) > MAX_ITEMS:
            made.rest = "the dict is too long"
        return made

    def _merge(self, target: Map, source: Val) -> None:
        if isinstance(source, Map):
            target.entries.update(source.entries)
            target.rest = target.rest or source.rest
        elif isinstance(source, Leaf) and not source.data:
            return
        else:
            target.rest = source.reason if isinstance(source, Unknown) else "what is merged into it is unknown"

    def iterate(self, value: Val, node: ast.AST) -> tuple[Val, ...]:
        """Give the items of a value; an unknown stretch is one `Unknown` with `several`."""
        if isinstance(value, Seq):
            return value.items
        if isinstance(value, Map) and not value.rest:
            return tuple(Leaf(key, value.origins) for key in value.entries)
        if isinstance(value, Leaf) and isinstance(value.data, str) and len(value.data) <= MAX_ITEMS:
            return tuple(Leaf(c, value.origins) for c in value.data)
        reason = value.reason if isinstance(value, Unknown) else "what is iterated over is unknown"
        site = value.site if isinstance(value, Unknown) else None
        return (Unknown(reason, (self.origin(node),), site, several=True),)

    def _joined(self, node: ast.JoinedStr) -> Val:
        pieces: list[Piece] = []
        parts: list[Val] = []
        for part in node.values[:MAX_ITEMS]:
            value = self.evaluate(part.value) if isinstance(part, ast.FormattedValue) else self.evaluate(part)
            if isinstance(part, ast.FormattedValue) and (part.format_spec is not None or part.conversion == 114):
                value = self.unknown(part.value, "a format specification is not evaluated", value)
            parts.append(value)
            own = self.origin(node).span if isinstance(part, ast.Constant) else None
            pieces += [piece if own is None else piece._replace(home=own) for piece in string_pieces(value)]
        return self.joined(node, pieces, *parts)

    def joined(self, node: ast.AST, pieces: list[Piece], *parts: Val) -> Val:
        """Make a string from pieces; one that is partly unknown keeps its pieces. Many pieces count as many steps."""
        self.steps += len(pieces) // 4
        if len(pieces) > MAX_ITEMS or sum(len(p.text or "") for p in pieces) > MAX_TEXT:
            return self.unknown(node, "the string is too long")
        if any(p.text is None for p in pieces):
            bad = next(p for p in pieces if p.text is None)
            found = self.unknown(node, bad.reason, *parts)
            return Unknown(found.reason, found.origins, found.site, tuple(pieces))
        made = self.computed(node, "".join(p.text or "" for p in pieces), *parts)
        return Leaf(made.data, made.origins, made.deps, tuple(pieces))

    # Operators.

    def _binary(self, node: ast.BinOp) -> Val:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        return self.binary(node, type(node.op), left, right)

    def binary(self, node: ast.AST, kind: type[ast.operator], left: Val, right: Val) -> Val:
        """Apply an operator."""
        if isinstance(left, Seq) and kind in (ast.Add, ast.Mult):
            return self._on_list(node, kind, left, right)
        if isinstance(left, Map) and isinstance(right, Map) and kind is ast.BitOr:
            merged = Map(dict(left.entries), (self.origin(node),), left.rest)
            self._merge(merged, right)
            return merged
        if kind is ast.Add and (_is_text(left) or _is_text(right)):
            return self.joined(node, [*string_pieces(left), *string_pieces(right)], left, right)
        if kind is ast.Div and isinstance(left, Leaf) and isinstance(left.data, str) and _is_text(right):
            pieces = [*string_pieces(left), Piece("/", left.origins), *string_pieces(right)]
            return self.joined(node, pieces, left, right)
        if not isinstance(left, Leaf) or not isinstance(right, Leaf):
            return self.unknown(node, f"`{self.frame.module.source.text(node)}` is not known", left, right)
        return self._arithmetic(node, kind, left, right)

    def _arithmetic(self, node: ast.AST, kind: type[ast.operator], left: Leaf, right: Leaf) -> Val:
        a, b = left.data, right.data
        if kind is ast.Mult and (isinstance(a, str) or isinstance(b, str)):
            return self._repeated(node, left, right)
        if kind is ast.Pow:
            return self._power(node, left, right)
        if kind is ast.Mod and isinstance(a, str):
            return self.unknown(node, "formatting with % is not evaluated", left, right)
        apply = _BINARY.get(kind)
        if apply is None or not _numbers(a, b):
            return self.unknown(node, f"`{self.frame.module.source.text(node)}` is not evaluated", left, right)
        try:
            return self._bounded(node, apply(a, b), left, right)
        except (ArithmeticError, TypeError, ValueError):
            return self.unknown(node, f"`{self.frame.module.source.text(node)}` fails", left, right)

    def _bounded(self, node: ast.AST, data: Data, *parts: Val) -> Val:
        if isinstance(data, int) and data.bit_length() > MAX_BITS:
            return self.unknown(node, "the number is too large", *parts)
        return self.computed(node, data, *parts)

    def _power(self, node: ast.AST, left: Leaf, right: Leaf) -> Val:
        a, b = left.data, right.data
        if not _numbers(a, b) or abs(b) > MAX_BITS or (isinstance(a, int) and abs(a).bit_length() * abs(b) > MAX_BITS):
            return self.unknown(node, "the power is too large", left, right)
        try:
            return self._bounded(node, a**b, left, right)
        except (ArithmeticError, TypeError, ValueError):
            return self.unknown(node, "the power is not evaluated", left, right)

    def _repeated(self, node: ast.AST, left: Leaf, right: Leaf) -> Val:
        text, count = (left.data, right.data) if isinstance(left.data, str) else (right.data, left.data)
        if not isinstance(count, int) or len(text) * max(count, 0) > MAX_TEXT:
            return self.unknown(node, "the string is too long", left, right)
        return self.computed(node, text * count, left, right)

    def _on_list(self, node: ast.AST, kind: type[ast.operator], left: Seq, right: Val) -> Val:
        if kind is ast.Add:
            more = right.items if isinstance(right, Seq) else self.iterate(self.unknown(node, "", right), node)
            items = left.items + more
        elif isinstance(right, Leaf) and isinstance(right.data, int) and len(left.items) * right.data <= MAX_ITEMS:
            items = left.items * right.data
        else:
            items = (self.unknown_items(node, right),)
        if len(items) > MAX_ITEMS:
            items = (self.unknown_items(node, right),)
        return sequence(left.kind, items, (self.origin(node), *left.origins, *origins_of(right))[:4])

    def unknown_items(self, node: ast.AST, *parts: Val) -> Unknown:
        """Make an unknown stretch of a list."""
        found = self.unknown(node, "the list is not known, or too long", *parts)
        return Unknown(found.reason, found.origins, found.site, several=True)

    def _unary(self, node: ast.UnaryOp) -> Val:
        value = self.evaluate(node.operand)
        if isinstance(node.op, ast.Not):
            known = truth(value)
            if known is None:
                return self.unknown(node, f"`{self.frame.module.source.text(node)}` is not known", value)
            return self.computed(node, not known, value)
        if isinstance(value, Leaf) and isinstance(value.data, int | float):
            if isinstance(node.op, ast.USub):
                return self.computed(node, -value.data, value)
            if isinstance(node.op, ast.UAdd):
                return value
        return self.unknown(node, f"`{self.frame.module.source.text(node)}` is not known", value)

    def _bool(self, node: ast.BoolOp) -> Val:
        stop = isinstance(node.op, ast.Or)
        last: Val = NONE
        doubtful: list[Val] = []
        for operand in node.values:
            last = self.evaluate(operand)
            known = truth(last)
            if known is None:
                doubtful.append(last)
            elif known is stop:
                return last if not doubtful else self._doubtful(node, stop, doubtful, last)
        return last if not doubtful else self._doubtful(node, stop, doubtful, last)

    def _doubtful(self, node: ast.BoolOp, stop: bool, doubtful: list[Val], last: Val) -> Val:
        """Give what `unknown or X` and `unknown and X` are: known only as a condition."""
        known = truth(last)
        if known is stop and isinstance(last, Leaf) and isinstance(last.data, bool):
            return self.computed(node, stop, last)
        return self.unknown(node, f"`{self.frame.module.source.text(node)}` is not known", *doubtful)

    def _compare(self, node: ast.Compare) -> Val:
        left = self.evaluate(node.left)
        parts = [left]
        answer: bool | None = True
        for op, operand in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(operand)
            parts.append(right)
            one = self._one_comparison(op, left, right)
            if one is False:
                return self.computed(node, False, *parts)
            answer = None if one is None or answer is None else answer
            left = right
        if answer is None:
            return self.unknown(node, f"`{self.frame.module.source.text(node)}` is not known", *parts)
        return self.computed(node, True, *parts)

    def _one_comparison(self, op: ast.cmpop, left: Val, right: Val) -> bool | None:
        if isinstance(op, ast.In | ast.NotIn):
            found = _contains(right, left)
            return found if found is None or isinstance(op, ast.In) else not found
        if isinstance(op, ast.Is | ast.IsNot):
            found = _identical(left, right)
            return found if found is None or isinstance(op, ast.Is) else not found
        a, b = comparable(left), comparable(right)
        if a is MISSING or b is MISSING:
            return _identical(left, right) if isinstance(op, ast.Eq | ast.NotEq) and _never_equal(left, right) else None
        try:
            return bool(_COMPARE[type(op)](a, b))
        except TypeError:
            return None

    def _if_expression(self, node: ast.IfExp) -> Val:
        test = self.evaluate(node.test)
        known = self.decided(test, node.test)
        if known is not None:
            value = self.evaluate(node.body if known else node.orelse)
            return self.marked(value, test.deps) if isinstance(test, Leaf) and test.deps else value
        return self.joined_values(node.test, test, self.evaluate(node.body), self.evaluate(node.orelse))

    def decided(self, test: Val, node: ast.expr) -> bool | None:
        """Say whether a condition holds, by its value or by what this variant takes for granted."""
        known = truth(test)
        if known is not None:
            return known
        self.asked += 1
        return self.decisions.get(self.condition(test, node))

    def condition(self, test: Val, node: ast.expr) -> Any:
        """Give the site whose answer decides an unknown condition."""
        return test.site if isinstance(test, Unknown) and test.site is not None else self.site(node)

    def joined_values(self, node: ast.expr, test: Val, left: Val, right: Val) -> Val:
        """Give what either of two values is: one of them if they are the same, else unknown."""
        if same(left, right):
            return left
        site = self.condition(test, node)
        origins = (*origins_of(left)[:2], *origins_of(right)[:2], self.origin(node))
        return Unknown(f"it depends on `{site.text}`, which is not known", origins, site)

    def _named(self, node: ast.NamedExpr) -> Val:
        value = self.evaluate(node.value)
        self.bind(node.target.id, value)
        return value

    def _lambda(self, node: ast.Lambda) -> Val:
        return Func(node, self.frame.module, self.frame)

    def _starred(self, node: ast.Starred) -> Val:
        return self.evaluate(node.value)

    # Subscripts and comprehensions.

    def _subscript(self, node: ast.Subscript) -> Val:
        base = self.evaluate(node.value)
        if isinstance(node.slice, ast.Slice):
            return self._sliced(node, base, node.slice)
        key = self.evaluate(node.slice)
        found = self.item(base, key)
        return (
            found
            if found is not None
            else self.unknown(node, f"`{self.frame.module.source.text(node)}` is not known", base, key)
        )

    def item(self, base: Val, key: Val) -> Val | None:
        """Give an item of a list or dict; None where it is not known."""
        name = plain_key(key)
        if base is self.environ:
            return self.environment(str(name), None) if isinstance(name, str) else None
        if isinstance(base, Map) and name is not MISSING:
            return base.entries.get(name)
        if isinstance(base, Seq) and isinstance(name, int) and not base.open and base.kind != "set":
            return base.items[name] if -len(base.items) <= name < len(base.items) else None
        if isinstance(base, Leaf) and isinstance(base.data, str) and isinstance(name, int):
            return Leaf(base.data[name], base.origins) if -len(base.data) <= name < len(base.data) else None
        if isinstance(base, External):
            return External(f"{base.dotted}.{name}") if isinstance(name, str) and name.isidentifier() else base
        return None

    def environment(self, name: str, fallback: Val | None) -> Val | None:
        """Give a variable of the environment: as set by the script, as a person gave it, else the fallback."""
        if name in self.environ.entries:
            return self.environ.entries[name]  # type: ignore[no-any-return]
        if name in self.given:
            return Leaf(self.given[name])
        return fallback

    def _sliced(self, node: ast.Subscript, base: Val, slice_: ast.Slice) -> Val:
        bounds = [None if part is None else self.evaluate(part) for part in (slice_.lower, slice_.upper, slice_.step)]
        plain = [None if b is None else b.data if isinstance(b, Leaf) else MISSING for b in bounds]
        usable = all(p is None or (isinstance(p, int) and p is not MISSING) for p in plain)
        if usable and plain[2] != 0:
            cut = slice(*plain)
            if isinstance(base, Seq) and not base.open:
                return sequence(base.kind, base.items[cut], (self.origin(node), *base.origins))
            if isinstance(base, Leaf) and isinstance(base.data, str):
                return self.computed(node, base.data[cut], base)
        return self.unknown(node, f"`{self.frame.module.source.text(node)}` is not known", base)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Val:
        kind = "set" if isinstance(node, ast.SetComp) else "list"
        items: list[Val] = []
        if not self._generate(node.generators, lambda: items.append(self.evaluate(node.elt))):
            items = [self.unknown_items(node)]
        return sequence(kind, tuple(items), (self.origin(node),))

    def _dict_comprehension(self, node: ast.DictComp) -> Val:
        made = Map({}, (self.origin(node),))

        def add() -> None:
            name = plain_key(self.evaluate(node.key))
            if name is MISSING:
                made.rest = "a key of it is unknown"
            else:
                made.entries[name] = self.evaluate(node.value)

        if not self._generate(node.generators, add):
            made.rest = made.rest or "what it is built from is not known"
        return made

    def _generate(self, generators: list[ast.comprehension], emit: Callable[[], None]) -> bool:
        """Run a comprehension's loops; False where an item or filter is unknown."""
        if not generators:
            emit()
            return True
        first, rest = generators[0], generators[1:]
        kept = dict(self.frame.names) if rest else None
        for item in self.iterate(self.evaluate(first.iter), first.iter):
            self.step()
            if isinstance(item, Unknown) and item.several:
                return False
            self.assign(first.target, item)
            tests = [truth(self.evaluate(test)) for test in first.ifs]
            if None in tests:
                return False
            if all(tests) and not self._generate(rest, emit):
                return False
        del kept
        return True


class Pending:
    """An import that nobody used yet: `from dotted import name`, or `import dotted` where `name` is empty."""

    __slots__ = ("dotted", "importer", "level", "name", "origins")

    def __init__(self, dotted: str, name: str, level: int, importer: str) -> None:
        self.dotted = dotted
        self.name = name
        self.level = level
        self.importer = importer
        self.origins = ()


def own(shared: set[int], table: Mapping[Any, Any], level: int) -> None:
    """Note the dicts behind a table's values, and the table itself, as belonging to a module."""
    if (id(table) in shared and level) or level > 6:
        return
    shared.add(id(table))
    for value in list(table.values()):
        _own_value(shared, value, level)


def _own_value(shared: set[int], value: Any, level: int) -> None:
    if isinstance(value, Record):
        own(shared, value.slots, level + 1)
    elif isinstance(value, Map):
        own(shared, value.entries, level + 1)
    elif isinstance(value, Seq):
        own(shared, value.state, level + 1)
    elif isinstance(value, tuple) and not isinstance(value, Piece):
        for item in value:
            _own_value(shared, item.value if isinstance(item, Slot) else item, level + 1)


def copied(value: Val, seen: dict[int, Val], shift: int = 0) -> Val:
    """Copy an object and all objects in it; `shift` moves its writes in the order of all writes."""
    known = seen.get(id(value))
    if known is not None or len(seen) > MAX_ITEMS:
        return known or value
    if isinstance(value, Record):
        made = Record(value.type, value.cls, dict(value.slots), value.open, value.model, value.origins)
        seen[id(value)] = made
        _copy_slots(made.slots, seen, shift)
        return made
    if isinstance(value, Map):
        box = seen[id(value)] = Map(dict(value.entries), value.origins, value.rest)
        for key, item in box.entries.items():
            if isinstance(item, Record | Map | Seq):
                box.entries[key] = copied(item, seen, shift)
        return box
    if isinstance(value, Seq):
        row = seen[id(value)] = Seq(value.kind, dict(value.state), value.origins)
        if any(isinstance(item, Record | Map | Seq) for item in value.items):
            row.state["items"] = tuple(copied(item, seen, shift) for item in value.items)
        return row
    return value


def _copy_slots(slots: dict[Any, Any], seen: dict[int, Val], shift: int) -> None:
    for name, history in slots.items():
        if not history or name[:1] == "?":
            continue
        last = history[-1]
        if isinstance(last.value, Record | Map | Seq):
            slots[name] = history = (*history[:-1], last._replace(value=copied(last.value, seen, shift)))
        if shift:
            slots[name] = tuple(slot._replace(order=slot.order + shift) for slot in history)


def plain_key(value: Val) -> Any:
    """Give a value as a dict's key, or MISSING where it cannot be one."""
    if isinstance(value, Leaf):
        return value.data
    if isinstance(value, External):
        return value.dotted
    if isinstance(value, Seq) and value.kind == "tuple" and len(value.items) <= 8:
        parts = tuple(plain_key(item) for item in value.items)
        return MISSING if any(p is MISSING for p in parts) else parts
    return MISSING


def comparable(value: Val) -> Any:
    """Give plain data to compare, or MISSING."""
    if isinstance(value, Leaf):
        return value.data
    if isinstance(value, External) and not value.dotted.startswith("builtins."):
        return value.dotted
    if isinstance(value, Seq) and not value.open and len(value.items) <= 64:
        parts = [comparable(item) for item in value.items]
        if all(p is not MISSING for p in parts):
            return tuple(parts) if value.kind == "tuple" else parts
    return MISSING


def string_pieces(value: Val) -> list[Piece]:
    """Give the parts of a value inside a string."""
    if isinstance(value, Leaf):
        if value.pieces:
            return list(value.pieces)
        return [Piece(str(value.data), value.origins)]
    if isinstance(value, Unknown):
        return list(value.pieces) or [Piece(None, value.origins, value.reason)]
    return [Piece(None, origins_of(value), "it is no plain value")]


def _contains(box: Val, value: Val) -> bool | None:
    name = plain_key(value)
    if isinstance(box, Map):
        if name is not MISSING and name in box.entries:
            return True
        return None if box.rest or name is MISSING else False
    if isinstance(box, Leaf) and isinstance(box.data, str) and isinstance(name, str):
        return name in box.data
    if isinstance(box, Seq) and name is not MISSING:
        keys = [plain_key(item) for item in box.items]
        if any(k is not MISSING and k == name for k in keys):
            return True
        return None if box.open or any(k is MISSING for k in keys) else False
    return None


def _identical(left: Val, right: Val) -> bool | None:
    if left is right and not isinstance(left, Unknown):
        return True
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return None
    if isinstance(left, Leaf) and isinstance(right, Leaf):
        return left.data is right.data if left.data is None or right.data is None else left.data == right.data
    if isinstance(left, External) and isinstance(right, External):
        return left.dotted == right.dotted
    if isinstance(left, Leaf) or isinstance(right, Leaf):
        return False
    return None


def _never_equal(left: Val, right: Val) -> bool:
    """Say whether one side is None and the other an object."""
    sides = (left, right)
    return any(isinstance(s, Leaf) and s.data is None for s in sides) and not any(isinstance(s, Unknown) for s in sides)


def _numbers(*data: Data) -> bool:
    return all(isinstance(d, int | float) for d in data)


def _is_text(value: Val) -> bool:
    if isinstance(value, Leaf):
        return isinstance(value.data, str)
    return isinstance(value, Unknown) and bool(value.pieces)


def _simple(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _decorated(node: ast.AST, *names: str) -> bool:
    return any(_simple(d) in names for d in getattr(node, "decorator_list", ()))


def decorated(node: ast.AST, *names: str) -> bool:
    """Say whether a function has one of these decorators, by its last name."""
    return _decorated(node, *names)


def _factory(node: ast.expr) -> ast.expr | None:
    """Give the factory of `field(default_factory=...)`."""
    if isinstance(node, ast.Call) and _simple(node.func) == "field":
        return next((k.value for k in node.keywords if k.arg == "default_factory"), None)
    return None


def _field_default(node: ast.expr) -> ast.expr | None:
    """Give the default that a class's field has, or None where it has none."""
    if isinstance(node, ast.Call) and _simple(node.func) == "field":
        return next((k.value for k in node.keywords if k.arg == "default"), None)
    return node


_HANDLERS: Mapping[type[ast.expr], Callable[[Any, Any], Val]] = {
    ast.Name: Expressions._name,
    ast.Attribute: Expressions._attribute,
    ast.List: Expressions._list,
    ast.Tuple: Expressions._tuple,
    ast.Set: Expressions._set,
    ast.Dict: Expressions._dict,
    ast.JoinedStr: Expressions._joined,
    ast.BinOp: Expressions._binary,
    ast.UnaryOp: Expressions._unary,
    ast.BoolOp: Expressions._bool,
    ast.Compare: Expressions._compare,
    ast.IfExp: Expressions._if_expression,
    ast.NamedExpr: Expressions._named,
    ast.Lambda: Expressions._lambda,
    ast.Starred: Expressions._starred,
    ast.Subscript: Expressions._subscript,
    ast.ListComp: Expressions._comprehension,
    ast.SetComp: Expressions._comprehension,
    ast.GeneratorExp: Expressions._comprehension,
    ast.DictComp: Expressions._dict_comprehension,
    ast.Call: lambda machine, node: machine.evaluate_call(node),
}
