"""Decorators of the program that let a call go on only where a condition holds, and do nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshlint.mesh.gate import Expr
from meshlint.protocol.facts import Node
from meshlint.protocol.frame import Frame
from meshlint.protocol.walk import Walker

if TYPE_CHECKING:
    from meshlint.protocol.summary import Engine


def gate_around(engine: Engine, path: str, decorator: Node) -> Expr | None:
    """Give the condition under which a decorator calls what it decorates; None where it is no plain gate on ranks."""
    linker = engine.linker
    target = linker.chain(path, decorator)
    if target is None or target.kind != "def":
        return None
    outer = linker.definition(target.path, target.index)
    linker.note("body", target.path, target.index)
    inside = [node for node in outer.body if node[0] == "def"]
    last = outer.body[-1] if outer.body else ("pass",)
    if len(outer.params) != 1 or len(inside) != 1 or last[:1] + last[2:3] != ("return", ("N", inside[0][2])):
        return None
    linker.note("body", target.path, inside[0][3])
    wrapper = linker.definition(target.path, inside[0][3])
    found = _test(tuple(node for node in wrapper.body if not _is_text(node)), outer.params[0].name)
    if found is None:
        return None
    test, holds = found
    around = Frame(target.path, outer, {}, lazy=True)
    value = Walker(engine, Frame(target.path, wrapper, {}, parent=around, lazy=True)).eval(test)
    condition = engine.domain.truth(value)
    if not condition.var:
        return None
    return condition if holds else engine.values.negate(condition)


def _test(body: tuple[Node, ...], name: str) -> tuple[Node, bool] | None:
    """Give the test of `if test: return name(...)`, or of `if test: return` before it, and when the call is made."""
    if not body or body[0][0] != "if":
        return None
    _, _, test, then, otherwise, *_ = body[0]
    rest = body[1:]
    if _calls(then, name) and _leaves(otherwise) and _leaves(rest):
        return test, True
    if then and _leaves(then) and not otherwise and _calls(rest, name):
        return test, False
    return None


def _calls(body: tuple[Node, ...], name: str) -> bool:
    """Say whether a block does nothing but call a name."""
    if len(body) != 1 or body[0][0] not in ("return", "expr"):
        return False
    call = body[0][2]
    return bool(call[0] == "K" and call[1] == ("N", name))


def _leaves(body: tuple[Node, ...]) -> bool:
    """Say whether a block does nothing but give a constant."""
    return all(node[0] == "pass" or (node[0] == "return" and node[2][0] == "C") for node in body)


def _is_text(node: Node) -> bool:
    return bool(node[0] == "expr" and node[2][0] == "C")
