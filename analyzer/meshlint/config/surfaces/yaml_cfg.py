"""Megatron-LM's `--yaml-cfg` files: sections `language_model` and `model_parallel` beside plain keys.

A command with `--yaml-cfg X.yaml` takes everything from the file: the namespace that is loaded from it replaces the
parsed command line (core_v0.16.1 megatron/training/arguments.py:105-109), and a key that is missing is an
AttributeError, so no default stands in for it. `validate_yaml` merges both sections into the top level at its end
(yaml_arguments.py:313-314). Keys are names of dataclass fields and of arguments, which the megatron-lm table spells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from meshlint.config.launch import Write
from meshlint.config.value import Data, Kind, Origin, Value, unknown, written
from meshlint.sources.tree import Reader, Text, Unreadable

if TYPE_CHECKING:
    from meshlint.sources.yaml import Node

NAME = "yaml-cfg"
SECTIONS = ("model_parallel", "language_model")
"""Sections that are merged into the top level, in this order."""
FLAG = "yaml_cfg"
"""The key that marks a launch as one whose arguments `validate_args` never sees."""


def yaml_cfg_writes(text: Text) -> list[Write]:
    """Give the writes of a `--yaml-cfg` file, plain keys first, then both sections; they replace the command line's.

    The first write is `yaml_cfg` itself, the file's path. Raises Unreadable where the file is no YAML.
    """
    from meshlint.sources.yaml import parse

    documents = parse(text)
    writes = [Write(FLAG, written(text.path, Origin(Kind.WRITTEN, text=text.path, surface=NAME)))]
    for root in documents[:1]:
        writes += _plain(root)
        for section in SECTIONS:
            node = root.get(section)
            writes += _plain(node) if node is not None else ()
    return writes


def writes_of_file(path: Value, folders: Iterable[str], reader: Reader) -> tuple[Write, ...]:
    """Give the writes of the file that `--yaml-cfg` names, looked for in each folder; unknown where it is not found."""
    reason = path.reason or "no file is named"
    for folder in folders if isinstance(path.data, str) else ():
        try:
            return tuple(yaml_cfg_writes(reader.read(path.data, beside=f"{folder}/." if folder else "")))
        except Unreadable as trouble:
            reason = trouble.sentence
    marked = written(path.data, *(path.origins or (Origin(Kind.WRITTEN, surface=NAME),)))
    everything = unknown(f"the --yaml-cfg file gives it, and cannot be read: {reason}", *path.origins)
    return (Write(FLAG, marked), Write("*", everything))


def _plain(mapping: Node) -> Iterator[Write]:
    seen: set[str] = set()
    for name, _, node in mapping.pairs():
        if node.kind != "mapping":
            yield Write(name, _value(node), same_place=name in seen)
            seen.add(name)


def _value(node: Node) -> Value:
    origin = Origin(Kind.WRITTEN, text=node.text, span=node.span, surface=NAME)
    if node.kind == "scalar" and "${" in node.text:
        return unknown("an environment variable of the launch gives it", origin)
    return written(_data(node), origin)


def _data(node: Node) -> Data:
    return tuple(_data(item) for item in node.items) if node.kind == "sequence" else node.data
