"""Holds the simulation, the fast proofs and the blame against the reference on many random protocols.

    python tests/tools/brute_force.py --count 100000 --seed 1

prints what was compared and every disagreement, and exits with 1 if there is one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "mesh"))

from compare import compare


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1, help="the first of `count` seeds")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    start = time.perf_counter()
    for seed in range(options.seed, options.seed + options.count):
        wrong += compare(seed, counts)
    for name, count in sorted(counts.items()):
        print(f"{count:8} {name}")
    print(f"{len(wrong):8} disagreements, {time.perf_counter() - start:.0f} s")
    print("\n".join(wrong[:50]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
