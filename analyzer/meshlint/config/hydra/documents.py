"""The YAML files of a composition: body, `@package` header and defaults list, each read once for a whole run."""

from __future__ import annotations

from collections.abc import Iterable

from meshlint.config.hydra.items import EMPTY_SECTION, Marking, Repeated, Section, built
from meshlint.config.launch import Write
from meshlint.config.surface import Context
from meshlint.config.value import Kind, Origin, unknown
from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.sources.tree import Reader, Text, Unreadable
from meshlint.sources.yaml import Node, parse

MAX_ENTRIES = 200
"""Entries of one defaults list."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a defaults list. `names` are the chosen files (several for a list), None where it is null.

    `group` is None for an entry that names a file directly; then `names` holds that path.
    """

    group: str | None
    package: str | None
    names: tuple[str, ...] | None
    span: Span
    optional: bool = False
    override: bool = False
    several: bool = False
    external: bool = False

    @property
    def is_self(self) -> bool:
        """Say whether it stands for the file's own content."""
        return self.group is None and self.names == ("_self_",)


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A YAML file with a mapping at its top; `defaults` is None where it has no list of them."""

    path: str
    body: Section = EMPTY_SECTION
    package: str | None = None
    defaults: tuple[Entry, ...] | None = None
    bases: tuple[tuple[str, Span], ...] = ()
    """What `defaults` names, in whatever form, as text: for frameworks that inherit by path."""
    bases_only: bool = True
    """Every entry of `defaults` is a plain text, as where files inherit by path."""
    documents: int = 1
    repeated: tuple[Repeated, ...] = ()


def load(path: str, reader: Reader, context: Context, marking: Marking) -> Document:
    """Read a file, from the run's memory where it is known; raises Unreadable."""
    text = reader.read(path)
    memory = _memory(context)
    key = (text.path, marking)
    known = memory.get(key)
    if known is None:
        try:
            known = _document(text, marking)
        except Unreadable as problem:
            known = problem
        memory[key] = known
    if isinstance(known, Unreadable):
        raise known
    return known


def repeated(files: Iterable[str], context: Context) -> tuple[Write, ...]:
    """Give two writes for each key that one mapping of these files holds twice, the second marked so.

    They hold no value of a field, and stand in front of all others.
    """
    wanted = frozenset(files)
    read = [(path, document) for (path, _), document in _memory(context).items() if path in wanted]
    found: list[Write] = []
    for path, document in sorted(read, key=lambda one: one[0]):
        for name, first, second in document.repeated if isinstance(document, Document) else ():
            values = [unknown("it stands twice", Origin(Kind.WRITTEN, name, span, path)) for span in (first, second)]
            found += [Write(name, values[0]), Write(name, values[1], same_place=True)]
    return tuple(dict.fromkeys(found))


def _memory(context: Context) -> dict[tuple[str, Marking], Document | Unreadable]:
    memory = context.shared.setdefault("hydra documents", {})
    assert isinstance(memory, dict)
    return memory


def _document(text: Text, marking: Marking) -> Document:
    nodes = parse(text)
    if not nodes:
        return Document(text.path, package=_package(text.text), documents=0)
    top = nodes[0]
    if top.kind == "scalar" and top.data is None:
        return Document(text.path, package=_package(text.text))
    if top.kind != "mapping":
        raise Unreadable(text.path, "it holds no mapping at its top", top.span.line, top.span.column)
    body, repeated = built(top, marking)
    listed = top.get("defaults")
    entries = {name: item for name, item in body.entries.items() if name != "defaults"}
    rest = Section(entries, body.origin, settled=body.settled)
    paths = bases(listed)
    plain = listed is None or listed.kind != "sequence" or len(paths) == len(listed.items)
    return Document(text.path, rest, _package(text.text), _defaults(listed), paths, plain, len(nodes), repeated)


def _package(text: str) -> str | None:
    """Find `# @package NAME` among the comments at the top of a file."""
    for line in text.split("\n", 50)[:50]:
        bare = line.strip()
        if not bare:
            continue
        if not bare.startswith("#"):
            return None
        words = bare[1:].split()
        if len(words) >= 2 and words[0] == "@package":
            return words[1]
    return None


def bases(node: Node | None) -> tuple[tuple[str, Span], ...]:
    """Give the paths of `defaults: base.yaml` or a list of them."""
    if node is None or (node.data is None and node.kind == "scalar"):
        return ()
    nodes = node.items if node.kind == "sequence" else (node,)
    return tuple((str(n.data), n.span) for n in nodes[:MAX_ENTRIES] if n.kind == "scalar")


def _defaults(node: Node | None) -> tuple[Entry, ...] | None:
    if node is None or node.kind != "sequence":
        return None
    entries = (entry(n) for n in node.items[:MAX_ENTRIES])
    return tuple(e for e in entries if e is not None)


def entry(node: Node) -> Entry | None:
    """Read one entry of a defaults list; None where it is none."""
    if node.kind == "scalar":
        return direct(str(node.data), node.span)
    if node.kind != "mapping" or not node.entries:
        return None
    key, value = node.entries[0]
    if value.kind == "sequence":
        names: tuple[str, ...] | None = tuple(str(n.data) for n in value.items if n.kind == "scalar")
    elif value.kind == "scalar":
        names = None if value.data is None else (value.text,)
    else:
        return None
    return grouped(key.text, names, node.span, several=value.kind == "sequence")


def direct(text: str, span: Span) -> Entry:
    """Read an entry that names a file: `[optional] path[@package]`."""
    words = text.split()
    optional = len(words) > 1 and words[0] == "optional"
    path, at, package = words[-1].partition("@") if words else ("", "", "")
    return Entry(None, package if at else None, (path,), span, optional)


def grouped(key: str, names: tuple[str, ...] | None, span: Span, *, several: bool = False) -> Entry:
    """Read an entry of a group: `[optional] [override] group[@package]: names`."""
    words = key.split()
    group, at, package = words[-1].partition("@") if words else ("", "", "")
    flags = words[:-1]
    return Entry(
        group,
        package if at else None,
        names,
        span,
        optional="optional" in flags,
        override="override" in flags,
        several=several,
    )
