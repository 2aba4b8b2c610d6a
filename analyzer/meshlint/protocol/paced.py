"""Objects that say how far a thread of this rank is, and what makes them say the same on all ranks: waiting for it.

    if future.done(): dist.barrier()      each rank looks for itself
    future.result()
    if future.done(): dist.barrier()      it is done on all of them

What something else may have waited for counts as waited for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from meshlint.models.python_runtime import ENDS, WAITS
from meshlint.protocol.events import apply_model
from meshlint.protocol.facts import Node
from meshlint.protocol.syntax import root_of
from meshlint.protocol.values import Paced, Seq, V

if TYPE_CHECKING:
    from meshlint.protocol.walk import Walker


def text_of(paced: Paced, name: str) -> str:
    """Give the text by which models know an attribute of such an object."""
    return f"{paced.name}().{name}"


def paced_method(walker: Walker, base: V, name: str, node: Node) -> V | None:
    """Call a method: one that says how far it is, or that waits; None for others."""
    paced: Paced = base.data
    entry = walker.engine.models.find(text_of(paced, name))
    if entry is not None:
        walker.arguments(node)
        if paced.over:
            return walker.domain.unknown(walker.key(text_of(paced, name), node[4]), nonnull=True)
        return apply_model(walker, entry, [], {}, node, text_of(paced, name))
    if name in WAITS.get(paced.name, ()) and (paced.name == "Future" or not (node[2] or node[3])):
        walker.arguments(node)
        waited_for(walker, base, node[1][1])
        return walker.domain.unknown(walker.key(f"{base.text}.{name}", node[4]))
    return None


def waited_for(walker: Walker, value: V, node: Node | None) -> None:
    """Take an object for one that is at its end, by all of its names and the place that it was read from."""
    frame = walker.frame
    path = walker.path(node) if node is not None else ""
    if path and path not in frame.env:
        walker.bind(path, root_of(path), value)
    params = {param.name for param in frame.definition.params}
    for name, other in list(frame.env.items()):
        if isinstance(other.data, Paced) and other.expr is value.expr:
            frame.env[name] = replace(other, data=Paced(other.data.name, over=True), phi=None)
            if name in params:
                frame.waited.add(name)


def handed_on(walker: Walker, values: Iterable[V]) -> None:
    """Take objects that are given to something nobody can look into, alone or in a list, for waited for."""
    for value in values:
        for one in value.data.items if isinstance(value.data, Seq) else (value,):
            if isinstance(one.data, Paced):
                waited_for(walker, one, None)


def left_over(walker: Walker, test: Node) -> None:
    """Take what a loop went round for, until it was at its end, for waited for: `while not future.done(): ...`."""
    holds = True
    while test[:2] == ("U", "not"):
        test, holds = test[2], not holds
    if test[0] != "K" or test[1][0] != "A" or ENDS.get(test[1][2]) is not holds:
        return
    waited_at(walker, test[1][1])


def waited_at(walker: Walker, node: Node) -> None:
    """Take what stands at a place for waited for."""
    path = walker.path(node)
    if path:
        value = walker.frame.env.get(path) or walker.eval(node)
        if isinstance(value.data, Paced):
            waited_for(walker, value, node)
