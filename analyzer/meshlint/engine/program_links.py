"""Who calls whom, kept between runs: what a definition may call holds as long as names mean what they meant.

What a file's calls come to depends on its own text and on the names of other files, never on their bodies. A file that
changed is read again. If it has the names that it had, and every function it has besides bears a name that no other
file writes, then all other files call what they called. Anything else (a file more or less, a class that changed, an
import) has all of them worked out anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b

from meshlint.engine.program_facts import Facts
from meshlint.protocol.facts import FileFacts
from meshlint.protocol.summary import Edge

Outline = tuple[bytes, tuple[tuple[str, int, int], ...]]
"""A hash of imports, assignments and classes; and the name, the parent and the class of each definition."""

Link = tuple[Outline, tuple[Edge, ...]]
"""The names of a file, and what its definitions may call."""

MAX_CHANGED = 32
"""Files that changed beyond which all is worked out anew."""


def holding(links: Mapping[str, Link], digests: Mapping[str, str], facts: Facts) -> dict[str, tuple[Edge, ...]]:
    """Give what still holds; `digests` are the hashes of the texts that the links were made from."""
    if links.keys() != facts.rows.keys() or digests.keys() != links.keys():
        return {}
    changed = [path for path, row in facts.rows.items() if digests[path] != row[1]]
    if len(changed) > MAX_CHANGED:
        return {}
    names: set[str] = set()
    for path in changed:
        more = _more(links[path][0], outline(facts[path]))
        if more is None:
            return {}
        names |= more
    if _written(names, [row[2] for path, row in facts.rows.items() if path not in changed]):
        return {}
    return {path: rows for path, (_, rows) in links.items() if path not in changed}


def links_of(
    edges: Mapping[str, tuple[Edge, ...]], links: Mapping[str, Link], digests: Mapping[str, str], facts: Facts
) -> dict[str, Link]:
    """Give the links of a run; the outline of a file that did not change is as it was."""
    found: dict[str, Link] = {}
    for path, rows in edges.items():
        same = path in links and digests.get(path) == facts.rows[path][1]
        found[path] = (links[path][0] if same else outline(facts[path]), rows)
    return found


def outline(facts: FileFacts) -> Outline:
    """Give what other files can know of a file by names."""
    classes = [(c.name, c.qualname, c.parent, c.bases, c.methods) for c in facts.classes]
    text = repr((facts.imports, facts.assigns, classes))
    named = tuple((d.name, d.parent, d.owner) for d in facts.definitions)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest(), named


def _more(old: Outline, new: Outline) -> set[str] | None:
    """Give the names that a file has besides the old ones; None where old ones changed or moved."""
    if old[0] != new[0] or new[1][: len(old[1])] != old[1]:
        return None
    return {name for name, parent, _ in new[1][len(old[1]) :] if parent == 0 and name != "<lambda>"}


def _written(names: set[str], blobs: Iterable[bytes]) -> bool:
    """Say whether a name may be written in other files: those that are not plain count as written."""
    if not names:
        return False
    if not all(name.isascii() for name in names):
        return True
    words = [name.encode("ascii") for name in names]
    return any(word in blob for blob in blobs for word in words)


__all__ = ["Link", "Outline", "holding", "links_of", "outline"]
