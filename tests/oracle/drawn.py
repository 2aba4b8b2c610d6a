"""Configs drawn at random, right ones and mutated ones, as canonical fields and as questions to megatron-core."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from packaging.version import Version

Fields = dict[str, Any]

SINCE: Mapping[str, str] = {
    "num_layers_in_first_pipeline_stage": "0.11",
    "num_layers_in_last_pipeline_stage": "0.11",
    "account_for_embedding_in_pipeline_split": "0.11",
    "account_for_loss_in_pipeline_split": "0.11",
    "moe_enable_deepep": "0.12",
    "recompute_modules": "0.12",
    "mtp_num_layers": "0.12",
    "overlap_moe_expert_parallel_comm": "0.14",
    "cuda_graph_impl": "0.16",
    "cuda_graph_modules": "0.16",
    "moe_flex_dispatcher_backend": "0.16",
}
"""The versions from which `TransformerConfig` takes a field, where not all do. `cuda_graph_impl` is there from 0.15 on,
with one scope as a text."""

GROUPS = (
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "virtual_pipeline_model_parallel_size",
    "context_parallel_size",
    "hierarchical_context_parallel_sizes",
    "expert_model_parallel_size",
    "expert_tensor_parallel_size",
    "num_distributed_optimizer_instances",
)
"""The fields that `initialize_model_parallel` takes."""
GROUPS_ONLY = ("hierarchical_context_parallel_sizes", "num_distributed_optimizer_instances")
SPELLED = {"cuda_graph_modules": "cuda_graph_scope"}
"""How `TransformerConfig` spells a field on the versions that are asked, where otherwise."""
RENAMED_AT = Version("0.19")

POWERS = (1, 1, 1, 2, 2, 4)


def right(random: Random, version: str) -> tuple[int, Fields]:
    """Draw a world and a config that mostly goes."""
    tp, pp, cp, replicas = (random.choice(POWERS) for _ in range(4))
    world = tp * pp * cp * replicas
    fields: Fields = {
        "tensor_model_parallel_size": tp,
        "pipeline_model_parallel_size": pp,
        "context_parallel_size": cp,
        "num_layers": pp * random.choice((2, 4, 6)),
        "hidden_size": 512,
        "num_attention_heads": 8 * random.choice((1, 2)),
        "sequence_parallel": tp > 1,
    }
    if random.random() < 0.4:
        fields["num_query_groups"] = random.choice((4, 8))
    if pp > 2 and random.random() < 0.4:
        fields["virtual_pipeline_model_parallel_size"] = 2
    if random.random() < 0.5:
        fields |= experts(random, world // pp)
    if random.random() < 0.3 and cp == 4:
        fields["hierarchical_context_parallel_sizes"] = [2, 2]
    return world, known(fields, version)


def experts(random: Random, ranks: int) -> Fields:
    """Draw experts for a number of ranks a stage."""
    wide = random.choice([size for size in (1, 2, 4, 8) if ranks % size == 0])
    fields: Fields = {
        "num_moe_experts": 8,
        "expert_model_parallel_size": wide,
        "expert_tensor_parallel_size": 1,
        "moe_token_dispatcher_type": random.choice(("alltoall", "alltoall", "allgather")),
        "add_bias_linear": False,
        "bf16": True,
    }
    if fields["moe_token_dispatcher_type"] == "alltoall" and random.random() < 0.3:
        fields["overlap_moe_expert_parallel_comm"] = True
    return fields


FAULTS: tuple[Fields, ...] = (
    {"tensor_model_parallel_size": 3},
    {"context_parallel_size": 3},
    {"context_parallel_size": 8},
    {"pipeline_model_parallel_size": 5},
    {"expert_model_parallel_size": 16},
    {"expert_tensor_parallel_size": 3},
    {"expert_tensor_parallel_size": 16},
    {"num_layers": 7},
    {"num_layers": 1},
    {"num_attention_heads": 6},
    {"num_query_groups": 2},
    {"num_query_groups": 3},
    {"virtual_pipeline_model_parallel_size": 3},
    {"virtual_pipeline_model_parallel_size": 2},
    {"num_layers_in_first_pipeline_stage": 1},
    {"num_layers_in_first_pipeline_stage": 3, "num_layers_in_last_pipeline_stage": 3},
    {"num_layers_in_last_pipeline_stage": 2},
    {"account_for_embedding_in_pipeline_split": True},
    {"account_for_embedding_in_pipeline_split": True, "account_for_loss_in_pipeline_split": True},
    {"num_distributed_optimizer_instances": 2},
    {"num_distributed_optimizer_instances": 3},
    {"num_distributed_optimizer_instances": 4},
    {"hierarchical_context_parallel_sizes": [2, 1]},
    {"hierarchical_context_parallel_sizes": [4, 4]},
    {"cp_comm_type": ["p2p", "p2p", "p2p"]},
    {"moe_enable_deepep": True},
    {"moe_token_dispatcher_type": "flex"},
    {"moe_token_dispatcher_type": "flex", "moe_enable_deepep": True},
    {"moe_flex_dispatcher_backend": "hybridep", "moe_enable_deepep": True, "moe_token_dispatcher_type": "flex"},
    {"moe_shared_expert_overlap": True, "moe_shared_expert_intermediate_size": 512},
    {"overlap_moe_expert_parallel_comm": True},
    {"mtp_num_layers": 1},
    {"mtp_num_layers": 2},
    {"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1},
    {"recompute_granularity": "selective", "recompute_modules": ["mlp"]},
    {"recompute_granularity": "selective", "recompute_modules": ["moe"]},
    {"cuda_graph_impl": "local", "cpu_offloading": True, "cpu_offloading_num_layers": 1},
    {"cuda_graph_impl": "transformer_engine", "cuda_graph_modules": ["moe_preprocess"]},
    {"cuda_graph_impl": "transformer_engine", "cuda_graph_modules": ["moe_router", "moe"]},
)
EXPERT_FIELDS = ("moe_", "expert_", "overlap_moe")


def drawn(random: Random, version: str) -> tuple[int, Fields]:
    """Draw a world and a config with none to two faults."""
    world, fields = right(random, version)
    for _ in range(random.choice((0, 1, 1, 1, 2))):
        fault = random.choice(FAULTS)
        if any(name.startswith(EXPERT_FIELDS) for name in fault) and "num_moe_experts" not in fields:
            fields |= experts(random, 1)
        fields |= fault
    if "num_layers_in_first_pipeline_stage" in fields or "account_for_embedding_in_pipeline_split" in fields:
        fields.pop("virtual_pipeline_model_parallel_size", None)
    if fields.get("moe_token_dispatcher_type") == "flex" and _the_layer_refuses(fields, version):
        fields["moe_token_dispatcher_type"] = "alltoall"
    if "cpu_offloading" in fields:  # which is refused with stages and with recompute, and no rule speaks of that
        fields["pipeline_model_parallel_size"] = 1
        fields = {name: value for name, value in fields.items() if not name.startswith(("recompute_", "virtual_"))}
    fields["sequence_parallel"] = fields["tensor_model_parallel_size"] > 1
    return world, known(fields, version)


def _the_layer_refuses(fields: Fields, version: str) -> bool:
    """Say whether the dispatcher flex is refused when a layer is built, which nobody does here."""
    return fields["expert_model_parallel_size"] == 1 or Version(version) < Version("0.12")


def known(fields: Fields, version: str) -> Fields:
    """Leave out what a version's `TransformerConfig` does not take."""
    return {name: value for name, value in fields.items() if Version(version) >= Version(SINCE.get(name, "0"))}


def question(name: str, version: str, world: int, fields: Fields) -> dict[str, Any]:
    """Give the question that asks megatron-core about a config."""
    config = {
        name if Version(version) >= RENAMED_AT else SPELLED.get(name, name): value
        for name, value in fields.items()
        if name not in GROUPS_ONLY
    }
    groups = {name: value for name, value in fields.items() if name in GROUPS}
    return {"id": name, "tree": f"megatron-core-{version}", "world": world} | {
        "groups": groups,
        "config": config,
        "stages": True,
    }
