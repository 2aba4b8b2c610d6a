"""Groups that are not handed on: two checks of calls and parameters that need no walk.

`not_forwarded`: a function takes a group, passes it to some call, and leaves it out in another whose default is the
world. `switched_off`: a function makes a collective only if it was given a group, and a caller gives none while another
does.
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.models import names
from meshlint.models.entry import Entry
from meshlint.place import Span
from meshlint.protocol.facts import COLLECTIVE, Definition, Node, calls, dotted
from meshlint.protocol.summary import Engine
from meshlint.records import dataclass

__all__ = ["Omitted", "calls", "falls_back", "not_forwarded", "switched_off"]


@dataclass(frozen=True, slots=True)
class Omitted:
    """A call that leaves a group out: where, in which function, which parameter, and a call that passes it.

    `taker` is where the function begins that takes the group, `dims` are those of which the names speak. `does` says
    what the call does, and `uses` and `used` what is done with the group, where: an operation, or `size`.
    """

    span: Span
    scope: str
    parameter: str
    callee: str
    other: Span
    taker: Span
    dims: tuple[str, ...] = ()
    does: str = ""
    uses: str = ""
    used: Span | None = None


def group_parameters(definition: Definition) -> tuple[str, ...]:
    """Give the parameters that are groups by their name."""
    return tuple(
        p.name for p in definition.params if p.name in ("group", "process_group", "pg") or p.name.endswith("_group")
    )


def not_forwarded(engine: Engine, path: str, definition: Definition) -> Iterator[Omitted]:
    """Give the collectives on the world in a function that was given one group and uses it for others."""
    names = group_parameters(definition)
    if len(names) != 1 or not definition.seeds & COLLECTIVE:
        return
    name = names[0]
    if any(_tests(node, name) for node in definition.body) or _rebinds(definition.body, name):
        return
    divisors = set(_divisors(definition.body))
    passes: tuple[Node, str] | None = None
    omits: list[tuple[Node, str]] = []
    for call in calls(definition.body):
        entry, targets = engine.callee(path, definition, dotted(call[1]))
        if entry is None or targets:
            does = _moves_without(engine, targets, name, call)
            omits += [(call, does)] if does else []
            continue
        if entry.group == (-1, "") or entry.creates:
            continue
        given = _group_given(entry, call)
        if given == ("N", name):
            passes = passes or (call, entry.op or entry.kind)
        elif given is None and entry.dims == ("world",) and _counts(entry, call, divisors):
            omits.append((call, entry.op or entry.kind))
    if passes is None:
        return
    taker, other = Span(path, definition.line, 1), _span(path, passes[0])
    for call, does in omits:
        yield Omitted(
            _span(path, call), definition.qualname, name, dotted(call[1]), other, taker, _dims_of(name), does,
            passes[1], other,
        )  # fmt: skip


def _group_given(entry: Entry, call: Node) -> Node | None:
    """Give what a call of a library gives as the group; None where it leaves it out."""
    position, keyword = entry.group
    given = next((value for name, value in call[3] if name == keyword), None)
    if given is None and 0 <= position < len(call[2]):
        return call[2][position]  # type: ignore[no-any-return]
    return given


def _moves_without(engine: Engine, targets: list[tuple[str, int]], name: str, call: Node) -> str:
    """Give the operation that a function of the program makes on a group of this name, which the call leaves out.

    The default is None, and nothing is made of None there: the operation works on the world. A function that calls
    itself is no other.
    """
    if len(targets) != 1:
        return ""
    path, index = targets[0]
    callee = engine.linker.definition(path, index)
    if name not in optional_groups(callee) or _gives(callee, name, call):
        return ""
    if any(_tests(node, name) for node in callee.body) or _rebinds(callee.body, name):
        return ""
    for inner in calls(callee.body):
        entry, others = engine.callee(path, callee, dotted(inner[1]))
        if entry is None or others or entry.kind != "op" or entry.op == "barrier" or entry.dims != ("world",):
            continue
        if entry.group != (-1, "") and _group_given(entry, inner) == ("N", name):
            return entry.op
    return ""


def asked_and_left_out(engine: Engine, path: str, definition: Definition) -> Iterator[Omitted]:
    """Give the collectives on the world where a group was asked for, is there, and is used for nothing."""
    if not definition.seeds & COLLECTIVE:
        return
    for line, test, there, _ in _none_tests(definition.body):
        name = dotted(test).rpartition(".")[2]
        if not names.is_group(name) or _mentions(there, test):
            continue
        for call in calls(there):
            entry, targets = engine.callee(path, definition, dotted(call[1]))
            if entry is None or targets or entry.kind != "op" or entry.op == "barrier" or entry.creates:
                continue
            if entry.dims != ("world",) or entry.group == (-1, "") or _group_given(entry, call) is not None:
                continue
            asked = Span(path, line, 1)
            yield Omitted(
                _span(path, call), definition.qualname, name, dotted(call[1]), asked, Span(path, definition.line, 1),
                _dims_of(name), entry.op, "rank", asked,
            )  # fmt: skip


def _mentions(node: object, what: Node) -> bool:
    return isinstance(node, tuple) and (node == what or any(_mentions(part, what) for part in node))


def falls_back(engine: Engine, path: str, definition: Definition) -> Iterator[Omitted]:
    """Give the sums over the world that stand in for one over a group of model parallelism that is None.

    Where there is no such group there is nothing to sum over: the ranks of the world hold shares of other data.
    """
    if not definition.seeds & COLLECTIVE:
        return
    for _, test, there, absent in _none_tests(definition.body):
        name = dotted(test).rpartition(".")[2]
        dims = _dims_of(name)
        if not dims or "dp" in dims or "edp" in dims:
            continue
        given = [(call, op) for call, op in _sums(engine, path, definition, there) if test in _values(call)]
        for call, op in _sums(engine, path, definition, absent):
            match = next((one for one, other in given if other == op), None)
            if match is not None and len(_values(call)) < len(_values(match)):
                yield Omitted(
                    _span(path, call), definition.qualname, name, dotted(call[1]), _span(path, match),
                    Span(path, definition.line, 1), dims, op, op, _span(path, match),
                )  # fmt: skip


def _values(call: Node) -> list[Node]:
    return [*call[2], *(value for _, value in call[3])]


def _sums(engine: Engine, path: str, definition: Definition, body: tuple[Node, ...]) -> Iterator[tuple[Node, str]]:
    """Give the reductions in statements, and which they are."""
    for call in calls(body):
        entry, _ = engine.callee(path, definition, dotted(call[1]))
        if entry is not None and entry.kind == "op" and entry.op == "all_reduce" and entry.dims == ("world",):
            yield call, entry.op


def _none_tests(body: tuple[Node, ...]) -> Iterator[tuple[int, Node, tuple[Node, ...], tuple[Node, ...]]]:
    """Give the line of every `if x is None`, `x`, and what is done where it is there and where it is not."""
    for node in body:
        test = node[2] if node[0] == "if" else None
        if test is not None and test[0] == "Q" and test[3] == (("C", None),) and test[1][0] in ("is", "is not"):
            yield node[1], test[2], *((node[4], node[3]) if test[1][0] == "is" else (node[3], node[4]))
        for part in node[2:]:
            block = isinstance(part, tuple) and part and isinstance(part[0], tuple) and part[0]
            if block and isinstance(part[0][0], str):
                yield from _none_tests(part)


def _counts(entry: Entry, call: Node, divisors: set[Node]) -> bool:
    """Say whether a call on the world matters: a collective that moves data, or a size that something is divided by."""
    return entry.op != "barrier" if entry.kind == "op" else entry.kind == "size" and call in divisors


def _divisors(node: object) -> Iterator[Node]:
    if not isinstance(node, tuple):
        return
    if len(node) == 4 and node[0] == "M" and node[1] in ("/", "//") and node[3][0] == "K":
        yield node[3]
    for part in node:
        if isinstance(part, tuple):
            yield from _divisors(part)


def optional_groups(definition: Definition) -> tuple[str, ...]:
    """Give the parameters that are groups and may be left out."""
    names = group_parameters(definition)
    return tuple(p.name for p in definition.params if p.name in names and p.default == ("C", None))


def switched_off(engine: Engine, path: str, definition: Definition) -> Iterator[Omitted]:
    """Give the callers that leave out a group without which a function makes no collective, where another gives it."""
    for name in optional_groups(definition):
        agrees = next((one for node in definition.body for one in _guards(engine, path, definition, node, name)), None)
        if agrees is None:
            continue
        if _agrees_elsewhere(engine, path, definition, name):
            continue
        with_it: list[tuple[str, Definition, Node]] = []
        without: list[tuple[str, Definition, Node]] = []
        for caller_path, index in engine.callers(path, definition.index):
            caller = engine.linker.definition(caller_path, index)
            for call in calls(caller.body):
                if (path, definition.index) in engine.callee(caller_path, caller, dotted(call[1]))[1]:
                    side = with_it if _gives(definition, name, call) else without
                    side.append((caller_path, caller, call))
        if with_it:
            other = _span(with_it[0][0], with_it[0][2])
            named = {given for _, _, call in with_it for given in _given_names(definition, name, call)}
            dims = _dims_of(name) or next((found for found in map(_dims_of, sorted(named)) if found), ())
            for caller_path, caller, call in without:
                if not _at_hand(engine, caller_path, caller, named, dims):
                    continue
                if _pinned(engine, caller_path, caller, caller.body, call, dims):
                    continue
                yield Omitted(
                    _span(caller_path, call), caller.qualname, name, definition.name, other,
                    Span(path, definition.line, 1), dims, "", *agrees,
                )  # fmt: skip


def _agrees_elsewhere(engine: Engine, path: str, definition: Definition, name: str) -> bool:
    """Say whether a function makes a collective without the group too: then the group only widens the agreement."""
    for call in calls(definition.body):
        entry, _ = engine.callee(path, definition, dotted(call[1]))
        uses = ("N", name) in call[2] or any(value == ("N", name) for _, value in call[3])
        if entry is not None and entry.kind == "op" and not uses:
            return True
    return False


def _given_names(definition: Definition, name: str, call: Node) -> Iterator[str]:
    """Give the last name of what a call passes for a parameter."""
    given = next((value for keyword, value in call[3] if keyword == name), None)
    if given is None:
        order = _given_by_place(definition)
        place = order.index(name) if name in order else len(call[2])
        given = call[2][place] if place < len(call[2]) else None
    if given is not None:
        text = dotted(given[1] if given[0] == "K" else given).rpartition(".")[2]
        if text.isidentifier():
            yield text


def _dims_of(name: str) -> tuple[str, ...]:
    """Give the dims of which a name of a group or of its getter speaks; none where it speaks of none."""
    bare = name.lstrip("_").removeprefix("get_").removesuffix("_gloo")
    for ending in ("_process_group", "_group", "_pg", "_mesh"):
        if bare.endswith(ending):
            return dict(names.MESH_DIMS).get(bare.removesuffix(ending), ())
    return ()


def _at_hand(engine: Engine, path: str, caller: Definition, named: set[str], dims: tuple[str, ...]) -> bool:
    """Say whether a caller has the group: its function, class or the functions of its module name it or its kind.

    A method's module counts by what stands outside of classes and functions.
    """
    engine.linker.note("file", path)
    facts = engine.linker.files[path]
    if caller.owner >= 0:
        near = [d for d in facts.definitions if d.owner == caller.owner or d.index == 0]
    else:
        near = [d for d in facts.definitions if d.owner < 0]
    for definition in dict.fromkeys([caller.index, *(d.index for d in near)]):
        for word in _words(facts.definitions[definition].body):
            if word in named or (dims and (_dims_of(word) == dims or _gets_groups(word))):
                return True
    return False


def _gets_groups(name: str) -> bool:
    """Say whether a name is a getter of megatron-core's state for some group: the one for any dims stands beside it."""
    return name.startswith("get_") and name.endswith("_parallel_group") and bool(_dims_of(name))


def _words(node: object) -> Iterator[str]:
    """Give every name and attribute in lowered code."""
    if not isinstance(node, tuple):
        return
    if len(node) == 2 and node[0] == "N" and isinstance(node[1], str):
        yield node[1]
        return
    if len(node) == 3 and node[0] == "A" and isinstance(node[2], str):
        yield node[2]
    for part in node:
        if isinstance(part, tuple):
            yield from _words(part)


def _pinned(
    engine: Engine, path: str, caller: Definition, body: tuple[Node, ...], call: Node, dims: tuple[str, ...]
) -> bool:
    """Say whether a call stands under a test of a place along the dims: then the others do not come there at all."""
    for node in body:
        if not any(found is call for found in calls(node)):
            continue
        if node[0] == "if" and dims and any(_places(engine, path, caller, test, dims) for test in calls(node[2])):
            return True
        blocks = [part for part in node[2:] if isinstance(part, tuple) and part and isinstance(part[0], tuple)]
        return any(_pinned(engine, path, caller, block, call, dims) for block in blocks)
    return False


def _places(engine: Engine, path: str, caller: Definition, test: Node, dims: tuple[str, ...]) -> bool:
    entry, _ = engine.callee(path, caller, dotted(test[1]))
    return entry is not None and entry.kind in ("first", "last", "rank") and set(dims) <= set(entry.dims)


def _gives(definition: Definition, name: str, call: Node) -> bool:
    if any(keyword is None or keyword == name for keyword, _ in call[3]) or any(a[0] == "*" for a in call[2]):
        return True
    order = _given_by_place(definition)
    return name in order and order.index(name) < len(call[2])


def _given_by_place(definition: Definition) -> list[str]:
    """Give the parameters that a call gives by their place: a method has its receiver, unless it is a static one."""
    order = [p.name for p in definition.params if p.kind == "pos"]
    static = any(dotted(decorator).rpartition(".")[2] == "staticmethod" for decorator in definition.decorators)
    return order[1:] if definition.owner >= 0 and not static else order


def _guards(engine: Engine, path: str, definition: Definition, node: Node, name: str) -> Iterator[tuple[str, Span]]:
    """Give the collectives that a statement makes on the group under a test that it is there."""
    if node[0] == "if" and _tests(node[2], name):
        for call in calls(node[3]):
            entry, _ = engine.callee(path, definition, dotted(call[1]))
            uses = ("N", name) in call[2] or any(value == ("N", name) for _, value in call[3])
            if entry is not None and entry.kind == "op" and uses:
                yield entry.op, _span(path, call)
                return
    blocks = [part for part in node[2:] if isinstance(part, tuple) and part and isinstance(part[0], tuple)]
    inner = [statement for block in blocks for statement in block if statement and isinstance(statement[0], str)]
    for statement in inner:
        yield from _guards(engine, path, definition, statement, name)


def _tests(node: object, name: str) -> bool:
    """Say whether anything compares the parameter with None."""
    if not isinstance(node, tuple):
        return False
    if len(node) == 4 and node[0] == "Q" and node[2] == ("N", name) and node[3] == (("C", None),):
        return True
    return any(_tests(part, name) for part in node)


def _rebinds(body: tuple[Node, ...], name: str) -> bool:
    return any(node[0] == "assign" and ("N", name) in node[2] for node in body)


def _span(path: str, call: Node) -> Span:
    return Span(path, call[4], call[5], call[6], call[7])
