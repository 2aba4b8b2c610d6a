"""Makes the tables of the keys that each framework has, by release, from its wheels and its repository.

    python analyzer/meshlint/config/keys/generate.py --wheels FOLDER [NAME=GIT ...]

FOLDER holds wheels as `pip download --no-deps` leaves them; NAME=GIT names the git directory of a repository, for the
releases that are no wheel, and for what is not released yet. Both are needed for a table whose rows name both, and a
table that lacks either is left as it is. Each table says in its head what it was made from.

Nothing is imported: keys are annotated fields and attributes of classes, arguments of functions, option strings, and
keys of YAML files. A table takes too much rather than too little, since a key that it has is never told as unknown.
Each row is a key, the minor release that has it first (empty: the first one read), and the release that was the first
read without it (empty: the last one read has it).
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

FLAG = re.compile(r"--[a-zA-Z][a-zA-Z0-9_-]+")

NEXT = "HEAD"
"""The revision of what is not released yet."""

Texts = Mapping[str, str]
"""Files by their path in a wheel or a repository."""


@dataclass(frozen=True)
class Source:
    """Where a table comes from.

    `releases` are in order: a version is a wheel of `distribution`, `version@revision` is a revision of `repository`.
    `paths` are patterns of the files that are read, of both; `src/` in front is left out. `takes` are the kinds of
    keys: see TAKES.
    """

    table: str
    paths: tuple[str, ...]
    takes: tuple[str, ...]
    releases: str
    distribution: str = ""
    repository: str = ""


SOURCES = (
    Source(
        "megatron-lm",
        (
            "megatron/training/*.py",
            "megatron/core/*.py",
            "megatron/post_training/*.py",
            "megatron/rl/*.py",
            "pretrain_*.py",
        ),
        ("annotated", "flags"),
        "0.10.0@core_v0.10.0 0.11.0@core_v0.11.0 0.12.3@core_v0.12.3 0.13.1@core_v0.13.1 0.14.0@core_v0.14.0 "
        "0.15.3@core_v0.15.3 0.16.1@core_v0.16.1 0.17.1@core_v0.17.1 0.18.2@core_v0.18.2 0.19.0@core_v0.19.0 0.20@HEAD",
        repository="Megatron-LM",
    ),
    Source(
        "megatron-core",
        (
            "megatron/core/model_parallel_config.py",
            "megatron/core/transformer/*.py",
            "megatron/core/distributed/*.py",
            "megatron/core/optimizer/*.py",
        ),
        ("annotated",),
        "0.10.0 0.11.0 0.12.3 0.13.1 0.14.0 0.15.3 0.16.1 0.17.1 0.18.2 0.19.2 0.20@HEAD",
        distribution="megatron_core",
        repository="Megatron-LM",
    ),
    Source(
        "megatron-bridge",
        ("megatron/bridge/*.py",),
        ("fields",),
        "0.2.2@v0.2.2 0.3.1 0.4.2 0.5.1 0.6.2 0.7@HEAD",
        distribution="megatron_bridge",
        repository="Megatron-Bridge",
    ),
    Source(
        "ms-swift",
        ("swift/*.py",),
        ("annotated", "flags"),
        "3.8.3 3.9.3 3.10.3 3.11.3 3.12.6 4.0.4 4.1.3 4.2.3 4.3.2 4.4.2 4.5.3 4.6.0",
        distribution="ms_swift",
    ),
    Source(
        "slime",
        ("slime/*.py", "slime_plugins/*.py"),
        ("annotated", "flags"),
        "0.1.0@v0.1.0 0.2.0@v0.2.0 0.2.4@v0.2.4 0.3.1@v0.3.1 0.4@HEAD",
        repository="slime",
    ),
    Source(
        "verl",
        ("verl/trainer/config/*.yaml", "verl/experimental/*.yaml", "verl/*.py", "recipe/*.yaml"),
        ("annotated", "yaml"),
        "0.5.0 0.6.1 0.7.1 0.8.0 0.9.1 0.10@HEAD",
        distribution="verl",
        repository="verl",
    ),
    Source(
        "nemo2",
        ("nemo/lightning/*.py", "nemo/collections/llm/*.py", "nemo/collections/vlm/*.py", "nemo/utils/*.py"),
        ("fields", "arguments"),
        "2.0.0 2.1.0 2.2.1 2.3.3 2.4.1 2.5.3 2.6.2 2.7.3",
        distribution="nemo_toolkit",
    ),
    Source(
        "nemo-rl",
        ("nemo_rl/*.py", "examples/*.yaml", "examples/*.py"),
        ("annotated", "yaml"),
        "0.2.1@v0.2.1 0.3.1@v0.3.1 0.4.0@v0.4.0 0.5.0@v0.5.0 0.6.0@v0.6.0 0.7.0@v0.7.0 0.8@HEAD",
        repository="RL",
    ),
    Source(
        "areal",
        ("areal/*.py",),
        ("annotated",),
        "0.5.3@v0.5.3 1.0.4",
        distribution="areal",
        repository="AReaL",
    ),
    Source(
        "roll",
        ("roll/*.py", "mcore_adapter/src/mcore_adapter/*.py"),
        ("fields",),
        "0.1.3@v0.1.3 0.2.1@v0.2.1 0.3.0@v0.3.0 0.4@HEAD",
        repository="ROLL",
    ),
)


def from_wheel(wheel: Path, wanted: Callable[[str], bool]) -> Texts:
    """Give the files of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name).decode("utf-8", "replace") for name in archive.namelist() if wanted(name)}


def git(repository: str, *words: str, given: bytes = b"") -> bytes:
    """Run git on a repository and give what it says."""
    return subprocess.run(["git", "-C", repository, *words], input=given, check=True, capture_output=True).stdout


def from_git(repository: str, revision: str, wanted: Callable[[str], bool]) -> Texts:
    """Give the files of a repository at a revision, by one process for all of them."""
    listed = git(repository, "ls-tree", "-r", "--name-only", revision).decode("utf-8", "replace").splitlines()
    names = [name for name in listed if wanted(name)]
    asked = "\n".join(f"{revision}:{name}" for name in names).encode()
    said, at, found = git(repository, "cat-file", "--batch", given=asked), 0, {}
    for name in names:
        head = said[at : said.index(b"\n", at)]
        at += len(head) + 1
        kind, _, size = head.rpartition(b" ")
        if not kind.endswith(b" blob"):  # missing: the copy of the repository is not whole
            continue
        found[name] = said[at : at + int(size)].decode("utf-8", "replace")
        at += int(size) + 1
    return found


def classes(tree: ast.AST) -> Iterator[str]:
    """Give the fields and attributes of classes, and the arguments that make them; no private ones."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from (name for name in _fields(node) if not name.startswith("_"))


def _fields(node: ast.ClassDef) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
            yield inner.target.id
        for target in inner.targets if isinstance(inner, ast.Assign) else ():
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
                yield target.attr
            elif isinstance(target, ast.Name) and inner in node.body:
                yield target.id
        if isinstance(inner, ast.FunctionDef):
            yield from _made(inner)


def _made(node: ast.FunctionDef) -> Iterator[str]:
    if node.name == "__init__":
        yield from (argument.arg for argument in (*node.args.args, *node.args.kwonlyargs))
    elif any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list):
        yield node.name


def annotated(tree: ast.AST) -> Iterator[str]:
    """Give the annotated fields in the bodies of classes: what a dataclass or a typed dictionary has."""
    for node in ast.walk(tree):
        for inner in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
                yield inner.target.id


def options(tree: ast.AST) -> Iterator[str]:
    """Give the option strings of parsers, with underscores, and their destinations."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and FLAG.fullmatch(node.value):
            yield node.value[2:].replace("-", "_")
        elif isinstance(node, ast.keyword) and node.arg == "dest" and isinstance(node.value, ast.Constant):
            yield str(node.value.value)


def arguments(tree: ast.AST) -> Iterator[str]:
    """Give the arguments of functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield from (argument.arg for argument in (*node.args.args, *node.args.kwonlyargs))


def yaml_keys(text: str) -> Iterator[str]:
    """Give the keys of a YAML text, at any depth; nothing of one that cannot be read."""
    import yaml

    try:
        roots: list[Any] = list(yaml.compose_all(text, Loader=yaml.CSafeLoader))
    except yaml.YAMLError:
        return
    while roots:
        node = roots.pop()
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                yield str(key.value)
                roots.append(value)
        elif isinstance(node, yaml.SequenceNode):
            roots += node.value


TAKES: Mapping[str, Callable[[ast.AST], Iterator[str]]] = {
    "annotated": annotated,
    "fields": classes,
    "flags": options,
    "arguments": arguments,
}
"""What is taken of Python files, by kind; `yaml` takes the keys of YAML files."""


def keys(texts: Texts, takes: Iterable[str]) -> set[str]:
    """Give the keys of files; nothing of one that cannot be parsed. Constants and single letters are left out."""
    kinds = [TAKES[kind] for kind in takes if kind in TAKES]
    found: set[str] = set()
    for name, text in texts.items():
        if not name.endswith(".py"):
            found.update(part for key in yaml_keys(text) for part in key.lstrip("+~").split("."))
            continue
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        for kind in kinds:
            found.update(kind(tree))
    return {key for key in found if len(key) > 1 and key.isidentifier() and not key.isupper() and key[0] != "_"}


def releases(source: Source, wheels: Path | None, given: Mapping[str, str]) -> Iterator[tuple[str, str, Texts]]:
    """Give each release of a source: its version, what it was made from, its files. Raises LookupError for one away."""

    def wanted(name: str) -> bool:
        short = name.removeprefix("src/")
        fits = name.endswith(".py") or (name.endswith(".yaml") and "yaml" in source.takes)
        return fits and any(fnmatchcase(short, pattern) for pattern in source.paths)

    for release in source.releases.split():
        version, _, revision = release.partition("@")
        if not revision:
            yield version, "wheel", from_wheel(wheel_of(source, version, wheels), wanted)
            continue
        if source.repository not in given:
            raise LookupError(f"no repository {source.repository}")
        repository = given[source.repository]
        commit = git(repository, "rev-parse", revision).decode().strip()[:10]
        yield version, revision if revision != NEXT else commit, from_git(repository, revision, wanted)


def wheel_of(source: Source, version: str, folder: Path | None) -> Path:
    """Give the wheel of a release; raises LookupError where it is not there."""
    found = sorted(folder.glob(f"{source.distribution}-{version}-*.whl")) if folder is not None else []
    if not found:
        raise LookupError(f"no wheel of {source.distribution} {version}")
    return found[0]


def table(source: Source, wheels: Path | None, given: Mapping[str, str]) -> str:
    """Give the text of a table. Raises LookupError where something that it is made from is away."""
    order: list[str] = []
    made: list[str] = []
    seen: dict[str, list[int]] = {}
    for version, origin, texts in releases(source, wheels, given):
        found = keys(texts, source.takes)
        if not found:
            raise LookupError(f"nothing in {source.table} {version}")
        for key in found:
            seen.setdefault(key, []).append(len(order))
        order.append(version)
        made.append(f"{version} ({origin})")
    rows = [f"# {source.table}: keys by release, made by generate.py from {', '.join(made)}"]
    for key, at in sorted(seen.items()):
        since = "" if at[0] == 0 else minor(order[at[0]])
        until = "" if at[-1] == len(order) - 1 else order[at[-1] + 1]
        rows.append(f"{key}\t{since}\t{until}".rstrip("\t"))
    return "\n".join(rows) + "\n"


def minor(version: str) -> str:
    """Give the minor release: an earlier patch of it may have had the key, too."""
    return ".".join(version.split(".")[:2])


def main(words: list[str]) -> int:
    """Write the tables that can be made from what is given; tell which were left."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--wheels", type=Path)
    parser.add_argument("--only", action="append", default=[], help="a table to make; may be given again")
    parser.add_argument("git", nargs="*", metavar="NAME=GIT")
    asked = parser.parse_args(words)
    given = dict(word.split("=", 1) for word in asked.git)
    for source in SOURCES:
        if asked.only and source.table not in asked.only:
            continue
        try:
            text = table(source, asked.wheels, given)
        except LookupError as missing:
            print(f"{source.table}: left as it is: {missing}", file=sys.stderr)
            continue
        (HERE / f"{source.table}.tsv").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
