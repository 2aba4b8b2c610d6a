"""Recipes of Megatron-Bridge: which functions are one, and which has a name."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from meshlint.config.python.calls import Calls
from meshlint.config.python.machine import CallSite
from meshlint.config.python.program import Program
from meshlint.config.python.values import Leaf, Record, Unknown, Val, sequence

if TYPE_CHECKING:
    from meshlint.config.python.explore import Outcome, Session
    from meshlint.config.python.statements import Statements

CONTAINER = "ConfigContainer"
PACKAGES = ("megatron.bridge.recipes", "megatron.bridge.perf_recipes")


def annotated(node: ast.FunctionDef) -> bool:
    """Say whether a function says that it returns a ConfigContainer."""
    returns = node.returns
    if isinstance(returns, ast.Constant) and isinstance(returns.value, str):
        return returns.value.rsplit(".", 1)[-1] == CONTAINER
    return _last(returns) == CONTAINER


def takes_config(node: ast.FunctionDef) -> bool:
    """Say whether a function is handed a config that it changes: a helper, no recipe."""
    for argument in (*node.args.posonlyargs, *node.args.args):
        if _last(argument.annotation) == CONTAINER or argument.arg in ("cfg", "config", "recipe", "self", "cls"):
            return True
    return False


def needs_arguments(node: ast.FunctionDef) -> bool:
    """Say whether a function has a parameter without a default."""
    spec = node.args
    positional = len(spec.posonlyargs) + len(spec.args)
    return positional > len(spec.defaults) or any(d is None for d in spec.kw_defaults)


def is_candidate(node: ast.FunctionDef) -> bool:
    """Say whether a function could be a recipe; a base that needs arguments is judged at its callers."""
    if takes_config(node) or (node.name.startswith("_") and needs_arguments(node)):
        return False
    return annotated(node) or (node.returns is None and is_named_so(node.name))


def is_named_so(name: str) -> bool:
    """Say whether a function's name is that of a recipe."""
    return any(part in name for part in ("config", "recipe", "pretrain", "finetune", "sft", "peft"))


def _last(node: ast.expr | None) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.rsplit(".", 1)[-1]
    return ""


def by_name(machine: Calls, name: Leaf, site: CallSite) -> Val:
    """Call the recipe of a name with the arguments that the loader hands on."""
    found = find(machine, str(name.data))
    if found is None:
        reason = f"the recipe `{name.data}` is not in what was read"
        return Record(CONTAINER, None, {}, reason, None, name.origins)
    return machine.call(found, CallSite(site.node, (), _handed(found, site)))


def _handed(found: Val, site: CallSite) -> dict[str, Val]:
    """Give what `load_recipe` hands on: the PEFT scheme and the length, where the recipe takes them."""
    node = getattr(found, "node", None)
    if not isinstance(node, ast.FunctionDef):
        return {}
    takes = {a.arg for a in (*node.args.args, *node.args.kwonlyargs)}
    handed: dict[str, Val] = {}
    for ours, theirs in (("peft_scheme", ("peft_scheme", "peft")), ("seq_length", ("seq_length",))):
        value = site.argument(-1, ours)
        if value is None or (isinstance(value, Leaf) and value.data is None):
            continue
        parameter = next((t for t in theirs if t in takes or node.args.kwarg is not None), None)
        if parameter is not None:
            handed[parameter] = value
    return handed


def find(machine: Calls, name: str) -> Val | None:
    """Find a recipe by the name under which the packages export it, benchmarks first as upstream's runner does."""
    path = recipe_paths(machine.program).get(name)
    if path is not None:
        module = machine.program.module(path)
        return machine.member(module, name) if module is not None else None
    for package in PACKAGES:
        found = machine.program.find(package, "")
        module = machine.program.module(found) if found is not None and found.endswith(".py") else None
        value = machine.member(module, name) if module is not None else None
        if value is not None and not isinstance(value, Unknown):
            return value
    return None


def is_benchmark(program: Program, name: str) -> bool:
    """Say whether a recipe's name belongs to the performance package."""
    return "/perf_recipes/" in f"/{recipe_paths(program).get(name, '')}"


def recipe_paths(program: Program) -> dict[str, str]:
    """Give the file that defines each recipe of the tree's own packages, by a scan of the text for `def NAME(`."""
    if not program.recipes:
        program.recipes.update(_scanned(program))
    return program.recipes


def _scanned(program: Program) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted(p for p in program.files if p.endswith(".py") and "recipes/" in p):
        if PurePosixPath(path).name.startswith("test_") or "ConfigContainer" not in program.text(path):
            continue
        for line in program.text(path).split("\n"):
            if line.startswith("def "):
                found.setdefault(line[4:].partition("(")[0].strip(), path)
    return found


OPTIONS: Mapping[str, str] = {
    "-ms": "train.train_iters",
    "--max_steps": "train.train_iters",
    "-gb": "train.global_batch_size",
    "--global_batch_size": "train.global_batch_size",
    "-mb": "train.micro_batch_size",
    "--micro_batch_size": "train.micro_batch_size",
    "-sl": "dataset.seq_length",
    "--seq_length": "dataset.seq_length",
    "-tp": "model.tensor_model_parallel_size",
    "--tensor_model_parallel_size": "model.tensor_model_parallel_size",
    "-pp": "model.pipeline_model_parallel_size",
    "--pipeline_model_parallel_size": "model.pipeline_model_parallel_size",
    "-cp": "model.context_parallel_size",
    "--context_parallel_size": "model.context_parallel_size",
    "-vp": "model.virtual_pipeline_model_parallel_size",
    "--virtual_pipeline_model_parallel_size": "model.virtual_pipeline_model_parallel_size",
    "-ep": "model.expert_model_parallel_size",
    "--expert_model_parallel_size": "model.expert_model_parallel_size",
    "-etp": "model.expert_tensor_parallel_size",
    "--expert_tensor_parallel_size": "model.expert_tensor_parallel_size",
}
"""Options of `run_recipe.py` that stand for overrides (scripts/training/run_recipe.py:110 at main 067f987df)."""


def run_by_name(session: Session, argv: tuple[Leaf | Unknown, ...]) -> list[Outcome]:
    """Take the recipe that `--recipe NAME` names and apply the other words, without the runner's own source."""
    from meshlint.config.python import overrides

    name, early, late = _words(argv)
    anchor = session.anchor()

    def run(machine: Statements) -> Val:
        site = CallSite(machine.caches.call(anchor.source.tree), (), {})
        config = by_name(machine, name, site) if name is not None else Record(CONTAINER, open="no recipe is named")
        if not isinstance(config, Record):
            config = Record(CONTAINER, open="what the recipe gives is not known")
        overrides.apply(machine, config, tuple(early))
        overrides.apply_words(machine, config, sequence("list", tuple(late)))
        _sync_length(machine, config)
        return config

    return session.explore(anchor, run, argv)


def _words(
    argv: tuple[Leaf | Unknown, ...],
) -> tuple[Leaf | None, list[tuple[str, Val]], list[Leaf | Unknown]]:
    """Tell the recipe's name, the options that stand for overrides, and the overrides."""
    name: Leaf | None = None
    early: list[tuple[str, Val]] = []
    late: list[Leaf | Unknown] = []
    words = list(argv)
    while words:
        word = words.pop(0)
        text = word.data if isinstance(word, Leaf) else None
        if not isinstance(text, str):
            late.append(word)
        elif text in OPTIONS and words:
            early.append((OPTIONS[text], _number(words.pop(0))))
        elif text == "--recipe" and words:
            following = words.pop(0)
            name = following if isinstance(following, Leaf) else None
        elif not text.startswith("-") and "=" in text:
            late.append(word)
    return name, early, late


def _number(word: Leaf | Unknown) -> Val:
    if isinstance(word, Leaf) and str(word.data).lstrip("-").isdecimal() and len(str(word.data)) < 18:
        return Leaf(int(str(word.data)), word.origins)
    return word


def _sync_length(machine: Calls, config: Record) -> None:
    """Copy the dataset's length to the model, as the runner does after overrides (recipe_runner.py, at main)."""
    model, dataset = machine.record_attribute(config, "model"), machine.record_attribute(config, "dataset")
    if not isinstance(model, Record) or not isinstance(dataset, Record):
        return
    length = machine.record_attribute(dataset, "seq_length") or machine.record_attribute(dataset, "sequence_length")
    if isinstance(length, Leaf) and length.data is not None:
        machine.write(model, "seq_length", length)
