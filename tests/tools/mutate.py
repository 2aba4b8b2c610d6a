"""Puts one fault into a real launch, by editing the place where the setting counts, and says what meshlint finds.

Works on a hard-linked copy of a checkout in a temporary folder; the checkout itself is never written. A fault is a few
settings: a field that the launch writes is replaced where it is written, one that it does not write is added beside
another setting of the same launch, in the form of its surface.
"""

from __future__ import annotations

import ast
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from packaging.version import Version

from meshlint.config.effective import Fork
from meshlint.config.framework import Framework, Role, Spelling
from meshlint.config.launch import Launch
from meshlint.config.registry import framework, surfaces
from meshlint.config.shapes.source import shapes_of
from meshlint.config.surface import Context
from meshlint.config.value import Data, Kind, Value
from meshlint.config.versions import resolve
from meshlint.engine import gather
from meshlint.engine.inspect import LaunchView, RoleView, inspect
from meshlint.engine.judge import Ground, judge
from meshlint.engine.options import Options
from meshlint.engine.run import scope_of
from meshlint.place import Span
from meshlint.rule import LaunchRule
from meshlint.sources.discover import Scope
from meshlint_rules import rules

ANCHORS = (
    "context_parallel_size",
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "expert_model_parallel_size",
    "micro_batch_size",
    "num_layers",
    "seq_length",
)
"""Fields beside which a new setting is written; the first that a launch writes."""


NOT_TRAINING = frozenset({"provider", "load"})
"""Entries that build a model without a recipe; rules say other things of them."""


class Unfit(Exception):  # noqa: N818 - the launch cannot carry the fault
    """A fault cannot be put into a launch; the sentence says why."""


@dataclass(frozen=True)
class Fault:
    """What makes a rule fire: the settings to write, those that must not be there, and the versions it holds on."""

    code: str
    settings: Mapping[str, Data]
    absent: tuple[str, ...] = ()
    pins: Mapping[str, str] = field(default_factory=dict)
    entries: tuple[str, ...] = ()
    """The only entries where it is a fault; empty is all."""
    world: int = 0
    """Ranks that are said to be launched, as by `--world-size`; 0 leaves it to the launch."""
    trains: bool = False
    """It is a fault of a training only."""
    unless: tuple[str, ...] = ()
    """Keys of a framework that give the settings another meaning: a launch that writes one cannot carry the fault."""


@dataclass(frozen=True)
class Target:
    """One role of one launch of a checkout."""

    launch: Launch
    role: RoleView

    @property
    def name(self) -> str:
        """Give the launch and its role."""
        return f"{self.launch.identity}[{self.role.name}]" if self.role.name else self.launch.identity

    def value(self, name: str) -> Value:
        """Give a field; the first of the values where versions differ."""
        return next(shown.values[0] for shown in self.role.fields if shown.name == name)


@dataclass(frozen=True)
class Change:
    """Text to put at a place."""

    span: Span
    text: str


@dataclass(frozen=True)
class Found:
    """What is found in one launch: codes, and for each rule that could not be judged, the unknown that stopped it."""

    codes: frozenset[str]
    stopped: Mapping[str, str]


@dataclass(frozen=True)
class Outcome:
    """What became of a fault: whether the rule was silent before and fired after, and else what stopped it."""

    silent: bool
    caught: bool
    stopped: str
    found: tuple[str, ...]


@dataclass
class Checkout:
    """A copy of a checkout, whose files are listed once."""

    root: Path
    scope: Scope

    @classmethod
    def at(cls, root: Path) -> Checkout:
        """List the files of a folder."""
        return cls(root, scope_of([str(root)], Options(cwd=root, cache=False)))

    def judge(self, target: Target, pins: Mapping[str, str], world: int = 0) -> Found:
        """Judge one launch, all its roles, by every rule."""
        options, context = self._read(pins, world)
        codes: set[str] = set()
        stopped: dict[str, str] = {}
        for variants in self._launches(target, context, options):
            model = framework(variants[0].framework)
            ground = Ground(model, resolve(variants[0], model, context), shapes_of(context))
            judgement = judge(variants, ground, [rule() for rule in rules() if issubclass(rule, LaunchRule)])
            codes |= {judged.finding.code for judged in judgement.judged}
            stopped |= {stop.code: f"{stop.field}: {stop.reason}" for stop in judgement.coverage.not_judged}
        return Found(frozenset(codes), stopped)

    def _read(self, pins: Mapping[str, str], world: int) -> tuple[Options, Context]:
        options = Options(cwd=self.root, pins=dict(pins), cache=False, world_size=world or None)
        return options, gather.context_of(self.scope, options)

    def hindrance(self, target: Target, fault: Fault, edited: Sequence[Span]) -> str:
        """Say why a fault that is written now does not come about, by what the framework itself makes of it.

        Empty where it does come about on some variant of the launch, or where nothing tells.
        """
        options, context = self._read(fault.pins, fault.world)
        told: list[str] = []
        for variants in self._launches(target, context, options):
            model = framework(variants[0].framework)
            ground = Ground(model, resolve(variants[0], model, context), shapes_of(context))
            for launch in variants:
                for role in (role for role in model.roles(launch) if role.name == target.role.name):
                    told.append(self._hindered(ground, launch, role, fault, edited))
        return told[0] if told and all(told) else ""

    def _hindered(self, ground: Ground, launch: Launch, role: Role, fault: Fault, edited: Sequence[Span]) -> str:
        other = next((key for key in fault.unless if launch.find(key) is not None), "")
        if other:
            return f"{other} gives its settings another meaning"
        if fault.trains and effective(ground, launch, role, "training").data is False:
            return "the program does not train"
        for name, data in fault.settings.items():
            value = effective(ground, launch, role, name)
            if value.is_unknown or value.data == data:
                continue
            derived = next((origin.note for origin in value.origins if origin.kind is Kind.DERIVED), "")
            if derived:
                return f"{name} = {value.data}: {derived}"
            if value.span is not None and not any(_meet(value.span, place) for place in edited):
                return f"{name} = {value.data} is written again, {value.span}"
        return ""

    def _launches(self, target: Target, context: Context, options: Options) -> Iterator[list[Launch]]:
        path = target.launch.place.path
        for surface in surfaces():
            if surface.claims(path):
                for variants in gather.launches(gather.Entry(surface, path), context, options, []):
                    if _stem(variants[0]) == _stem(target.launch):
                        yield variants


def effective(ground: Ground, launch: Launch, role: Role, name: str) -> Value:
    """Give a field; of the versions that are open and that it hangs on, the last."""
    chosen: dict[str, Version] = {}
    while True:
        try:
            return ground.config(launch, role, chosen).value(name)
        except Fork as fork:
            chosen[fork.library] = fork.candidates[-1]


def written_at(changes: Iterable[Change]) -> list[Span]:
    """Give the places that hold the texts of changes, once all of them are made."""
    found: list[Span] = []
    before: list[Change] = []
    for change in sorted(changes, key=lambda c: c.span):
        span = change.span
        same_file = [c for c in before if c.span.path == span.path]
        down = sum(c.text.count("\n") for c in same_file)
        right = sum(len(c.text) - c.span.end_column + c.span.column for c in same_file if c.span.line == span.line)
        line, column, more = span.line + down, span.column + right, change.text.count("\n")
        end = len(change.text) - change.text.rfind("\n") if more else column + len(change.text)
        found.append(Span(span.path, line, column, line + more, end))
        before.append(change)
    return found


def _meet(one: Span, other: Span) -> bool:
    return (
        one.path == other.path
        and (one.line, one.column) <= (other.end_line, other.end_column)
        and (other.line, other.column) <= (one.end_line, one.end_column)
    )


def _stem(launch: Launch) -> str:
    """Give a launch's identity without the turn of a loop, which a fault can change."""
    return launch.identity.split(" [")[0]


def targets(root: Path) -> list[Target]:
    """Give every role of every launch of a checkout, one variant each."""
    views, _ = inspect([str(root)], Options(cwd=root, cache=False))
    seen: dict[str, LaunchView] = {}
    for view in views:
        seen.setdefault(f"{view.launch.identity} {view.launch.framework}", view)
    trained = [view for view in seen.values() if view.launch.entry not in NOT_TRAINING]
    return [Target(view.launch, role) for view in trained for role in view.roles]


def mirror(root: Path, folder: Path) -> Path:
    """Make a hard-linked copy of a checkout, links and special files left out."""
    copy = folder / root.name
    shutil.copytree(root, copy, copy_function=os.link, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    return copy


def try_fault(checkout: Checkout, target: Target, fault: Fault) -> Outcome:
    """Put a fault into a launch of the copy, judge before and after, and put the files back."""
    changes = edits(checkout.root, target, fault)
    before = checkout.judge(target, fault.pins, fault.world)
    originals = _apply(checkout.root, changes)
    try:
        _check_python(checkout.root, originals)
        _check_yaml(checkout.root, originals)
        hindrance = checkout.hindrance(target, fault, written_at(changes))
        if hindrance:
            raise Unfit(hindrance)
        after = checkout.judge(target, fault.pins, fault.world)
    finally:
        for path, text in originals.items():
            _write(checkout.root / path, text)
    fresh = after.codes - before.codes
    caught = any(rule.code in fresh and fault.code in (rule.code, *rule.supersedes) for rule in rules())
    stopped = "" if caught else after.stopped.get(fault.code, "")
    return Outcome(fault.code not in before.codes, caught, stopped, tuple(sorted(after.codes)))


def _check_python(root: Path, paths: Iterable[str]) -> None:
    """Raise Unfit where an edit broke a program: a flag beside a bare number, say."""
    for path in paths:
        if path.endswith(".py"):
            try:
                ast.parse((root / path).read_text(encoding="utf-8"))
            except SyntaxError:
                raise Unfit("the place is no part of an option string") from None


def _check_yaml(root: Path, originals: Mapping[str, str]) -> None:
    """Raise Unfit where an edit writes a key that its mapping has already."""
    for path, text in originals.items():
        if path.endswith((".yaml", ".yml")):
            after = (root / path).read_text(encoding="utf-8")
            if _repeated(yaml.compose(after)) > _repeated(yaml.compose(text)):
                raise Unfit("the mapping has the key already")


def _repeated(node: yaml.Node | None) -> int:
    """Count the keys that a mapping, or one inside it, holds again."""
    if isinstance(node, yaml.SequenceNode):
        return sum(map(_repeated, node.value))
    if not isinstance(node, yaml.MappingNode):
        return 0
    keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
    return len(keys) - len(set(keys)) + sum(_repeated(value) for _, value in node.value)


def edits(root: Path, target: Target, fault: Fault) -> list[Change]:
    """Give the edits that make a fault; raises Unfit where the launch cannot carry it."""
    for name in fault.absent:
        if target.value(name).is_set or target.value(name).is_unknown:
            raise Unfit(f"{name} is set already")
    changes, missing = [], {}
    for name, data in fault.settings.items():
        value = target.value(name)
        if not value.is_unknown and value.data == data and not _follows(value):
            continue
        if _replaceable(value):
            changes.append(_replace(root, target, value, data))
        else:
            missing[name] = data
    return changes + ([_insert(root, target, missing)] if missing else [])


def _follows(value: Value) -> bool:
    """Say whether a value follows from others, so that it changes with what else the fault writes."""
    return any(origin.kind is Kind.DERIVED for origin in value.origins)


def _replaceable(value: Value) -> bool:
    first = value.origins[0] if value.origins else None
    looked_up = any(origin.kind is Kind.TABLE for origin in value.origins)
    return (
        first is not None and first.kind is Kind.WRITTEN and first.span is not None and value.is_set and not looked_up
    )


def _replace(root: Path, target: Target, value: Value, data: Data) -> Change:
    origin = value.origins[0]
    assert origin.span is not None
    old = _slice(_text(root, origin.span.path), origin.span)
    if (
        old == ""
        or "\n" in old
        or isinstance(value.data, bool)
        or (isinstance(value.data, tuple) and len(value.data) > 1)
    ):
        raise Unfit("the place where it is written is not one plain word")
    head, equals, rest = old.rpartition("=")
    body = rest if equals else old
    quote = body[0] if body[:1] in "\"'" and body[-1:] == body[:1] else ""
    return Change(
        origin.span, f"{head}{equals}{quote}{rendered(target.launch, data, origin.span.path, bool(quote))}{quote}"
    )


def _insert(root: Path, target: Target, settings: Mapping[str, Data]) -> Change:
    use = next(_places(root, target), None)
    if use is None:
        raise Unfit("it writes no setting beside which another could stand")
    model = framework(target.launch.framework)
    ending = use.path.rsplit(".", 1)[-1]
    writer = WRITERS.get((ending, model.name))
    if writer is None:
        raise Unfit(f"no way to write a new setting in a .{ending} file of {model.title}")
    return writer(root, target, use, {key_of(model, target, name): data for name, data in settings.items()})


def _places(root: Path, target: Target) -> Iterator[Span]:
    """Give where a setting stands in its own form, the use of a variable before its assignment."""
    for anchor in map(target.value, ANCHORS):
        if not _replaceable(anchor):
            continue
        for origin in reversed(anchor.origins):
            if origin.span is not None and origin.kind is Kind.WRITTEN and _in_form(root, origin.span):
                yield origin.span


def _in_form(root: Path, span: Span) -> bool:
    """Say whether a place in a script is a word of options: `--flag value` or `a.b=value`, not a list of a loop."""
    if not span.path.endswith(".sh"):
        return True
    before = _text(root, span.path).split("\n")[span.end_line - 1][: span.end_column - 1]
    word = before.split()[-1] if before.split() else ""
    return "--" in before or ("=" in word and "." in word.split("=")[0])


def key_of(model: Framework, target: Target, name: str) -> str:
    """Give the plainest spelling of a field in a framework, the role's prefix put in; raises Unfit without one."""
    spelling = next((s for s in spellings(model, name) if s.convert is None), None)
    if spelling is None:
        raise Unfit(f"{model.title} has no {name}")
    role = next((r for r in model.roles(target.launch) if r.name == target.role.name), None)
    key = spelling.keys[0]
    return key.replace("{role}", role.prefix if role else "").replace("{parent}", role.parent if role else "")


def spellings(model: Framework, name: str) -> list[Spelling]:
    """Give the spellings of a field in a framework."""
    return [spelling for spelling in model.spellings if spelling.field == name]


def rendered(launch: Launch, data: Data, path: str, quoted: bool = False) -> str:
    """Write data as a file of the launch does: a literal of a Python config, or a word."""
    if path.endswith(".py") and launch.framework in PYTHON:
        plain = list(data) if isinstance(data, tuple) and len(data) != 1 else _single(data)
        return str(plain) if quoted else repr(plain)
    if isinstance(data, bool):
        return str(data).lower()
    if isinstance(data, tuple) and len(data) == 1:
        return str(data[0])
    if isinstance(data, tuple):
        flags = launch.framework in FLAGS
        return (" " if flags else ",").join(map(str, data)) if flags or quoted else f"[{','.join(map(str, data))}]"
    return str(data)


def _single(data: Data) -> Data:
    return data[0] if isinstance(data, tuple) else data


PYTHON = frozenset({"megatron-bridge", "nemo2"})
"""Frameworks whose Python files hold settings as literals, not as words of a command."""
FLAGS = frozenset({"megatron-lm", "slime", "ms-swift"})
"""Frameworks whose settings are flags."""


def _flag(root: Path, target: Target, use: Span, settings: Mapping[str, Data]) -> Change:
    """Write flags behind the word of another one."""
    return Change(_after_word(root, use), "".join(f" {_one_flag(target, *pair)}" for pair in settings.items()))


def _one_flag(target: Target, key: str, data: Data) -> str:
    swift = target.launch.framework == "ms-swift"
    name = key if swift else key.replace("_", "-")
    if data is True and not swift:
        return f"--{name}"
    if data is False and not swift:
        raise Unfit(f"--{name} cannot be switched off by a flag")
    return f"--{name} {_flag_value(target, key, data)}"


def _flag_value(target: Target, key: str, data: Data) -> str:
    return ",".join(map(str, data)) if key == "window_size" else rendered(target.launch, data, "")


def _dotlist(root: Path, target: Target, use: Span, settings: Mapping[str, Data]) -> Change:
    """Write `key=value` behind another one; `++` adds what is not there and overrides what is."""
    words = "".join(f" ++{key}={rendered(target.launch, data, use.path)}" for key, data in settings.items())
    return Change(_after_word(root, use), words)


def _functional(root: Path, target: Target, use: Span, settings: Mapping[str, Data]) -> Change:
    """Write flags on lines of their own behind another one's."""
    rows = (f"--{key.replace('_', '-')}: {_yaml_flag(target, key, data)}" for key, data in settings.items())
    return _lines_after(root, use, rows)


def _yaml_flag(target: Target, key: str, data: Data) -> str:
    text = _flag_value(target, key, data)
    return f'"{text}"' if key == "window_size" else text


SECTIONS = {"nemo-rl": "megatron_cfg.", "roll": "strategy_config.", "verl": ".megatron."}
"""The section of a framework's YAML that holds the parallel sizes."""


def _section(root: Path, target: Target, use: Span, settings: Mapping[str, Data]) -> Change:
    """Write keys of the section that holds the parallel sizes, and of its own sections, behind one of them."""
    plain: list[str] = []
    sections: dict[str, list[str]] = {}
    for key, data in settings.items():
        short = key.split(SECTIONS[target.launch.framework])[-1]
        if short == key:
            raise Unfit("the key does not stand beside the parallel sizes")
        section, _, name = short.rpartition(".")
        sections.setdefault(section, []).append(f"{name}: {rendered(target.launch, data, use.path)}")
    for section, entries in sections.items():
        plain += [f"{section}: {{{', '.join(entries)}}}"] if section else entries
    return _lines_after(root, use, plain)


def _recipe(root: Path, target: Target, use: Span, settings: Mapping[str, Data]) -> Change:
    """Write assignments behind the line of another one of the same config."""
    line = _text(root, use.path).split("\n")[use.line - 1]
    left, equals, right = line.partition(" = ")
    owner = left.strip().rpartition(".")[0]
    if not equals or not owner or right.count("(") != right.count(")"):
        raise Unfit("the neighbouring setting is no plain assignment")
    container = owner.removesuffix(".model") if owner.endswith(".model") else ""
    if not container and not all(key.startswith("model.") for key in settings):
        raise Unfit("the config's other sections are not at hand there")
    names = {f"{container}.{key}" if container else f"{owner}.{key.removeprefix('model.')}": key for key in settings}
    rows = (f"{name} = {rendered(target.launch, settings[key], use.path)}" for name, key in names.items())
    return _lines_after(root, use, rows)


WRITERS = {
    ("yaml", "megatron-lm"): _functional,
    ("yaml", "nemo-rl"): _section,
    ("yaml", "roll"): _section,
    ("yaml", "verl"): _section,
    ("py", "megatron-bridge"): _recipe,
    ("py", "slime"): _flag,
    ("sh", "megatron-lm"): _flag,
    ("sh", "slime"): _flag,
    ("sh", "ms-swift"): _flag,
    ("sh", "verl"): _dotlist,
    ("sh", "nemo-rl"): _dotlist,
    ("sh", "megatron-bridge"): _dotlist,
}
"""How a new setting is written, by the kind of the file and the framework."""


def _lines_after(root: Path, span: Span, rows: Iterable[str]) -> Change:
    line = _text(root, span.path).split("\n")[span.line - 1]
    indent = line[: len(line) - len(line.lstrip())]
    end = len(line) + 1
    return Change(Span(span.path, span.line, end, span.line, end), "".join(f"\n{indent}{row}" for row in rows))


def _after_word(root: Path, span: Span) -> Span:
    """Give the empty place behind the word in which a span ends; inside a string of options, before its quote."""
    line = _text(root, span.path).split("\n")[span.end_line - 1]
    inside = _in_options(line, span.end_column - 1)
    column = span.end_column - 1
    while column < len(line) and not line[column].isspace() and line[column] not in (")\\\"'" if inside else ")\\"):
        column += 1
    return Span(span.path, span.end_line, column + 1, span.end_line, column + 1)


def _in_options(line: str, column: int) -> bool:
    """Say whether a place lies inside a quoted string of several words."""
    quote = line[:column].rfind('"')
    if quote < 0 or line[:column].count('"') % 2 == 0:
        return False
    end = line.find('"', column)
    return " " in line[quote : end if end >= 0 else len(line)].strip()


def _apply(root: Path, changes: Iterable[Change]) -> dict[str, str]:
    """Write changes, last place first; give the texts as they were."""
    originals: dict[str, str] = {}
    for change in sorted(changes, key=lambda c: c.span, reverse=True):
        file = root / change.span.path
        if not file.is_file() or root not in file.resolve().parents:
            raise Unfit("it is written outside the checkout")
        originals.setdefault(change.span.path, file.read_text(encoding="utf-8"))
        _write(file, _spliced(file.read_text(encoding="utf-8"), change))
    return originals


def _spliced(text: str, change: Change) -> str:
    lines = text.split("\n")
    span = change.span
    head = "\n".join([*lines[: span.line - 1], lines[span.line - 1][: span.column - 1]])
    tail = "\n".join([lines[span.end_line - 1][span.end_column - 1 :], *lines[span.end_line :]])
    return head + change.text + tail


def _write(file: Path, text: str) -> None:
    """Write a file anew: the linked original keeps its own text."""
    file.unlink()
    file.write_text(text, encoding="utf-8")


def _text(root: Path, path: str) -> str:
    file = root / path
    if not file.is_file():
        raise Unfit(f"{path} is not in the checkout")
    return file.read_text(encoding="utf-8").replace("\r\n", "\n")


def _slice(text: str, span: Span) -> str:
    lines = text.split("\n")
    if span.line != span.end_line or span.line > len(lines):
        return ""
    return lines[span.line - 1][span.column - 1 : span.end_column - 1]
