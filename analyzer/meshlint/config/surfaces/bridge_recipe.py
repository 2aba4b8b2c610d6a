"""Megatron-Bridge recipes: functions that return a ConfigContainer, and scripts that take one and train."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from meshlint.config.launch import Launch
from meshlint.config.python.bridge import KNOWLEDGE
from meshlint.config.python.explore import Outcome, Session
from meshlint.config.python.launches import launch_of
from meshlint.config.python.program import Module, program_of
from meshlint.config.python.recipes import CONTAINER, annotated, candidates, needs_arguments
from meshlint.config.surface import Context

SURFACE_NAME = "bridge-recipe"
FRAMEWORK = "megatron-bridge"


class BridgeRecipe:
    """A function is a launch where it returns a complete ConfigContainer without arguments that it needs."""

    name = SURFACE_NAME

    def claims(self, path: str) -> bool:
        """Claim Python files; what is in them is looked at when they are entries."""
        return path.endswith(".py")

    def entries(self, paths: Iterable[str], context: Context) -> Iterable[str]:
        """Judge files that speak of Megatron-Bridge's containers; tests build configs that nobody launches."""
        program = program_of(context)
        return [path for path in paths if not _is_test(path) and _speaks_of_it(program.text(path))]

    def launches(self, path: str, context: Context) -> Iterator[Launch]:
        """Give a launch for each recipe of the file, with its variants."""
        session = session_of(context)
        module = session.program.module(path)
        if module is None:
            return
        for node in candidates(module):
            yield from recipe_launches(session, module, node)


def _speaks_of_it(text: str) -> bool:
    return "ConfigContainer" in text and "def " in text


def _is_test(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return "tests" in parts[:-1] or parts[-1].startswith("test_") or parts[-1] == "conftest.py"


def session_of(context: Context) -> Session:
    """Give the evaluation session of a context."""
    known = context.shared.get(SURFACE_NAME)
    if not isinstance(known, Session):
        environment = {name: value.data for name, value in context.environment.items() if value.is_set}
        known = Session.over(program_of(context), SURFACE_NAME, KNOWLEDGE, environment)
        context.shared[SURFACE_NAME] = known
    return known


def recipe_launches(session: Session, module: Module, node: ast.FunctionDef) -> Iterator[Launch]:
    """Give the variants of one recipe; nothing where it turns out to be a base or no recipe at all."""
    if needs_arguments(node) and node.name.startswith("_"):
        return
    for outcome in session.function(module, node):
        if _is_recipe(node, outcome):
            yield launch_of(outcome, FRAMEWORK, "train", SURFACE_NAME, module, node)


def _is_recipe(node: ast.FunctionDef, outcome: Outcome) -> bool:
    """Say whether what a function gave is a config to launch: a container whose model is there."""
    if outcome.record is None:
        return annotated(node) and bool(outcome.failed)
    if outcome.record.type != CONTAINER:
        return False
    return any(row.key.startswith("model.") or row.key in ("*", "@model_id") for row in outcome.rows)


SURFACE = BridgeRecipe()
