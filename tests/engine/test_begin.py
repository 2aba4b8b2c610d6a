"""What git is asked early is taken once, only where it is what is asked for, and ends with the block around it."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import git
from meshlint.engine.begin import HEAD, begin
from meshlint.engine.options import Options
from meshlint.engine.run import scope_of


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.sh").write_text("echo\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    (tmp_path / "sub" / "a.sh").write_text("echo more\n")
    return tmp_path.resolve()


def test_what_was_begun_is_taken_once(checkout: Path) -> None:
    with begin(["sub/a.sh"], checkout, HEAD) as begun:
        listing, diff = begun.take_listing(checkout), begun.take_diff(checkout, HEAD)
        assert listing is not None
        assert diff is not None
        assert listing.finish() == b"H sub/a.sh\0"
        assert b"+echo more" in (diff.finish() or b"")
        assert begun.take_listing(checkout) is begun.take_diff(checkout, HEAD) is None


def test_what_was_begun_is_not_taken_for_something_else(checkout: Path) -> None:
    with begin([], checkout / "sub", "main") as begun:
        assert begun.top == checkout
        assert begun.take_listing(checkout / "sub") is begun.take_diff(checkout, HEAD) is None
    with begin([], checkout, HEAD) as begun:
        assert begun.take_diff(checkout, "HEAD~1") is None


def test_a_second_look_sees_what_is_there_then(checkout: Path) -> None:
    with begin([], checkout) as begun:
        options = Options(cwd=checkout, begun=begun)
        assert scope_of([], options).files == ("sub/a.sh",)
        (checkout / "b.sh").write_text("echo\n")
        assert scope_of([], options).files == ("b.sh", "sub/a.sh")


def test_what_nobody_takes_ends(checkout: Path) -> None:
    with begin([], checkout, HEAD) as begun:
        running = [one.process for one in (begun.listing, begun.diff) if one is not None and one.process is not None]
    assert len(running) == 2
    assert all(process.returncode is not None for process in running)


def test_nothing_is_begun_outside_of_a_checkout(tmp_path: Path) -> None:
    assert begin(["nowhere/a.sh"], tmp_path, HEAD).top is None
