"""Linking: from names in one file to definitions in another.

Everything is lazy and memoized. A target is what a name stands for: a module, a definition, a class or a module-level
variable of a file in scope, or a name of a library that is not. Nothing is imported; names are followed through
imports, re-exports, star imports and plain aliases (`dist = torch.distributed`), in circles too (see `circles`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any, Literal, TypeVar

from meshlint.protocol.circles import Circles
from meshlint.protocol.facts import ClassFacts, Definition, FileFacts, Node, dotted
from meshlint.records import dataclass

T = TypeVar("T")

MAX_ANCESTRY = 64
"""Classes above one that are followed."""

MAX_STARS = 48
"""Star imports of one file that are followed."""

MAX_WEAK = 3
"""An unknown receiver's method is taken by name only where at most so many definitions bear the name."""

Kind = Literal["module", "def", "class", "var", "library"]

_COMMON_WORDS = """
    get set put pop add append extend insert remove update clear copy items keys values index count sort reverse
    join split strip format replace encode decode read write close open flush seek start stop run step forward backward
    call apply map filter reduce save load state_dict load_state_dict train eval to cuda cpu item tolist numpy view
    reshape size dim numel sum mean max min mul div sub zero_ copy_ fill_ detach clone parameters named_parameters
    modules named_modules children register_buffer register_parameter wait result done cancel submit log info debug
    warning error exception print name type id hash init setup reset build create make process handle execute main
    all_reduce broadcast barrier all_gather reduce_scatter all_to_all gather scatter rank group send recv allreduce
    allgather synchronize sync __init__ __call__ __enter__ __exit__ release acquire"""
_COMMON = frozenset(_COMMON_WORDS.split())
"""Method names that anything may bear."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a name stands for. `path` and `index` locate it in scope; `name` is its full dotted name."""

    kind: Kind
    name: str
    path: str = ""
    index: int = -1


@dataclass(slots=True)
class Linker:
    """The files in scope and everything that was resolved among them."""

    files: Mapping[str, FileFacts]
    _suffixes: dict[str, list[str]] = field(default_factory=dict)
    _tables: dict[str, dict[str, tuple[str, object]]] = field(default_factory=dict)
    _circles: Circles = field(default_factory=Circles)
    _stars: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _behind: dict[str, set[str]] = field(default_factory=dict)
    _named: dict[str, list[int]] = field(default_factory=dict)
    _own_methods: dict[tuple[str, int], dict[str, int]] = field(default_factory=dict)
    _module_names: dict[str, str] = field(default_factory=dict)
    _found: dict[tuple[tuple[str, int], str], tuple[str, int, tuple[str, int]] | None] = field(default_factory=dict)
    """Methods by the receiver's class, asked for where no other question is being answered."""
    objects: dict[tuple[str, int, int], tuple[tuple[str, int], ...]] = field(default_factory=dict)
    """The classes of what a function, as a method of a class, makes or is given: see `receivers`."""
    _methods: dict[str, list[tuple[str, int]]] | None = None
    _children: dict[tuple[str, int], list[tuple[str, int]]] | None = None
    _nested: dict[str, dict[str, list[tuple[int, int]]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Index every file under every dotted suffix of its path."""
        for path in sorted(self.files):
            parts = module_parts(path)
            for start in range(len(parts)):
                self._suffixes.setdefault(".".join(parts[start:]), []).append(path)

    def tables(
        self,
    ) -> tuple[dict[tuple[str, int], list[tuple[str, int]]] | None, dict[str, list[tuple[str, int]]] | None]:
        """Give the subclasses of all classes and the methods by name, as far as they were worked out."""
        return self._children, self._methods

    def remember(
        self,
        children: dict[tuple[str, int], list[tuple[str, int]]] | None,
        methods: dict[str, list[tuple[str, int]]] | None,
    ) -> None:
        """Take what `tables` gave for the same classes."""
        self._children, self._methods = children, methods

    # -- what is asked, for `meshlint.protocol.cone`: nothing is written down here --------------------------------

    def begin(self) -> Any:
        """Begin to write down apart."""

    def end(self, begun: Any) -> Any:
        """Go back to what was written before; give what was written since."""

    def used(self, reads: Any) -> None:
        """Write down that something worked out earlier was used."""

    def note(self, *question: Any) -> None:
        """Write one question down."""

    def questions(self) -> list[tuple[Any, ...]]:
        """Give every question that was written down, by number."""
        return []

    def quietly(self, question: tuple[Any, ...], compute: Callable[[], T]) -> T:
        """Write one question down, and nothing that is asked to answer it."""
        return compute()

    # -- modules -------------------------------------------------------------------------------------------------

    def module(self, dotted: str, beside: str) -> str:
        """Give the file of an absolute module name as seen from another file; empty where none is in scope."""
        candidates = self._suffixes.get(dotted)
        if not candidates:
            return ""
        here = beside.split("/")[:-1]
        single = "." not in dotted
        best, score = "", (-1, 0)
        for path in candidates:
            root = path.split("/")[: -_length(path, dotted)]
            shared = _shared(root, here)
            if shared == len(root):
                value = (1000 + shared, -len(root))
            elif single and not path.endswith("/__init__.py"):
                continue
            else:
                value = (shared, -len(root))
            if value > score:
                best, score = path, value
        return best

    def relative(self, beside: str, level: int, dotted: str) -> str:
        """Give the file of a relative import; empty where none is in scope."""
        folder = beside.split("/")[:-1]
        if level - 1 > len(folder):
            return ""
        base = folder[: len(folder) - (level - 1)]
        stem = "/".join([*base, *(dotted.split(".") if dotted else [])])
        for path in (f"{stem}.py", f"{stem}/__init__.py" if stem else "__init__.py"):
            if path in self.files:
                return path
        return ""

    def module_name(self, path: str) -> str:
        """Give the dotted name of a file, from the top of its tree."""
        known = self._module_names.get(path)
        if known is None:
            known = self._module_names[path] = ".".join(module_parts(path))
        return known

    # -- names ---------------------------------------------------------------------------------------------------

    def table(self, path: str) -> dict[str, tuple[str, object]]:
        """Give the module-level names of a file: name -> (what, where)."""
        known = self._tables.get(path)
        if known is not None:
            return known
        facts = self.files[path]
        table: dict[str, tuple[str, object]] = {}
        for name, value in facts.assigns:
            if name not in table or value != ("C", None):
                table[name] = ("var", value)
        for row in facts.imports:
            if row[0] != "*":
                table.setdefault(row[0], ("import", row))
                if table[row[0]][0] == "var" and table[row[0]][1] == ("C", None):
                    table[row[0]] = ("import", row)
        for definition in facts.definitions[1:]:
            if definition.parent == 0 and definition.owner < 0 and definition.name != "<lambda>":
                table[definition.name] = ("def", definition.index)
        for klass in facts.classes:
            if klass.parent == 0 and "." not in klass.qualname:
                table[klass.name] = ("class", klass.index)
        self._tables[path] = table
        return table

    def name(self, path: str, name: str) -> Target | None:
        """Resolve a module-level name of a file; None where the file does not bind it."""
        return self._circles.answer((path, name), lambda: self._name(path, name), None)

    def _name(self, path: str, name: str) -> Target | None:
        entry = self.table(path).get(name)
        full = f"{self.module_name(path)}.{name}"
        if entry is None:
            return self._star(path, name)
        what, where = entry
        if what == "def" and isinstance(where, int):
            return Target("def", full, path, where)
        if what == "class" and isinstance(where, int):
            return Target("class", full, path, where)
        if what == "import" and isinstance(where, tuple):
            return self.imported(path, where)
        if isinstance(where, tuple) and where[0] in ("N", "A") and where != ("N", name):
            alias = self.chain(path, where)
            if alias is not None:
                return alias
        return Target("var", full, path)

    def _star(self, path: str, name: str) -> Target | None:
        if name.startswith("_") or not self._starred(path) or name not in self._behind_stars(path):
            return None
        for file in self._starred(path):
            found = self.name(file, name)
            if found is not None:
                return found
        return None

    def _starred(self, path: str) -> tuple[str, ...]:
        """Give the files of which a file imports all names."""
        known = self._stars.get(path)
        if known is None:
            rows = [row for row in self.files[path].imports if row[0] == "*"][:MAX_STARS]
            files = dict.fromkeys(self._module_of(path, row[1], row[3]) for row in rows)
            known = self._stars[path] = tuple(file for file in files if file and file != path)
        return known

    def _behind_stars(self, path: str) -> set[str]:
        """Give the names that a file may have by star imports, those of its star imports included."""
        known = self._behind.get(path)
        if known is None:
            files: dict[str, None] = {}
            todo = list(self._starred(path))
            while todo:
                file = todo.pop()
                if file not in files:
                    files[file] = None
                    todo += self._starred(file)
            known = self._behind[path] = set().union(*map(self.table, files))
        return known

    def _module_of(self, path: str, module: str, level: int) -> str:
        return self.relative(path, level, module) if level else self.module(module, path)

    def imported(self, path: str, row: tuple[str, str, str, int]) -> Target:
        """Resolve one import row as seen from a file."""
        _, module, attribute, level = row
        if level and not module:
            file = self.relative(path, level, "")
            sub = self.relative(path, level, attribute)
        else:
            file = self._module_of(path, module, level)
            sub = ""
            if attribute:
                dotted = f"{module}.{attribute}"
                sub = self.relative(path, level, dotted) if level else self.module(dotted, path)
        if not attribute:
            return Target("module", module, file) if file else Target("library", module)
        if file:
            found = self.name(file, attribute)
            if found is not None:
                return found
        if sub:
            return Target("module", self.module_name(sub), sub)
        base = module
        if level:
            parts = module_parts(path)
            package = parts if path.endswith("__init__.py") else parts[:-1]
            base = ".".join([*package[: max(0, len(package) - level + 1)], *([module] if module else [])])
        return Target("library", f"{base}.{attribute}" if base else attribute)

    def attribute(self, target: Target, name: str) -> Target | None:
        """Resolve `target.name`."""
        if target.kind == "library":
            return Target("library", f"{target.name}.{name}")
        if target.kind == "module":
            found = self.name(target.path, name)
            if found is not None:
                return found
            stem = target.path.removesuffix("/__init__.py")
            for path in (f"{stem}/{name}.py", f"{stem}/{name}/__init__.py"):
                if path in self.files and target.path.endswith("__init__.py"):
                    return Target("module", self.module_name(path), path)
            beside = self.module(f"{target.name}.{name}", target.path)
            if beside:
                return Target("module", f"{target.name}.{name}", beside)
            return Target("library", f"{target.name}.{name}")
        if target.kind == "class":
            method = self.method((target.path, target.index), name)
            if method is not None:
                return Target("def", f"{target.name}.{name}", method[0], method[1])
        return None

    def chain(self, path: str, node: Node) -> Target | None:
        """Resolve a chain of names and attributes at module level."""
        if node[0] == "N":
            return self.name(path, node[1])
        if node[0] == "A":
            base = self.chain(path, node[1])
            return None if base is None else self.attribute(base, node[2])
        return None

    def given(self, target: Target) -> Target:
        """Give the function that a module-level variable is a partial of; else the variable itself."""
        name = target.name.rpartition(".")[2]
        made = [value for known, value in self.files[target.path].assigns if known == name]
        if len(made) != 1 or made[0][0] != "K" or not made[0][2] or not dotted(made[0][1]).endswith("partial"):
            return target
        return self.chain(target.path, made[0][2][0]) or target

    # -- classes -------------------------------------------------------------------------------------------------

    def definition(self, path: str, index: int) -> Definition:
        """Give a definition by its place."""
        return self.files[path].definitions[index]

    def nested(self, path: str) -> dict[str, list[tuple[int, int]]]:
        """Give the functions inside functions of a file: name -> (the one around it, the one itself)."""
        known = self._nested.get(path)
        if known is None:
            known = self._nested[path] = {}
            for definition in self.files[path].definitions[1:]:
                if definition.parent > 0 and definition.owner < 0:
                    known.setdefault(definition.name, []).append((definition.parent, definition.index))
        return known

    def named(self, path: str) -> list[int]:
        """Give the functions of a file but lambdas, in order of place."""
        known = self._named.get(path)
        if known is None:
            here = self.files[path].definitions[1:]
            known = self._named[path] = [one.index for one in here if one.name != "<lambda>"]
        return known

    def klass(self, key: tuple[str, int]) -> ClassFacts:
        """Give a class by its place."""
        return self.files[key[0]].classes[key[1]]

    def class_name(self, key: tuple[str, int]) -> str:
        """Give the full dotted name of a class."""
        return f"{self.module_name(key[0])}.{self.klass(key).qualname}"

    def mro(self, key: tuple[str, int]) -> tuple[tuple[str, int], ...]:
        """Give a class and its ancestors in scope, nearest first; those too far up are left out."""
        return self._circles.answer(("bases", key), lambda: self._mro(key), (key,))

    def _mro(self, key: tuple[str, int]) -> tuple[tuple[str, int], ...]:
        order: dict[tuple[str, int], None] = {key: None}
        for base in self.klass(key).bases:
            target = self.chain(key[0], base)
            if target is not None and target.kind == "class":
                for ancestor in self.mro((target.path, target.index))[:MAX_ANCESTRY]:
                    order.pop(ancestor, None)
                    order[ancestor] = None
        return tuple(order)

    def inherits(self, key: tuple[str, int]) -> tuple[str, ...]:
        """Give the names of the classes out of scope from which a class inherits, by their last word."""
        found: list[str] = []
        for ancestor in self.mro(key):
            for base in self.klass(ancestor).bases:
                target = self.chain(ancestor[0], base)
                if target is None or target.kind == "library":
                    found.append((dotted(base) if target is None else target.name).rpartition(".")[2])
        return tuple(found)

    def own_methods(self, key: tuple[str, int]) -> dict[str, int]:
        """Give the methods that a class defines itself, by name."""
        known = self._own_methods.get(key)
        held = self.klass(key).methods
        if known is None:
            known = self._own_methods[key] = dict(held)
        return known

    def method(self, key: tuple[str, int], name: str) -> tuple[str, int, tuple[str, int]] | None:
        """Give (path, definition, class that defines it) of a method by the receiver's class."""
        if not self._circles.idle:
            return self._method(key, name)
        asked = (key, name)
        if asked not in self._found:
            self._found[asked] = self._method(key, name)
        return self._found[asked]

    def _method(self, key: tuple[str, int], name: str) -> tuple[str, int, tuple[str, int]] | None:
        for ancestor in self.mro(key):
            index = self.own_methods(ancestor).get(name)
            if index is not None:
                return ancestor[0], index, ancestor
        return None

    def subclasses(self, key: tuple[str, int]) -> list[tuple[str, int]]:
        """Give all classes below a class, in order of place."""
        if self._children is None:
            self._children = {}
            for child in self.classes():
                for ancestor in self.mro(child)[1:]:
                    self._children.setdefault(ancestor, []).append(child)
        return self._children.get(key, [])

    def classes(self) -> Iterator[tuple[str, int]]:
        """Give every class in scope, in order of place."""
        for path in sorted(self.files):
            for klass in self.files[path].classes:
                yield (path, klass.index)

    def by_name(self, name: str) -> list[tuple[str, int]]:
        """Give the methods that bear a name, where they are few enough to be taken for an unknown receiver."""
        if name in _COMMON or len(name) < 6:
            return []
        if self._methods is None:
            self._methods = {}
            for path in sorted(self.files):
                for klass in self.files[path].classes:
                    for method, index in klass.methods:
                        self._methods.setdefault(method, []).append((path, index))
        found = self._methods.get(name, [])
        return found if len(found) <= MAX_WEAK else []

    def stores(self, key: tuple[str, int], attribute: str) -> list[tuple[str, int, Node]]:
        """Give every `self.attribute = value` of a class and its ancestors as (path, definition, value)."""
        return [
            (ancestor[0], index, value)
            for ancestor in self.mro(key)
            for name, index, value in self.klass(ancestor).stores
            if name == attribute
        ]

    def class_attribute(self, key: tuple[str, int], attribute: str) -> tuple[str, Node] | None:
        """Give the class-level value of an attribute, nearest class first."""
        for ancestor in self.mro(key):
            for name, value in self.klass(ancestor).attributes:
                if name == attribute:
                    return ancestor[0], value
        return None

    def annotation(self, key: tuple[str, int], attribute: str) -> tuple[str, Node] | None:
        """Give the annotation of an attribute, nearest class first."""
        for ancestor in self.mro(key):
            for name, value in self.klass(ancestor).annotations:
                if name == attribute:
                    return ancestor[0], value
        return None


def function_at(linker: Linker, path: str, line: int) -> Definition | None:
    """Give the innermost named function around a line; None outside of functions and of files in scope."""
    facts = linker.files.get(path)
    if facts is None:
        return None
    indices = linker.named(path)
    place = bisect_right(indices, line, key=lambda index: facts.definitions[index].line)
    here = indices[place - 1] if place else 0
    while here > 0:
        definition = facts.definitions[here]
        if line <= definition.end_line:
            return definition
        here = definition.parent
    return None


def module_parts(path: str) -> list[str]:
    """Split a path into the parts of its dotted name."""
    parts = path.removesuffix(".py").split("/")
    return parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts


def _length(path: str, dotted: str) -> int:
    return dotted.count(".") + 1 + (1 if path.endswith("/__init__.py") else 0)


def _shared(left: Iterable[str], right: Iterable[str]) -> int:
    count = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        count += 1
    return count
