"""Shell and sbatch scripts: every training command that a script reaches, launchers peeled off."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from meshlint.config.command import HOLE, Command, Word
from meshlint.config.commands.dispatch import launches_of
from meshlint.config.commands.flags import key_of
from meshlint.config.commands.launchers import LAUNCHERS, peel
from meshlint.config.launch import Branch, Launch
from meshlint.config.registry import framework
from meshlint.config.surface import Context
from meshlint.config.value import Kind, Origin
from meshlint.place import Span
from meshlint.sources.discover import SCRIPTS
from meshlint.sources.tree import Reader, Unreadable

if TYPE_CHECKING:
    from meshlint.sources.shell.script import Program, Script
    from meshlint.sources.shell.variants import Variant
    from meshlint.sources.shell.variants import Word as Evaluated

NAME = "shell"
WATCHED = ("CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_VISIBLE_DEVICES", "NPROC_PER_NODE", "NNODES")
"""Variables of the environment that rules and readers look at: conditions that set them make variants."""

FLAG_STYLE = ("megatron-lm", "slime", "ms-swift")
"""Frameworks whose flags decide which conditions make variants."""

MAX_TOLD = 3
"""Bounds that are told of one file."""
MAX_CHARACTERS = 200_000
"""Characters of one command; Linux hands on at most 128 KiB in one word, and no person writes so many words."""
MAX_LAUNCHES = 200
"""Commands of one script that are judged."""

_STARTS = (".py", "torchrun", "torch.distributed", "megatron ", " -m ")
_BRINGS = ("source ", ". ")
"""What brings in commands that stand elsewhere."""
_TOPICS = (
    "train",
    "--num-layers",
    "megatron",
    "parallel",
    "verl",
    "nemo",
    "recipe",
    "grpo",
    "run_",
    "swift",
    "pipeline",
    "torchrun",
)

_STARTING = tuple(ending for ending in SCRIPTS if ending != ".sub")
"""A `.sub` job sets a cluster up and runs what a variable holds (NeMo-RL's ray.sub): others start it, or source it."""


class Shell:
    """Claims scripts by their ending."""

    name = NAME

    def claims(self, path: str) -> bool:
        """Claim by the ending; files without one are not looked at."""
        return path.endswith(_STARTING) and posixpath.splitext(path)[1] in _STARTING  # the first decides for thousands

    def entries(self, paths: Iterable[str], context: Context) -> Iterable[str]:
        """Judge scripts that can start something; a script that others source gives way to them."""
        found: dict[str, None] = {}
        users = _users(context)
        for path in paths:
            callers = users.get(PurePosixPath(path).name, ())
            found.update(dict.fromkeys(c for c in callers if c != path))
            if _can_start(path, context) and not _used(path, callers, context):
                found[path] = None
        return list(found)

    def launches(self, path: str, context: Context) -> Iterator[Launch]:
        """Give the launches of a script, in the order in which it comes to them."""
        script, reader = _evaluate(path, context)
        found = False
        for launch in script_launches(script, path, reader, context):
            found = True
            yield launch
        if found or any(trouble.ends for trouble in script.troubles):
            report_troubles(script, context)


SURFACE = Shell()


def report_troubles(script: Script, context: Context) -> None:
    """Tell of what could not be read on the way to a launch: the first piece of each file, and every bound met."""
    told: dict[str, int] = {}
    for trouble in sorted(script.troubles, key=lambda trouble: not trouble.ends):
        count = told[trouble.span.path] = told.get(trouble.span.path, 0) + 1
        if count == 1 or (trouble.ends and count <= MAX_TOLD):
            context.problem(trouble.span, trouble.sentence, bound=True, fix=trouble.fix)


def _can_start(path: str, context: Context) -> bool:
    """Look for the words that a training launch cannot do without, before anything is parsed."""
    try:
        text = context.tree.read(path).text
    except Unreadable:
        return True
    return any(s in text for s in (*_STARTS, *_BRINGS)) and any(t in text for t in _TOPICS)


def _users(context: Context) -> Mapping[str, tuple[str, ...]]:
    """Give, for each file name, the scripts with a line that sources a file of that name."""
    known = context.shared.get(f"{NAME}.users")
    if isinstance(known, dict):
        return known
    users: dict[str, dict[str, None]] = {}
    for path in context.files:
        if not SURFACE.claims(path):
            continue
        for name in _sourced(path, context):
            users.setdefault(name, {})[path] = None
    made = {name: tuple(paths) for name, paths in users.items()}
    context.shared[f"{NAME}.users"] = made
    return made


def _sourced(path: str, context: Context) -> Iterator[str]:
    try:
        text = context.tree.read(path).text
    except Unreadable:
        return
    for row in text.split("\n") if "source" in text or ". " in text else ():
        for word, after in pairwise(row.split()) if "source" in row or ". " in row or ".\t" in row else ():
            if word in ("source", "."):
                yield PurePosixPath(after.strip("\"';")).name


def _used(path: str, callers: Sequence[str], context: Context) -> bool:
    """Say whether a script's commands are reached by another script that sources it."""
    return any(
        program.span().path == path
        for caller in callers
        if caller != path
        for program in _evaluate(caller, context)[0].programs
    )


def _evaluate(path: str, context: Context) -> tuple[Script, Reader]:
    from meshlint.sources.shell.script import evaluate

    memory = context.shared.setdefault(f"{NAME}.scripts", {})
    assert isinstance(memory, dict)
    if path not in memory:
        reader = context.reader()
        given = {name: str(v.data) for name, v in context.environment.items() if v.is_set}
        source = reader.read(path)
        memory[path] = evaluate(source, reader, given, fallback=_fallback(path), givers=givers(context)), reader
    script, reader = memory[path]
    return script, Reader(reader.tree, set(reader.seen))


def givers(context: Context) -> Mapping[str, str]:
    """Give the words with which a person sets each variable: `--env CP=2`."""
    return {name: v.origins[0].note or v.origins[0].text for name, v in context.environment.items() if v.origins}


def _fallback(path: str) -> Mapping[str, str]:
    """Give the variables that follow from where NeMo-RL's test suites lie."""
    if "tests/test_suites/" not in path:
        return {}
    from meshlint.config.commands.nemo_rl import initial_variables

    return initial_variables(path)


# Commands -------------------------------------------------------------------------------------------------------


def script_launches(
    script: Script, path: str, reader: Reader, context: Context, surface: str = NAME
) -> Iterator[Launch]:
    """Give the launches of an evaluated script; commands are numbered in the order in which they are reached."""
    numbers: dict[Span, int] = {}
    used: dict[str, int] = {}
    commands = [program for program in script.programs if _may_launch(program, context)]
    judged = 0
    for index, program in enumerate(commands):
        if judged >= MAX_LAUNCHES:
            context.problem(program.span(), _too_many(judged, len(commands) - index), bound=True)
            return
        place = program.span()
        number = numbers.get(place, len(numbers) + 1)
        scope = _scope(number, program)
        again = used.get(scope, 0)
        made = list(_variants(program, path, f"{scope} #{again + 1}" if again else scope, reader, context, surface))
        if made:
            judged += 1
            numbers[place] = number
            used[scope] = again + 1
            yield from made


def _may_launch(program: Program, context: Context) -> bool:
    """Say whether a command can start a training, by its text; one that is far too long is told and left out."""
    text = program.text()
    if not any(s in text for s in _STARTS) and "megatron" not in text:
        return False
    if len(text) > MAX_CHARACTERS:
        sentence = f"the command has {len(text):,} characters; meshlint reads at most {MAX_CHARACTERS:,}"
        context.problem(program.span(), sentence)
        return False
    return True


def _too_many(judged: int, left: int) -> str:
    return (
        f"meshlint judges the first {judged:,} launches that one script comes to; "
        f"{left:,} more, from here on, are not judged"
    )


def _scope(number: int, program: Program) -> str:
    loops = ", ".join(f"{name}={value}" for name, value in program.loops)
    return f"command {number}" + (f" [{loops}]" if loops else "")


def _variants(
    program: Program, path: str, scope: str, reader: Reader, context: Context, surface: str
) -> Iterator[Launch]:
    """Give one launch for each variant that differs in what is launched."""
    seen: set[object] = set()
    found: list[Launch] = []
    for variant in program.variants(WATCHED, relevant_flags(context)):
        command = command_of(program, variant, path, scope, surface)
        key = (
            tuple((w.text, w.reason, w.known) for w in command.words),
            *(None if v is None else (v.state, v.data) for v in (command.nodes, command.gpus_per_node, command.world)),
            *((n, v.state, v.data) for n, v in sorted(command.counts.items())),
            *((n, v.state, v.data) for n in WATCHED if (v := command.environment.get(n)) is not None),
        )
        if key in seen:
            continue
        seen.add(key)
        found.extend(replace(made, counts=command.counts) for made in launches_of(command, reader, context))
    yield from found


def relevant_flags(context: Context) -> Callable[[str], bool]:
    """Give the test for flags that some framework or launcher reads; others need no variants of their own."""
    known = context.shared.get(f"{NAME}.flags")
    if not isinstance(known, frozenset):
        spelt = {
            key.rpartition(".")[2]
            for name in FLAG_STYLE
            for spelling in framework(name).spellings
            for key in spelling.keys
        }
        counts = {key_of(flag) for launcher in LAUNCHERS.values() for flag in launcher.counts}
        known = context.shared[f"{NAME}.flags"] = frozenset(spelt | counts)
    keys = known
    return lambda flag: key_of(flag) in keys


def command_of(program: Program, variant: Variant, path: str, scope: str, surface: str = NAME) -> Command:
    """Make a command of a variant: words with origins, launchers peeled off."""
    words = tuple(_word(w, scope, surface) for w in variant.words)
    if variant.passed is not None:
        place, caveat = variant.passed
        words = tuple(_passed(w, caveat) if i < place else w for i, w in enumerate(words))
    environment = {name: _word(w, scope, surface).value() for name, w in variant.environment().items()}
    peeled = peel(
        words,
        environment,
        [tuple(_word(w, scope, surface) for w in wrapper) for wrapper in variant.wrappers],
        tuple(_word(w, scope, surface) for w in variant.directives),
    )
    return Command(
        words=peeled.words,
        path=path,
        scope=scope,
        place=program.span(),
        surface=surface,
        folder=program.folder,
        environment=peeled.environment,
        nodes=peeled.nodes,
        gpus_per_node=peeled.gpus_per_node,
        world=peeled.world,
        counts=peeled.counts,
        branches=tuple(Branch(a.text, a.taken, a.span) for a in variant.arms()),
    )


def _word(word: Evaluated, scope: str, surface: str) -> Word:
    origins = tuple(
        Origin(Kind.OPTION if s.span is None else Kind.WRITTEN, s.text, s.span, surface, scope, caveat=s.caveat)
        for s in word.spots()
    )
    shape = word.shape(HOLE) if word.text is None else ""
    begins = word.text if word.text is not None else word.known
    home = word.home() if begins[:1] == "-" or "=" in begins else ()
    return Word(word.text, origins, word.reason, word.known, word.several, shape, home)


def _passed(word: Word, caveat: str) -> Word:
    """Say of a word what comes after it from outside and can override it."""
    if not word.origins or word.origins[0].caveat:
        return word
    first = replace(word.origins[0], caveat=caveat)
    return replace(word, origins=(first, *word.origins[1:]))
