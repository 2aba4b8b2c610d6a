"""Proves every edge of every window on the wheels beside it, and writes what was seen.

    MESHLINT_TORCH_PYTHON=PYTHON MESHLINT_MIRRORS=FOLDER python tests/oracle/prove.py FOLDER_OF_WHEELS

writes docs/windows.json, from which docs/generate.py makes the page. The mirrors are git folders `OWNER+NAME/repo`;
`tests/oracle/wheels.py` brings the wheels.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from source import lines
from wheels import CORE, Wheel
from window_proofs import BESIDE, PROOFS, TORCH_ASKED_ON, Ask, Proof, Read

from meshlint.config import card, frameworks
from meshlint.rule import Window
from meshlint_rules import rules

HERE = Path(__file__).parent
DATA = HERE.parents[1] / "docs" / "windows.json"
TAGS: Mapping[str, tuple[str, str]] = {
    "megatron-core": ("NVIDIA+Megatron-LM/repo", "core_v"),
    "megatron-bridge": ("NVIDIA-NeMo+Megatron-Bridge/repo", "v"),
    "nemo-rl": ("NVIDIA-NeMo+RL/repo", "v"),
}
"""The git folder of a library's source, and what stands before a release in its tags."""

Answers = Mapping[str, Mapping[str, Any]]


@cache
def windows() -> dict[tuple[str, str], Window]:
    """Give every window that a rule claims, by code and name in the rule's module, then those of the tables."""
    found = {}
    for rule in rules():
        names = {id(value): name for name, value in vars(sys.modules[rule.__module__]).items()}
        found.update({(rule.code, names[id(window)]): window for window in rule.windows})
    claimed = set(found.values())
    for key, window in tables():
        if window not in claimed:
            claimed.add(window)
            found[key] = window
    return found


def tables() -> Iterator[tuple[tuple[str, str], Window]]:
    """Give the windows of the frameworks' tables and of cards, by the name of the module and their own.

    A default's is named for its field. What other tables take over from megatron-core's comes first as its own.
    """
    for package in (frameworks, card):
        named = sorted((one.name for one in iter_modules(package.__path__)), key=lambda name: name != "megatron_core")
        for one in named:
            module = import_module(f"{package.__name__}.{one}")
            owner = "card" if package is card else one.replace("_", "-")
            for name, value in sorted(vars(module).items()):
                if isinstance(value, Window):
                    yield (owner, name), value
            for row in getattr(module, "DEFAULTS", ()):
                if row.window is not None:
                    yield (owner, row.field), replace(row.window, says=f"{row.field} is {row.data} by default")


def edges() -> list[tuple[str, str, str]]:
    """Give every edge of every window."""
    return [
        (code, name, edge)
        for (code, name), window in windows().items()
        for edge in (window.since, window.until)
        if edge is not None
    ]


def library(proof: Proof) -> str:
    """Give the library of a proof's window."""
    return windows()[proof.code, proof.window].library


def beside(proof: Proof) -> tuple[str, str]:
    """Give the releases beside a proof's edge."""
    return BESIDE[library(proof)][proof.edge]


def questions(proofs: Iterable[Proof]) -> list[dict[str, Any]]:
    """Give the questions of all proofs, two for each."""
    asked = []
    for proof in proofs:
        for number, ask in enumerate(one for one in proof.by if isinstance(one, Ask)):
            for side, version in zip(("before", "after"), beside(proof), strict=True):
                asked.append({"id": name_of(proof, number, side), **tree(proof, version), **ask.question})
    return asked


def name_of(proof: Proof, number: int, side: str) -> str:
    """Name one question."""
    return f"{proof.code} {proof.window} {proof.edge} {number} {side}"


def tree(proof: Proof, version: str) -> dict[str, str]:
    """Say which megatron-core is asked."""
    if library(proof) == "torch":
        return {"tree": f"megatron-core-{TORCH_ASKED_ON}", "torch": version}
    return {"tree": f"megatron-core-{version}"}


def ask(asked: list[dict[str, Any]], wheels: Path, python: str) -> dict[str, dict[str, Any]]:
    """Put questions to the wheels of megatron-core, two at a time; gives the answers by their names."""
    wanted = {question["tree"] for question in asked}
    with tempfile.TemporaryDirectory() as folder:
        for wheel in CORE:
            if f"{wheel.library}-{wheel.version}" in wanted:
                wheel.of(wheels).unpack(Path(folder))
        words = [python, str(HERE / "layout.py"), "--each", folder]
        text = "".join(json.dumps(question) + "\n" for question in asked)
        done = subprocess.run(words, input=text, capture_output=True, text=True, check=False, env=_quiet())
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) != len(asked):
        raise RuntimeError(f"{len(answers)} answers to {len(asked)} questions: {done.stderr[-2000:]}")
    return {answer["id"]: answer for answer in answers}


def _quiet() -> dict[str, str]:
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"}


def holds(proof: Proof, number: int, question: Ask, answers: Answers) -> list[str]:
    """Give what does not hold of the answers to one question of a proof; empty where it proves the edge."""
    wrong = []
    for at, (side, expected) in enumerate((("before", question.before), ("after", question.after))):
        answer = answers[name_of(proof, number, side)]
        if answer["accepted"] is bool(expected) or expected not in answer["error"]:
            wrong.append(f"{side}: {answer['error'] or 'accepted'} where {expected or 'nothing'} was to be refused")
        if question.layers is not None and answer["layers"] != question.layers[at]:
            wrong.append(f"{side}: {answer['layers']} layers")
    return wrong


def text(proof: Proof, read: Read, version: str, wheels: Path, mirrors: Path | None) -> tuple[str, str | None]:
    """Give the place and the text of the file that a statement stands in; None where it has no such file."""
    for file in read.shape.files:
        found = (
            _at_tag(mirrors, library(proof), version, file)
            if read.tags
            else Wheel(library(proof), version).of(wheels).text(file)
        )
        if found is not None:
            return file, found
    return read.shape.files[0], None


def _at_tag(mirrors: Path | None, library: str, version: str, file: str) -> str | None:
    if mirrors is None:
        raise FileNotFoundError("MESHLINT_MIRRORS names no folder of mirrors")
    folder, before = TAGS[library]
    words = ["git", "-C", str(mirrors / folder), "show", f"{before}{version}:{file}"]
    done = subprocess.run(words, capture_output=True, check=False)
    return done.stdout.decode() if done.returncode == 0 else None


def seen(proof: Proof, read: Read, wheels: Path, mirrors: Path | None) -> dict[str, Any]:
    """Give the lines of a statement on both sides of an edge."""
    row: dict[str, Any] = {"how": "source at the tags" if read.tags else "source"}
    for side, version in zip(("before", "after"), beside(proof), strict=True):
        file, found = text(proof, read, version, wheels, mirrors)
        row[side] = [] if found is None else list(lines(found, read.shape))
        row["file"] = file if found is not None or "file" not in row else row["file"]
    return row


def stands(read: Read, row: Mapping[str, Any]) -> bool:
    """Say whether a statement stands on the side where it should, and on the other not."""
    other = "before" if read.there == "after" else "after"
    return bool(row[read.there]) and not row[other]


def told(proof: Proof, number: int, question: Ask, answers: Answers) -> dict[str, Any]:
    """Give what megatron-core answered on both sides."""
    row: dict[str, Any] = {"how": question.how}
    for side in ("before", "after"):
        answer = answers[name_of(proof, number, side)]
        built = f", {answer['layers']} layers built" if question.layers and answer["layers"] else ""
        row[side] = f"accepted{built}" if answer["accepted"] else f"refused: {answer['error'].partition(':')[0]}"
    return row


def row(proof: Proof, answers: Answers, wheels: Path, mirrors: Path | None) -> dict[str, Any]:
    """Give one row of the page; raises ValueError where an edge is not proved."""
    before, after = beside(proof)
    by, number = [], 0
    for one in proof.by:
        if isinstance(one, Ask):
            wrong = holds(proof, number, one, answers)
            by.append(told(proof, number, one, answers))
            number += 1
        else:
            by.append(seen(proof, one, wheels, mirrors))
            wrong = [] if stands(one, by[-1]) else [str(by[-1])]
        if wrong:
            raise ValueError(f"{proof.code} {proof.window} at {proof.edge}: {wrong}")
    named = {"code": proof.code, "window": proof.window, "library": library(proof), "edge": proof.edge}
    window = windows()[proof.code, proof.window]
    opens = window.since == proof.edge
    says = {"opens": opens, "says": window.says, "note": proof.note}
    return {**named, **says, "before": before, "after": after, "by": by}


def main(words: list[str]) -> int:
    """Prove everything; write the rows that are proved, and name the others."""
    wheels, mirrors = Path(words[0]), os.environ.get("MESHLINT_MIRRORS")
    answers = ask(questions(PROOFS), wheels, os.environ["MESHLINT_TORCH_PYTHON"])
    rows, wrong = [], []
    for proof in PROOFS:
        try:
            rows.append(row(proof, answers, wheels, Path(mirrors) if mirrors else None))
        except ValueError as error:
            wrong.append(str(error))
    DATA.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    print("\n".join(wrong) or f"{len(rows)} edges proved")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
