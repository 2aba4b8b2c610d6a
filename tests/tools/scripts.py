"""Run every script that `meshlint reproduce --write` can write: both arms, on gloo, as people would with torchrun.

    MESHLINT_TORCH_PYTHON=/a/python/with/torch python tests/tools/scripts.py [CODE ...] [--own]

Scripts of cases whose libraries are not there, or which need GPUs, are left out and counted. `--own` runs those of the
findings of the bad fixtures of the code rules instead. The last line counts; what failed is told before it.
"""

from __future__ import annotations

import json
import os
import runpy
import select
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SECONDS = 8
"""How long the failing arm of two ranks may stand before it shows where; more ranks take longer to come together."""
PATIENCE = 60
FIXTURES = Path(__file__).parents[2] / "fixtures"
CODE_RULES = ("COL", "GRP", "PKD001", "PKD007")

Script = dict[str, Any]


def written_scripts(codes: list[str], own: bool, there: dict[str, str]) -> Iterator[Script]:
    """Give the scripts that can be run on gloo, with what each must show."""
    from meshlint.reproduce.case import Depth
    from meshlint.reproduce.script import _parallel, written

    for code, name, case, of in own_cases(codes) if own else rule_cases(codes):
        text = written(case, code, of=of).replace("_later(30,", f"_later({max(SECONDS, 4 * case.world)},")
        missing = [module for module in case.needs if module not in there]
        why = f"needs {', '.join(missing)}" if missing else "" if Depth.CPU in case.depths else "needs GPUs"
        happens = case.failing.at(Depth.CPU if Depth.CPU in case.depths else Depth.SIMULATE).value
        world = case.world if _parallel(case) else 1
        if why == "needs GPUs" and not case.needs and Depth.SIMULATE in case.depths and not _parallel(case):
            why = ""
        yield {"name": f"{code} {name}", "text": text, "world": world, "why": why, "ok": happens == "ok"}


def rule_cases(codes: list[str]) -> Iterator[tuple[str, str, Any, Any]]:
    """Give the cases of all rules."""
    from meshlint.engine.reproducers import reproducer_of
    from meshlint_rules import rules

    for rule in rules():
        made = reproducer_of(rule)
        for place, case in enumerate(made.cases if made is not None else ()):
            if not codes or rule.code in codes:
                yield rule.code, f"{case.name} {place}", case, None


def own_cases(codes: list[str]) -> Iterator[tuple[str, str, Any, Any]]:
    """Give the own cases of the findings of bad fixtures of the code rules."""
    from meshlint.engine.evidence import own_case
    from meshlint.engine.options import Options
    from meshlint.engine.run import check
    from meshlint.reproduce.script import Found

    for folder in sorted(FIXTURES.iterdir()):
        if not folder.name.startswith(CODE_RULES) or (codes and folder.name not in codes):
            continue
        bad = folder / "bad"
        for one in check([str(bad)], Options(cache=False, select=CODE_RULES, preview=True, cwd=bad)).findings:
            if one.skeleton:
                at = f"{one.span.path.rpartition('/')[2]}:{one.span.line}"
                yield one.code, at, own_case(one), Found(at, one.rule_url, "its own calls")


# -- with torch ------------------------------------------------------------------------------------------------------


def one_arm(file: Path, world: int, arm: str) -> tuple[list[int], str]:
    """Run one arm, a process a rank; gives their statuses (-9 for one that had to be ended) and what they said.

    The store is here, as it is torchrun's there: rank 0 may end before others have made their groups.
    """
    import torch.distributed as dist

    logs = [file.with_suffix(f".{arm}.{rank}") for rank in range(world)]
    reads, writes = os.pipe()
    pids = [_forked(file, arm, rank, world, reads, logs[rank]) for rank in range(world)]
    store = dist.TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False)  # its threads begin after the forks
    os.write(writes, b"%8d" % store.port * world)
    statuses: dict[int, int] = {}
    end = time.monotonic() + PATIENCE
    while len(statuses) < world and time.monotonic() < end:
        for rank, pid in enumerate(pids):
            if rank not in statuses and (done := os.waitpid(pid, os.WNOHANG))[0]:
                statuses[rank] = os.waitstatus_to_exitcode(done[1])
        select.select([], [], [], 0.02)
    for rank, pid in enumerate(pids):
        if rank not in statuses:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
            statuses[rank] = -9
    os.close(reads)
    os.close(writes)
    del store
    return [statuses[rank] for rank in range(world)], "".join(log.read_text("utf-8", "replace") for log in logs)


def _forked(file: Path, arm: str, rank: int, world: int, ports: int, log: Path) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        port = int(os.read(ports, 8))
        os.environ.update(
            RANK=str(rank), WORLD_SIZE=str(world), LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
            TORCHELASTIC_USE_AGENT_STORE="True", TORCHELASTIC_RESTART_COUNT="0",
        )  # fmt: skip
        sys.argv = [str(file), arm]
        runpy.run_path(str(file), run_name="__main__")
        status = 0
    except SystemExit as ended:
        status = int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def run_all(folder: Path) -> None:
    """Run the scripts of a folder, and print a line of JSON for each."""
    import torch

    torch.set_num_threads(1)
    for script in json.loads((folder / "scripts.json").read_text("utf-8")):
        file = folder / script["file"]
        arms = {}
        for arm in ("failing", "fixed"):
            began = time.monotonic()
            statuses, said = one_arm(file, script["world"], arm)
            arms[arm] = {"statuses": statuses, "said": said[-3000:], "seconds": round(time.monotonic() - began, 1)}
        print(json.dumps({"name": script["name"], "ok": script["ok"], **arms}), flush=True)


def fault(result: Script) -> str:
    """Say what is wrong with what a script did; "" where it did as its first lines say."""
    failing, right = result["failing"], result["fixed"]
    if any(right["statuses"]):
        return f"the fixed arm ended with {right['statuses']}: {right['said'][-1500:]}"
    if "Python 3" not in right["said"]:
        return "it does not print its versions"
    if -9 in failing["statuses"]:
        return f"the failing arm did not end by itself: {failing['said'][-800:]}"
    if any(failing["statuses"]) == bool(result["ok"]):
        return f"the failing arm ended with {failing['statuses']}: {failing['said'][-800:]}"
    return ""


def main() -> int:
    """Write scripts, run them with a Python that has torch, and tell."""
    if sys.argv[1:2] == ["--run"]:
        run_all(Path(sys.argv[2]))
        return 0
    from meshlint.reproduce.launch import python_with_torch, worker
    from meshlint.reproduce.run import MODULES

    codes = [word for word in sys.argv[1:] if not word.startswith("-")]
    python = python_with_torch(os.environ.get("MESHLINT_TORCH_PYTHON", ""))
    with worker(python, MODULES) as started:
        there = dict(started.machine.versions)
    scripts = list(written_scripts(codes, "--own" in sys.argv, there))
    folder = Path(tempfile.mkdtemp())
    runnable = [script for script in scripts if not script["why"]]
    for number, script in enumerate(runnable):
        script["file"] = f"{number}.py"
        (folder / script["file"]).write_text(script["text"], "utf-8")
    (folder / "scripts.json").write_text(json.dumps(runnable), "utf-8")
    run = subprocess.Popen([python, __file__, "--run", str(folder)], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    bad = done = 0
    for line in run.stdout:
        result = json.loads(line)
        wrong = fault(result)
        done, bad = done + 1, bad + bool(wrong)
        if wrong:
            print(f"{result['name']}: {wrong}\n", flush=True)
    run.wait()
    shutil.rmtree(folder, ignore_errors=True)
    left = len(scripts) - len(runnable)
    print(f"{done} scripts run, {bad} do not do as they say, {left} left out for want of libraries or GPUs")
    return 1 if bad or done < len(runnable) else 0


if __name__ == "__main__":
    sys.exit(main())
