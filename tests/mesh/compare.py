"""Compares the engine with the reference over random protocols; counts what it saw and what disagreed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

from reference import (
    Shape,
    Translator,
    any_order_agrees,
    condition_at,
    features,
    idle_lines,
    judge,
    mesh_for,
    one_group_agrees,
    write,
)

from meshlint.mesh.blame import Judge, blame
from meshlint.mesh.choose import parts
from meshlint.mesh.dims import STANDARD, Mesh
from meshlint.mesh.fast import Prover
from meshlint.mesh.gate import Expr
from meshlint.mesh.simulate import Options, simulate_on
from meshlint.mesh.term import Alt, Loop, Op, walk

SHAPES = (
    Shape(),
    Shape(groups=("tp", "dp"), statements=("op", "op", "op", "if", "if", "async", "async")),
    Shape(groups=("tp", "dp"), conditions=("first", "odd"), statements=("op", "op", "if")),
    Shape(statements=("op", "op", "if", "if", "prefix", "return"), conditions=("first", "contract", "config")),
    Shape(
        groups=("pp", "embd", "tp"),
        conditions=("first", "last", "member", "contract"),
        statements=("op", "op", "if", "if", "return", "for"),
        sizes=(("tp", 2), ("pp", 3)),
    ),
    Shape(groups=("tp",), statements=("op", "op", "if", "if", "for", "return", "break", "raise")),
    Shape(conditions=("first", "local", "local", "contract"), statements=("op", "op", "if", "if", "for", "return")),
    Shape(
        groups=("pp", "embd", "tp", "world"),
        conditions=("first", "last", "member", "contract", "config", "opaque", "size"),
        statements=(
            *("op", "op", "op", "if", "if", "if", "for", "async", "async", "prefix"),
            *("return", "break", "raise"),
        ),
        sizes=(("tp", 2), ("pp", 3)),
    ),
    Shape(
        groups=("tp", "dp"),
        conditions=("first", "odd", "contract", "config"),
        statements=("op", "op", "op", "if", "if", "if", "for", "for", "break", "break", "return"),
    ),
    Shape(
        groups=("tp", "embd", "pp"),
        conditions=("first", "member", "contract"),
        statements=("op", "op", "if", "if", "if", "prefix", "prefix", "async", "return"),
        sizes=(("tp", 2), ("pp", 3)),
    ),
    Shape(
        groups=("tp", "dp"),
        conditions=("first", "contract", "config"),
        statements=("op", "prefix", "prefix", "rounds", "rounds", "if", "if", "return"),
        scoped=True,
    ),
    Shape(
        groups=("tp", "dp"),
        conditions=("first", "odd", "contract"),
        statements=("op", "async", "async", "async", "async", "if", "for"),
    ),
    Shape(
        groups=("tp", "world"),
        conditions=("first", "contract", "config"),
        statements=("op", "op", "for", "for", "if", "if", "break", "break", "break", "return"),
    ),
)
ONE_GROUP = SHAPES[5]
FREE = SHAPES[6]


def compare(seed: int, counts: Counter[str], shape: Shape | None = None) -> list[str]:
    """Judge one random protocol in every way; gives what disagrees."""
    shape = shape or SHAPES[seed % len(SHAPES)]
    program = write(seed, shape)
    counts.update(f"with {feature}" for feature in features(program))
    expected = judge(program, shape, idle=idle_lines(program))
    if expected is None:
        counts["too many valuations"] += 1
        return []
    translator = Translator()
    term = translator.term(program)
    mesh = mesh_for(shape)
    options = Options(free_locals=shape is FREE)
    verdict = simulate_on(term, mesh, options)
    if not verdict.known:
        counts["no verdict"] += 1
        return []
    counts["compared"] += 1
    counts["refuted" if expected.refuted else "safe"] += 1
    wrong = []
    if (verdict.run is not None) != expected.refuted:
        wrong.append(f"{seed}: simulation says {verdict.run is not None}, reference {expected.refuted}")
    if Prover(translator.terms, STANDARD).safe(term):
        counts["proven"] += 1
        if expected.refuted:
            wrong.append(f"{seed}: proven safe, but the reference refutes it")
    if verdict.run is not None:
        wrong += _blamed(seed, program, shape, term, verdict.run, options, counts)
    if not any_order_agrees(program, shape, seed):
        wrong.append(f"{seed}: the order of ranks matters")
    if shape is ONE_GROUP:
        counts["one group"] += 1
        if not one_group_agrees(program, shape, seed):
            wrong.append(f"{seed}: pairwise comparison and run disagree on one group")
    wrong += _judged(seed, program, shape, translator, term, expected.refuted, counts)
    return wrong


def _blamed(
    seed: int, program: Any, shape: Shape, term: Any, run: Any, options: Options, counts: Counter[str]
) -> list[str]:
    found = blame(term, run, options)
    if found.node is None:
        counts["no gate blamed"] += 1
        return [] if not any(run.paths) else [f"{seed}: no gate blamed"]
    if not found.removed:
        counts["several faults"] += 1
        return []
    counts["blamed"] += 1
    line = found.node.gate.site.span.line
    flipped = isinstance(found.node, Alt) and Translator().expr(condition_at(program, line)).op == "not"
    forced = {line: not found.forced if flipped else found.forced}
    mended = judge(program, shape, forced, idle=idle_lines(program))
    if mended is not None and not mended.refuted:
        return []
    if any(_chosen_by(found.node, op.value) for op in walk(term) if isinstance(op, Op) and op.value is not None):
        counts["blamed over a value that was chosen before the gate"] += 1
        return []
    return [f"{seed}: forcing the blamed gate mends nothing"]


def _chosen_by(node: Alt | Loop, value: Expr) -> bool:
    """Say whether a value was joined over both sides of a gate, as where equal calls were lifted out of it."""
    chosen = [part.args[0] for part in parts((value,)) if part.op == "ite"]
    return isinstance(node, Alt) and any(condition is node.condition for condition in chosen)


def _shape_of(shape: Shape, mesh: Mesh) -> Shape:
    sizes = tuple((name, mesh.extent(STANDARD.mask(name))) for name, _ in shape.sizes)
    return replace(shape, sizes=sizes)


def _refuted_somewhere(program: Any, shape: Shape, meshes: list[Mesh]) -> bool:
    """Ask the reference on the meshes of the faults, and then on every mesh of one to three ranks a dim."""
    names = [name for name, _ in shape.sizes]
    every = (tuple(zip(names, sizes, strict=True)) for sizes in product((1, 2, 3), repeat=len(names)))
    shapes = (*(_shape_of(shape, mesh) for mesh in meshes), *(replace(shape, sizes=sizes) for sizes in every))
    answers = (judge(program, other, idle=idle_lines(program)) for other in shapes)
    return any(answer is None or answer.refuted for answer in answers)


def _judged(
    seed: int, program: Any, shape: Shape, translator: Translator, term: Any, refuted: bool, counts: Counter[str]
) -> list[str]:
    found = Judge(translator.terms, STANDARD).faults(term)
    faults = [fault for fault in found if fault.grade == "mesh" or (shape is FREE and fault.grade == "local")]
    if faults and not refuted and not _refuted_somewhere(program, shape, [fault.run.mesh for fault in faults]):
        if "recv" not in str(program):
            counts["parts refuted, whole safe"] += 1
            return [f"{seed}: parts refuted, whole safe on every mesh"]
        counts["parts refuted over a value that some ranks never receive"] += 1
    if refuted and not faults:
        counts["whole refuted, parts silent"] += 1
    return []
