"""Pipeline layouts: which layers each stage holds, written as `Et*3|(tt|)*6mL`."""

from __future__ import annotations

MAX_STAGES = 4096
"""Stages of a layout; no pipeline has more."""


def layout_stages(layout: str) -> int | None:
    """Count the stages of a pipeline layout; None where it cannot be read.

    A group in parentheses or a single mark may be repeated by `*n` (core_v0.16.1
    core/transformer/pipeline_parallel_layer_layout.py, `parse_str_to_list`).
    """
    text = layout.replace(",", "").strip("'\" ")
    bars: list[int] = [0]
    at = 0
    while at < len(text):
        mark = text[at]
        at += 1
        if mark == "(" and len(bars) == 1:
            bars.append(0)
            continue
        unit = _bars(mark, bars)
        if unit is None:
            return None
        times, at = _times(text, at)
        bars[-1] += unit * times
        if bars[-1] > MAX_STAGES:
            return None
    return bars[0] + 1 if len(bars) == 1 else None


def _bars(mark: str, bars: list[int]) -> int | None:
    """Give the stage ends that a mark stands for; a closing parenthesis stands for those of its group."""
    if mark == ")":
        return bars.pop() if len(bars) > 1 else None
    return int(mark == "|") if mark in "EtmL|" else None


def _times(text: str, at: int) -> tuple[int, int]:
    """Read `*n` at a place; gives n, at most MAX_STAGES + 1, and the place behind it; 1 where there is none."""
    end = at + 1
    while text[at : at + 1] == "*" and end < len(text) and "0" <= text[end] <= "9":
        end += 1
    return (min(int(text[at + 1 : end][:6]), MAX_STAGES + 1), end) if end > at + 1 else (1, at)


MARKS: tuple[tuple[str, str], ...] = (("E", "embedding"), ("m", "prediction layer"), ("L", "loss"))
"""The marks of a layout beside `t`, a layer, and what they stand for."""
_NAMES = {"embedding": "E", "decoder": "t", "mtp": "m", "loss": "L"}
MAX_MARKS = 50_000
"""Marks of a layout that is written out."""


def layout_rows(layout: object) -> tuple[str, ...]:
    """Give the marks of each stage of a layout, a text or lists of names; empty where it cannot be read.

    `Et*3|(tt|)*2mL` is `Ettt`, `tt`, `tt`, `mL`.
    """
    if isinstance(layout, str):
        text = _written_out(layout.replace(",", "").strip("'\" "))
        return () if text is None else tuple(text.split("|"))
    if not isinstance(layout, tuple | list):
        return ()
    rows = [_row(row) for row in layout]
    return tuple(row for row in rows if row is not None) if None not in rows else ()


def _row(row: object) -> str | None:
    if not isinstance(row, tuple | list) or len(row) > MAX_MARKS:
        return None
    marks = [_NAMES.get(str(name).strip().lower()) for name in row]
    return None if None in marks else "".join(mark for mark in marks if mark is not None)


def _written_out(text: str) -> str | None:
    """Write out the repetitions of a layout; None for anything else than marks, and where it grows too long."""
    parts: list[str] = [""]
    at = 0
    while at < len(text):
        mark = text[at]
        at += 1
        if mark == "(" and len(parts) == 1:
            parts.append("")
            continue
        unit = parts.pop() if mark == ")" and len(parts) > 1 else mark
        if any(one not in "EtmL|" for one in unit):
            return None
        times, at = _times(text, at)
        if times > MAX_STAGES:
            return None
        if len(parts[-1]) + len(unit) * times > MAX_MARKS:
            return None
        parts[-1] += unit * times
    return parts[0] if len(parts) == 1 else None
