"""Recall: real launches, one fault each, caught and missed by rule and surface.

    MESHLINT_UPSTREAM=/path/to/checkouts python tests/tools/recall.py --count 200 --save recall.json

Launches are drawn by a fixed seed, evenly over rules, surfaces and frameworks. A launch that cannot carry a fault (it
writes no setting beside which another could stand, say) is drawn again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from faults import FAULTS, REASONS
from mutate import Checkout, Fault, Target, Unfit, key_of, mirror, targets, try_fault

from meshlint.config.registry import framework

CHECKOUTS = (
    "Megatron-LM",
    "Megatron-Bridge",
    "verl",
    "RL",
    "slime",
    "ms-swift",
    "ROLL",
    "AReaL",
    "Pai-Megatron-Patch",
    "NeMo",
)
DRAWS = 12
"""Launches that are drawn, at most, for one fault on one surface of one checkout until one can carry it."""

OWN_CORE = "CTX006"
"""Said of a launch under cp whose core attention is not Transformer Engine's; other faults cannot come to count."""


@dataclass(frozen=True)
class Trial:
    """One fault in one launch: `result` is caught, missed, stopped (an unknown), noisy (it fired before) or unfit."""

    code: str
    surface: str
    framework: str
    checkout: str
    launch: str
    result: str
    told: str = ""

    @property
    def form(self) -> str:
        """Give the surface with the framework."""
        return f"{self.surface} {self.framework}"


def collect(
    folder: Path, checkouts: Sequence[str], rounds: int, seed: int, codes: tuple[str, ...] = ("",)
) -> Iterator[Trial]:
    """Try every fault on every surface of every checkout, `rounds` times; needs the checkouts in `folder`.

    `codes` are the beginnings of the codes whose faults are tried.
    """
    for name in checkouts:
        if not (folder / name).is_dir():
            continue
        with tempfile.TemporaryDirectory(prefix="meshlint-") as temporary:
            copy = mirror(folder / name, Path(temporary))
            by_form: dict[tuple[str, str], list[Target]] = {}
            for target in targets(copy):
                by_form.setdefault((target.launch.surface, target.launch.framework), []).append(target)
            checkout = Checkout.at(copy)
            for form, group in sorted(by_form.items()):
                for fault in (fault for fault in FAULTS if fault.code.startswith(codes)):
                    yield from _tries(checkout, name, form, group, fault, rounds, seed)


def _tries(
    checkout: Checkout,
    name: str,
    form: tuple[str, str],
    group: list[Target],
    fault: Fault,
    rounds: int,
    seed: int,
) -> Iterator[Trial]:
    surface, model = form
    reason = REASONS.get(fault.code, {}).get(model) or _no_key(fault, group[0])
    if reason:
        yield Trial(fault.code, surface, model, name, "", "n/a", reason)
        return
    if fault.entries:
        group = [target for target in group if target.launch.entry.rsplit("/", 1)[-1] in fault.entries]
    drawn = random.Random(f"{seed} {name} {form} {fault.code}").sample(group, min(DRAWS * rounds, len(group)))
    done, last = 0, "no launch is there"
    for target in drawn:
        if done == rounds:
            return
        try:
            outcome = try_fault(checkout, target, fault)
        except Unfit as unfit:
            last = str(unfit)
            continue
        if not outcome.caught and not outcome.stopped and fault.code != OWN_CORE and OWN_CORE in outcome.found:
            last = f"its core attention is megatron-core's own, which {OWN_CORE} says"
            continue
        done += 1
        if not outcome.silent:
            result, told = "noisy", ""
        elif outcome.caught:
            result, told = "caught", ""
        else:
            result, told = ("stopped", outcome.stopped) if outcome.stopped else ("missed", ", ".join(outcome.found))
        yield Trial(fault.code, surface, model, name, target.name, result, told)
    if not done:
        yield Trial(fault.code, surface, model, name, "", "unfit", last)


def _no_key(fault: Fault, target: Target) -> str:
    """Say which setting of a fault a framework has no key for."""
    model = framework(target.launch.framework)
    for setting in fault.settings:
        try:
            key_of(model, target, setting)
        except Unfit as unfit:
            return str(unfit)
    return ""


def table(trials: Sequence[Trial]) -> str:
    """Give caught, missed and stopped by rule and by surface."""
    real = [t for t in trials if t.result in ("caught", "missed", "stopped", "noisy")]
    lines = [f"{len(real)} launches, one fault each: {_counts(real)}", ""]
    for title, key in (("rule", lambda t: t.code), ("surface", lambda t: t.form)):
        lines += [f"| {title} | caught | missed | stopped by an unknown |", "| --- | --- | --- | --- |"]
        for name in sorted({key(t) for t in real}):
            count = Counter(t.result for t in real if key(t) == name)
            lines.append(f"| {name} | {count['caught']} | {count['missed'] + count['noisy']} | {count['stopped']} |")
        lines.append("")
    lines += [f"{t.code} {t.result} in {t.checkout} {t.launch}: {t.told}" for t in real if t.result != "caught"]
    return "\n".join(lines)


def _counts(trials: Sequence[Trial]) -> str:
    count = Counter(t.result for t in trials)
    return ", ".join(f"{number} {result}" for result, number in sorted(count.items()))


def load(path: Path) -> list[Trial]:
    """Read saved trials."""
    return [Trial(**row) for row in json.loads(path.read_text(encoding="utf-8"))]


def main() -> int:
    """Run the trials, or read saved ones, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="trials in the table")
    parser.add_argument("--rounds", type=int, default=2, help="trials of each fault on each surface of a checkout")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--checkout", action="append", help="only this checkout; repeatable")
    parser.add_argument("--code", action="append", default=[], help="only rules with this beginning; repeatable")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--load", type=Path)
    given = parser.parse_args()
    if given.load:
        trials = load(given.load)
    elif "MESHLINT_UPSTREAM" in os.environ:
        upstream = Path(os.environ["MESHLINT_UPSTREAM"])
        codes = tuple(given.code) or ("",)
        trials = list(collect(upstream, given.checkout or CHECKOUTS, given.rounds, given.seed, codes))
    else:
        parser.error("set MESHLINT_UPSTREAM to a folder of checkouts, or give --load")
    if given.save:
        given.save.write_text(json.dumps([asdict(t) for t in trials], indent=1), encoding="utf-8")
    real = [t for t in trials if t.result in ("caught", "missed", "stopped", "noisy")]
    random.Random(given.seed).shuffle(real)
    sys.stdout.write(table(sorted(real[: given.count], key=lambda t: (t.code, t.form, t.launch))) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
