"""Hydra's composition: a primary config, its defaults list, group choices, packages, and the overrides on top.

The order and the keys follow hydra-core 1.3 (`hydra/_internal/defaults_list.py`, `core/default_element.py`). A file
that cannot be found or read leaves a hole: its keys are unknown, everything else stands.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from meshlint.config.hydra.documents import Document, Entry, direct, load
from meshlint.config.hydra.flatten import Hole
from meshlint.config.hydra.grammar import NotParsed, Override
from meshlint.config.hydra.interpolation import merged, parse_template
from meshlint.config.hydra.items import EMPTY_SECTION, Marking, Section, embed
from meshlint.config.surface import Context
from meshlint.config.value import Kind, Origin, unknown
from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.sources.tree import Reader, Unreadable

MAX_CONFIGS = 300
"""Files of one composition; Hydra projects have some dozens."""
MAX_DEPTH = 30


@dataclass(frozen=True, slots=True)
class Folder:
    """One folder of the search path; `marking` says whose values its files hold."""

    path: str
    marking: Marking


@dataclass(frozen=True, slots=True)
class Choices:
    """What the command line chooses among groups: overrides by key, additions, deletions."""

    chosen: tuple[tuple[str, tuple[str, ...] | None], ...] = ()
    added: tuple[Entry, ...] = ()
    deleted: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Composition:
    """A merged config before the overrides of keys, the holes in it, and every file that took part."""

    root: Section = EMPTY_SECTION
    holes: tuple[Hole, ...] = ()
    files: frozenset[str] = frozenset()
    absent: tuple[str, ...] = ()
    """Files that are not in reach and whose content the framework's own table of defaults stands for."""
    chosen: tuple[tuple[str, str], ...] = ()
    """The choice of every group, overrides in defaults lists included."""


@dataclass(frozen=True, slots=True)
class _Node:
    """A file to include: its entry, where it stands, and the package of its parent."""

    entry: Entry
    name: str | None
    base: str
    parent: str
    header: str | None = None

    @property
    def group(self) -> str:
        """Give the folder of the file below the search path, as Hydra writes it."""
        own = self.entry.group if self.entry.group is not None else posixpath.dirname(self.path_text)
        if own.startswith("/"):
            return own[1:]
        return "/".join(p for p in (self.base, own) if p)

    @property
    def path_text(self) -> str:
        return self.name or ""

    @property
    def file(self) -> str:
        """Give the path of the file below the search path, without its ending."""
        leaf = posixpath.basename(self.path_text) if self.entry.group is None else self.path_text
        return "/".join(p for p in (self.group, leaf) if p)

    def package(self, *, header: bool = True) -> str:
        """Give the dotted place where the file's content goes."""
        package = self.entry.package
        if package is None and header:
            package = self.header
        if package is None:
            own = self.entry.group if self.entry.group is not None else posixpath.dirname(self.path_text)
            package = own.lstrip("/").replace("/", ".")
        if package == "_here_":
            package = ""
        if "_group_" in package:
            package = "_global_." + package.replace("_group_", self.group.replace("/", "."))
        full = ".".join(p for p in (self.parent, package) if p)
        place = full.rfind("_global_")
        return full if place < 0 else full[place + len("_global_") + 1 :]

    @property
    def key(self) -> str:
        """Give the key that overrides the group: `group`, or `group@package`."""
        plain, final = self.group.replace("/", "."), self.package(header=False)
        return self.group if plain == final else f"{self.group}@{final or '_global_'}"


class Composer:
    """Composes one primary config over a search path."""

    def __init__(
        self, folders: Sequence[Folder], reader: Reader, context: Context, standard: frozenset[str] = frozenset()
    ) -> None:
        self.folders = tuple(folders)
        self.reader = reader
        self.context = context
        self.standard = standard

    def has_group(self, key: str) -> bool:
        """Say whether a folder of the search path holds a config group of that name."""
        return any(self.reader.tree.is_folder(posixpath.normpath(posixpath.join(f.path, key))) for f in self.folders)

    def find(self, file: str) -> Document | None:
        """Read a config by its path below the search path; None where no folder has it. Raises Unreadable."""
        name = file if file.endswith((".yaml", ".yml")) else f"{file}.yaml"
        for folder in self.folders:
            path = posixpath.normpath(posixpath.join(folder.path, name))
            if self.reader.exists(path):
                return load(path, self.reader, self.context, folder.marking)
        return None

    def compose(self, primary: str, choices: Choices, place: Span) -> Composition:
        """Compose a primary config; `place` is where it is asked for."""
        run = _Run(self, choices)
        run.start(primary, place)
        return run.result()


@dataclass(slots=True)
class _Run:
    """One composition while it goes on."""

    composer: Composer
    choices: Choices
    overrides: dict[str, tuple[str, ...] | None] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)
    parts: list[tuple[Document, str]] = field(default_factory=list)
    holes: list[Hole] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    count: int = 0

    def start(self, primary: str, place: Span) -> None:
        self.overrides.update(self.choices.chosen)
        node = _Node(direct(primary, place), primary, "", "")
        self.parts = list(self.expand(node, 0, root=True))

    def result(self) -> Composition:
        root = EMPTY_SECTION
        for document, package in self.parts:
            root = merged(root, embed(document.body, package))
        entries = {name: item for name, item in root.entries.items() if name != "hydra"}
        files = frozenset(document.path for document, _ in self.parts)
        chosen = {key: names[0] for key, names in self.overrides.items() if names} | self.known
        return Composition(
            Section(entries, root.origin, settled=root.settled),
            tuple(self.holes),
            files,
            tuple(self.absent),
            tuple(sorted(chosen.items())),
        )

    def expand(self, node: _Node, depth: int, *, root: bool = False) -> list[tuple[Document, str]]:
        """Give the files that a node brings in, in the order in which they are merged."""
        self.count += 1
        if self.count > MAX_CONFIGS or depth > MAX_DEPTH:
            self.hole(node, "its defaults lists go round in a circle or name too many files")
            return []
        if node.name is None:
            return []
        if node.name == "???":
            self.hole(node, f"the config group {node.group} must be chosen at launch")
            return []
        document = self.load(node)
        if document is None:
            return []
        node = _Node(node.entry, node.name, node.base, node.parent, _absolute(document.package))
        if self.is_deleted(node):
            return []
        if node.entry.group is not None and node.name is not None:
            self.known.setdefault(node.key, node.name)
        return self.children(node, document, depth, root=root)

    def load(self, node: _Node) -> Document | None:
        try:
            document = self.composer.find(node.file)
        except Unreadable as problem:
            self.context_problem(problem)
            self.hole(node, f"{problem.path} cannot be read: {problem.sentence}")
            return None
        if document is None and node.file in self.composer.standard:
            self.absent.append(node.file)
        elif document is None and not node.entry.optional:
            self.hole(node, f"the config {node.file} is not found")
        return document

    def context_problem(self, problem: Unreadable) -> None:
        span = Span(problem.path, problem.line, problem.column)
        self.composer.context.problem(span, problem.sentence)

    def hole(self, node: _Node, reason: str) -> None:
        pattern = ".".join(p for p in (*node.package().split("."), "*") if p)
        self.holes.append(Hole(pattern, unknown(reason, Origin(Kind.WRITTEN, node.name or "", node.entry.span))))

    def is_deleted(self, node: _Node) -> bool:
        return node.entry.group is not None and any(
            key == node.key and name in (None, node.name) for key, name in self.choices.deleted
        )

    def children(self, node: _Node, document: Document, depth: int, *, root: bool) -> list[tuple[Document, str]]:
        entries = list(document.defaults or ())
        own = [(document, node.package())]
        if entries and not any(e.is_self for e in entries) and not all(e.override for e in entries):
            entries.append(direct("_self_", entries[-1].span))
        if root and self.choices.added:
            if not any(e.is_self for e in entries):
                entries.append(direct("_self_", node.entry.span))
            entries += self.choices.added
        self.register(node, entries)
        below = [e for e in entries if not e.override]
        if not below:
            return own
        found: list[list[tuple[Document, str]] | _Node] = []
        for entry in reversed(below):
            if entry.is_self:
                found.append(own)
                continue
            for child in reversed(list(self.nodes(entry, node))):
                found.append(child if "${" in (child.name or "") else self.expand(child, depth + 1))
        done = [self.deferred(f, depth) if isinstance(f, _Node) else f for f in found]
        return [part for parts in reversed(done) for part in parts]

    def register(self, node: _Node, entries: Iterable[Entry]) -> None:
        """Note the overrides of a defaults list; what is noted first wins, and that is the outermost."""
        for entry in entries:
            if entry.override and entry.group is not None:
                child = _Node(entry, None, node.group, node.package())
                self.overrides.setdefault(child.key, entry.names)

    def nodes(self, entry: Entry, parent: _Node) -> Iterator[_Node]:
        """Give the files that an entry names, its group's override applied."""
        names, several = entry.names, entry.several
        if entry.group is not None:
            key = _Node(entry, None, parent.group, parent.package()).key
            if key in self.overrides:
                names = self.overrides[key]
                several = names is not None and len(names) != 1
        if names is None:
            return
        if several and entry.group is not None:
            for name in names:
                one = Entry(None, entry.package, (f"{entry.group}/{name}",), entry.span, entry.optional)
                yield _Node(one, f"{entry.group}/{name}", parent.group, parent.package())
            return
        for name in names:
            yield _Node(entry, name, parent.group, parent.package())

    def deferred(self, node: _Node, depth: int) -> list[tuple[Document, str]]:
        """Expand a node whose name refers to other choices, once those are made."""
        name = self.interpolated(node.name or "")
        if name is None:
            self.hole(node, f"the choice `{node.name}` of a defaults list cannot be resolved")
            return []
        return self.expand(_Node(node.entry, name, node.base, node.parent), depth + 1)

    def interpolated(self, text: str) -> str | None:
        try:
            template = parse_template(text)
        except NotParsed:
            return None
        parts = []
        for part in template:
            if isinstance(part, str):
                parts.append(part)
                continue
            keys = getattr(part, "keys", None)
            plain = [k[0] for k in keys if len(k) == 1 and isinstance(k[0], str)] if keys else []
            chosen = self.known.get(".".join(plain)) or self.known.get("/".join(plain))
            if chosen is None:
                return None
            parts.append(chosen)
        return "".join(parts)


def _absolute(header: str | None) -> str | None:
    """Give a package header the absolute form in which Hydra reads it."""
    if header is None or header.startswith("_global_"):
        return header
    return f"_global_.{header}"


def choices_of(composer: Composer, overrides: Iterable[tuple[Override, Span]]) -> tuple[Choices, list[int]]:
    """Split overrides into choices of groups and, by index, overrides of keys."""
    chosen: dict[str, tuple[str, ...] | None] = {}
    added: list[Entry] = []
    deleted: list[tuple[str, str | None]] = []
    keys: list[int] = []
    for index, (override, span) in enumerate(overrides):
        if override.reason or not _chooses(composer, override):
            keys.append(index)
            continue
        names = _names(override)
        if override.action.value == "delete":
            deleted.append((override.group_key, names[0] if names else None))
        elif override.action.value == "add":
            several = isinstance(override.value, tuple)
            added.append(Entry(override.key, override.package, names, span, several=several, external=True))
        else:
            chosen[override.group_key] = names
    return Choices(tuple(chosen.items()), tuple(added), tuple(deleted)), keys


def _chooses(composer: Composer, override: Override) -> bool:
    value = override.value
    fits = (
        value is None or isinstance(value, str) or (isinstance(value, tuple) and all(isinstance(v, str) for v in value))
    )
    return fits and "." not in override.key and composer.has_group(override.key)


def _names(override: Override) -> tuple[str, ...] | None:
    value = override.value
    if value is None or value == "null":
        return None
    return tuple(str(v) for v in value) if isinstance(value, tuple) else (str(value),)
