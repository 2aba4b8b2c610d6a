"""Launches made of what an evaluation came to."""

from __future__ import annotations

import ast

from meshlint.config.launch import Launch, Write
from meshlint.config.python.explore import Outcome
from meshlint.config.python.flatten import write_of
from meshlint.config.python.machine import Row
from meshlint.config.python.program import Module
from meshlint.config.value import Value, unknown

ENVIRONMENT = "env_vars."


def launch_of(
    outcome: Outcome, framework: str, entry: str, surface: str, module: Module, node: ast.FunctionDef
) -> Launch:
    """Make the launch of a function of a file."""
    writes, environment = split(outcome.rows)
    if outcome.record is None:
        writes = (Write("*", unknown(outcome.failed)),)
    return Launch(
        framework=framework,
        entry=entry,
        surface=surface,
        identity=f"{module.path}::{node.name}",
        place=module.source.span(node),
        writes=writes,
        environment=environment,
        branches=outcome.branches,
        reads=frozenset(outcome.reads),
    )


def split(rows: tuple[Row, ...]) -> tuple[tuple[Write, ...], dict[str, Value]]:
    """Tell the writes of keys from those of environment variables (`env_vars.NAME`)."""
    writes = [write_of(row) for row in rows]
    environment = {w.key.removeprefix(ENVIRONMENT): w.value for w in writes if w.key.startswith(ENVIRONMENT)}
    return tuple(w for w in writes if not w.key.startswith(ENVIRONMENT)), environment
