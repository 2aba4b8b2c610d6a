"""What is known beforehand of NeMo 2 and NeMo-Run: `run.Config` and `run.Partial` are objects of what they name."""

from __future__ import annotations

from collections.abc import Iterable

from meshlint.config.python.bridge import INTERESTING, READS, TRACKED
from meshlint.config.python.calls import Calls
from meshlint.config.python.flatten import SHAPE_FIELDS, rows
from meshlint.config.python.machine import CallSite, Knowledge, Row
from meshlint.config.python.values import (
    Bound,
    ClassVal,
    External,
    Func,
    Leaf,
    Record,
    Unknown,
    Val,
)

LANGUAGE = "language_transformer_config"
"""The config of the language model inside a model; the shape beside it is a placeholder (see the framework)."""
_SHAPE = frozenset((*SHAPE_FIELDS, "seq_length"))


def configured(machine: Calls, callee: Val, site: CallSite) -> Val | None:
    """`run.Config(cls, **kwargs)`, `run.Partial(fn, **kwargs)`: an object whose arguments are its attributes."""
    if not isinstance(callee, External) or not site.args:
        return None
    target = site.args[0]
    cls = target if isinstance(target, ClassVal) else None
    name = target.name if isinstance(target, ClassVal | External | Func | Bound) else ""
    made = Record(name, cls, origins=(machine.origin(site.node),), open=site.rest)
    for key, value in _defaults(machine, cls):
        machine.write(made, key, value)
    names = machine.field_names(cls) if cls is not None else []
    for index, value in enumerate(site.args[1:]):
        if index < len(names):
            machine.write(made, names[index], value)
    for key, value in site.kwargs.items():
        machine.write(made, key, value, machine.uses(value, site.node, key))
    return made


def _defaults(machine: Calls, cls: ClassVal | None) -> Iterable[tuple[str, Val]]:
    """Give a model config's shape as its class and bases in the tree define it (`num_layers: int = 80`)."""
    if cls is None or (not cls.name.split("_")[0].endswith("Config") and "Config" not in cls.name):
        return
    lineage = [current for current in machine.classes(cls) if isinstance(current, ClassVal)]
    if any(LANGUAGE in current.members for current in lineage):
        yield LANGUAGE, Unknown("its class makes the language model inside")
        return
    for name in (name for current in lineage for name in current.members if name in _SHAPE):
        value = machine.class_attribute(cls, name)
        if isinstance(value, Leaf) and value.data is not None:
            yield name, value


def direct(machine: Calls, callee: Val, site: CallSite) -> tuple[Record | None, Iterable[Row]] | None:
    """`llm.pretrain(model=..., trainer=..., data=...)` with the objects themselves, and `run.run(recipe)`."""
    recipe = site.argument(0, "recipe")
    if isinstance(recipe, Record) and "trainer" in recipe.slots:
        return recipe, rows(recipe)
    trainer = site.kwargs.get("trainer")
    if not isinstance(trainer, Record):
        return None
    made = Record("")
    for key, value in site.kwargs.items():
        machine.write(made, key, value)
    return made, rows(made)


def fitted(machine: Calls, callee: Val, site: CallSite) -> tuple[Record | None, Iterable[Row]] | None:
    """`trainer.fit(model, data)`, as Lightning has it; the optimizer is made known to the model before."""
    trainer = callee.receiver if isinstance(callee, Bound) else None
    if not isinstance(trainer, Record) or "strategy" not in trainer.slots:
        return None
    made = Record("")
    machine.write(made, "trainer", trainer)
    for place, key, name in ((0, "model", "model"), (1, "train_dataloaders", "data")):
        value = site.argument(place, key)
        if value is not None:
            machine.write(made, name, value)
    origins = (machine.origin(site.node),)
    machine.write(made, "optim", Record("", None, {}, "the optimizer is connected to the model apart", None, origins))
    return made, rows(made)


def outside(machine: Calls, dotted: str, site: CallSite) -> Val | None:
    """A recipe whose source is not in reach: nodes and GPUs as every recipe takes them, and the lines after it.

    Source: NeMo v2.4.0 nemo/collections/llm/recipes/llama3_8b.py, `pretrain_recipe(dir, name, num_nodes,
    num_gpus_per_node)`, and its like; they stand in `trainer.num_nodes` and `trainer.devices`.
    """
    name = dotted.rpartition(".")[2]
    if not dotted.startswith("nemo.collections.") or not name.endswith("_recipe"):
        return None
    reason = f"the recipe `{dotted}` is not in reach: {machine.program.lacking('nemo-toolkit')}"
    origins = (machine.origin(site.node),)
    made = Record("Partial", None, {}, reason, None, origins)
    trainer = Record("", None, {}, reason, None, origins)
    machine.write(made, "model", Record("", None, {}, reason, None, origins))
    machine.write(made, "trainer", trainer)
    machine.write(trainer, "strategy", Record("", None, {}, reason, None, origins))
    for place, key, field in ((2, "num_nodes", "num_nodes"), (3, "num_gpus_per_node", "devices")):
        value = site.argument(place, key)
        if value is not None:
            machine.write(trainer, field, value, machine.uses(value, site.node, key))
    return made


def added(machine: Calls, callee: Val, site: CallSite) -> tuple[Record | None, Iterable[Row]] | None:
    """`experiment.add(recipe, executor=...)`: a task of a NeMo-Run experiment.

    A script that takes the sizes of its recipe from elsewhere (options, a CSV file) is a runner, no launch by itself.
    """
    task = site.argument(0, "task")
    if (
        not isinstance(task, Record)
        or "trainer" not in task.slots
        or (not task.open and _sized_elsewhere(machine, task))
    ):
        return None
    return task, rows(task)


def _sized_elsewhere(machine: Calls, task: Record) -> bool:
    trainer = machine.record_attribute(task, "trainer")
    strategy = machine.record_attribute(trainer, "strategy") if isinstance(trainer, Record) else None
    if not isinstance(strategy, Record):
        return False
    return isinstance(machine.record_attribute(strategy, "tensor_model_parallel_size"), Unknown)


def _opaque(path: str) -> bool:
    """Say whether a module is the library's own works rather than a place where configs are made."""
    if "nemo/lightning/" in path:
        return True
    return "nemo/collections/" in path and "/recipes/" not in path and "/gpt/model" not in path


KNOWLEDGE = Knowledge(
    calls={"Config": configured, "Partial": configured},
    reads=READS,
    tracked=TRACKED,
    interesting=INTERESTING,
    sinks={"pretrain": direct, "finetune": direct, "train": direct, "run": direct, "add": added, "fit": fitted},
    outside=outside,
    opaque=_opaque,
    begun=_defaults,
)
