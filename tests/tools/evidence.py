"""Collects verdicts: runs every reproducer at one depth and writes what they show.

    python tests/tools/evidence.py DEPTH FOLDER [--python PROGRAM] [--library with|without|only] [--case NAME]
        [--share-gpus] [CODE ...]

One file a rule and depth, `FOLDER/CODE-DEPTH.json`, or all in one file where FOLDER ends in `.json`. What
`docs/evidence` holds was made by it; `docs/generate.py` makes the page of it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

from meshlint import __version__
from meshlint.engine.reproducers import reproducer_of
from meshlint.reproduce.case import Depth, Reproducer
from meshlint.reproduce.run import Runner
from meshlint.reproduce.verdict import text, to_json
from meshlint_rules import rules


def main() -> int:
    """Run, and say how far it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("depth", choices=[depth.value for depth in Depth])
    parser.add_argument("folder", type=Path)
    parser.add_argument("codes", nargs="*")
    parser.add_argument("--python", default="")
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--share-gpus", action="store_true")
    parser.add_argument("--case", action="append", default=[])
    parser.add_argument("--library", choices=["with", "without", "only"], default="with")
    chosen = parser.parse_args()
    depth, found = Depth(chosen.depth), {}
    with Runner(python=chosen.python, timeout=chosen.timeout, share=chosen.share_gpus) as runner:
        for rule in rules():
            reproducer = reproducer_of(rule)
            if reproducer is None or (chosen.codes and rule.code not in chosen.codes):
                continue
            reproducer = narrowed(reproducer, chosen.library)
            if depth not in reproducer.depths():
                continue
            began = time.monotonic()
            verdict = runner.run(reproducer, depth, names=chosen.case)
            found[rule.code] = to_json(verdict, rule.slug, __version__)
            print(f"{time.monotonic() - began:.1f} s", flush=True)
            print("\n".join(text(verdict, rule.slug)), flush=True)
            save(found, chosen.folder, depth)
    print("shown:", *(code for code, verdict in found.items() if verdict["shown"]))
    print("not shown:", *(code for code, verdict in found.items() if not verdict["shown"]))
    return 0


def narrowed(reproducer: Reproducer, library: str) -> Reproducer:
    """Keep the cases that run a library's own code, or the others."""
    if library == "with":
        return reproducer
    return replace(reproducer, cases=tuple(c for c in reproducer.cases if bool(c.needs) is (library == "only")))


def save(found: dict[str, object], folder: Path, depth: Depth) -> None:
    """Write what there is so far."""
    if folder.suffix == ".json":
        folder.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
        return
    folder.mkdir(parents=True, exist_ok=True)
    for code, verdict in found.items():
        (folder / f"{code}-{depth.value}.json").write_text(json.dumps(verdict, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
