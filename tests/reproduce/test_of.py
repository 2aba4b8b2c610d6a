"""`meshlint reproduce CODE --of PATH[:LINE]`: one finding of a file, run by its own calls or sizes, or written."""

from __future__ import annotations

import json
import py_compile
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from code_fixtures import CODES, FIXTURES, findings
from test_cases import undefined

from conftest import CommandLine
from meshlint.engine.evidence import own_case
from meshlint.engine.shown import split
from meshlint.mesh import arms
from meshlint.place import Span
from meshlint.reproduce.script import LINES, WIDTH, Found, written

TRAIN = """\
import torch.distributed as dist


def step(loss, metric):
    if dist.get_rank() == 0:
        dist.all_reduce(metric)
    dist.barrier()


def save(x, group):
    if dist.get_rank() == 0:
        dist.all_reduce(x)
"""


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "train.py"
    file.write_text(TRAIN)
    return file


@pytest.mark.parametrize("code", CODES)
def test_every_finding_of_a_code_rule_has_a_script_of_its_own(code: str, tmp_path: Path) -> None:
    found = findings(code)
    assert found
    for number, one in enumerate(found):
        assert one.skeleton, (one.span, one.message)
        place = f"{one.span.path}:{one.span.line}"
        script = written(own_case(one), one.code, of=Found(place, one.rule_url, "its own calls"))
        file = tmp_path / f"{number}.py"
        file.write_text(script, "utf-8")
        py_compile.compile(str(file), doraise=True)
        assert script.count("\n") < LINES, place
        assert undefined(script) == set()
        assert str(FIXTURES.parent) not in script
        assert "meshlint" not in script
        head = script.split('"""')[1]
        assert place in head.replace("\n", "")
        assert all(len(line) <= WIDTH for line in head.split("\n") if " " in line)
        assert one.span.path.rpartition("/")[2] in script.partition('"""\n\n')[2], place


@pytest.mark.skipif(find_spec("ruff") is None, reason="no ruff here")
def test_scripts_have_no_faults_that_a_linter_finds(tmp_path: Path) -> None:
    for code in ("COL001", "GRP001", "GRP003", "PKD001"):
        for number, one in enumerate(findings(code)):
            (tmp_path / f"{code}_{number}.py").write_text(written(own_case(one), one.code), "utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "E4,E7,E9,F", str(tmp_path)],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout


def test_one_finding_is_run(train: Path, meshlint: CommandLine) -> None:
    run = meshlint("reproduce", "COL001", "--of", f"{train}:12", "--depth", "simulate")
    assert run.status == 0
    assert "COL001 at train.py:12, shown by its own calls on 2 ranks" in run.err
    assert "rank 0 waits at line 3 (`dist.all_reduce(x)  # train.py:12`)" in run.out
    data = json.loads(meshlint("reproduce", "COL001", "--of", "train.py:12", "--depth", "simulate", "--json").out)
    assert data["shown"]
    assert data["cases"][0]["says"].startswith("all_reduce on the world group is not reached by all of its ranks")


def test_a_script_says_where_it_was_found(train: Path, meshlint: CommandLine) -> None:
    run = meshlint("reproduce", "COL001", "--of", "train.py:12", "--write", "repro.py")
    assert run.status == 0
    text = Path("repro.py").read_text()
    assert text.startswith('"""COL001 gated-collective, train.py:12: all_reduce on the world group')
    assert "The rule: docs/rules/COL001.md of meshlint. Made of its own calls on 2 ranks." in text
    assert "torchrun --nproc-per-node 2 repro.py failing    # hang" in text
    assert "        dist.all_reduce(x)  # train.py:12\n" in text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("COL001", "--of", "train.py"), "has 2 findings of COL001: line 6, line 12; say which with PATH:LINE"),
        (("COL001", "--of", "train.py:7"), "no finding of COL001 on line 7; it has line 6, line 12"),
        (("GRP001", "--of", "train.py"), "no finding of GRP001; it has COL001 line 6, COL001 line 12"),
        (("COL001", "--of", "other.py:7"), "there is no file or folder `other.py`"),
        (("COL001", "--of", "other.py", "--tree", "."), "there is no file or folder `other.py`"),
        (("COL001", "--of", "a\x1b[31m\u202e.py:3"), "a\\x1b[31m\\u202e.py"),
        (("COL001", "--of", "train.py:12", "--case", "hang"), "no case `hang`; there are: own"),
        (("COL001", "--tree", "."), "--tree goes with --of"),
    ],
)
def test_what_is_not_there_is_told(words: tuple[str, ...], says: str, train: Path, meshlint: CommandLine) -> None:
    run = meshlint("reproduce", *words)
    assert run.status == 2
    assert says in run.err
    assert "\x1b" not in run.err


def test_a_launch_is_written_with_its_own_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meshlint: CommandLine
) -> None:
    monkeypatch.chdir(tmp_path)
    launch = FIXTURES / "PAR004" / "bad"
    (file,) = [one for one in sorted(launch.iterdir()) if one.suffix == ".sh"][:1]
    run = meshlint("reproduce", "PAR004", "--of", str(file), "--depth", "simulate", "--write", "repro.py")
    assert run.status == 0, run.err
    assert "Made of its own sizes (num_attention_heads " in " ".join(Path("repro.py").read_text().split())


def test_hostile_names_stay_words_of_a_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meshlint: CommandLine
) -> None:
    monkeypatch.chdir(tmp_path)
    name = 'a"""\nraise SystemExit\\.py'
    (tmp_path / name).write_text(TRAIN)
    run = meshlint("reproduce", "COL001", "--of", f"{name}:12", "--write", "repro.py")
    assert run.status == 0
    script = Path("repro.py").read_text()
    py_compile.compile("repro.py", doraise=True)
    assert "\nraise" not in script


@pytest.mark.parametrize(
    ("place", "parts"),
    [("a.py:3", ("a.py", 3)), ("a.py", ("a.py", 0)), ("a:b", ("a:b", 0)), ("a.py:\u0663", ("a.py:\u0663", 0))],
)
def test_a_place_is_a_path_and_a_line(place: str, parts: tuple[str, int]) -> None:
    assert split(place) == parts


def test_names_that_a_text_has_already_are_kept_apart() -> None:
    assert [arms.identifier(name, "x") for name in ("rank", "class", "check", "cu_seqlens", "é", "")] == [
        "rank_", "class_", "check_", "cu_seqlens", "x_", "x_",
    ]  # fmt: skip
    made = json.loads(arms.unsent([arms.Key("rank", Span("a.py", 1, 1))], ("first", "last"), (1,)))
    assert "rank_ = torch.tensor(layout if rank == first" in made["failing"]
