"""Break functions that are right, mechanically, and count what meshlint says; change others so that they stay right.

    MESHLINT_UPSTREAM=/folder/of/checkouts python tests/tools/mutate_code.py \
        [--seed N] [--each N] [--results FILE] [--only OPERATOR] [tree ...]

Functions are taken that hold collectives of torch.distributed and about which meshlint is silent. A mutant is an edit
of one function, laid over the files of its whole tree, which are read once and never written. With `--results` every
mutant is one line of that file, and those that stand there are not judged again. `--each` mutants are drawn for each
operator and tree, by a seed.

A mutant that breaks counts as flagged where its function has a finding that was not there before, or where a caller has
one that tells of its lines; `code` and `line` say whether the code is one that the table of rules gives and whether the
finding stands in the edited lines or tells of them. A mutant that stays right counts as flagged where its file has any
new finding.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import os
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from meshlint.place import Span
from meshlint.protocol.program import CodeFault, Program, facts_of

TREES = (
    "Megatron-LM",
    "Megatron-Bridge",
    "verl",
    "RL",
    "slime",
    "DeepSpeed",
    "accelerate",
    "torchtitan",
    "OLMo-core",
    "ColossalAI",
    "ms-swift",
    "trl",
)

COLLECTIVES: dict[str, int] = {
    "all_reduce": 2,
    "broadcast": 2,
    "barrier": 0,
    "all_gather": 2,
    "all_gather_into_tensor": 2,
    "all_gather_object": 2,
    "broadcast_object_list": 2,
    "reduce_scatter_tensor": 3,
    "all_to_all_single": 4,
    "gather_object": 3,
}
"""Calls of torch.distributed and the position of their group."""

HOLDERS = ("dist", "distributed", "tdist")

RANKED = ("rank", "master", "main_process", "stage", "coordinator", "is_first", "is_last", "leader", "src", "_zero")
"""Words of a test by which ranks of one group may differ."""

DIMS: tuple[tuple[str, str], ...] = (
    ("tensor_and_context_parallel", ""),
    ("tensor_model_parallel", "tp"),
    ("pipeline_model_parallel", "pp"),
    ("data_parallel", "dp"),
    ("context_parallel", "cp"),
    ("tp_group", "tp"),
    ("pp_group", "pp"),
    ("dp_group", "dp"),
    ("cp_group", "cp"),
    (".tp", "tp"),
    (".pp", "pp"),
    (".dp", "dp"),
    (".cp", "cp"),
)
"""What the text of a group says about its dim; the first that fits, and none for the rest."""

UNSURE = (
    "seq_", "expert", "ep_", "_cp", "with_context", "embd", "model_parallel_group()", "intra", "inter", "last_rank",
)  # fmt: skip
"""Words in the text of a group that make its dims more than one, or other ones."""

MAX_CALLERS = 8
"""Files that are judged along with the edited one where that alone shows nothing: a group may come from a caller."""

GETTERS = {
    "tp": "get_tensor_model_parallel_rank",
    "pp": "get_pipeline_model_parallel_rank",
    "dp": "get_data_parallel_rank",
    "cp": "get_context_parallel_rank",
}

DIST = "import torch.distributed as _distributed"
STATE = "from megatron.core import parallel_state as _state"


@dataclass(frozen=True)
class Spot:
    """A statement that makes one collective: where, in which function, on which group as the source spells it."""

    path: str
    function: str
    first: int
    last: int
    indent: int
    call: str
    group: str
    reach: tuple[int, int]
    """The lines of the function."""

    @property
    def dim(self) -> str:
        """Give the one dim of the group, where its text says so."""
        if any(word in self.group for word in UNSURE):
            return ""
        return next((dim for text, dim in DIMS if self.group.endswith(text) or f"{text}_group" in self.group), "")


@dataclass(frozen=True)
class Mutant:
    """An edited file, the edited lines, and what should be found there; no code at all where it stays right."""

    operator: str
    spot: Spot
    text: str
    lines: tuple[int, int]
    codes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Tell mutants of one tree apart."""
        return f"{self.operator} {self.spot.path}:{self.spot.first} {self.spot.function}"


@dataclass
class Source:
    """One file: its lines and tree."""

    path: str
    text: str
    tree: ast.Module = field(init=False)
    lines: list[str] = field(init=False)

    def __post_init__(self) -> None:
        """Parse; raises SyntaxError and ValueError."""
        self.tree = ast.parse(self.text)
        self.lines = self.text.split("\n")

    def segment(self, node: ast.AST) -> str:
        """Give the text of a node on one line."""
        first, start = node.lineno - 1, node.col_offset  # type: ignore[attr-defined]
        last, end = node.end_lineno - 1, node.end_col_offset  # type: ignore[attr-defined]
        lines = [line.encode() for line in self.lines[first : last + 1]]
        lines[-1] = lines[-1][:end]
        lines[0] = lines[0][start:]
        return " ".join(b" ".join(lines).decode(errors="replace").split())

    def edited(self, first: int, last: int, new: Iterable[str]) -> str:
        """Give the text with lines `first` to `last` replaced."""
        return "\n".join([*self.lines[: first - 1], *new, *self.lines[last:]])


# -- finding what can be edited --------------------------------------------------------------------------------------


def functions(source: Source) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Give functions and methods with their qualified names; nested functions are not entered."""
    pending: list[tuple[str, list[ast.stmt]]] = [("", source.tree.body)]
    while pending:
        prefix, body = pending.pop(0)
        for node in body:
            if isinstance(node, ast.FunctionDef):
                yield prefix + node.name, node
            elif isinstance(node, ast.ClassDef):
                pending.append((f"{prefix}{node.name}.", node.body))


def collective(source: Source, node: ast.stmt) -> tuple[ast.Call, str] | None:
    """Give the collective that a statement makes, and the text of its group."""
    if not isinstance(node, ast.Expr | ast.Assign):
        return None
    call = node.value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    name, holder = call.func.attr, source.segment(call.func.value).rpartition(".")[2]
    if name not in COLLECTIVES or holder not in HOLDERS:
        return None
    group: ast.AST | None = next((k.value for k in call.keywords if k.arg == "group"), None)
    if group is None and len(call.args) > COLLECTIVES[name]:
        group = call.args[COLLECTIVES[name]]
    if any(k.arg is None for k in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    text = "" if group is None else source.segment(group)
    return call, "" if text == "None" else text


def blocks(node: ast.AST) -> Iterator[tuple[ast.AST, list[ast.stmt]]]:
    """Give the statement lists of a function with what owns them; nested definitions are not entered."""
    for name in ("body", "orelse", "finalbody"):
        body = getattr(node, name, None)
        if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
            yield node, body
            for statement in body:
                if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    yield from blocks(statement)
    for handler in getattr(node, "handlers", ()):
        yield from blocks(handler)


def ranked(source: Source, node: ast.AST) -> bool:
    """Say whether a test speaks of ranks."""
    text = source.segment(node).lower()
    return any(word in text for word in RANKED)


def _divided(source: Source, function: ast.FunctionDef) -> bool:
    """Say whether some branch of a function may divide ranks already."""
    tests = [n.test for n in ast.walk(function) if isinstance(n, ast.If | ast.While | ast.IfExp)]
    return any(ranked(source, test) for test in tests)


def whole(source: Source, node: ast.stmt) -> bool:
    """Say whether a statement has its lines for itself, and no line of it lies in a string."""
    before = source.lines[node.lineno - 1][: node.col_offset]
    end = node.end_lineno or node.lineno
    after = source.lines[end - 1].encode()[node.end_col_offset or 0 :].decode(errors="replace").strip()
    strings = any(
        isinstance(n, ast.Constant | ast.JoinedStr) and (n.end_lineno or n.lineno) > n.lineno for n in ast.walk(node)
    )
    return not before.strip() and (not after or after.startswith("#")) and not strings


def spot_of(source: Source, name: str, function: ast.FunctionDef, node: ast.stmt) -> Spot | None:
    """Give the spot of a statement, if it makes a collective."""
    found = collective(source, node)
    if found is None or not whole(source, node):
        return None
    call, group = found
    end = node.end_lineno or node.lineno
    reach = (function.lineno, function.end_lineno or function.lineno)
    assert isinstance(call.func, ast.Attribute)
    return Spot(source.path, name, node.lineno, end, node.col_offset, call.func.attr, group, reach)


def spots(source: Source) -> Iterator[tuple[Spot, Spot | None]]:
    """Give the collectives that all ranks of a function come to, each with that of the next statement."""
    for name, function in functions(source):
        if _divided(source, function):
            continue
        for _, body in blocks(function):
            found = [spot_of(source, name, function, node) for node in body]
            for here, after in zip(found, [*found[1:], None], strict=True):
                if here is not None:
                    yield here, after


# -- operators -------------------------------------------------------------------------------------------------------


def own_gate(spot: Spot, draw: random.Random) -> tuple[str, str]:
    """Give an import and a test that the first rank of the group alone passes."""
    if spot.dim and draw.random() < 0.5:
        return STATE, f"_state.{GETTERS[spot.dim]}() == 0"
    return DIST, f"_distributed.get_rank({'group=' + spot.group if spot.group else ''}) == 0"


def shifted(source: Source, spot: Spot, more: int) -> list[str]:
    """Give the lines of a spot, indented by more."""
    return [" " * more + line if line.strip() else line for line in source.lines[spot.first - 1 : spot.last]]


def gated(source: Source, spot: Spot, test: tuple[str, str], operator: str, codes: tuple[str, ...]) -> Mutant:
    """Move a statement under a test."""
    pad = " " * spot.indent
    new = [pad + test[0], f"{pad}if {test[1]}:", *shifted(source, spot, 4)]
    lines = (spot.first + 2, spot.first + len(new) - 1)
    return Mutant(operator, spot, source.edited(spot.first, spot.last, new), lines, codes)


def two_sided(
    source: Source, spot: Spot, last: int, sides: tuple[list[str], list[str]], test: tuple[str, str], operator: str,
    codes: tuple[str, ...],
) -> Mutant:  # fmt: skip
    """Put two blocks, already indented, on the sides of a test."""
    pad = " " * spot.indent
    new = [pad + test[0], f"{pad}if {test[1]}:", *sides[0], f"{pad}else:", *sides[1]]
    return Mutant(operator, spot, source.edited(spot.first, last, new), (spot.first, spot.first + len(new) - 1), codes)


def under_own_gate(source: Source, spot: Spot, after: Spot | None, draw: random.Random) -> Mutant | None:
    """A collective moved under a gate of its own group."""
    return gated(source, spot, own_gate(spot, draw), "gate", ("COL001",))


def early_return(source: Source, spot: Spot, after: Spot | None, draw: random.Random) -> Mutant | None:
    """An early return under a rank test, before the collective."""
    imported, test = own_gate(spot, draw)
    pad = " " * spot.indent
    new = [pad + imported, f"{pad}if {test}:", f"{pad}    return None", *shifted(source, spot, 0)]
    lines = (spot.first + 1, spot.first + 2)
    return Mutant("return", spot, source.edited(spot.first, spot.last, new), lines, ("COL002",))


def one_more(source: Source, spot: Spot, after: Spot | None, draw: random.Random) -> Mutant | None:
    """The collective twice on one side, once on the other: one of four copies is dropped."""
    here = shifted(source, spot, 4)
    sides = ([*here, *here], here) if draw.random() < 0.5 else (here, [*here, *here])
    return two_sided(source, spot, spot.last, sides, own_gate(spot, draw), "copies", ("COL003",))


def other_order(source: Source, spot: Spot, after: Spot | None, draw: random.Random) -> Mutant | None:
    """Two collectives that follow on each other, copied to both sides and swapped on one.

    Groups that share one rank at most may be swapped: only those of one group, or of a group and the world, are taken.
    """
    if after is None or after.first != spot.last + 1:
        return None
    if spot.call == after.call if spot.group == after.group else spot.group and after.group:
        return None
    one, two = shifted(source, spot, 4), shifted(source, after, 4)
    test = own_gate(spot, draw)
    return two_sided(source, spot, after.last, ([*one, *two], [*two, *one]), test, "order", ("COL003",))


def other_group(source: Source, spot: Spot, after: Spot | None, draw: random.Random) -> Mutant | None:
    """The collective on both sides, on the world on one of them."""
    if not spot.group or spot.call in ("barrier",):
        return None
    here = shifted(source, spot, 4)
    joined = "\n".join(here)
    for text in (f", group={spot.group}", f"group={spot.group}, ", f"group={spot.group},", f"group={spot.group}"):
        if joined.count(text) == 1:
            other = joined.replace(text, "").split("\n")
            test = own_gate(spot, draw)
            return two_sided(source, spot, spot.last, (here, other), test, "group", ("COL003",))
    return None


def under_other_dim(source: Source, spot: Spot, after: Spot | None, draw: random.Random) -> Mutant | None:
    """A gate of a dim that the group does not span."""
    if not spot.dim:
        return None
    near = {spot.dim, "cp"} if spot.dim == "dp" and "with_context_parallel" in source.text else {spot.dim}
    other = draw.choice([dim for dim in sorted(GETTERS) if dim not in near])
    return gated(source, spot, (STATE, f"_state.{GETTERS[other]}() == 0"), "other-dim", ())


def on_both_sides(source: Source, spot: Spot, after: Spot | None, draw: random.Random) -> Mutant | None:
    """The collective on both sides of a gate of its own group."""
    here = shifted(source, spot, 4)
    return two_sided(source, spot, spot.last, (here, here), own_gate(spot, draw), "both-sides", ())


def printed(source: Source, spot: Spot, after: Spot | None, draw: random.Random) -> Mutant | None:
    """A line of output under rank 0, before the collective."""
    pad = " " * spot.indent
    new = [pad + DIST, f"{pad}if _distributed.get_rank() == 0:", f'{pad}    print("here", flush=True)']
    new += shifted(source, spot, 0)
    return Mutant("print", spot, source.edited(spot.first, spot.last, new), (spot.first, spot.first + len(new) - 1))


def sized(source: Source, spot: Spot, after: Spot | None, draw: random.Random) -> Mutant | None:
    """A test of the group's own size round the collective."""
    test = f"_distributed.get_world_size({'group=' + spot.group if spot.group else ''}) > 1"
    return gated(source, spot, (DIST, test), "own-size", ())


def renamed(source: Source, spot: Spot, after: Spot | None, draw: random.Random) -> Mutant | None:
    """A local of the function under another name."""
    function = next((f for n, f in functions(source) if (n, f.lineno) == (spot.function, spot.reach[0])), None)
    if function is None:
        return None
    nested = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Global, ast.Nonlocal, ast.JoinedStr)
    if any(isinstance(n, nested) for n in ast.walk(function) if n is not function):
        return None
    names = [n for n in ast.walk(function) if isinstance(n, ast.Name)]
    parameters = {a.arg for a in ast.walk(function) if isinstance(a, ast.arg)}
    stored = sorted({n.id for n in names if isinstance(n.ctx, ast.Store)} - parameters)
    if not stored:
        return None
    name = draw.choice(stored)
    lines = [line.encode() for line in source.lines]
    for node in sorted((n for n in names if n.id == name), key=lambda n: (n.lineno, n.col_offset), reverse=True):
        line, start = lines[node.lineno - 1], node.col_offset
        lines[node.lineno - 1] = line[:start] + f"{name}_renamed".encode() + line[start + len(name.encode()) :]
    return Mutant("rename", spot, "\n".join(line.decode() for line in lines), spot.reach)


Make = Callable[[random.Random], Mutant | None]
Operator = Callable[[Source, Spot, Spot | None, random.Random], Mutant | None]

BREAKING: dict[str, Operator] = {
    "gate": under_own_gate,
    "return": early_return,
    "copies": one_more,
    "order": other_order,
    "group": other_group,
}
KEEPING: dict[str, Operator] = {
    "other-dim": under_other_dim,
    "both-sides": on_both_sides,
    "print": printed,
    "own-size": sized,
    "rename": renamed,
}
SIDES = ("drop", "swap")
"""Operators on branches that stand in the tree with events on both sides."""


@dataclass(frozen=True)
class Side:
    """One side of a branch on ranks: the sendings in it, in the order of the lines."""

    function: str
    reach: tuple[int, int]
    gate: tuple[int, int]
    statements: tuple[ast.stmt, ...]


def sides(source: Source) -> Iterator[Side]:
    """Give the sides of branches on ranks, with the sendings that have a counterpart on the other side."""
    for name, function in functions(source):
        reach = (function.lineno, function.end_lineno or function.lineno)
        for node in ast.walk(function):
            if not isinstance(node, ast.If) or not node.orelse or not ranked(source, node.test):
                continue
            if "ranks_in" in source.segment(node.test):
                continue  # lists of ranks are compared: all members of a group take one side
            one, other = (tuple(_sendings(source, body)) for body in (node.body, node.orelse))
            gate = (node.lineno, node.end_lineno or node.lineno)
            for side, beside in ((one, other), (other, one)):
                there = {_channel(source, node) for node in beside}
                kept = tuple(node for node in side if _channel(source, node) in there)
                if kept:
                    yield Side(name, reach, gate, kept)


def _channel(source: Source, node: ast.stmt) -> tuple[str, str]:
    """Give what is called and on which group: what a counterpart on the other side has in common."""
    assert isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    group = next((source.segment(k.value) for k in node.value.keywords if k.arg == "group"), "")
    return source.segment(node.value.func), group


def _sendings(source: Source, body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for top in body:
        for node in ast.walk(top):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and whole(source, node):
                func = node.value.func
                name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
                if "broadcast" in name or name in ("all_reduce", "barrier"):
                    yield node


def on_sides(source: Source) -> Iterator[Mutant]:
    """Give the mutants that drop a sending of one side or swap two."""
    for side in sides(source):
        for here, after in zip(side.statements, [*side.statements[1:], None], strict=True):
            spot = _side_spot(source, side, here)
            yield _dropped(source, side, spot)
            if after is not None and _follows(source, here, after):
                yield _swapped(source, side, spot, _side_spot(source, side, after))


def _follows(source: Source, here: ast.stmt, after: ast.stmt) -> bool:
    """Say whether two different statements of one block stand on lines that follow."""
    near = after.lineno == (here.end_lineno or here.lineno) + 1 and here.col_offset == after.col_offset
    return near and source.segment(here) != source.segment(after)


def _side_spot(source: Source, side: Side, node: ast.stmt) -> Spot:
    end = node.end_lineno or node.lineno
    call = source.segment(node)
    return Spot(source.path, side.function, node.lineno, end, node.col_offset, call, "", side.reach)


def _dropped(source: Source, side: Side, spot: Spot) -> Mutant:
    new = [" " * spot.indent + "pass"] + [""] * (spot.last - spot.first)
    codes = ("COL003", "PKD007") if len(side.statements) > 1 else ("COL001", "COL003", "PKD007")
    return Mutant("drop", spot, source.edited(spot.first, spot.last, new), side.gate, codes)


def _swapped(source: Source, side: Side, one: Spot, two: Spot) -> Mutant:
    new = [*shifted(source, two, 0), *shifted(source, one, 0)]
    return Mutant("swap", one, source.edited(one.first, two.last, new), side.gate, ("COL003", "PKD007"))


# -- drawing and judging ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """What became of one mutant."""

    tree: str
    name: str
    operator: str
    keeps: bool
    path: str
    function: str
    line: int
    call: str
    group: str
    flagged: bool
    code: bool
    at_line: bool
    found: tuple[str, ...]


@dataclass
class Tree:
    """The Python files of a checkout, read once, and what meshlint says of them unchanged."""

    name: str
    root: Path
    texts: dict[str, str] = field(default_factory=dict)
    facts: dict[str, object] = field(default_factory=dict)
    before: dict[str, frozenset[tuple[str, str, str]]] = field(default_factory=dict)

    def load(self) -> None:
        """Read the files."""
        for path in sorted(self.root.rglob("*.py")):
            name = path.relative_to(self.root).as_posix()
            if path.is_file() and not path.is_symlink() and not name.startswith("."):
                self.texts[name] = path.read_text("utf-8", "replace")
        self.facts = dict(facts_of(self.texts.items()))

    def sources(self) -> Iterator[Source]:
        """Give the files that may hold collectives, tests left out."""
        for path, text in self.texts.items():
            parts = path.split("/")
            if any("test" in part for part in parts) or not any(name in text for name in HOLDERS):
                continue
            try:
                yield Source(path, text)
            except (SyntaxError, ValueError):
                continue

    def faults(self, paths: tuple[str, ...], changed: Mapping[str, str]) -> list[CodeFault]:
        """Judge some files, with other texts where they are given."""
        facts = {**self.facts, **facts_of(changed.items())}
        return list(Program(paths, facts).faults())  # type: ignore[arg-type]

    def known(self, path: str) -> frozenset[tuple[str, str, str]]:
        """Give what is found in a file as it is."""
        if path not in self.before:
            self.before[path] = frozenset(key(fault) for fault in self.faults((path,), {}))
        return self.before[path]

    def callers(self, spot: Spot) -> tuple[str, ...]:
        """Give some files that may call the function of a spot."""
        call = f"{spot.function.rpartition('.')[2]}("
        found = [path for path, text in self.texts.items() if call in text and path != spot.path and "test" not in path]
        return tuple(found[:MAX_CALLERS])


def key(fault: CodeFault) -> tuple[str, str, str]:
    """Tell findings apart without their lines."""
    return (fault.code, fault.scope, fault.subject)


def drawn(tree: Tree, seed: int, each: int, only: frozenset[str]) -> Iterator[Mutant]:
    """Give up to `each` mutants of every operator, one of a function and three of a file."""
    pool: dict[str, list[tuple[Spot, Make]]] = {}
    for source in tree.sources():
        for spot, after in spots(source):
            for name, operator in {**BREAKING, **KEEPING}.items():
                pool.setdefault(name, []).append((spot, partial(operator, source, spot, after)))
        for mutant in on_sides(source):
            pool.setdefault(mutant.operator, []).append((mutant.spot, partial(_given, mutant)))
    for name in (*BREAKING, *SIDES, *KEEPING):
        if not only or name in only:
            yield from _pick(pool.get(name, []), random.Random(f"{seed} {tree.name} {name}"), each)


def _given(mutant: Mutant, draw: random.Random) -> Mutant:
    return mutant


def _pick(pool: list[tuple[Spot, Make]], draw: random.Random, each: int) -> Iterator[Mutant]:
    order = list(range(len(pool)))
    draw.shuffle(order)
    taken: dict[tuple[str, str], int] = {}
    files: dict[str, int] = {}
    for index in order:
        spot, make = pool[index]
        if sum(files.values()) >= each:
            return
        if taken.get((spot.path, spot.function)) or files.get(spot.path, 0) >= 3:
            continue
        mutant = make(draw)
        if mutant is None or not _parses(mutant.text):
            continue
        taken[spot.path, spot.function] = 1
        files[spot.path] = files.get(spot.path, 0) + 1
        yield mutant


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def places(fault: CodeFault, path: str) -> Iterator[Span]:
    """Give the places in a file that a finding tells of, its own first."""
    for span in (fault.span, *(related.span for related in fault.related)):
        if span.path == path:
            yield span


def tells_of(fault: CodeFault, spot: Spot) -> bool:
    """Say whether a finding stands in the edited file, or at a call and tells of lines of the edited function."""
    first, last = spot.reach
    edited = any(first <= span.line <= last for span in places(fault, spot.path))
    return fault.span.path == spot.path or edited


def judged(tree: Tree, mutant: Mutant) -> Row | None:
    """Judge one mutant; None where meshlint had something to say about the function before."""
    spot = mutant.spot
    known = tree.known(spot.path)
    if any(scope == spot.function for _, scope, _ in known):
        return None
    changed = {spot.path: mutant.text}
    keeps = mutant.operator in KEEPING
    new = [fault for fault in tree.faults((spot.path,), changed) if key(fault) not in known]
    if not keeps and not new and (callers := tree.callers(spot)):
        paths = (spot.path, *callers)
        before = {key(fault) for fault in tree.faults(paths, {})}
        new = [f for f in tree.faults(paths, changed) if key(f) not in before and tells_of(f, spot)]
    here = new if keeps else [f for f in new if f.span.path != spot.path or f.scope == spot.function]
    right = [f for f in here if f.code in mutant.codes]
    first, last = mutant.lines
    return Row(
        tree=tree.name,
        name=mutant.name,
        operator=mutant.operator,
        keeps=keeps,
        path=spot.path,
        function=spot.function,
        line=spot.first,
        call=spot.call,
        group=spot.group,
        flagged=bool(here),
        code=bool(right),
        at_line=any(first <= span.line <= last for f in right or here for span in places(f, spot.path)),
        found=tuple(f"{f.code} {f.severity.value} {f.span.line}" for f in new),
    )


# -- telling ---------------------------------------------------------------------------------------------------------


def table(rows: list[Row]) -> Iterator[str]:
    """Give the counts by operator and by tree."""
    yield f"{'operator':12}{'mutants':>9}{'flagged':>9}{'code':>7}{'line':>7}"
    for name in (*BREAKING, *SIDES, *KEEPING):
        yield _counts(name, [row for row in rows if row.operator == name])
    for keeps, label in ((False, "broken"), (True, "still right")):
        yield ""
        yield label
        for tree in sorted({row.tree for row in rows}):
            yield _counts(tree, [row for row in rows if row.tree == tree and row.keeps is keeps])
        yield _counts("all", [row for row in rows if row.keeps is keeps])


def _counts(name: str, rows: list[Row]) -> str:
    sums = (sum(r.flagged for r in rows), sum(r.code for r in rows), sum(r.at_line for r in rows))
    return f"{name:16}{len(rows):>5}{sums[0]:>9}{sums[1]:>7}{sums[2]:>7}"


def _stored(file: Path | None) -> dict[tuple[str, str], Row]:
    if file is None or not file.exists():
        return {}
    rows = [Row(**json.loads(line)) for line in file.read_text().splitlines()]
    return {(row.tree, row.name): row for row in rows}


def run(tree: Tree, options: argparse.Namespace, stored: Mapping[tuple[str, str], Row]) -> Iterator[Row]:
    """Judge the mutants of one tree that are not stored yet."""
    tree.load()
    for mutant in drawn(tree, options.seed, options.each, frozenset(options.only)):
        if (tree.name, mutant.name) in stored:
            continue
        row = judged(tree, mutant)
        if row is not None:
            yield row


def main(words: list[str]) -> int:
    """Judge, store and print."""
    upstream = os.environ.get("MESHLINT_UPSTREAM")
    if not upstream:
        print("skipped: MESHLINT_UPSTREAM names no folder of checkouts")
        return 0
    parser = argparse.ArgumentParser()
    parser.add_argument("trees", nargs="*", default=list(TREES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=4)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--only", action="append", default=[])
    options = parser.parse_args(words)
    gc.disable()
    stored = _stored(options.results)
    rows = list(stored.values())
    for name in options.trees or TREES:
        root = Path(upstream) / name
        if not root.is_dir():
            print(f"{name}: not there")
            continue
        for row in run(Tree(name, root), options, stored):
            rows.append(row)
            mark = ("FALSE" if row.flagged else "ok") if row.keeps else ("found" if row.flagged else "-")
            print(f"{mark:6}{row.tree} {row.name} [{row.group}] {' '.join(row.found)}", flush=True)
            if options.results is not None:
                with options.results.open("a") as file:
                    file.write(json.dumps(asdict(row)) + "\n")
        gc.collect()
    print("\n".join(table(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
