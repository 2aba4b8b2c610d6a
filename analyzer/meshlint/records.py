"""The records that all rooms are made of: dataclasses that are cheap to declare and to build.

`dataclass` here is the standard one to a type checker, `frozen=True` included: nothing assigns to a frozen record, and
mypy holds that. At run time the standard decorator writes and compiles six methods a class, which for a hundred classes
is a good part of the time that a check of one file takes, and a frozen `__init__` is four times slower than a plain
one. So here the standard decorator makes the slots; `__init__` is written when the first record of a class is made,
since of most classes a run makes none; and the rest is shared.
"""

from __future__ import annotations

import dataclasses
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        cls: type | None = None, /, *, frozen: bool = False, slots: bool = False, eq: bool = True, order: bool = False
    ) -> Any:
        """Declare a record; the arguments mean what they mean to `dataclasses.dataclass`."""
        if cls is None:
            return lambda made: dataclass(made, frozen=frozen, slots=slots, eq=eq, order=order)
        own = set(cls.__dict__)
        native = "__mypyc_attrs__" in own  # compiled: its fields are slots already
        if order:
            return dataclasses.dataclass(cls, frozen=frozen, slots=slots and not native, eq=eq, order=order)
        if native:
            made = dataclasses.dataclass(cls, init="__init__" not in own, repr=False, eq=False)
            made.__reduce__ = _reduced
        else:
            made = dataclasses.dataclass(cls, init=False, repr=False, eq=False, slots=slots)
            if "__init__" not in own:
                made.__init__ = _writing(made)
        if "__repr__" not in own:
            made.__repr__ = _repr
        if eq and "__eq__" not in own:
            _compare_by_fields(made, frozen, own)
        return made


def _writing(made: Any) -> Callable[..., None]:
    """Give an `__init__` that puts the written one in its place, and hands on to it."""

    def first(self: Any, *args: Any, **kwargs: Any) -> None:
        if made.__init__ is first:
            made.__init__ = _written(made)
        made.__init__(self, *args, **kwargs)

    return first


def _written(made: Any) -> Any:
    """Write the `__init__` of a record: a parameter for each field, in order, and `__post_init__` at the end."""
    names: dict[str, Any] = {"_MISSING": dataclasses.MISSING}
    given, body = [], []
    for each in dataclasses.fields(made):
        name, value = each.name, each.name
        if each.default_factory is not dataclasses.MISSING:
            names[f"_make_{name}"] = each.default_factory
            value = f"_make_{name}() if {name} is _MISSING else {name}" if each.init else f"_make_{name}()"
            given += [f"{name}=_MISSING"] if each.init else []
        elif each.default is not dataclasses.MISSING:
            names[f"_default_{name}"] = each.default
            value = name if each.init else f"_default_{name}"
            given += [f"{name}=_default_{name}"] if each.init else []
        elif each.init:
            given.append(name)
        else:
            continue
        body.append(f" self.{name} = {value}")
    body += [" self.__post_init__()"] if hasattr(made, "__post_init__") else []
    exec(f"def __init__({', '.join(['self', *given])}):\n" + "\n".join(body or [" pass"]), names)
    names["__init__"].__qualname__ = f"{made.__qualname__}.__init__"
    return names["__init__"]


def _compare_by_fields(made: Any, frozen: bool, own: set[str]) -> None:
    key = _key([each for each in dataclasses.fields(made) if each.compare])

    def equal(self: Any, other: object) -> Any:
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    made.__eq__ = equal
    if "__hash__" in own:
        return
    if not frozen:
        made.__hash__ = None
        return
    hashed = _key([each for each in dataclasses.fields(made) if (each.compare if each.hash is None else each.hash)])
    made.__hash__ = lambda self: hash(hashed(self))


def _reduced(self: Any) -> tuple[Any, ...]:
    """Take a compiled record apart, for pickle and copy; they know what an interpreted one is made of."""
    fields = dataclasses.fields(self)
    given = {each.name: getattr(self, each.name) for each in fields if each.init}
    return _again, (type(self), given, {each.name: getattr(self, each.name) for each in fields if not each.init})


def _again(kind: Any, given: dict[str, Any], rest: dict[str, Any]) -> Any:
    made = kind(**given)
    for name, value in rest.items():
        setattr(made, name, value)
    return made


def _key(fields: list[dataclasses.Field[Any]]) -> Callable[[Any], Any]:
    return attrgetter(*(each.name for each in fields)) if fields else lambda record: ()


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"
