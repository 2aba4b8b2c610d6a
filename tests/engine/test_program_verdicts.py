"""Verdicts of the code side kept between runs: after any change a run says what a cold one says, byte for byte."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import meshlint.protocol.faults as faults
import meshlint.protocol.verdict as verdict
from meshlint.engine.gather import context_of
from meshlint.engine.options import Options
from meshlint.engine.program import Judgement, check_program
from meshlint.engine.ruleset import load, narrow
from meshlint.protocol.facts import Definition
from meshlint.protocol.summary import Engine
from meshlint.sources.discover import discover

HEAD = """\
import torch
import torch.distributed as dist
from megatron.core import parallel_state as mpu
"""
RANK = "mpu.get_tensor_model_parallel_rank()"
GROUP = "mpu.get_tensor_model_parallel_group()"
BODIES = (
    f"    if {RANK} == 0:\n        dist.all_reduce(x, group={GROUP})",
    f"    if {RANK} == 0:\n        {{callee}}(x)",
    "    if is_first():\n        {callee}(x)",
    "    {callee}(x)\n    return x",
    f"    for _ in range({RANK}):\n        {{callee}}(x)",
    f"    dist.all_reduce(x, group={GROUP})",
    f"    if flag:\n        dist.all_reduce(x, group={GROUP})",
    "    return helper(x)",
    "    with torch.no_grad():\n        {callee}(x)",
)
TESTS = (f"    return {RANK} == 0", "    return True", "    return unknown.is_first()")
NAMES = ("a", "b", "c", "d")
INSIDE = (
    ("(x)", "(x or 1)"),
    (f"{RANK} == 0", "flag"),
    ("return True", f"return {RANK} == 0"),
    ("if flag", f"if {RANK} == 0"),
    ("step_a(x", "step_b(x"),
    ("step_c(x", "helper(x"),
    ("self.on", f"{RANK} == 0"),
    ("x):\n", "x, group=None):\n"),
)
"""What is put in the place of what inside of functions: the names of a file stay."""


def judged(root: Path, folder: Path | None) -> Judgement:
    scope = discover((str(root),), root)
    rules = narrow(load(), ("COL", "GRP", "PKD001", "PKD007"), preview=True)
    return check_program(scope, context_of(scope, Options()), rules, (), place=folder)


def module(chance: random.Random, name: str) -> str:
    """Write one module: imports from the others, some of which they do not hold, functions and a class."""
    others = [other for other in NAMES if other != name]
    lines = [HEAD]
    forms = ("from {0} import step_{0}", "from {0} import *", "import {0}\nfrom {0} import is_first, step_{0}")
    lines += [chance.choice(forms).format(other) for other in chance.sample(others, chance.randint(1, 3))]
    lines.append("def is_first():\n" + chance.choice(TESTS))
    for place in range(chance.randint(1, 3)):
        callee = chance.choice([f"step_{other}" for other in others] + [f"{chance.choice(others)}.step_{name}"])
        body = chance.choice(BODIES).format(callee=callee)
        lines.append(f"def step_{name if not place else chance.choice(NAMES) + str(place)}(x, flag=None):\n{body}")
    base = chance.choice(["", *(f"(K{other})" for other in others)])
    gate = chance.choice((RANK + " == 0", "self.on", "self.first()"))
    lines.append(
        f"class K{name}{base}:\n    def first(self):\n    {chance.choice(TESTS)}\n"
        f"    def run(self, x):\n        if {gate}:\n            self.send(x)\n"
        f"    def send(self, x):\n        step_{name}(x)"
    )
    return "\n\n\n".join(lines) + "\n"


def edit(chance: random.Random, root: Path) -> None:
    """Change one file: anew, by lines in front of it or inside, by a function behind it, inside of bodies, or away."""
    name = chance.choice(NAMES)
    file = root / f"{name}.py"
    kind = chance.randrange(12)
    if kind in (4, 5) and file.exists():
        added = chance.choice(("is_first", f"step_{name}", f"step_{chance.choice(NAMES)}1", "nowhere_else"))
        body = chance.choice(BODIES).format(callee=f"step_{chance.choice(NAMES)}")
        file.write_text(f"{file.read_text()}\n\ndef {added}(x=None, flag=None):\n{body}\n")
    elif kind in (6, 7, 8) and file.exists():
        old, new = chance.choice(INSIDE)
        file.write_text(file.read_text().replace(old, new, chance.randint(1, 3)))
    elif kind > 8 and file.exists():
        lines = file.read_text().split("\n")
        place = chance.choice([number for number, line in enumerate(lines) if line[:1].isspace()])
        indent = len(lines[place]) - len(lines[place].lstrip())
        what = chance.choice(("# a comment", "y = 1", "", f"y = {RANK}", "if True: pass"))
        file.write_text("\n".join([*lines[:place], " " * indent + what, *lines[place:]]))
    elif kind == 0 and file.exists():
        file.unlink()
    elif kind == 1 and file.exists():
        file.write_text("# a comment\n" + file.read_text())
    else:
        file.write_text(module(chance, name))


@pytest.mark.parametrize("seed", range(12))
def test_a_run_after_changes_says_what_a_cold_one_says(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    root = tmp_path / "tree"
    root.mkdir()
    for name in NAMES:
        (root / f"{name}.py").write_text(module(chance, name))
    (root / "sure.py").write_text(f"{HEAD}\n\ndef sure(x):\n    if {RANK} == 0:\n        dist.barrier()\n")
    found = 0
    for _ in range(6):
        warm = judged(root, tmp_path / "cache")
        assert warm == judged(root, None)
        found += len(warm.judged)
        edit(chance, root)
    assert found


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Note the files that are judged anew."""
    paths: list[str] = []
    real = verdict.Verdicts.part

    def noting(self: verdict.Verdicts, given: tuple[str, ...]) -> faults.Part:
        paths.extend(given)
        return real(self, given)

    monkeypatch.setattr(verdict.Verdicts, "part", noting)
    yield paths


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    gate = f"    if {RANK} == 0:\n"
    (root / "low.py").write_text(f"{HEAD}\n\ndef low(x):\n    dist.all_reduce(x, group={GROUP})\n")
    (root / "user.py").write_text(f"{HEAD}from low import low\n\n\ndef user(x):\n{gate}        low(x)\n")
    (root / "apart.py").write_text(f"{HEAD}\n\ndef apart(x):\n{gate}        dist.barrier()\n")
    (root / "hopes.py").write_text(f"{HEAD}from later import later\n\n\ndef hopes(x):\n{gate}        later(x)\n")
    return root


@pytest.mark.parametrize(
    ("added", "again"),
    [
        ("def more():\n    return 1", {"low.py"}),
        ("def later(x):\n    return x", {"low.py", "user.py", "apart.py", "hopes.py"}),
        ("class More:\n    pass", {"low.py", "user.py", "apart.py", "hopes.py"}),
    ],
)
def test_callees_are_asked_for_again_where_a_new_name_may_be_meant(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, added: str, again: set[str]
) -> None:
    judged(tree, tmp_path / "cache")
    asked: set[str] = set()
    real = Engine.resolve

    def noting(self: Engine, path: str, definition: Definition, text: str) -> object:
        asked.add(Path(path).name)
        return real(self, path, definition, text)

    monkeypatch.setattr(Engine, "resolve", noting)
    (tree / "low.py").write_text((tree / "low.py").read_text() + f"\n\n{added}\n")
    judged(tree, tmp_path / "cache")
    assert asked == again


def test_only_what_rests_on_a_change_is_judged_again(tree: Path, tmp_path: Path, done: list[str]) -> None:
    first = judged(tree, tmp_path / "cache")
    assert {Path(one.finding.span.path).name for one in first.judged} == {"user.py", "apart.py"}
    done.clear()
    assert judged(tree, tmp_path / "cache") == first and not done
    (tree / "low.py").write_text((tree / "low.py").read_text() + "\n\ndef more():\n    return 1\n")
    assert judged(tree, tmp_path / "cache") == first
    assert sorted(done) == ["low.py"]
    done.clear()
    (tree / "low.py").write_text(f"{HEAD}\n\ndef low(x):\n    return x\n")
    assert len(judged(tree, tmp_path / "cache").judged) == 1


@pytest.mark.parametrize(
    ("old", "new", "again"),
    [
        ("    return 2", "    y = 1\n    return 2", set()),  # nobody asks for y
        ("    return 2", "    y = x\n    return 2", {"low.py"}),
        ("    return 2", "    return 2\n\n\nLIMIT = 3", {"low.py"}),
        ("def other(", "# a comment\n\n\ndef other(", set()),  # user.py names a line of low.py: it is told anew
        ("    return 1", "    # a comment\n\n    return 1", set()),
        ("def other(", "import later\n\n\ndef other(", {"low.py"}),
        ("    return 1", "    y = 1\n    return 1", set()),
        ("    return 1", "    y = x\n    return 1", {"low.py", "other.py"}),
    ],
)
def test_lines_that_move_have_nobody_judged_again_who_names_them(
    tree: Path, tmp_path: Path, done: list[str], old: str, new: str, again: set[str]
) -> None:
    low = tree / "low.py"
    low.write_text(low.read_text() + "\n\ndef other(x):\n    return 1\n\n\ndef last(x):\n    return 2\n")
    gated = f"    if {RANK} == 0:\n        x = other(x)\n    dist.all_reduce(x, group={GROUP})\n"
    (tree / "other.py").write_text(f"{HEAD}from low import other\n\n\ndef use(x):\n{gated}")
    judged(tree, tmp_path / "cache")
    done.clear()
    low.write_text(low.read_text().replace(old, new))
    warm = judged(tree, tmp_path / "cache")
    assert {Path(path).name for path in done} == again
    assert warm == judged(tree, None)


def test_a_line_with_more_digits_than_before_is_judged_again(tree: Path, tmp_path: Path, done: list[str]) -> None:
    low = tree / "low.py"
    judged(tree, tmp_path / "cache")
    again = []
    for lines in (1, 89, 1, 900, 1):
        low.write_text("\n" * lines + low.read_text())
        done.clear()
        assert judged(tree, tmp_path / "cache") == judged(tree, None)
        again.append("user.py" in {Path(path).name for path in done[: len(done) // 2]})
    assert again == [False, True, False, True, False]


def test_a_note_that_names_a_line_is_told_anew(tmp_path: Path, done: list[str]) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    many = "def many(x, how):\n    if how == 'no':\n        dist.barrier()\n"
    calls = "".join(f"    many(x, 'way {n}')\n" for n in range(70))
    (root / "many.py").write_text(f"{HEAD}\n\n{many}\n\ndef user(x):\n{calls}")
    first = judged(root, tmp_path / "cache")
    assert [note.partition(" ")[0] for note in first.notes] == ["many.py:6:"]
    (root / "many.py").write_text("# a comment\n" * 5 + (root / "many.py").read_text())
    done.clear()
    warm = judged(root, tmp_path / "cache")
    assert not done
    assert warm.notes != first.notes
    assert warm == judged(root, None)


def test_signs_that_a_program_writes_itself_stay(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    odd = "".join(chr(0xF0000 + n) for n in range(12))
    gate = f"    if batch['{odd}']:\n"
    name = f"group=groups['{odd}']"
    text = f"{HEAD}\n\ndef odd(x, batch, groups):\n{gate}        dist.all_reduce(x, {name})\n"
    (root / "odd.py").write_text(f"{text}\n\ndef sure(x):\n    if {RANK} == 0:\n        dist.barrier()\n")
    for _ in range(3):
        warm = judged(root, tmp_path / "cache")
        assert warm.judged
        assert warm == judged(root, None)
        (root / "odd.py").write_text("# a comment\n" + (root / "odd.py").read_text())


def test_a_name_that_stood_for_nothing_is_seen_when_it_comes(tree: Path, tmp_path: Path, done: list[str]) -> None:
    judged(tree, tmp_path / "cache")
    done.clear()
    (tree / "later.py").write_text(f"{HEAD}\n\ndef later(x):\n    dist.all_reduce(x, group={GROUP})\n")
    after = judged(tree, tmp_path / "cache")
    assert "hopes.py" in {Path(one.finding.span.path).name for one in after.judged}
    assert "hopes.py" in done and "apart.py" not in done


def test_a_broken_store_counts_as_none(tree: Path, tmp_path: Path) -> None:
    first = judged(tree, tmp_path / "cache")
    (store,) = (tmp_path / "cache").glob("*.verdicts")
    for content in (b"", b"meshlint verdicts 1\n", store.read_bytes()[:-9], b"x" * 400):
        store.write_bytes(content)
        assert judged(tree, tmp_path / "cache") == first


def test_other_models_have_verdicts_of_their_own(tree: Path, tmp_path: Path) -> None:
    (tree / "low.py").write_text(f"{HEAD}from elsewhere import send\n\n\ndef low(x):\n    send(x, {GROUP})\n")
    model = {"names": ["elsewhere.send"], "kind": "op", "op": "all_reduce", "group": [1, "group"]}
    scope = discover((str(tree),), tree)
    rules = narrow(load(), ("COL",), preview=True)

    def told(models: tuple[dict[str, object], ...], folder: Path | None) -> Judgement:
        return check_program(scope, context_of(scope, Options()), rules, models, place=folder)

    for models in ((), (model,), (), (model,)):
        assert told(models, tmp_path / "cache") == told(models, None)
    assert len(told((model,), tmp_path / "cache").judged) == len(told((), tmp_path / "cache").judged) + 1


STORE = '''\
"""A store."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Tuple

import torch.distributed as dist

Alias = Tuple[str, {alias}]


class Low:
    def step(self, x):
        return x


class High:
    def step(self, x):
        dist.all_reduce(x)


class Store:
    def save(self) -> {pair}:
        return self.made()

    @property
    def where(self) -> {kept}:
        return self.made()
'''

USES = f"""\
{HEAD}from store import Store


def waits(store: Store):
    _, pending = store.save()
    if pending.done():
        dist.barrier()


class Uses(Store):
    def turn(self, x):
        if {RANK} == 0:
            self.where.step(x)
"""


def test_what_another_file_says_that_it_returns_counts(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "uses.py").write_text(USES)
    said = []
    for pair, alias, kept in (
        ("Tuple[str, str]", "str", "Low"),
        ("Tuple[str, Future]", "str", "Low"),
        ("Alias", "str", "Low"),
        ("Alias", "Future", "Low"),
        ("Alias", "Future", "High"),
        ("Alias", "Future", "Low"),
    ):
        (root / "store.py").write_text(STORE.format(pair=pair, alias=alias, kept=kept))
        warm = judged(root, tmp_path / "cache")
        assert warm == judged(root, None)
        said.append([(one.finding.code, one.finding.span.line) for one in warm.judged if one.finding.span])
    wait, turn = ("COL006", 10), ("COL001", 16)
    assert [sorted(one) for one in said] == [[], [wait], [], [wait], [turn, wait], [wait]]
