"""DIF002: a change takes out a check on parallel sizes, or lets more through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from meshlint.protocol.checks import Check, checks, placed, without_checks
from meshlint.protocol.guards import Condition, bare, guarded_calls, words
from meshlint.protocol.pytests import is_test
from meshlint.rule import Confidence, Fix, Outcome, ProgramChangeRule, Reference, Related, Severity, Span, Verdict

if TYPE_CHECKING:
    from meshlint.protocol.change import Both, ChangedFile, ProgramChange
    from meshlint.protocol.facts import FileFacts, Node

SHORT = frozenset(
    (
        "tp_size", "pp_size", "cp_size", "ep_size", "etp_size", "vpp_size", "dp_size", "sequence_parallel",
        "cp_comm_type", "hierarchical_context_parallel_sizes",
    )
)  # fmt: skip


class CheckWeakened(ProgramChangeRule):
    """A change takes out or weakens a check on parallelism, and the code behind it stays as it was.

    ## What it does

    Finds assertions and raises on parallel sizes (tensor, pipeline, context, expert, data, sequence parallelism) that
    are there before the change and not after it; that ask for less (`or` with something new, a new branch around them);
    or that became a warning. It speaks only where the change, tests included, uses these sizes as often as before: one
    that makes a size work, and so takes the check out, or that takes out the code along with its check, is not told. A
    check that moved, or was written anew, is not told either, nor one that stands in a new branch together with all
    that uses its sizes, nor one that is made only where what it asks for is there; where the new way past it is of
    something that the change brings, it is an info. A check that holds sizes to each other (`length % (2 * cp) == 0`)
    is a warning. One that keeps a size out (`cp == 1`) goes when the size works: it is an info, and told only where
    nothing else changes in the file. Only under `--diff`.

    ## Why this is bad

    What was refused with a sentence at start runs on into the code that the check kept it from: a reshape that fails
    on some rank, a group that does not exist, or numbers that are wrong in silence.

    ## Example

    ```diff
     def cut(x, cp_size):
    -    assert x.size(1) % (2 * cp_size) == 0
         return x.view(x.size(0), 2 * cp_size, -1)
    ```

    ## Use instead

    Leave the check, or put the one that holds now in its place, in the same change.

    ## References/versions

    It needs a change: without `--diff` or `--diff-file`, nothing is judged.
    """

    code = "DIF002"
    slug = "check-weakened"
    severity = Severity.WARNING
    outcomes = (Outcome.WRONG, Outcome.CRASH_LATE)
    preview = True
    references = (Reference("docs/changes.md: what a change causes"),)

    def check(self, change: ProgramChange) -> Iterator[Verdict]:
        """Compare the checks of the functions that both sides have."""
        uses = _uses(change)
        still = Counter(one.key for file in change.files if file.after for one in _all(file.after))
        anew = _anew(change, still)
        for both in change.functions():
            if is_test(both.file.path) or both.before.lowered == both.after.lowered:
                continue
            for one, after in _gone(both):
                if after is not None:
                    yield from _weakened(both, one, after, uses)
                elif not still[one.key] and not anew & _parallel(one) and _stands_alone(both, one, uses):
                    yield _removed(both, one)


def is_parallel(word: str) -> bool:
    """Say whether a name is that of a parallel size or setting."""
    return word in SHORT or ("parallel" in word and "size" in word)


def _parallel(check: Check) -> frozenset[str]:
    return frozenset(word for word in check.words() if is_parallel(word))


def _all(facts: FileFacts) -> Iterator[Check]:
    for definition in facts.definitions:
        yield from checks(definition.body)


Uses = tuple[Counter[str], Counter[str]]
"""How often each parallel name stands in the changed files besides in checks, before and after; tests of a size that
works now count too."""


def _uses(change: ProgramChange) -> Uses:
    def counted(sides: Iterable[FileFacts | None]) -> Counter[str]:
        return Counter(
            word
            for facts in sides
            if facts is not None
            for definition in facts.definitions
            for statement in without_checks(definition.body)
            for word in words(statement)
            if is_parallel(word)
        )

    return counted(file.before for file in change.files), counted(file.after for file in change.files)


def _as_before(check: Check, uses: Uses) -> bool:
    """Say whether the change leaves alone what else is done with the sizes that a check asks for."""
    before, after = uses
    names = _parallel(check)
    return all(before[name] == after[name] for name in names) and any(after[name] for name in names)


def _stands_alone(both: Both, check: Check, uses: Uses) -> bool:
    """Say whether nothing in the change explains that a check is gone, as when the branch around it is gone too."""
    there = {condition.key for one in guarded_calls(both.after.body) for condition in one.conditions}
    branches = there | {condition.key for one in checks(both.after.body) for condition in one.under}
    if check.under and not any(condition.key in branches for condition in check.under):
        return False
    if _dividends(check) & _asked_anew(both):
        return False
    return _as_before(check, uses) and (_is_law(check) or _is_all(both.file))


def _asked_anew(both: Both) -> frozenset[Node]:
    """Give what the checks that a function has only after the change divide: one that is gone lives on in them."""
    before = {one.key for one in checks(both.before.body)}
    return frozenset(
        dividend for one in checks(both.after.body) if one.key not in before for dividend in _dividends(one)
    )


def _dividends(check: Check) -> frozenset[Node]:
    """Give what a check divides with a rest: `a` of `a % b == 0`."""
    return frozenset(node[2] for condition in check.holds for node in _parts(condition.node) if _is_rest(node))


def _gone(both: Both) -> Iterator[tuple[Check, Check | None]]:
    """Give the checks on parallel sizes that are not there any more as they were, each with what became of it."""
    after = list(checks(both.after.body))
    rest = Counter((one.key, _under(one), one.firm) for one in after)
    before = [one for one in checks(both.before.body) if one.firm and _parallel(one)]
    for one in before:
        same = (one.key, _under(one), one.firm)
        if rest[same] > 0:
            rest[same] -= 1
            continue
        yield one, _heir(one, [new for new in after if rest[(new.key, _under(new), new.firm)] > 0])


def _under(check: Check) -> frozenset[object]:
    return frozenset(condition.key for condition in check.under)


def _heir(check: Check, after: Iterable[Check]) -> Check | None:
    """Give the check that lets through all that this one let through, and asks the same or less."""
    for new in after:
        if set(check.key) <= set(new.key) and _under(check) <= _under(new):
            return new
    return None


def _anew(change: ProgramChange, now: Counter[tuple[tuple[Node, bool], ...]]) -> frozenset[str]:
    """Give the parallel names that new checks ask for, wherever they stand: one that is gone may live on there."""
    before = Counter(one.key for file in change.files if file.before for one in _all(file.before))
    asked = (word for key in now - before for node, _ in key for word in words(node))
    return frozenset(word for word in asked if is_parallel(word))


def _is_law(check: Check) -> bool:
    """Say whether a check holds sizes to each other (`a % b == 0`, `a == b * c`), and not one of them to a number.

    `cp == 1` keeps out what was not built yet, and goes when it is; the code's shapes rest on the others.
    """
    return any(_compares(condition.node) for condition in check.holds)


def _is_all(file: ChangedFile) -> bool:
    """Say whether a change takes checks out of a file and does nothing else there."""

    def rest(facts: FileFacts | None) -> dict[str, list[Node]]:
        definitions = facts.definitions if facts is not None else ()
        return {d.qualname: [_unplaced(node) for node in without_checks(d.body)] for d in definitions}

    return rest(file.before) == rest(file.after)


def _unplaced(node: Node) -> Node:
    """Give a lowered statement or expression without lines."""
    return bare((node[0], *node[2:])) if isinstance(node[1], int) else bare(node)


def _compares(node: Node) -> bool:
    return any(_is_rest(part) or _is_relation(part) for part in _parts(node))


def _parts(node: Node) -> Iterator[Node]:
    """Give an expression and all that it is made of."""
    if node:
        yield node
    for part in node:
        if isinstance(part, tuple):
            yield from _parts(part)


def _is_rest(node: Node) -> bool:
    return node[0] == "M" and len(node) == 4 and node[1] == "%"


def _is_relation(node: Node) -> bool:
    return node[0] == "Q" and len(node) == 4 and any(_has_size(node[2]) and _has_size(side) for side in node[3])


def _has_size(node: Node) -> bool:
    return any(is_parallel(word) or "world" in word for word in words(node))


def _weakened(both: Both, old: Check, new: Check, uses: Uses) -> Iterator[Verdict]:
    if not _as_before(old, uses) or (new.firm and not _is_law(old)):
        return
    if _uses_came_along(both, old, new):
        return
    more = [one for one in new.holds if one.key not in old.key and not _asks_whether_there(one, old)]
    around = [one for one in new.under if one.key not in _under(old) and not _asks_whether_there(one, old)]
    if old.firm and not new.firm:
        how = "is only a warning from this change on"
    elif more:
        how = f"is passed from this change on wherever `{more[0].text}` holds"
    elif around:
        how = f"is made from this change on only where `{around[0].text}` holds"
    else:
        return
    new_way = _names_something_new(both, more or around)
    yield _verdict(both, old, how, Span(both.file.path, new.line), (), Severity.INFO if new_way else None)


def _uses_came_along(both: Both, old: Check, new: Check) -> bool:
    """Say whether all that uses the sizes behind the check stands in the branch that the check moved into."""
    added = _under(new) - _under(old)
    names = _parallel(old)
    behind = [
        {condition.key for condition in under}
        for node, line, under in placed(both.after.body)
        if line > new.line and names & set(words(node))
    ]
    return bool(added and behind) and all(added <= under for under in behind)


def _asks_whether_there(condition: Condition, check: Check) -> bool:
    """Say whether a condition asks only for what the check could not be made without: an attribute, a value.

    It holds wherever the check was passed before; without it there was another error.
    """
    node = condition.node
    if node[0] == "K" and node[1] == ("N", "hasattr") and len(node[2]) == 2:
        return set(words(node[2][1])) <= check.words()
    if node[0] == "Q" and node[1] in (("is not",), ("is",)) and node[3] == (("C", None),):
        return set(words(node[2])) <= check.words()
    return False


def _names_something_new(both: Both, conditions: Iterable[Condition]) -> bool:
    """Say whether the change brings what lets a case past the check: it is built to need none there."""
    definitions = both.file.before.definitions if both.file.before is not None else ()
    before = {word for one in definitions for statement in one.body for word in words(statement)}
    before.update(param.name for one in definitions for param in one.params)
    return any(word not in before for condition in conditions for word in words(condition.node))


def _removed(both: Both, check: Check) -> Verdict:
    line = min(both.file.moved(check.line), both.after.end_line)
    uses = _first_use(both, check)
    related = (Related(Span(both.file.path, uses), "it is used here as before"),) if uses else ()
    return _verdict(both, check, "is gone with this change", Span(both.file.path, line), related)


def _first_use(both: Both, check: Check) -> int:
    """Give the first line behind a check that uses one of its sizes; 0 for none."""
    names = _parallel(check)
    for statement in both.after.body:
        line: int = statement[1]
        if (
            statement[0] not in ("def", "class")
            and line >= both.file.moved(check.line)
            and names & set(words(statement))
        ):
            return line
    return 0


def _verdict(
    both: Both, check: Check, how: str, span: Span, related: tuple[Related, ...], severity: Severity | None = None
) -> Verdict:
    where = f"{both.after.name}()" if both.after.index else "this module"
    return Verdict(
        f"The check `{check.text}` of {where} {how}, and the change does nothing else about "
        f"{', '.join(sorted(_parallel(check)))}: sizes that were refused here run on into the code that it kept them "
        "from.",
        Outcome.WRONG,
        span=span,
        related=related,
        fix=Fix("Leave the check, or put the one that holds now in its place."),
        severity=severity if _is_law(check) else Severity.INFO,
        confidence=Confidence.MEDIUM,
        subject=check.text,
        scope=both.after.qualname,
    )


RULE = CheckWeakened
