"""Measures the exchanges of context parallelism: megatron-core and Transformer Engine against fp32 attention.

    python tests/tools/exchanges.py FILE [--python PROGRAM] [--timeout S]

Writes FILE: for each setting the largest relative error over the ranks of output and gradients, or what was raised.
Ranks share GPUs where there are fewer than a setting has ranks. `docs/evidence/exchanges.json` was made by it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from meshlint.reproduce.attention import Setting, real_prelude
from meshlint.reproduce.facts import ArmFacts
from meshlint.reproduce.launch import Worker, python_with_torch, worker
from meshlint.reproduce.run import MODULES

WHOLE, RAGGED = (352, 148, 524, 1024), (350, 150, 524, 1024)
PACKED, LEFT_OVER = {"lengths": WHOLE}, {"lengths": RAGGED}
SETTINGS: tuple[tuple[str, Setting], ...] = (
    *((f"cp 2, {comm}", Setting(comm)) for comm in ("p2p", "a2a", "all_gather")),
    *((f"cp 2, a2a+p2p {sizes or 'without sizes'}", Setting("a2a+p2p", sizes)) for sizes in ([2, 1], [1, 2], None)),
    *((f"cp 2, {comm}, 2 key-value groups", Setting(comm, real={"num_query_groups": 2})) for comm in ("p2p", "a2a")),
    *((f"cp 2, {comm}, packed, multiples of 4", Setting(comm, real=PACKED)) for comm in ("p2p", "a2a", "all_gather")),
    *((f"cp 2, {comm}, packed, 350 and 150", Setting(comm, real=LEFT_OVER)) for comm in ("p2p", "a2a", "all_gather")),
    *((f"cp 4, {comm}", Setting(comm, cp=4)) for comm in ("p2p", "a2a", "all_gather")),
    *(
        (f"cp 4, a2a+p2p {sizes or 'without sizes'}", Setting("a2a+p2p", sizes, cp=4))
        for sizes in ([2, 2], [4, 1], [1, 4], [4], [2, 2, 1], None)
    ),
    ("cp 4, a2a, 6 heads", Setting("a2a", cp=4, heads=6)),
    ("cp 4, a2a+p2p [2, 2], 3 heads", Setting("a2a+p2p", [2, 2], cp=4, heads=3)),
)  # fmt: skip


def main() -> int:
    """Measure, and write what there is after each number of ranks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--python", default="")
    parser.add_argument("--timeout", type=float, default=60)
    chosen = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with worker(python_with_torch(chosen.python), MODULES) as started:
        machine = started.machine
        hardware = {"gpus": list(machine.cards)}
        for world in (2, 4):
            settings = [(name, setting) for name, setting in SETTINGS if setting.cp == world]
            rows += measured(started, settings, world, chosen.timeout)
            data = {"hardware": hardware, "versions": dict(machine.versions), "settings": rows}
            chosen.file.write_text(json.dumps(data, indent=1) + "\n", "utf-8")
    return 0


def measured(
    started: Worker, settings: Sequence[tuple[str, Setting]], world: int, timeout: float
) -> Iterator[dict[str, Any]]:
    """Run settings on a number of ranks; a row each."""
    arms = [
        {"text": setting.real_text(), "prelude": real_prelude(*setting.parts()), "alike": True}
        for _, setting in settings
    ]
    share = world > len(started.machine.cards)
    for place, facts in started.run(arms, world, "cuda", timeout, share):
        row = {"name": settings[place][0], "ranks": world, "shared": share, **told(facts)}
        print(row, flush=True)
        yield row


def told(facts: ArmFacts) -> dict[str, Any]:
    """Give the largest error of each value over the ranks, or what came instead."""
    raised = [rank.error for rank in facts.ranks if rank.error]
    if facts.failure or raised:
        return {"raised": facts.failure or raised[0]}
    if any(rank.state == "waiting" for rank in facts.ranks):
        return {"raised": "the ranks wait for one another"}
    errors: dict[str, float] = {}
    for rank in facts.ranks:
        for check in rank.checks:
            errors[check.name] = max(errors.get(check.name, 0.0), float(f"{check.error:.3g}"))
    return {"relative_errors": errors}


if __name__ == "__main__":
    sys.exit(main())
