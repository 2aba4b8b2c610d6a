"""Which Python program a command starts, and where its file lies."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator, Sequence

from meshlint.config.command import Command, Word
from meshlint.config.surface import Context
from meshlint.records import dataclass
from meshlint.sources.tree import Reader, Unreadable

_PYTHONS = ("python", "python3", "pypy3")
_ALONE = ("-u", "-O", "-OO", "-B", "-s", "-S", "-E", "-I", "-q", "-v")
_WITH_VALUE = ("-X", "-W")


@dataclass(frozen=True, slots=True)
class Program:
    """A Python program: a dotted module or the path of a script, and the words after it."""

    module: str = ""
    script: str = ""
    words: tuple[Word, ...] = ()

    @property
    def name(self) -> str:
        """Give the last part of the name, without ending."""
        if self.module:
            return self.module.rpartition(".")[2]
        return posixpath.basename(self.script).removesuffix(".py")

    @property
    def file(self) -> str:
        """Give the path of the file, as far as the command says it."""
        return f"{self.module.replace('.', '/')}.py" if self.module else self.script


def program(command: Command) -> Program | None:
    """Find the Python program of a command; None where it starts none, or one that is not known.

    Where a launcher that nobody knows stands in front, the first `python` among its words starts the program.
    """
    words = command.words
    found = _program(words)
    if found is not None:
        return found
    ahead = (place for place, word in enumerate(words[1:MAX_AHEAD], 1) if _is_python(word.text))
    place = next(ahead, None)
    return _program(words[place:]) if place is not None else None


MAX_AHEAD = 60
"""Words of unknown launchers that may stand before a program."""


def _program(words: Sequence[Word]) -> Program | None:
    place = 0
    if words and _is_python(words[0].text):
        place = 1
        while place < len(words) and words[place].text in (*_ALONE, *_WITH_VALUE):
            place += 2 if words[place].text in _WITH_VALUE else 1
    if place < len(words) and words[place].text == "-m":
        return _module(words, place + 1)
    name = words[place].text if place < len(words) else None
    if name is None:
        return None
    rest = tuple(words[place + 1 :])
    if name.endswith(".py"):
        return Program(script=name, words=rest)
    return Program(module=name, words=rest) if _is_dotted(name) else None


def _module(words: Sequence[Word], place: int) -> Program | None:
    name = words[place].text if place < len(words) else None
    return Program(module=name, words=tuple(words[place + 1 :])) if name else None


def _is_python(text: str | None) -> bool:
    name = posixpath.basename(text or "")
    return name in _PYTHONS or name.startswith("python3.")


def _is_dotted(name: str) -> bool:
    parts = name.split(".")
    return len(parts) > 1 and all(part.isidentifier() for part in parts)


def locate(wanted: str, command: Command, reader: Reader) -> str | None:
    """Find a file that a command names: from its folder, else from the folders around the file that holds it.

    Gives the path as shown, or None.
    """
    for folder in _folders(command):
        path = wanted if posixpath.isabs(wanted) else posixpath.normpath(posixpath.join(folder, wanted))
        if reader.exists(path):
            return reader.tree.shown(reader.tree.locate(path))
    return None


def _folders(command: Command) -> Iterator[str]:
    if command.folder is not None:
        yield command.folder
    folder = posixpath.dirname(command.path)
    for _ in range(30):
        yield folder
        if folder in ("", "/", "."):
            return
        folder = posixpath.dirname(folder)


def options(words: Sequence[Word], names: dict[str, str]) -> tuple[dict[str, Word], tuple[Word, ...]]:
    """Take options with one value out of a command's words; gives them by canonical name, and the other words.

    `names` maps each spelling (`--config-name`, `-cn`) to the canonical name. `--x=value` gives a word of the value.
    """
    found: dict[str, Word] = {}
    rest: list[Word] = []
    place = 0
    while place < len(words):
        word = words[place]
        text = word.text if word.text is not None else word.known
        spelt, equal, value = text.partition("=")
        place += 1
        if spelt not in names:
            rest.append(word)
        elif equal:
            known = Word(value if word.text is not None else None, word.origins, word.reason, value)
            found[names[spelt]] = known
        elif place < len(words):
            found[names[spelt]] = words[place]
            place += 1
    return found, tuple(rest)


@dataclass(frozen=True, slots=True)
class HydraMain:
    """What `@hydra.main(config_path=..., config_name=...)` says in a file."""

    config_path: str | None = None
    config_name: str | None = None


def hydra_main(path: str, reader: Reader, context: Context) -> HydraMain | None:
    """Read the decorator of a script's entry function; None where the file has none or cannot be read."""
    memory = context.shared.setdefault("hydra mains", {})
    assert isinstance(memory, dict)
    if path not in memory:
        memory[path] = _hydra_main(path, reader)
    found = memory[path]
    assert found is None or isinstance(found, HydraMain)
    return found


def _hydra_main(path: str, reader: Reader) -> HydraMain | None:
    try:
        text = reader.read(path).text
        if "hydra" not in text:
            return None
        tree = ast.parse(text)
    except (Unreadable, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in tree.body:
        for decorator in getattr(node, "decorator_list", ()):
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("hydra.main"):
                return HydraMain(_argument(decorator, 0, "config_path"), _argument(decorator, 1, "config_name"))
    return None


def _argument(call: ast.Call, place: int, name: str) -> str | None:
    nodes = [k.value for k in call.keywords if k.arg == name] or call.args[place : place + 1]
    value = nodes[0].value if nodes and isinstance(nodes[0], ast.Constant) else None
    return value if isinstance(value, str) else None
