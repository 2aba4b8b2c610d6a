"""Judge real bugs: the parent of each fix must be flagged in its files, and that fault must be gone at the fix.

    MESHLINT_MIRRORS=/folder/of/mirrors python tests/tools/corpus.py bugs.jsonl [--held-out] [--all] [word ...]

The mirrors are git folders `OWNER+NAME/repo`. A third of the corpus, chosen by hash, is held out and judged only with
`--held-out`. Words narrow the entries by repository or commit. Entries that cannot be decided statically are left out
without `--all`. Only the files of an entry, those that its fix changes, and what they import are read.

`found`: a fault in a function that the entry names, or at a call that leads to it, is there at the parent and gone at
the fix; `near`: one in another function is; `stays`: what is found stays.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from meshlint.protocol.facts import FileFacts, read
from meshlint.protocol.link import Linker
from meshlint.protocol.program import CodeFault, Program

MAX_FILES = 220
KINDS = ("K1", "K2", "K3", "K4")


@dataclass(slots=True)
class Revision:
    """The Python files of one repository at one commit, read as they are asked for."""

    git: Path
    commit: str
    paths: frozenset[str] = frozenset()
    facts: dict[str, FileFacts] = field(default_factory=dict)

    def load(self) -> None:
        """List the files."""
        listed = self._git("ls-tree", "-r", "--name-only", self.commit)
        self.paths = frozenset(p for p in listed.splitlines() if p.endswith(".py"))

    def _git(self, *words: str) -> str:
        done = subprocess.run(["git", "-C", str(self.git), *words], capture_output=True, check=False)
        return done.stdout.decode("utf-8", "replace")

    def close(self, files: list[str]) -> dict[str, FileFacts]:
        """Read files and what they import, nearest first."""
        index = Linker({path: FileFacts(path, (), (), (), ()) for path in self.paths})
        queue = [f for f in files if f in self.paths]
        while queue and len(self.facts) < MAX_FILES:
            path = queue.pop(0)
            if path in self.facts:
                continue
            facts = self.facts[path] = read(path, self._git("show", f"{self.commit}:{path}"))
            queue += [p for p in _imported(index, path, facts) if p not in self.facts]
        return self.facts


def _imported(index: Linker, path: str, facts: FileFacts) -> Iterator[str]:
    rows = [*facts.imports, *(row for d in facts.definitions for s in d.body if s[0] == "import" for row in s[2])]
    for _, module, attribute, level in rows:
        for dotted in (f"{module}.{attribute}" if module else attribute, module):
            found = index.relative(path, level, dotted) if level else index.module(dotted, path)
            if found:
                yield found


def faults(git: Path, commit: str, files: list[str]) -> list[CodeFault]:
    """Give the faults in some files of a commit."""
    revision = Revision(git, commit)
    revision.load()
    facts = revision.close(files)
    return list(Program(tuple(f for f in files if f in facts), facts).faults())


def key(fault: CodeFault) -> tuple[str, str, str]:
    """Give what must be gone at the fix."""
    return (fault.code, fault.scope, fault.subject)


def files_of(git: Path, entry: dict[str, Any]) -> list[str]:
    """Give the files of an entry and the further Python files that its fix changes, tests left out."""
    words = ["git", "-C", str(git), "diff", "--name-only", entry["parent_commit"], entry["fix_commit"]]
    changed = subprocess.run(words, capture_output=True, check=False).stdout.decode("utf-8", "replace").splitlines()
    return list(dict.fromkeys([*entry["files"], *(p for p in changed if p.endswith(".py") and "test" not in p)]))


def named(entry: dict[str, Any], fault: CodeFault) -> bool:
    """Say whether a fault stands in a function that the entry names, or at a call on whose way that function is."""
    hint = re.split(r"[^A-Za-z0-9_]+", entry["function"])
    called = re.findall(r"[\w.]+", " ".join(re.findall(r", via (.+)", fault.message)))
    return any(name.rpartition(".")[2] in hint for name in (fault.scope, *called) if name)


def held_out(entry: dict[str, Any]) -> bool:
    """Say whether an entry is kept out of sight."""
    return hashlib.sha256(str(entry["fix_commit"]).encode()).digest()[0] % 3 == 0


def main(words: list[str]) -> int:
    """Judge and print one line an entry, then the sums."""
    mirrors = os.environ.get("MESHLINT_MIRRORS")
    if not mirrors:
        print("skipped: MESHLINT_MIRRORS names no folder of mirrors")
        return 0
    hidden = "--held-out" in words
    flags = {w for w in words if w.startswith("--")}
    words = [w for w in words if w not in flags]
    sums: dict[tuple[str, str], list[int]] = {}
    for line in Path(words[0]).read_text().splitlines():
        entry = json.loads(line)
        if entry["kind"] not in KINDS or held_out(entry) is not hidden:
            continue
        if entry["decidable_class"] == "no" and "--all" not in flags:
            continue
        if words[1:] and not any(w in entry["repo"] or entry["fix_commit"].startswith(w) for w in words[1:]):
            continue
        git = Path(mirrors) / entry["repo"].replace("/", "+") / "repo"
        files = files_of(git, entry)
        bad = faults(git, entry["parent_commit"], files)
        after = {key(f) for f in faults(git, entry["fix_commit"], files)}
        gone = [f for f in bad if key(f) not in after]
        here = [f for f in gone if named(entry, f)]
        total = sums.setdefault((entry["kind"], entry["decidable_class"]), [0, 0, 0])
        total[0] += 1
        total[1] += bool(here)
        total[2] += bool(gone) and not here
        mark = "found" if here else "near" if gone else "stays" if bad else "-"
        name = entry["repo"].split("/")[1]
        label = f"{entry['kind']} {entry['decidable_class']:6}{name:18}{entry['fix_commit'][:9]}"
        print(f"{mark:6}{label} {entry['function'][:50]}", flush=True)
        for fault in bad:
            sign = "+" if fault in gone else "="
            print(f"          {sign} {fault.code} {fault.severity.value} {fault.span} {fault.scope}", flush=True)
    for (kind, group), (count, found, near) in sorted(sums.items()):
        print(f"{kind} {group}: {found} of {count}" + (f", {near} near" if near else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
