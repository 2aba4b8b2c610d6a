"""slime's Python launchers: a program that builds option strings and calls `execute_train`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from meshlint.config.command import Command, Word
from meshlint.config.commands.slime import READER as SLIME
from meshlint.config.fields import FIELDS
from meshlint.config.launch import Launch
from meshlint.config.python.calls import Calls
from meshlint.config.python.explore import Outcome, Session
from meshlint.config.python.expressions import string_pieces
from meshlint.config.python.flatten import value_of
from meshlint.config.python.machine import CallSite, Knowledge, Row, Sink
from meshlint.config.python.program import Module, program_of
from meshlint.config.python.surface import has_main, starters
from meshlint.config.python.values import Leaf, Map, Record, Unknown, Val
from meshlint.config.python.words import words_of
from meshlint.config.surface import Context
from meshlint.config.value import Kind, Origin, Value, unknown, written
from meshlint.sources.tree import Reader, Text, Unreadable

NAME = "slime-python"
STARTS = "execute_train"
_PARAMETERS = ("train_args", "num_gpus_per_node", "megatron_model_type", "train_script")
"""slime/utils/external_utils/command_utils.py:94."""
_SOURCE = "slime/utils/external_utils/command_utils.py:142, for every launch"


def _starts(machine: Calls, callee: Val, site: CallSite) -> tuple[Record | None, Iterable[Row]]:
    """`execute_train(train_args, num_gpus_per_node, megatron_model_type, ...)`."""
    found = [(name, site.argument(place, name)) for place, name in enumerate(_PARAMETERS)]
    return None, [Row(machine.order, name, value) for name, value in found if value is not None]


def _done(machine: Calls, callee: Val, site: CallSite) -> Val:
    return Leaf(None)


def _no_words(machine: Calls, callee: Val, site: CallSite) -> Val:
    """`get_default_wandb_args(file)`: flags of the tracker alone."""
    return Leaf("", (machine.origin(site.node),))


_OTHERS = (STARTS, "exec_command", "hf_download_dataset", "convert_checkpoint", "rsync_simple", "fp8_cast_bf16")
KNOWLEDGE = Knowledge(
    calls={**dict.fromkeys(_OTHERS, _done), "get_default_wandb_args": _no_words},
    interesting=frozenset(FIELDS) | set(_PARAMETERS),
    sinks={STARTS: _starts},
)


class SlimePython:
    """A launcher is a launch for each call of `execute_train` that it comes to."""

    name = NAME

    def claims(self, path: str) -> bool:
        """Claim Python files."""
        return path.endswith(".py")

    def entries(self, paths: Iterable[str], context: Context) -> Iterable[str]:
        """Judge the files that call `execute_train`; slime's end-to-end tests are launchers too."""
        program = program_of(context)
        return [p for p in paths if f"{STARTS}(" in program.text(p) and f"def {STARTS}(" not in program.text(p)]

    def launches(self, path: str, context: Context) -> Iterator[Launch]:
        """Give the launches of a launcher, with their variants."""
        yield from self.started(path, context)

    def started(self, path: str, context: Context, argv: tuple[Leaf | Unknown, ...] | None = None) -> Iterator[Launch]:
        """Give what a launcher starts, with these arguments where they are known."""
        program = program_of(context)
        module = program.module(path)
        if module is None:
            return
        environment = {name: value.data for name, value in context.environment.items() if value.is_set}
        session = Session.over(program, NAME, KNOWLEDGE, environment)
        for outcome in _outcomes(session, module, argv):
            for number, sink in enumerate(outcome.sinks):
                yield from _launches(session, module, outcome, sink, number, context)


def _outcomes(session: Session, module: Module, argv: tuple[Leaf | Unknown, ...] | None) -> list[Outcome]:
    found = session.script(module, argv) if has_main(module.source.tree) else []
    if any(outcome.sinks for outcome in found):
        return found
    callers = starters(module.source.tree, frozenset((STARTS,)))
    return [o for node, owner in callers for o in session.function(module, node, owner)]


def _launches(
    session: Session, module: Module, outcome: Outcome, sink: Sink, number: int, context: Context
) -> Iterator[Launch]:
    reader = context.reader()
    reader.seen.update(outcome.reads)
    given = {row.key: row.value for row in sink.rows}
    scope = (sink.scope or "main") + (f" {number + 1}" if number else "")
    train = given.get("train_args", Unknown("train_args is not given"))
    script = given.get("train_script", Leaf("train.py"))
    words = [Word("python3"), value_word(script, "train.py")]
    words += _model_words(given.get("megatron_model_type"), module.path, reader, scope)
    words += words_of(tuple(string_pieces(train)), session.program)  # type: ignore[arg-type]
    command = Command(
        words=tuple(_scoped(w, scope) for w in words),
        path=module.path,
        scope=scope,
        place=sink.module.source.span(sink.site.node),
        surface=NAME,
        folder=".",
        environment=_environment(sink.site.kwargs.get("extra_env_vars")),
        gpus_per_node=value_of(given["num_gpus_per_node"]) if "num_gpus_per_node" in given else None,
        branches=outcome.branches,
    )
    for launch in SLIME.launches(command, reader, context):
        yield replace(launch, branches=outcome.branches)


def value_word(value: object, otherwise: str) -> Word:
    """Give a value as a word."""
    if isinstance(value, Leaf) and isinstance(value.data, str):
        return Word(value.data, value.origins)
    return Word(otherwise)


def _scoped(word: Word, scope: str) -> Word:
    return replace(word, origins=tuple(o if o.scope else replace(o, scope=scope) for o in word.origins))


def _environment(extra: Val | None) -> dict[str, Value]:
    """Give the variables of the Ray job: what slime sets for every launch, then the launcher's own."""
    note = Origin(Kind.DEFAULT, text="CUDA_DEVICE_MAX_CONNECTIONS=1", surface=NAME, note=_SOURCE)
    found = {
        "*": unknown("the environment of the machine reaches it too"),
        "CUDA_DEVICE_MAX_CONNECTIONS": written("1", note),
    }
    if isinstance(extra, Map):
        found.update((str(name), value_of(value)) for name, value in extra.entries.items())
    elif extra is not None and not isinstance(extra, Leaf):
        found["CUDA_DEVICE_MAX_CONNECTIONS"] = unknown("extra_env_vars is not known")
    return found


def _model_words(kind: object, path: str, reader: Reader, scope: str) -> list[Word]:
    """Give the words of `MODEL_ARGS` that `scripts/models/KIND.sh` sets."""
    if kind is None or (isinstance(kind, Leaf) and kind.data is None):
        return []
    if not isinstance(kind, Leaf) or not isinstance(kind.data, str):
        return [Word(None, getattr(kind, "origins", ()), "which model's arguments are used is not known", several=True)]
    script = f"scripts/models/{kind.data}.sh"
    root = next((r for r in _above(path) if reader.exists(str(r / script))), None)
    if root is None:
        return [Word(None, kind.origins, f"{script} is not in what was read", several=True)]
    return _sourced(str(root / script), reader, scope)


def _above(path: str) -> list[PurePosixPath]:
    return list(PurePosixPath(path).parents)[:8]


def _sourced(script: str, reader: Reader, scope: str) -> list[Word]:
    from meshlint.sources.shell.script import evaluate

    try:
        text = reader.read(script)
    except Unreadable as error:
        return [Word(None, (), error.sentence, several=True)]
    body = text.text.rstrip("\n")
    last = body.count("\n") + 2
    joined = Text(text.path, text.file, f'{body}\npython3 train.py "${{MODEL_ARGS[@]}}"\n')
    evaluated = evaluate(joined, reader, {}, fallback={})
    for program in evaluated.programs:
        for variant in program.variants():
            return [_word(w, (text.path, last), scope) for w in variant.words[2:]]
    return []


def _word(word: object, added: tuple[str, int], scope: str) -> Word:
    """Make a word of a command that was added to the end of a script, without the places there."""
    spots = [s for s in word.spots() if (s.span.path, s.span.line) < added or s.span.path != added[0]]  # type: ignore[attr-defined]
    origins = tuple(Origin(Kind.WRITTEN, s.text, s.span, NAME, scope, caveat=s.caveat) for s in spots)
    text, reason = word.text, word.reason  # type: ignore[attr-defined]
    return Word(text, origins, reason, word.known, word.several, home=word.home())  # type: ignore[attr-defined]


SURFACE = SlimePython()
