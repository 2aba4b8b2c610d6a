"""NeMo-RL's YAML: `policy`, `cluster` and an algorithm, most of it inherited from bases by `defaults:`.

A file that others inherit from gives way to them, unless it is launched as it is: a person names it, a program takes
it by default (`run_grpo.py` without `--config`), a script or a page of the documentation names it behind `--config`, or
the test suite has a script of its name. The examples and recipes are started as `--config FILE`, so a file that nobody
inherits from is a launch.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Iterator
from dataclasses import field
from itertools import pairwise

from meshlint.config.commands.nemo_rl import (
    ALGORITHMS,
    MARKING,
    NAME,
    default_config,
    initial_variables,
    is_runner,
    launch_of,
    settings_of,
)
from meshlint.config.hydra.documents import bases, load
from meshlint.config.hydra.inherit import Inherited, inherit
from meshlint.config.hydra.items import Section
from meshlint.config.launch import Launch
from meshlint.config.surface import Context
from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.sources.discover import SCRIPTS
from meshlint.sources.tree import Text, Unreadable
from meshlint.sources.yaml import parse

_ENDINGS = (".yaml", ".yml")
PAGES = (".md", ".rst")
"""Documentation, whose commands name configs too."""


@dataclass(slots=True)
class Family:
    """Which files of the tree inherit from which, and which are launched as they are, by path as shown."""

    context: Context
    children: dict[str, list[str]] = field(default_factory=dict)
    _started: frozenset[str] | None = None

    def is_started(self, path: str) -> bool:
        """Say whether a base is started as it is; the tree is searched for that once, when a base is asked about."""
        if self._started is None:
            self._started = frozenset(_started(self.context, self.children.keys()))
        return path in self._started

    def launched(self, path: str) -> list[str]:
        """Give the files on the line that descends from a file that are launches: its ends, and what is started."""
        found: dict[str, None] = {}
        seen = {path}
        stack = [path]
        while stack:
            here = stack.pop()
            below = [child for child in self.children.get(here, ()) if child not in seen]
            if not self.children.get(here) or self.is_started(here):
                found[here] = None
            seen.update(below)
            stack += reversed(below)
        return list(found) or [path]  # a ring has no end: each file of it is read, to say so


class NemoRlYaml:
    """Merges a file with its bases and reads the launch that it is."""

    name = "nemo-rl-yaml"

    def claims(self, path: str) -> bool:
        """Claim YAML files."""
        return path.endswith(_ENDINGS)

    def entries(self, paths: Iterable[str], context: Context) -> Iterable[str]:
        """Give the files that nobody inherits from or that are started; for a base those that descend from it.

        A file that a person names is among them even so.
        """
        wanted = [path for path in paths if _may_be(path, context)]
        if not wanted:
            return []
        family = _family(context)
        named = [path for path in wanted if path in context.named]
        leaves = dict.fromkeys((*named, *(leaf for path in wanted for leaf in family.launched(path))))
        return [leaf for leaf in leaves if _inherits_files(leaf, context) and _is_launch(_merged(leaf, context))]

    def launches(self, path: str, context: Context) -> Iterator[Launch]:
        """Give the one launch of a file."""
        reader = context.reader()
        try:
            inherited = inherit(path, reader, context, MARKING)
        except Unreadable as problem:
            context.problem(Span(problem.path, problem.line, problem.column), problem.sentence)
            return
        context.problems += inherited.problems
        merged = settings_of(inherited, (), context, context.environment)
        frame = Launch(
            framework=NAME,
            entry=_algorithm(inherited.root),
            surface=self.name,
            identity=path,
            place=Span(path, 1),
            reads=frozenset(reader.seen),
        )
        yield launch_of(merged, frame)


SURFACE = NemoRlYaml()


def _algorithm(root: Section) -> str:
    return next((name for name in ALGORITHMS if isinstance(root.entries.get(name), Section)), "train")


def _may_be(path: str, context: Context) -> bool:
    """Say by the text alone whether a file could be of this form: a policy, a cluster, or bases."""
    try:
        text = f"\n{context.tree.read(path).text}"
    except Unreadable:
        return False
    return any(f"\n{key}:" in text for key in ("policy", "defaults", "cluster"))


def _family(context: Context) -> Family:
    """Find out once for the whole tree who inherits from whom."""
    family = context.shared.get("nemo-rl family")
    if isinstance(family, Family):
        return family
    family = Family(context)
    for path in context.holding(("defaults:",), _ENDINGS):
        for base in _bases(path, context):
            family.children.setdefault(base, []).append(path)
    context.shared["nemo-rl family"] = family
    return family


def _started(context: Context, bases: Collection[str]) -> Iterator[str]:
    """Give the bases that a program takes by default, those named behind `--config`, and those of the test suite."""
    reader = context.reader()
    names = {posixpath.basename(path) for path in bases}
    for path in context.files:
        if path.endswith(".py") and is_runner(posixpath.basename(path).removesuffix(".py")):
            default = default_config(path, reader)
            if default is not None and default in bases:
                yield default
        elif path.endswith(SCRIPTS):
            own = initial_variables(path).get("CONFIG_PATH", "")
            if own in bases:
                yield own
    for path in context.holding(("--config",), (*SCRIPTS, *PAGES)):
        yield from _named(path, bases, names, context)


def _named(path: str, bases: Collection[str], names: Collection[str], context: Context) -> Iterator[str]:
    """Give the bases whose path stands behind `--config` in a text, as it is or below a folder of a variable."""
    try:
        text = context.tree.read(path).text
    except Unreadable:
        return
    for option, word in pairwise(text.replace("=", " ").split()):
        wanted = word.strip("\"'")
        if option != "--config" or posixpath.basename(wanted) not in names:
            continue
        tail = wanted.rpartition("$")[2].partition("/")[2] if "$" in wanted else wanted
        yield from (base for base in bases if f"/{base}".endswith(f"/{tail}"))


def _bases(path: str, context: Context) -> list[str]:
    """Give the files that a file's `defaults` name, by that block alone: the whole tree is asked for one file."""
    try:
        source = context.tree.read(path)
        block = _block(source.text)
        if not block:
            return []
        nodes = parse(Text(source.path, source.file, block))
    except Unreadable:
        return []
    listed = nodes[0].get("defaults") if nodes else None
    folder = posixpath.dirname(path)
    return [posixpath.normpath(posixpath.join(folder, base)) for base, _ in bases(listed) if base.endswith(_ENDINGS)]


def _block(text: str) -> str:
    """Cut out the top-level key `defaults` with what is indented or listed below it."""
    start = 0 if text.startswith("defaults:") else text.find("\ndefaults:") + 1
    if not text.startswith("defaults:", start):
        return ""
    rows = text[start:].split("\n")
    end = next((n for n, row in enumerate(rows) if n and row.strip() and row[0] not in " -#\t"), len(rows))
    return "\n".join(rows[:end])


def _inherits_files(path: str, context: Context) -> bool:
    """Say whether all bases are named as files, which those of Hydra's defaults lists are not."""
    try:
        document = load(path, context.reader(), context, MARKING)
    except Unreadable:
        return True
    return all(base.endswith(_ENDINGS) for base, _ in document.bases) and document.bases_only


def _merged(path: str, context: Context) -> Inherited:
    try:
        return inherit(path, context.reader(), context, MARKING)
    except Unreadable:
        return Inherited()


def _is_launch(found: Inherited) -> bool:
    """Say whether a merged file holds what every trainer of NeMo-RL needs, or names a base that is out of reach."""
    policy = found.root.entries.get("policy")
    if not isinstance(policy, Section):
        return False
    engines = ("megatron_cfg", "dtensor_cfg")
    known = any(name in policy.entries for name in engines) or "model_name" in policy.entries
    return known and ("cluster" in found.root.entries or bool(found.holes))
