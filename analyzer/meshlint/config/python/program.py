"""The modules of a tree: which file a dotted name is, parsed once each, and only those that somebody reaches."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import field
from pathlib import Path, PurePosixPath

from meshlint.config import installed
from meshlint.config.python.values import Val
from meshlint.config.surface import Context
from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.sources.python import Source, parse
from meshlint.sources.tree import Tree, Unreadable


@dataclass(slots=True, eq=False)
class Module:
    """A parsed file. `names` is its namespace once it was evaluated, `stars` the modules it star-imports."""

    path: str
    source: Source
    names: dict[str, Val] = field(default_factory=dict)
    stars: list[Val] = field(default_factory=list)
    state: str = ""
    """Empty, `running` or `done`."""


@dataclass(slots=True, eq=False)
class Program:
    """Every Python file that may take part, found by dotted name from whoever imports it."""

    tree: Tree
    files: tuple[str, ...]
    problems: list[tuple[Span, str]] = field(default_factory=list)
    beyond: Callable[[str], Path | None] = lambda _: None
    """Gives the installed file or folder of a dotted name that the tree does not have."""
    lacking: Callable[[str], str] = lambda name: f"{name} is not in what was read"
    """Says why the source of a distribution is not in reach."""
    recipes: dict[str, str] = field(default_factory=dict)
    """The file of each recipe by name, once somebody asked for one by its name."""
    _modules: dict[str, Module | None] = field(default_factory=dict)
    _paths: frozenset[str] = frozenset()
    _folders: frozenset[str] = frozenset()
    _by_tail: dict[str, list[str]] = field(default_factory=dict)
    _found: dict[tuple[str, str], str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Index the files by the last part of the name under which they can be imported."""
        paths = [path for path in self.files if path.endswith(".py")]
        self._paths = frozenset(paths)
        folders = {"."}
        for path in paths:
            folder, _, name = path.rpartition("/")
            tail = folder.rpartition("/")[2] if name == "__init__.py" else name.removesuffix(".py")
            self._by_tail.setdefault(tail, []).append(path)
            while folder and folder not in folders:
                folders.add(folder)
                folder = folder.rpartition("/")[0]
        self._folders = frozenset(folders)
        for folder in sorted(folders):
            if f"{folder}/__init__.py" not in self._paths:
                self._by_tail.setdefault(PurePosixPath(folder).name, []).append(folder)

    def text(self, path: str) -> str:
        """Give a file's text, to ask what it speaks of; also where its encoding keeps it from being parsed."""
        return self.tree.glance(path)

    def module(self, path: str) -> Module | None:
        """Give a file parsed, or None where it cannot be; why goes to `problems`."""
        if path not in self._modules:
            self._modules[path] = self._load(path)
        return self._modules[path]

    def find(self, dotted: str, importer: str) -> str | None:
        """Give the file, or the folder of a package without one, that a dotted name means to `importer`."""
        folder = str(PurePosixPath(importer).parent)
        key = (dotted, folder)
        if key not in self._found:
            self._found[key] = self._search(dotted, folder)
        return self._found[key]

    def relative(self, level: int, dotted: str, importer: str) -> str | None:
        """Give what `from ..dotted import` means to `importer`."""
        base = PurePosixPath(importer).parent
        for _ in range(level - 1):
            base = base.parent
        target = str(base.joinpath(*dotted.split("."))) if dotted else str(base)
        return self._at(target)

    def inside(self, package: str, name: str) -> str | None:
        """Give a module or package inside the package whose file or folder is `package`."""
        pure = PurePosixPath(package)
        folder = pure.parent if pure.name == "__init__.py" else pure
        return self._at(str(folder / name)) if not package.endswith(".py") or pure.name == "__init__.py" else None

    def in_package(self, path: str) -> bool:
        """Say whether a file is a module of a package rather than a script."""
        return str(PurePosixPath(path).parent / "__init__.py") in self._paths

    def _at(self, target: str) -> str | None:
        for path in (f"{target}.py", f"{target}/__init__.py"):
            if path in self._paths or (path.startswith("/") and self.tree.exists(path)):
                return path
        outside = target.startswith("/") and self.tree.is_folder(target)  # a part of a package without `__init__.py`
        return target if target in self._folders or outside else None

    def _search(self, dotted: str, folder: str) -> str | None:
        rest = dotted.replace(".", "/")
        near = self._at(rest if folder == "." else f"{folder}/{rest}")
        if near is not None and near.endswith(".py"):
            return near
        tail = dotted.rsplit(".", 1)[-1]
        found = [path for path in self._by_tail.get(tail, ()) if self._roots(path, rest)]
        if found:
            return min(found, key=lambda p: (not p.endswith(".py"), -_shared(p, folder), len(p), p))
        return near or self._installed(rest) or self._beyond(dotted)

    def _beyond(self, dotted: str) -> str | None:
        found = self.beyond(dotted)
        return str(found) if found is not None else None

    def _roots(self, path: str, rest: str) -> bool:
        """Say whether `path` is `rest` under a folder that is no package itself."""
        stem = path.removesuffix("/__init__.py") if path.endswith("/__init__.py") else path.removesuffix(".py")
        if stem != rest and not stem.endswith("/" + rest):
            return False
        root = stem[: len(stem) - len(rest)]
        return f"{root}__init__.py" not in self._paths

    def _installed(self, rest: str) -> str | None:
        for root in self.tree.roots:
            if root == self.tree.root or self.tree.root in root.parents:
                continue
            found = self._at(str(Path(root) / rest))
            if found is not None:
                return found
        return None

    def _load(self, path: str) -> Module | None:
        try:
            return Module(path, parse(self.tree.read(path)))
        except Unreadable as error:
            self.problems.append((Span(path, error.line, error.column), error.sentence))
            return None


def program_of(context: Context) -> Program:
    """Give the one program of a context."""
    known = context.shared.get("python")
    if not isinstance(known, Program):
        known = context.shared["python"] = Program(
            context.tree,
            context.files,
            beyond=lambda dotted: installed.locate(dotted, context),
            lacking=lambda name: installed.missing(name, context),
        )
    return known


def functions(tree: ast.Module) -> list[ast.FunctionDef]:
    """Give the functions at the top of a module, conditional ones included."""
    found: list[ast.FunctionDef] = []
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            found.append(statement)
        elif isinstance(statement, ast.If | ast.Try):
            found += [s for s in statement.body if isinstance(s, ast.FunctionDef)]
    return found


def _shared(path: str, folder: str) -> int:
    """Count the leading folders that two paths share."""
    count = 0
    for ours, theirs in zip(PurePosixPath(path).parts, PurePosixPath(folder).parts, strict=False):
        if ours != theirs:
            break
        count += 1
    return count
