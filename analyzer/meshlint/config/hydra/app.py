"""One Hydra application as it is launched: search path, primary config and words, merged into writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from meshlint.config.command import Word
from meshlint.config.hydra import documents
from meshlint.config.hydra import overrides as dotlist
from meshlint.config.hydra.compose import Choices, Composer, Composition, Folder, choices_of
from meshlint.config.hydra.flatten import Hole, blocks_of, writes
from meshlint.config.hydra.interpolation import Resolver
from meshlint.config.hydra.items import Listing, child
from meshlint.config.launch import Write
from meshlint.config.surface import Context
from meshlint.config.value import EMPTY, Kind, Origin, State, Value, unknown
from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.sources.tree import Reader, Unreadable


@dataclass(frozen=True, slots=True)
class Application:
    """What is started: folders of configs in the order of search, the primary config's name (None: there is none).

    `missing` says why the primary config cannot be known; then everything that the words do not set is unknown.
    """

    folders: tuple[Folder, ...]
    primary: str | None
    missing: str = ""
    standard: frozenset[str] = frozenset()
    """Configs whose absence is no hole, since a framework's own table of defaults stands for them."""
    find: Callable[[str, str, Reader], Folder | None] = lambda *_: None
    """Gives the folder of a `hydra.searchpath` entry, seen from the folder of the primary config."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The merged config of an application, as writes."""

    writes: tuple[Write, ...]
    absent: tuple[str, ...] = ()
    chosen: tuple[tuple[str, str], ...] = ()

    def value(self, key: str) -> Value | None:
        """Give the value in force for a key: the last write that reaches it, or None."""
        return next((w.value for w in reversed(self.writes) if w.reaches(key)), None)


def settings(
    application: Application,
    words: Sequence[Word],
    reader: Reader,
    context: Context,
    place: Span,
    environment: Mapping[str, Value] = EMPTY,
) -> Settings:
    """Merge an application's config and apply its words; never raises for what they hold."""
    given = dotlist.read(words)
    application = searched(application, given, reader, context)
    composer = Composer(application.folders, reader, context, application.standard)
    composition, keys = _composed(composer, application, given, place)
    if application.missing:
        hole = Hole("*", unknown(application.missing, *_at(place)))
        composition = replace(composition, holes=(hole, *composition.holes))
    reader.seen.update(composition.files)
    keys, groups = _groups_of_absent(composition, keys)
    root, holes = dotlist.apply(composition.root, keys)
    resolver = Resolver(root, environment, incomplete=_incomplete(composition))
    found = writes(resolver, (*composition.holes, *holes), blocks_of(context))
    found = (*documents.repeated(composition.files, context), *found)
    return Settings(found, composition.absent, (*composition.chosen, *groups))


def _groups_of_absent(
    composition: Composition, given: list[dotlist.Given]
) -> tuple[list[dotlist.Given], tuple[tuple[str, str], ...]]:
    """Take out words that must be choices of a group whose folder is not in reach: `engine=x` beside `engine.y=1`."""
    if not composition.absent:
        return given, ()
    tops = {one.override.key.partition(".")[0] for one in given if one.override and "." in one.override.key}
    chosen = [one for one in given if one.override and one.override.key in tops and isinstance(one.override.value, str)]
    groups = tuple((one.override.key, str(one.override.value)) for one in chosen if one.override)
    taken = {id(one) for one in chosen}
    return [one for one in given if id(one) not in taken], groups


def searched(application: Application, given: Sequence[dotlist.Given], reader: Reader, context: Context) -> Application:
    """Add the folders of `hydra.searchpath`: the command's word where it has one, else the primary config's list."""
    paths = _search_word(given)
    if paths is None and application.primary is not None:
        paths = _search_list(Composer(application.folders, reader, context), application.primary)
    start = application.folders[0].path if application.folders else ""
    found = [application.find(path, start, reader) for path in paths or ()]
    extra = tuple(folder for folder in found if folder is not None)
    return replace(application, folders=(*application.folders, *extra)) if extra else application


def _search_word(given: Sequence[dotlist.Given]) -> tuple[str, ...] | None:
    for one in given:
        if one.override is not None and one.override.key == "hydra.searchpath":
            value = one.override.value
            return tuple(str(v) for v in value) if isinstance(value, tuple) else ()
    return None


def _search_list(composer: Composer, primary: str) -> tuple[str, ...] | None:
    try:
        document = composer.find(primary)
    except Unreadable:
        return None
    item = child(child(document.body, "hydra"), "searchpath") if document is not None else None
    if not isinstance(item, Listing) or not isinstance(item.value.data, tuple):
        return None
    return tuple(str(path) for path in item.value.data)


def _composed(
    composer: Composer, application: Application, given: Sequence[dotlist.Given], place: Span
) -> tuple[Composition, list[dotlist.Given]]:
    """Compose, from the run's memory where the same files were chosen before."""
    if application.primary is None:
        return Composition(), list(given)
    known = [one for one in given if one.override is not None]
    choices, kept = choices_of(composer, [(one.override, one.span) for one in known if one.override is not None])
    keys = {id(known[index]) for index in kept}
    rest = [one for one in given if one.override is None or id(one) in keys]
    memory = composer.context.shared.setdefault("hydra compositions", {})
    assert isinstance(memory, dict)
    key = (application.folders, application.primary, _shape(choices))
    composition = memory.get(key)
    if composition is None:
        composition = memory[key] = composer.compose(application.primary, choices, place)
    return composition, rest


def _shape(choices: Choices) -> tuple[object, ...]:
    added = tuple((e.group, e.package, e.names) for e in choices.added)
    return (choices.chosen, added, choices.deleted)


def _incomplete(composition: Composition) -> str:
    return next((hole.value.reason for hole in composition.holes), "")


def _at(place: Span) -> Iterable[Origin]:
    return (Origin(Kind.WRITTEN, span=place),)


def product(*values: Value | None) -> Value | None:
    """Multiply whole numbers, such as nodes and GPUs a node; None where one is not given."""
    result = 1
    origins: tuple[Origin, ...] = ()
    for value in values:
        if value is None:
            return None
        if value.is_unknown:
            return value
        number = whole(value)
        if number is None:
            return unknown(f"{value.data!r} is no number of ranks", *value.origins)
        result *= number
        origins += value.origins
    state = State.SET if any(v is not None and v.is_set for v in values) else State.UNSET
    return Value(state, result, origins)


def whole(value: Value) -> int | None:
    """Give a value as a whole number, also where it is written as text; None for anything else."""
    data = value.data
    if isinstance(data, bool):
        return None
    if isinstance(data, float) and data.is_integer():
        return int(data)
    if isinstance(data, str) and data.strip().isdecimal() and len(data) < 10:
        return int(data)
    return data if isinstance(data, int) else None
