"""Hostile input through the command line: a clear word, the right status, never a traceback.

Each runs as a process of its own with a limit of time that fails the test.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LIMIT = 120.0
"""Seconds after which a process is stopped; the point is that it ends at all."""


def check(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "meshlint", "check", *map(os.fsencode, map(str, words))],  # type: ignore[list-item]
        cwd=cwd,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=LIMIT,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr, done.stderr
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout
    return done


GOOD_NAME = "model_config.yaml"


def named(tmp_path: Path, content: bytes, name: str = GOOD_NAME) -> subprocess.CompletedProcess[str]:
    (tmp_path / name).write_bytes(content)
    return check(name, cwd=tmp_path)


def test_a_binary_file(tmp_path: Path) -> None:
    done = named(tmp_path, b"MODEL_ARGS:\0\1\2\xff")
    assert done.returncode == 1
    assert "it is a binary file" in done.stdout


def test_a_large_file(tmp_path: Path) -> None:
    with (tmp_path / GOOD_NAME).open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    done = check(GOOD_NAME, cwd=tmp_path)
    assert done.returncode == 1
    assert "104,857,600 bytes" in done.stdout


def test_an_encoding_other_than_utf_8(tmp_path: Path) -> None:
    done = named(tmp_path, b"MODEL_ARGS:\n  --x: \xe9\n")
    assert done.returncode == 1
    assert "it is not UTF-8 at byte 19" in done.stdout
    assert f"{GOOD_NAME}:2:1" in done.stdout


@pytest.mark.parametrize(
    "content",
    [
        b"a: [1",
        b"a: &a [*a]\n",
        b"MODEL_ARGS: &a {--x: *a}\n",
        b"a: !!python/object/apply:os.system ['touch executed']\n",
        b"{% for x in y %}\na: {{ x }}\n{% endfor %}\n",
        b"MODEL_ARGS: {--seq-length: 1e400, --context-parallel-size: -999999999999999999999999}\n",
        b"- " * 5000 + b"x\n",
        b"[" * 100_000,
        b"a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
        + b"".join(b"a%d: &a%d [%s]\n" % (i, i, b",".join([b"*a%d" % (i - 1)] * 9)) for i in range(1, 12)),
        b"MODEL_ARGS:\n" + b"".join(b"  --f%d: %d\n" % (i, i) for i in range(20_000)),
        b"\xef\xbb\xbfMODEL_ARGS: {}\n",
        b"? [a, b]\n: c\n",
        b"MODEL_ARGS: [1, 2]\n",
        b"MODEL_ARGS:\n  1: 2\n  null: x\n",
        b"%YAML 9.9\n---\na: b\n",
        b"\x85\xe2\x80\xa8: \xe2\x80\xae\n",
        b"",
    ],
    ids=range(17),
)
def test_yaml_that_means_harm_ends_with_a_word_or_in_silence(tmp_path: Path, content: bytes) -> None:
    done = named(tmp_path, content)
    assert done.returncode in (0, 1)
    assert not (tmp_path / "executed").exists()
    if done.returncode == 1:
        assert "MSH003" in done.stdout


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.sh", b"torchrun $(touch executed) pretrain_gpt.py `touch executed`\n"),
        ("a.sh", b"if then fi ((\n"),
        ("a.sh", b"a() { a; }; a\nsource a.sh\nsource /etc/passwd\n. ../../../../etc/passwd\n"),
        ("a.sh", b"X=${X}${X}\n" * 100 + b"X=$X$X$X$X\n" * 100 + b"torchrun pretrain_gpt.py --a $X\n"),
        ("a.sh", b"for i in 1 2 3 4 5 6 7 8 9; do\n" * 9 + b"torchrun pretrain_gpt.py --a $i\n" + b"done\n" * 9),
        ("a.sh", b"while true; do torchrun pretrain_gpt.py; done\n"),
        ("a.sh", b"(" * 5000),
        ("a.sh", b"echo $((((((((2**2)**2)**2)**9)**9)**9))\n"),
        ("a.sh", b"torchrun pretrain_gpt.py --x \x1b[31m\xe2\x80\xae\n"),
        ("a.py", b"print 'two'\n"),
        ("a.py", b"x = " + b"(" * 3000 + b")" * 3000),
        ("a.py", b"def a(): return a()\nimport os; os.system('touch executed')\n" + b"x = a()\n" * 100),
        ("a.py", b"x = " + b"-" * 100_000 + b"1\n"),
        ("a.toml", b"x = ["),
    ],
    ids=range(14),
)
def test_scripts_that_mean_harm_do_nothing(tmp_path: Path, name: str, content: bytes) -> None:
    done = named(tmp_path, content, name)
    assert done.returncode in (0, 1)
    assert not (tmp_path / "executed").exists()


def test_a_folder_with_a_files_name(tmp_path: Path) -> None:
    (tmp_path / GOOD_NAME).mkdir()
    assert check(cwd=tmp_path).returncode == 0
    assert check(GOOD_NAME, cwd=tmp_path).returncode == 0


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / GOOD_NAME)
    done = check(GOOD_NAME, cwd=tmp_path)
    assert done.returncode == 1
    assert "it is not a plain file" in done.stdout


def test_links_that_go_round(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "c").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / GOOD_NAME).symlink_to(GOOD_NAME)
    assert check(cwd=tmp_path).returncode == 0
    assert check(GOOD_NAME, cwd=tmp_path).returncode in (1, 2)


def test_names_that_are_no_text(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/\xff\x1b[31m\xe2\x80\xae"
    os.mkdir(folder)  # noqa: PTH102 - the name is bytes
    with open(folder + b"/model_config.yaml", "wb") as file:  # noqa: PTH123 - the name is bytes
        file.write(b"a: [1\n")
    done = check(cwd=tmp_path)
    assert done.returncode == 0
    assert "\\xff\\x1b[31m\\u202e/model_config.yaml" in done.stdout
    for form in ("json", "sarif", "github", "concise", "jsonl"):
        assert "model_config.yaml" in check("--format", form, cwd=tmp_path).stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_closed_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / GOOD_NAME).write_text("MODEL_ARGS: {}\n")
    (tmp_path / GOOD_NAME).chmod(0)
    (tmp_path / "closed").mkdir(mode=0)
    done = check(cwd=tmp_path)
    assert done.returncode == 0
    assert "cannot be read" in done.stdout
    assert "cannot be listed" in done.stdout


def test_a_hostile_checkout_starts_nothing(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    hook = tmp_path / "monitor"
    hook.write_text("#!/bin/sh\ntouch executed\n")
    hook.chmod(0o755)
    subprocess.run(["git", "config", "core.fsmonitor", str(hook)], cwd=tmp_path, check=True)
    (tmp_path / GOOD_NAME).write_text("a: [1\n")
    assert "MSH003" in check(cwd=tmp_path).stdout
    assert not (tmp_path / "executed").exists()


def test_a_closed_pipe_is_quiet(tmp_path: Path) -> None:
    for number in range(400):
        (tmp_path / f"d{number}").mkdir()
        (tmp_path / f"d{number}" / GOOD_NAME).write_text("a: [1\n")
    with subprocess.Popen(
        [sys.executable, "-m", "meshlint", "check"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert b"MSH003" in process.stdout.readline()
        process.stdout.close()
        told = process.stderr.read().decode()
        process.wait(LIMIT)
    assert process.returncode == 141
    assert told == ""
