"""Pictures of a fault in text: who arrives and who waits on the mesh, and two ranks' traces side by side.

Deterministic, at most WIDTH columns; the first line says what is stuck, the last who waits for whom.
"""

from __future__ import annotations

from collections.abc import Sequence
from re import sub

from meshlint.mesh.blame import Fault
from meshlint.mesh.dims import Mesh
from meshlint.mesh.evaluate import Layout, Unresolvable, View, evaluate, refuse, truth
from meshlint.mesh.gate import Expr, atoms, show
from meshlint.mesh.group import Group
from meshlint.mesh.naming import Names, names_of
from meshlint.mesh.pairing import Instead
from meshlint.mesh.simulate import Event, Run, Stuck, gate_key
from meshlint.mesh.term import Alt, Loop, Op, Site
from meshlint.place import Span
from meshlint.told import told_line

WIDTH = 120


def draw(fault: Fault, instead: Sequence[Instead] = ()) -> str:
    """Draw the mesh of a fault: the stuck operation, one cell for each rank, and who waits for whom."""
    run, stuck = fault.run, fault.stuck
    home, names = _home(fault), names_of(fault)
    lines = [_title(home, fault)]
    cells = [f"{names.place(rank)}  {_cell(home, run, stuck, rank, instead)}" for rank in range(run.mesh.world)]
    lines += [f"  {line}" for line in _grid(run.mesh, stuck, cells)]
    return "\n".join(_fit(line) for line in (*lines, *_ending(home, names, stuck, instead)))


def _title(home: Site, fault: Fault) -> str:
    op = fault.stuck.arrived[0][1]
    via = " > ".join(frame.label or str(frame.span) for frame in _seen(home, op.site)[:-1])
    group = _group(fault.run.mesh, fault.stuck.group)
    return f"{op.kind} on {group}, {_line(home, op.site)}" + (f", via {via}" if via else "")


def _group(mesh: Mesh, group: Group) -> str:
    """Name a group: as the program does, else by its dims."""
    return group.name or ("a group" if group.unknown or group.lists is not None else mesh.axes.label(group.dims))


def _home(fault: Fault) -> Site:
    """Give the place from which a fault is told: the blamed gate, else the stuck call."""
    return fault.stuck.arrived[0][1].site if fault.node is None else fault.node.gate.site


def _seen(home: Site, site: Site) -> tuple[Site, ...]:
    """Give the chain of calls from the function of the gate to a place; from the root where it is not below."""
    around, frames = home.frames()[:-1], site.frames()
    return frames[len(around) :] if frames[: len(around)] == around and len(frames) > len(around) else frames


def _line(home: Site, site: Site) -> str:
    """Name a place: its line in the function of the gate, and its own where calls lead on from there."""
    chain = _seen(home, site)
    first, last = chain[0].span, chain[-1].span
    start = f"line {told_line(first)}" if first.path == home.span.path else _file_line(first)
    if len(chain) == 1:
        return start
    return f"{start} ({_file_line(last) if last.path != first.path else f'line {told_line(last)}'})"


def _file_line(span: Span) -> str:
    return f"{span.path.rpartition('/')[2]}:{told_line(span)}"


def _cell(home: Site, run: Run, stuck: Stuck, rank: int, instead: Sequence[Instead]) -> str:
    waiting = dict(stuck.arrived)
    if rank in waiting:
        if stuck.how != "wait":
            asked = f" {_differing(run, stuck, rank)}".rstrip()
            return f"calls {waiting[rank].kind}{asked}, {_line(home, waiting[rank].site)}"
        return "enters"
    if rank in stuck.members:
        return _absent(home, run, stuck, rank, instead)
    elsewhere = [op for item in run.stuck for other, op in item.arrived if other == rank]
    if any(op.site == other.site for op in elsewhere for other in waiting.values()):
        return "enters"
    return _blocked(home, run, rank) or "goes on"


def _differing(run: Run, stuck: Stuck, rank: int) -> str:
    """Say with what a rank makes a call that others make with something else; "" where that is not computed."""
    layout = Layout(run.mesh)
    ops = dict(stuck.arrived)

    def seen(expr: Expr, one: int) -> object:
        return evaluate(expr, View(layout, one, refuse))

    try:
        if all("sized" in op.flags and op.agree for op in ops.values()):
            return f"of {_size(ops[rank].agree[-1], View(layout, rank, refuse))} elements"
        if all(op.kind == "new_group" and op.agree for op in ops.values()):
            listed = seen(ops[rank].agree[0], rank)
            return f"for {list(listed)}" if isinstance(listed, tuple) else ""
        roots = {one: None if op.root is None else seen(op.root, one) for one, op in ops.items()}
    except Unresolvable:
        return ""
    told = stuck.how == "root" or (len({op.kind for op in ops.values()}) == 1 and len(set(roots.values())) > 1)
    return f"from rank {roots[rank]}" if told and roots[rank] is not None else ""


def _size(many: Expr, view: View) -> object:
    """Compute a number, or write it as the program does where settings are in it."""
    while many.op == "ite":
        many = many.args[1 if truth(evaluate(many.args[0], view)) else 2]
    if not atoms(many):
        return evaluate(many, view)
    text = sub(r"[\w.]+:", "", show(many))
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


def _blocked(home: Site, run: Run, rank: int) -> str:
    """Say in what else a rank waits."""
    for item in run.stuck:
        for other, op in item.arrived:
            if other == rank:
                return f"waits in {op.kind} on {_group(run.mesh, item.group)}, {_line(home, op.site)}"
    return ""


def _absent(home: Site, run: Run, stuck: Stuck, rank: int, instead: Sequence[Instead]) -> str:
    blocked = _blocked(home, run, rank)
    if blocked:
        return blocked
    found = next((item for item in instead if item.rank == rank and item.op is not None), None)
    if found is not None and found.op is not None:
        later = " of the next round" if found.again else ""
        return f"goes on to {_line(home, found.op.site)}{later} ({found.op.kind})"
    left = run.left[rank]
    if left is not None:
        return "has ended" if left.site.label == "exit" else "has left with an error"
    return f"goes on, never calls {_group(run.mesh, stuck.group)} again" if instead else "goes on"


def _grid(mesh: Mesh, stuck: Stuck, cells: list[str]) -> list[str]:
    """Lay the cells out: the members of one instance in a row, if they fit."""
    rows = _rows(mesh, stuck)
    widths = [max(len(cells[row[column]]) for row in rows if column < len(row)) for column in range(len(rows[0]))]
    if sum(widths) + 4 * len(widths) > WIDTH - 2:
        return [cells[rank] for row in rows for rank in row]
    lines = []
    for row in rows:
        padded = [cells[rank].ljust(width) for rank, width in zip(row, widths, strict=False)]
        lines.append("    ".join(padded).rstrip())
    return lines


def _rows(mesh: Mesh, stuck: Stuck) -> list[list[int]]:
    if stuck.group.members is not None or stuck.group.lists is not None or len(stuck.members) == mesh.world:
        return [[rank] for rank in range(mesh.world)]
    rows: dict[tuple[int, ...], list[int]] = {}
    for rank in range(mesh.world):
        rows.setdefault(mesh.others(rank, stuck.group.dims), []).append(rank)
    return sorted(rows.values())


def _ending(home: Site, names: Names, stuck: Stuck, instead: Sequence[Instead]) -> list[str]:
    arrived = _places(names, [rank for rank, _ in stuck.arrived])
    if stuck.how == "root":
        return [f"the root is not a member of the instance {_places(names, list(stuck.members))}"]
    clash = [item for item in instead if item.outcome == "clashes" or (item.outcome == "hangs" and item.op)]
    pairs = [item for item in instead if item.outcome == "pairs" and item.op is not None]
    lines = []
    if stuck.how == "clash":
        arrived = f"{names.place(stuck.arrived[0][0])} in {_called(home, stuck.arrived[0][1])}"
        if not clash:
            lines.append(f"{_places(names, list(stuck.members))} stand at calls that do not match")
    for item in pairs:
        verb = "pairs" if item.sure else "can pair"
        called = _called(home, item.op) if item.op else ""
        later = " of the next round" if item.again else ""
        lines.append(f"{arrived} {verb} silently with {names.place(item.rank)} in {called}{later}")
    left = dict.fromkeys(item.left for item in pairs if item.left is not None)
    lines += [f"then {names.place(rank)} is left waiting in {_called(home, op)}" for rank, op in left]
    for item in clash:
        called = _called(home, item.op) if item.op else ""
        verb = "meet" if stuck.how != "clash" and len(stuck.arrived) > 1 else "meets"
        lines.append(f"{arrived} {verb} {names.place(item.rank)} in {called}: {_meaning(item)}")
    taken = {item.rank for item in (*pairs, *clash)}
    absent = [rank for rank in stuck.missing if rank not in taken]
    if absent:
        verb = "wait" if len(stuck.arrived) > 1 else "waits"
        lines.append(f"{arrived} {verb} for ever for {_places(names, absent)}")
    return lines


def _called(home: Site, op: Op) -> str:
    return f"{op.kind}, {_line(home, op.site)}"


def _meaning(item: Instead) -> str:
    return "sizes differ, a clash" if item.outcome == "clashes" else "another operation, a hang"


def _places(names: Names, ranks: list[int]) -> str:
    told = [names.place(rank) for rank in ranks]
    if len(told) > 4:
        told = [*told[:3], f"{len(told) - 3} more"]
    return told[0] if len(told) == 1 else ", ".join(told[:-1]) + " and " + told[-1]


def traces(fault: Fault) -> str:
    """Write the traces of a rank that waits and of one that does not come, side by side, to where they part."""
    stuck = fault.stuck
    left = stuck.arrived[0][0]
    right = stuck.missing[0] if stuck.missing else stuck.arrived[-1][0]
    rows = _aligned(_steps(fault, left), _steps(fault, right))
    names = names_of(fault)
    half = min((WIDTH - 3) // 2, max([len(names.place(left)), *(len(first) for first, _ in rows)]))
    head = f"{names.place(left):<{half}} | {names.place(right)}"
    lines = [head, "-" * half + "-+-" + "-" * half]
    lines += [f"{_short(first, half):<{half}} | {_short(second, WIDTH - half - 3)}".rstrip() for first, second in rows]
    return "\n".join(lines)


Step = tuple[tuple[object, ...], str]


def _steps(fault: Fault, rank: int) -> list[Step]:
    """Give what a rank does: (what it matches, text), the blamed gate's decision included."""
    run = fault.run
    steps: list[Step] = [_event_step(run.mesh, _home(fault), event, rank) for event in run.events[rank]]
    if fault.node is not None:
        at, text = _decision(run, fault.node, rank)
        steps.insert(min(at, len(steps)), (("gate",), text))
    blocked = any(event.number < 0 and not event.op.handle for event in run.events[rank])
    return steps if blocked else [*steps, (("end", rank), "goes on")]


def _event_step(mesh: Mesh, home: Site, event: Event, rank: int) -> Step:
    text = f"{_line(home, event.op.site)}: {event.op.kind} on {_group(mesh, event.op.group)}"
    if event.number >= 0:
        return (("event", event.op.group.partition, event.members, event.number), text)
    return (("stuck", rank, event.op.id), f"{text}, waits")


def _decision(run: Run, node: Alt | Loop, rank: int) -> tuple[int, str]:
    """Give where in the rank's events its blamed decision stands, and what it was."""
    key = gate_key(node)
    values = [taken.value for taken in run.paths[rank] if gate_key(taken.node) == key]
    line = f"{_line(node.gate.site, node.gate.site)}: {node.gate.site.label or node.gate.form}"
    after = [at for at, event in enumerate(run.events[rank]) if event.op.site.key >= node.gate.site.key]
    at = after[0] if after else len(run.events[rank])
    if at and at == len(run.events[rank]) and run.events[rank][-1].number < 0:
        at -= 1  # it waits in a call before the gate: in the round after the decision
    if not values:
        return at, f"{line} not reached"
    if isinstance(node, Loop):
        return at, f"{line} {values[-1]} times"
    return at, f"{line} {'yes' if bool(values[-1]) is not node.gate.flipped else 'no'}"


def _aligned(left: list[Step], right: list[Step]) -> list[tuple[str, str]]:
    shared = {key for key, _ in left} & {key for key, _ in right}
    rows: list[tuple[str, str]] = []
    one, two = list(left), list(right)
    while one or two:
        first = one[0] if one and one[0][0] not in shared else None
        second = two[0] if two and two[0][0] not in shared else None
        if first is None and second is None:
            if not one or not two or one[0][0] != two[0][0]:
                rows += [(text, "") for _, text in one] + [("", text) for _, text in two]
                return rows
            rows.append((one.pop(0)[1], two.pop(0)[1]))
            continue
        rows.append((first[1] if first else "", second[1] if second else ""))
        one, two = one[1:] if first else one, two[1:] if second else two
    return rows


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _fit(line: str) -> str:
    return _short(line, WIDTH)
