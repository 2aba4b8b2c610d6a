"""OmegaConf's interpolations: `${a.b}`, `${.x}`, `${oc.select:a.b,1}`, `${oc.env:X,1}` and pure arithmetic.

An interpolated value's first origin is the place to edit, where the referred key is written; the place of the
reference follows. What calls a custom resolver, or reads what is not there, is unknown with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field as dataclass_field
from functools import lru_cache

from meshlint.config.hydra.grammar import NotParsed, scalar
from meshlint.config.hydra.items import MISSING, Item, Leaf, Listing, Section, child, listing, merge, section
from meshlint.config.value import EMPTY, Data, Origin, State, Value, unknown
from meshlint.records import dataclass

MAX_DEPTH = 40
MAX_STEPS = 200_000
MAX_TEXT = 10_000
"""Characters of an interpolated string; a longer one is no setting of a launch."""

Path = tuple[str, ...]
Number = int | float


def _binary(name: str, function: Callable[[Number, Number], Number]) -> tuple[str, Callable[..., Number]]:
    return name, function


ARITHMETIC: Mapping[str, Callable[..., Number]] = dict(
    [
        _binary("add", lambda a, b: a + b),
        _binary("sub", lambda a, b: a - b),
        _binary("mul", lambda a, b: a * b),
        _binary("div", lambda a, b: a / b),
        _binary("max", max),
        _binary("min", min),
    ]
)
"""Resolvers that frameworks register and that only compute (NeMo-RL v0.4 nemo_rl/utils/config.py:195-204)."""


@dataclass(frozen=True, slots=True)
class Reference:
    """`${a.b}`: `dots` leading dots, then keys, each a text or a template."""

    dots: int
    keys: tuple[Template, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """`${name:arg,...}`."""

    name: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: a template; `typed` where it stands unquoted and may be a number, a truth value or null.

    `kind` is `[` or `{` for a list or map, whose text is not read further than being empty or not.
    """

    template: Template
    typed: bool = True
    kind: str = ""


Template = tuple["str | Reference | Call", ...]


@lru_cache(maxsize=4096)
def parse_template(text: str) -> Template:
    """Split text into literal parts and interpolations; raises NotParsed where OmegaConf's grammar would."""
    return _Parser(text).template(until="", depth=0)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    def template(self, until: str, depth: int) -> Template:
        """Read up to one of the characters of `until`, or to the end."""
        if depth > MAX_DEPTH:
            raise NotParsed(f"its interpolations are nested deeper than {MAX_DEPTH} levels")
        parts: list[str | Reference | Call] = []
        literal: list[str] = []
        while self.place < len(self.text):
            char = self.text[self.place]
            if char == "\\" and self.text.startswith("\\${", self.place):
                literal.append("${")
                self.place += 3
            elif self.text.startswith("${", self.place):
                if literal:
                    parts.append("".join(literal))
                    literal = []
                parts.append(self._interpolation(depth))
            elif char in until and until:
                break
            else:
                literal.append(char)
                self.place += 1
        if literal:
            parts.append("".join(literal))
        return tuple(parts)

    def _interpolation(self, depth: int) -> Reference | Call:
        self.place += 2
        self._blank()
        name = self._resolver()
        found = Call(name, self._arguments(depth)) if name else self._reference(depth)
        self._blank()
        if self.text[self.place : self.place + 1] != "}":
            raise NotParsed("its interpolation is not closed")
        self.place += 1
        return found

    def _blank(self) -> None:
        while self.text[self.place : self.place + 1] in (" ", "\t") and self.place < len(self.text):
            self.place += 1

    def _resolver(self) -> str:
        end = self.place
        while end < len(self.text) and (self.text[end].isalnum() or self.text[end] in "_.-"):
            end += 1
        if end == self.place or self.text[end : end + 1] != ":":
            return ""
        name, self.place = self.text[self.place : end], end + 1
        return name

    def _reference(self, depth: int) -> Reference:
        dots = 0
        while self.text[self.place : self.place + 1] == ".":
            dots += 1
            self.place += 1
        keys: list[Template] = []
        while self.place < len(self.text) and self.text[self.place] not in " }":
            char = self.text[self.place]
            if char == "[":
                self.place += 1
                keys.append(self.template("]", depth + 1))
                self.place += 1
            elif char == ".":
                self.place += 1
            elif char in ":{(,":
                raise NotParsed(f"OmegaConf cannot read `{char}` in a reference")
            else:
                keys.append(self.template(".[}: ", depth + 1))
        return Reference(dots, tuple(keys))

    def _arguments(self, depth: int) -> tuple[Argument, ...]:
        arguments: list[Argument] = []
        self._blank()
        while self.place < len(self.text) and self.text[self.place] != "}":
            arguments.append(self._argument(depth + 1))
            self._blank()
            if self.text[self.place : self.place + 1] == ",":
                self.place += 1
                self._blank()
        return tuple(arguments)

    def _argument(self, depth: int) -> Argument:
        char = self.text[self.place]
        if char in "'\"":
            self.place += 1
            found = self.template(char, depth)
            if self.text[self.place : self.place + 1] != char:
                raise NotParsed("its quote is not closed")
            self.place += 1
            return Argument(found, typed=False)
        if char in "[{":
            start = self.place
            self._bracketed()
            return Argument((self.text[start + 1 : self.place - 1].strip(),), typed=False, kind=char)
        found = self.template(",}", depth)
        last = found[-1] if found else ""
        return Argument((*found[:-1], last.rstrip(" \t")) if isinstance(last, str) else found)

    def _bracketed(self) -> None:
        """Go past a list or a map; quotes inside hide brackets."""
        level, quote = 0, ""
        while self.place < len(self.text):
            char = self.text[self.place]
            self.place += 1
            if quote:
                quote = "" if char == quote else quote
            elif char in "'\"":
                quote = char
            elif char in "[{":
                level += 1
            elif char in "]}":
                level -= 1
                if level == 0:
                    return
        raise NotParsed("its bracket is not closed")


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What stands somewhere, references followed, and the path where it really lies (for relative references)."""

    item: Item
    path: Path


class Unresolved(Exception):  # noqa: N818 - the third truth value
    """An interpolation that cannot be known; the message is the reason, `origins` where it comes from."""

    def __init__(self, reason: str, origins: tuple[Origin, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.origins = origins


@dataclass(slots=True)
class Resolver:
    """Follows the interpolations of one merged tree. `incomplete` is the reason why keys may be missing in it."""

    root: Section
    environment: Mapping[str, Value] = dataclass_field(default_factory=lambda: EMPTY)
    functions: Mapping[str, Callable[..., Number]] = dataclass_field(default_factory=lambda: ARITHMETIC)
    incomplete: str = ""
    _known: dict[int, Found] = dataclass_field(default_factory=dict)
    _busy: list[int] = dataclass_field(default_factory=list)
    _steps: int = 0

    def resolve(self, item: Item, path: Path) -> Found:
        """Give what an item at a path is once its interpolation, if it is one, is followed; never raises."""
        if not isinstance(item, Leaf) or item.template is None:
            return Found(item, path)
        key = id(item) if not self._relative(item) else hash((id(item), path))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._resolved(item, path, key)
        return known

    def _relative(self, item: Leaf) -> bool:
        return "${." in str(item.value.data) or ":." in str(item.value.data)

    def _resolved(self, item: Leaf, path: Path, key: int) -> Found:
        if key in self._busy:
            return Found(Leaf(unknown("its interpolation leads back to itself", *item.value.origins)), path)
        if len(self._busy) > MAX_DEPTH:
            reason = f"its interpolation goes through more than {MAX_DEPTH} others"
            return Found(Leaf(unknown(reason, *item.value.origins)), path)
        self._busy.append(key)
        try:
            return self._template(parse_template(str(item.value.data)), item.value, path)
        except NotParsed as problem:
            return Found(Leaf(unknown(str(problem), *item.value.origins), item.order), path)
        except Unresolved as problem:
            return Found(Leaf(unknown(problem.reason, *problem.origins, *item.value.origins), item.order), path)
        finally:
            self._busy.pop()

    def _template(self, template: Template, own: Value, path: Path) -> Found:
        if len(template) == 1 and not isinstance(template[0], str):
            found = self._part(template[0], path)
            if not isinstance(found.item, Leaf) and path[: len(found.path)] == found.path:
                raise Unresolved("its interpolation leads back to the section around it")
            return self._behind(found, own)
        return Found(Leaf(self._joined(template, own, path)), path)

    def _behind(self, found: Found, own: Value) -> Found:
        item = found.item
        if isinstance(item, Leaf):
            state = item.value.state
            if state is State.UNSET and own.state is State.SET:
                state = State.SET
            origins = item.value.origins + own.origins
            return Found(Leaf(Value(state, item.value.data, origins, item.value.reason)), found.path)
        return Found(behind(item, own.origins), found.path)

    def _joined(self, template: Template, own: Value, path: Path) -> Value:
        """Give a string made of several parts."""
        texts: list[str] = []
        origins: list[Origin] = []
        state = own.state
        for part in template:
            if isinstance(part, str):
                texts.append(part)
                continue
            value = self._scalar(self._part(part, path))
            texts.append(str(value.data))
            origins += value.origins
            state = State.SET if value.is_set else state
        text = "".join(texts)
        if len(text) > MAX_TEXT:
            raise Unresolved(f"its interpolation gives more than {MAX_TEXT:,} characters")
        return Value(state, text, (*origins, *own.origins))

    def _scalar(self, found: Found) -> Value:
        if not isinstance(found.item, Leaf):
            raise Unresolved("its interpolation puts a list or a section into a text")
        if found.item.value.is_unknown:
            raise Unresolved(found.item.value.reason, found.item.value.origins)
        return found.item.value

    def _part(self, part: Reference | Call, path: Path) -> Found:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise Unresolved("the file holds too many interpolations")
        if isinstance(part, Reference):
            keys = tuple(self._text(key, path) for key in part.keys)
            found = self.select(self._base(part.dots, path), keys)
            if found is None:
                shown = "." * part.dots + ".".join(keys)
                raise Unresolved(self.incomplete or f"`${{{shown}}}` refers to a key that nothing sets")
            return found
        return self._call(part, path)

    def _base(self, dots: int, path: Path) -> Path:
        if dots == 0:
            return ()
        if dots > len(path):
            raise Unresolved("its reference goes above the top of the config")
        return path[: len(path) - dots]

    def _text(self, template: Template, path: Path) -> str:
        parts = []
        for part in template:
            value = part if isinstance(part, str) else self._scalar(self._part(part, path)).data
            parts.append(str(value))
        return "".join(parts)

    def select(self, base: Path, keys: Sequence[str]) -> Found | None:
        """Give what stands at `keys` below `base`, references on the way followed; None where nothing does."""
        path: Path = ()
        here: Item | None = self.root
        for name in (*base, *keys):
            if isinstance(here, Leaf) and here.value.is_unknown:
                raise Unresolved(here.value.reason, here.value.origins)
            if isinstance(here, Listing) and not name.isdecimal():
                raise Unresolved(f"`{name}` is no place in a list")
            here = child(here, name)
            if here is None:
                return None
            found = self.resolve(here, (*path, name))
            here, path = found.item, found.path
        if here is None or (isinstance(here, Leaf) and here.value.data == MISSING):
            return None
        return Found(here, path)

    def _call(self, call: Call, path: Path) -> Found:
        if call.name == "oc.select":
            return self._select(call, path)
        if call.name == "oc.env":
            return Found(Leaf(self._env(call, path)), path)
        if call.name in self.functions:
            return Found(Leaf(self._computed(call, path)), path)
        raise Unresolved(f"`${{{call.name}:...}}` is a resolver that meshlint does not run")

    def _select(self, call: Call, path: Path) -> Found:
        if not call.arguments:
            raise Unresolved("`oc.select` names no key")
        key = self._text(call.arguments[0].template, path).strip()
        dots = len(key) - len(key.lstrip("."))
        found = self.select(self._base(dots, path), [p for p in key.lstrip(".").split(".") if p])
        if found is not None:
            return found
        if self.incomplete:
            raise Unresolved(self.incomplete)
        if len(call.arguments) < 2:
            return Found(Leaf(Value(State.SET, None)), path)
        return self._value(call.arguments[1], path)

    def _env(self, call: Call, path: Path) -> Value:
        if not call.arguments:
            raise Unresolved("`oc.env` names no variable")
        name = self._text(call.arguments[0].template, path).strip()
        given = self.environment.get(name)
        if given is not None:
            if given.is_unknown:
                raise Unresolved(given.reason, given.origins)
            return given
        if len(call.arguments) < 2:
            raise Unresolved(f"the environment variable {name} is not known")
        fallback = self._scalar(self._value(call.arguments[1], path))
        text = None if fallback.data is None else str(fallback.data)
        return Value(State.SET, text, fallback.origins)

    def _computed(self, call: Call, path: Path) -> Value:
        values = [self._scalar(self._value(argument, path)) for argument in call.arguments]
        numbers = [v.data for v in values]
        if not all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers):
            raise Unresolved(f"`{call.name}` is given something that is no number")
        try:
            result = self.functions[call.name](*numbers)
        except (ArithmeticError, TypeError, ValueError):
            raise Unresolved(f"`{call.name}` cannot be computed from {', '.join(map(str, numbers))}") from None
        if isinstance(result, int) and result.bit_length() > 64:
            raise Unresolved(f"`{call.name}` gives a number beyond any setting")
        state = State.SET if any(v.is_set for v in values) else State.UNSET
        return Value(state, result, tuple(o for v in values for o in v.origins))

    def _value(self, argument: Argument, path: Path) -> Found:
        if argument.kind:
            if argument.template != ("",):
                raise Unresolved("its interpolation holds a list or map that meshlint does not read")
            empty = Value(State.UNSET, ())
            return Found(Section() if argument.kind == "{" else listing((), empty), path)
        template = argument.template
        if argument.typed and len(template) == 1 and not isinstance(template[0], str):
            return self._part(template[0], path)
        text = self._text(template, path)
        data: Data = scalar(text) if argument.typed and all(isinstance(p, str) for p in template) else text
        return Found(Leaf(Value(State.UNSET, data)), path)


def behind(item: Item, origins: tuple[Origin, ...]) -> Item:
    """Put further origins behind every value below an item."""
    if isinstance(item, Leaf):
        return Leaf(item.value.because(*origins), item.order, item.earlier)
    if isinstance(item, Listing):
        return Listing(item.items, item.value.because(*origins), item.order, item.earlier, item.plain)
    return section({name: behind(below, origins) for name, below in item.entries.items()}, item.origin, item.order)


def merged(base: Section, over: Section) -> Section:
    """Merge one config over another, references in the base followed where a section meets one."""
    return merge(base, over, lambda top, leaf, path: Resolver(top).resolve(leaf, path).item)
