"""Makes the tables of the keys that each framework has, by release, from the git directories of its repositories.

    python tests/tools/key_tables.py Megatron-LM=/path/to/git Megatron-Bridge=/path/to/git ms-swift=... slime=...

Nothing is imported: flags are the option strings and dataclass fields in the source, attributes are the annotated
fields of classes. A table takes too much rather than too little, since a key that it has is never told as unknown.
Each row of a table is a key, the first release that has it, and the first that has it no more (empty: the newest has
it). A repository that is not given keeps its table as it is.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

TABLES = Path(__file__).parents[2] / "analyzer" / "meshlint" / "config" / "keys"

FLAG = re.compile(r"--[a-zA-Z][a-zA-Z0-9_-]+")


@dataclass(frozen=True)
class Source:
    """Where a table comes from: tags of a repository by release, the files to read, and what to take of them.

    `flags` takes option strings, and fields with the spellings that Megatron-LM's own argument factory makes of them.
    """

    table: str
    repository: str
    releases: tuple[tuple[str, str], ...]
    paths: tuple[str, ...]
    flags: bool = False


CORE = (
    ("0.10", "core_v0.10.0"),
    ("0.11", "core_v0.11.0"),
    ("0.12", "core_v0.12.3"),
    ("0.13", "core_v0.13.1"),
    ("0.14", "core_v0.14.0"),
    ("0.15", "core_v0.15.3"),
    ("0.16", "core_v0.16.1"),
    ("0.17", "core_v0.17.1"),
    ("0.18", "core_v0.18.2"),
    ("0.19", "core_v0.19.0"),
    ("0.20", "HEAD"),
)
BRIDGE = (
    ("0.2", "v0.2.2"),
    ("0.3", "v0.3.1"),
    ("0.4", "v0.4.2"),
    ("0.5", "v0.5.1"),
    ("0.6", "v0.6.0"),
    ("0.7", "HEAD"),
)
SWIFT = (("3.8", "v3.8.3"), ("3.12", "v3.12.6"), ("4.2", "v4.2.3"), ("4.5", "v4.5.2"), ("4.6", "HEAD"))

SOURCES = (
    Source(
        "megatron-lm",
        "Megatron-LM",
        CORE,
        ("megatron/training", "megatron/core", "megatron/post_training", "megatron/rl", "pretrain_*.py"),
        flags=True,
    ),
    Source(
        "megatron-core",
        "Megatron-LM",
        CORE,
        (
            "megatron/core/model_parallel_config.py",
            "megatron/core/transformer",
            "megatron/core/distributed",
            "megatron/core/optimizer",
        ),
    ),
    Source("megatron-bridge", "Megatron-Bridge", BRIDGE, ("src/megatron/bridge",)),
    Source("ms-swift", "ms-swift", SWIFT, ("swift",), flags=True),
    Source("slime", "slime", (("1", "HEAD"),), ("slime", "slime_plugins"), flags=True),
)


def git(repository: str, *words: str) -> str:
    """Run git on a repository and give what it says."""
    return subprocess.run(
        ["git", "-C", repository, *words], check=True, capture_output=True, encoding="utf-8", errors="replace"
    ).stdout


def files(repository: str, tag: str, paths: Iterable[str]) -> Iterator[str]:
    """Give the Python files of some paths at a tag."""
    wanted = tuple(paths)
    for name in git(repository, "ls-tree", "-r", "--name-only", tag).splitlines():
        if name.endswith(".py") and any(Path(name).match(p) if "*" in p else _under(name, p) for p in wanted):
            yield name


def texts(repository: str, tag: str, names: Iterable[str]) -> Iterator[str]:
    """Give the texts of files at a tag, by one process for all of them."""
    wanted = [f"{tag}:{name}" for name in names]
    done = subprocess.run(
        ["git", "-C", repository, "cat-file", "--batch"],
        input="\n".join(wanted).encode(),
        check=True,
        capture_output=True,
    ).stdout
    at = 0
    for _ in wanted:
        head = done[at : done.index(b"\n", at)]
        size = int(head.rsplit(b" ", 1)[-1]) if head[-1:].isdigit() else 0
        at += len(head) + 1
        yield done[at : at + size].decode("utf-8", "replace")
        at += size + 1 if size else 0


def _under(name: str, path: str) -> bool:
    return name == path or name.startswith(f"{path}/")


def keys(text: str, flags: bool) -> set[str]:
    """Give the keys of a file; nothing of one that cannot be parsed, or has neither options nor dataclasses."""
    if "add_argument(" not in text and "dataclass" not in text and "'--" not in text and '"--' not in text:
        return set()
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return set()
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            found |= {name for name in _fields(node) if not name.startswith("_")}
        elif flags and isinstance(node, ast.Constant) and isinstance(node.value, str) and FLAG.fullmatch(node.value):
            found.add(node.value[2:].replace("-", "_"))
        elif isinstance(node, ast.keyword) and node.arg == "dest" and isinstance(node.value, ast.Constant):
            found.add(str(node.value.value))
    return found


def _fields(node: ast.ClassDef) -> Iterator[str]:
    """Give the annotated fields of a class, and the attributes that its methods set on it."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
            yield inner.target.id
        for target in inner.targets if isinstance(inner, ast.Assign) else ():
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
                yield target.attr
            elif isinstance(target, ast.Name) and inner in node.body:
                yield target.id
        if isinstance(inner, ast.FunctionDef) and inner.name == "__init__":
            yield from (argument.arg for argument in (*inner.args.args, *inner.args.kwonlyargs))


def table(source: Source, repository: str) -> list[tuple[str, str, str]]:
    """Give the rows of a table: key, first release, and the first without it."""
    order = [release for release, _ in source.releases]
    seen: dict[str, list[str]] = {}
    for release, tag in source.releases:
        found: set[str] = set()
        for text in texts(repository, tag, files(repository, tag, source.paths)):
            found |= keys(text, source.flags)
        for key in found:
            seen.setdefault(key, []).append(release)
    rows = []
    for key, releases in sorted(seen.items()):
        last = order.index(releases[-1]) + 1
        first = "" if releases[0] == order[0] else releases[0]
        rows.append((key, first, order[last] if last < len(order) else ""))
    return rows


def main() -> int:
    """Write the tables of the repositories that are given."""
    given = dict(word.split("=", 1) for word in sys.argv[1:])
    for source in SOURCES:
        if source.repository not in given:
            continue
        rows = table(source, given[source.repository])
        tags = ", ".join(f"{release} at {tag}" for release, tag in source.releases)
        head = f"# Keys of {source.repository}, made by tests/tools/key_tables.py from {tags}.\n"
        body = "".join("\t".join(row).rstrip("\t") + "\n" for row in rows)
        (TABLES / f"{source.table}.tsv").write_text(head + body, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
