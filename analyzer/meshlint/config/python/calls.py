"""Calls: arguments, functions and classes of the tree, what a library's call is taken for."""

from __future__ import annotations

import ast

from meshlint.config.python import library
from meshlint.config.python.expressions import Expressions, copied, decorated
from meshlint.config.python.machine import (
    MAX_CALLS,
    MAX_ITEMS,
    MAX_SAME,
    CallSite,
    Frame,
    Memory,
    Sink,
    same,
)
from meshlint.config.python.values import (
    NONE,
    Bound,
    ClassVal,
    External,
    Func,
    Leaf,
    Map,
    Partial,
    Record,
    Unknown,
    Val,
    origins_of,
    sequence,
)
from meshlint.config.value import Origin

_SILENT = frozenset(
    [
        "print",
        "info",
        "warning",
        "debug",
        "error",
        "exception",
        "warn",
        "log",
        "log_single_rank",
        "print_rank_0",
        "barrier",
        "destroy_process_group",
        "set_device",
        "manual_seed",
        "makedirs",
        "mkdir",
        "sleep",
        "exit",
        "basicConfig",
        "getLogger",
        "is_initialized",
        "is_available",
    ]
)
"""Functions of libraries that leave a config as it is."""


class Calls(Expressions):
    """The evaluation of calls."""

    def evaluate_call(self, node: ast.Call) -> Val:
        """Evaluate a call: the callee, then its arguments from left to right."""
        callee = self.evaluate(node.func)
        args = self._items(node.args)
        kwargs: dict[str, Val] = {}
        rest = ""
        for keyword in node.keywords[:MAX_ITEMS]:
            value = self.evaluate(keyword.value)
            if keyword.arg is not None:
                kwargs[keyword.arg] = value
            elif isinstance(value, Map):
                kwargs.update((str(k), v) for k, v in value.entries.items())
                rest = rest or value.rest
            elif not isinstance(value, Leaf):
                rest = value.reason if isinstance(value, Unknown) else "its keyword arguments are not known"
        return self.call(callee, CallSite(node, args, kwargs, rest))

    def call(self, callee: Val, site: CallSite) -> Val:
        """Call a value; what is not known by name and not in the tree gives an unknown."""
        self.step()
        if isinstance(callee, Partial):
            bound = CallSite(site.node, (*callee.args, *site.args), {**dict(callee.kwargs), **site.kwargs}, site.rest)
            return self.call(callee.callee, bound)
        name = _name_of(callee)
        if self._sink(name, callee, site):
            return self.unknown(site.node, f"`{name}` starts the run")
        known = self.knowledge.calls.get(name)
        if known is not None:
            found = known(self, callee, site)
            if found is not None:
                return found
        if isinstance(callee, Func):
            if self.knowledge.opaque(callee.module.path) and not _handles_config(name, site):
                return self._outside(External(callee.name), name, site)
            return self.call_function(callee, site)
        if isinstance(callee, ClassVal):
            return self.construct(callee, site)
        found = library.call(self, callee, site)
        if found is not None:
            return found
        return self._outside(callee, name, site)

    def _sink(self, name: str, callee: Val, site: CallSite) -> bool:
        """Record a call that starts something, with the config as it is at that moment; says whether it does."""
        wanted = self.knowledge.sinks.get(name)
        found = wanted(self, callee, site) if wanted is not None else None
        if found is None:
            return False
        record, written = found
        self.sinks.append(Sink(name, site, self.frame.module, self.frame.scope, tuple(written), record))
        return True

    def _outside(self, callee: Val, name: str, site: CallSite) -> Val:
        if isinstance(callee, Bound):
            return self._method(callee, site)
        if isinstance(callee, Unknown):
            self._taint_all(site, "it is handed to something that was not read")
            return self.unknown(site.node, callee.reason, callee)
        if not isinstance(callee, External):
            return self.unknown(site.node, "it is no function that was read", callee)
        if name[:1].isupper():
            return self.outside_object(callee, name, site)
        made = self.knowledge.outside(self, callee.dotted, site)
        if made is not None:
            return made
        if name not in _SILENT and name not in self.knowledge.quiet:
            self._taint_all(site, f"`{name}` of a library that was not read may change it")
        return self.unknown(site.node, f"`{callee.dotted}` is not in what was read")

    def outside_object(self, callee: External, name: str, site: CallSite) -> Record:
        """Make the object that a library's class gives: its keyword arguments are its attributes."""
        made = Record(name, origins=(self.origin(site.node),))
        for key, value in site.kwargs.items():
            self.write(made, key, value, self.uses(value, site.node, key))
        if site.rest:
            made.open = site.rest
        return made

    def _taint_all(self, site: CallSite, reason: str) -> None:
        for value in (*site.args, *site.kwargs.values()):
            self.taint(value, reason)

    def _method(self, callee: Bound, site: CallSite) -> Val:
        if callee.function is not None:
            if callee.name in self.knowledge.quiet:
                return NONE
            if self.knowledge.opaque(callee.function.module.path):
                return self.unknown(site.node, f"`{callee.name}` is not followed")
            receiver = callee.receiver
            if decorated(callee.function.node, "staticmethod"):
                return self.call_function(callee.function, site)
            if decorated(callee.function.node, "classmethod") and isinstance(receiver, Record) and receiver.cls:
                receiver = receiver.cls
            return self.call_function(callee.function, site, receiver)
        if isinstance(callee.receiver, Record) and callee.name not in self.knowledge.quiet:
            self._taint_all(site, f"`{callee.name}` was not read")
        return self.unknown(site.node, f"`{callee.name}` is not evaluated", callee.receiver)

    # Functions of the tree.

    def call_function(self, function: Func, site: CallSite, receiver: Val | None = None) -> Val:
        """Call a function of the tree in a frame of its own."""
        inside = sum(1 for f in self.stack if f.node is function.node)
        if len(self.stack) >= MAX_CALLS or inside >= MAX_SAME:
            self._taint_all(site, f"`{function.name}` calls itself too deeply to be evaluated")
            return self.unknown(site.node, f"`{function.name}` calls itself too deeply to be evaluated")
        if self._generates(function.node):
            return self.unknown(site.node, f"`{function.name}` is a generator or coroutine")
        self.touched[function.module.path] = None
        plain = not (site.args or site.kwargs or site.rest or receiver or function.closure or self.control)
        if plain and isinstance(function.node, ast.FunctionDef):
            return self._remembered(function, site)
        return self.run_function(function, self._arguments(function, site, receiver))

    def _generates(self, node: ast.AST) -> bool:
        known = self.caches.generators.get(id(node))
        if known is None:
            known = isinstance(node, ast.AsyncFunctionDef) or _yields(node)
            self.caches.generators[id(node)] = known
        return known

    def _remembered(self, function: Func, site: CallSite) -> Val:
        """Call a function without arguments: what it gave before, copied, where nothing can have changed it."""
        key = id(function.node)
        if key in self.caches.calls:
            memory = self.caches.calls[key]
            if memory is not None:
                return self._recalled(memory)
            return self.run_function(function, self._arguments(function, site, None))
        kept, self.touched = self.touched, {function.module.path: None}
        mark, start, steps, asked, sinks = len(self.journal), self.order, self.steps, self.asked, len(self.sinks)
        inside = len(self.stack)
        value = self.run_function(function, self._arguments(function, site, None))
        touched, self.touched = self.touched, {**kept, **self.touched}
        shared = self.caches.shared
        pure = self.asked == asked and len(self.sinks) == sinks and inside < 3
        if not pure or any(id(table) in shared or table is self.environ.entries for table, _, _ in self.journal[mark:]):
            self.caches.calls[key] = None
            return value
        length = self.order - start
        self.caches.calls[key] = Memory(copied(value, {}), start, length, self.steps - steps, tuple(touched))
        return value

    def _recalled(self, memory: Memory) -> Val:
        self.touched.update(dict.fromkeys(memory.touched))
        self.steps += memory.steps // 8
        shift = self.order - memory.start
        self.order += memory.length
        return copied(memory.value, {}, shift)

    def run_function(self, function: Func, names: dict[str, Val]) -> Val:
        """Run a function's body over its parameters."""
        kept, control = self.frame, self.control
        frame = Frame(function.module, names, self.scope_of(function), function.closure, function)
        frame.outer = _globals(function.node)
        self.stack.append(function)
        self.frame = frame
        try:
            if isinstance(function.node, ast.Lambda):
                return self.evaluate(function.node.body)
            ended = self.execute(function.node.body)
            return self._returned(frame, ended)
        finally:
            self.stack.pop()
            self.frame, self.control = kept, control

    def scope_of(self, function: Func) -> str:
        """Give the stable name of a function inside its file."""
        outer = function.closure.scope if function.closure is not None else ""
        if function.owner is not None:
            outer = function.owner.name
        return f"{outer}.{function.name}" if outer else function.name

    def _returned(self, frame: Frame, ended: str) -> Val:
        result = frame.result if ended != "raise" else Unknown("it ends in an exception")
        for condition, early in reversed(frame.early):
            if ended == "raise":
                result, ended = early, ""
            elif not same(early, result):
                origins = (*origins_of(early)[:2], *origins_of(result)[:2])
                result = Unknown(f"it depends on `{condition.text}`, which is not known", origins, condition)
        return result

    def _arguments(self, function: Func, site: CallSite, receiver: Val | None) -> dict[str, Val]:
        spec = function.node.args
        positional = [*spec.posonlyargs, *spec.args]
        given = (receiver, *site.args) if receiver is not None else site.args
        names: dict[str, Val] = {}
        extra = dict(site.kwargs)
        for index, parameter in enumerate(positional):
            if index < len(given) and not _several(given[: index + 1]):
                names[parameter.arg] = given[index]
            elif parameter.arg in extra:
                names[parameter.arg] = extra.pop(parameter.arg)
        for parameter in spec.kwonlyargs:
            if parameter.arg in extra:
                names[parameter.arg] = extra.pop(parameter.arg)
        if spec.vararg is not None:
            names[spec.vararg.arg] = sequence("tuple", tuple(given[len(positional) :]))
        if spec.kwarg is not None:
            names[spec.kwarg.arg] = Map(dict(extra), (self.origin(site.node),), site.rest)
        unknown = site.rest or ("its arguments are not known" if _several(given) else "")
        return self.with_defaults(function, names, unknown)

    def with_defaults(self, function: Func, names: dict[str, Val], rest: str = "") -> dict[str, Val]:
        """Complete parameters by their defaults; one without a default is unknown.

        `rest` says why a parameter that nobody named may have been given all the same.
        """
        spec = function.node.args
        positional = [*spec.posonlyargs, *spec.args]
        defaults: list[tuple[ast.arg, ast.expr | None]] = list(
            zip(positional, [None] * (len(positional) - len(spec.defaults)) + list(spec.defaults), strict=True)
        )
        defaults += list(zip(spec.kwonlyargs, spec.kw_defaults, strict=True))
        for parameter, default in defaults:
            if parameter.arg in names:
                continue
            if rest or default is None:
                reason = rest or f"the argument `{parameter.arg}` of `{function.name}` is not given here"
                names[parameter.arg] = Unknown(reason)
            else:
                names[parameter.arg] = self._default(function, default)
        return names

    def _default(self, function: Func, node: ast.expr) -> Val:
        kept = self.frame, self.control
        self.frame = Frame(function.module, {}, self.scope_of(function), function.closure)
        self.control = ()
        try:
            return self.evaluate(node)
        finally:
            self.frame, self.control = kept

    # Classes of the tree.

    def construct(self, cls: ClassVal, site: CallSite) -> Val:
        """Make an object of a class of the tree: its arguments are its attributes, by the names of its fields."""
        made = Record(cls.name, cls, origins=(self.origin(site.node),))
        for key, value in self.knowledge.begun(self, cls):
            self.write(made, key, value)
        names = self.field_names(cls)
        for index, value in enumerate(site.args[: len(names)]):
            self.write(made, names[index], value, self.uses(value, site.node, names[index]))
        for key, value in site.kwargs.items():
            self.write(made, key, value, self.uses(value, site.node, key))
        made.open = site.rest
        return made

    def field_names(self, cls: ClassVal) -> list[str]:
        """Give the names of a class's positional arguments: those of `__init__`, else its fields, bases first."""
        init = self.class_attribute(cls, "__init__")
        if isinstance(init, Func):
            return [a.arg for a in init.node.args.args[1:]]
        names: dict[str, None] = {}
        for current in reversed(self.classes(cls)):
            if isinstance(current, ClassVal):
                names.update((n, None) for n, s in current.members.items() if isinstance(s, ast.AnnAssign))
        return list(names)

    def uses(self, value: Val, node: ast.Call, key: str) -> tuple[Origin, ...]:
        """Give the place where an argument is handed over, if the value's own place is elsewhere."""
        for keyword in node.keywords:
            if keyword.arg == key:
                return self.use(keyword.value)
        return ()


def _name_of(callee: Val) -> str:
    if isinstance(callee, Func | ClassVal | External | Bound):
        return callee.name
    return ""


def _handles_config(name: str, site: CallSite) -> bool:
    """Say whether a function of a library sets something on an object that it is handed."""
    if not name.lstrip("_").startswith(("set", "apply", "enable", "disable", "update", "clear", "configure")):
        return False
    return any(isinstance(value, Record) for value in (*site.args, *site.kwargs.values()))


def _several(values: tuple[Val, ...]) -> bool:
    return any(isinstance(v, Unknown) and v.several for v in values)


def _globals(node: ast.AST) -> frozenset[str]:
    body = getattr(node, "body", ())
    if not isinstance(body, list):
        return frozenset()
    return frozenset(name for s in body if isinstance(s, ast.Global) for name in s.names)


def _yields(node: ast.AST) -> bool:
    """Say whether a function's own statements yield; looks a few levels down, enough for what people write."""
    if isinstance(node, ast.Lambda):
        return False
    todo: list[ast.AST] = list(getattr(node, "body", ()))
    for _ in range(4):
        following: list[ast.AST] = []
        for statement in todo:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Yield | ast.YieldFrom):
                return True
            if isinstance(statement, ast.If | ast.For | ast.While | ast.With | ast.Try):
                following += statement.body
        todo = following
    return False
