"""NeMo-RL's inheritance: `defaults: base.yaml`, or a list, relative to the file; the child's values win.

As `nemo_rl/utils/config.py` does it (NeMo-RL v0.4): depth first, later bases over earlier ones, and a top-level
section marked `_override_: true` replaces the base's section instead of joining it.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from meshlint.config.hydra.documents import load
from meshlint.config.hydra.flatten import Hole
from meshlint.config.hydra.interpolation import merged
from meshlint.config.hydra.items import EMPTY_SECTION, Leaf, Marking, Section, section
from meshlint.config.surface import Context
from meshlint.config.value import Kind, Origin, unknown
from meshlint.place import Span
from meshlint.sources.tree import Reader, Unreadable

MAX_DEPTH = 20
MAX_BASES = 50
MARK = "_override_"


@dataclass(frozen=True, slots=True)
class Inherited:
    """A file merged with its bases: the tree, the holes that unreadable bases leave, and the files that took part."""

    root: Section = EMPTY_SECTION
    holes: tuple[Hole, ...] = ()
    files: frozenset[str] = frozenset()


def inherit(path: str, reader: Reader, context: Context, marking: Marking, chain: tuple[str, ...] = ()) -> Inherited:
    """Read a file and its bases, from the run's memory where they are known; raises Unreadable for the file itself."""
    memory = context.shared.setdefault("inherited configs", {})
    assert isinstance(memory, dict)
    known = memory.get((path, marking))
    if known is None:
        known = _inherit(path, reader, context, marking, chain)
        if not _goes_round(known):
            memory[(path, marking)] = known
    assert isinstance(known, Inherited)
    reader.seen.update(known.files)
    return known


def _inherit(path: str, reader: Reader, context: Context, marking: Marking, chain: tuple[str, ...]) -> Inherited:
    document = load(path, reader, context, marking)
    root, holes, files = EMPTY_SECTION, list[Hole](), {document.path}
    for base, span in document.bases[:MAX_BASES]:
        found = _base(base, span, document.path, reader, context, marking, chain)
        root = _over(root, found.root)
        holes += found.holes
        files |= found.files
    return Inherited(_over(root, document.body), tuple(holes), frozenset(files))


def _base(
    base: str, span: Span, path: str, reader: Reader, context: Context, marking: Marking, chain: tuple[str, ...]
) -> Inherited:
    here = (*chain, path)
    wanted = base if posixpath.isabs(base) else posixpath.normpath(posixpath.join(posixpath.dirname(path), base))
    if wanted in here or len(here) > MAX_DEPTH:
        context.problem(span, f"{ROUND}: {base}")
        return _missing(f"{ROUND} at {span}", base, span)
    try:
        return inherit(wanted, reader, context, marking, here)
    except Unreadable as problem:
        context.problem(span, f"the base {base} cannot be read: {problem.sentence}")
        return _missing(f"the base {base} cannot be read: {problem.sentence}", base, span)


ROUND = "the bases go round in a circle or are too many"


def _goes_round(found: Inherited) -> bool:
    return any(hole.value.reason.startswith(ROUND) for hole in found.holes)


def _missing(reason: str, base: str, span: Span) -> Inherited:
    return Inherited(holes=(Hole("*", unknown(reason, Origin(Kind.WRITTEN, base, span))),))


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
