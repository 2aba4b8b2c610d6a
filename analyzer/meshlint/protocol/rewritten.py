"""Tensors that are written to in place: what was known of them holds no longer.

    flag = torch.tensor([rank != 0])
    dist.reduce(flag, dst=0)
    if not flag.item():
        return

A number that was computed from the rank says nothing of the tensor once a collective that clears no dims, a method such
as `add_`, or a function that nobody can look into may have written there. It varies as before, and by no known rule.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from meshlint.models.entry import Entry
from meshlint.protocol.facts import Node
from meshlint.protocol.paced import handed_on
from meshlint.protocol.syntax import root_of
from meshlint.protocol.values import Domain, Func, Klass, Module, Seq, V

if TYPE_CHECKING:
    from meshlint.protocol.frame import Frame
    from meshlint.protocol.walk import Walker

_READS = frozenset(dir(builtins)) | {"info", "debug", "warning", "error", "log", "append", "add_scalar"}
"""Functions and methods that only read what they are given, by name."""

_SENT = frozenset(("gather", "gather_object"))
"""Events of which the first argument is only read."""


def rewrite(walker: Walker, callee: V | None, base: V | None, args: Iterable[V], node: Node) -> None:
    """Forget what was known of tensors and lists that a call may write to; functions of the program are followed."""
    name = node[1][2] if node[1][0] == "A" else node[1][1] if node[1][0] == "N" else ""
    if base is not None and _computed(base) and name.endswith("_") and not name.endswith("__"):
        forget(walker.frame, walker.domain, base, node)
    args = tuple(args)
    if callee is not None and not isinstance(callee.data, Func | Klass) and name not in _READS:
        handed_on(walker, args)
    given = [value for value in args if _computed(value) or isinstance(value.data, Seq)]
    listed_below = walker.frame.parted and (node[2] or node[3])
    if callee is None or not (given or listed_below) or not _writes(walker, callee, name):
        return
    for value in given:
        forget(walker.frame, walker.domain, value, node)
    for argument in (*node[2], *(part for _, part in node[3])):
        path = walker.path(argument)
        if path:
            _forget_elements(walker, path, node)


def _forget_elements(walker: Walker, path: str, node: Node) -> None:
    """Forget the elements of a list or dict that a call was given, where they are computed from the rank."""
    env, start = walker.frame.env, f"{path}["
    held = env.get(path)
    if held is not None and isinstance(held.data, Seq) and any(map(_by_rank, held.data.items)):
        env[path] = replace(held, data=None)
    if root_of(path) not in walker.frame.parted:
        return
    for name, value in env.items():
        if name.startswith(start) and _by_rank(value):
            expr = walker.domain.opaque(f"#{value.expr.id} written@{walker.frame.path}:{node[4]}", (value.expr,))
            env[name] = replace(value, expr=expr, phi=None)


def forget(frame: Frame, domain: Domain, value: V, node: Node) -> None:
    """Forget the number in a tensor, by all of its names."""
    if not _computed(value):
        return
    for name, other in frame.env.items():
        if other.buf == value.buf and _computed(other):
            key = f"#{other.expr.id} written@{frame.path}:{node[4] if node[0] == 'K' else node[1]}"
            frame.env[name] = replace(other, expr=domain.opaque(key, (other.expr,)), phi=None)


def _computed(value: V) -> bool:
    """Say whether a value is a tensor whose number is computed from the place of the rank."""
    return bool(value.buf) and _by_rank(value)


def _by_rank(value: V) -> bool:
    return bool(value.expr.var) and value.expr.op not in ("atom", "recv")


def _writes(walker: Walker, callee: V, name: str) -> bool:
    """Say whether something that is called may write to the tensors that it is given."""
    data = callee.data
    if isinstance(data, Func | Klass):
        return False
    target = data.target.name if isinstance(data, Module) else callee.text or name
    entry = walker.engine.models.find(target)
    if entry is not None:
        return _model_writes(entry, name)
    if target.startswith("torch.") and not target.startswith("torch.distributed"):
        return name.endswith("_")
    return name not in _READS


def _model_writes(entry: Entry, name: str) -> bool:
    if entry.kind == "p2p":
        return "recv" in name
    return entry.kind == "op" and entry.effect == "none" and entry.op not in _SENT
