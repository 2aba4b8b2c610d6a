"""What is told of groups that a call leaves out, and of ranks of a wrong kind."""

from __future__ import annotations

from dataclasses import replace

from meshlint.finding import Confidence, Outcome, Related, Severity
from meshlint.mesh import arms
from meshlint.mesh.dims import Axes
from meshlint.place import Span
from meshlint.protocol.facts import Definition
from meshlint.protocol.faults import CodeFault
from meshlint.protocol.forwarding import Omitted
from meshlint.protocol.kinds import Misfit


def on_the_world(found: Omitted) -> CodeFault:
    """Tell of a call that works on the world although a group was given."""
    message = (
        f"`{found.callee}` works on the world group, although this function was given `{found.parameter}` and uses it "
        f"elsewhere."
    )
    return _over_the_world(found, message, "where the group is passed")


def where_it_is_there(found: Omitted) -> CodeFault:
    """Tell of a call that works on the world where a group was asked for and is there."""
    message = (
        f"`{found.callee}` is made where `{found.parameter}` is there, and works on the world group: "
        f"`{found.parameter}` is asked for here and used for nothing."
    )
    return _over_the_world(found, message, "where the group is asked for")


def _over_the_world(found: Omitted, message: str, label: str) -> CodeFault:
    given, omitted = arms.Step(found.uses, found.used or found.other), arms.Step(found.does, found.span)
    name, dim = found.scope.rpartition(".")[2], "-".join(found.dims)
    shown = arms.over_the_world(name, found.parameter, dim, found.taker, given, omitted)
    return _left_out("GRP003", found, message, Outcome.WRONG, label, shown)


def instead_of_none(found: Omitted) -> CodeFault:
    """Tell of a call that falls back to the world where the group is None."""
    message = (
        f"`{found.callee}` sums over the world group where `{found.parameter}` is None: without that parallelism there "
        f"is nothing to sum over, and ranks that hold other data are mixed."
    )
    given, omitted = arms.Step(found.uses, found.used or found.other), arms.Step(found.does, found.span)
    shown = arms.instead_of_none(found.scope.rpartition(".")[2], found.parameter, found.taker, given, omitted)
    fault = _left_out("GRP003", found, message, Outcome.WRONG, "where the group is passed", shown)
    fix = f"Leave the call out where `{found.parameter}` is None."
    return replace(fault, severity=Severity.INFO, confidence=Confidence.LOW, fix=fix)


def without_agreement(found: Omitted) -> CodeFault:
    """Tell of a call that leaves out the group without which ranks do not agree."""
    message = (
        f"`{found.callee}` agrees with the other ranks only if it is given `{found.parameter}`, which this call leaves "
        f"out: each rank goes on with its own value."
    )
    agrees = arms.Step(found.uses, found.used or found.taker)
    shown = arms.without_agreement(found.callee, found.parameter, found.taker, agrees, found.span)
    return _left_out("GRP005", found, message, Outcome.HANG, "a call that gives it", shown)


def of_a_kind(found: Misfit, definition: Definition, axes: Axes) -> CodeFault:
    """Tell of a rank that is given where one of another kind is wanted."""
    if found.node:
        message = (
            f"`{found.text}` is the rank inside of a node and is given as the rank in the job: with a second node two "
            f"processes come with one rank."
        )
        fix = "Give RANK of the environment, or leave `rank` and `world_size` out, which the launcher sets."
        grade = (Severity.WARNING, Confidence.MEDIUM, Outcome.HANG)
        shown = arms.rank_of_a_node(found.span, found.text)
    else:
        message = (
            f"`{found.text}` is a place in a group and is looked for among ranks of the whole job, from which groups "
            f"are made here: in every instance but the first it finds another list, or none."
        )
        fix = "Look for the rank in the whole job, `torch.distributed.get_rank()`, among ranks of the whole job."
        grade = (Severity.ERROR, Confidence.HIGH, Outcome.WRONG)
        shown = arms.place_among_ranks(found.span, axes.label(found.dims) if found.dims else "")
    name = definition.qualname
    made = (Related(Span(found.span.path, found.made), f"where `{found.text}` is made"),) if found.made else ()
    return CodeFault("GRP002", *grade, found.span, message, made, f"{name}|{found.text}", name, shown, fix)


def _left_out(code: str, found: Omitted, message: str, outcome: Outcome, label: str, shown: str) -> CodeFault:
    related = (Related(found.other, label),)
    subject = f"{found.scope}|{found.parameter}|{found.callee}"
    grade = (Severity.WARNING, Confidence.MEDIUM, outcome)
    fix = f"Pass `{found.parameter}` in this call too."
    return CodeFault(code, *grade, found.span, message, related, subject, found.scope, shown, fix)
