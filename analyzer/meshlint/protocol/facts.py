"""What one Python file says, read once: definitions, classes, imports and lowered bodies.

A file is parsed by `ast`, lowered to nested tuples and never looked at as a tree again. Everything here is a pure
function of the file's text, and plain enough for `marshal`: tuples, strings, numbers and None.

Expressions are tuples that start with a tag:

| tag | rest | Python |
| --- | --- | --- |
| C | value | a constant (str, int, float, bool, None) |
| N | name | a name |
| A | base, attribute | `base.attribute` |
| S | base, index | `base[index]` |
| K | callee, arguments, keywords, line, column, end line, end column | a call; keywords are (name or None, value) |
| B | operator, operands | `and`, `or` |
| U | operator, operand | `not`, `-`, `~`, `+` |
| M | operator, left, right | arithmetic |
| Q | operators, left, comparators | comparisons |
| I | test, then, else | a ternary |
| T, L, E | elements | tuple, list, set |
| D | keys, values | a dict; a None key spreads |
| F | definition, index | a lambda, lowered as a definition of its own |
| G | kind, element, clauses, line | a comprehension; a clause is (target, iterable, conditions) |
| * | operand | `*operand` |
| W | name, value | `name := value` |
| Y | value or None | `yield`, `yield from` |
| J | parts | an f-string |
| X | | anything else |

Statements are (tag, line, ...), those with bodies end with their last line; one that binds a name of a function to a
constant for which nobody asks is left out, as `pass` is: expr,
assign, aug, if, for, while, try, with, return, raise, break, continue, assert, def, class, import, global, del, match.
"""

from __future__ import annotations

import ast
import marshal
import re
import sys
import warnings
from collections.abc import Iterable
from dataclasses import field
from typing import Any

from meshlint.records import dataclass
from meshlint.room import room

Node = tuple[Any, ...]

MAX_TEXT = 1 << 20
"""Characters of the longest file that is followed."""

MAX_PIECES = 400_000
"""Words and signs of the longest file that is followed: its tree takes up to 700 bytes for each."""

PARSED = 1000
"""Calls inside of one another in which a file is parsed and lowered: more than `MAX_DEPTH` needs."""

MAX_DEPTH = 64
"""Expressions and statements nested deeper are cut off; no person writes them."""

COLLECTIVE, RANK, GROUP, RAISE, YIELD = 1, 2, 4, 8, 16

X: Node = ("X",)

_PIECE = re.compile(r"\w+|[^\w\s]")

Import = tuple[str, str, str, int]
"""(name, module, attribute or '', level of a relative import)."""

_SEED_WORDS = (
    "reduce",
    "gather",
    "broadcast",
    "barrier",
    "scatter",
    "all_to_all",
    "alltoall",
    "new_group",
    "new_subgroup",
    "create_group",
    "wait_for_everyone",
    "monitored_barrier",
    "full_tensor",
    "save_checkpoint",
    "init_device_mesh",
    "sync",
)

MAX_QUOTED = 200
"""Characters of an annotation written as text that are read."""

_PLAIN = frozenset(("int", "str", "bool", "float", "bytes", "dict", "list", "tuple", "set", "object"))
"""Types of results of which nothing more is known than without them."""

_BINARY = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.BitAnd: "&",
    ast.MatMult: "@",
}
_UNARY = {ast.Not: "not", ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}
_COMPARE = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter: `kind` is `pos`, `kw`, `*` or `**`."""

    name: str
    kind: str
    default: Node | None
    annotation: Node | None


@dataclass(frozen=True, slots=True)
class Definition:
    """A function, a lambda or the module's own body (index 0, named `<module>`).

    `parent` is the index of the definition around it, `owner` that of the class, -1 for none. `callees` are the
    dotted texts of what it calls, distinct and in order, and with `&` in front of what it hands on as an argument;
    `seeds` are the bits COLLECTIVE and so on.
    """

    index: int
    name: str
    qualname: str
    parent: int
    owner: int
    params: tuple[Param, ...]
    decorators: tuple[Node, ...]
    line: int
    end_line: int
    lowered: tuple[Node, ...] | bytes = field(compare=False, repr=False)
    """The statements, or `marshal` bytes of them: most functions are never walked."""
    callees: tuple[str, ...]
    seeds: int
    locals: tuple[str, ...]
    globals: tuple[str, ...]
    imports: tuple[Import, ...] = ()
    """What is imported inside of it."""
    returns: Node | None = None
    """The annotation of what it returns, unless that is a plain type of Python's own."""

    def mentions(self, word: str) -> bool:
        """Say whether a name or text in ASCII may stand in the body, without decoding it."""
        return not isinstance(self.lowered, bytes) or word.encode("ascii") in self.lowered

    @property
    def body(self) -> tuple[Node, ...]:
        """The lowered statements."""
        if isinstance(self.lowered, bytes):
            object.__setattr__(self, "lowered", marshal.loads(self.lowered))
        return self.lowered  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class ClassFacts:
    """A class: bases, methods by name, class attributes, and what its methods store on `self`."""

    index: int
    name: str
    qualname: str
    parent: int
    line: int
    bases: tuple[Node, ...]
    methods: tuple[tuple[str, int], ...]
    attributes: tuple[tuple[str, Node], ...]
    annotations: tuple[tuple[str, Node], ...]
    stores: tuple[tuple[str, int, Node], ...]
    """(attribute, definition index, value) for every `self.attribute = value`."""
    decorators: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class FileFacts:
    """One file. `imports` are (name, module, attribute or '', level); a star import has the name `*`."""

    path: str
    imports: tuple[tuple[str, str, str, int], ...]
    definitions: tuple[Definition, ...]
    classes: tuple[ClassFacts, ...]
    assigns: tuple[tuple[str, Node], ...]
    """Module-level names and what they are bound to, `global` stores of functions included."""
    note: str = ""

    def dump(self) -> bytes:
        """Give the facts as bytes, for a cache or another process."""
        return marshal.dumps(_plain(self))

    @staticmethod
    def load(blob: bytes | memoryview) -> FileFacts:
        """Read what `dump` wrote."""
        path, imports, definitions, classes, assigns, note = marshal.loads(blob)
        return FileFacts(
            path,
            imports,
            tuple(_definition(d) for d in definitions),
            tuple(ClassFacts(*c) for c in classes),
            assigns,
            note,
        )


def _definition(row: Node) -> Definition:
    head: Node = row[:5]
    tail: Node = row[6:]
    fields: Node = (*head, tuple(Param(*p) for p in row[5]), *tail)
    return Definition(*fields)


def _plain(facts: FileFacts) -> Node:
    return (
        facts.path,
        facts.imports,
        tuple(
            (
                d.index,
                d.name,
                d.qualname,
                d.parent,
                d.owner,
                tuple((p.name, p.kind, p.default, p.annotation) for p in d.params),
                d.decorators,
                d.line,
                d.end_line,
                d.lowered if isinstance(d.lowered, bytes) else marshal.dumps(d.lowered),
                d.callees,
                d.seeds,
                d.locals,
                d.globals,
                d.imports,
                d.returns,
            )
            for d in facts.definitions
        ),
        tuple(
            (
                c.index,
                c.name,
                c.qualname,
                c.parent,
                c.line,
                c.bases,
                c.methods,
                c.attributes,
                c.annotations,
                c.stores,
                c.decorators,
            )
            for c in facts.classes
        ),
        facts.assigns,
        facts.note,
    )


def read(path: str, text: str) -> FileFacts:
    """Read one file. A file that cannot be parsed, or is too long, gives facts with a `note` and nothing else."""
    if len(text) > MAX_TEXT:
        return _nothing(path, f"line 1: it has {len(text):,} characters; at most {MAX_TEXT:,} are followed")
    if len(text) > MAX_PIECES and (pieces := sum(1 for _ in _PIECE.finditer(text))) > MAX_PIECES:
        return _nothing(path, f"line 1: it has {pieces:,} words and signs; at most {MAX_PIECES:,} are followed")
    try:
        with warnings.catch_warnings(), room(PARSED):
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            lowering = _Lowering()
            lowering.module(tree)
    except SyntaxError as error:
        python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
        return _nothing(path, f"line {error.lineno or 1}: it is no {python}: {error.msg}")
    except (RecursionError, MemoryError, ValueError):
        return _nothing(path, "line 1: nested too deeply to be parsed")
    return FileFacts(
        path,
        tuple(lowering.imports),
        tuple(d for d in lowering.definitions if d is not None),
        tuple(c for c in lowering.classes if c is not None),
        tuple(lowering.assigns),
        lowering.note,
    )


def speaks_of_groups(text: str) -> bool:
    """Say whether a text may hold collectives, by its words."""
    return "import" in text and any(word in text for word in _SEED_WORDS)


def _nothing(path: str, note: str) -> FileFacts:
    return FileFacts(path, (), (), (), (), note)


@dataclass(slots=True)
class _Scope:
    """What is collected while one definition is lowered."""

    index: int
    qualname: str
    owner: int = -1
    receiver: str = ""
    callees: dict[str, None] = field(default_factory=dict)
    locals: dict[str, None] = field(default_factory=dict)
    globals: dict[str, None] = field(default_factory=dict)
    imports: list[Import] = field(default_factory=list)
    seeds: int = 0
    read: set[str] = field(default_factory=set)
    """Names that are read, in what is inside of it too."""
    stored: dict[str, int] = field(default_factory=dict)
    """How often each name is bound; `plainly` is how often to a constant, by a statement that does nothing else."""
    plainly: dict[str, int] = field(default_factory=dict)

    def idle(self) -> frozenset[str]:
        """Give the names that only ever hold constants for which nobody asks."""
        return frozenset(
            name
            for name, times in self.plainly.items()
            if self.stored[name] == times and name not in self.read and name not in self.globals
        )


@dataclass(slots=True)
class _ClassScope:
    index: int
    qualname: str
    methods: dict[str, int] = field(default_factory=dict)
    attributes: list[tuple[str, Node]] = field(default_factory=list)
    annotations: list[tuple[str, Node]] = field(default_factory=list)
    stores: list[tuple[str, int, Node]] = field(default_factory=list)


class _Lowering:
    """One pass over one tree."""

    def __init__(self) -> None:
        self.imports: list[tuple[str, str, str, int]] = []
        self.definitions: list[Definition | None] = []
        self.classes: list[ClassFacts | None] = []
        self.class_scopes: list[_ClassScope] = []
        self.assigns: list[tuple[str, Node]] = []
        self.note = ""
        self.seeded: dict[str, bool] = {}
        """Whether the last part of a callee's name is a seed word."""
        self.depth = 0
        self.scope = _Scope(0, "")

    # -- definitions ---------------------------------------------------------------------------------------------

    def module(self, tree: ast.Module) -> None:
        self.definitions.append(None)
        body = self.block(tree.body)
        self.definitions[0] = Definition(
            0,
            "<module>",
            "<module>",
            -1,
            -1,
            (),
            (),
            1,
            max(1, getattr(tree.body[-1], "end_lineno", 1)) if tree.body else 1,
            marshal.dumps(body),
            tuple(self.scope.callees),
            self.scope.seeds,
            tuple(self.scope.locals),
            (),
        )
        for index, scope in enumerate(self.class_scopes):
            facts = self.classes[index]
            if facts is not None and scope.stores:
                self.classes[index] = ClassFacts(
                    facts.index,
                    facts.name,
                    facts.qualname,
                    facts.parent,
                    facts.line,
                    facts.bases,
                    facts.methods,
                    facts.attributes,
                    facts.annotations,
                    tuple(scope.stores),
                    facts.decorators,
                )

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, owner: int) -> int:
        outer = self.scope
        index = len(self.definitions)
        self.definitions.append(None)
        name = node.name if not isinstance(node, ast.Lambda) else "<lambda>"
        prefix = self.class_scopes[owner].qualname if owner >= 0 else outer.qualname
        qualname = f"{prefix}.{name}" if prefix else name
        params = self.params(node.args)
        decorators = () if isinstance(node, ast.Lambda) else tuple(self.expr(d) for d in node.decorator_list)
        returns = None if isinstance(node, ast.Lambda) else self.returned(node.returns)
        scope = self.scope = _Scope(index, qualname, owner)
        if owner >= 0 and params and "staticmethod" not in {d[1] for d in decorators if d[0] == "N"}:
            scope.receiver = params[0].name
        elif owner < 0:
            scope.receiver, scope.owner = outer.receiver, outer.owner
        for param in params:
            scope.locals[param.name] = None
            scope.stored[param.name] = 1
        body: tuple[Node, ...] = (
            (("return", node.lineno, self.expr(node.body)),) if isinstance(node, ast.Lambda) else self.block(node.body)
        )
        idle = scope.idle() if scope.plainly else frozenset()
        if idle:
            body = _without(body, idle)
        outer.read |= scope.read
        self.scope = outer
        self.definitions[index] = Definition(
            index,
            name,
            qualname,
            outer.index,
            owner,
            params,
            decorators,
            node.lineno,
            node.end_lineno or node.lineno,
            marshal.dumps(body),
            tuple(scope.callees),
            scope.seeds,
            tuple(k for k in scope.locals if k not in scope.globals and k not in idle),
            tuple(scope.globals),
            tuple(scope.imports),
            returns,
        )
        return index

    def params(self, args: ast.arguments) -> tuple[Param, ...]:
        found: list[Param] = []
        positional = args.posonlyargs + args.args
        gap = len(positional) - len(args.defaults)
        for place, arg in enumerate(positional):
            default = self.expr(args.defaults[place - gap]) if place >= gap else None
            found.append(Param(arg.arg, "pos", default, self.annotation(arg.annotation)))
        if args.vararg:
            found.append(Param(args.vararg.arg, "*", None, None))
        for arg, value in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            found.append(
                Param(arg.arg, "kw", None if value is None else self.expr(value), self.annotation(arg.annotation))
            )
        if args.kwarg:
            found.append(Param(args.kwarg.arg, "**", None, None))
        return tuple(found)

    def annotation(self, node: ast.expr | None) -> Node | None:
        """Lower an annotation; a string is parsed, `Optional[X]` and `X | None` keep their shape."""
        if node is None:
            return None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            quoted = _parsed(node.value)
            if quoted is None:
                return None
            node = quoted
        callees, seeds = self.scope.callees, self.scope.seeds
        self.scope.callees = {}
        lowered = self.expr(node)
        self.scope.callees, self.scope.seeds = callees, seeds
        return lowered

    def returned(self, node: ast.expr | None) -> Node | None:
        """Lower the annotation of a result, unless it says nothing of which anybody asks."""
        if node is None or (isinstance(node, ast.Name) and node.id in _PLAIN):
            return None
        return None if isinstance(node, ast.Constant) and node.value is None else self.annotation(node)

    def klass(self, node: ast.ClassDef) -> int:
        outer = self.scope
        index = len(self.class_scopes)
        qualname = f"{outer.qualname}.{node.name}" if outer.qualname else node.name
        scope = _ClassScope(index, qualname)
        self.class_scopes.append(scope)
        self.classes.append(None)
        bases = tuple(self.expr(b) for b in node.bases)
        decorators = tuple(self.expr(d) for d in node.decorator_list)
        for statement in node.body:
            self.class_statement(statement, scope)
        self.classes[index] = ClassFacts(
            index,
            node.name,
            qualname,
            outer.index,
            node.lineno,
            bases,
            tuple(scope.methods.items()),
            tuple(scope.attributes),
            tuple(scope.annotations),
            tuple(scope.stores),
            decorators,
        )
        return index

    def class_statement(self, node: ast.stmt, scope: _ClassScope) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            index = self.function(node, scope.index)
            setter = any(isinstance(d, ast.Attribute) and d.attr in ("setter", "deleter") for d in node.decorator_list)
            if not setter:
                scope.methods[node.name] = index
        elif isinstance(node, ast.Assign):
            value = self.expr(node.value)
            scope.attributes += [(t.id, value) for t in node.targets if isinstance(t, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            annotation = self.annotation(node.annotation)
            if annotation is not None:
                scope.annotations.append((node.target.id, annotation))
            if node.value is not None:
                scope.attributes.append((node.target.id, self.expr(node.value)))
        elif isinstance(node, ast.If):
            self.depth += 1
            if self.depth <= MAX_DEPTH:
                for statement in [*node.body, *node.orelse]:
                    self.class_statement(statement, scope)
            else:
                self.note = self.note or "statements nested too deeply were left out"
            self.depth -= 1
        elif isinstance(node, ast.ClassDef):
            self.klass(node)

    # -- statements ----------------------------------------------------------------------------------------------

    def block(self, body: Iterable[ast.stmt]) -> tuple[Node, ...]:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.depth -= 1
            self.note = self.note or "statements nested too deeply were left out"
            return ()
        found = []
        for node in body:
            method = _STATEMENTS.get(type(node))
            if method is not None:
                lowered = method(self, node)
                if lowered is not None:
                    found.append(lowered)
        self.depth -= 1
        return tuple(found)

    def s_expr(self, node: ast.Expr) -> Node | None:
        return None if isinstance(node.value, ast.Constant) else ("expr", node.lineno, self.expr(node.value))

    def s_assign(self, node: ast.Assign) -> Node:
        value = self.expr(node.value)
        targets = tuple([self.target(t, value) for t in node.targets])
        self.plain(targets, value)
        return ("assign", node.lineno, targets, value)

    def plain(self, targets: tuple[Node, ...], value: Node) -> None:
        """Note a statement that binds one name to a constant."""
        if value[0] == "C" and len(targets) == 1 and targets[0][0] == "N":
            name = targets[0][1]
            self.scope.plainly[name] = self.scope.plainly.get(name, 0) + 1

    def s_annotated(self, node: ast.AnnAssign) -> Node | None:
        annotation = self.annotation(node.annotation)
        if (
            annotation is not None
            and isinstance(node.target, ast.Attribute)
            and isinstance(node.target.value, ast.Name)
            and node.target.value.id == self.scope.receiver
            and self.scope.owner >= 0
        ):
            self.class_scopes[self.scope.owner].annotations.append((node.target.attr, annotation))
        if node.value is None:
            return None
        value = self.expr(node.value)
        targets = (self.target(node.target, value),)
        self.plain(targets, value)
        return ("assign", node.lineno, targets, value)

    def s_aug(self, node: ast.AugAssign) -> Node:
        value = self.expr(node.value)
        more = value if isinstance(node.op, ast.BitOr) and makes_set(value) else X  # a set that is given a set more
        return ("aug", node.lineno, self.target(node.target, more), _BINARY.get(type(node.op), "?"), value)

    def keyed(self, node: ast.Subscript, value: Node) -> None:
        """Note what is stored under a constant key of an attribute of `self` or `cls`."""
        held, key = node.value, node.slice
        if (
            isinstance(held, ast.Attribute)
            and isinstance(held.value, ast.Name)
            and held.value.id == self.scope.receiver
            and self.scope.owner >= 0
            and isinstance(key, ast.Constant)
            and isinstance(key.value, str)
        ):
            name = f"{held.attr}[{key.value!r}]"
            self.class_scopes[self.scope.owner].stores.append((name, self.scope.index, value))

    def target(self, node: ast.expr, value: Node) -> Node:
        """Lower what is stored to, and note names and attributes of `self`."""
        if isinstance(node, ast.Name):
            self.scope.locals[node.id] = None
            self.scope.stored[node.id] = self.scope.stored.get(node.id, 0) + 1
            if self.scope.index == 0 or node.id in self.scope.globals:
                self.assigns.append((node.id, value))
        elif isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.value.id == self.scope.receiver and self.scope.owner >= 0:
                self.class_scopes[self.scope.owner].stores.append((node.attr, self.scope.index, value))
        elif isinstance(node, ast.Subscript):
            self.keyed(node, value)
        elif isinstance(node, ast.Tuple | ast.List | ast.Starred) and self.depth >= MAX_DEPTH:
            self.note = self.note or "expressions nested too deeply were left out"
            return X
        elif isinstance(node, ast.Tuple | ast.List):
            parts = value[1] if value[0] in ("T", "L") and len(value[1]) == len(node.elts) else None
            self.depth += 1
            lowered = [
                self.target(
                    t, parts[place] if parts is not None else ("S", value, ("C", place)) if value is not X else X
                )
                for place, t in enumerate(node.elts)
            ]
            self.depth -= 1
            return ("T", tuple(lowered))
        elif isinstance(node, ast.Starred):
            self.depth += 1
            held = self.target(node.value, X)
            self.depth -= 1
            return ("*", held)
        return self.expr(node)

    def s_if(self, node: ast.If) -> Node:
        return ("if", node.lineno, self.expr(node.test), self.block(node.body), self.block(node.orelse), _end(node))

    def s_for(self, node: ast.For | ast.AsyncFor) -> Node:
        iterable = self.expr(node.iter)
        target = self.target(node.target, X)
        body, after = self.block(node.body), self.block(node.orelse)
        return ("for", node.lineno, target, iterable, body, after, _end(node))

    def s_while(self, node: ast.While) -> Node:
        return ("while", node.lineno, self.expr(node.test), self.block(node.body), self.block(node.orelse), _end(node))

    def s_try(self, node: ast.Try) -> Node:
        handlers = []
        body = self.block(node.body)
        for handler in node.handlers:
            if handler.name:
                self.scope.locals[handler.name] = None
            kind = X if handler.type is None else self.expr(handler.type)
            handlers.append((kind, handler.name or "", self.block(handler.body), handler.lineno))
        after, final = self.block(node.orelse), self.block(node.finalbody)
        return ("try", node.lineno, body, tuple(handlers), after, final, _end(node))

    def s_with(self, node: ast.With | ast.AsyncWith) -> Node:
        items = []
        for item in node.items:
            value = self.expr(item.context_expr)
            items.append((value, None if item.optional_vars is None else self.target(item.optional_vars, X)))
        return ("with", node.lineno, tuple(items), self.block(node.body), _end(node))

    def s_return(self, node: ast.Return) -> Node:
        return ("return", node.lineno, ("C", None) if node.value is None else self.expr(node.value))

    def s_raise(self, node: ast.Raise) -> Node:
        self.scope.seeds |= RAISE
        return ("raise", node.lineno, X if node.exc is None else self.expr(node.exc))

    def s_assert(self, node: ast.Assert) -> Node:
        return ("assert", node.lineno, self.expr(node.test))

    def s_def(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Node:
        self.scope.locals[node.name] = None
        index = self.function(node, -1)
        return ("def", node.lineno, node.name, index)

    def s_class(self, node: ast.ClassDef) -> Node:
        self.scope.locals[node.name] = None
        return ("class", node.lineno, node.name, self.klass(node))

    def s_import(self, node: ast.Import) -> Node:
        names = tuple(
            (a.asname, a.name, "", 0) if a.asname else (a.name.split(".")[0], a.name.split(".")[0], "", 0)
            for a in node.names
        )
        return self.bind_imports(node, names)

    def s_import_from(self, node: ast.ImportFrom) -> Node:
        module = node.module or ""
        return self.bind_imports(node, tuple((a.asname or a.name, module, a.name, node.level) for a in node.names))

    def bind_imports(self, node: ast.stmt, names: tuple[tuple[str, str, str, int], ...]) -> Node:
        if self.scope.index == 0:
            self.imports += names
        else:
            self.scope.locals.update(dict.fromkeys(n[0] for n in names))
            self.scope.imports += names
        return ("import", node.lineno, names)

    def s_global(self, node: ast.Global) -> Node:
        self.scope.globals.update(dict.fromkeys(node.names))
        return ("global", node.lineno, tuple(node.names))

    def s_nonlocal(self, node: ast.Nonlocal) -> None:
        """Take the names for read: what is bound here is another function's."""
        self.scope.read.update(node.names)

    def s_del(self, node: ast.Delete) -> Node:
        return ("del", node.lineno, tuple(self.expr(t) for t in node.targets))

    def s_match(self, node: ast.Match) -> Node:
        subject = self.expr(node.subject)
        cases = []
        for case in node.cases:
            pattern = case.pattern
            value = self.expr(pattern.value) if isinstance(pattern, ast.MatchValue) else None
            wild = isinstance(pattern, ast.MatchAs) and pattern.pattern is None
            guard = None if case.guard is None else self.expr(case.guard)
            cases.append((value, wild, self.block(case.body), guard))
        return ("match", node.lineno, subject, tuple(cases), _end(node))

    def s_break(self, node: ast.Break) -> Node:
        return ("break", node.lineno)

    def s_continue(self, node: ast.Continue) -> Node:
        return ("continue", node.lineno)

    # -- expressions ---------------------------------------------------------------------------------------------

    def expr(self, node: ast.expr) -> Node:
        kind = type(node)
        if kind is ast.Name and self.depth < MAX_DEPTH:
            if type(node.ctx) is not ast.Store:  # type: ignore[attr-defined]
                self.scope.read.add(node.id)  # type: ignore[attr-defined]
            return ("N", node.id)  # type: ignore[attr-defined]
        method = _EXPRESSIONS.get(kind)
        if method is None:
            return X
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.depth -= 1
            self.note = self.note or "expressions nested too deeply were left out"
            return X
        lowered: Node = method(self, node)
        self.depth -= 1
        return lowered

    def e_constant(self, node: ast.Constant) -> Node:
        value = node.value
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 1 << 62:
            return X
        return ("C", value) if value is None or isinstance(value, str | int | float | bool) else X

    def e_name(self, node: ast.Name) -> Node:
        return ("N", node.id)

    def e_attribute(self, node: ast.Attribute) -> Node:
        return ("A", self.expr(node.value), node.attr)

    def e_subscript(self, node: ast.Subscript) -> Node:
        return ("S", self.expr(node.value), self.expr(node.slice))

    def e_call(self, node: ast.Call) -> Node:
        callee = self.expr(node.func)
        text = dotted(callee)
        callees = self.scope.callees
        callees[text] = None
        last = text.rpartition(".")[2]
        self.seed(last)
        first: Node | None = None
        if last == "partial" and node.args and isinstance(node.args[0], ast.Attribute):
            first = self.expr(node.args[0])
            given = dotted(first)
            self.scope.callees[given] = None
            self.seed(given.rpartition(".")[2])
        arguments = tuple([self.expr(a) for a in (node.args if first is None else node.args[1:])])
        if first is not None:
            arguments = (first, *arguments)
        keywords = tuple([(k.arg, self.expr(k.value)) for k in node.keywords])
        for value in arguments:
            self.handed(value, callees)
        for _, value in keywords:
            self.handed(value, callees)
        return (
            "K",
            callee,
            arguments,
            keywords,
            node.lineno,
            node.col_offset + 1,
            node.end_lineno or node.lineno,
            (node.end_col_offset or node.col_offset) + 1,
        )

    def handed(self, value: Node, callees: dict[str, None]) -> None:
        """Note what a call hands on by its name: it may be called there."""
        if value[0] == "N":
            callees["&" + value[1]] = None
        elif value[0] == "A" and value[1] == ("N", "self"):
            callees["&self." + value[2]] = None

    def seed(self, last: str) -> None:
        """Mark what is read now where the last word of what it calls is one of collectives."""
        seeded = self.seeded.get(last)
        if seeded is None:
            seeded = self.seeded[last] = any(word in last for word in _SEED_WORDS)
        if seeded:
            self.scope.seeds |= COLLECTIVE

    def e_bool(self, node: ast.BoolOp) -> Node:
        return ("B", "and" if isinstance(node.op, ast.And) else "or", tuple([self.expr(v) for v in node.values]))

    def e_unary(self, node: ast.UnaryOp) -> Node:
        operand = self.expr(node.operand)
        if isinstance(node.op, ast.USub) and operand[0] == "C" and isinstance(operand[1], int | float):
            return ("C", -operand[1])
        return ("U", _UNARY[type(node.op)], operand)

    def e_binary(self, node: ast.BinOp) -> Node:
        return ("M", _BINARY[type(node.op)], self.expr(node.left), self.expr(node.right))

    def e_compare(self, node: ast.Compare) -> Node:
        return (
            "Q",
            tuple([_COMPARE[type(o)] for o in node.ops]),
            self.expr(node.left),
            tuple([self.expr(c) for c in node.comparators]),
        )

    def e_ternary(self, node: ast.IfExp) -> Node:
        return ("I", self.expr(node.test), self.expr(node.body), self.expr(node.orelse))

    def e_tuple(self, node: ast.Tuple) -> Node:
        return ("T", tuple([self.expr(e) for e in node.elts]))

    def e_list(self, node: ast.List) -> Node:
        return ("L", tuple([self.expr(e) for e in node.elts]))

    def e_set(self, node: ast.Set) -> Node:
        return ("E", tuple(self.expr(e) for e in node.elts))

    def e_dict(self, node: ast.Dict) -> Node:
        keys = tuple([None if k is None else self.expr(k) for k in node.keys])
        return ("D", keys, tuple([self.expr(v) for v in node.values]))

    def e_lambda(self, node: ast.Lambda) -> Node:
        return ("F", self.function(node, -1))

    def e_comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Node:
        clauses = tuple(
            (self.target(c.target, X), self.expr(c.iter), tuple(self.expr(i) for i in c.ifs)) for c in node.generators
        )
        kind = {ast.ListComp: "list", ast.SetComp: "set", ast.GeneratorExp: "generator"}.get(type(node), "dict")
        element = self.expr(node.value) if isinstance(node, ast.DictComp) else self.expr(node.elt)
        return ("G", kind, element, clauses, node.lineno)

    def e_starred(self, node: ast.Starred) -> Node:
        return ("*", self.expr(node.value))

    def e_walrus(self, node: ast.NamedExpr) -> Node:
        self.scope.locals[node.target.id] = None
        return ("W", node.target.id, self.expr(node.value))

    def e_yield(self, node: ast.Yield | ast.YieldFrom) -> Node:
        self.scope.seeds |= YIELD
        return ("Y", None if node.value is None else self.expr(node.value))

    def e_await(self, node: ast.Await) -> Node:
        return self.expr(node.value)

    def e_fstring(self, node: ast.JoinedStr) -> Node:
        parts = [v for v in node.values if isinstance(v, ast.FormattedValue)]
        return ("J", tuple(self.expr(e) for v in parts for e in (v.value, v.format_spec) if e is not None))

    def e_slice(self, node: ast.Slice) -> Node:
        if node.step is not None:
            return (
                "T",
                (*(("C", None) if p is None else self.expr(p) for p in (node.lower, node.upper, node.step)), X),
            )
        return ("T", (*(self.expr(p) for p in (node.lower, node.upper) if p is not None), X))


def makes_set(node: Node) -> bool:
    """Say whether lowered code is written as a set."""
    if node[0] == "K":
        return any(node[1] == ("N", name) for name in ("set", "frozenset"))
    return bool(node[0] == "E" or (node[0] == "G" and node[1] == "set"))


def _parsed(text: str) -> ast.expr | None:
    """Parse an annotation that is written as text; None where it is none."""
    try:
        return ast.parse(text[:MAX_QUOTED], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def unquoted(annotation: Node) -> Node:
    """Give a part of an annotation that is written as text as if it were not."""
    if annotation[0] != "C" or not isinstance(annotation[1], str):
        return annotation
    node = _parsed(annotation[1])
    return X if node is None else _Lowering().expr(node)


def _without(body: tuple[Node, ...], idle: frozenset[str]) -> tuple[Node, ...]:
    """Leave out the statements that bind some names to constants."""
    return tuple([_kept(node, idle) for node in body if not _binds(node, idle)])


def _binds(node: Node, idle: frozenset[str]) -> bool:
    return node[0] == "assign" and len(node[2]) == 1 and node[2][0][0] == "N" and node[2][0][1] in idle


def _kept(node: Node, idle: frozenset[str]) -> Node:
    """Leave out such statements inside of one."""
    match node[0]:
        case "if" | "while":
            return (*node[:3], _without(node[3], idle), _without(node[4], idle), node[5])
        case "for":
            return (*node[:4], _without(node[4], idle), _without(node[5], idle), node[6])
        case "with":
            return (*node[:3], _without(node[3], idle), node[4])
        case "try":
            handlers = tuple([(*one[:2], _without(one[2], idle), one[3]) for one in node[3]])
            return (
                *node[:2],
                _without(node[2], idle),
                handlers,
                _without(node[4], idle),
                _without(node[5], idle),
                node[6],
            )
        case "match":
            cases = tuple([(*one[:2], _without(one[2], idle), one[3]) for one in node[3]])
            return (*node[:3], cases, node[4])
    return node


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def calls(node: object) -> list[Node]:
    """Give every call in lowered code, in order; nested definitions are not entered."""
    found: list[Node] = []
    if isinstance(node, tuple):
        _gather_calls(node, found)
    return found


def _gather_calls(node: Node, found: list[Node]) -> None:
    if len(node) == 8 and node[0] == "K":
        found.append(node)
    for part in node:
        if isinstance(part, tuple):
            _gather_calls(part, found)


def dotted(node: Node) -> str:
    """Give the text of a callee: names and attributes; `?` for anything else at its base, `()` for a call."""
    if node[0] == "N":
        return str(node[1])
    parts: list[str] = []
    while node[0] == "A":
        parts.append(node[2])
        node = node[1]
    if node[0] == "N":
        parts.append(node[1])
    elif node[0] == "K":
        parts.append(dotted(node[1]) + "()")
    elif node[0] == "S":
        parts.append(dotted(node[1]) + "[]")
    else:
        parts.append("?")
    return ".".join(reversed(parts))


_STATEMENTS: dict[type[ast.stmt], Any] = {
    ast.Expr: _Lowering.s_expr,
    ast.Assign: _Lowering.s_assign,
    ast.AnnAssign: _Lowering.s_annotated,
    ast.AugAssign: _Lowering.s_aug,
    ast.If: _Lowering.s_if,
    ast.For: _Lowering.s_for,
    ast.AsyncFor: _Lowering.s_for,
    ast.While: _Lowering.s_while,
    ast.Try: _Lowering.s_try,
    ast.With: _Lowering.s_with,
    ast.AsyncWith: _Lowering.s_with,
    ast.Return: _Lowering.s_return,
    ast.Raise: _Lowering.s_raise,
    ast.Assert: _Lowering.s_assert,
    ast.FunctionDef: _Lowering.s_def,
    ast.AsyncFunctionDef: _Lowering.s_def,
    ast.ClassDef: _Lowering.s_class,
    ast.Import: _Lowering.s_import,
    ast.ImportFrom: _Lowering.s_import_from,
    ast.Global: _Lowering.s_global,
    ast.Nonlocal: _Lowering.s_nonlocal,
    ast.Delete: _Lowering.s_del,
    ast.Match: _Lowering.s_match,
    ast.Break: _Lowering.s_break,
    ast.Continue: _Lowering.s_continue,
}
if hasattr(ast, "TryStar"):
    _STATEMENTS[ast.TryStar] = _Lowering.s_try

_EXPRESSIONS: dict[type[ast.expr], Any] = {
    ast.Constant: _Lowering.e_constant,
    ast.Name: _Lowering.e_name,
    ast.Attribute: _Lowering.e_attribute,
    ast.Subscript: _Lowering.e_subscript,
    ast.Call: _Lowering.e_call,
    ast.BoolOp: _Lowering.e_bool,
    ast.UnaryOp: _Lowering.e_unary,
    ast.BinOp: _Lowering.e_binary,
    ast.Compare: _Lowering.e_compare,
    ast.IfExp: _Lowering.e_ternary,
    ast.Tuple: _Lowering.e_tuple,
    ast.List: _Lowering.e_list,
    ast.Set: _Lowering.e_set,
    ast.Dict: _Lowering.e_dict,
    ast.Lambda: _Lowering.e_lambda,
    ast.ListComp: _Lowering.e_comprehension,
    ast.SetComp: _Lowering.e_comprehension,
    ast.GeneratorExp: _Lowering.e_comprehension,
    ast.DictComp: _Lowering.e_comprehension,
    ast.Starred: _Lowering.e_starred,
    ast.NamedExpr: _Lowering.e_walrus,
    ast.Yield: _Lowering.e_yield,
    ast.YieldFrom: _Lowering.e_yield,
    ast.Await: _Lowering.e_await,
    ast.JoinedStr: _Lowering.e_fstring,
    ast.Slice: _Lowering.e_slice,
}
