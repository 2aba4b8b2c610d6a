"""A command as a person gives it to `meshlint check -- torchrun ...`, with the environment that it would run in."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from posixpath import basename, join

from meshlint.config.command import Command, Word
from meshlint.config.commands.dispatch import launches_of
from meshlint.config.commands.launchers import Peeled, peel
from meshlint.config.hydra.program import program
from meshlint.config.installed import name_command
from meshlint.config.launch import Launch
from meshlint.config.surface import Context
from meshlint.config.value import Kind, Origin, State, Value
from meshlint.place import Span
from meshlint.sources.discover import SCRIPTS
from meshlint.sources.tree import Text, Unreadable

SURFACE = "command-line"
PATH = "command line"
"""The path in the spans of such a command; columns count in its words, quoted and joined by blanks."""
_SHELLS = ("bash", "sh", "zsh", "dash")


def text_of(argv: Sequence[str]) -> str:
    """Give the text that the spans of a command's words point into."""
    return shlex.join(argv)


def from_argv(argv: Sequence[str], environ: Mapping[str, str], context: Context, folder: str = "") -> Iterator[Launch]:
    """Give the launches of a command line; `bash script.sh ...` and `bash -c ...` are followed into the script.

    `folder` is where the command would run, as shown.
    """
    name_command(argv, environ, context.tree.root / folder, context)
    environment = {
        **{name: Value(State.SET, value, (Origin(Kind.OPTION, text=name),)) for name, value in environ.items()},
        **context.environment,
    }
    peeled = peel(_words(argv), environment)
    script = _script(peeled)
    if script is not None:
        path, text, arguments = script
        yield from _followed(path if text is not None else join(folder, path), text, arguments, environment, context)
        return
    reader = context.reader()
    command = Command(
        words=peeled.words,
        path=PATH,
        scope="command 1",
        place=Span(PATH, 1, 1, 1, len(text_of(argv)) + 1),
        surface=SURFACE,
        folder=folder,
        environment=peeled.environment,
        nodes=peeled.nodes,
        gpus_per_node=peeled.gpus_per_node,
        world=peeled.world,
        counts=peeled.counts,
    )
    for made in launches_of(command, reader, context):
        yield replace(made, counts=command.counts)


def program_file(argv: Sequence[str]) -> str | None:
    """Give the file of the program or shell script that a command starts, as written; None where it names none.

    What is started in a container, on another host or on a cluster of Ray lies there, and not here.
    """
    if any(_elsewhere(argv, place) for place in range(len(argv))):
        return None
    peeled = peel(_words(argv), {})
    script = _script(peeled)
    if script is not None:
        return script[0] if script[1] is None else None
    command = Command(peeled.words, PATH, "command 1", Span(PATH, 1))
    found = program(command)
    return found.script or None if found is not None else None


_REMOTE = ("docker", "podman", "enroot", "apptainer", "singularity", "ssh")


def _elsewhere(argv: Sequence[str], place: int) -> bool:
    """Say whether the word at a place has what follows started elsewhere."""
    word = basename(argv[place])
    ray = word == "ray" and tuple(argv[place + 1 : place + 3]) == ("job", "submit")
    return ray or word in _REMOTE or argv[place].startswith("--container-image")


def _words(argv: Sequence[str]) -> list[Word]:
    words, column = [], 1
    for text in argv:
        quoted = shlex.quote(text)
        start = column + (text.index("=") + 1 if "=" in text and quoted == text else 0)
        end = column + len(quoted)
        span = Span(PATH, 1, min(start, end - 1), 1, end)
        words.append(Word(text, (Origin(Kind.WRITTEN, text.rpartition("=")[2] or text, span, SURFACE, "command 1"),)))
        column = end + 1
    return words


def _script(peeled: Peeled) -> tuple[str, str | None, list[str]] | None:
    """Find a shell script in a peeled command: its path or text, and its arguments."""
    texts = [w.text or "" for w in peeled.words]
    if not texts:
        return None
    if peeled.program not in _SHELLS:
        return (texts[0], None, texts[1:]) if texts[0].endswith(SCRIPTS) else None
    place = 1
    while place < len(texts) and texts[place].startswith("-"):
        if "c" in texts[place] and not texts[place].startswith("--") and place + 1 < len(texts):
            return PATH, texts[place + 1], texts[place + 3 :]
        place += 1
    return (texts[place], None, texts[place + 1 :]) if place < len(texts) else None


def _followed(
    path: str, text: str | None, arguments: list[str], environment: Mapping[str, Value], context: Context
) -> Iterator[Launch]:
    from meshlint.config.surfaces.shell import givers, report_troubles, script_launches
    from meshlint.sources.shell.script import evaluate

    reader = context.reader()
    try:
        source = reader.read(path) if text is None else Text(PATH, context.tree.root / "command line", text)
    except Unreadable as problem:
        context.problem(Span(problem.path, problem.line, problem.column), problem.sentence)
        return
    known = {name: str(value.data) for name, value in environment.items() if value.is_set}
    script = evaluate(source, reader, known, arguments=arguments, givers=givers(context))
    yield from script_launches(script, source.path, reader, context)
    report_troubles(script, context)
