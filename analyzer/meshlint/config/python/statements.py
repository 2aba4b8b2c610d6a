"""Statements: assignments, conditions, loops, imports, definitions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from meshlint.config.python.calls import Calls
from meshlint.config.python.expressions import Pending, plain_key
from meshlint.config.python.machine import MAX_ITEMS, MISSING, Exhausted, record_taints, same
from meshlint.config.python.values import (
    NONE,
    ClassVal,
    Dep,
    Func,
    Leaf,
    Map,
    Record,
    Seq,
    Site,
    Slot,
    Unknown,
    Val,
    deps_of,
)
from meshlint.config.value import Origin

_MAX_ARMS = 400
"""Statements looked at in an arm that is not run."""


class Statements(Calls):
    """The evaluation of statements."""

    def execute(self, body: Iterable[ast.stmt]) -> str:
        """Run statements until one ends the block."""
        for statement in body:
            self.steps += 1
            if self.steps > self.limit:
                raise Exhausted
            handler = _HANDLERS.get(type(statement))
            if handler is None:
                continue
            ended = handler(self, statement)
            if ended:
                return ended
        return ""

    # Assignments.

    def _assign(self, node: ast.Assign) -> str:
        value = self.evaluate(node.value)
        for target in node.targets:
            self.assign(target, value, node.value)
        return ""

    def _annotated(self, node: ast.AnnAssign) -> str:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value), node.value)
        return ""

    def _augmented(self, node: ast.AugAssign) -> str:
        if not isinstance(node.target, ast.Name | ast.Attribute | ast.Subscript):
            return ""
        old = self.evaluate(_as_load(node.target))
        value = self.binary(node, type(node.op), old, self.evaluate(node.value))
        self.assign(node.target, value, node.value)
        return ""

    def assign(self, target: ast.expr, value: Val, source: ast.expr | None = None) -> None:
        """Assign to a name, attribute, item or tuple of targets; `source` is the expression that gave the value."""
        if isinstance(target, ast.Name):
            self.bind(target.id, value)
        elif isinstance(target, ast.Attribute):
            self.set_attribute(self.holder(target.value), target.attr, value, self.use(source))
        elif isinstance(target, ast.Subscript):
            self._set_item(target, value, source)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target.elts, value)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, value, source)

    def holder(self, node: ast.expr) -> Val:
        """Evaluate what an attribute is written on; an object that nobody made yet comes into being."""
        if not isinstance(node, ast.Attribute):
            return self.evaluate(node)
        base = self.holder(node.value)
        if not isinstance(base, Record):
            return self.attribute(base, node.attr) or NONE
        found = self.record_attribute(base, node.attr)
        if isinstance(found, Record | Map | Seq):
            return found
        if base.slots.get(node.attr) and not isinstance(found, Unknown):
            return found or NONE
        made = Record("", open=base.open)
        if base.open and not base.slots.get(node.attr) and not record_taints(base):
            # It was there all along: what is unknown in it undoes no write between.
            self.put(base.slots, node.attr, (Slot(0, made),))
        else:
            self.write(base, node.attr, made)
        return made

    def set_attribute(self, base: Val, name: str, value: Val, uses: tuple[Origin, ...] = ()) -> None:
        """Write an attribute; on what is no config object it is lost."""
        if isinstance(base, Record):
            self.write(base, name, value, uses)
        elif isinstance(base, Map):
            self.put(base.entries, name, value)

    def _set_item(self, target: ast.Subscript, value: Val, source: ast.expr | None) -> None:
        base = self.evaluate(target.value)
        key = self.evaluate(target.slice) if not isinstance(target.slice, ast.Slice) else NONE
        self.set_item(base, key, value)

    def set_item(self, base: Val, key: Val, value: Val) -> None:
        """Write an item of a dict or list."""
        name = plain_key(key)
        if isinstance(base, Map):
            if name is MISSING:
                base.rest = base.rest or "a key of it is unknown"
            elif len(base.entries) < MAX_ITEMS:
                self.put(base.entries, name, value)
        elif isinstance(base, Seq):
            items = list(base.items)
            if isinstance(name, int) and -len(items) <= name < len(items):
                items[name] = value
            else:
                items = [Unknown("an item of the list is unknown", several=True)]
            self.put(base.state, "items", tuple(items))

    def _unpack(self, targets: list[ast.expr], value: Val) -> None:
        items = self.iterate(value, targets[0]) if targets else ()
        known = len(items) == len(targets) and not any(isinstance(t, ast.Starred) for t in targets)
        for index, target in enumerate(targets):
            if known and not (isinstance(items[index], Unknown) and items[index].several):  # type: ignore[union-attr]
                self.assign(target, items[index])
            else:
                self.assign(target, self.unknown(target, "what is unpacked is not known", value))

    def _delete(self, node: ast.Delete) -> str:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.drop(self.frame.names, target.id)
            elif isinstance(target, ast.Subscript):
                base, name = self.evaluate(target.value), plain_key(self.evaluate(target.slice))
                if isinstance(base, Map) and name is not MISSING:
                    self.drop(base.entries, name)
        return ""

    # Conditions.

    def _if(self, node: ast.If) -> str:
        test = self.evaluate(node.test)
        known = self.decided(test, node.test)
        if known is None:
            return self._both(node, test)
        deps = deps_of(test)
        if not deps:
            return self.execute(node.body if known else node.orelse)
        skipped = node.orelse if known else node.body
        self._mark_arm(skipped, deps)
        kept = self.control
        self.control = (*kept, *(d for d in deps if d not in kept))
        ended = self.execute(node.body if known else node.orelse)
        if not _leaves(skipped):  # else all that follows in this function depends on the condition
            self.control = kept
        return ended

    def _mark_arm(self, body: list[ast.stmt], deps: tuple[Any, ...]) -> None:
        """Note at what an arm would have written that these parallel sizes kept it from doing so."""
        for target in _targets(body):
            if isinstance(target, ast.Name):
                value = self.frame.names.get(target.id)
                if isinstance(value, Leaf):
                    self.put(self.frame.names, target.id, self.marked(value, deps))
            elif isinstance(target, ast.Attribute) and _plain_chain(target):
                base = self.holder(target.value)
                if isinstance(base, Record):
                    known = base.slots.get(f"?{target.attr}", ())
                    self.put(base.slots, f"?{target.attr}", (*known, *(d for d in deps if d not in known)))

    def _both(self, node: ast.If, test: Val) -> str:
        """Run both arms of an undecided condition and keep what they agree on."""
        condition: Site = self.condition(test, node.test)
        start = len(self.journal)
        first = self._arm(node.body)
        then = self._changes(start)
        result, early = self.frame.result, len(self.frame.early)
        self.undo(start)
        second = self._arm(node.orelse)
        if first == "raise" and second != "raise":
            return second
        other = self._changes(start)
        if second == "raise" and first != "raise":
            self.undo(start)
            self._replay(then)
            self.frame.result = result
            return first
        self.undo(start)
        del early
        self._join(then, other, condition, first, second)
        return self._joined_end(first, second, result, condition)

    def _arm(self, body: list[ast.stmt]) -> str:
        return self.execute(body)

    def _joined_end(self, first: str, second: str, result: Val, condition: Site) -> str:
        if first == second:
            if first == "return" and not same(result, self.frame.result):
                self.frame.early.append((condition, result))
            return first
        if first == "return":
            self.frame.early.append((condition, result))
            return second
        if second == "return":
            self.frame.early.append((condition, self.frame.result))
            return first
        return ""

    def _changes(self, start: int) -> dict[tuple[int, Any], tuple[dict[Any, Any], Any, Any]]:
        return {(id(table), key): (table, key, table.get(key, MISSING)) for table, key, _ in self.journal[start:]}

    def _replay(self, changes: Mapping[Any, tuple[dict[Any, Any], Any, Any]]) -> None:
        for table, key, value in changes.values():
            if value is MISSING:
                self.drop(table, key)
            else:
                self.put(table, key, value)

    def _join(
        self,
        then: Mapping[tuple[int, Any], tuple[dict[Any, Any], Any, Any]],
        other: Mapping[tuple[int, Any], tuple[dict[Any, Any], Any, Any]],
        condition: Site,
        first: str,
        second: str,
    ) -> None:
        if first and not second:
            then = {}  # that arm leaves: what follows sees the other one
        elif second and not first:
            other = {}
        for spot in {**then, **other}:
            table, key, _ = then.get(spot) or other[spot]
            now = table.get(key, MISSING)
            left = then[spot][2] if spot in then else now
            right = other[spot][2] if spot in other else now
            value = left if left is right else self._either(left, right, now, condition)
            if (first and not second) or (second and not first):
                value = right if first else left
            if value is not MISSING:
                self.put(table, key, value)

    def _either(self, left: Any, right: Any, now: Any, condition: Site) -> Any:
        reason = f"it depends on `{condition.text}`, which is not known"
        if _is_history(left) or _is_history(right):
            a = left[-1].value if _is_history(left) and left else MISSING
            b = right[-1].value if _is_history(right) and right else MISSING
            if a is not MISSING and b is not MISSING and same(a, b):
                return left
            self.order += 1
            origins = tuple(o for v in (a, b) if v is not MISSING for o in getattr(v, "origins", ())[:2])
            base = now if _is_history(now) else ()
            return (*base, Slot(self.order, Unknown(reason, origins, condition)))
        if isinstance(left, tuple) or isinstance(right, tuple):
            if _are_deps(left) or _are_deps(right):
                return left if left is not MISSING else right
            return (Unknown(reason, (), condition, several=True),)
        if left is not MISSING and right is not MISSING and same(left, right):
            return left
        origins = tuple(o for v in (left, right) if v is not MISSING for o in getattr(v, "origins", ())[:2])
        return Unknown(reason, origins, condition)

    # Loops.

    def _for(self, node: ast.For) -> str:
        items = self.iterate(self.evaluate(node.iter), node.iter)
        if any(isinstance(item, Unknown) and item.several for item in items):
            self._havoc(node.body, "it is written in a loop over something unknown")
            return ""
        for count, item in enumerate(items):
            if count >= MAX_ITEMS:
                self._havoc(node.body, "the loop is too long")
                break
            self.assign(node.target, item)
            ended = self.execute(node.body)
            if ended in ("return", "raise"):
                return ended
            if ended == "break":
                return ""
        return self.execute(node.orelse)

    def _while(self, node: ast.While) -> str:
        for _ in range(MAX_ITEMS):
            known = self.decided(self.evaluate(node.test), node.test)
            if known is False:
                return self.execute(node.orelse)
            if known is None:
                break
            ended = self.execute(node.body)
            if ended in ("return", "raise"):
                return ended
            if ended == "break":
                return ""
        self._havoc(node.body, "it is written in a loop that is not followed")
        return ""

    def _havoc(self, body: list[ast.stmt], reason: str) -> None:
        """Make everything unknown that statements which are not run would write."""
        for target in _targets(body):
            value = Unknown(reason, (self.origin(target),))
            if isinstance(target, ast.Name):
                self.bind(target.id, value)
            elif isinstance(target, ast.Attribute) and _plain_chain(target):
                self.set_attribute(self.holder(target.value), target.attr, value)
            elif isinstance(target, ast.Subscript) and _plain_chain(target.value):
                base = self.evaluate(target.value)
                if isinstance(base, Map):
                    base.rest = base.rest or reason
        for call in _calls(body):
            if _plain_chain(call):
                self.taint(self.evaluate(call), reason)

    # The rest.

    def _return(self, node: ast.Return) -> str:
        self.frame.result = NONE if node.value is None else self.evaluate(node.value)
        if self.control:
            self.frame.result = self.marked(self.frame.result, self.control)
        return "return"

    def _expression(self, node: ast.Expr) -> str:
        if not isinstance(node.value, ast.Constant):
            self.evaluate(node.value)
        return ""

    def _with(self, node: ast.With) -> str:
        for item in node.items:
            value = self.evaluate(item.context_expr)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value)
        return self.execute(node.body)

    def _try(self, node: ast.Try) -> str:
        ended = self.execute(node.body)
        if ended == "raise" and node.handlers:
            ended = self.execute(node.handlers[0].body)
        elif not ended:
            ended = self.execute(node.orelse)
        return self.execute(node.finalbody) or ended

    def _match(self, node: ast.Match) -> str:
        subject = plain_key(self.evaluate(node.subject))
        for case in node.cases:
            wanted = case.pattern
            if isinstance(wanted, ast.MatchAs) and wanted.pattern is None and case.guard is None:
                return self.execute(case.body)
            fits = self._fits(wanted, subject)
            if fits is None or case.guard is not None:
                break
            if fits:
                return self.execute(case.body)
        for case in node.cases:
            self._havoc(case.body, "it is written in a `match` that is not decided")
        return ""

    def _fits(self, wanted: ast.pattern, subject: Any) -> bool | None:
        if subject is MISSING:
            return None
        if isinstance(wanted, ast.MatchOr):
            answers = [self._fits(p, subject) for p in wanted.patterns]
            return True if True in answers else None if None in answers else False
        if isinstance(wanted, ast.MatchSingleton):
            return bool(subject is wanted.value)
        if isinstance(wanted, ast.MatchValue):
            value = plain_key(self.evaluate(wanted.value))
            return None if value is MISSING else bool(value == subject)
        return None

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
        frame = self.frame
        closure = frame if frame.function is not None else None
        self.put(frame.names, node.name, Func(node, frame.module, closure))
        return ""

    def _class(self, node: ast.ClassDef) -> str:
        members: dict[str, ast.stmt] = {}
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                members[statement.name] = statement
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                members[statement.target.id] = statement
            elif isinstance(statement, ast.Assign):
                members.update((t.id, statement) for t in statement.targets if isinstance(t, ast.Name))
        self.put(self.frame.names, node.name, ClassVal(node, self.frame.module, members))
        return ""

    def _import(self, node: ast.Import) -> str:
        for alias in node.names:
            dotted = alias.name if alias.asname else alias.name.split(".", 1)[0]
            pending: Any = Pending(dotted, "", 0, self.frame.module.path)
            self.put(self.frame.names, alias.asname or dotted, pending)
        return ""

    def _import_from(self, node: ast.ImportFrom) -> str:
        for alias in node.names:
            pending: Any = Pending(node.module or "", alias.name, node.level, self.frame.module.path)
            if alias.name == "*":
                pending = Pending(node.module or "", "", node.level, self.frame.module.path)
                self.frame.module.stars.append(pending)
            else:
                self.put(self.frame.names, alias.asname or alias.name, pending)
        return ""


def _leaves(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Return)


def _is_history(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[-1], Slot)


def _are_deps(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], Dep)


def _targets(body: list[ast.stmt]) -> list[ast.expr]:
    """Give what statements would assign to, nested ones included, within a bound."""
    found: list[ast.expr] = []
    todo: list[ast.stmt] = list(body)
    for _ in range(_MAX_ARMS):
        if not todo:
            break
        statement = todo.pop(0)
        if isinstance(statement, ast.Assign):
            found += statement.targets
        elif isinstance(statement, ast.AnnAssign | ast.AugAssign):
            found.append(statement.target)
        for inner in ("body", "orelse", "finalbody"):
            if not isinstance(statement, ast.FunctionDef | ast.ClassDef):
                todo += getattr(statement, inner, [])
    return [t for target in found for t in (target.elts if isinstance(target, ast.Tuple) else [target])]


def _calls(body: list[ast.stmt]) -> list[ast.expr]:
    """Give the arguments of calls that statements make."""
    found: list[ast.expr] = []
    for statement in body[:_MAX_ARMS]:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            found += statement.value.args
    return found


def _plain_chain(node: ast.expr) -> bool:
    """Say whether an expression is a name with attributes, which can be evaluated without effect."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _as_load(node: ast.Name | ast.Attribute | ast.Subscript) -> ast.expr:
    return node


def _break(_: Any, __: ast.stmt) -> str:
    return "break"


def _continue(_: Any, __: ast.stmt) -> str:
    return "continue"


def _raise(_: Any, __: ast.stmt) -> str:
    return "raise"


_HANDLERS: Mapping[type[ast.stmt], Callable[[Any, Any], str]] = {
    ast.Assign: Statements._assign,
    ast.AnnAssign: Statements._annotated,
    ast.AugAssign: Statements._augmented,
    ast.Delete: Statements._delete,
    ast.If: Statements._if,
    ast.For: Statements._for,
    ast.While: Statements._while,
    ast.Return: Statements._return,
    ast.Expr: Statements._expression,
    ast.With: Statements._with,
    ast.Try: Statements._try,
    ast.Match: Statements._match,
    ast.FunctionDef: Statements._function,
    ast.AsyncFunctionDef: Statements._function,
    ast.ClassDef: Statements._class,
    ast.Import: Statements._import,
    ast.ImportFrom: Statements._import_from,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Raise: _raise,
}
