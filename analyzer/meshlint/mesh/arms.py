"""Faults that no simulation finds, as small programs in two arms: what `skeleton` is for protocols.

Each is made of the finding's own facts: the names, the places in a comment behind the line, the operation, the group
and its dims, the keys and stages. What a program does with what it got stands for the rest, and its comment says so.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from keyword import iskeyword
from typing import Any

from meshlint.place import Span
from meshlint.plain import in_source
from meshlint.records import dataclass
from meshlint.told import told_line, unescaped

PAIRS = {"dp": [[0, 2], [1, 3]], "pp": [[0, 2], [1, 3]]}
"""Groups of two of four ranks by their dim; neighbours for others."""

ORDER = ("only", "first", "middle", "last")
"""Stages by their names, as they lie in the pipeline."""

PLACES = frozenset(("rank", "first", "last", "member", "source", "group"))
"""What is asked of a group without a collective, beside its size."""

TAKEN = frozenset((
    "rank", "world", "through", "groups", "check", "torch", "dist", "attend", "tokens", "layout", "stage", "first",
    "hidden", "right", "values", "group_of", "name", "element", "elements", "x", "y", "parts", "sum", "range",
    "int", "float", "sorted", "loss", "got", "value", "place", "found", "ranks", "tp_group", "True", "False",
    "None",
))  # fmt: skip
"""Names that the texts have already."""

HOLE = "\0"
"""Where the arms differ; no name and no place holds it."""

QUERIES = PLACES | {"size"}

GATHERS = frozenset(("all_gather", "all_gather_into_tensor", "all_gather_object", "gather", "gather_object"))

ATTEND = """\
tokens, layout = [1.0, 2.0, 3.0, 40.0, 50.0, 60.0, 70.0, 80.0], [0, 3, 8]  # two documents in one row

def attend(values, edges):  # causal, of equal weights: each token takes the mean of what it sees of its document
    edges = [0, len(values)] if edges is None else edges.tolist()
    return [sum(values[a : at + 1]) / (at + 1 - a) for a, b in zip(edges, edges[1:]) for at in range(a, b)]

def through(stages, edges):  # hidden states go from stage to stage, with attention on each
    step, hidden, right = world // stages, torch.tensor(tokens), tokens
    if rank >= step:
        dist.recv(hidden, src=rank - step)
    hidden = torch.tensor(attend(hidden.tolist(), edges))
    if rank < world - step:
        return dist.send(hidden, dst=rank + step)
    for _ in range(stages):
        right = attend(right, torch.tensor(layout))
    check("hidden states of the last stage", hidden, right)
"""


def packed(world: int, failing: str, fixed: str, prelude: str = "", runs: str = "", also: Sequence[str] = ()) -> str:
    """Give both arms as JSON: on how many ranks, what both begin with, and what stands for what.

    `also` are outcomes that count as the failure beside those that the finding states: backends differ.
    """
    made: dict[str, Any] = {"world": world, "failing": failing, "fixed": fixed}
    more = {"prelude": prelude, "runs": runs, "also": list(also)}
    return unescaped(json.dumps({**made, **{name: value for name, value in more.items() if value}}))


def _filled(world: int, text: str, failing: str, fixed: str, prelude: str = "", runs: str = "") -> str:
    """Give both arms of one text, which differ in what fills its holes."""
    return packed(world, text.replace(HOLE, failing), text.replace(HOLE, fixed), prelude, runs)


def place(span: Span) -> str:
    """Name a place in a comment; file names may hold anything."""
    name = span.path.rpartition("/")[2]
    return f"{in_source(name)[-60:]}:{told_line(span)}"


def identifier(text: str, otherwise: str) -> str:
    """Make a name for the text of a program of what may hold anything."""
    kept = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in text).strip("_")
    kept = kept[:24] if kept and not kept[0].isdigit() else otherwise
    return f"{kept}_" if iskeyword(kept) or kept in TAKEN else kept


# -- groups ----------------------------------------------------------------------------------------------------------


def lists_apart(made: Span, lists: Sequence[Any]) -> str:
    """Show a group that each rank asks for with a list of its own: two lists of equal length, on the ranks they name.

    The order in which ranks come is chance; here some of each list come first, so that what happens is always the same.
    """
    known = _two_lists(lists)
    two = known or [[0, 1], [2, 3]]
    own = [next(one for one in two if rank in one) for rank in range(sum(map(len, two)))]
    ahead = sorted([*two[0][:-1], two[1][-1]])
    sums = [float(sum(one) + len(one)) for one in own]
    where = place(made) + ("" if known else ", with two ranks a host")
    use = (
        f'x = torch.tensor([rank + 1.0])\ndist.all_reduce(x, group=made)\ncheck("sum over the list", x, {sums}[rank])\n'
    )
    failing = (
        f"ahead = {ahead}  # who comes first is chance: here these\nif rank not in ahead:\n    dist.barrier()\n"
        f"made = dist.new_group({own}[rank])  # {where}\nif rank in ahead:\n    dist.barrier()\n{use}"
    )
    return packed(len(own), failing, f"made = groups({two})  # every list on every rank, at {where}\n{use}")


def _two_lists(lists: Sequence[Any]) -> list[list[int]]:
    """Give the two lists of equal length that hold each rank once; [] for others."""
    if any(not isinstance(one, tuple) or not all(isinstance(rank, int) for rank in one) for one in lists):
        return []
    two = sorted({tuple(one) for one in lists})
    if len(two) != 2 or len(two[0]) != len(two[1]) or len(two[0]) < 2:
        return []
    return [list(one) for one in two] if sorted(two[0] + two[1]) == list(range(len(lists))) else []


@dataclass(frozen=True, slots=True)
class Step:
    """A call of a program: what it does (an operation, or `size`), and where it stands."""

    op: str
    span: Span


def over_the_world(function: str, parameter: str, dim: str, begin: Span, given: Step, omitted: Step) -> str:
    """Show a function that is given a group and leaves it out in one call."""
    pairs = PAIRS.get(dim, [[0, 1], [2, 3]])
    group, name = identifier(parameter, "group"), identifier(function, "function")
    on_x = "x" if omitted.op == "size" and given.op not in QUERIES else "y"
    before = _come(given.op, pairs) if on_x == "x" else [1.0, 2.0, 3.0, 4.0]
    right = [one / 2 for one in before] if omitted.op == "size" else _come(omitted.op, pairs)
    arms = []
    for more in ("", f", group={group}"):
        parts = [(given.span, list(_moved(given, f", group={group}", on_x)))]
        parts.append((omitted.span, list(_moved(omitted, more, "x"))))
        lines = [line for _, several in sorted(parts, key=lambda one: one[0]) for line in several]
        lines = [*(["y = torch.tensor([1.0])"] if on_x == "y" and given.op not in QUERIES else []), *lines, "return x"]
        arms.append(
            f"its_{group} = groups({pairs})\n\ndef {name}(x, {group}):  # {place(begin)}\n"
            + "".join(f"    {line}\n" for line in lines)
            + f"\ngot = {name}(torch.tensor([rank + 1.0]), its_{group})\n"
            f'check("what {name} gives", got, {right}[rank])\n'
        )
    return packed(4, *arms)


def _come(op: str, pairs: Sequence[Sequence[int]]) -> list[float]:
    """Give what each of four ranks, which bring their number and one, gets of an operation on its pair."""
    own = [next(one for one in pairs if rank in one) for rank in range(4)]
    return [float(one[0] + 1) if op == "broadcast" else float(sum(one) + len(one)) for one in own]


def _moved(step: Step, group: str, x: str) -> Iterator[str]:
    """Write a call on `x`; what is gathered is added up."""
    bare = group.removeprefix(", group=")
    where = f"  # {place(step.span)}"
    if step.op == "size" and x == "x":
        yield f"x = x / dist.get_world_size({bare}){where}"
    elif step.op in PLACES:
        yield f"dist.get_rank({bare}){where}"
    elif step.op == "size":
        yield f"dist.get_world_size({bare}){where}"
    elif step.op == "broadcast":
        yield f"dist.broadcast({x}, src=dist.get_process_group_ranks({bare or None})[0]{group}){where}"
    elif step.op in GATHERS:
        yield f"parts = [torch.zeros(1) for _ in range(dist.get_world_size({bare}))]"
        yield f"dist.all_gather(parts, {x}{group}){where}"
        yield f"{x} = sum(parts)"
    elif step.op == "barrier":
        yield f"dist.barrier({bare}){where}"
    else:
        yield f"dist.all_reduce({x}{group}){where}"


def without_agreement(function: str, parameter: str, begin: Span, agrees: Step, call: Span) -> str:
    """Show a function that agrees with the other ranks only if it is given a group, and a call that gives none."""
    group, name = identifier(parameter, "group"), identifier(function, "function")
    many = "broadcast" if agrees.op == "broadcast" else "all_reduce"
    how = "src=0, " if many == "broadcast" else "op=dist.ReduceOp.MAX, "
    text = (
        f"its_{group} = groups([[0, 1]])\n\ndef {name}(value, {group}=None):  # {place(begin)}\n"
        f"    if {group} is not None:\n        dist.{many}(value, {how}group={group})  # {place(agrees.span)}\n"
        f"    return value\n\nvalue = {name}(torch.tensor([rank + 1]){HOLE})  # {place(call)}\n"
        f"for _ in range(int(value.item())):  # what follows goes by the value: rounds, say\n"
        f"    dist.all_reduce(torch.tensor([1.0]), group=its_{group})\n"
    )
    return _filled(2, text, "", f", {group}=its_{group}")


def instead_of_none(function: str, parameter: str, begin: Span, given: Step, omitted: Step) -> str:
    """Show a sum over all ranks that stands in for one over a group that is None."""
    group, name = identifier(parameter, "group"), identifier(function, "function")
    text = (
        f"def {name}(x, {group}=None):  # {place(begin)}\n"
        f"    if {group} is None:\n        {HOLE}  # {place(omitted.span)}\n"
        f"    else:\n        dist.all_reduce(x, group={group})  # {place(given.span)}\n"
        f"    return x\n\ngot = {name}(torch.tensor([rank + 1.0]))  # there is no such parallelism\n"
        f'check("what {name} gives", got, rank + 1.0)\n'
    )
    return _filled(2, text, "dist.all_reduce(x)", "pass")


def rank_of_a_node(call: Span, name: str) -> str:
    """Show the rank inside of a node as that of the job, on two nodes of two processes."""
    local = identifier(name.rpartition(".")[2], "local_rank")
    text = (
        f"{local} = {HOLE}[rank]  # LOCAL_RANK of two nodes with two processes each\n"
        f"if {local} == rank:  # whoever comes with the number of another is not awaited\n"
        f"    dist.barrier()  # {place(call)}: init_process_group waits for the numbers of all ranks\n"
    )
    runs = "the rendezvous of init_process_group as a barrier of those that come with their own number"
    return _filled(4, text, "[0, 1, 0, 1]", "[0, 1, 2, 3]", runs=runs)


def place_among_ranks(looked: Span, dim: str) -> str:
    """Show a place in a group that is looked for in lists of ranks of the job."""
    pairs = PAIRS.get(dim, [[0, 1], [2, 3]])
    group = f"{identifier(dim, 'its')}_group"
    right = [next(one for one in pairs if rank in one) for rank in range(4)]
    text = (
        f"{group} = groups({pairs})\nplace = {HOLE}\nfound = [-1, -1]\nfor ranks in {pairs}:\n"
        f"    if place in ranks:  # {place(looked)}\n        found = ranks\n"
        f'check("ranks of the group", found, {right}[rank])\n'
    )
    return _filled(4, text, f"dist.get_rank({group})", "rank")


def size_of_another(test: Span, dim: str, group: str, call: Step) -> str:
    """Show a call on one group behind a test of the size of another, which is off."""
    other, name = (f"{identifier(one, 'its')}_group" for one in (dim, group))
    if other == name:
        other = f"other_{other}"
    right = {"broadcast": "1.0"}.get(call.op, "3.0")
    lines = list(_moved(call, f", group={name}", "x"))
    text = (
        f"{other} = groups([[0], [1]])  # {identifier(dim, 'its')} is off\n{name} = groups([[0, 1]])\n"
        f"x = torch.tensor([rank + 1.0])\nif dist.get_world_size({HOLE}) > 1:  # {place(test)}\n"
        + "".join(f"    {line}\n" for line in lines)
        + f'check("line {told_line(call.span)}", x, {right})\n'
    )
    return _filled(2, text, other, name)


# -- orders and names ------------------------------------------------------------------------------------------------


def out_of_turn(loop: Span, call: Step, by_group: bool) -> str:
    """Show a loop whose elements come in an order that each rank has for itself."""
    lines = list(_moved(call, ", group=group_of[name]" if by_group else "", "x"))
    times = "" if call.op in ("broadcast", "barrier") else "2 * "
    text = (
        'values = {"a": 10.0, "b": 20.0}\n'
        + ('group_of = {"a": groups([[0, 1]]), "b": groups([[0, 1]])}\n' if by_group else "")
        + f"for name in {HOLE}:  # {place(loop)}\n    x = torch.tensor([values[name]])\n"
        + "".join(f"    {line}\n" for line in lines)
        + f'    check(f"line {told_line(call.span)}, element {{name}}", x, {times}values[name])\n'
    )
    own = '[["a", "b"], ["b", "a"]][rank]'
    return _filled(2, text, own, f"sorted({own})")


def without_name(name: str, loop: Span, read: Span, call: Step) -> str:
    """Show a name that only an element that is there sets, on a rank that has none."""
    known = identifier(name, "found")
    lines = list(_moved(call, ", group=its_group", "x"))
    text = (
        f"its_group = groups([[0, 1]])\nelements = [[1.0], [None]][rank]  # of each rank\n"
        f"{HOLE}for element in elements:  # {place(loop)}\n    if element is not None:\n        {known} = element\n"
        f"x = torch.tensor([{known}])  # {place(read)}\n" + "".join(f"{line}\n" for line in lines)
    )
    return _filled(2, text, "", f"{known} = 0.0\n")


# -- stages ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a batch: its name, and where one rank sends it and the others take it."""

    name: str
    sent: Span | None = None
    taken: Span | None = None


def unsent(keys: Sequence[Key], stages: Sequence[str], absent: Sequence[int], end: Span | None = None) -> str:
    """Show packed keys that are handed on inside of tensor parallelism on some pipeline stages and not on others.

    `end` is how far the rank that sends comes on the last of the others.
    """
    names = _named(keys)
    tp = [[2 * stage, 2 * stage + 1] for stage in range(len(stages))]
    present = [stage for stage in range(len(stages)) if stage not in absent]
    far = f"  # the last of the others comes no further than {place(end)}" if end is not None else ""
    sends = []
    for key, name in zip(keys, names, strict=True):
        call = f"dist.broadcast({name}, src=first, group=tp_group)"
        where = ", ".join(dict.fromkeys(place(one) for one in (key.sent, key.taken) if one is not None))
        sends.append(f"    {call}  # {where}\n")
    text = (
        f"tp_group = groups({tp})\nstage, first = rank // 2, rank // 2 * 2  # {', '.join(stages)}\n"
        + "".join(
            f"{name} = torch.tensor(layout if rank == first else [0, 0, 0])  # read by one rank\n" for name in names
        )
        + f"if stage in {HOLE}:\n{''.join(sends)}"
        + f"through({len(stages)}, {names[0]} if stage in {HOLE} else None){far}\n"
    )
    every = list(range(len(stages)))
    return _filled(2 * len(stages), text, str(present), str(every), prelude=ATTEND)


def sides_apart(stage: str, sender: tuple[Step, Key] | None, receiver: tuple[Step, Key] | None) -> str:
    """Show the rank that sends a batch and one that receives it where they come to different events on one stage."""
    head = f"tp_group = groups([[0, 1]])  # the {stage} pipeline stage: a rank that sends, and one that receives\n"
    names = [None if side is None else identifier(side[1].name, "key") for side in (sender, receiver)]
    steps = [None if side is None else side[0] for side in (sender, receiver)]
    failing = head
    for step, name, test in zip(steps, names, ("rank == 0", "rank == 1"), strict=True):
        if step is not None and name is not None:
            taken = f"torch.tensor([{'1.0' if test == 'rank == 0' else '0.0'}])"
            lines = [f"{name} = {taken}", *_one(step, name)]
            failing += f"if {test}:\n" + "".join(f"    {line}\n" for line in lines)
    if None not in steps and names[0] != names[1]:
        failing += f'if rank == 1:\n    check("{names[1]}", {names[1]}, 2.0)  # which the other has, and has not sent\n'
    step, name = next((step, name) for step, name in zip(steps, names, strict=True) if step is not None)
    right = (
        head
        + f"{name} = torch.tensor([1.0 if rank == 0 else 0.0])\n"
        + "".join(f"{x}\n" for x in _one(step, str(name)))
    )
    after = "loss = torch.tensor([rank + 1.0])\ndist.all_reduce(loss, group=tp_group)  # what the group does next\n"
    after += 'check("loss", loss, 3.0)\n'
    return packed(2, failing + after, f'{right}check("{name}", {name}, 1.0)\n{after}')


def _one(step: Step, name: str) -> Iterator[str]:
    """Write an event inside of tensor parallelism."""
    if step.op in ("broadcast", "broadcast_object_list"):
        yield f"dist.broadcast({name}, src=0, group=tp_group)  # {place(step.span)}"
    else:
        yield from _moved(step, ", group=tp_group", name)


def early_none(keys: Sequence[str], left: Span) -> str:
    """Show an early return of Nones on the stage in the middle of three."""
    names = _named([Key(key) for key in keys])
    text = (
        f"stage = rank  # first, middle, last\n{' = '.join(names)} = torch.tensor(layout)  # as the batch holds it\n"
        f"if stage not in {HOLE}:\n    {' = '.join(names)} = None  # {place(left)}\n" + f"through(3, {names[0]})\n"
    )
    return _filled(3, text, "[0, 2]", "[0, 1, 2]", prelude=ATTEND)


def _read(name: str, names: Sequence[str]) -> str:
    """Write what the first rank reads for a key, and the room of the others: edges of documents, or one number."""
    edges = name == names[0] or "cu_seq" in name
    return "layout if rank == first else [0, 0, 0]" if edges else "[5 if rank == first else 0]"


def _named(keys: Sequence[Key]) -> list[str]:
    return list(dict.fromkeys(identifier(key.name, "key") for key in keys))


def unfilled(keys: Sequence[str], empty: str, served: Collection[str], returned: Span) -> str:
    """Show keys that receivers return as they made room for them, since nothing is sent on the `empty` stage."""
    names, alone = _named([Key(key) for key in keys]), {"only"} - {empty}  # a pipeline of one stage is another one
    served = [one for one in ORDER if one in served and one not in alone]
    stages = sorted({empty, *served}, key=ORDER.index)
    text = (
        f"tp_group = groups({[[2 * at, 2 * at + 1] for at in range(len(stages))]})\n"
        f"stage, first = {json.dumps(stages)}[rank // 2], rank // 2 * 2\n"
        + "".join(f"{name} = torch.full((1,), 5.0 if rank == first else 0.0)  # others make room\n" for name in names)
        + f"if stage in {HOLE}:\n"
        + "".join(f"    dist.broadcast({name}, src=first, group=tp_group)\n" for name in names)
        + f'check("{names[0]}", {names[0]}, 5.0)  # {place(returned)}: what is returned\n'
        + "".join(f'check("{name}", {name}, 5.0)\n' for name in names[1:])
    )
    return _filled(2 * len(stages), text, json.dumps(served), json.dumps(stages))
