"""Statements: what each does to the environment and which branches, loops and exits it leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from meshlint.mesh.gate import SETTING, UNRESOLVED, Expr, Origin, shows_apart
from meshlint.mesh.group import WORLD
from meshlint.mesh.term import Gate
from meshlint.protocol.assumed import left_open, only_raises, remember
from meshlint.protocol.facts import Node, dotted
from meshlint.protocol.items import (
    AltItem,
    BlockItem,
    ExitItem,
    GuardItem,
    HoleItem,
    Item,
    LoopItem,
    OpItem,
    filled,
    has_events,
    has_exits,
    leaves,
)
from meshlint.protocol.paced import left_over
from meshlint.protocol.reading import (
    atoms_in,
    called_items,
    escapes_in,
    is_number,
    size_facts,
)
from meshlint.protocol.syntax import (
    is_manager,
    jumps,
    rounds_up,
    stepped,
    taken,
)
from meshlint.protocol.unordered import element_of, kind_of, unordered_form
from meshlint.protocol.values import (
    Func,
    Instance,
    Klass,
    Map,
    Module,
    Seq,
    Share,
    V,
    facts_of,
    shuffled,
)

if TYPE_CHECKING:
    from meshlint.protocol.walk import Walker


T = TypeVar("T")

MAX_UNROLL = 8
"""Elements of a literal sequence over which a loop is unrolled."""


def s_expr(walker: Walker, node: Node) -> bool:
    """An expression for its effect. A call that never returns is an exit."""
    value = node[2]
    walker.unused = value
    walker.eval(value)
    if value[0] == "K" and value[1][-1] in _LAST and dotted(value[1]) in _ENDING:
        ends = value[2:4] in (((), ()), ((("C", 0),), ())) and any(
            c.var and not c.local for c in walker.frame.conditions
        )
        walker.frame.items.append(ExitItem("exit" if ends else "raise", walker.site(node[1], 1, "exit")))
        return False
    return True


_ENDING = ("sys.exit", "exit", "os._exit", "quit", "pytest.skip")
"""Calls that end the process. Without an error the launcher takes no notice, and the other ranks go on."""

_LAST = frozenset(name.rpartition(".")[2] for name in _ENDING)


def s_assign(walker: Walker, node: Node) -> bool:
    """`a = b = value`."""
    value = walker.eval(node[3])
    for target in node[2]:
        walker.store(target, value)
    return True


def s_aug(walker: Walker, node: Node) -> bool:
    """`a += value`."""
    before, value = walker.eval(node[2]), walker.eval(node[4])
    made = walker.arithmetic(node[3], before, value)
    walker.store(node[2], V(made.expr, made.data, made.null, made.label, before.buf, made.text, made.phi))
    return True


def s_if(walker: Walker, node: Node) -> bool:
    """A branch; known conditions take one side."""
    test = walker.eval(node[2])
    condition = walker.domain.truth(test)
    return branch(walker, condition, node[3], node[4], node[1], node[-1], "if", node[2])


def branch(
    walker: Walker,
    condition: Expr,
    then: tuple[Node, ...],
    otherwise: tuple[Node, ...],
    line: int,
    end: int,
    form: str,
    test: Node | None = None,
) -> bool:
    """Walk both sides of a branch and join them."""
    frame = walker.frame
    if frame.assumed:
        condition = left_open(frame, walker.domain, condition)
    if condition.op == "lit":
        return walker.block(then if condition.args[0] else otherwise)
    outer, before = frame.items, frame.env
    walker.engine.weigh(len(before))
    first: list[Item] = []
    frame.items, frame.env = first, dict(before)
    frame.conditions.append(condition)
    refine(walker, condition)
    if test is not None:
        assume(walker, test, True)
    alive = walker.block(then)
    after = frame.env
    second: list[Item] = []
    frame.items, frame.env = second, dict(before)
    frame.conditions[-1] = walker.values.negate(condition)
    refine(walker, frame.conditions[-1])
    if test is not None:
        assume(walker, test, False)
    other = walker.block(otherwise)
    frame.conditions.pop()
    frame.items = outer
    if alive and other:
        frame.env = joined_env(walker, condition, after, frame.env)
    elif alive:
        frame.env = after
    if alive is not other and not condition.var:
        keep_size(walker, condition, second if alive else first)
    if alive is not other and only_raises(second if alive else first):
        remember(frame, walker.domain, walker.values.negate(condition) if alive else condition)
    if (first or second) and any(has_events(side) or has_exits(side) for side in (first, second)):
        gate = gate_of(walker, line, end, form, first, second)
        if alive is not other:
            keep_lone(walker, walker.values.negate(condition) if alive else condition, second if alive else first)
        if has_events(first) and has_events(second):
            walker.engine.two_sided.add(gate.site.span)
        outer.append(AltItem(condition, first, second, gate))
    return alive or other


def keep_size(walker: Walker, condition: Expr, side: list[Item]) -> None:
    """Let a side that only raises stay, as an end of the rank, where its condition says how many ranks there are."""
    only = side[0] if len(side) == 1 else None
    if isinstance(only, ExitItem) and only.kind == "raise" and size_facts(walker.values, condition):
        side[0] = ExitItem("exit", only.site)


def keep_lone(walker: Walker, condition: Expr, side: list[Item]) -> None:
    """Let a side that only raises stay where a rank comes there that finds what others made, and they go on.

    What some ranks alone do is theirs to refuse.
    """
    only = side[0] if len(side) == 1 else None
    if not isinstance(only, ExitItem) or only.kind != "raise" or any(one.var for one in walker.frame.conditions):
        return
    parts = condition.args if condition.op == "and" else (condition,)
    if any(part.op == "atom" and shows_apart(part) for part in parts):
        side[0] = ExitItem("lone", only.site)


def refine(walker: Walker, condition: Expr) -> None:
    """Take the sides of joined values that a condition leaves."""
    frame = walker.frame
    if not frame.joins:
        return
    env = frame.env
    held = [(p, v.phi.tests) for p in frame.joins if (v := env.get(p)) is not None and v.phi is not None]
    if not held:
        return
    known_here = facts_of(condition)
    for path in sorted([path for path, tests in held if not tests.isdisjoint(known_here)]):
        env[path] = walker.domain.refined(env[path], known_here)


def assume(walker: Walker, test: Node, holds: bool) -> None:
    """Refine `x is None` and `x` on the side of a branch."""
    if test[0] == "U" and test[1] == "not":
        assume(walker, test[2], not holds)
    elif test[0] == "B" and (test[1] == "and") is holds:
        for part in test[2]:
            assume(walker, part, holds)
    elif test[0] == "Q" and len(test[1]) == 1 and test[3][0] == ("C", None):
        path = walker.path(test[2])
        if path and path in walker.frame.env:
            none = (test[1][0] in ("is", "==")) is holds
            value = walker.frame.env[path]
            if none:
                walker.frame.env[path] = walker.domain.const(None, value.text)
            else:
                walker.frame.env[path] = value.none_if(walker.no)


def s_for(walker: Walker, node: Node) -> bool:
    """A loop over an iterable; literal sequences are unrolled."""
    sequence = walker.eval(node[3])
    items = sequence.data.items if isinstance(sequence.data, Seq) and not sequence.data.shuffled else None
    if isinstance(sequence.data, Map) and not sequence.data.rest:
        items = tuple(walker.domain.const(k) for k, _ in sequence.data.items)
    if items is not None and len(items) <= MAX_UNROLL and not jumps(node[4]):
        for item in items:
            walker.store(node[2], item)
            if not walker.block(node[4]):
                return False
        return True
    trip, element = rounds_of(walker, node[3], sequence, node[1])
    if not shuffled(sequence.data):
        return walk_loop(walker, trip, node, node[4], node[5], element, node[2])
    hashes = kind_of(sequence.data)
    walker.frame.turns.append(hashes)
    goes_on = walk_loop(walker, trip, node, node[4], node[5], element, node[2], unordered_form(hashes))
    walker.frame.turns.pop()
    return goes_on


def count_of(walker: Walker, share: Share) -> Expr:
    """Give how many elements a share has: of a sequence of any length, unless that is seen to be evened out."""
    values = walker.values
    whole = values.atom(f"len(#{share.whole})", SETTING, count=True, weak=True)
    left = values.arithmetic("+", values.arithmetic("-", whole, share.start), values.arithmetic("-", share.step, 1))
    return values.arithmetic("max", 0, values.arithmetic("//", left, share.step))


def rounds_by_steps(walker: Walker, numbers: Expr) -> Expr | None:
    """Give the rounds over `range(start, stop, step)` whose start differs between ranks, if nothing evens them out."""
    start, stop, step = numbers.args
    if not start.var or step.var or stop.var or not (is_number(start) and is_number(step)):
        return None
    if atoms_in(start) or atoms_in(step) or any(rounds_up(part) for part in walker.frame.definition.body):
        return None
    if atoms_in(stop):
        return count_of(walker, Share(start, step, stop.id))
    values = walker.values
    left = values.arithmetic("+", values.arithmetic("-", stop, start), values.arithmetic("-", step, 1))
    return values.arithmetic("max", 0, values.arithmetic("//", left, step))


def share_counted(walker: Walker, node: Node) -> Share | None:
    """Give the share of a rank whose elements `len(mine)` counts."""
    if node[0] != "K" or node[1] != ("N", "len") or len(node[2]) != 1 or node[2][0][0] not in ("N", "S"):
        return None
    held = walker.eval(node[2][0]).data
    return held if isinstance(held, Share) else None


def steps_of(walker: Walker, node: Node) -> Expr | None:
    """Give the rounds of `while left > stop: ...; left -= step`, where `left` is computed from coordinates."""
    test = node[2]
    if test[0] == "N":
        test = ("Q", (">",), test, (("C", 0),))
    if test[0] != "Q" or len(test[1]) != 1 or test[1][0] not in (">", "<") or test[2][0] != "N":
        return None
    down = test[1][0] == ">"
    step = stepped(node[3], test[2], "-" if down else "+")
    if step is None:
        return None
    first, last = walker.domain.numeric(walker.eval(test[2])), walker.domain.numeric(walker.eval(test[3][0]))
    share = None if down else share_counted(walker, test[3][0])
    if share is not None:
        last = count_of(walker, share)
    if not (is_number(first) and is_number(last)) or atoms_in(first) or (share is None and atoms_in(last)):
        return None
    if not first.var | last.var:
        return None
    values = walker.values
    left = values.arithmetic("-", first, last) if down else values.arithmetic("-", last, first)
    rounds = values.arithmetic("//", values.arithmetic("+", left, step - 1), step) if step > 1 else left
    return values.arithmetic("max", 0, rounds)


def rounds_by_tests(walker: Walker, trip: Expr, asked: Expr, node: Node) -> Expr:
    """Give the rounds of `while` where a rank decides by what it finds for itself, at first or after each round.

    What a round makes all ranks agree on, they agree on after it.
    """
    again, _ = items_apart(walker, lambda: walker.domain.truth(walker.eval(node[2])))
    if again.op == "lit" and not again.args[0] and asked.var and not jumps(node[3]):
        return walker.values.choose(asked, walker.values.lit(1), walker.values.lit(0))
    if not (asked.local or again.local) or jumps(node[3]):
        return trip
    return walker.domain.opaque(walker.key("rounds", node[1]), (asked, again), count=True, close=True)


def takings_of(walker: Walker, node: Node) -> Expr | None:
    """Give the rounds of `while mine: mine.pop()` and `while len(mine) > 0`, where `mine` is the share of a rank."""
    test = node[2]
    if test[0] == "Q" and test[1] == (">",) and test[3] == (("C", 0),):
        test = test[2]
    if test[0] == "K" and test[1] == ("N", "len") and len(test[2]) == 1:
        test = test[2][0]
    held = walker.frame.env.get(test[1]) if test[0] == "N" else None
    if held is None or not isinstance(held.data, Share) or jumps(node[3]) or taken(node[3], test) != 1:
        return None
    return count_of(walker, held.data)


def s_while(walker: Walker, node: Node) -> bool:
    """A loop with a condition."""
    counted = steps_of(walker, node) or takings_of(walker, node)
    if counted is not None:
        return walk_loop(walker, counted, node, node[3], node[4], None, None)
    left = walker.eval(node[2])
    condition = walker.domain.truth(left)
    key = walker.key("while", node[1])
    if condition.op == "lit" and not condition.args[0]:
        return True
    trip = walker.domain.number(key) if condition.op == "lit" else walker.domain.opaque(key, (condition,), count=True)
    form = unordered_form(kind_of(left.data)) if shuffled(left.data) else "loop"
    goes_on = walk_loop(walker, trip, node, node[3], node[4], None, None, form, condition)
    if condition.local and not jumps(node[3]):
        left_over(walker, node[2])
    return goes_on


def s_try(walker: Walker, node: Node) -> bool:
    """The body with its handlers; `finally` is what every way out of them runs."""
    if not node[5]:
        return walk_body(walker, node)
    alive, body = items_apart(walker, lambda: walk_body(walker, node))
    goes_on, tail = items_apart(walker, lambda: walker.block(node[5]))
    walker.frame.items += [GuardItem(body, tail)] if has_events(tail) or has_exits(tail) else body
    return alive and goes_on


def s_with(walker: Walker, node: Node) -> bool:
    """Context managers: generators of the program around a hole, classes by __enter__ and __exit__."""
    frame = walker.frame
    outer = frame.items
    exits: list[tuple[V, int]] = []
    holes: list[list[Item]] = []
    for expr, target in node[2]:
        made: list[Item] | None = None
        if expr[0] == "K":
            made = manager_items(walker, expr)
        if made is not None:
            holes.append(made)
            value = walker.domain.unknown(walker.key("with", node[1]), nonnull=True)
        else:
            value = walker.eval(expr)
            if isinstance(value.data, Instance):
                call_method(walker, value, "__enter__", node)
                exits.append((value, node[1]))
        if target is not None:
            walker.store(target, value)
    inner: list[Item] = []
    frame.items, assumed = inner, len(frame.assumed)
    alive = walker.block(node[3])
    frame.items = []
    del frame.assumed[assumed:]
    for value, _ in reversed(exits):
        call_method(walker, value, "__exit__", node)
    if frame.items:
        inner = [GuardItem(inner, frame.items)]
    frame.items = outer
    for made in reversed(holes):
        inner = filled(made, inner)
    outer += inner
    return alive


def s_return(walker: Walker, node: Node) -> bool:
    """`return value`."""
    value = walker.eval(node[2])
    condition = walker.values.both(*walker.frame.conditions)
    walker.frame.returns.append((walker.domain.small(condition), value, node))
    walker.frame.items.append(ExitItem("return", walker.site(node[1], 1, "return")))
    return False


def s_raise(walker: Walker, node: Node) -> bool:
    """`raise`: the rank does not go on."""
    walker.eval(node[2])
    walker.frame.items.append(ExitItem("raise", walker.site(node[1], 1, "raise")))
    return False


def s_break(walker: Walker, node: Node) -> bool:
    """`break`."""
    walker.frame.items.append(ExitItem("break", walker.site(node[1], 1, "break")))
    return False


def s_continue(walker: Walker, node: Node) -> bool:
    """`continue`."""
    walker.frame.items.append(ExitItem("continue", walker.site(node[1], 1, "continue")))
    return False


def s_assert(walker: Walker, node: Node) -> bool:
    """`assert`: what goes on satisfies it."""
    condition = walker.domain.truth(walker.eval(node[2]))
    assume(walker, node[2], True)
    remember(walker.frame, walker.domain, walker.values.negate(condition))
    for fact in size_facts(walker.values, condition):
        leave = ExitItem("exit", walker.site(node[1], 1, "assert"))
        walker.frame.items.append(AltItem(fact, [], [leave], Gate(walker.site(node[1], 1, "assert"), "assert")))
    return True


def s_def(walker: Walker, node: Node) -> bool:
    """A nested function is a value bound to this frame."""
    data = Func(walker.frame.path, node[3], None, walker.frame)
    definition = walker.engine.linker.definition(walker.frame.path, node[3])
    if definition.owner < 0:
        walker.frame.env[node[2]] = V(walker.values.atom(walker.key(f"def {node[2]}"), UNRESOLVED), data, walker.no)
    return True


def s_class(walker: Walker, node: Node) -> bool:
    """A nested class."""
    key = (walker.frame.path, node[3])
    walker.frame.env[node[2]] = V(walker.values.atom(f"class {key}", UNRESOLVED), Klass(key), walker.no)
    return True


def s_import(walker: Walker, node: Node) -> bool:
    """A local import."""
    if walker.frame.definition.index:
        for row in node[2]:
            if row[0] != "*":
                walker.frame.env[row[0]] = walker.target(walker.engine.linker.imported(walker.frame.path, row), row[0])
    return True


def s_match(walker: Walker, node: Node) -> bool:
    """`match` as a chain of branches."""
    subject = walker.eval(node[2])
    return walk_cases(walker, subject, node[3], node[1], node[-1])


def s_cases(walker: Walker, node: Node) -> bool:
    """The rest of a match."""
    return walk_cases(walker, node[2], node[3], node[1], node[4])


def gate_of(walker: Walker, line: int, end: int, form: str, then: list[Item], otherwise: list[Item]) -> Gate:
    """Make the gate of a branch: how a side leaves what encloses it."""
    first, second = leaves(then), leaves(otherwise)
    leave = first or second
    site = walker.site(line, 1, form)
    if leave is None or (first is not None and second is not None):
        return Gate(site, form, "", True, end)
    return Gate(site, form, leave.kind, first is not None, end, leave.site)


def joined_env(walker: Walker, condition: Expr, first: dict[str, V], second: dict[str, V]) -> dict[str, V]:
    """Join two environments."""
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    found = dict(longer)
    for name, value in longer.items():
        other = shorter.get(name)
        if other is value:
            continue
        if other is None and "[" in name:
            other = element_at(shorter, name)
        if other is not None:
            left, right = (value, other) if longer is first else (other, value)
            found[name] = walker.domain.join(condition, left, right)
            walker.frame.joins.add(name)
        elif "." in name or "[" in name:
            del found[name]
    for name, value in second.items() if longer is first else ():
        if name not in found and name not in first:
            other = element_at(first, name) if "[" in name else None
            if other is not None:
                found[name] = walker.domain.join(condition, other, value)
                walker.frame.joins.add(name)
            elif "." not in name and "[" not in name:
                found[name] = value
    return found


def element_at(env: dict[str, V], name: str) -> V | None:
    """Give the element of a list or dict under the name of its place, where it is not bound by itself."""
    for end in range(len(name) - 1, 0, -1):
        if name[end] != "[" or (held := env.get(name[:end])) is None:
            continue
        data, key = held.data, name[end + 1 : -1]
        if isinstance(data, Map):
            return next((value for known, value in data.items[::-1] if repr(known) == key), None)
        if isinstance(data, Seq) and key.removeprefix("-").isdecimal():
            place = int(key)
            return data.items[place] if -len(data.items) <= place < len(data.items) else None
        return None
    return None


def rounds_of(walker: Walker, text: Node, sequence: V, line: int) -> tuple[Expr, V]:
    """Give the trip count of a loop and what its variable stands for."""
    key = walker.key("loop", line)
    expr = sequence.expr
    if expr.op == "range" and expr.args[2].op == "lit" and expr.args[2].args[0] == 1:
        start, stop = expr.args[:2]
        trip = stop if start is walker.values.lit(0) else walker.values.arithmetic("-", stop, start)
        return trip, walker.domain.of(walker.domain.number(key + " variable"))
    if expr.op == "range" and (steps := rounds_by_steps(walker, expr)) is not None:
        return steps, V(walker.domain.opaque(key + " element", (expr,)), text=f"{sequence.text}[]")
    if shuffled(sequence.data):
        return walker.domain.opaque(key + " count", (expr,), count=True), element_of(walker, key, text, sequence)
    if isinstance(sequence.data, Share):
        element = V(walker.domain.opaque(key + " element", (expr,)), text=f"{sequence.text}[]")
        return count_of(walker, sequence.data), element
    if isinstance(sequence.data, Seq):
        trip = walker.values.lit(len(sequence.data.items))
        return trip, walker.domain.unknown(key + " element", nonnull=True)
    trip = walker.domain.opaque(key + " count", (expr,), count=True)
    element = V(walker.domain.opaque(key + " element", (expr,)), text=f"{sequence.text}[]")
    if text[0] == "K" and dotted(text[1]) in ("enumerate", "zip"):
        element = walker.domain.unknown(key + " element", nonnull=True)
    return trip, element


def walk_loop(
    walker: Walker,
    trip: Expr,
    node: Node,
    body: tuple[Node, ...],
    after: tuple[Node, ...],
    element: V | None,
    target: Any,
    form: str = "loop",
    asked: Expr | None = None,
) -> bool:
    """Walk a loop body twice: once to see what changes, once for its items; `asked` is what `while` asks at first."""
    frame = walker.frame
    line, end = node[1], node[-1]
    outer, before, returns, assumed = frame.items, dict(frame.env), len(frame.returns), len(frame.assumed)
    frame.items = []
    rough, frame.rough = frame.rough, True
    one_round(walker, body, element, target, trip)
    frame.rough = rough
    rounds = trip if asked is None else rounds_by_tests(walker, trip, asked, node)
    del frame.returns[returns:], frame.assumed[assumed:]
    again = walker.domain.number(walker.key("round", line))
    later = walker.values.compare("<", 0, again)
    if trip.var:
        later = walker.domain.opaque(walker.key("later", line), (trip,))
    frame.env = widened_env(walker, later, frame.env, before)
    if rough:
        frame.items = outer
        return True
    inner: list[Item] = []
    frame.items = inner
    entry = dict(frame.env)
    one_round(walker, body, element, target, trip)
    del frame.assumed[assumed:]
    frame.env = widened_env(walker, later, frame.env, entry)
    frame.items = outer
    other: list[Item] = []
    if after:
        frame.items = other
        walker.block(after)
        frame.items = outer
    if has_events(inner) or escapes_in(inner):
        outer.append(
            LoopItem(
                rounds if has_events(inner) else trip,
                inner,
                Gate(walker.site(line, 1, "loop"), form, "", True, end),
                other,
            )
        )
    return True


def one_round(walker: Walker, body: tuple[Node, ...], element: V | None, target: Any, trip: Expr) -> None:
    """Walk a loop body once."""
    if target is not None and element is not None:
        walker.store(target, element)
    walker.frame.conditions.append(walker.values.negate(walker.values.compare("==", trip, 0)))
    walker.block(body)
    walker.frame.conditions.pop()


def widened_env(walker: Walker, later: Expr, new: dict[str, V], old: dict[str, V]) -> dict[str, V]:
    """Join the environment after a round with that before it."""
    found = dict(new)
    for name, value in old.items():
        other = new.get(name)
        if other is not None and other is not value:
            found[name] = walker.domain.join(later, other, value, kept=False)
        elif other is None:
            found[name] = value
    for name, value in new.items():
        if "[" in name and name not in old and (before := element_at(old, name)) is not None:
            found[name] = walker.domain.join(later, value, before, kept=False)
    return found


def items_apart(walker: Walker, walk: Callable[[], T]) -> tuple[T, list[Item]]:
    """Walk something with items of its own."""
    outer, walker.frame.items = walker.frame.items, []
    try:
        return walk(), walker.frame.items
    finally:
        walker.frame.items = outer


def walk_body(walker: Walker, node: Node) -> bool:
    """The body of `try`, then each handler as an edge that any rank may take for itself.

    What one collective raises it raises on all of its ranks: then no handler counts.
    """
    frame = walker.frame
    before, count, assumed = dict(frame.env), len(frame.items), len(frame.assumed)
    alive = walker.block(node[2])
    del frame.assumed[assumed:]  # somebody may catch it
    outer = frame.items
    alike = len(node[2]) == 1 and len(outer) == count + 1 and isinstance(outer[-1], OpItem)
    handlers: list[tuple[list[Item], bool, int, Origin]] = []
    after = frame.env
    for kind, name, body, line in node[3]:
        frame.items, frame.env = [], dict(before)
        if name:
            frame.env[name] = walker.domain.unknown(walker.key("exception", line), nonnull=True)
        caught = walker.block(body)
        ends = kind is not None and dotted(kind) in _ENDS
        handlers.append((frame.items, caught, line, UNRESOLVED if ends else Origin.LOCAL))
        if caught:
            condition = walker.domain.number(walker.key("raised", line))
            after = widened_env(walker, walker.values.compare("<", 0, condition), frame.env, after)
    frame.items, frame.env = outer, after
    if alive:
        alive = walker.block(node[4])
    for items, _, line, origin in handlers:
        leave = leaves(items)
        if not alike and (has_events(items) or (leave is not None and leave.kind != "raise")):
            raised = walker.values.atom(walker.key("exception", line), origin)
            gate = Gate(walker.site(line, 1, "except"), "except", "", True, node[-1])
            outer.append(AltItem(raised, items, [], gate))
    return alive or any(caught for _, caught, _, _ in handlers)


_ENDS = ("StopIteration", "StopAsyncIteration")
"""What is raised where elements are at an end: as in a loop over them, their number is not known to differ."""


def manager_items(walker: Walker, node: Node) -> list[Item] | None:
    """Give the items of a generator manager with its hole, if the call is one that can matter."""
    callee = walker.eval(node[1])
    if not isinstance(callee.data, Func):
        return one_first(walker, callee, node)
    definition = walker.engine.linker.definition(callee.data.path, callee.data.index)
    if not is_manager(definition) or not walker.engine.reaches(callee.data.path, callee.data.index):
        return None
    args, kwargs = walker.arguments(node)
    frame = walker.engine.enter(callee.data, args, kwargs, walker)
    if frame is None:
        return None
    site = walker.call_site(node)
    return [BlockItem(called_items(frame.items, walker, site), site)]


def one_first(walker: Walker, callee: V, node: Node) -> list[Item] | None:
    """Give the items of a library's manager through which one rank goes first, and the others after a barrier."""
    name = callee.data.target.name if isinstance(callee.data, Module) else callee.text
    entry = walker.engine.models.find(name) if name else None
    if entry is None or entry.kind != "barrier-manager":
        return None
    values, site = walker.values, walker.call_site(node)
    first = values.first(walker.domain.mask(entry.dims), weak=entry.weak)
    away = walker.site(node[6], node[7], site.label)  # two gates, of which one may be at fault
    before, after = (Gate(place, "if", "", True, node[6]) for place in (site, away))
    others: Item = AltItem(values.negate(first), [OpItem("barrier", WORLD, site, {})], [], before)
    then: Item = AltItem(first, [OpItem("barrier", WORLD, away, {})], [], after)
    return [BlockItem([others, HoleItem(), then], site)]


def call_method(walker: Walker, value: V, name: str, node: Node) -> None:
    """Call a method of a known object for its events."""
    if not isinstance(value.data, Instance):
        return
    found = walker.engine.linker.method(value.data.key, name)
    if found is not None and walker.engine.reaches(found[0], found[1]):
        call: Node = ("K", ("A", ("X",), name), (), (), node[1], 1, node[1], 2)
        walker.called(Func(found[0], found[1], value), [], {}, call)


def walk_cases(walker: Walker, subject: V, cases: tuple[Any, ...], line: int, end: int) -> bool:
    """Walk the cases of a match as `if`, `elif`, `else`."""
    if not cases:
        return True
    value, wild, body, guard = cases[0]
    if wild and guard is None:
        return walker.block(body)
    if value is not None:
        condition = walker.equal(subject, walker.eval(value))
    elif wild:
        condition = walker.values.lit(True)
    else:
        condition = walker.domain.opaque(walker.key(f"case {len(cases)}", line), (subject.expr,))
    if guard is not None:
        condition = guarded(walker, condition, guard, line)
    rest: Node = ("cases", line, subject, cases[1:], end)
    return branch(walker, condition, body, (rest,), line, end, "if")


def guarded(walker: Walker, condition: Expr, guard: Node, line: int) -> Expr:
    """Give the condition of a case and of its guard, which is evaluated where the pattern fits alone."""
    if condition.op == "lit" and not condition.args[0]:
        return condition
    test, inner = items_apart(walker, lambda: walker.domain.truth(walker.eval(guard)))
    if has_events(inner):
        gate = Gate(walker.site(line, 1, "case"), "and", "", True, line)
        walker.frame.items += inner if condition.op == "lit" else [AltItem(condition, inner, [], gate)]
    return walker.values.both(condition, test)


STATEMENTS: dict[str, Callable[[Walker, Node], bool]] = {
    "expr": s_expr, "assign": s_assign, "aug": s_aug, "if": s_if, "for": s_for,
    "while": s_while, "try": s_try, "with": s_with, "return": s_return,
    "raise": s_raise, "break": s_break, "continue": s_continue, "assert": s_assert,
    "def": s_def, "class": s_class, "import": s_import, "match": s_match,
    "cases": s_cases,
}  # fmt: skip
