"""How long meshlint takes, beside a bare `ast.parse` of the same tree and ruff, in one run; nothing is asserted.

    python tests/bench/bench.py CHECKOUT [--repeat N]

Each row is the best of N runs: wall and CPU seconds of the process and its children, and the largest resident set.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ONE = HERE.parents[1] / "fixtures" / "HCP001" / "bad" / "nemo_rl.yaml"
CONFIG = ("--select", "HCP,CTX,PKD002,PKD003,PKD004,PKD005,PKD006,PKD008,CFG,MSH")
PARSE = """
import ast, pathlib, sys, warnings
warnings.simplefilter("ignore")
for file in pathlib.Path(sys.argv[1]).rglob("*.py"):
    try:
        ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, OSError):
        pass
"""


@dataclass(frozen=True)
class Cost:
    """What one run cost."""

    wall: float
    cpu: float
    peak: float


def measure(words: list[str], environment: dict[str, str]) -> Cost:
    """Run a command without output; its status does not matter."""
    begun = time.perf_counter()
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
        child = os.posix_spawn(
            words[0],
            words,
            environment,
            file_actions=[(os.POSIX_SPAWN_DUP2, nowhere.fileno(), 1), (os.POSIX_SPAWN_DUP2, nowhere.fileno(), 2)],
        )
        _, _, usage = os.wait4(child, 0)
    wall = time.perf_counter() - begun
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def best(words: list[str], environment: dict[str, str], repeat: int) -> Cost:
    """Give the cheapest of several runs, figure by figure."""
    costs = [measure(words, environment) for _ in range(repeat)]
    return Cost(min(c.wall for c in costs), min(c.cpu for c in costs), min(c.peak for c in costs))


def rows(checkout: Path, cache: str, repeat: int) -> list[tuple[str, Cost]]:
    """Measure everything."""
    environment = {**os.environ, "XDG_CACHE_HOME": cache, "RUFF_NO_CACHE": "true"}
    check = [sys.executable, "-m", "meshlint", "check"]
    cold = [*check, "--no-cache", *CONFIG, str(checkout)]
    warm = [*check, *CONFIG, str(checkout)]
    table = [
        ("python -c pass", [sys.executable, "-c", "pass"]),
        ("meshlint --version", [sys.executable, "-m", "meshlint", "--version"]),
        ("meshlint check one.yaml", [*check, "--no-cache", str(ONE)]),
        ("meshlint check, configs, cold", cold),
        ("meshlint check, configs, warm", warm),
        ("meshlint check --preview, cold", [*check, "--no-cache", "--preview", str(checkout)]),
        ("bare ast.parse", [sys.executable, "-c", PARSE, str(checkout)]),
    ]
    ruff = shutil.which("ruff", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if ruff is not None:
        table.append(("ruff check --no-cache", [ruff, "check", "--no-cache", "--isolated", str(checkout)]))
    measure(warm, environment)
    return [(name, best(words, environment, repeat)) for name, words in table]


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        measured = rows(given.checkout.resolve(), cache, given.repeat)
    files = sum(1 for _ in given.checkout.rglob("*.py"))
    print(f"{given.checkout.name}: {files} Python files, {os.cpu_count()} cores, best of {given.repeat}\n")
    print("| run | wall s | CPU s | peak MB |")
    print("| --- | ---: | ---: | ---: |")
    for name, cost in measured:
        print(f"| {name} | {cost.wall:.2f} | {cost.cpu:.2f} | {cost.peak:.0f} |")


if __name__ == "__main__":
    main()
