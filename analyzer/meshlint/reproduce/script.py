"""A case as one file that a person can read and run with torchrun: both arms, and no word of meshlint's own code."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import fill

from meshlint.reproduce.case import Case, Depth, Happens
from meshlint.reproduce.verdict import ArmVerdict
from meshlint.words import plural

LINES = 80
"""What a script stays below, in lines, unless it carries a stand-in for a library."""

WIDTH = 100
"""Columns of the sentences at the head."""

NEEDED = ("import faulthandler", "import os", "import sys", "import torch", "import torch.distributed as dist")
"""What every script with torch imports."""

LIBRARIES = {"megatron": "megatron-core", "transformer_engine": "Transformer Engine"}
"""Names of libraries, by the module that is imported."""

VERSIONED = ("megatron.core", "transformer_engine")
"""Modules that know their version."""

TORCH = """
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
cuda = torch.cuda.device_count() >= world
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) if cuda else -1)  # -1 is none
torch.set_default_device("cuda" if cuda else "cpu")
wrong = []
"""

CUDA = """
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
torch.set_default_device("cuda")
wrong = []
"""

GLOO = """
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
wrong = []
"""

PLAIN = """
wrong = []
"""

GROUPS = """
def groups(lists):  # makes the process groups of `lists`, and gives this rank's own
    made = [dist.new_group(ranks) for ranks in lists]
    return next((group for group, ranks in zip(made, lists) if rank in ranks), None)

"""

CHECK = """
def check(name, value, right):
    value, right = torch.as_tensor(value).double(), torch.as_tensor(right).double()
    error = ((value - right).norm() / right.norm().clamp_min(1e-30)).item()
    wrong.append(error > {tolerance})
    got, wanted = (x.flatten()[(value - right).abs().flatten().argsort()[-4:]].tolist() for x in (value, right))
    print(f"rank {{rank}}: {{name}} is {{got}}, right is {{wanted}}, relative error {{error:.3g}}", flush=True)

"""

PLAIN_CHECK = '''
def check(name, value, right):
    """Say what a value is and what it is in a right program."""
    wrong.append(abs(value - right) > {tolerance})
    print(f"{{name}} is {{value}}, right is {{right}}")

'''

MAIN = """

if __name__ == "__main__":
    faulthandler.dump_traceback_later({seconds}, exit=True)  # a rank that hangs shows where it stands, and ends
    dist.init_process_group("nccl" if cuda else "gloo")
{end}    if rank == 0:
        backend = f"NCCL {{torch.cuda.nccl.version()}}" if cuda else "gloo"
        print(__doc__, f"Python {{sys.version.split()[0]}}, torch {{torch.__version__}}, {{backend}}, {{world}} ranks")
    {{"failing": failing, "fixed": fixed}}[sys.argv[1]]()
    if cuda:
        torch.cuda.synchronize()
    print(f"rank {{rank}}: {{'wrong values' if any(wrong) else 'ok'}}", flush=True)
{leave}"""

BACKEND = """\
        backend = f"NCCL {torch.cuda.nccl.version()}" if cuda else "gloo"
"""

CUDA_MAIN = """

if __name__ == "__main__":
    faulthandler.dump_traceback_later({seconds}, exit=True)  # a rank that hangs shows where it stands, and ends
    dist.init_process_group("nccl")
{end}    if rank == 0:
        print(__doc__, "Python", sys.version.split()[0], "torch", torch.__version__, "NCCL", torch.cuda.nccl.version())
    {{"failing": failing, "fixed": fixed}}[sys.argv[1]]()
    torch.cuda.synchronize()
    print(f"rank {{rank}}: {{'wrong values' if any(wrong) else 'ok'}}", flush=True)
{leave}"""

GLOO_MAIN = """

if __name__ == "__main__":
    faulthandler.dump_traceback_later({seconds}, exit=True)  # a rank that hangs shows where it stands, and ends
    dist.init_process_group("gloo")
{end}    if rank == 0:
        print(__doc__, f"Python {{sys.version.split()[0]}}, torch {{torch.__version__}}, gloo, {{world}} ranks")
    {{"failing": failing, "fixed": fixed}}[sys.argv[1]]()
    print(f"rank {{rank}}: {{'wrong values' if any(wrong) else 'ok'}}", flush=True)
{leave}"""

END = """\
    end = dist.new_group(backend="gloo")
"""

STAY = """\
    dist.barrier(end)  # all wait: where one left, the calls of those that hang would fail
    os._exit(any(wrong))
"""

LEAVE = """\
    os._exit(any(wrong))  # without goodbyes, which would wait for ranks that never come
"""

PLAIN_MAIN = """

if __name__ == "__main__":
    print(__doc__, f"Python {{sys.version.split()[0]}}")
    {{"failing": failing, "fixed": fixed}}[sys.argv[1]]()
    print("wrong values" if any(wrong) else "ok")
    sys.exit(any(wrong))
"""


@dataclass(frozen=True, slots=True)
class Found:
    """The finding that a script shows: where it stands, the page of its rule, and what of it the script is made of."""

    place: str
    page: str
    told: str = ""


def written(
    case: Case, title: str, seen: ArmVerdict | None = None, file: str = "repro.py", of: Found | None = None
) -> str:
    """Write a case; `seen` is what was measured of its failing arm, if it was run. Below LINES lines."""
    loose = "".join(_parts(case, title, seen, file, of)).rstrip("\n") + "\n"
    dense = loose.replace("\n\n\n", "\n\n")
    denser = dense.replace("\n\n    def ", "\n    def ")
    tries = (loose, dense, denser, denser.replace("import sys\n\n", "import sys\n"))
    return next((text for text in tries if text.count("\n") < LINES), tries[-1])


def needed(case: Case) -> str:
    """Name what a case needs beside torch; empty where it needs nothing."""
    libraries = dict.fromkeys(LIBRARIES.get(module.split(".")[0], module) for module in case.needs)
    cards = [plural(case.world, "GPU")] if case.depths == (Depth.GPU,) else []
    *most, last = [*libraries, *cards] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def _parallel(case: Case) -> bool:
    """Say whether a case wants torch and its default group, even for one rank."""
    texts = case.prelude + case.failing.text + case.fixed.text
    bare = "torch." in texts and "import torch\n" not in texts
    return case.world > 1 or bare or any(word in texts for word in ("dist.", "parallel_state"))


def _parts(case: Case, title: str, seen: ArmVerdict | None, file: str, of: Found | None) -> Iterator[str]:
    parallel = _parallel(case)
    begin, main = _frame(case, parallel)
    yield from _head(case, title, seen, file, of, parallel)
    values = {"seconds": 30, "tolerance": case.tolerance}
    imports, prelude = _imports(case.prelude.strip("\n"))
    arms = [(name, arm.text.strip("\n")) for name, arm in case.arms]
    alike = [_imports(text) for _, text in arms]
    if alike[0][0] == alike[1][0] and _defines(prelude):
        imports += alike[0][0]
        arms = [(name, rest) for (name, _), (_, rest) in zip(arms, alike, strict=True)]
    known = tuple(name for name in VERSIONED if any(one.startswith(name) for one in case.needs))
    unread = [f"import {name}" for name in known if not any(name in one for one in (*imports, prelude))]
    own = (*NEEDED, *unread) if parallel else ("import sys",)
    yield _imported([*own, *imports]) + begin
    texts = case.prelude + case.failing.text + case.fixed.text
    if " groups(" in texts or "(groups(" in texts:
        yield "\n" + GROUPS.rstrip("\n") + "\n"
    if "check(" in texts:
        yield "\n" + (CHECK if parallel else PLAIN_CHECK).format(**values).rstrip("\n") + "\n"
    prelude = _needed_of(prelude, case.failing.text + case.fixed.text)
    if prelude:
        yield f"\n\n{prelude}\n"
    for name, text in arms:
        yield f"\n\ndef {name}():\n" + "".join(f"    {line}\n" if line else "\n" for line in text.split("\n"))
    together = _waits(case)
    main = main.format(**values, end=END if together else "", leave=STAY if together else LEAVE)
    if known and parallel:
        told = ", ".join(f'"{name}", sys.modules["{name}"].__version__' for name in known)
        if BACKEND in main:  # in the same number of lines
            main = main.replace(BACKEND, "").replace("{backend}", "{dist.get_backend()}")
            told += ', "NCCL", torch.cuda.nccl.version() if cuda else "none"'
        main = main.replace('    {"failing"', f'        print({told})\n    {{"failing"', 1)
    yield main


def _waits(case: Case) -> bool:
    """Say whether ranks wait in the failing arm, while others may have come to its end."""
    return Happens.HANG in map(case.failing.at, case.depths)


def _frame(case: Case, parallel: bool) -> tuple[str, str]:
    """Give how a script begins and ends: with torch on GPUs, on gloo or on either, or without torch."""
    if not parallel:
        return PLAIN, PLAIN_MAIN
    if case.depths == (Depth.GPU,):
        return CUDA, CUDA_MAIN
    tensors = "torch." in case.prelude + case.failing.text + case.fixed.text
    return (TORCH, MAIN) if tensors or case.needs else (GLOO, GLOO_MAIN)


def _head(
    case: Case, title: str, seen: ArmVerdict | None, file: str, of: Found | None, parallel: bool
) -> Iterator[str]:
    """Write the docstring, which the program prints: what fails where, how to run it, and what comes."""
    file = file if all(c.isascii() and (c.isalnum() or c in "._-") for c in file) else "repro.py"  # it stands in a text
    run = f"torchrun --nproc-per-node {case.world} {file}" if parallel else f"python {file}"
    needs = needed(case)
    told = [f"failing    # {expected(case, seen)}", "fixed      # ok" + (f"; both need {needs}" if needs else "")]
    where = f", {of.place}" if of is not None else ""
    yield fill(f'"""{title}{where}: {case.says}.', WIDTH, break_long_words=False, break_on_hyphens=False)
    yield "\n\n" + "".join(f"    {run} {line}\n" for line in told)
    if case.runs.startswith("a stand-in"):
        yield "\n" + fill(f"It runs {case.runs}.", WIDTH) + "\n"
    if of is not None:
        yield "\n" + fill(f"The rule: {of.page}." + (f" Made of {of.told}." if of.told else ""), WIDTH) + "\n"
    yield '"""\n\n'


def _imports(text: str) -> tuple[list[str], str]:
    """Part the imports of a text from the rest: those at its head, and all where it else only defines functions."""
    lines, found = text.split("\n"), []
    nodes = ast.parse(text).body
    free = all(isinstance(node, (ast.FunctionDef, ast.Import, ast.ImportFrom)) for node in nodes)
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            part = slice(node.lineno - 1, node.end_lineno)
            found.append("\n".join(lines[part]))
            lines[part] = ["\0"] * len(lines[part])
        elif not free:
            break
    rest = "\n".join(line for line in lines if line != "\0").strip("\n")
    return found, rest


def _imported(imports: list[str]) -> str:
    """Write imports: those of the standard library first, `import` before `from`, each once."""
    kept = sorted(dict.fromkeys(imports), key=lambda one: (one.startswith("from "), one))
    own = [one for one in kept if one.split()[1].split(".")[0] in sys.stdlib_module_names]
    others = [one for one in kept if one not in own]
    return "".join(f"{one}\n" for one in own) + "".join(f"{one}\n" for one in ["", *others] if others)


def _defines(prelude: str) -> bool:
    """Say whether a text does nothing but define functions, so that imports may stand before it."""
    return all(isinstance(node, ast.FunctionDef) for node in ast.parse(prelude).body)


def _needed_of(prelude: str, text: str) -> str:
    """Leave the functions out of what both arms begin with that nothing calls."""
    blocks = prelude.split("\n\n")
    for place in range(len(blocks) - 1, -1, -1):
        name = blocks[place].removeprefix("def ").partition("(")[0] if blocks[place].startswith("def ") else ""
        rest = "\n".join([*blocks[:place], *blocks[place + 1 :], text])
        if name and name not in re.findall(r"\w+", rest):
            del blocks[place]
    return "\n\n".join(blocks)


def expected(case: Case, seen: ArmVerdict | None) -> str:
    """Say in a word what the failing arm does, with the ranks that were seen to wait."""
    if seen is None or seen.happened is None:
        return _words(case.failing.at(Depth.CPU if Depth.CPU in case.depths else Depth.SIMULATE))
    waits = "; ".join(
        f"rank {w.rank} waits in {w.op}" + (f" for rank {', '.join(map(str, w.whom))}" if w.whom else "")
        for w in seen.waits[:2]
    )
    return _words(seen.happened) + (f": {waits}" if waits else "")


def _words(happens: Happens) -> str:
    return {"mismatch": "the sides differ"}.get(happens.value, happens.value.replace("-", " "))
