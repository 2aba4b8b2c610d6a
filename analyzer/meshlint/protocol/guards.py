"""Under which conditions a function makes each of its calls, from one walk over its lowered body.

The question is what stands around a call in its own function: branches, short circuits, and the early exits before it.
A condition is kept as it is written, without the places of the calls in it, so that two versions of a function can be
compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from meshlint.protocol.facts import Node, dotted
from meshlint.records import dataclass

MAX_CONDITIONS = 200
"""Conditions in force at one place; a function with more is generated, and further ones are left out."""

_OPPOSITE = {
    "==": "!=",
    "!=": "==",
    "is": "is not",
    "is not": "is",
    "in": "not in",
    "not in": "in",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
}


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that must hold for a call to be made: `node` is true, or false where `holds` is.

    `line` is where it stands; it takes no part in comparisons.
    """

    node: Node
    holds: bool
    line: int

    @property
    def text(self) -> str:
        """The condition as it could be written."""
        written = spell(self.node)
        return written if self.holds else f"not {f'({written})' if self.node[0] in 'BQI' else written}"

    @property
    def key(self) -> tuple[Node, bool]:
        """What is compared between two versions."""
        return self.node, self.holds


@dataclass(frozen=True, slots=True)
class Guarded:
    """A call, and all that must hold for it to be made."""

    call: Node
    conditions: tuple[Condition, ...]


def bare(node: Node) -> Node:
    """Give lowered code without the places of its calls."""
    if len(node) == 8 and node[0] == "K":
        node = node[:4]
    return tuple(bare(part) if isinstance(part, tuple) else part for part in node)


def conditions(test: Node, holds: bool, line: int) -> Iterator[Condition]:
    """Take a test apart into what must hold: `a and b` are two conditions, `not a` is the opposite of `a`."""
    if test[0] == "U" and test[1] == "not":
        yield from conditions(test[2], not holds, line)
    elif test[0] == "B" and (test[1] == "and") == holds:
        for operand in test[2]:
            yield from conditions(operand, holds, line)
    elif test[0] == "Q" and len(test[1]) == 1 and not holds and test[1][0] in _OPPOSITE:
        yield Condition(bare(("Q", (_OPPOSITE[test[1][0]],), test[2], test[3])), True, line)
    elif test[0] != "C":
        yield Condition(bare(test), holds, line)


def spell(node: Node, depth: int = 8) -> str:
    """Write lowered code as Python again, for a message; `...` for what has no short form."""
    if depth == 0 or not node:
        return "..."
    kind = node[0]
    inner = [spell(part, depth - 1) for part in _parts(node)]
    if kind == "C":
        return repr(node[1])
    if kind == "N":
        return str(node[1])
    if kind == "A":
        return f"{inner[0]}.{node[2]}"
    if kind == "S":
        return f"{inner[0]}[{inner[1]}]"
    if kind == "K":
        named = [
            f"{name}={spell(value, depth - 1)}" if name else f"**{spell(value, depth - 1)}" for name, value in node[3]
        ]
        return f"{inner[0]}({', '.join([*inner[1:], *named])})"
    if kind == "B":
        return f" {node[1]} ".join(
            f"({text})" if part[0] in "BI" else text for part, text in zip(node[2], inner, strict=True)
        )
    if kind == "U":
        return f"not {inner[0]}" if node[1] == "not" else f"{node[1]}{inner[0]}"
    if kind == "M":
        return f" {node[1]} ".join(
            f"({text})" if part[0] == "M" else text for part, text in zip(node[2:], inner, strict=True)
        )
    if kind == "Q":
        return " ".join([inner[0], *(f"{op} {text}" for op, text in zip(node[1], inner[1:], strict=True))])
    if kind == "L":
        return f"[{', '.join(inner)}]"
    if kind == "T":
        return f"({', '.join(inner)})"
    return "..."


def _parts(node: Node) -> tuple[Node, ...]:
    """Give the operands that are written in a row."""
    kind = node[0]
    if kind == "K":
        return (node[1], *node[2])
    if kind == "Q":
        return (node[2], *node[3])
    if kind in ("B", "U"):
        return tuple(node[2]) if kind == "B" else (node[2],)
    if kind in ("T", "L"):
        return tuple(node[1])
    return {"A": node[1:2], "S": node[1:3], "M": node[2:4]}.get(kind, ())


def words(node: object) -> Iterator[str]:
    """Give the names, attributes and keys that lowered code is written with, each as often as it stands there."""
    if not isinstance(node, tuple) or not node:
        return
    tag, last = node[0], node[-1]
    if (tag, len(node)) in (("N", 2), ("A", 3), ("C", 2)) and isinstance(last, str):
        yield last
    for part in node:
        if isinstance(part, tuple):
            yield from words(part)


def guarded_calls(body: Iterable[Node]) -> list[Guarded]:
    """Give every call of a lowered body in order, with its conditions; nested definitions are not entered."""
    walk = _Walk([])
    walk.block(body, ())
    return walk.found


def leaves(block: Iterable[Node]) -> bool:
    """Say whether a block always ends by leaving what is around it in silence: `return`, `continue` or `break`."""
    return any(_leaves(statement) for statement in block)


def _leaves(statement: Node) -> bool:
    kind = statement[0]
    if kind in ("return", "continue", "break"):
        return True
    if kind == "if":
        return leaves(statement[3]) and leaves(statement[4])
    return kind == "with" and leaves(statement[3])


@dataclass(slots=True)
class _Walk:
    found: list[Guarded]

    def block(self, body: Iterable[Node], held: tuple[Condition, ...]) -> None:
        for statement in body:
            held = self.statement(statement, held)[:MAX_CONDITIONS]

    def statement(self, node: Node, held: tuple[Condition, ...]) -> tuple[Condition, ...]:
        """Walk one statement; give the conditions of what comes after it."""
        kind, line = node[0], node[1]
        if kind == "if":
            return self.branch(node, held)
        if kind in ("for", "while"):
            blocks = node[4:6] if kind == "for" else node[3:5]
            self.expression(node[3] if kind == "for" else node[2], held)
            for block in blocks:
                self.block(block, held)
        elif kind == "try":
            self.block(node[2], held)
            for handler in node[3]:
                self.block(handler[2], held)
            self.block(node[4], held)
            self.block(node[5], held)
        elif kind == "with":
            for value, _ in node[2]:
                self.expression(value, held)
            self.block(node[3], held)
        elif kind == "match":
            self.expression(node[2], held)
            for value, wild, block, guard in node[3]:
                case = () if wild else (Condition(("match", bare(node[2]), bare(value or ("X",))), True, line),)
                if guard is not None:
                    self.expression(guard, (*held, *case))
                    case = (*case, Condition(bare(guard), True, line))
                self.block(block, (*held, *case))
        elif kind not in ("import", "global", "def", "class"):
            for part in node[2:]:
                if isinstance(part, tuple):
                    self.expression(part, held)
        return held

    def branch(self, node: Node, held: tuple[Condition, ...]) -> tuple[Condition, ...]:
        _, line, test, then, otherwise, _ = node
        self.expression(test, held)
        yes, no = tuple(conditions(test, True, line)), tuple(conditions(test, False, line))
        self.block(then, (*held, *yes))
        self.block(otherwise, (*held, *no))
        if leaves(then):
            return (*held, *no)
        return (*held, *yes) if leaves(otherwise) else held

    def expression(self, node: Node, held: tuple[Condition, ...]) -> None:
        if not node:
            return
        kind = node[0]
        if kind == "B" and len(node) == 3:  # a keyword may be called B, too
            line = _line(node)
            for operand in node[2]:
                self.expression(operand, held)
                held = (*held, *conditions(operand, node[1] == "and", line))[:MAX_CONDITIONS]
            return
        if kind == "I" and len(node) == 4:
            line = _line(node)
            self.expression(node[1], held)
            self.expression(node[2], (*held, *conditions(node[1], True, line)))
            self.expression(node[3], (*held, *conditions(node[1], False, line)))
            return
        if len(node) == 8 and kind == "K":
            self.found.append(Guarded(node, held))
        for part in node:
            if isinstance(part, tuple):
                self.expression(part, held)


def _line(node: Node) -> int:
    """Give a line of an expression, which calls alone have; 0 for none."""
    if len(node) == 8 and node[0] == "K":
        line: int = node[4]
        return line
    return next((line for part in node if isinstance(part, tuple) and (line := _line(part))), 0)


def _holding(body: Iterable[Node], line: int) -> tuple[tuple[Node, ...], Node] | None:
    """Give the simple statement that holds a line's call, and the block that it stands in."""
    block = tuple(body)
    for statement in block:
        for inner in blocks_of(statement):
            found = _holding(inner, line)
            if found is not None:
                return found
        if statement[0] in ("expr", "assign") and _line(statement[-1]) == line:
            return block, statement
    return None


def blocks_of(statement: Node) -> Iterator[tuple[Node, ...]]:
    """Give the blocks inside of a statement, in order."""
    kind = statement[0]
    if kind in ("if", "while"):
        yield from statement[3:5]
    elif kind == "for":
        yield from statement[4:6]
    elif kind == "with":
        yield statement[3]
    elif kind == "try":
        yield from (statement[2], *(handler[2] for handler in statement[3]), *statement[4:6])
    elif kind == "match":
        yield from (case[2] for case in statement[3])


def written(body: Iterable[Node], line: int) -> str:
    """Write the statement again whose call stands on a line; empty where there is none, or it has no short form."""
    found = _holding(body, line)
    if found is None:
        return ""
    statement = found[1]
    targets = [spell(target) for target in statement[2]] if statement[0] == "assign" else []
    text = " = ".join([*targets, spell(statement[-1])])
    return "" if "..." in text else text


def last_alike(body: Iterable[Node], line: int) -> Node | None:
    """Give the call of a line's statement, or the last of those of the same function that follow it in a row."""
    found = _holding(body, line)
    if found is None:
        return None
    block, statement = found
    last: Node = statement[-1]
    for following in block[block.index(statement) + 1 :]:
        value = following[-1] if following[0] in ("expr", "assign") else ()
        if not value or value[0] != "K" or last[0] != "K" or dotted(value[1]) != dotted(last[1]):
            break
        last = value
    return last if last[0] == "K" else None


def cleared_names(body: Iterable[Node], line: int, statements: Iterable[str]) -> list[str]:
    """Give the names that the block around a line sets to None, and that the statements, which follow it, hand on."""
    found = _holding(body, line)
    block = found[0] if found is not None else ()
    handed = {word for text in statements for word in text.partition("(")[2].rstrip(")").split(", ")}
    return [
        target[1]
        for statement in block
        if statement[0] == "assign" and statement[1] < line and statement[3] == ("C", None)
        for target in statement[2]
        if target[0] == "N" and target[1] in handed
    ]
