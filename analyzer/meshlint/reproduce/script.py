"""A case as one file that a person can read and run with torchrun: both arms, and no word of meshlint's own code."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill

from meshlint.reproduce.case import Arm, Case, Depth, Happens
from meshlint.reproduce.verdict import ArmVerdict
from meshlint.words import plural

LINES = 80
"""What a script stays below, in lines, unless it carries a stand-in for a library."""

WIDTH, MAX_WIDTH = 119, 400
"""Columns of the first sentence, and where lines run short."""

LIBRARIES = {"megatron": "megatron-core", "transformer_engine": "Transformer Engine"}
"""Names of libraries, by the module that is imported."""

TORCH = """\
import faulthandler
import os
import sys

import torch
import torch.distributed as dist

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
cuda = torch.cuda.device_count() >= world
torch.set_default_device(f"cuda:{{os.environ['LOCAL_RANK']}}" if cuda else "cpu")
wrong = []
"""

PLAIN = """\
import sys

wrong = []
"""

GROUPS = '''
def groups(lists):
    """Make the process groups of `lists`; give this rank's own."""
    made = [dist.new_group(ranks) for ranks in lists]
    return next((group for group, ranks in zip(made, lists) if rank in ranks), None)

'''

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
    faulthandler.dump_traceback_later({seconds}, exit=True)  # a rank that is not done by then shows where it stands
    if cuda:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if cuda else "gloo")
    {{"failing": failing, "fixed": fixed}}[sys.argv[1]]()
    if cuda:
        torch.cuda.synchronize()
    print(f"rank {{rank}}: done", flush=True)
    os._exit(any(wrong))  # without goodbyes, which would wait for ranks that never come
"""

PLAIN_MAIN = """

if __name__ == "__main__":
    {{"failing": failing, "fixed": fixed}}[sys.argv[1]]()
    sys.exit(any(wrong))
"""


def written(case: Case, title: str, seen: ArmVerdict | None = None, file: str = "repro.py") -> str:
    """Write a case; `seen` is what was measured of its failing arm, if it was run. Below LINES lines."""
    parallel = _parallel(case)
    loose = "".join(_parts(case, title, seen, file, parallel, WIDTH)).rstrip("\n") + "\n"
    wide = "".join(_parts(case, title, seen, file, parallel, MAX_WIDTH)).rstrip("\n") + "\n"
    tries = (loose, *(text.replace("\n\n\n", "\n\n") for text in (loose, wide)))
    return next((text for text in tries if text.count("\n") < LINES), tries[1])


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


def _parts(case: Case, title: str, seen: ArmVerdict | None, file: str, parallel: bool, width: int) -> Iterator[str]:
    file = file if all(c.isascii() and (c.isalnum() or c in "._-") for c in file) else "repro.py"  # it stands in a text
    run = f"torchrun --nproc-per-node {case.world} {file}" if parallel else f"python {file}"
    needs = needed(case)
    told = [f"failing    # {expected(case, seen)}", "fixed      # ok" + (f"; both need {needs}" if needs else "")]
    head = fill(f'"""{title}: {case.says}.', width, break_long_words=False, break_on_hyphens=False)
    own = f"It runs {case.runs}.\n" if case.runs.startswith("a stand-in") else ""
    yield f"{head}\n\n" + "".join(f"    {run} {line}\n" for line in told) + f'{own and chr(10)}{own}"""\n\n'
    values = {"seconds": 30, "tolerance": case.tolerance}
    yield (TORCH if parallel else PLAIN).format(**values)
    texts = case.prelude + case.failing.text + case.fixed.text
    if " groups(" in texts:
        yield "\n" + GROUPS.rstrip("\n") + "\n"
    if "check(" in texts:
        yield "\n" + (CHECK if parallel else PLAIN_CHECK).format(**values).rstrip("\n") + "\n"
    if case.prelude.strip():
        yield "\n\n" + case.prelude.strip("\n") + "\n"
    for name, arm in case.arms:
        yield f"\n\ndef {name}():\n" + "".join(f"    {line}\n" if line else "\n" for line in _lines(arm))
    yield (MAIN if parallel else PLAIN_MAIN).format(**values)


def _lines(arm: Arm) -> list[str]:
    return arm.text.strip("\n").split("\n")


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
