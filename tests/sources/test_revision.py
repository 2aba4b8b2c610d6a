"""A checkout at a revision, in memory: what differs from now is read from git, and nothing of the checkout runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import git
from meshlint.sources.revision import Replaced, Revision, revision
from meshlint.sources.tree import Tree, Unreadable


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Give a checkout whose first commit, `v1`, differs from now in every way."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "stays.txt").write_text("one\n")
    (folder / "changes.txt").write_text("before\r\nit\n")
    (folder / "goes.txt").write_text("gone\n")
    (folder / "binary.txt").write_bytes(b"a\0b")
    (folder / "link.txt").symlink_to("changes.txt")
    (folder / "circle.txt").symlink_to("circle.txt")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    git(folder, "tag", "v1")
    (folder / "changes.txt").write_text("after\n")
    (folder / "binary.txt").write_text("text\n")
    for name in ("goes.txt", "link.txt", "circle.txt"):
        (folder / name).unlink()
    (folder / "new.txt").write_text("new\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "second")
    return folder


def held(folder: Path, word: str = "v1") -> Revision:
    found = revision(folder, word)
    assert found is not None
    return found


def tree(folder: Path) -> Tree:
    before = held(folder)
    return Tree(folder, (folder,), Replaced(before, lambda path: path, frozenset({"new.txt"})))


def test_files_are_read_as_they_were(checkout: Path) -> None:
    before = tree(checkout)
    texts = {name: before.read(name).text for name in ("stays.txt", "changes.txt", "goes.txt", "link.txt")}
    assert texts == {
        "stays.txt": "one\n",
        "changes.txt": "before\nit\n",
        "goes.txt": "gone\n",
        "link.txt": "before\nit\n",
    }


@pytest.mark.parametrize("name", ["new.txt", "binary.txt", "circle.txt", "never.txt"])
def test_what_was_not_there_or_is_no_text_cannot_be_read(checkout: Path, name: str) -> None:
    before = tree(checkout)
    assert not before.exists(name)
    with pytest.raises(Unreadable):
        before.read(name)


def test_only_what_differs_is_replaced(checkout: Path) -> None:
    replaced = Replaced(held(checkout), lambda path: path, frozenset({"new.txt"}))
    assert list(replaced) == ["binary.txt", "changes.txt", "circle.txt", "goes.txt", "link.txt", "new.txt"]
    assert len(replaced) == 6
    assert "stays.txt" not in replaced
    with pytest.raises(KeyError):
        replaced["stays.txt"]


def test_filters_of_the_checkout_are_not_run(checkout: Path) -> None:
    git(checkout, "config", "filter.evil.smudge", "touch ran; cat")
    git(checkout, "config", "filter.evil.clean", "touch ran; cat")
    git(checkout, "config", "diff.evil.textconv", "touch ran; cat")
    (checkout / ".git" / "info" / "attributes").write_text("*.txt filter=evil diff=evil\n")
    (checkout / "stays.txt").touch()
    assert tree(checkout).read("goes.txt").text == "gone\n"
    assert not (checkout / "ran").exists()


def test_a_filter_that_cannot_be_switched_off_leaves_no_revision(checkout: Path) -> None:
    git(checkout, "config", "filter.e=vil.clean", "touch ran; cat")
    (checkout / ".git" / "info" / "attributes").write_text("*.txt filter=e=vil\n")
    assert revision(checkout, "v1") is None
    assert not (checkout / "ran").exists()


def test_a_submodule_that_moved_hides_its_files(checkout: Path) -> None:
    inner = checkout / "3rdparty" / "inner"
    inner.mkdir(parents=True)
    git(inner, "init", "-q", "-b", "main")
    (inner / "version.txt").write_text("1\n")
    git(inner, "add", ".")
    git(inner, "commit", "-q", "-m", "one")
    git(checkout, "add", "3rdparty/inner")
    git(checkout, "commit", "-q", "-m", "with a submodule")
    git(checkout, "tag", "v2")
    first = held(checkout, "v2").modules["3rdparty/inner"]
    (inner / "version.txt").write_text("2\n")
    git(inner, "commit", "-q", "-a", "-m", "two")
    before = held(checkout, "v2")
    assert before.modules == {"3rdparty/inner": first}
    assert not Tree(checkout, (checkout,), Replaced(before, lambda path: path, frozenset())).exists(
        "3rdparty/inner/version.txt"
    )


@pytest.mark.parametrize("word", ["v9", "", "--output=x", "v1:goes.txt", "main..v1"])
def test_what_is_no_commit_is_no_revision(checkout: Path, word: str) -> None:
    assert revision(checkout, word) is None
    assert not (checkout / "x").exists()
