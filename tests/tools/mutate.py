"""Puts one fault into a real launch, by editing the place where the setting counts, and says what meshlint finds.

Works on a hard-linked copy of a checkout in a temporary folder; the checkout itself is never written. A fault is a few
settings: a field that the launch writes is replaced where it is written, one that it does not write is added beside
another setting of the same launch, in the form of its surface.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from meshlint.config.framework import Framework, Spelling
from meshlint.config.launch import Launch
from meshlint.config.registry import framework
from meshlint.config.value import Data, Kind, Origin, Value
from meshlint.engine.inspect import LaunchView, RoleView, inspect
from meshlint.engine.options import Options
from meshlint.engine.run import check
from meshlint.place import Span

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


class Unfit(Exception):  # noqa: N818 - the launch cannot carry the fault
    """A fault cannot be put into a launch; the sentence says why."""


@dataclass(frozen=True)
class Fault:
    """What makes a rule fire: the settings to write, those that must not be there, and the versions it holds on."""

    code: str
    settings: Mapping[str, Data]
    absent: tuple[str, ...] = ()
    pins: Mapping[str, str] = field(default_factory=dict)


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
class Outcome:
    """What became of a fault: whether the rule was silent before and fired after."""

    silent: bool
    caught: bool
    found: tuple[str, ...]


def targets(root: Path) -> list[Target]:
    """Give every role of every launch of a checkout, one variant each."""
    views, _ = inspect([str(root)], Options(cwd=root, cache=False))
    seen: dict[str, LaunchView] = {}
    for view in views:
        seen.setdefault(f"{view.launch.identity} {view.launch.framework}", view)
    return [Target(view.launch, role) for view in seen.values() for role in view.roles]


def mirror(root: Path, folder: Path) -> Path:
    """Make a hard-linked copy of a checkout, links and special files left out."""
    copy = folder / root.name
    shutil.copytree(root, copy, copy_function=os.link, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    return copy


def try_fault(copy: Path, target: Target, fault: Fault) -> Outcome:
    """Put a fault into a launch of the copy, judge before and after, and put the files back."""
    changes = list(edits(copy, target, fault))
    options = Options(cwd=copy, pins=dict(fault.pins), cache=False)
    before = findings(target, options)
    originals = _apply(copy, changes)
    try:
        after = findings(target, options)
    finally:
        for path, text in originals.items():
            _write(copy / path, text)
    return Outcome(fault.code not in before, fault.code in after, after)


def findings(target: Target, options: Options) -> tuple[str, ...]:
    """Give the codes that are found in a launch."""
    report = check([str(options.cwd / target.launch.place.path)], options)
    ours = {target.launch.identity}
    return tuple(sorted({f.code for f in report.findings if ours & {ref.identity for ref in f.launches}}))


def edits(root: Path, target: Target, fault: Fault) -> Iterator[Change]:
    """Give the edits that make a fault; raises Unfit where the launch cannot carry it."""
    for name in fault.absent:
        if target.value(name).data is not None or target.value(name).is_unknown:
            raise Unfit(f"{name} is set already")
    for name, data in fault.settings.items():
        value = target.value(name)
        if not value.is_unknown and value.data == data:
            continue
        yield _replace(root, target, value, data) if _replaceable(value) else _insert(root, target, name, data)


def _replaceable(value: Value) -> bool:
    first = value.origins[0] if value.origins else None
    return first is not None and first.kind is Kind.WRITTEN and first.span is not None and value.is_set


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
    return Change(origin.span, f"{head}{equals}{quote}{rendered(target.launch, data, quoted=bool(quote))}{quote}")


def _insert(root: Path, target: Target, name: str, data: Data) -> Change:
    anchor = next((a for a in map(target.value, ANCHORS) if _replaceable(a)), None)
    if anchor is None:
        raise Unfit("it writes no setting beside which another could stand")
    use = [o for o in anchor.origins if o.span is not None and o.kind is Kind.WRITTEN][-1]
    model = framework(target.launch.framework)
    writer = WRITERS.get((target.launch.surface, model.name)) or WRITERS.get((target.launch.surface, ""))
    if writer is None:
        raise Unfit(f"no way to write a new setting in {target.launch.surface} of {model.name}")
    key = key_of(model, target, name)
    return writer(root, target, use, key, data)


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


def rendered(launch: Launch, data: Data, quoted: bool = False) -> str:
    """Write data as the launch's surface does."""
    if launch.surface in PYTHON:
        return (
            str(data) if quoted else repr(list(data) if isinstance(data, tuple) and len(data) != 1 else _single(data))
        )
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


PYTHON = frozenset({"bridge-recipe"})
FLAGS = frozenset({"megatron-lm", "slime", "ms-swift"})
"""Frameworks whose settings are flags."""


def _flag(root: Path, target: Target, use: Origin, key: str, data: Data) -> Change:
    """Write a flag behind the word of another one."""
    assert use.span is not None
    underscores = target.launch.framework == "ms-swift"
    name = key if underscores else key.replace("_", "-")
    words = f" --{name}" if data is True and not underscores else f" --{name} {_flag_value(target, key, data)}"
    return Change(_after_word(root, use.span), words)


def _flag_value(target: Target, key: str, data: Data) -> str:
    if key == "window_size":
        return ",".join(map(str, data))
    return rendered(target.launch, data)


def _dotlist(root: Path, target: Target, use: Origin, key: str, data: Data) -> Change:
    """Write `key=value` behind another one; `++` adds what is not there and overrides what is."""
    assert use.span is not None
    return Change(_after_word(root, use.span), f" ++{key}={rendered(target.launch, data)}")


def _functional(root: Path, target: Target, use: Origin, key: str, data: Data) -> Change:
    """Write a flag of its own line behind another one's."""
    assert use.span is not None
    value = f'"{",".join(map(str, data))}"' if key == "window_size" else rendered(target.launch, data)
    return _line_after(root, use.span, f"--{key.replace('_', '-')}: {value}")


def _nemo_rl(root: Path, target: Target, use: Origin, key: str, data: Data) -> Change:
    """Write a key of `megatron_cfg`, or of its `model_overrides`, behind another of `megatron_cfg`."""
    assert use.span is not None
    short = key.split("megatron_cfg.")[-1]
    if short == key:
        raise Unfit("the key does not stand beside the parallel sizes")
    section, dot, name = short.rpartition(".")
    value = rendered(target.launch, data)
    return _line_after(root, use.span, f"{section}: {{{name}: {value}}}" if dot else f"{name}: {value}")


def _recipe(root: Path, target: Target, use: Origin, key: str, data: Data) -> Change:
    """Write an assignment behind the line of another one of the same config."""
    assert use.span is not None
    line = _text(root, use.span.path).split("\n")[use.span.line - 1]
    left, equals, right = line.partition(" = ")
    variable = left.strip().split(".")[0]
    if not equals or "." not in left or right.count("(") != right.count(")"):
        raise Unfit("the neighbouring setting is no plain assignment")
    return _line_after(root, use.span, f"{variable}.{key} = {rendered(target.launch, data)}")


WRITERS = {
    ("functional-test", ""): _functional,
    ("nemo-rl-yaml", ""): _nemo_rl,
    ("bridge-recipe", ""): _recipe,
    ("shell", "megatron-lm"): _flag,
    ("shell", "slime"): _flag,
    ("shell", "ms-swift"): _flag,
    ("slime-launcher", "slime"): _flag,
    ("shell", "verl"): _dotlist,
    ("shell", "nemo-rl"): _dotlist,
    ("shell", "megatron-bridge"): _dotlist,
}
"""How a new setting is written, by surface and framework."""


def _line_after(root: Path, span: Span, text: str) -> Change:
    lines = _text(root, span.path).split("\n")
    line = lines[span.line - 1]
    indent = line[: len(line) - len(line.lstrip())]
    end = len(line) + 1
    return Change(Span(span.path, span.line, end, span.line, end), f"\n{indent}{text}")


def _after_word(root: Path, span: Span) -> Span:
    """Give the empty place behind the word in which a span ends."""
    line = _text(root, span.path).split("\n")[span.end_line - 1]
    column = span.end_column - 1
    while column < len(line) and not line[column].isspace() and line[column] not in ")\\":
        column += 1
    if (
        line[column - 1 : column] == '"'
        and line[:column].count('"') % 2 == 0
        and line[span.end_column - 1 : column] == '"'
    ):
        column -= 1 if line[: span.column - 1].rstrip().endswith("=") is False and _in_string(line, span) else 0
    return Span(span.path, span.end_line, column + 1, span.end_line, column + 1)


def _in_string(line: str, span: Span) -> bool:
    """Say whether a span lies inside a quoted string of several words."""
    before = line[: span.column - 1]
    return before.count('"') % 2 == 1 and " " in before[before.rfind('"') :]


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
