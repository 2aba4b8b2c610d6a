"""ROLL's device mappings: which devices a worker has, in a Python expression, and the ranks that they make."""

from __future__ import annotations

import ast

from meshlint.config.value import State, Value, unknown

MAX_DEVICES = 100_000


def ranks(mapping: Value) -> Value:
    """Count the ranks of a worker of Megatron's: one for each of its devices.

    `num_gpus_per_worker` has no say, since it is set to 1 for all but inference engines (roll/configs/
    worker_config.py:278 and :316 at main of August 2026).
    """
    if mapping.is_unknown:
        return mapping
    count = devices(mapping.data)
    if count is None:
        return unknown(f"meshlint cannot read the device mapping {mapping.data!r}", *mapping.origins)
    return Value(State.SET, count, mapping.origins)


def devices(data: object) -> int | None:
    """Count the devices of `list(range(0,8))`, `[0,1]`, sums of them, or a list; None for anything else."""
    if isinstance(data, tuple):
        return len(data)
    if not isinstance(data, str) or len(data) > 4_000:
        return None
    try:
        return _count(ast.parse(data.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _count(node: ast.expr) -> int | None:
    if isinstance(node, ast.List | ast.Tuple):
        return len(node.elts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _count(node.left), _count(node.right)
        return None if left is None or right is None else left + right
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.keywords:
        return None
    if node.func.id == "list" and len(node.args) == 1:
        return _count(node.args[0])
    numbers = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, int)]
    if node.func.id != "range" or not 1 <= len(numbers) == len(node.args) <= 3 or numbers[2:] == [0]:
        return None
    count = len(range(*numbers))
    return count if count <= MAX_DEVICES else None
