"""Shell patterns: `*`, `?` and `[...]`, matched without backtracking over more than one star."""

from __future__ import annotations

MAX_PATTERN = 200
MAX_TEXT = 20_000
_SPECIAL = "*?[\\"


class Unsupported(Exception):  # noqa: N818 - the caller makes it an unknown
    """A pattern beyond what is read here (extended globs), or too long."""


def quoted(text: str) -> str:
    """Give a pattern that matches the text and nothing else."""
    return "".join("\\" + c if c in "*?[]\\()|@+!" else c for c in text)


def matches(pattern: str, text: str) -> bool:
    """Say whether the whole text matches."""
    parts = _parse(pattern)
    if len(text) > MAX_TEXT:
        raise Unsupported(pattern)
    at = star = mark = 0
    star = -1
    where = 0
    while at < len(text):
        if where < len(parts) and parts[where] == "*":
            star, mark = where, at
            where += 1
        elif where < len(parts) and _one(parts[where], text[at]):
            where += 1
            at += 1
        elif star >= 0:
            mark += 1
            at, where = mark, star + 1
        else:
            return False
    return all(p == "*" for p in parts[where:])


def strip(pattern: str, text: str, front: bool, longest: bool) -> str:
    """Give the text without the part at its front or back that matches."""
    lengths = range(len(text), -1, -1) if longest else range(len(text) + 1)
    if len(text) > 2000:
        raise Unsupported(pattern)
    for length in lengths:
        part = text[:length] if front else text[len(text) - length :]
        if matches(pattern, part):
            return text[length:] if front else text[: len(text) - length]
    return text


def substitute(pattern: str, new: str, text: str, everywhere: bool, anchor: str = "") -> str:
    """Give the text with the longest match replaced, or all of them; `anchor` is `#`, `%` or nothing."""
    if len(text) > 500:
        raise Unsupported(pattern)
    if anchor:
        kept = strip(pattern, text, anchor == "#", longest=True)
        if kept == text and not matches(pattern, ""):
            return text
        return new + kept if anchor == "#" else kept + new
    done, at = [], 0
    while at < len(text):
        end = next((e for e in range(len(text), at, -1) if matches(pattern, text[at:e])), None)
        if end is None:
            done.append(text[at])
            at += 1
            continue
        done.append(new)
        at = end
        if not everywhere:
            break
    return "".join(done) + text[at:]


def _parse(pattern: str) -> list[str | tuple[bool, str]]:
    if len(pattern) > MAX_PATTERN:
        raise Unsupported(pattern)
    parts: list[str | tuple[bool, str]] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char in "@+!?*" and pattern[at + 1 : at + 2] == "(":
            raise Unsupported(pattern)
        if char == "\\" and at + 1 < len(pattern):
            parts.append("=" + pattern[at + 1])
            at += 2
        elif char == "[" and "]" in pattern[at + 2 :]:
            end = pattern.index("]", at + 2)
            parts.append(_set(pattern[at + 1 : end]))
            at = end + 1
        else:
            parts.append(char if char in "*?" else "=" + char)
            at += 1
    return parts


def _set(inner: str) -> tuple[bool, str]:
    inverse = inner[:1] in "!^"
    body = inner[1:] if inverse else inner
    if "[:" in body:
        raise Unsupported(inner)
    chars: list[str] = []
    at = 0
    while at < len(body):
        if body[at + 1 : at + 2] == "-" and at + 2 < len(body):
            chars.extend(chr(c) for c in range(ord(body[at]), min(ord(body[at + 2]), ord(body[at]) + 300) + 1))
            at += 3
        else:
            chars.append(body[at])
            at += 1
    return not inverse, "".join(chars)


def _one(part: str | tuple[bool, str], char: str) -> bool:
    if isinstance(part, tuple):
        return (char in part[1]) is part[0]
    return part == "?" or part == "=" + char
