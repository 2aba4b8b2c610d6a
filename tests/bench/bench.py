"""How long meshlint takes, beside a bare `ast.parse` of the same tree and ruff, in one run; nothing is asserted.

    python tests/bench/bench.py CHECKOUT [CHECKOUT ...] [--repeat N]

The first checkout is measured in full. The code side is measured besides on a quarter and a half of its folders and on
all checkouts together, as copies in a folder of their own, in which one file is changed for each run. Each row is the
best of N runs: wall and CPU seconds of the process and its children, and the largest resident set of one process. Only
the rows of one line more in a function are others: the middle and the dearest of eight files.
Python keeps what it compiles, as it does where meshlint is installed, whatever PYTHONDONTWRITEBYTECODE says here.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ONE = HERE.parents[1] / "fixtures" / "HCP001" / "bad" / "nemo_rl.yaml"
CONFIG = ("--select", "HCP,CTX,PKD002,PKD003,PKD004,PKD005,PKD006,PKD008,CFG,MSH")
CODE = ("--preview", "--select", "COL,GRP,PKD001,PKD007")
EDITED = 8
"""Files that one line more is put into."""
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


def surroundings(cache: str) -> dict[str, str]:
    """Give the variables under which everything is measured."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "XDG_CACHE_HOME": cache}


def rows(checkout: Path, cache: str, repeat: int) -> list[tuple[str, Cost]]:
    """Measure everything."""
    environment = {**surroundings(cache), "RUFF_NO_CACHE": "true"}
    check = [sys.executable, "-m", "meshlint", "check"]
    cold = [*check, "--no-cache", *CONFIG, str(checkout)]
    warm = [*check, *CONFIG, str(checkout)]
    alone = Path(cache) / "alone" / "one.yaml"
    alone.parent.mkdir(exist_ok=True)
    shutil.copyfile(ONE, alone)
    table = [
        ("python -c pass", [sys.executable, "-c", "pass"]),
        ("meshlint --version", [sys.executable, "-m", "meshlint", "--version"]),
        ("meshlint check one.yaml, in a folder of its own", [*check, "--no-cache", str(alone)]),
        ("meshlint check one.yaml, in meshlint's checkout", [*check, "--no-cache", str(ONE)]),
        ("meshlint check, configs, cold", cold),
        ("meshlint check, configs, warm", warm),
        ("meshlint check --preview, cold", [*check, "--no-cache", "--preview", str(checkout)]),
        ("meshlint check, code, cold", [*check, "--no-cache", *CODE, str(checkout)]),
        ("meshlint check, code, warm", [*check, *CODE, str(checkout)]),
        ("bare ast.parse", [sys.executable, "-c", PARSE, str(checkout)]),
    ]
    ruff = shutil.which("ruff", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if ruff is not None:
        table.append(("ruff check --no-cache", [ruff, "check", "--no-cache", "--isolated", str(checkout)]))
    measure(warm, environment)
    measure([*check, *CODE, str(checkout)], environment)
    return [(name, best(words, environment, repeat)) for name, words in table]


def copied(checkouts: list[Path], share: int, place: Path) -> Path:
    """Copy every `share`th Python file of some checkouts, folder by folder, into a tree of its own."""
    for checkout in checkouts:
        for number, folder in enumerate(sorted({file.parent for file in checkout.rglob("*.py")})):
            if number % share:
                continue
            target = place / checkout.name / folder.relative_to(checkout)
            target.mkdir(parents=True, exist_ok=True)
            for file in sorted(folder.glob("*.py")):
                if file.is_file():
                    shutil.copyfile(file, target / file.name)
    return place


def growth(checkouts: list[Path], cache: str, repeat: int) -> list[tuple[str, Cost]]:
    """Measure the code side, and a bare `ast.parse`, on parts of a tree and on several trees together."""
    environment = surroundings(cache)
    check = [sys.executable, "-m", "meshlint", "check", *CODE]
    sets = [("a quarter", checkouts[:1], 4), ("a half", checkouts[:1], 2), ("the whole", checkouts[:1], 1)]
    if len(checkouts) > 1:
        sets.append((f"{len(checkouts)} checkouts", checkouts, 1))
    table: list[tuple[str, Cost]] = []
    for name, chosen, share in sets:
        with tempfile.TemporaryDirectory() as folder:
            place = copied(chosen, share, Path(folder))
            files = sorted(place.rglob("*.py"))
            label = f"code of {name}, {len(files)} files"
            table.append((f"{label}: ast.parse", best([sys.executable, "-c", PARSE, str(place)], environment, repeat)))
            table.append((f"{label}: cold", best([*check, "--no-cache", str(place)], environment, repeat)))
            measure([*check, str(place)], environment)
            table.append((f"{label}: warm", best([*check, str(place)], environment, repeat)))
            table.append((f"{label}: one changed file", changed(files, [*check, str(place)], environment, repeat)))
            costs = edited(files, [*check, str(place)], environment)
            table.append((f"{label}: a line more in a function, the middle of {len(costs)}", costs[len(costs) // 2]))
            table.append((f"{label}: a line more in a function, the dearest of {len(costs)}", costs[-1]))
    return table


def changed(files: list[Path], words: list[str], environment: dict[str, str], repeat: int) -> Cost:
    """Give the cheapest run after a change of one file, another one each time."""
    costs = []
    for number in range(repeat):
        with files[(number + 1) * len(files) // (repeat + 1)].open("a", encoding="utf-8") as file:
            file.write(f"\n\ndef changed_{number}():\n    return {number}\n")
        costs.append(measure(words, environment))
    return Cost(min(c.wall for c in costs), min(c.cpu for c in costs), min(c.peak for c in costs))


def edited(files: list[Path], words: list[str], environment: dict[str, str]) -> list[Cost]:
    """Give what runs cost after a line was put into the longest function of one file, by wall time; each is undone."""
    able = [(file, text) for file in files if (text := with_a_line(file)) is not None]
    costs = []
    for file, text in able[len(able) // (2 * EDITED) :: max(1, len(able) // EDITED)][:EDITED]:
        before = file.read_bytes()
        file.write_text(text, encoding="utf-8")
        costs.append(measure(words, environment))
        file.write_bytes(before)
        measure(words, environment)
    return sorted(costs, key=lambda cost: cost.wall)


def with_a_line(file: Path) -> str | None:
    """Give a file's text with one assignment more in its longest function; None where it has none to put it in."""
    try:
        text = file.read_text(encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nodes = list(ast.walk(ast.parse(text)))
    except (OSError, SyntaxError, ValueError):
        return None
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.body[-1].lineno > node.lineno]
    if "tests" in file.parts or not functions:
        return None
    longest = max(functions, key=lambda node: (node.end_lineno or 0) - node.lineno)
    plain = [one for one in longest.body if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    if not plain or plain[-1].lineno == longest.lineno:
        return None
    lines = text.split("\n")
    lines.insert(plain[-1].lineno - 1, " " * plain[-1].col_offset + "one_more = 1")
    return "\n".join(lines)


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path, nargs="+", metavar="CHECKOUT")
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        checkouts = [checkout.resolve() for checkout in given.checkouts]
        measured = rows(checkouts[0], cache, given.repeat) + growth(checkouts, cache, given.repeat)
    files = sum(1 for _ in checkouts[0].rglob("*.py"))
    print(f"{checkouts[0].name}: {files} Python files, {os.cpu_count()} cores, best of {given.repeat}\n")
    print("| run | wall s | CPU s | peak MB |")
    print("| --- | ---: | ---: | ---: |")
    for name, cost in measured:
        print(f"| {name} | {cost.wall:.2f} | {cost.cpu:.2f} | {cost.peak:.0f} |")


if __name__ == "__main__":
    main()
