"""NeMo-RL's commands: `uv run examples/run_grpo.py --config X.yaml a.b=c`, and what its YAML means for the ranks.

Without `--config` an example's own source names its default. The scripts of `tests/test_suites` find their config by
their own name. Sources count from NeMo-RL's main of August 2026.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator, Mapping, Sequence

from meshlint.config.command import Command, Word
from meshlint.config.hydra import overrides as dotlist
from meshlint.config.hydra.app import Settings, whole
from meshlint.config.hydra.documents import repeated
from meshlint.config.hydra.flatten import Hole, blocks_of, writes
from meshlint.config.hydra.inherit import Inherited, inherit
from meshlint.config.hydra.interpolation import Resolver
from meshlint.config.hydra.items import Marking
from meshlint.config.hydra.program import locate, options, program
from meshlint.config.launch import Launch
from meshlint.config.surface import Context
from meshlint.config.value import EMPTY, Kind, Origin, State, Value, unknown
from meshlint.sources.tree import Reader, Unreadable

NAME = "nemo-rl"
MARKING = Marking(NAME)
ALGORITHMS = ("grpo", "ppo", "dpo", "sft", "rm", "distillation")
"""Top-level sections that tell what a config trains; the last that is there names the entry."""

_PROGRAMS = ("grpo", "ppo", "dpo", "sft", "rm", "distillation")
_OPTIONS = {"--config": "config"}


class NemoRl:
    """Reads `--config` and the dotlist over it."""

    framework = NAME

    def claims(self, command: Command) -> bool:
        """Claim `run_grpo.py` and its like where they are given a config or a dotlist, or nothing at all."""
        found = program(command)
        if found is None or not found.script or not is_runner(found.name):
            return False
        given, rest = options(found.words, _OPTIONS)
        return bool(given) or all(w.text is None or not w.text.startswith("-") for w in rest)

    def launches(self, command: Command, reader: Reader, context: Context) -> Iterator[Launch]:
        """Give the launch of a command."""
        found = program(command)
        if found is None:
            return
        given, words = options(found.words, _OPTIONS)
        config, reason = _config(given.get("config"), found.script, command, reader)
        inherited = _read(config, reader, context) if config else _unknown_base(reason, command)
        merged = settings_of(inherited, words, context, {**command.environment, **context.environment})
        yield launch_of(
            merged,
            Launch(
                framework=NAME,
                entry=found.name,
                surface=command.surface,
                identity=command.identity,
                place=command.place,
                environment=command.environment,
                branches=command.branches,
                reads=frozenset(reader.seen),
            ),
        )


READER = NemoRl()


def is_runner(name: str) -> bool:
    """Say whether a program's name is that of an example that trains."""
    parts = name.split("_")
    return (parts[0] == "run" and any(p in _PROGRAMS for p in parts[1:])) or name == "single_update"


def _config(word: Word | None, script: str, command: Command, reader: Reader) -> tuple[str, str]:
    """Find the config: `--config`, else the default that the script's source names. Gives a path, or the reason."""
    if word is not None:
        if word.text is None:
            return "", word.reason or "the config's path is not known"
        path = locate(word.text, command, reader)
        return (path, "") if path else ("", f"the config {word.text} is not in reach")
    file = locate(script, command, reader)
    default = default_config(file, reader) if file else None
    return (default, "") if default else ("", f"the config that {script} starts from is not in reach")


def default_config(script: str, reader: Reader) -> str | None:
    """Find the config that a script takes without `--config`: `os.path.join(os.path.dirname(__file__), ...)`."""
    try:
        tree = ast.parse(reader.read(script).text)
    except (Unreadable, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).endswith("args.config"):
            parts = _joined(node.value)
            if parts:
                return posixpath.normpath(posixpath.join(posixpath.dirname(script), *parts))
    return None


def _joined(node: ast.expr) -> list[str]:
    if not isinstance(node, ast.Call) or not node.args or ast.unparse(node.func) != "os.path.join":
        return []
    if ast.unparse(node.args[0]) != "os.path.dirname(__file__)":
        return []
    parts = [a.value for a in node.args[1:] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return parts if len(parts) == len(node.args) - 1 else []


def _read(path: str, reader: Reader, context: Context) -> Inherited:
    try:
        found = inherit(path, reader, context, MARKING)
        context.problems += found.problems
        return found
    except Unreadable as problem:
        return Inherited(holes=(Hole("*", unknown(f"{problem.path} cannot be read: {problem.sentence}")),))


def _unknown_base(reason: str, command: Command) -> Inherited:
    return Inherited(holes=(Hole("*", unknown(reason, Origin(Kind.WRITTEN, span=command.place))),))


def settings_of(
    inherited: Inherited, words: Sequence[Word], context: Context, environment: Mapping[str, Value] = EMPTY
) -> Settings:
    """Apply a dotlist to a merged file; NeMo-RL has no config groups."""
    root, holes = dotlist.apply(inherited.root, dotlist.read(words))
    incomplete = next((hole.value.reason for hole in inherited.holes), "")
    resolver = Resolver(root, environment, incomplete=incomplete)
    found = writes(resolver, (*inherited.holes, *holes), blocks_of(context))
    return Settings((*repeated(inherited.files, context), *found))


def launch_of(merged: Settings, frame: Launch) -> Launch:
    """Complete a launch with what its config says: the writes and the ranks that train."""
    nodes, gpus = ranks(merged)
    return Launch(
        framework=frame.framework,
        entry=frame.entry,
        surface=frame.surface,
        identity=frame.identity,
        place=frame.place,
        writes=merged.writes,
        environment=frame.environment,
        nodes=nodes,
        gpus_per_node=gpus,
        world=_times(nodes, gpus),
        branches=frame.branches,
        reads=frame.reads,
    )


def ranks(merged: Settings) -> tuple[Value, Value]:
    """Give the nodes and the GPUs a node that train (nemo_rl/algorithms/grpo.py:759-905).

    From the cluster go the nodes of a reward model and of teachers on nodes of their own, and, where generation is
    not colocated, those of inference; on one node, GPUs go instead.
    """
    count = _Count(merged)
    nodes, gpus = count.need("cluster.num_nodes"), count.need("cluster.gpus_per_node")
    rewards = count.reward_model()
    alone = nodes is not None and whole(nodes) == 1
    if rewards and not alone:
        nodes = count.less(nodes, "env.reward_model.resources.num_nodes")
    nodes = count.without_teachers(nodes)
    if rewards and alone:
        gpus = count.less(gpus, "env.reward_model.resources.gpus_per_node")
    if count.apart():
        resources = "policy.generation.colocated.resources."
        if nodes is not None and whole(nodes) == 1:
            gpus = count.less(gpus, resources + "gpus_per_node")
        else:
            nodes = count.less(nodes, resources + "num_nodes")
    missing = unknown(count.reason or "the cluster's size is not given")
    return nodes or missing, gpus or missing


class _Count:
    """Reads counts from a config; what is unknown stays unknown."""

    def __init__(self, merged: Settings) -> None:
        self.merged = merged
        self.reason = ""

    def need(self, key: str) -> Value | None:
        value = self.merged.value(key)
        if value is None or value.is_unknown or whole(value) is None:
            self.reason = self.reason or (value.reason if value is not None else "") or f"{key} is not given"
            return None
        return value

    def less(self, total: Value | None, key: str) -> Value | None:
        part = self.need(key)
        return None if total is None or part is None else _less(total, whole(part) or 0, part.origins)

    def flag(self, key: str) -> bool:
        value = self.merged.value(key)
        if value is not None and value.is_unknown:
            self.reason = self.reason or value.reason
        return value is not None and value.data is True

    def reward_model(self) -> bool:
        return any(
            w.key.startswith("data.") and w.key.endswith("env_name") and w.value.data == "reward_model"
            for w in self.merged.writes
        )

    def apart(self) -> bool:
        """Say whether generation has GPUs of its own."""
        value = self.merged.value("policy.generation.colocated.enabled")
        return value is not None and value.data is False

    def without_teachers(self, nodes: Value | None) -> Value | None:
        """Take away the nodes of teachers that train nothing (nemo_rl/algorithms/opd.py:106)."""
        top = "on_policy_distillation."
        if not (self.flag(f"{top}enabled") and self.flag(f"{top}non_colocated_teachers.enabled")):
            return nodes
        share = self.merged.value(f"{top}deduplicate_shared_teacher_checkpoints")
        models = {
            w.key.rpartition(".")[2]: w.value.data
            for w in self.merged.writes
            if w.key.startswith(f"{top}teacher_model_by_agent_name.")
        }
        if share is None or share.data is not False:
            first = {model: alias for alias, model in reversed(models.items())}
            models = {alias: model for alias, model in models.items() if first[model] == alias}
        for alias in models:
            nodes = self._without(nodes, f"{top}non_colocated_teachers.", alias)
        return nodes

    def _without(self, nodes: Value | None, top: str, alias: str) -> Value | None:
        for key in (f"{top}teacher_overrides.{alias}.num_nodes", f"{top}default_teacher_cfg.num_nodes"):
            if self.merged.value(key) is not None:
                return self.less(nodes, key)
        return None if nodes is None else _less(nodes, 1, ())


def _less(total: Value, part: int, origins: tuple[Origin, ...]) -> Value:
    """Take away what others use; a last origin notes the sum, which stands at no place of a file."""
    left = (whole(total) or 0) - part
    if left <= 0:
        return unknown("inference and helpers take every node or GPU of the cluster", *total.origins, *origins)
    said = next((o.note for o in reversed(total.origins) if o.kind is Kind.DERIVED), "") or f"{whole(total)}"
    kept = tuple(origin for origin in total.origins if origin.kind is not Kind.DERIVED)
    return Value(total.state, left, (*kept, *origins, Origin(Kind.DERIVED, note=f"{said} - {part}")))


def _times(nodes: Value, gpus: Value) -> Value:
    for value in (nodes, gpus):
        if value.is_unknown:
            return value
    product = (whole(nodes) or 0) * (whole(gpus) or 0)
    return Value(State.SET, product, nodes.origins + gpus.origins)


def initial_variables(path: str) -> Mapping[str, str]:
    """Give the variables that follow from the path of a test suite's script, for whoever evaluates it.

    `common.env` beside the script takes its name for the experiment's and finds the config by replacing
    `tests/test_suites` in its own folder (tests/test_suites/llm/common.env:37-48), by tools that are not evaluated.
    They count wherever the script's own assignment cannot be known. Paths are as shown: relative to the tree's root.
    """
    folder, name = posixpath.split(path)
    head, mark, tail = f"/{folder}/".partition("/tests/test_suites/")
    if not mark or not name.endswith(".sh"):
        return {}
    root, experiment = head.strip("/"), name.removesuffix(".sh")
    configs = posixpath.join(root, "examples/configs/recipes", tail.strip("/"))
    return {
        "SCRIPT_DIR": folder,
        "PROJECT_ROOT": root or ".",
        "EXP_NAME": experiment,
        "CONFIG_PATH": posixpath.join(configs, f"{experiment}.yaml"),
    }
