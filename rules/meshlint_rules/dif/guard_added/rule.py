"""DIF001: a change makes an existing collective conditional."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from meshlint.models.names import is_group
from meshlint.protocol.facts import COLLECTIVE, Definition, Node, calls, dotted
from meshlint.protocol.guards import Condition, Guarded, bare, guarded_calls, words
from meshlint.protocol.pytests import is_test
from meshlint.rule import Confidence, Fix, Outcome, ProgramChangeRule, Reference, Related, Severity, Span, Verdict

if TYPE_CHECKING:
    from meshlint.protocol.change import Both, ProgramChange

OPERATIONS = frozenset(
    (
        "all_reduce", "all_gather", "all_gather_into_tensor", "all_gather_object", "broadcast",
        "broadcast_object_list", "barrier", "monitored_barrier", "reduce", "reduce_scatter", "reduce_scatter_tensor",
        "all_to_all", "all_to_all_single", "gather", "gather_object", "scatter", "scatter_object_list",
    )
)  # fmt: skip
CONTENT = frozenset(("numel", "nelement", "any", "all", "item", "isnan", "isinf", "isfinite", "count_nonzero"))
"""Functions of a tensor whose result hangs on what a rank holds."""
MOST = 8
"""Callers that a message names."""


class GuardAdded(ProgramChangeRule):
    """A change puts a new condition in front of a collective that every rank made until now.

    ## What it does

    Compares each function of a changed file with what it was, and finds collectives that got a further condition: a
    branch, an operand of `and`, an early exit. It speaks where the condition is known to fail for somebody: the
    presence of a group that is a parameter (`if dp_group is not None`), where calls in this program leave it out, or
    what a tensor of the rank holds (`if x.numel() > 0`), which is an info. A condition on settings is alike on all
    ranks and is not told; one on ranks is judged, with proof, by the COL rules. Only under `--diff`.

    ## Why this is bad

    A caller that gives no group made the call on the default group until now, and makes none from here on. Nothing
    says so: what the call kept alike on all ranks (a number of micro-batches, a flag, a sum) differs from then on, and
    a later collective hangs or adds up what does not belong together.

    ## Example

    ```diff
    -    if dist.is_initialized() and same_count:
    +    if dist.is_initialized() and same_count and dp_group is not None:
             dist.all_reduce(count, op=dist.ReduceOp.MAX, group=dp_group)
    ```

    where two callers still read `split(batch, max_tokens)`.

    ## Use instead

    Give the group in every call, in the same change; or keep the default group where none is given.

    ## References/versions

    It needs a change: without `--diff` or `--diff-file`, nothing is judged.
    """

    code = "DIF001"
    slug = "guard-added"
    severity = Severity.WARNING
    outcomes = (Outcome.WRONG, Outcome.HANG)
    supersedes = ("GRP005",)
    references = (
        Reference(
            "verl f5c34bb07 adds `and dp_group is not None` in rearrange_micro_batches; 7db6aadd46 and de87452878 "
            "mend callers that hung"
        ),
        Reference("torch.distributed: every rank of a group must make the same calls in the same order"),
    )

    def check(self, change: ProgramChange) -> Iterator[Verdict]:
        """Look at the functions that make collectives and are there on both sides."""
        for both in change.functions():
            if not both.before.seeds & both.after.seeds & COLLECTIVE:
                continue
            for guarded, added in _newly_guarded(both):
                yield from _judged(change, both, guarded, added)


def _newly_guarded(both: Both) -> Iterator[tuple[Guarded, list[Condition]]]:
    """Give the collectives that lost no condition and got new ones."""
    for before, after in _pairs(_collectives(both.before), _collectives(both.after)):
        old, new = (Counter(condition.key for condition in one.conditions) for one in (before, after))
        if old - new:
            continue  # the conditions were rewritten, not added to
        added = [condition for condition in after.conditions if condition.key in new - old]
        if added:
            yield after, added


def _collectives(definition: Definition) -> list[Guarded]:
    return [one for one in guarded_calls(definition.body) if _is_collective(one.call)]


def _is_collective(call: Node) -> bool:
    """Say whether a call is a collective by its name, and by what it is called on or given."""
    where, _, name = dotted(call[1]).rpartition(".")
    if name not in OPERATIONS:
        return False
    owner = where.rpartition(".")[2]
    return owner in ("dist", "distributed") or any(key == "group" for key, _ in call[3])


def _pairs(before: Sequence[Guarded], after: Sequence[Guarded]) -> Iterator[tuple[Guarded, Guarded]]:
    """Give the calls that are the same on both sides: equal ones, then the only one of its name."""
    rest, left = list(before), []
    for one in after:
        equal = next((old for old in rest if bare(old.call) == bare(one.call)), None)
        if equal is None:
            left.append(one)
        else:
            rest.remove(equal)
            yield equal, one
    for one in left:
        same = [old for old in rest if dotted(old.call[1]) == dotted(one.call[1])]
        alike = [new for new in left if dotted(new.call[1]) == dotted(one.call[1])]
        if len(same) == len(alike) == 1:
            yield same[0], one


def _judged(change: ProgramChange, both: Both, guarded: Guarded, added: list[Condition]) -> Iterator[Verdict]:
    for condition in added:
        parameter = _presence(condition, both.after)
        if parameter:
            yield from _optional_group(change, both, guarded, condition, parameter)
        elif _hangs_on_content(condition.node, both, guarded):
            yield _content(both, guarded, condition)


def _presence(condition: Condition, definition: Definition) -> str:
    """Give the parameter whose presence a condition asks for, if it is a group that callers may leave out."""
    node = condition.node
    is_present = node[0] == "Q" and node[1] == ("is not",) and node[3] == (("C", None),) and node[2][0] == "N"
    name = node[2][1] if is_present else node[1] if node[0] == "N" and condition.holds else ""
    optional = {param.name for param in definition.params if param.default == ("C", None)}
    return name if name in optional and is_group(name) else ""


def _optional_group(
    change: ProgramChange, both: Both, guarded: Guarded, condition: Condition, parameter: str
) -> Iterator[Verdict]:
    without = sorted(place for place in _callers_without(change, both, parameter) if not is_test(place.path))
    if not without:
        return
    path, call = both.file.path, guarded.call
    name = dotted(call[1]).rpartition(".")[2]
    count = f"{len(without)} calls give" if len(without) > 1 else "one call gives"
    yield Verdict(
        f"From this change on, {both.after.name}() makes its {name} only where {parameter} is given, and {count} none "
        f"({_listed(without)}). Until now such a call made it on the default group; now it makes none and says "
        f"nothing. What the {name} kept alike on all ranks may then differ, and a later collective hangs or adds up "
        "what does not belong together.",
        Outcome.WRONG,
        span=Span(path, condition.line),
        related=(
            Related(_span(path, call), "the call that is conditional now"),
            *(Related(place, f"gives no {parameter}") for place in without[:MOST]),
        ),
        fix=Fix(f"Give {parameter} in {'these calls' if len(without) > 1 else 'this call'} too, in the same change."),
        confidence=Confidence.MEDIUM,
        subject=f"{name} {parameter}",
        scope=both.after.qualname,
    )


def _listed(places: Sequence[Span]) -> str:
    shown = [f"{place.path}:{place.line}" for place in places[:3]]
    return ", ".join(shown) + (f" and {len(places) - 3} more" if len(places) > 3 else "")


def _callers_without(change: ProgramChange, both: Both, parameter: str) -> Iterator[Span]:
    """Give the calls of a function that leave a parameter out; none where another function has its name."""
    name = both.after.name
    program = change.program
    holders = [(path, facts) for path, facts in program.items() if any(d.mentions(name) for d in facts.definitions)]
    named = [d for _, facts in holders for d in facts.definitions if d.name == name]
    if len(named) > 1 or name.startswith("__"):
        return
    place = [param.name for param in both.after.params].index(parameter)
    keyword_only = both.after.params[place].kind == "kw"
    place -= both.after.owner >= 0
    for path, facts in holders:
        for definition in facts.definitions:
            if not any(text.rpartition(".")[2] == name for text in definition.callees):
                continue
            for call in calls(definition.body):
                if dotted(call[1]).rpartition(".")[2] == name and not _gives(call, parameter, place, keyword_only):
                    yield _span(path, call)


def _gives(call: Node, parameter: str, place: int, keyword_only: bool) -> bool:
    """Say whether a call gives the parameter, or may: through `*` or `**`."""
    if any(key in (None, parameter) for key, _ in call[3]) or any(value[0] == "*" for value in call[2]):
        return True
    return not keyword_only and len(call[2]) > place


def _hangs_on_content(node: Node, both: Both, guarded: Guarded) -> bool:
    """Say whether a condition asks what a tensor holds that no collective before has made alike."""
    asked = [call for call in calls(_timed(node)) if dotted(call[1]).rpartition(".")[2] in CONTENT]
    if not asked:
        return False
    names = {word for call in asked for word in words(call)} - CONTENT - {"torch"}
    spread = {
        word
        for one in guarded_calls(both.after.body)
        if _is_collective(one.call) and one.call[4] < guarded.call[4]
        for word in words(one.call)
    }
    return not names & spread


def _timed(node: object) -> object:
    """Give calls the length that they have in a body, so that they are found as such."""
    if not isinstance(node, tuple):
        return node
    parts = tuple(_timed(part) for part in node)
    return (*parts, 0, 0, 0, 0) if len(parts) == 4 and parts[0] == "K" else parts


def _content(both: Both, guarded: Guarded, condition: Condition) -> Verdict:
    path, call = both.file.path, guarded.call
    name = dotted(call[1]).rpartition(".")[2]
    return Verdict(
        f"From this change on, {both.after.name}() makes its {name} only where `{condition.text}` holds. Each rank "
        "decides that by what it holds itself: where ranks of the group differ, those that make the call wait for the "
        "others, for ever or until a later call of the same shape.",
        Outcome.HANG,
        span=Span(path, condition.line or call[4]),
        related=(Related(_span(path, call), "the call that is conditional now"),),
        fix=Fix("Make the call on every rank, with an empty or zero share where a rank has none."),
        severity=Severity.INFO,
        confidence=Confidence.LOW,
        subject=name,
        scope=both.after.qualname,
    )


def _span(path: str, call: Node) -> Span:
    return Span(path, call[4], call[5], call[6], call[7])


RULE = GuardAdded
