"""A compiled meshlint says what a plain one says, byte for byte, and bears the same hostile input.

MESHLINT_COMPILED names the Python of an environment with a compiled meshlint (docs/compiled.md).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = os.environ.get("MESHLINT_COMPILED", "")
CORPUS = Path(os.environ.get("MESHLINT_CORPUS", "nowhere"))
CODE = ("--preview", "--select", "COL,GRP,PKD001,PKD007")

pytestmark = pytest.mark.skipif(not PYTHON, reason="MESHLINT_COMPILED names no Python with a compiled meshlint")


def report(python: str, place: Path, cwd: Path, *words: str) -> tuple[int, str]:
    run = [python, "-P", "-m", "meshlint", "check", "--no-cache", "--format", "json", *words, str(place)]
    done = subprocess.run(run, capture_output=True, text=True, cwd=cwd, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout


def test_the_compiled_one_is_compiled(tmp_path: Path) -> None:
    words = [PYTHON, "-P", "-m", "meshlint", "--version"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.endswith(" (compiled)\n")


@pytest.mark.parametrize("words", [(), CODE])
def test_the_fixtures_are_judged_alike(words: tuple[str, ...], tmp_path: Path) -> None:
    plain = report(sys.executable, ROOT / "fixtures", tmp_path, *words)
    assert report(PYTHON, ROOT / "fixtures", tmp_path, *words) == plain
    assert json.loads(plain[1])["findings"]


@pytest.mark.parametrize("name", ["megatron_core", "verl", "ms_swift", "nemo_toolkit"])
def test_wheels_of_frameworks_are_judged_alike(name: str, tmp_path: Path) -> None:
    wheels = sorted(CORPUS.glob(f"{name}-*.whl"))
    if not wheels:
        pytest.skip(f"MESHLINT_CORPUS holds no wheel of {name}")
    subprocess.run([sys.executable, "-m", "zipfile", "-e", str(wheels[0]), str(tmp_path / "tree")], check=True)
    assert report(PYTHON, tmp_path / "tree", tmp_path, *CODE) == report(
        sys.executable, tmp_path / "tree", tmp_path, *CODE
    )


HOSTILE = {
    "parentheses": "x = " + "(" * 5000 + "1" + ")" * 5000 + "\n",
    "sum": "import torch.distributed as dist\nx = " + " + ".join("1" * 6000) + "\ndist.barrier()\n",
    "attributes": "import torch.distributed as dist\nx = a" + ".b" * 6000 + "\ndist.barrier()\n",
    "not": "x = " + "not " * 6000 + "y\n",
    "elif": "import torch.distributed as dist\nr = dist.get_rank()\nif r == 0:\n    pass\n"
    + "".join(f"elif r == {n}:\n    dist.barrier()\n" for n in range(1, 3000)),
    "if": "import torch.distributed as dist\n"
    + "".join(f"{' ' * n}if dist.get_rank() == {n}:\n" for n in range(95))
    + f"{' ' * 95}dist.barrier()\n",
    "calls": "import torch.distributed as dist\ndef f0():\n    dist.barrier()\n"
    + "".join(f"def f{n}():\n    f{n - 1}()\n" for n in range(1, 150))
    + "if dist.get_rank() == 0:\n    f149()\n",
    "circle": "import torch.distributed as dist\ndef f(n):\n    if n:\n        g(n)\n    dist.barrier()\n"
    "def g(n):\n    f(n - 1)\n    dist.all_reduce(n)\nif dist.get_rank() == 0:\n    f(3)\n",
    "lambdas": "f = " + "lambda: " * 900 + "1\n",
    "long": "import torch.distributed as dist\ndef f(x):\n"
    + "".join(f"    if x.a{n}:\n        x = dist.all_reduce(x)\n" for n in range(5000))
    + "f(dist.get_rank())\n",
    "bases": "".join(f"class C{n}(C{n - 1}):\n    pass\n" for n in range(1, 4000)),
    "imports": "from .imports import *\nfrom .imports import f as f\nf()\n",
    "tower": "import torch.distributed as dist\ndef f0():\n    dist.barrier()\n"
    + "".join(f"def f{n}():\n    f{n - 1}()\n" for n in range(1, 3000))
    + "if dist.get_rank() == 0:\n    f2999()\n",
    "ring": "import torch.distributed as dist\n"
    + "".join(f"def f{n}(x):\n    if x:\n        f{(n + 1) % 2000}(x)\n    dist.barrier()\n" for n in range(2000)),
    "names": "import torch.distributed as dist\nclass C:\n    def __init__(self):\n        v0 = 1\n"
    + "".join(f"        v{n + 1} = v{n}\n" for n in range(2000))
    + "        self.p = v2000\n    def run(self):\n        if self.p:\n            dist.barrier()\n",
    "partials": "import functools\nimport torch.distributed as dist\ndef f(*a):\n    dist.barrier()\n"
    + "def g(x):\n    p = f\n"
    + "    p = functools.partial(f, p)\n" * 2000
    + "    p()\n",
    "targets": "import torch.distributed as dist\n" + "(" * 150 + "x" + ",)" * 150 + " = 1\ndist.barrier()\n",
    "match": "import torch.distributed as dist\ndef f(x):\n    match x:\n"
    + "".join(f"        case {n}:\n            dist.barrier()\n" for n in range(1500)),
    "class": "import torch.distributed as dist\nclass C:\n    if a:\n        pass\n"
    + "".join(f"    elif a{n}:\n        def f(self):\n            dist.barrier()\n" for n in range(900)),
    "walls": "import torch.distributed as dist\nx = a" + " + a" * 2950 + "\ndist.barrier()\n",
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_files_end_alike(name: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.py").write_text(HOSTILE[name])
    plain = report(sys.executable, tmp_path, tmp_path, *CODE)
    assert report(PYTHON, tmp_path, tmp_path, *CODE) == plain
    assert plain[0] in (0, 1)


def test_a_cache_serves_both(tmp_path: Path) -> None:
    """What one kept is read or left by the other, and both say the same again."""
    answers = set()
    for python in (sys.executable, PYTHON, sys.executable, PYTHON):
        run = [python, "-P", "-m", "meshlint", "check", "--format", "json", *CODE, str(ROOT / "fixtures" / "COL001")]
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
        done = subprocess.run(run, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
        answers.add((done.returncode, done.stdout, done.stderr))
    assert len(answers) == 1
