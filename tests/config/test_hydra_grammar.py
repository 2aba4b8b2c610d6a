"""The override grammar, by itself and beside hydra-core's own parser."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshlint.config.hydra.grammar import Action, Mapped, NotParsed, Override, parse_override


@pytest.mark.parametrize(
    ("text", "action", "key", "value"),
    [
        ("a.b=4", Action.CHANGE, "a.b", 4),
        ("+a.b=x", Action.ADD, "a.b", "x"),
        ("++a=1.5", Action.FORCE, "a", 1.5),
        ("~a.b", Action.DELETE, "a.b", None),
        ("a=", Action.CHANGE, "a", ""),
        ("a=null", Action.CHANGE, "a", None),
        ("a=True", Action.CHANGE, "a", True),
        ("a='a b, c'", Action.CHANGE, "a", "a b, c"),
        ('a="4"', Action.CHANGE, "a", "4"),
        ("a=[1,'x',[y]]", Action.CHANGE, "a", (1, "x", ("y",))),
        ("a={b:1,c:{d:e}}", Action.CHANGE, "a", Mapped((("b", 1), ("c", Mapped((("d", "e"),)))))),
        ("a=${b.c}", Action.CHANGE, "a", "${b.c}"),
        ("a=/x/y-z:1", Action.CHANGE, "a", "/x/y-z:1"),
        ("a=a\\,b", Action.CHANGE, "a", "a,b"),
        ("a=a2a+p2p", Action.CHANGE, "a", "a2a+p2p"),
        ("actor/x=y", Action.CHANGE, "actor/x", "y"),
    ],
)
def test_what_people_write(text: str, action: Action, key: str, value: object) -> None:
    override = parse_override(text)
    assert (override.action, override.key, override.value, override.reason) == (action, key, value, "")


def test_a_group_has_a_package() -> None:
    override = parse_override("optim@actor.optim=adam")
    assert (override.key, override.package, override.group_key) == ("optim", "actor.optim", "optim@actor.optim")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a=1,2", "sweep"),
        ("a=range(1,5)", "function"),
        ("a=choice(a,b)", "function"),
        ("a=b=c", "`=`"),
        ("a=~/data", "`~`"),
        ("a='open", "quote"),
        ("a=${open", "interpolation"),
        ("a={'q':1}", "quoted keys"),
        ("a=[1", "missing"),
        ("a=" + "[" * 200, "deeper"),
    ],
)
def test_the_rest_is_unknown_with_the_reason(text: str, reason: str) -> None:
    override = parse_override(text)
    assert override.key == "a"
    assert reason in override.reason


@pytest.mark.parametrize("text", ["a", "=1", "--flag=1", "a b=1", "a[0]=1", "1a=2", "a..b=1", "a/=1", ""])
def test_what_has_no_key_is_no_override(text: str) -> None:
    with pytest.raises(NotParsed):
        parse_override(text)


# Beside the real one ------------------------------------------------------------------------------------------------


def plain(value: Any) -> object:
    """Give hydra's value in our form."""
    if type(value).__name__ == "QuotedString":
        return value.text
    if isinstance(value, list):
        return tuple(plain(v) for v in value)
    if isinstance(value, dict):
        return Mapped(tuple((str(k), plain(v)) for k, v in value.items()))
    return value


def real(text: str) -> object:
    """Give what hydra-core reads: action, key, package and value; a word where it refuses or sweeps."""
    parser = pytest.importorskip("hydra.core.override_parser.overrides_parser").OverridesParser.create()
    try:
        found = parser.parse_override(text)
    except Exception:
        return "refused"
    if found.is_sweep_override():
        return "sweep"
    return (found.key_or_group, found.package, plain(found._value))


def ours(text: str) -> object:
    try:
        found = parse_override(text)
    except NotParsed:
        return "refused"
    if found.reason:
        return "sweep" if "sweep" in found.reason else "refused"
    return (found.key, found.package, once(found))


def once(found: Override) -> object:
    """Give the value with the last of equal keys in a map, as a Python dict keeps them."""

    def last(value: object) -> object:
        if isinstance(value, tuple):
            return tuple(last(v) for v in value)
        return Mapped(tuple({k: last(v) for k, v in value.pairs}.items())) if isinstance(value, Mapped) else value

    return last(found.value)


def agree(text: str) -> bool:
    """Say whether both read the same; what hydra refuses or sweeps over, ours must not read as a value."""
    mine, theirs = ours(text), real(text)
    if isinstance(theirs, str) or isinstance(mine, str):
        return isinstance(theirs, str) and isinstance(mine, str)
    numbers = (mine[2], theirs[2])  # type: ignore[index]
    if all(isinstance(n, float) and math.isnan(n) for n in numbers):
        return True
    return repr(mine) == repr(theirs)


NUMBERS = ["4", "-4", "+4", "0", "01", "1_0", "1.5", ".5", "5.", "1e5", "inf", "nan"]
TEXTS = ["a", "true", "FALSE", "null", "x-y", "a.b", "/p/q", "a:b", "a b", " a ", "a2a+p2p", "a\\ b", "\\,", "\\\\"]
QUOTED = ["'q r'", '"q"', "'it\\'s'", "''", "${a.b}", "${oc.env:X,1}"]
MARKS = ["%", "@", "?", "|", "$", "*", "é", "#", "~", "(", ")", "=", "f(1)", "\t"]
ATOMS = st.sampled_from([*NUMBERS, *TEXTS, *QUOTED, *MARKS])
NAMES = ATOMS.filter(lambda text: text.lower() not in ("nan", "true", "false"))
"""Keys of a map: as those of a Python dict, a nan equals no other, and false equals 0."""
VALUES = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda v: f"[{','.join(v)}]")
        | st.lists(st.tuples(NAMES, inner), max_size=3).map(lambda v: "{" + ",".join(f"{k}:{x}" for k, x in v) + "}")
    ),
    max_leaves=6,
)
KEYS = st.sampled_from(["a", "a.b", "a.0", "a-b.c", "g/h", "g@p", "g/h@p.q", "a.$b", "$a", "a..b", "a.", "1", "a[0]"])


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(["", "+", "++", "~"]), KEYS, VALUES)
def test_generated_overrides_read_as_hydra_reads_them(sign: str, key: str, value: str) -> None:
    text = f"{sign}{key}={value}"
    assert agree(text), (text, ours(text), real(text))


@settings(max_examples=400, deadline=None)
@given(st.text(alphabet="ab01.-_'\"\\[]{}(),:=$ \t+/e", max_size=14))
def test_any_value_reads_as_hydra_reads_it(value: str) -> None:
    text = f"k={value}"
    assert agree(text), (text, ours(text), real(text))
