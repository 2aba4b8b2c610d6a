"""What the text of a function shows about data that differs between ranks.

A file, a size or a list may be alike everywhere. It is known to differ where the function itself writes the file that
it asks for, or gathers the very size that it tests: nobody does so for what is alike.
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.protocol.facts import Node, calls, dotted

_WRITES = frozenset(
    """save savez savez_compressed dump write_text write_bytes save_to_disk to_json to_csv to_parquet to_file tofile
    save_pretrained save_file makedirs mkdir touch copy copyfile copytree move rename replace symlink
    """.split()  # noqa: SIM905
)
"""Calls that make a file at a path that they are given, or that they are a method of."""

_FOLDERS = frozenset(("makedirs", "mkdir"))
"""Those of them that make a folder and nothing else: what asks for a file does not find it."""

_PUTS = frozenset(("copy", "copyfile", "copytree", "move", "rename", "replace", "symlink"))
"""Those that make a file of another: at the path that comes last."""

_TOGETHER = ("reduce", "gather", "broadcast", "barrier", "scatter", "all_to_all", "wait_for_everyone", "synchronize")
"""Words of calls behind which every rank has asked before a file is written."""

_GATHERS = frozenset(
    ("gather", "all_gather", "all_gather_object", "all_gather_into_tensor", "gather_for_metrics", "gather_object")
)

_SELECTS = frozenset(("nonzero", "masked_select", "unique", "argwhere", "unique_consecutive"))
"""Functions of a tensor whose result is as long as the data says."""


def written_later(body: tuple[Node, ...], path: Node, line: int, asked: str) -> bool:
    """Say whether code below a line writes what a path names, before all ranks have met.

    `asked` is the text of the call by which it is asked for: a file, a folder, or either.
    """
    if path[0] not in ("N", "A"):
        return False
    file_only = asked.rpartition(".")[2] in ("isfile", "is_file")
    for call in sorted(calls(body), key=lambda node: (node[4], node[5])):
        if call[4] <= line:
            continue
        last = dotted(call[1]).rpartition(".")[2]
        if _writes(call, last, path) and not (file_only and last in _FOLDERS):
            return True
        if any(word in last for word in _TOGETHER):
            return False
    return False


def _writes(call: Node, last: str, path: Node) -> bool:
    given = (*call[2], *(value for _, value in call[3]))
    if last == "open":
        modes = [value[1] for value in given if value[0] == "C" and isinstance(value[1], str)]
        opened = path in given or (call[1][0] == "A" and call[1][1] == path)
        return opened and any(mode[:1] in ("w", "a", "x") for mode in modes)
    if last not in _WRITES:
        return False
    if last in _PUTS:
        return path in (*call[2][-1:], *(value for name, value in call[3] if name in ("dst", "target")))
    return path in given or (call[1][0] == "A" and call[1][1] == path)


def counted_by_all(body: tuple[Node, ...], name: str) -> bool:
    """Say whether a function gathers the size of what a name holds."""
    found = [call for call in calls(body) if dotted(call[1]).rpartition(".")[2] in _GATHERS]
    names = {name}
    return any(_counts(value, names) or _holds_count(body, value, names) for call in found for value in call[2])


def _holds_count(body: tuple[Node, ...], value: Node, names: set[str]) -> bool:
    return value[0] == "N" and any(_counts(made, names) for made in _made(body, value[1]))


def _made(body: tuple[Node, ...], name: str) -> Iterator[Node]:
    for node in body:
        if node[0] == "assign" and ("N", name) in node[2]:
            yield node[3]
        for part in node:
            if isinstance(part, tuple) and part and isinstance(part[0], tuple):
                yield from _made(part, name)


def _counts(node: object, names: set[str]) -> bool:
    """Say whether an expression holds the size of what one of some names holds."""
    if not isinstance(node, tuple) or not node:
        return False
    if node[0] == "K" and len(node) == 8:
        method = node[1][0] == "A" and node[1][2] in ("numel", "size") and node[1][1][0] == "N"
        if method and node[1][1][1] in names:
            return True
        if node[1] == ("N", "len") and node[2] and node[2][0][0] == "N" and node[2][0][1] in names:
            return True
    return any(_counts(part, names) for part in node)


def selects(index: Node) -> bool:
    """Say whether an index is a mask: what it selects is as long as the data says."""
    if index[0] == "Q":
        return True
    if index[0] == "K":
        return bool(index[1][0] == "A" and index[1][2] == "bool" and not index[2])
    return bool(index[0] == "N" and index[1].endswith("mask"))


def selecting(last: str) -> bool:
    """Say whether a function gives as many elements as the data says."""
    return last in _SELECTS
