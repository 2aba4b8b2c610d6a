"""Which keys of a batch reach each pipeline stage: a second question over the same terms.

A key reaches a stage if an event that carries it matches there (`Op.keys`; on `group.SELF` for what a stage only hands
on). Whether senders and receivers match at all is asked first, with the semantics of the simulation.
"""

from __future__ import annotations

from collections.abc import Callable

from meshlint.mesh.choose import RANK_CAP, meshes
from meshlint.mesh.dims import Axes, Mesh
from meshlint.mesh.evaluate import Unresolvable
from meshlint.mesh.simulate import Exhausted, Options, Run, prepare, quantifier, refuting_run, runs_of
from meshlint.mesh.term import Node, Op, walk
from meshlint.records import dataclass


@dataclass(frozen=True, slots=True)
class MissingKey:
    """A key that is sent at some stages and absent at others (0-based, of `stages`), and an event that sends it."""

    key: str
    present: tuple[int, ...]
    absent: tuple[int, ...]
    stages: int
    op: Op
    run: Run


@dataclass(frozen=True, slots=True)
class Payload:
    """The answer: `refuted` is the run where senders and receivers differ under every contract, else None.

    `stages` names the stages where they differ, `keys` what the unmatched events carry. `known` is False at a bound.
    """

    known: bool
    refuted: Run | None = None
    stages: tuple[int, ...] = ()
    keys: tuple[str, ...] = ()
    missing: tuple[MissingKey, ...] = ()


def payload(
    term: Node,
    axes: Axes,
    packed: Callable[[str], bool],
    attends: Callable[[int, int], bool] = lambda stage, stages: True,
) -> Payload:
    """Ask which packed keys reach which stages; `attends(stage, stages)` says which stages run attention."""
    if not any(packed(key) for node in walk(term) if isinstance(node, Op) for key in node.keys):
        return Payload(True)
    mesh = staged_mesh(term, axes)
    if mesh is None:
        return Payload(False)
    options = Options()
    try:
        runs = list(runs_of(prepare(term, mesh, options)))
    except (Exhausted, Unresolvable):
        return Payload(False)
    refuted = refuting_run(runs, options)
    if refuted is not None:
        return Payload(True, refuted, *_unmatched(refuted, axes))
    return Payload(True, missing=tuple(_missing(runs, options, axes, packed, attends)))


def staged_mesh(term: Node, axes: Axes) -> Mesh | None:
    """Give a mesh with a first, a middle and a last stage, as small as the term allows."""
    place = axes.leaves.index("pp")
    for stages in (3, 2):
        for mesh in meshes(term, axes):
            sizes = tuple(stages if index == place else size for index, size in enumerate(mesh.sizes))
            widened = Mesh(axes, sizes)
            if widened.world <= RANK_CAP:
                return widened
    return None


def _unmatched(run: Run, axes: Axes) -> tuple[tuple[int, ...], tuple[str, ...]]:
    stages = {stage_of(run.mesh, axes, rank) for item in run.stuck for rank in item.members}
    keys = {key for item in run.stuck for _, op in item.arrived for key in op.keys}
    return tuple(sorted(stages)), tuple(sorted(keys))


def stage_of(mesh: Mesh, axes: Axes, rank: int) -> int:
    """Give the pipeline stage of a rank."""
    return mesh.index(rank, axes.mask("pp"))


def _reached(run: Run, axes: Axes) -> dict[str, dict[int, Op]]:
    """Give, for each key, the stages it reaches and an event that brings it."""
    found: dict[str, dict[int, Op]] = {}
    for rank, events in enumerate(run.events):
        stage = stage_of(run.mesh, axes, rank)
        for event in events:
            if event.number >= 0:
                for key in event.op.keys:
                    found.setdefault(key, {}).setdefault(stage, event.op)
    return found


def _missing(
    runs: list[Run],
    options: Options,
    axes: Axes,
    packed: Callable[[str], bool],
    attends: Callable[[int, int], bool],
) -> list[MissingKey]:
    """Give the keys that under some config reach a stage, but never all that attend, whatever the contracts are."""
    safe = [(run, _reached(run, axes)) for run in runs if run.safe]
    keys = sorted({key for _, reached in safe for key in reached if packed(key)})
    found: list[MissingKey] = []
    for key in keys:
        sent = [(run, reached[key]) for run, reached in safe if key in reached]
        for run, stages in sent:
            count = run.mesh.extent(axes.mask("pp"))
            absent = _absent(stages, count, attends)
            same = [_absent(other, count, attends) for near, other in sent if _same_config(run, near, options)]
            if absent and all(same):
                op = stages[min(stages)]
                found.append(MissingKey(key, tuple(sorted(stages)), absent, count, op, run))
                break
    return found


def _absent(stages: dict[int, Op], count: int, attends: Callable[[int, int], bool]) -> tuple[int, ...]:
    return tuple(stage for stage in range(count) if stage not in stages and attends(stage, count))


def _same_config(left: Run, right: Run, options: Options) -> bool:
    values = {choice.key: choice.value for choice in left.choices if quantifier(choice.atom, options)}
    return all(values.get(choice.key, choice.value) == choice.value for choice in right.choices)
