"""NeMo-RL's inheritance: `defaults: base.yaml`, or a list, relative to the file; the child's values win.

As `nemo_rl/utils/config.py` does it (NeMo-RL v0.4): depth first, later bases over earlier ones, and a top-level
section marked `_override_: true` replaces the base's section instead of joining it.
"""

from __future__ import annotations

import posixpath

from meshlint.config.hydra.documents import load
from meshlint.config.hydra.flatten import Hole
from meshlint.config.hydra.interpolation import merged
from meshlint.config.hydra.items import EMPTY_SECTION, Leaf, Marking, Section, section
from meshlint.config.surface import Context, Problem
from meshlint.config.value import Kind, Origin, unknown
from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.sources.tree import Reader, Unreadable

MAX_DEPTH = 20
MAX_BASES = 50
MAX_READ = 30
"""Bases that one file may have in all: where they go round in a circle, every way through it is another."""
MARK = "_override_"


@dataclass(frozen=True, slots=True)
class Inherited:
    """A file merged with its bases: the tree, what unreadable bases leave open, and the files that took part."""

    root: Section = EMPTY_SECTION
    holes: tuple[Hole, ...] = ()
    files: frozenset[str] = frozenset()
    problems: tuple[Problem, ...] = ()


def inherit(path: str, reader: Reader, context: Context, marking: Marking, chain: tuple[str, ...] = ()) -> Inherited:
    """Read a file and its bases, from the run's memory where they are known; raises Unreadable for the file itself."""
    memory = context.shared.setdefault("inherited configs", {})
    assert isinstance(memory, dict)
    known = memory.get((path, marking))
    if known is None:
        count = memory["read"] = memory.get("read", 0) + 1 if chain else 0
        if count > MAX_READ:
            raise Unreadable(path, ROUND)
        known = _inherit(path, reader, context, marking, chain)
        if not _goes_round(known):
            memory[(path, marking)] = known
    assert isinstance(known, Inherited)
    reader.seen.update(known.files)
    return known


def _inherit(path: str, reader: Reader, context: Context, marking: Marking, chain: tuple[str, ...]) -> Inherited:
    document = load(path, reader, context, marking)
    root, holes, files, problems = EMPTY_SECTION, list[Hole](), {document.path}, list[Problem]()
    for base, span in document.bases[:MAX_BASES]:
        found = _base(base, span, document.path, reader, context, marking, chain)
        root = _over(root, found.root)
        holes += found.holes
        files |= found.files
        problems += found.problems
    return Inherited(_over(root, document.body), tuple(holes), frozenset(files), tuple(problems))


def _base(
    base: str, span: Span, path: str, reader: Reader, context: Context, marking: Marking, chain: tuple[str, ...]
) -> Inherited:
    here = (*chain, path)
    wanted = base if posixpath.isabs(base) else posixpath.normpath(posixpath.join(posixpath.dirname(path), base))
    if wanted in here or len(here) > MAX_DEPTH:
        return _missing(f"{ROUND}: {base}", base, span)
    try:
        return inherit(wanted, reader, context, marking, here)
    except Unreadable as problem:
        reason = f"the base {base} cannot be read: {problem.sentence}"
        return _missing(f"{ROUND}: {base}" if problem.sentence == ROUND else reason, base, span)


ROUND = "the bases go round in a circle or are too many"


def _goes_round(found: Inherited) -> bool:
    return any(hole.value.reason.startswith(ROUND) for hole in found.holes)


def _missing(reason: str, base: str, span: Span) -> Inherited:
    hole = Hole("*", unknown(reason, Origin(Kind.WRITTEN, base, span)))
    told = f"{reason}; what it would set counts as unknown"
    return Inherited(
        holes=(hole,), problems=(Problem(span, told, bound=True, fix="Correct the name, or add the file."),)
    )


def _over(base: Section, over: Section) -> Section:
    """Merge a file over its bases, sections marked to replace taken whole."""
    replaced = {name for name, item in over.entries.items() if isinstance(item, Section) and _marked(item)}
    if not replaced:
        return merged(base, over)
    kept = {name: item for name, item in base.entries.items() if name not in replaced}
    entries = {name: _unmarked(item) if name in replaced else item for name, item in over.entries.items()}
    return merged(section(kept, base.origin), section(entries, over.origin))


def _marked(item: Section) -> bool:
    mark = item.entries.get(MARK)
    return isinstance(mark, Leaf) and bool(mark.value.data)


def _unmarked(item: object) -> Section:
    assert isinstance(item, Section)
    return section({name: below for name, below in item.entries.items() if name != MARK}, item.origin)
