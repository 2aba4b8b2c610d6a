"""Settings in their text: how the one whose value stands at a place is taken away, renamed, or given a neighbour.

What cannot be done on the text with certainty (a comment that would be lost, a value over several lines, a spelling
that is not the expected one) is not done: the answer is then no edit at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from meshlint.finding import Edit, Wish
from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.sources.tree import Text, Unreadable

YAML = (".yaml", ".yml")
QUOTES = "\"'"


@dataclass(frozen=True, slots=True)
class Entry:
    """A setting on one line: where its key begins and ends and its value ends (columns, from 0), and how it is spelt.

    `name` is the spelling of the wished key, the last part of what stands from `start` to `stop`.
    """

    line: str
    start: int
    stop: int
    end: int
    name: str


def edits(wish: Wish, text: Text) -> tuple[Edit, ...]:
    """Give the edits that fulfil a wish, or none."""
    lines = text.text.split("\n")
    span = wish.span
    if span.path != text.path or span.line != span.end_line or not 0 < span.line <= len(lines):
        return ()
    in_yaml = text.path.endswith(YAML)
    entry = _pair(wish, text, lines) if in_yaml else _word(wish, lines[span.line - 1])
    if entry is None:
        return ()
    if wish.kind == "rename":
        return _renamed(wish, entry)
    if wish.kind == "drop":
        return _dropped(wish, entry, lines, in_yaml)
    return tuple(_neighbour(wish, entry, text))


def spellings(key: str) -> Iterator[str]:
    """Give how people write a key: as it is, with dashes, and its last part alone."""
    last = key.rpartition(".")[2]
    yield from dict.fromkeys((key, key.replace("_", "-"), last, last.replace("_", "-")))


def _word(wish: Wish, line: str) -> Entry | None:
    """Find `--key value`, `key=value`, `section.key = value` or `"key": value` around a value, else None."""
    at, end = wish.span.column - 1, wish.span.end_column - 1
    before = line[:at].rstrip(QUOTES)
    quoted = len(before) < at and line[at - 1 : at] in QUOTES
    head = before.rstrip(" \t=:").rstrip(QUOTES)
    if head == before:
        return None  # nothing stands between the key and the value
    name = next((s for s in spellings(wish.key) if head.endswith(s) and not _is_word(head[: -len(s)][-1:])), None)
    if name is None:
        return None
    stop = len(head)
    start = stop - len(name)
    while start and (_is_word(line[start - 1]) or line[start - 1] in ".-+"):
        start -= 1
    if quoted and line[end : end + 1] == line[at - 1]:
        end += 1
    return Entry(line, start, stop, end, name)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _pair(wish: Wish, text: Text, lines: Sequence[str]) -> Entry | None:
    """Find the pair of a block mapping, on a line of its own, whose value stands at a place."""
    from meshlint.sources.yaml import parse

    try:
        nodes = parse(text)
    except Unreadable:
        return None
    todo = list(nodes)
    for _ in range(MAX_NODES):
        if not todo:
            return None
        node = todo.pop()
        todo += node.items
        for key, value in node.entries:
            todo.append(value)
            if value.span == wish.span and key.kind == "scalar":
                return _row(wish, key.span, value.span, lines)
    return None


MAX_NODES = 200_000


def _row(wish: Wish, key: Span, value: Span, lines: Sequence[str]) -> Entry | None:
    line = lines[key.line - 1]
    name = next(
        (s for s in spellings(wish.key) if line[key.column - 1 : key.end_column - 1].strip(QUOTES).endswith(s)), ""
    )
    alone = not line[: key.column - 1].strip(" ") and key.line == value.line == value.end_line
    rest = line[value.end_column - 1 :].strip()
    if not name or not alone or (rest and not rest.startswith("#")):
        return None
    return Entry(line, key.column - 1, key.end_column - 1, value.end_column - 1, name)


def _renamed(wish: Wish, entry: Entry) -> tuple[Edit, ...]:
    last, new = entry.name.rpartition(".")[2], _spelt_like(entry.name, wish.new)
    shown = entry.line[entry.start : entry.stop].rstrip(QUOTES)
    stop = entry.start + len(shown)
    return (Edit(_columns(wish.span, stop - len(last), stop), new),)


def _spelt_like(name: str, new: str) -> str:
    """Give the last part of a key with dashes where its neighbour has them."""
    last = new.rpartition(".")[2]
    return last.replace("_", "-") if "-" in name else last


def _columns(span: Span, start: int, end: int) -> Span:
    return Span(span.path, span.line, start + 1, span.line, end + 1)


def _dropped(wish: Wish, entry: Entry, lines: Sequence[str], in_yaml: bool) -> tuple[Edit, ...]:
    if wish.span.path.endswith(".py"):
        return ()  # an empty string would stay behind
    if not in_yaml and (_acts(wish, entry) or _has_more(wish, entry, lines)):
        return ()
    before, after = entry.line[: entry.start], entry.line[entry.end :]
    rest = (before + after).strip()
    if rest in ("", "\\"):
        hanging = not rest and wish.span.line > 1 and lines[wish.span.line - 2].rstrip().endswith("\\")
        whole = Span(wish.span.path, wish.span.line, 1, wish.span.line + 1, 1)
        return () if hanging else (Edit(whole, ""),)
    if in_yaml or "#" in rest or not before[-1:].isspace():
        return ()
    kept = before.rstrip() if before.strip() else before
    end = entry.end if before.strip() else entry.end + len(after) - len(after.lstrip())
    return (Edit(_columns(wish.span, len(kept), end), ""),)


def _acts(wish: Wish, entry: Entry) -> bool:
    """Say whether a shell does something to get the value: runs a command, or sets a variable (`${S:=4}`)."""
    value = entry.line[wish.span.column - 1 : wish.span.end_column - 1]
    return "`" in value or "$(" in value or ("${" in value and "=" in value)


def _has_more(wish: Wish, entry: Entry, lines: Sequence[str]) -> bool:
    """Say whether a further word may belong to a flag: `--cp-comm-type p2p a2a`, on the next line too."""
    if "=" in entry.line[entry.stop : wish.span.column - 1]:
        return False
    rows = (entry.line[entry.end :], *lines[wish.span.line : wish.span.line + MAX_BLANK])
    rest = next((row.strip() for row in rows if row.strip(" \t\\")), "")
    return bool(rest) and not rest.startswith(FURTHER)


MAX_BLANK = 20
FURTHER = ("-", ")", "(", '"', "'", "#", "$", ";", "&", "|", ">", "<", "}", "+")
"""How what follows the value of a flag begins, where it is no further value."""


def _neighbour(wish: Wish, entry: Entry, text: Text) -> Iterator[Edit]:
    shown, name = entry.line[entry.start : entry.stop], _spelt_like(entry.name, wish.new)
    key = f"{shown.rstrip(QUOTES)[: -len(entry.name.rpartition('.')[2])]}{name}"
    if text.path.endswith(YAML):
        yield from _line_below(wish, entry, f"{key}: {_data(wish, key.lstrip(QUOTES).startswith('-'), 'true')}")
    elif text.path.endswith(".py"):
        if _is_assignment(entry):
            yield from _line_below(wish, entry, f"{key} = {_data(wish, False, 'True')}")
    elif shown.startswith("--"):
        value = "" if wish.data is True and "_" not in name else f" {_data(wish, True, 'true')}"
        yield Edit(_columns(wish.span, entry.end, entry.end), f" {key}{value}")
    elif entry.line[entry.stop : entry.stop + 1] == "=" and not any(q in entry.line for q in QUOTES):
        value = _data(wish, False, "true").replace(" ", "")
        yield Edit(
            _columns(wish.span, entry.end, entry.end), f" '{key}={value}'" if "[" in value else f" {key}={value}"
        )


def _line_below(wish: Wish, entry: Entry, row: str) -> Iterator[Edit]:
    end = len(entry.line)
    yield Edit(_columns(wish.span, end, end), f"\n{entry.line[: entry.start]}{row}")


def _is_assignment(entry: Entry) -> bool:
    """Say whether a line is `section.key = value` and no more than a comment behind it."""
    rest = entry.line[entry.end :].strip()
    shown = entry.line[entry.start : entry.stop]
    plain = all(_is_word(c) or c == "." for c in shown) and "." in shown
    return plain and not entry.line[: entry.start].strip() and (not rest or rest.startswith("#"))


def _data(wish: Wish, words: bool, true: str) -> str:
    """Write the data of a wish: a list in brackets, or as words behind a flag."""
    if isinstance(wish.data, bool):
        return true
    return " ".join(map(str, wish.data)) if words else f"[{', '.join(map(str, wish.data))}]"
