"""Python that is written to hang, blow up or fool the evaluator: bounded, never a traceback, never executed."""

from __future__ import annotations

from pathlib import Path

import pytest
from python_trees import context_of, data, launches

from meshlint.sources.python import MAX_CHARACTERS, parse
from meshlint.sources.tree import Text, Unreadable

HEAD = """
from megatron.bridge.training.config import ConfigContainer
from megatron.bridge.models import GPTModelProvider

"""
CP = "model.context_parallel_size"
BASE = "    cfg = ConfigContainer(model=GPTModelProvider(context_parallel_size=2))\n"
RECIPE = "def recipe() -> ConfigContainer:\n"


def evaluated(tmp_path: Path, text: str) -> list[object]:
    found = launches(context_of(tmp_path, {"recipes.py": HEAD + text}), "bridge_recipe")
    return [data(launch, CP) for launch in found]


DEEP = "(" * 60 + "1" + ")" * 60
LONG_SUM = "+".join(["1"] * 500)
CHAIN = "x" + ".a" * 500

BODIES = {
    "recursion": ("def f():\n    return f()\n", "cfg.model.context_parallel_size = f()", "?"),
    "binary recursion": (
        "def f(n):\n    return f(n - 1) + f(n - 2)\n",
        "cfg.model.context_parallel_size = f(400)",
        "?",
    ),
    "mutual recursion": (
        "def f(n):\n    return g(n)\ndef g(n):\n    return f(n)\n",
        "cfg.model.context_parallel_size = f(1)",
        "?",
    ),
    "long string": ("", "cfg.model.context_parallel_size = len('a' * 10**9)", "?"),
    "doubling string": (
        "",
        "s = 'ab'\n    for _ in range(200):\n        s = s + s\n    cfg.model.context_parallel_size = len(s)",
        "?",
    ),
    "replaced string": ("", "cfg.model.context_parallel_size = len(('a' * 9999).replace('a', 'b' * 9999))", "?"),
    "power": ("", "cfg.model.context_parallel_size = 10 ** 10 ** 10", "?"),
    "squares": ("", "n = 9\n    for _ in range(90):\n        n = n * n\n    cfg.model.context_parallel_size = n", "?"),
    "shift": ("", "cfg.model.context_parallel_size = 1 << 10 ** 9", "?"),
    "endless loop": ("", "while True:\n        cfg.model.context_parallel_size = 4", "?"),
    "nested loops": (
        "",
        "for a in range(1000):\n        for b in range(1000):\n            cfg.model.context_parallel_size = b",
        "-",
    ),
    "long range": ("", "for n in range(10**12):\n        cfg.model.context_parallel_size = n", "?"),
    "doubling list": ("", "l = [1]\n    for _ in range(64):\n        l = l + l\n    cfg.model.x = l", 2),
    "cyclic object": ("", "cfg.model.me = cfg\n    cfg.me = cfg", 2),
    "cyclic list": ("", "l = []\n    l.append(l)\n    cfg.model.l = l", 2),
    "own import": ("from recipes import recipe as again\n", "cfg.again = again", 2),
    "deep brackets": ("", f"cfg.model.context_parallel_size = {DEEP}", 1),
    "long sum": ("", f"cfg.model.context_parallel_size = {LONG_SUM}", "?"),
    "attribute chain": ("", f"cfg.model.context_parallel_size = {CHAIN}", "?"),
    "format bomb": ("", "cfg.model.context_parallel_size = len(f'{1:>1000000000}')", "?"),
    "printf bomb": ("", "cfg.model.context_parallel_size = len('%1000000000d' % 1)", "?"),
    "commands": ("import os\n", "os.system('touch pwned')\n    open('pwned', 'w')\n    exec('raise')", 2),
    "division by zero": ("", "cfg.model.context_parallel_size = 1 // 0", "?"),
    "infinite float": ("", "cfg.model.context_parallel_size = int(1e400)", "?"),
    "name of a dunder": ("", "cfg.__class__ = 3\n    setattr(cfg, '*', 3)\n    setattr(cfg, '?model', 3)", 2),
}


@pytest.mark.parametrize(("before", "line", "wanted"), list(BODIES.values()), ids=list(BODIES))
def test_bounded(tmp_path: Path, before: str, line: str, wanted: object) -> None:
    found = evaluated(tmp_path, f"{before}\n{RECIPE}{BASE}    {line}\n    return cfg\n")
    if wanted == "-":
        assert all(value in ("?", "-") for value in found)
    else:
        assert found == [wanted]
    assert not (tmp_path / "pwned").exists()


def test_exponential_branches_stay_within_the_variants(tmp_path: Path) -> None:
    arms = "".join(
        f"    if unknown({n}):\n        cfg.model.context_parallel_size = {n}\n        cfg.model.num_layers = {n}\n"
        for n in range(40)
    )
    found = evaluated(tmp_path, f"{RECIPE}{BASE}{arms}    return cfg\n")
    assert 1 <= len(found) <= 16


def test_nested_branches(tmp_path: Path) -> None:
    nest = "".join(f"{'    ' * (n + 1)}if unknown({n}):\n" for n in range(80))
    nest += f"{'    ' * 81}cfg.model.context_parallel_size = 4\n"
    found = evaluated(tmp_path, f"{RECIPE}{BASE}{nest}    return cfg\n")
    assert 1 <= len(found) <= 16


def test_ten_thousand_lines(tmp_path: Path) -> None:
    lines = "".join(f"    cfg.model.field_{n} = {n}\n" for n in range(10_000))
    assert evaluated(tmp_path, f"{RECIPE}{BASE}{lines}    return cfg\n") == [2]


def test_recipes_that_call_each_other(tmp_path: Path) -> None:
    text = "def a() -> ConfigContainer:\n    return b()\n\ndef b() -> ConfigContainer:\n    return a()\n"
    assert evaluated(tmp_path, text) == []


def test_star_imports_in_a_circle(tmp_path: Path) -> None:
    files = {
        "recipes.py": HEAD + "from other import *\n" + RECIPE + BASE + "    cfg.x = missing\n    return cfg\n",
        "other.py": "from recipes import *\nfrom other import *\n",
    }
    (launch,) = launches(context_of(tmp_path, files), "bridge_recipe")
    assert data(launch, CP) == 2
    assert data(launch, "x") == "?"


def test_many_modules_that_star_import_each_other(tmp_path: Path) -> None:
    stars = "".join(f"from m{n} import *\n" for n in range(14))
    files = {f"m{n}.py": stars for n in range(14)}
    files["recipes.py"] = HEAD + stars + RECIPE + BASE + "    cfg.x = missing\n    return cfg\n"
    (launch,) = launches(context_of(tmp_path, files), "bridge_recipe")
    assert (data(launch, CP), data(launch, "x")) == (2, "?")


def parsed(text: str) -> Unreadable:
    with pytest.raises(Unreadable) as caught:
        parse(Text("x.py", Path("x.py"), text))
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("x = 1\nprint 'a'\n", 2, "Python 2"),
        ("x = 1\nexec 'a'\n", 2, "Python 2"),
        ("def f(:\n", 1, "not Python"),
        ("x = 1\n  y = 2\n", 2, "not Python"),
        ("(" * 5_000, 1, "not Python"),
        ("x = '\0'\n", 1, "not Python"),
        ("-" * 200_000 + "1", 1, "too deeply"),
        ("x" + ".a" * 200_000, 1, "too deeply"),
        ("1\n" * MAX_CHARACTERS, 1, "characters"),
    ],
)
def test_what_does_not_parse(text: str, line: int, part: str) -> None:
    error = parsed(text)
    assert error.line == line
    assert part in error.sentence


def test_places_count_characters() -> None:
    source = parse(Text("x.py", Path("x.py"), "é = {'ü': 1}; z = 2\n"))
    number = source.tree.body[1]
    span = source.span(number)
    assert (span.line, span.column, span.end_column) == (1, 15, 20)
    assert source.text(number) == "z = 2"


def test_warnings_of_what_is_read_stay_inside(recwarn: pytest.WarningsRecorder) -> None:
    parse(Text("x.py", Path("x.py"), "x = '\\d'\nassert (1, 2)\n"))
    assert not recwarn.list


def test_a_text_of_very_many_pieces_is_given_up(tmp_path: Path) -> None:
    lines = "    x = ''\n" + "    x += ' --a 1'\n" * 20_000 + "    cfg.model.context_parallel_size = len(x)\n"
    assert evaluated(tmp_path, f"{RECIPE}{BASE}{lines}    return cfg\n") == ["?"]
