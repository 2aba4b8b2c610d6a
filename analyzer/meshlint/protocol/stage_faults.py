"""What is told of pipeline stages: senders and receivers that disagree, and keys that miss a stage."""

from __future__ import annotations

from meshlint.finding import Confidence, Outcome, Related, Severity
from meshlint.mesh import arms
from meshlint.mesh.term import Op
from meshlint.place import Span
from meshlint.protocol.advice import advice
from meshlint.protocol.faults import CodeFault
from meshlint.protocol.guards import cleared_names, last_alike, written
from meshlint.protocol.link import Linker
from meshlint.protocol.packing import packed
from meshlint.protocol.roots import Root, frame_of
from meshlint.protocol.stages import STAGE_NAMES, Differ, Missing
from meshlint.told import told_line

SIDES = ("the side that sends", "the side that receives")


def sides_differ(name: str, differ: Differ, ops: list[Op]) -> CodeFault:
    """Tell of senders and receivers that disagree on a stage."""
    stage = STAGE_NAMES[differ.stages][differ.stage]
    site = ops[0].site.frames()[0]
    spans = [_apart(op, [o for o in ops if o is not op]) if op else None for op in differ.heads]
    sides = [
        f"`{', '.join(op.keys)}` on {_where(span, site.span)}" if op and span else "nothing more"
        for op, span in zip(differ.heads, spans, strict=True)
    ]
    message = (
        f"On the {stage} pipeline stage the tensor-parallel rank that sends the batch and those that receive it "
        f"disagree {_when(differ)}: the first rank comes to {sides[0]}, the others to {sides[1]}."
    )
    layout = all(any(packed(key) for key in op.keys) for op in ops)
    sure = not differ.key and differ.on < 2
    meets = differ.even and not layout
    if len(ops) == 2 and not layout:
        message += (
            " Both call as often: what is sent comes where something else is expected."
            if meets
            else (" One side calls more often than the other, and is left waiting.")
        )
    return CodeFault(
        "PKD007" if layout else "COL003",
        Severity.ERROR if sure else Severity.WARNING, Confidence.HIGH if sure else Confidence.MEDIUM,
        Outcome.WRONG if meets else Outcome.HANG, site.span, message,
        tuple(
            Related(span, f"where {who} stands")
            for span, who in zip(spans, SIDES, strict=True)
            if span is not None and span != site.span
        ),
        f"{name}|{stage}|{','.join(ops[0].keys)}", name, arms.sides_apart(stage, *map(_side, differ.heads)),
        advice("PKD007", "tp", ""),
    )  # fmt: skip


def unsent(linker: Linker, root: Root, name: str, several: list[Missing]) -> CodeFault:
    """Tell of keys that reach some stages and not others."""
    missing = several[0]
    keys = " and ".join(f"`{one.key}`" for one in several)
    present = " and ".join(STAGE_NAMES[missing.stages][stage] for stage in missing.present)
    absent = " and ".join(STAGE_NAMES[missing.stages][stage] for stage in missing.absent)
    message = (
        f"{keys} {'is' if len(several) == 1 else 'are'} handed on to the tensor-parallel ranks of the {present} "
        f"pipeline stage, and not on the {absent}: attention there runs without the layout of the packed sequences."
    )
    sent = missing.op.site.frames()[0].span
    ends = [(STAGE_NAMES[missing.stages][s], *pair) for s, pair in zip(missing.absent, missing.lasts, strict=True)]
    stage, sender, receiver = ends[-1]
    behind, others = (_behind(linker, root, op) for op in (sender, receiver))
    span, related = sent, []
    if behind is not None and others is not None:
        span = behind
        related = [Related(others, f"and the others take no more than this on the {stage} stage")]
        related.append(Related(sent, f"{keys} on the {STAGE_NAMES[missing.stages][missing.present[0]]} stage"))
        message += f" On the {stage} stage the sending rank comes as far as here, without {keys}."
    grade = (Severity.ERROR, Confidence.HIGH) if packed(missing.key) else (Severity.WARNING, Confidence.MEDIUM)
    subject = f"{name}|{','.join(one.key for one in several)}|{absent}"
    fix = _sending(linker, root, several, behind, others) or f"Send {keys} on the {absent} stage too."
    places = tuple(one for one in related if one.span != span)
    sent_keys = [arms.Key(one.key, frame_of(one.op), frame_of(one.taken)) for one in several]
    shown = arms.unsent(sent_keys, STAGE_NAMES[missing.stages], missing.absent, span if span != sent else None)
    return CodeFault("PKD001", *grade, Outcome.WRONG, span, message, places, subject, name, shown, fix)


def _behind(linker: Linker, root: Root, op: Op | None) -> Span | None:
    """Give the place behind which a further event belongs: the last of the calls like this one, in a row."""
    if op is None or frame_of(op).path != root.path:
        return None
    call = last_alike(linker.definition(root.path, root.index).body, frame_of(op).line)
    return frame_of(op) if call is None else Span(root.path, call[4], call[5], call[6], call[7])


def _sending(linker: Linker, root: Root, several: list[Missing], sender: Span | None, receiver: Span | None) -> str:
    """Say what to write, and behind which lines, on both sides of a stage that a key misses."""
    body = linker.definition(root.path, root.index).body
    sides = []
    for end, ops in ((sender, [one.op for one in several]), (receiver, [one.taken for one in several])):
        if end is None:
            return ""
        lines = [written(body, frame_of(op).line) for op in ops if frame_of(op).path == root.path]
        if len(lines) < len(several) or not all(lines):
            return ""
        cleared = cleared_names(body, end.line, lines)
        without = f", without setting {' and '.join(cleared)} to None before" if cleared else ""
        sides.append(f"behind line {told_line(end)}: {'; '.join(lines)}{without}")
    if sides[0] == sides[1]:
        return f"Send it there too, {sides[0]}."
    return f"Send it there too. On the sending rank, {sides[0]}. On the others, {sides[1]}."


def _apart(op: Op, others: list[Op]) -> Span:
    """Give the call of an event that the others do not come through: further down where they share the first."""
    frames = op.site.frames()
    depth = 0
    for other in others:
        away = other.site.frames()
        while depth + 1 < min(len(frames), len(away)) and frames[depth].span == away[depth].span:
            depth += 1
    return frames[depth].span


def _where(span: Span, near: Span) -> str:
    return f"line {told_line(span)}" if span.path == near.path else f"{span.path}:{told_line(span)}"


def _side(op: Op | None) -> tuple[arms.Step, arms.Key] | None:
    """Give what one side of a batch comes to; None for nothing more."""
    return None if op is None else (arms.Step(op.kind, frame_of(op)), arms.Key(" ".join(op.keys)))


def line_of(op: Op | None) -> Span | None:
    """Give the place of an event in the function that is judged, if there is one."""
    return None if op is None else frame_of(op)


def _when(differ: Differ) -> str:
    if differ.key:
        return f"as soon as the batch holds `{differ.key}`"
    return "whatever the batch holds" + (f", with {' and '.join(differ.needs)}" if differ.needs else "")
