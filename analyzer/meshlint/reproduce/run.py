"""Runs reproducers: chooses the depth and the cases, runs both arms, and judges what became of them."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from meshlint.reproduce import pretend
from meshlint.reproduce.case import Case, Depth, Reproducer
from meshlint.reproduce.facts import ArmFacts
from meshlint.reproduce.launch import CannotRun, Machine, Worker, python_with_torch, worker
from meshlint.reproduce.verdict import ArmVerdict, CaseVerdict, Verdict, judge, not_run

MODULES = ("megatron.core", "transformer_engine", "megatron.training.arguments", "nemo_rl")
"""Libraries whose code a case may run; their versions go into every verdict."""

TIMEOUT = 120.0
"""Seconds that one arm may take."""


@dataclass(slots=True)
class Runner:
    """Runs reproducers, with one worker for all of them. Use it as a context: it ends the worker."""

    python: str = ""
    timeout: float = TIMEOUT
    gloo: bool = False
    """Run what is asked for at depth gpu on gloo and the CPU instead: to try its arms; never shown as gpu."""
    share: bool = False
    """Let ranks share GPUs where a case has more ranks than there are GPUs; the verdict says so."""
    modules: tuple[str, ...] = MODULES
    """Libraries to look for: each costs its import, in a process of its own."""
    _stack: ExitStack = field(default_factory=ExitStack)
    _worker: Worker | None = None
    _broken: str = ""
    """Why no worker could be started, which is not tried again."""

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *error: object) -> None:
        self._worker = None
        self._stack.close()

    def deepest(self, reproducer: Reproducer) -> Depth:
        """Give the deepest depth of a reproducer that this machine has."""
        depths = reproducer.depths()
        for depth in reversed(depths):
            if depth is Depth.SIMULATE or self._has(depth, reproducer):
                return depth
        return depths[0] if depths else Depth.SIMULATE

    def _has(self, depth: Depth, reproducer: Reproducer) -> bool:
        if not self.python and find_spec("torch") is None:
            return False
        if depth is Depth.GPU and not _gpu_files():
            return False
        try:
            machine = self._started().machine
        except CannotRun:
            return bool(self.python) and depth is Depth.CPU  # where it was asked for, running it tells why it cannot
        cases = [case for case in reproducer.cases if depth in case.depths and _needed(case, machine)]
        if depth is Depth.CPU:
            return machine.gloo and bool(cases)
        return any(self.share or case.world <= len(machine.cards) for case in cases)

    def run(self, reproducer: Reproducer, depth: Depth, nproc: int | None = None, names: Sequence[str] = ()) -> Verdict:
        """Run the cases of a depth, those of `names` if any; where none can be run the verdict says why."""
        wanted = [case for case in reproducer.cases if depth in case.depths and (not names or case.name in names)]
        if not wanted:
            return Verdict(reproducer.code, depth, why=_no_case(reproducer, depth))
        if depth is Depth.SIMULATE:
            found = tuple(_simulated(case, nproc) for case in _first(wanted, None))
            return Verdict(reproducer.code, depth, found, hardware=_hardware(()))
        try:
            started = self._started()
            machine = started.machine
            device = "cuda" if depth is Depth.GPU and not self.gloo else "cpu"
            _able(machine, device)
            cases = _first(wanted, machine)
            shown_at = depth if device == "cuda" else Depth.CPU
            found = tuple(self._cases(started, cases, shown_at, device, nproc))
        except CannotRun as error:
            self._forget()
            return Verdict(reproducer.code, depth, why=str(error), hardware=_hardware(()))
        why = "" if found else _unmet(wanted, machine)
        cards = machine.cards if device == "cuda" else ()
        hardware = _hardware(cards)
        if cards and any(case.world > len(cards) and case.ran for case in found):
            hardware["shared"] = True
        return Verdict(reproducer.code, shown_at, found, why, hardware, machine.versions)

    def _started(self) -> Worker:
        if self._broken:
            raise CannotRun(self._broken)
        if self._worker is None:
            try:
                self._worker = self._stack.enter_context(worker(python_with_torch(self.python), self.modules))
            except CannotRun as error:
                self._broken = str(error)
                raise
        return self._worker

    def _forget(self) -> None:
        """Leave a worker that broke; the next arm gets a fresh one."""
        self._worker = None
        self._stack.close()

    def _cases(
        self, started: Worker, cases: Sequence[Case], depth: Depth, device: str, nproc: int | None
    ) -> Iterator[CaseVerdict]:
        """Run cases, those of one number of ranks together, and give them in their order."""
        found: dict[int, CaseVerdict] = {}
        worlds: dict[int, list[tuple[int, Case]]] = {}
        for place, case in enumerate(cases):
            limited = device == "cuda" and not self.share
            world, why = _world(case, nproc, len(started.machine.cards) if limited else None)
            if why:
                skipped = tuple(not_run(name, arm.at(depth), why) for name, arm in case.arms)
                found[place] = CaseVerdict(case, world, skipped)
            else:
                worlds.setdefault(world, []).append((place, case))
        for world, placed in worlds.items():
            todo = [(place, case, name, arm) for place, case in placed for name, arm in case.arms]
            texts = [
                {
                    "text": arm.text,
                    "prelude": case.prelude,
                    "alike": case.alike,
                    "fresh": case.fresh,
                    "needs": [*case.needs],
                }
                for _, case, _, arm in todo
            ]
            arms: dict[int, list[ArmVerdict]] = {}
            share = device == "cuda" and world > len(started.machine.cards)
            for number, facts in started.run(texts, world, device, self.timeout, share):
                place, case, name, arm = todo[number]
                arms.setdefault(place, []).append(judge(name, arm, facts, depth, case.tolerance))
            for place, case in placed:
                found[place] = CaseVerdict(case, world, tuple(arms[place]))
        for place in sorted(found):
            yield found[place]


def _simulated(case: Case, nproc: int | None) -> CaseVerdict:
    world, why = _world(case, nproc, None)
    arms = []
    for name, arm in case.arms:
        if why:
            arms.append(not_run(name, arm.at(Depth.SIMULATE), why))
            continue
        facts: ArmFacts = pretend.run(arm.text, world, case.prelude)
        arms.append(judge(name, arm, facts, Depth.SIMULATE, case.tolerance))
    return CaseVerdict(case, world, tuple(arms))


def _world(case: Case, nproc: int | None, cards: int | None) -> tuple[int, str]:
    """Give how many ranks a case runs on, and why it cannot."""
    world = case.world if nproc is None else nproc
    if world < case.world:
        return world, f"it shows on {case.world} ranks or more, and {_asked(world)}"
    if world > case.world and not case.scales:
        return world, f"it is written for {case.world} ranks, and {_asked(world)}"
    if cards is not None and cards < world:
        return world, f"it needs {world} GPUs, one a rank, and this machine has {cards}"
    return world, ""


def _asked(world: int) -> str:
    return "1 was asked for" if world == 1 else f"{world} were asked for"


def _first(cases: Sequence[Case], machine: Machine | None) -> list[Case]:
    """Give the first case of each name whose libraries are there; without a machine those that need none."""
    found: dict[str, Case] = {}
    for case in cases:
        if _needed(case, machine):
            found.setdefault(case.name, case)
    return list(found.values())


def _needed(case: Case, machine: Machine | None) -> bool:
    return all(machine is not None and name in machine.versions for name in case.needs) and not _other(case, machine)


def _other(case: Case, machine: Machine | None) -> str:
    """Say which library is there in a release that does not show a case; "" where none is, or none is known."""
    if not case.releases or machine is None:
        return ""
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    for name, wanted in case.releases.items():
        with suppress(InvalidVersion):
            there = machine.versions.get(name, "")
            if there and not SpecifierSet(wanted, prereleases=True).contains(Version(there).base_version):
                return f"it shows on {name} {wanted}, and {there} is here"
    return ""


def _unmet(cases: Sequence[Case], machine: Machine) -> str:
    missing = sorted({name for case in cases for name in case.needs if name not in machine.versions})
    if not missing:
        return "; ".join(dict.fromkeys(filter(None, (_other(case, machine) for case in cases))))
    named = "--python names the Python that you train with"
    return f"it needs {' and '.join(missing)}, which cannot be imported here; {named}"


def _no_case(reproducer: Reproducer, depth: Depth) -> str:
    there = ", ".join(one.value for one in reproducer.depths())
    why = f": {reproducer.missing}" if reproducer.missing else ""
    return f"{reproducer.code} has no case at this depth (it has {there or 'none'}){why}"


def _able(machine: Machine, device: str) -> None:
    if device == "cpu" and not machine.gloo:
        raise CannotRun("this build of torch has no gloo")
    if device == "cuda" and not machine.cards:
        raise CannotRun("torch sees no GPU on this machine; --depth cpu needs none")


def _gpu_files() -> bool:
    """Say whether a driver for GPUs is there, without importing torch."""
    return any(Path(place).exists() for place in ("/dev/nvidiactl", "/proc/driver/nvidia/version", "/dev/kfd"))


def _hardware(cards: Sequence[str]) -> dict[str, Any]:
    made: dict[str, Any] = {"machine": platform.machine(), "cores": os.cpu_count() or 0}
    if cards:
        made["gpus"] = list(cards)
    return made
