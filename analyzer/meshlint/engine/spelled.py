"""Fixes in the words of the launch: `--hierarchical-context-parallel-sizes` where a rule says the field's name."""

from __future__ import annotations

import re
from dataclasses import replace

from meshlint.config.effective import spelled
from meshlint.config.fields import FIELDS
from meshlint.config.framework import Framework, Role
from meshlint.config.launch import Launch
from meshlint.finding import Fix

_DASHED = ("megatron-lm", "slime")
"""Frameworks whose options are argparse's, with dashes."""
_RECIPES = ("bridge-recipe", "nemo2-recipe")
_LIST = re.compile(r"(--[a-z-]+ to )\[([0-9, ]+)\]")
"""A list behind an option: argparse takes its items as words."""
_WORD = re.compile(r"[a-z0-9_]*_[a-z0-9_]+")


def in_words_of(fix: Fix | None, launch: Launch, framework: Framework, role: Role) -> Fix | None:
    """Give a fix whose fields are named as this launch writes them; other words stay as they are."""
    if fix is None:
        return None

    def word(match: re.Match[str]) -> str:
        name = match.group()
        return as_written(name, launch, framework, role) if name in FIELDS else name

    text = _WORD.sub(word, fix.description)
    return replace(fix, description=_LIST.sub(lambda m: m[1] + m[2].replace(",", ""), text))


def as_written(name: str, launch: Launch, framework: Framework, role: Role) -> str:
    """Give a field as a person writes it in this launch: an option, a dotted key or an attribute."""
    key = spelled(name, launch, framework, role)
    if not key or "*" in key:
        return name
    if framework.name in _DASHED:
        return f"--{key.replace('_', '-')}"
    if framework.name == "ms-swift" and launch.surface in ("shell", "command-line"):
        return f"--{key}"
    return f"cfg.{key}" if launch.surface in _RECIPES and framework.name == "megatron-bridge" else key
