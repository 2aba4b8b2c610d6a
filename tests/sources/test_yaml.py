"""YAML with places: what is kept, and what hostile text does."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshlint.sources.tree import Text, Unreadable
from meshlint.sources.yaml import MAX_CHARS, MAX_DEPTH, Node, parse


def read(text: str) -> Node:
    (document,) = parse(Text("a.yaml", Path("a.yaml"), text))
    return document


def refused(text: str) -> Unreadable:
    with pytest.raises(Unreadable) as caught:
        parse(Text("a.yaml", Path("a.yaml"), text))
    return caught.value


def test_keys_and_values_have_places() -> None:
    node = read("a:\n  b: 4\n  'c d': [1, x]\n")
    inner = node.get("a")
    assert inner is not None
    (name, key, value), (_, quoted, listed) = inner.pairs()
    assert (name, key.span.line, key.span.column, value.data) == ("b", 2, 3, 4)
    assert (value.span.column, value.span.end_column) == (6, 7)
    assert quoted.text == "c d" and quoted.quoted
    assert [i.data for i in listed.items] == [1, "x"]


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("4", 4),
        ("0x10", 16),
        ("1_000", 1000),
        ("4.5", 4.5),
        ("true", True),
        ("off", False),
        ("~", None),
        ("null", None),
        ("'4'", "4"),
        ("4x", "4x"),
        ("2001-01-01", "2001-01-01"),
        ("!!python/object:os.system x", "x"),
        ("9" * 50, "9" * 50),
        ("1e400", "1e400"),
        ("1.0e+400", float("inf")),
    ],
)
def test_scalars_become_plain_data(text: str, data: object) -> None:
    node = read(f"k: {text}").get("k")
    assert node is not None
    assert node.data == data and type(node.data) is type(data)


def test_duplicate_keys_are_both_kept() -> None:
    node = read("a: 1\nb: 2\na: 3\n")
    assert [(name, value.data, value.span.line) for name, _, value in node.pairs()] == [
        ("a", 1, 1),
        ("b", 2, 2),
        ("a", 3, 3),
    ]
    last = node.get("a")
    assert last is not None and last.data == 3


def test_merge_keys_come_first_and_the_first_source_wins() -> None:
    node = read("x: &x {a: 1, b: 2}\ny: &y {a: 9, c: 3}\nz:\n  <<: [*x, *y]\n  b: 4\n").get("z")
    assert node is not None
    assert [(name, value.data) for name, _, value in node.pairs()] == [("a", 1), ("b", 2), ("c", 3), ("b", 4)]


def test_a_quoted_merge_key_is_a_key() -> None:
    assert [name for name, _, _ in read("'<<': {a: 1}\n").pairs()] == ["<<"]


def test_several_documents_are_all_given() -> None:
    assert len(parse(Text("a.yaml", Path("a.yaml"), "a: 1\n---\nb: 2\n"))) == 2
    assert parse(Text("a.yaml", Path("a.yaml"), "# nothing\n")) == []


def test_a_bomb_of_aliases_stays_small() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30)]
    top = read("\n".join(lines))
    shared = top.get("a29")
    assert shared is not None and shared.items[0] is shared.items[8]


def test_a_bomb_of_merge_keys_is_refused_with_its_line() -> None:
    lines = ["a0: &a0 {k: 1}"]
    lines += [f"a{i}: &a{i}\n  <<: [{', '.join([f'*a{i - 1}'] * 9)}]\n  k{i}: 1" for i in range(1, 12)]
    with pytest.raises(Unreadable, match="more than 20,000 pairs") as refused:
        read("\n".join(lines))
    assert refused.value.line == 14


def test_a_long_chain_of_merge_keys_is_refused() -> None:
    lines = ["a0: &a0 {k: 1}", *(f"a{i}: &a{i} {{<<: *a{i - 1}, k{i}: 1}}" for i in range(1, 3000))]
    with pytest.raises(Unreadable, match="more than 30 mappings in a chain"):
        read("\n".join(lines))


def test_a_few_merge_keys_in_a_row_are_read() -> None:
    lines = ["a0: &a0 {k: 1}", *(f"a{i}: &a{i} {{<<: *a{i - 1}, k{i}: 1}}" for i in range(1, 20))]
    last = read("\n".join(lines)).get("a19")
    assert last is not None
    assert {name for name, _, _ in last.pairs()} == {"k", *(f"k{i}" for i in range(1, 20))}


def test_an_alias_to_itself_ends() -> None:
    node = read("a: &a [1, *a]\nb: &b {c: *b}\n").get("a")
    assert node is not None and node.items[1].kind == "scalar"


@pytest.mark.parametrize(
    ("text", "says", "line"),
    [
        ("a:\n\tb: 1\n", "not YAML", 2),
        ("{{ cookiecutter.x }}: {% if a %}\n  b: 1\n", "not YAML", 1),
        ("a: [1, 2\n", "not YAML", 2),
        ("a: *nowhere\n", "not YAML", 1),
        ("a: 'open\n", "not YAML", 2),
    ],
)
def test_what_is_not_yaml_is_refused_with_its_line(text: str, says: str, line: int) -> None:
    problem = refused(text)
    assert says in problem.sentence
    assert problem.line == line


@pytest.mark.parametrize("text", ["[" * 5000, "{a: " * 5000, "\n".join(" " * i + "a:" for i in range(900))])
def test_depth_is_refused(text: str) -> None:
    assert "depth" in refused(text).sentence or "deeper" in refused(text).sentence


def test_depth_within_libyaml_s_limit_is_refused_by_ours() -> None:
    deep = MAX_DEPTH + 5
    assert f"deeper than {MAX_DEPTH}" in refused("a: " + "[" * deep + "]" * deep).sentence


def test_a_large_file_is_refused_before_it_is_parsed() -> None:
    assert "characters" in refused("a: 1\n" * (MAX_CHARS // 4)).sentence


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab:-[]{}'\"&*!|> \n\t#%@?,0<.e~", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        documents = parse(Text("a.yaml", Path("a.yaml"), text))
    except Unreadable as problem:
        assert problem.sentence
        return
    for document in documents:
        assert document.span.line >= 1
        list(document.pairs())
