"""Facts of Python files from the cache and from several processes: always what a fresh reading gives."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from meshlint.engine.gather import context_of
from meshlint.engine.options import Options
from meshlint.engine.program import check_program
from meshlint.engine.program_facts import Facts, facts_of_files, facts_of_program
from meshlint.engine.ruleset import load, narrow
from meshlint.protocol.facts import read
from meshlint.sources.discover import discover

FAULT = """\
import torch.distributed as dist
from megatron.core import parallel_state as mpu


def gated_{0}(x):
    if mpu.get_tensor_model_parallel_rank() == 0:
        dist.all_reduce(x, group=mpu.get_tensor_model_parallel_group())
"""


def facts(root: Path, folder: Path | None) -> Facts:
    scope = discover((str(root),), root)
    return facts_of_files([p for p in scope.files if p.endswith(".py")], context_of(scope, Options()), folder)


def fresh(root: Path) -> dict[str, object]:
    """Read every file but the binary one."""
    return {f.name: read(f.name, f.read_text()) for f in sorted(root.glob("*.py")) if f.name != "binary.py"}


def backdate(root: Path) -> None:
    for file in root.glob("*.py"):
        os.utime(file, (1_000_000_000, 1_000_000_000))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    for name in ("a", "b", "c"):
        (root / f"{name}.py").write_text(FAULT.format(name))
    (root / "broken.py").write_text("def f(:\n")
    (root / "binary.py").write_bytes(b"\0\1")
    return root


def test_cached_facts_are_those_of_the_files(tree: Path, tmp_path: Path) -> None:
    wanted = fresh(tree)
    assert dict(facts(tree, tmp_path / "cache")) == wanted
    assert dict(facts(tree, tmp_path / "cache")) == wanted
    assert dict(facts(tree, None)) == wanted


def test_changed_new_and_deleted_files_are_seen(tree: Path, tmp_path: Path) -> None:
    facts(tree, tmp_path / "cache")
    backdate(tree)
    facts(tree, tmp_path / "cache")
    (tree / "a.py").write_text(FAULT.format("other"))
    (tree / "b.py").unlink()
    (tree / "d.py").write_text("x = 1\n")
    found = facts(tree, tmp_path / "cache")
    assert dict(found) == fresh(tree)
    assert [d.name for d in found["a.py"].definitions] == ["<module>", "gated_other"]


def test_a_file_written_with_its_old_time_and_size_is_read_again(tree: Path, tmp_path: Path) -> None:
    facts(tree, tmp_path / "cache")
    file = tree / "a.py"
    before = file.stat()
    file.write_text(FAULT.format("z"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size
    assert [d.name for d in facts(tree, tmp_path / "cache")["a.py"].definitions] == ["<module>", "gated_z"]


@pytest.mark.parametrize("damage", [b"", b"meshlint facts 1\n", b"rubbish" * 100])
def test_a_broken_pack_is_none(tree: Path, tmp_path: Path, damage: bytes) -> None:
    facts(tree, tmp_path / "cache")
    (pack,) = (tmp_path / "cache").glob("*.facts")
    whole = pack.read_bytes()
    for content in (damage, whole[:-5], whole[:-5] + b"\0" * 5):
        pack.write_bytes(content)
        assert dict(facts(tree, tmp_path / "cache")) == fresh(tree)


def test_files_that_changed_are_kept_beside_the_pack(tree: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    facts(tree, cache)
    (pack,) = cache.glob("*.facts")
    whole = pack.read_bytes()
    for number in range(3):
        (tree / "a.py").write_text(FAULT.format(number))
        (tree / "b.py").write_text(FAULT.format(f"b{number}"))
        assert dict(facts(tree, cache)) == fresh(tree)
    assert pack.read_bytes() == whole
    backdate(tree)
    facts(tree, cache)
    (beside,) = cache.glob("*.changed")
    good = beside.read_bytes()
    for content in (b"", good[:-3], good[:60] + b"\0" * 40):
        beside.write_bytes(content)
        assert dict(facts(tree, cache)) == fresh(tree)
    (tree / "d.py").write_text("x = 1\n")
    assert dict(facts(tree, cache)) == fresh(tree)
    assert pack.read_bytes() != whole
    beside.write_bytes(good)
    (tree / "a.py").write_text(FAULT.format("last"))
    assert dict(facts(tree, cache)) == fresh(tree)


def test_what_is_kept_beside_another_pack_counts_as_none(tree: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    backdate(tree)
    facts(tree, cache)
    (tree / "a.py").write_text(FAULT.format("between"))
    facts(tree, cache)
    (beside,) = cache.glob("*.changed")
    old = beside.read_bytes()
    (tree / "a.py").write_text(FAULT.format("a"))
    (tree / "d.py").write_text("x = 1\n")
    backdate(tree)
    facts(tree, cache)
    beside.write_bytes(old)
    assert dict(facts(tree, cache)) == fresh(tree)


def test_heads_from_the_cache_are_those_of_the_files(tree: Path, tmp_path: Path) -> None:
    first, second = (facts(tree, tmp_path / "cache") for _ in range(2))
    assert [first.head(path) for path in first] == [second.head(path) for path in second]
    assert [second.head(path).near for path in ("a.py", "broken.py")] == [True, False]
    assert second.head("broken.py").note.startswith("line 1")


def test_several_processes_say_what_one_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(120):
        (tmp_path / f"m{number}.py").write_text(FAULT.format(number))
    scope = discover((str(tmp_path),), tmp_path)
    rules = narrow(load(), ("COL",), (), (), True)

    def told() -> list[object]:
        judgement = check_program(scope, context_of(scope, Options()), rules, ())
        assert not judgement.failures
        return [one.finding for one in judgement.judged]

    several = told()
    monkeypatch.setenv("MESHLINT_WORKERS", "1")
    assert len(several) == 120
    assert several == told()


def test_tests_are_in_the_program_only_where_its_files_import_them(tmp_path: Path) -> None:
    root, cache = tmp_path / "tree", tmp_path / "cache"
    texts = {
        "pack/main.py": "from pack.testing.near import x\n" + FAULT.format("main"),
        "pack/testing/near.py": "from . import far\n",
        "pack/testing/far.py": "x = 1\n",
        "pack/testing/alone.py": "x = 1\n",
        "tests/broken.py": "import torch\nall_reduce(:\n",
        "tests/quiet.py": "def f(:\n",
        "tests/test_main.py": "def test_main():\n    gated_main(1)\n",
    }
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
        os.utime(root / path, (1_000_000_000, 1_000_000_000))
    scope = discover((str(root),), root)

    def read(tests: bool) -> tuple[list[str], list[str]]:
        context = context_of(scope, Options())
        facts, beside = facts_of_program(scope.files, context, cache, None, tests)
        return list(facts), sorted(facts.with_read(beside))

    inside = ["pack/main.py", "pack/testing/far.py", "pack/testing/near.py"]
    assert [read(tests) for tests in (False, True, False)] == [
        (inside, inside),
        (inside, sorted(texts)),
        (inside, sorted(texts)),
    ]
    for codes in (("COL",), ("COL", "TST"), ("COL",)):
        context = context_of(scope, Options())
        judgement = check_program(scope, context, narrow(load(), codes, preview=True), (), place=cache)
        assert [one.finding.span.path for one in judgement.judged] == ["pack/main.py"]
        told = ["tests/broken.py"] if codes == ("COL", "TST") else []
        assert [problem.span.path for problem in judgement.problems] == told
    named = discover(("tests/broken.py",), root)
    judgement = check_program(
        named, context_of(named, Options()), narrow(load(), ("COL",), preview=True), (), place=cache
    )
    assert [problem.span.path for problem in judgement.problems] == ["tests/broken.py"]
