"""NeMo 2 recipes: functions that return a `run.Partial`, and scripts that run one or call `llm.pretrain`."""

from __future__ import annotations

import ast
from dataclasses import replace

from meshlint.config.launch import Launch
from meshlint.config.python.explore import Outcome
from meshlint.config.python.machine import Sink
from meshlint.config.python.nemo import KNOWLEDGE
from meshlint.config.python.surface import PythonSurface
from meshlint.config.value import Value, derived_from


def _speaks(text: str) -> bool:
    if "run.Partial" in text or ("nemo.collections" in text and "_recipe(" in text):
        return True
    return "MegatronStrategy(" in text and any(f"{start}(" in text for start in ("train", "finetune", ".fit"))


def _candidate(node: ast.FunctionDef) -> bool:
    returns = ast.unparse(node.returns) if node.returns is not None else ""
    if returns and not returns.endswith("Partial") and "Partial[" not in returns:
        return False
    first = (*node.args.posonlyargs, *node.args.args)[:1]
    needed = len(node.args.args) - len(node.args.defaults)
    return "recipe" in node.name and not (first and needed > 0)


def _accepts(outcome: Outcome) -> bool:
    return outcome.record is not None and any(row.key.startswith("trainer") for row in outcome.rows)


def _entry(sink: Sink) -> str:
    return "train"


def _world(launch: Launch) -> Launch:
    nodes, devices = _number(launch.find("trainer.num_nodes")), _number(launch.find("trainer.devices"))
    return replace(launch, nodes=nodes, gpus_per_node=devices, world=_ranks(nodes, devices))


def _ranks(nodes: Value | None, devices: Value | None) -> Value | None:
    """Give nodes times devices; None where one of them is not a number."""
    if nodes is None or devices is None or not (isinstance(nodes.data, int) and isinstance(devices.data, int)):
        return None
    return derived_from(nodes.data * devices.data, "num_nodes times devices", nodes, devices)


def _number(value: Value | None) -> Value | None:
    return value if value is not None and (value.is_unknown or isinstance(value.data, int)) else None


SURFACE = PythonSurface(
    name="nemo2-recipe",
    framework="nemo2",
    knowledge=KNOWLEDGE,
    speaks=_speaks,
    candidate=_candidate,
    accepts=_accepts,
    entry_of=_entry,
    complete=_world,
)
