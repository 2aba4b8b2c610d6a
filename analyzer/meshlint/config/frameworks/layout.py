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
