"""Text from analysed files, made safe to show: no escape sequence, no direction override, no lone surrogate."""

from __future__ import annotations

import unicodedata
from typing import Any

_HIDDEN = frozenset({"Cc", "Cf", "Cn", "Cs", "Co", "Zl", "Zp"})
_UNSEEN = ((0x34F, 0x34F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x3164, 0x3164), (0xFE00, 0xFE0F))
_UNSEEN_FURTHER = ((0xFFA0, 0xFFA0), (0xE0100, 0xE01EF))
"""Letters and marks that nobody sees either: fillers, joiners, selectors of a variant (Default_Ignorable_Code_Point of
Unicode's DerivedCoreProperties.txt, without the categories above)."""


def plain(text: str) -> str:
    """Give text of one line with every control or invisible character spelt out (`\\x1b`, `\\u202e`).

    Bytes of file names that are not UTF-8 come out as `\\xNN`. A tab becomes a space.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(char) for char in text)


def clean(text: str) -> str:
    """Give plain text for people, in which a CI runner finds no command of its own.

    GitHub's runner obeys `##[warning]` and Azure's `##vso[...]` anywhere in a line (ActionCommand.TryParse of
    actions/runner): the first `#` is spelt out, `\\x23`.
    """
    shown = plain(text)
    if "##" not in shown or "[" not in shown:
        return shown
    first, *further = shown.split("##")
    return first + "".join((_spelt(part) if _commands(part) else "##") + part for part in further)


def _spelt(text: str) -> str:
    """Spell the `##` in front of text; where a third `#` follows, so that no two are left."""
    return "\\x23\\x23" if text.startswith("#") else "\\x23#"


def _commands(text: str) -> bool:
    """Say whether text behind `##` makes it a command: `[group]`, `vso[...]`; `[a-z]` is a shell's pattern."""
    kind, bracket, rest = text.removeprefix("#").partition("[")
    name = rest.replace("]", " ").split(" ")[0]
    word = name.replace("-", "").replace(".", "")
    return bool(bracket) and (not kind or kind.isalpha()) and len(word) > 3 and word.isalpha()


def line_start(text: str) -> str:
    """Show text at the beginning of a line: a path, or what begins with one.

    GitHub's runner obeys a line that begins with `::error`, behind blanks too: such text gets `./` in front.
    """
    shown = clean(text)
    return f"./{shown}" if shown.lstrip().startswith("::") else shown


def dumps(data: Any, indent: int | None = None) -> str:
    """Give JSON as ASCII, in which a CI runner finds no command: the second `#` of two is spelt `\\u0023`."""
    import json

    return json.dumps(data, indent=indent).replace("##", "#\\u0023")


def harmless(line: str) -> str:
    """Give a line that does not begin like a command to GitHub's runner (`::error`), which looks behind blanks too."""
    bare = line.lstrip()
    return f"{line[: len(line) - len(bare)]}\\x3a{bare[1:]}" if bare.startswith("::") else line


def lines(text: str) -> list[str]:
    """Give text of several lines, each made safe."""
    return [clean(line) for line in text.split("\n")]


def plain_lines(text: str) -> str:
    """Give text of several lines, each plain."""
    return "\n".join(plain(line) for line in text.split("\n"))


def in_source(text: str, without: str = "") -> str:
    """Give text for a comment or a string of a program that is written: `?` for what is not ASCII or not seen.

    The characters of `without` are left out too; file names and messages may hold anything.
    """
    return "".join(char if char.isascii() and char.isprintable() and char not in without else "?" for char in text)


def _shown(char: str) -> str:
    if char == "\t":
        return " "
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    unseen = code >= 0x34F and any(low <= code <= high for low, high in (*_UNSEEN, *_UNSEEN_FURTHER))
    if not unseen and unicodedata.category(char) not in _HIDDEN:
        return char
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shown(text: str) -> str:
    """Give text for lines that a CI runner may read: none of them is a command to it."""
    return "\n".join(harmless(clean(line)) for line in text.split("\n"))
