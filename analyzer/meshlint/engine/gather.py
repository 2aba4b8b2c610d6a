"""From files to launches: every surface over what it claims, with what the options say laid on top."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from meshlint.config.effective import option
from meshlint.config.fields import FIELDS
from meshlint.config.launch import Launch, Pin, Write
from meshlint.config.registry import surfaces
from meshlint.config.surface import Context, Problem, Surface
from meshlint.config.value import Kind, Origin, State, Value
from meshlint.engine.options import Options, UsageError
from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.sources.discover import SCRIPTS, Scope
from meshlint.sources.tree import Tree, Unreadable
from meshlint.words import meant

MAX_VARIANTS = 16
"""Variants of one launch that are judged."""
MAX_LAUNCHES = 500
"""Launches of one file that are judged."""
MAX_ENTRIES = 20_000
"""Files of one run that launches are read from."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file that one surface reads launches from."""

    surface: Surface
    path: str


def context_of(scope: Scope, options: Options) -> Context:
    """Make what the readers share; raises UsageError for a pin that is no version."""
    settings = options.settings
    environment = {k: Value(State.SET, v, (_setting(f"environment {k}"),)) for k, v in settings.environment.items()}
    _check_gpu(settings.gpu, settings.where("gpu"))
    _check_gpu(options.gpu, "--gpu")
    in_file = {
        lib: _pin(lib, text, "versions", settings.where("versions", lib)) for lib, text in settings.versions.items()
    }
    given = {lib: _pin(lib, text, "--pin", "--pin") for lib, text in options.pins.items()}
    pins = tuple({**in_file, **given}.values())
    return Context(
        tree=Tree(scope.root, scope.roots, scope.replaced),
        files=scope.files,
        environment={**environment, **options.environment},
        pins=pins,
        named=scope.named,
    )


def _setting(text: str) -> Origin:
    return Origin(Kind.OPTION, text=text, note=f"{text} in the settings")


GPUS = (
    "V100", "A100", "A800", "H20", "H100", "H200", "H800", "GH200", "B200", "B300", "GB200", "GB300", "L4", "L40",
    "L40S", "MI250", "MI300X", "MI325X", "MI350X", "MI355X",
)  # fmt: skip
"""The accelerators that can be named; Megatron-Bridge's performance recipes and verl's documentation name these."""


def _check_gpu(name: str, source: str) -> None:
    """Refuse a GPU that is none; raises UsageError."""
    if name and name.upper() not in GPUS:
        raise UsageError(f"{source}: there is no GPU `{name}`{meant(name.upper(), GPUS)}")


def _pin(library: str, text: str, source: str, place: str) -> Pin:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    from meshlint.config.pins.tables import RELEASES, library_of
    from meshlint.config.versions import admitted

    library = library_of(library)
    if library not in RELEASES:
        hint = meant(library, sorted(RELEASES), cutoff=0.4)
        raise UsageError(f"{place}: there is no library `{library}` whose version is judged{hint}")
    specifier = text if text[:1] in ("<", ">", "=", "!", "~") else f"=={text}"
    try:
        SpecifierSet(specifier)
        if specifier == f"=={text}":
            Version(text)
    except ValueError:  # an InvalidSpecifier, an InvalidVersion, or a number of thousands of digits
        raise UsageError(
            f"{place}: for {library}, `{text[:80]}` is neither a version nor a specifier set such as `>=0.15`"
        ) from None
    if not admitted(specifier, tuple(map(Version, RELEASES[library]))):
        raise UsageError(f"{place}: no release of {library} that meshlint knows is `{text[:80]}`")
    origin = Origin(Kind.OPTION, text=f"{source} {library}={text}", note=source)
    return Pin(library, specifier, Value(State.SET, text, (origin,)))


def pin_notes(options: Options) -> Iterator[str]:
    """Tell of pins to an exact version beyond those that are known: what changed there cannot count."""
    from meshlint.config.pins.tables import RELEASES, library_of

    settings = options.settings
    in_file = {lib: (text, settings.where("versions", lib)) for lib, text in settings.versions.items()}
    for library, (text, place) in {**in_file, **{lib: (t, "--pin") for lib, t in options.pins.items()}}.items():
        releases = RELEASES.get(library_of(library), ())
        text = text.removeprefix("==")
        beyond = _beyond(text, releases)
        if beyond:
            yield f"{place}: {library_of(library)} {text} is {beyond}: what changed there cannot count"


def _beyond(text: str, releases: Sequence[str]) -> str:
    """Say how a version lies outside of the known minors, the next one included; empty for one inside."""
    from packaging.version import Version

    try:
        version, first, last = (Version(one).release for one in (text, releases[0], releases[-1]))
    except (ValueError, IndexError):  # a version that is none, or has more digits than a number may
        return ""
    if version[:2] > (last[0], last[1] + 1):
        return f"newer than the newest release that meshlint knows ({releases[-1]})"
    return f"older than the oldest release that is supported ({releases[0]})" if version[:2] < first[:2] else ""


Tick = Callable[[int, int, str], None]


class _Watched(list[str]):
    """Paths that tell how far whoever goes over them has come."""

    def __init__(self, paths: Iterable[str], tick: Tick) -> None:
        super().__init__(paths)
        self.tick = tick

    def __iter__(self) -> Iterator[str]:
        for place, path in enumerate(super().__iter__()):
            self.tick(place, len(self), path)
            yield path


def entries(scope: Scope, context: Context, failures: list[str], tick: Tick | None = None) -> list[Entry]:
    """Give the files to read, in order of path."""
    found: dict[tuple[str, str], Entry] = {}
    there: dict[str, bool] = {}
    for surface in surfaces(scope.asked, lambda path: _text(path, context)):
        claimed = [path for path in scope.asked if surface.claims(path)]
        there.update((path, _there(path, scope, context)) for path in claimed if path not in there)
        claimed = [path for path in claimed if there[path]]
        if not claimed:
            continue
        if tick is not None:
            claimed = _Watched(claimed, tick)
        for path in _entries(surface, claimed, context, failures):
            found.setdefault((path, surface.name), Entry(surface, path))
    kept = sorted(found)
    if len(kept) > MAX_ENTRIES:
        sentence = (
            f"meshlint reads launches from the first {MAX_ENTRIES:,} files of a run; {len(kept) - MAX_ENTRIES:,} more"
        )
        context.problem(Span(kept[MAX_ENTRIES][0], 1), f"{sentence}, from this one on, are not read", bound=True)
    return [found[key] for key in kept[:MAX_ENTRIES]]


def _text(path: str, context: Context) -> str:
    """Give a file's text, empty for one that cannot be read; of Python what can be read, as its surfaces do."""
    if path.endswith(".py"):
        return context.tree.glance(path)
    try:
        return context.tree.read(path).text
    except Unreadable:
        return ""


def _entries(surface: Surface, claimed: list[str], context: Context, failures: list[str]) -> list[str]:
    """Ask a surface for its entries; where it cannot say, the claimed files stand for themselves."""
    try:
        return list(surface.entries(claimed, context))
    except (Unreadable, RecursionError):
        return claimed
    except Exception as error:
        _failed(f"the reader of {surface.name}", "its files", error, failures)
        return claimed


def _failed(reader: str, what: str, error: Exception, failures: list[str]) -> None:
    if os.environ.get("MESHLINT_DEBUG") == "1":
        raise error
    failures.append(f"{reader} failed on {what} ({type(error).__name__})")


def _there(path: str, scope: Scope, context: Context) -> bool:
    """Leave out what git lists and nobody has, and links to files that are listed themselves."""
    file = context.tree.root / path
    if path in scope.named:
        return True
    if path in scope.replaced:
        return scope.replaced[path] is not None
    if not file.is_symlink():
        return file.exists()
    try:
        target = context.tree.shown(context.tree.locate(path))
    except Unreadable:
        return True
    return target not in set_of(context) or PurePosixPath(target).name != PurePosixPath(path).name


def set_of(context: Context) -> frozenset[str]:
    """Give the files of the tree as a set, made once."""
    known = context.shared.get("engine.files")
    if not isinstance(known, frozenset):
        known = context.shared["engine.files"] = frozenset(context.files)
    return known


def launches(entry: Entry, context: Context, options: Options, failures: list[str]) -> Iterator[list[Launch]]:
    """Give the launches of an entry, each with its variants; a file that cannot be read becomes a problem.

    A reader that fails is told in `failures`; what it gave before stands.
    """
    found = entry.surface.launches(entry.path, context)
    yield from _grouped(found, entry.path, f"the reader of {entry.surface.name}", context, options, failures)


def _grouped(
    found: Iterator[Launch], path: str, reader: str, context: Context, options: Options, failures: list[str]
) -> Iterator[list[Launch]]:
    grouped: dict[tuple[str, str], list[Launch]] = {}
    try:
        for launch in found:
            if len(grouped) >= MAX_LAUNCHES and (launch.identity, launch.framework) not in grouped:
                sentence = (
                    f"meshlint judges the first {MAX_LAUNCHES:,} launches of one file; what stands here and behind"
                )
                context.problem(launch.place, f"{sentence} it is not judged", bound=True)
                break
            grouped.setdefault((launch.identity, launch.framework), []).append(overlay(launch, options))
    except Unreadable as error:
        context.problem(Span(error.path, error.line, error.column), error.sentence)
    except RecursionError:
        context.problem(Span(path, 1), "it is nested too deeply to be read")
    except Exception as error:
        _failed(reader, path, error, failures)
    for variants in grouped.values():
        yield variants[:MAX_VARIANTS]


def command_text(words: Sequence[str]) -> tuple[str, str]:
    """Give the path and the text that the places of a command line point into."""
    from meshlint.config.commands.argv import PATH, text_of

    return PATH, text_of(words)


def command_launches(
    words: Sequence[str], context: Context, options: Options, failures: list[str]
) -> Iterator[list[Launch]]:
    """Give the launches of a command line in the environment of this process, each with its variants."""
    from meshlint.config.commands.argv import PATH, from_argv

    folder = _folder(options.cwd, context.tree)
    found = from_argv(words, os.environ, context, folder)
    yield from _grouped(found, PATH, "the command line", context, options, failures)


def _folder(cwd: Path, tree: Tree) -> str:
    """Give the current folder as shown; empty where it is the root."""
    real = cwd.resolve()
    return "" if real == tree.root else tree.shown(real)


def missing_program(words: Sequence[str], cwd: Path) -> str | None:
    """Give the program file that a command names and that is not there, or None.

    A framework's own entry point without a folder may lie wherever the command is started.
    """
    from meshlint.config.commands.argv import program_file
    from meshlint.config.commands.megatron_lm import is_entry

    file = program_file(words)
    if file is None or is_entry(file):
        return None
    return file if not os.path.lexists(cwd / file) else None


def overlay(launch: Launch, options: Options) -> Launch:
    """Lay the options of a person over a launch: the world size and the GPU."""
    settings = options.settings
    changed = launch
    world = options.world_size or settings.world_size
    if world is not None:
        source = f"--world-size {world}" if options.world_size else f"world-size = {world}"
        changed = replace(changed, world=option(world, source))
    gpu = options.gpu or settings.gpu
    if gpu and "gpu" in FIELDS:
        source = f"--gpu {gpu}" if options.gpu else f"gpu = {gpu}"
        changed = replace(changed, writes=(*changed.writes, Write("@gpu", option(gpu, source))))
    return changed


def unreadable(scope: Scope, context: Context) -> Iterator[Problem]:
    """Give the problems of given paths that hold launches by their name: they are read, to say why nothing came."""
    for path in sorted(scope.named):
        if PurePosixPath(path).suffix not in SUFFIXES:
            continue
        try:
            context.tree.read(path)
        except Unreadable as error:
            yield Problem(Span(error.path, error.line, error.column), error.sentence)
    for folder in scope.closed:
        yield Problem(Span(folder, 1), "the folder cannot be listed")
    yield from (Problem(Span(path, 1), sentence) for path, sentence in scope.unused)


SUFFIXES: Sequence[str] = (".yaml", ".yml", *SCRIPTS, ".toml", ".py")
"""Kinds of files that hold launches."""
