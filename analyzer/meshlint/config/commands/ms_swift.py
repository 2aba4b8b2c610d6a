"""ms-swift's commands: `megatron sft|pt|rlhf|export`, with flags and a YAML or JSON file of them in front.

The command starts torchrun itself where NPROC_PER_NODE or NNODES is set (swift/cli/main.py:31). With `--use_ray` it
starts Ray's pipeline, whose YAML has a section for each group of workers (swift/ray/megatron/driver_utils.py:86).
Sources count from main of August 2026.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from meshlint.config.command import Command, Word
from meshlint.config.commands.flags import Grammar, names, writes
from meshlint.config.commands.launchers import times
from meshlint.config.commands.megatron_lm import launch
from meshlint.config.hydra.program import Program, locate, program
from meshlint.config.launch import Launch, Write
from meshlint.config.parse import whole
from meshlint.config.surface import Context
from meshlint.config.value import Kind, Origin, State, Value, default, unknown
from meshlint.sources.tree import Reader, Unreadable

if TYPE_CHECKING:
    from meshlint.sources.yaml import Node

NAME = "ms-swift"
VERBS = ("sft", "pt", "rlhf", "export")
GRAMMAR = Grammar(
    lists=names(
        "dataset val_dataset cached_dataset cached_val_dataset target_modules modules_to_save adapters",
        "ref_adapters reward_funcs reward_weights recompute_modules report_to moe_router_load_balancing_type",
        "moe_aux_loss_coeff vllm_server_host vllm_server_port freeze_parameters trainable_parameters",
        "reward_model callbacks external_plugins",
    )
)


class MsSwift:
    """Reads the flags of swift's Megatron side."""

    framework = NAME

    def claims(self, command: Command) -> bool:
        """Claim `megatron VERB`, and the modules that it starts."""
        return _program(command) is not None

    def launches(self, command: Command, reader: Reader, context: Context) -> Iterator[Launch]:
        """Give the launch of a command."""
        found = _program(command)
        if found is None:
            return
        filed, variables, words = _config(found.words, command, reader)
        made = launch(NAME, command, replace(found, words=words), reader)
        environment = {**variables, **command.environment}
        nodes, gpus = _ray_ranks(filed) if _uses_ray(words) else _ranks(environment, command)
        yield replace(
            made,
            writes=(*filed, *writes(words, GRAMMAR)),
            environment=environment,
            nodes=nodes,
            gpus_per_node=gpus,
            world=times(nodes, gpus),
        )


READER = MsSwift()


def _program(command: Command) -> Program | None:
    words = command.words
    if len(words) > 1 and (words[0].text or "").rpartition("/")[2] == "megatron" and words[1].text in VERBS:
        return Program(module=f"megatron {words[1].text}", words=words[2:])
    found = program(command)
    if found is not None and found.name in VERBS and "_megatron" in found.file:
        return Program(module=f"megatron {found.name}", words=found.words)
    return None


def _ranks(environment: Mapping[str, Value], command: Command) -> tuple[Value, Value]:
    """Give nodes and GPUs a node; without NPROC_PER_NODE and NNODES one process is started."""
    if command.world is not None and command.nodes is not None and command.gpus_per_node is not None:
        return command.nodes, command.gpus_per_node
    nodes = _number(environment, "NNODES") or default(1, "NNODES is not set")
    gpus = _number(environment, "NPROC_PER_NODE") or default(1, "NPROC_PER_NODE is not set")
    return nodes, gpus


def _uses_ray(words: Sequence[Word]) -> bool:
    place = next((i for i, w in enumerate(words) if w.text == "--use_ray"), None)
    after = words[place + 1].text if place is not None and place + 1 < len(words) else None
    return place is not None and (after or "").lower() != "false"


def _ray_ranks(filed: Sequence[Write]) -> tuple[Value, Value]:
    """Give nodes and GPUs a node of the group that trains: its `gpus` are those of all nodes together."""
    given = {write.key: write.value for write in filed}
    nodes = given.get("nnodes") or default(1, "nnodes is not set")
    gpus = given.get("gpus") or unknown("the config gives no `gpus` to the group that trains")
    if nodes.is_unknown or gpus.is_unknown:
        return nodes, gpus
    if not all(isinstance(v.data, int) and v.data > 0 for v in (nodes, gpus)) or gpus.data % nodes.data:
        return nodes, unknown("`gpus` is no number that `nnodes` divides", *gpus.origins)
    return nodes, replace(gpus, data=gpus.data // nodes.data)


def _number(environment: Mapping[str, Value], name: str) -> Value | None:
    value = environment.get(name)
    if value is None or value.is_unknown:
        return value
    number = whole(str(value.data))
    if number is None:
        return unknown(f"{name} is {str(value.data)[:40]}", *value.origins)
    return Value(State.SET, number, value.origins)


def _config(
    words: Sequence[Word], command: Command, reader: Reader
) -> tuple[list[Write], dict[str, Value], tuple[Word, ...]]:
    """Read the file of flags that stands in front, or behind `--config`; the command line comes after it."""
    ray = _uses_ray(words)
    first = words[0].text if words else None
    place = next((i for i, w in enumerate(words) if w.text == "--config"), None)
    if first is not None and first.endswith((".yaml", ".yml", ".json")):
        return *_file(words[0], command, reader, ray), tuple(words[1:])
    if place is not None and place + 1 < len(words):
        return *_file(words[place + 1], command, reader, ray), (*words[:place], *words[place + 2 :])
    if words and first is None and not words[0].known:
        return [Write("*", words[0].value())], {}, tuple(words[1:])
    return [], {}, tuple(words)


def _file(word: Word, command: Command, reader: Reader, ray: bool) -> tuple[list[Write], dict[str, Value]]:
    path = locate(word.text, command, reader) if word.text is not None else None
    if path is None:
        reason = word.reason or f"the config {word.text} is not in reach"
        return [Write("*", unknown(reason, *word.origins))], {}
    from meshlint.sources.yaml import parse

    try:
        documents = parse(reader.read(path))
    except Unreadable as problem:
        return [Write("*", unknown(f"{path} cannot be read: {problem.sentence}", *word.origins))], {}
    root = documents[0] if documents else None
    found: list[Write] = []
    group: list[Write] = []
    variables: dict[str, Value] = {}
    own = {id(place) for place, _ in root.entries} if root is not None else set()
    seen: set[str] = set()
    for key, place, node in root.pairs() if root is not None and root.kind == "mapping" else ():
        if key == "ENV":
            variables.update({name: _value(entry) for name, _, entry in node.pairs()})
        elif ray and key in _GROUPS:
            group += [Write(name, _value(entry)) for name, _, entry in node.pairs()] if key == "train" else []
        else:
            name = key.replace("-", "_")
            found.append(Write(name, _value(node), same_place=name in seen))
            seen |= {name} if id(place) in own else set()
    return [*found, *group], variables


_GROUPS = ("train", "rollout", "teacher")
"""Sections of a Ray config; that of the group that trains goes over what stands outside."""


def _value(node: Node) -> Value:
    origin = Origin(Kind.WRITTEN, node.text, node.span, NAME)
    if node.kind == "sequence":
        return Value(State.SET, tuple(i.data for i in node.items), (origin,))
    if node.kind == "mapping":
        return unknown("it is a mapping", origin)
    return Value(State.SET, node.data, (origin,))
