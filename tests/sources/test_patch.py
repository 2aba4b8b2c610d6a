"""Diffs as git and others write them, and as nobody should."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from unidiff import PatchSet

from conftest import git
from meshlint.sources.patch import FileChange, PatchError, read_patch, undo
from meshlint.sources.tree import Tree

NAMES = (
    "plain.sh",
    "a b.sh",
    "\u00e9.sh",
    "\u8bad\u7ec3.yaml",
    'q"uote.sh',
    "tab\tname.sh",
    "new\nline.sh",
    "back\\slash.sh",
    "-dash.sh",
    "a -> b.sh",
    "x b/y.sh",
    "a/a/x.sh",
    os.fsdecode(b"bytes\xff.sh"),
)
CASES = ((), ("--no-prefix",), ("--src-prefix=old/", "--dst-prefix=newer/"), ("--full-index", "--binary"), ("-U0",))


def folder_of(tmp_path: Path, texts: dict[str, str]) -> Path:
    """Give a checkout with one commit of some files."""
    git(tmp_path, "init", "-q")
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, newline="")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


def diff(folder: Path, *words: str) -> str:
    """Give what git prints, decoded as meshlint decodes it."""
    return subprocess.run(["git", "diff", "HEAD", *words], cwd=folder, check=True, capture_output=True).stdout.decode(
        "utf-8", "replace"
    )


def was(folder: Path, text: str) -> dict[str, str | None]:
    """Give what a diff says that there was."""
    return dict(undo(read_patch(text), Tree(folder, (folder,))).contents)


@pytest.mark.parametrize("words", CASES)
def test_any_name_is_read_as_git_writes_it(tmp_path: Path, words: tuple[str, ...]) -> None:
    folder = folder_of(tmp_path, dict.fromkeys(NAMES, "one\ntwo\n"))
    for name in NAMES:
        (folder / name).write_text("one\nthree\n")
    (folder / "plain.sh").chmod(0o755)
    assert was(folder, diff(folder, *words)) == dict.fromkeys(NAMES, "one\ntwo\n")


@pytest.mark.parametrize("words", CASES[:3])
def test_any_name_may_come_go_and_move(tmp_path: Path, words: tuple[str, ...]) -> None:
    body = "".join(f"{number}\n" for number in range(20))
    folder = folder_of(tmp_path, {f"old/{name}": f"{number}!\n{body}" for number, name in enumerate(NAMES)})
    for number in range(len(NAMES)):
        (folder / f"moved {number}").write_text(f"{number}!\n{body}")
    (folder / "old" / "plain.sh").with_name("empty").write_text("")
    git(folder, "rm", "-q", "-r", "--cached", ".")
    git(folder, "add", *(f"moved {number}" for number in range(len(NAMES))), "old/empty")
    before = was(folder, diff(folder, "--cached", "--find-renames", *words))
    assert {path for path, text in before.items() if text is None} == {
        "old/empty",
        *(f"moved {number}" for number in range(len(NAMES))),
    }
    assert {path: text for path, text in before.items() if text is not None} == {
        f"old/{name}": f"{number}!\n{body}" for number, name in enumerate(NAMES)
    }


@pytest.mark.parametrize("char", ["\x0c", "\x0b", "\x1c", "\x85", "\u2028", "\r", "\ufeff"])
def test_only_a_newline_ends_a_line(tmp_path: Path, char: str) -> None:
    text = f"{char}one{char}two\nthree\n"
    folder = folder_of(tmp_path, {"run.sh": text})
    (folder / "run.sh").write_text(f"{text}four\n", newline="")
    assert was(folder, diff(folder)) == {"run.sh": text.removeprefix("\ufeff")}
    (folder / "run.sh").write_text("three\n")
    assert was(folder, diff(folder)) == {"run.sh": text.removeprefix("\ufeff")}


def test_line_ends_are_those_that_files_are_read_with(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"dos.sh": "one\r\ntwo\r\nthree", "unix.sh": "one\ntwo"})
    (folder / "dos.sh").write_text("one\r\nthree\r\n", newline="")
    (folder / "unix.sh").write_text("one\nthree\n")
    for text in (diff(folder), diff(folder).replace("\r\n", "\n").replace("\n", "\r\n")):
        assert was(folder, text) == {"dos.sh": "one\ntwo\nthree", "unix.sh": "one\ntwo"}


def test_a_link_is_no_text(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"a.sh": "one\n", "b.sh": "two\n"})
    (folder / "link.sh").symlink_to("a.sh")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "link")
    (folder / "link.sh").unlink()
    (folder / "link.sh").symlink_to("b.sh")
    assert was(folder, diff(folder)) == {}
    (folder / "link.sh").unlink()
    assert was(folder, diff(folder)) == {"link.sh": "one\n"}
    (folder / "link.sh").write_text("own\n")
    assert was(folder, diff(folder)) == {"link.sh": "one\n"}


def test_what_is_no_utf8_stops_nothing(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"a.sh": "one\n", "b.sh": "one\n", "c.sh": "one\n"})
    (folder / "b.sh").write_bytes(b"caf\xe9\n")
    git(folder, "commit", "-q", "-a", "-m", "bytes")
    for name, raw in (("a.sh", b"two\n"), ("b.sh", b"caf\xe9\nmore\n"), ("c.sh", b"th\xe9\n")):
        (folder / name).write_bytes(raw)
    assert was(folder, diff(folder)) == {"a.sh": "one\n", "c.sh": "one\n"}


def test_content_that_a_diff_does_not_show_is_asked_for(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"a.sh": "one\n", "b.bin": "\0", ".gitattributes": "*.sh -diff\n"})
    (folder / "a.sh").write_text("two\n")
    (folder / "b.bin").write_bytes(b"\0\0")
    patch = read_patch(diff(folder))
    asked: list[FileChange] = []

    def blob(change: FileChange) -> str | None:
        asked.append(change)
        return "one\n" if change.path == "a.sh" else None

    known = undo(patch, Tree(folder, (folder,)), blob)
    assert (dict(known.contents), known.unknown) == ({"a.sh": "one\n"}, ())
    assert [git(folder, "cat-file", "blob", one.blob) for one in asked] == ["one\n", "\0"]
    assert undo(patch, Tree(folder, (folder,))).unknown == ("a.sh",)


def test_a_copy_is_new_and_its_source_as_it_was(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"a.sh": "one\n" * 9})
    (folder / "b.sh").write_text("one\n" * 9)
    git(folder, "add", ".")
    patch = read_patch(diff(folder, "-C", "--find-copies-harder"))
    assert (dict(undo(patch, Tree(folder, (folder,))).contents), dict(patch.former)) == ({"b.sh": None}, {})


SECTION = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+two\n"


def test_words_before_a_diff_may_quote_one() -> None:
    mail = f"From: n\nSubject: x\n\n--- a/y\n+++ b/y\nas said\n---\n x | 2 +-\n\n{SECTION}-- \n2.39\n"
    assert read_patch(mail).paths == ("x",)


def test_rows_of_a_hunk_are_counted() -> None:
    text = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n-+++ b/y\n+++ b/z\n+@@ -1 +1 @@\n"
    change = read_patch(text).files[0]
    assert change.undo == ((1, ("++ b/z\n", "@@ -1 +1 @@\n"), ("-- a/y\n", "+++ b/y\n")),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1,1 -1,1 +1,1 @@@\n--a\n++b\n", "of a merge"),
        (SECTION + SECTION, "changes `x` twice"),
        (SECTION.replace("a/x", "a//etc/passwd").replace("b/x", "b//etc/passwd"), "out of the tree"),
        (SECTION.replace("/x", "/y/../../x"), "out of the tree"),
        (SECTION.replace(" a/x", ' "a/\\056\\056/x"').replace(" b/x", ' "b/\\056\\056/x"'), "out of the tree"),
        (SECTION.replace(" b/x", ' "b/\\9"'), "no quoted name"),
        (SECTION.replace("-1 +1", "-99999999999 +1"), "no head of a hunk"),
        (SECTION.replace("-1 +1", "-1,9 +1"), "ends within a hunk"),
        (SECTION.replace("-one", "?one"), "belongs to no hunk"),
        (SECTION.replace("@@ -1 +1 @@", "@@ -1,2 +1 @@") + "+three\n-x\n", "longer than its head says"),
        ("diff --git one two three\nold mode 100644\nnew mode 100755\n", "are not two names"),
        ("diff --git " + "a " * 400_000 + "\n", "are not two names"),
        ("only words\n", "not a unified diff"),
    ],
)
def test_what_would_be_misread_is_refused(text: str, said: str) -> None:
    with pytest.raises(PatchError, match=said):
        read_patch(text)


def test_submodules_are_left_out() -> None:
    bump = "diff --git a/sub b/sub\nindex 1111111..2222222 160000\n--- a/sub\n+++ b/sub\n@@ -1 +1 @@\n"
    text = f"{bump}-Subproject commit 1\n+Subproject commit 2\n"
    assert read_patch(text).files == ()
    assert read_patch(text + SECTION).paths == ("x",)


def test_where_a_line_was(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"x": "".join(f"{number}\n" for number in range(1, 21))})
    rows = [*("a", "b"), *(str(n) for n in range(1, 21) if n not in (5, 6)), "c"]
    (folder / "x").write_text("".join(f"{row}\n" for row in rows))
    for words in ((), ("-U0",)):
        change = read_patch(diff(folder, *words)).files[0]
        then = {row: change.then(line) for line, row in enumerate(rows, 1)}
        assert then == {row: int(row) if row.isdigit() else None for row in rows}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from("abcd"), max_size=12), st.lists(st.sampled_from("abcd"), max_size=12), st.booleans())
def test_hunks_are_those_that_unidiff_reads(tmp_path: Path, old: list[str], new: list[str], whole: bool) -> None:
    import difflib

    before, after = ([f"{row}\n" for row in rows] for rows in (old, new))
    rows = difflib.unified_diff(before, after, "a/x", "b/x", n=1)
    text = "".join(rows)
    files = read_patch(text).files
    theirs = list(PatchSet(text))
    assert [one.added for one in files] == [
        {line.target_line_no for hunk in one for line in hunk if line.is_added} for one in theirs
    ]
    assert [len(one.hunks) for one in files] == [len(one) for one in theirs]
    (tmp_path / "x").write_text("".join(after))
    there = undo(read_patch(text), Tree(tmp_path, (tmp_path,))).contents
    assert dict(there).get("x", "") in ("".join(before), None if not before else "")
