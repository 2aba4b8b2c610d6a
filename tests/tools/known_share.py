"""Measure what the readers know: over every launch of every checkout, the share of sizes and shapes that are known.

    MESHLINT_UPSTREAM=/folder/of/checkouts python tests/tools/known_share.py [--checkout NAME]... [--why FIELD]

A size counts as known where it is set or has a default, under every open version; a shape where it is a number too.
Launches and their variants count alike, and so do the roles of a launch. `--why` lists the reasons behind the unknown
values of one field, most frequent first. Programs that convert or infer with a model of Bridge's have a row of their
own beside those that train.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from meshlint.config.effective import Fork
from meshlint.config.launch import Launch
from meshlint.config.registry import framework
from meshlint.config.shapes.source import shapes_of
from meshlint.config.surface import Context
from meshlint.config.value import Value
from meshlint.config.versions import resolve
from meshlint.engine import gather
from meshlint.engine.judge import Ground
from meshlint.engine.options import Options
from meshlint.engine.run import scope_of

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
SIZES = (
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "context_parallel_size",
    "expert_model_parallel_size",
)
SHAPES = ("num_layers", "num_attention_heads")


@dataclass
class Share:
    """Roles seen, and how often each field was known."""

    roles: int = 0
    known: Counter[str] = field(default_factory=Counter)

    def percent(self, names: tuple[str, ...]) -> str:
        """Give the share over several fields."""
        return f"{100 * sum(self.known[n] for n in names) / (self.roles * len(names)):5.1f}" if self.roles else "-"


def main() -> int:
    """Print a row for each surface of each checkout, and one for all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkout", action="append", help="only this checkout; repeatable")
    parser.add_argument("--why", default="", metavar="FIELD")
    given = parser.parse_args()
    if "MESHLINT_UPSTREAM" not in os.environ:
        parser.error("set MESHLINT_UPSTREAM to a folder of checkouts")
    upstream = Path(os.environ["MESHLINT_UPSTREAM"])
    total = Share()
    reasons: Counter[str] = Counter()
    sys.stdout.write(f"{'checkout':20}{'surface':34}{'roles':>6}  sizes%  shapes%\n")
    for name in given.checkout or CHECKOUTS:
        shares: dict[str, Share] = {}
        for launch, values in _roles(upstream / name):
            share = shares.setdefault(_form(launch), Share())
            for one in (share, total):
                one.roles += 1
                one.known.update(field for field, found in values.items() if _is_known(field, found))
            for value in values.get(given.why, ()):
                if value.is_unknown or value.data is None:
                    reasons[f"{launch.place.path}: {value.reason or 'no number'}"] += 1
        for form, share in sorted(shares.items()):
            sys.stdout.write(_row(name, form, share))
        sys.stdout.flush()
    sys.stdout.write(_row("all", "", total))
    sys.stdout.writelines(f"{count:5} {reason}\n" for reason, count in reasons.most_common(400))
    return 0


def _form(launch: Launch) -> str:
    """Name the row of a launch; a model that a program of Bridge's makes without a recipe converts or infers."""
    kind = "no training" if launch.entry == "provider" else launch.framework
    return f"{launch.surface} {kind}"


def _row(name: str, form: str, share: Share) -> str:
    return f"{name:20}{form:34}{share.roles:6}  {share.percent(SIZES):>6}  {share.percent(SHAPES):>7}\n"


def _is_known(name: str, values: list[Value]) -> bool:
    return not any(v.is_unknown or (name in SHAPES and v.data is None) for v in values)


def _roles(folder: Path) -> Iterator[tuple[Launch, dict[str, list[Value]]]]:
    """Give, for each role of each launch, the values of the fields under every choice of open versions."""
    options = Options()
    scope = scope_of([str(folder)], options)
    context = gather.context_of(scope, options)
    failures: list[str] = []
    for entry in gather.entries(scope, context, failures):
        for variants in gather.launches(entry, context, options, failures):
            for launch in variants:
                yield from _values(launch, context)


def _values(launch: Launch, context: Context) -> Iterator[tuple[Launch, dict[str, list[Value]]]]:
    model = framework(launch.framework)
    ground = Ground(model, resolve(launch, model, context), shapes_of(context))
    for role in model.roles(launch):
        config = ground.config(launch, role, {})
        found: dict[str, list[Value]] = {}
        for name in (*SIZES, *SHAPES):
            try:
                found[name] = [config.value(name)]
            except Fork as fork:
                ends = (fork.candidates[0], fork.candidates[-1])
                found[name] = [ground.config(launch, role, {fork.library: v}).value(name) for v in ends]
        yield launch, found


if __name__ == "__main__":
    sys.exit(main())
