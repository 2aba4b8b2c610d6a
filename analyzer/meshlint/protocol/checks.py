"""What a function refuses: its assertions, and the branches that do nothing but raise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from meshlint.protocol.facts import Node, dotted
from meshlint.protocol.guards import Condition, blocks_of, conditions, words
from meshlint.records import dataclass

SAYS = 2
"""Statements that may stand before the raise of a refusing branch: the message is put together there."""
TELLS = ("warn", "warning", "warn_rank_0", "log_single_rank", "print_rank_0", "print", "error", "info", "log")


@dataclass(frozen=True, slots=True)
class Check:
    """Something that must hold, or the function does not go on.

    `holds` are conditions of which one must hold (`assert a or b` has two). `under` are those of the branches around
    it. `firm` is False where a violation is only told, by a warning.
    """

    holds: tuple[Condition, ...]
    under: tuple[Condition, ...]
    line: int
    firm: bool = True

    @property
    def key(self) -> tuple[tuple[Node, bool], ...]:
        """What is compared between two versions, whatever is around it."""
        return tuple(sorted((condition.key for condition in self.holds), key=repr))

    @property
    def text(self) -> str:
        """What must hold, as it could be written."""
        return " or ".join(condition.text for condition in self.holds)

    def words(self) -> frozenset[str]:
        """The names in what must hold."""
        return frozenset(word for condition in self.holds for word in words(condition.node))


def checks(body: Iterable[Node], under: tuple[Condition, ...] = ()) -> Iterator[Check]:
    """Give the checks of a lowered body in order; nested definitions are not entered."""
    for statement in body:
        kind = statement[0]
        if kind == "assert":
            yield from _asserted(statement, under)
        elif kind == "if":
            yield from _branch(statement, under)
        else:
            for block in blocks_of(statement):
                yield from checks(block, under)


def without_checks(body: Iterable[Node]) -> Iterator[Node]:
    """Give the lowered statements that do something besides checking; a branch is given by its test and its body."""
    return (node for node, _, _ in placed(body))


def placed(
    body: Iterable[Node], under: tuple[Condition, ...] = ()
) -> Iterator[tuple[Node, int, tuple[Condition, ...]]]:
    """Give the same with the line of each, and the conditions of the branches around it."""
    for statement in body:
        kind, line = statement[0], statement[1]
        if kind in ("assert", "raise") or (kind == "if" and _refuses(statement[3]) is not None and not statement[4]):
            continue
        if kind == "if":
            yield statement[2], line, under
            yield from placed(statement[3], (*under, *conditions(statement[2], True, line)))
            yield from placed(statement[4], (*under, *conditions(statement[2], False, line)))
            continue
        blocks = list(blocks_of(statement))
        if not blocks:
            yield statement, line, under
        elif kind in ("for", "while"):
            yield statement[3] if kind == "for" else statement[2], line, under
        elif kind == "with":
            yield from ((value, line, under) for value, _ in statement[2])
        for block in blocks:
            yield from placed(block, under)


def _asserted(statement: Node, under: tuple[Condition, ...]) -> Iterator[Check]:
    line, test = statement[1], statement[2]
    for part in test[2] if test[0] == "B" and test[1] == "and" else (test,):
        yield Check(_any_of(part, True, line), under, line)


def _any_of(test: Node, holds: bool, line: int) -> tuple[Condition, ...]:
    """Give the conditions of which one must hold: those of the opposite, each turned round."""
    return tuple(
        condition
        for part in conditions(test, not holds, line)
        for condition in conditions(part.node, not part.holds, line)
    )


def _branch(statement: Node, under: tuple[Condition, ...]) -> Iterator[Check]:
    _, line, test, then, otherwise, _ = statement
    firm = _refuses(then)
    if firm is not None:
        yield Check(_any_of(test, False, line), under, line, firm)
    yield from checks(then, (*under, *conditions(test, True, line)))
    yield from checks(otherwise, (*under, *conditions(test, False, line)))


def _refuses(block: tuple[Node, ...]) -> bool | None:
    """Say whether a branch only raises (True), only warns (False), or does something else (None)."""
    if (
        not block
        or len(block) > SAYS + 1
        or any(statement[0] not in ("expr", "assign", "raise") for statement in block)
    ):
        return None
    if block[-1][0] == "raise":
        return True
    last = block[-1]
    told = last[0] == "expr" and last[2][0] == "K" and dotted(last[2][1]).rpartition(".")[2] in TELLS
    return False if told and all(statement[0] == "expr" for statement in block) else None
