"""Helpers for every room: the command line in this process, and a surface of three keys."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from meshlint.config.launch import Launch, Write
from meshlint.config.surface import Context
from meshlint.config.value import Kind, Origin, Value, unknown, written
from meshlint.place import Span
from meshlint.sources.yaml import Node, parse


@dataclass(frozen=True)
class Run:
    """What a command line did."""

    status: int
    out: str
    err: str


CommandLine = Callable[..., Run]


@pytest.fixture
def meshlint(capfdbinary: pytest.CaptureFixture[bytes]) -> CommandLine:
    """Run `meshlint WORDS...` in this process."""
    from meshlint.cli.main import run

    def call(*words: str | Path) -> Run:
        capfdbinary.readouterr()
        status = run([str(word) for word in words])
        out, err = capfdbinary.readouterr()
        return Run(status, out.decode(), err.decode())

    return call


@pytest.fixture(autouse=True)
def cache_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a cache of its own."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


def git(folder: Path, *words: str) -> str:
    """Run git in a folder, as somebody without settings; give what it prints."""
    identity = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


class Toy:
    """`*.toy.yaml` with `cp`, `comm` and `sizes`; `base: FILE` is another file, merged below."""

    name = "toy"
    keys = {"cp": "context_parallel_size", "comm": "cp_comm_type", "sizes": "hierarchical_context_parallel_sizes"}  # noqa: RUF012

    def claims(self, path: str) -> bool:
        return path.endswith(".toy.yaml")

    def entries(self, paths: Iterable[str], context: Context) -> Iterable[str]:
        """Give way to the files that use a base."""
        asked = set(paths)
        bases = {path: self._base(path, context) for path in context.files if self.claims(path)}
        users = {path for path, base in bases.items() if base in asked}
        return sorted((asked - set(bases.values())) | users)

    def _base(self, path: str, context: Context) -> str:
        if path.startswith("broken"):
            return ""
        node = parse(context.tree.read(path))[0].get("base")
        return node.text if node is not None else ""

    def launches(self, path: str, context: Context) -> Iterator[Launch]:
        reader = context.reader()
        writes: list[Write] = []
        todo, texts = [path], []
        while todo:
            texts.append(parse(reader.read(todo.pop()))[0])
            base = texts[-1].get("base")
            if base is not None:
                todo.append(base.text)
        for root in reversed(texts):
            writes += [Write(self.keys[key], self._value(node)) for key, _, node in root.pairs() if key in self.keys]
        yield Launch(
            "megatron-lm", "pretrain_gpt.py", "toy", path, Span(path, 1), tuple(writes), reads=frozenset(reader.seen)
        )

    def _value(self, node: Node) -> Value:
        origin = Origin(Kind.WRITTEN, node.text, node.span, "toy")
        if node.text.startswith("$"):
            return unknown(f"{node.text} is not set anywhere", origin)
        return written(tuple(n.data for n in node.items) if node.kind == "sequence" else node.data, origin)


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give an empty project in which only the toy surface is read; it is the current folder."""
    monkeypatch.setattr("meshlint.engine.gather.surfaces", lambda *given: iter([Toy()]))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "meshlint.toml").write_text("")
    return tmp_path


@pytest.fixture
def wrong_product(toy: Path) -> Path:
    """Give the toy project with one file that breaks HCP002 at line 3."""
    (toy / "job.toy.yaml").write_text("cp: 4\ncomm: a2a+p2p\nsizes: [3, 2]\n")
    (toy / "meshlint.toml").write_text('[versions]\ntransformer-engine = "2.8.0"\n')
    return toy
