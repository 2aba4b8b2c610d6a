"""For each version window that a rule claims, the smallest config whose verdict turns at its edges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from meshlint.config.frameworks import nemo_rl
from meshlint.config.value import Data
from meshlint.rule import Window
from meshlint_rules.cgr.graph_exclusions import rule as cgr001
from meshlint_rules.ctx.attention_sink import rule as ctx005
from meshlint_rules.ctx.fp8_attention import rule as ctx008
from meshlint_rules.ctx.mla_comm_type import rule as ctx011
from meshlint_rules.ctx.per_layer_list import rule as ctx009
from meshlint_rules.ctx.sliding_window import rule as ctx004
from meshlint_rules.hcp.a2a_p2p_without_sizes import rule as hcp001
from meshlint_rules.hcp.decentralized_pg import rule as hcp004
from meshlint_rules.hcp.hybrid_is_another_feature import rule as hcp008
from meshlint_rules.hcp.load_helper_clears_sizes import rule as hcp009
from meshlint_rules.hcp.sizes_product import rule as hcp002
from meshlint_rules.hcp.te_version import rule as hcp005
from meshlint_rules.moe.dispatcher import rule as moe004
from meshlint_rules.ovl.ep_overlap_exclusions import rule as ovl003
from meshlint_rules.ovl.param_gather import rule as ovl001
from meshlint_rules.ovl.tp_overlap_without_sp import rule as ovl002
from meshlint_rules.par.expert_world_size import rule as par002
from meshlint_rules.par.heads_per_tp import rule as par004
from meshlint_rules.par.interleaved_microbatches import rule as par011
from meshlint_rules.par.layers_per_stage import rule as par003
from meshlint_rules.par.max_connections import rule as par012
from meshlint_rules.par.optimizer_instances import rule as par010
from meshlint_rules.par.sequence_parallel_tp1 import rule as par005
from meshlint_rules.par.world_size import rule as par001
from meshlint_rules.pkd.packed_a2a import rule as pkd003
from meshlint_rules.pkd.packed_a2a_p2p import rule as pkd004
from meshlint_rules.pkd.packed_all_gather import rule as pkd002
from meshlint_rules.rcp.recompute_ignored import rule as rcp001


@dataclass(frozen=True)
class Edge:
    """A config, and what its rule says of it inside the window, below it and above it; empty is silent."""

    code: str
    window: Window
    inside: str
    below: str = ""
    above: str = ""
    framework: str = "megatron-lm"
    fields: Mapping[str, Data] = field(default_factory=dict)
    keys: Mapping[str, Data] = field(default_factory=dict)
    """Keys of the framework itself, where it asks for one."""
    entry: str = "pretrain_gpt.py"
    pins: Mapping[str, str] = field(default_factory=dict)
    """Versions of other libraries that are fixed beside it."""

    world: int = 0
    """Ranks that are launched; 0 where nobody says."""
    environment: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.code}-{self.window.library}-{self.window.since or ''}-{self.window.until or ''}"


CP = {"context_parallel_size": 4, "tensor_model_parallel_size": 1, "transformer_impl": "transformer_engine"}
LEVELS = {**CP, "cp_comm_type": ("a2a+p2p",), "hierarchical_context_parallel_sizes": (2, 2)}
PACKED = {**CP, "packed_sequences": True}
MLA = {**CP, "multi_latent_attention": True}
FP8 = {**CP, "fp8": "hybrid", "fp8_dot_product_attention": True, "attention_backend": "auto"}

EXPERTS = {
    "num_moe_experts": 8,
    "moe_layer_freq": 1,
    "expert_model_parallel_size": 8,
    "expert_tensor_parallel_size": 1,
    "moe_token_dispatcher_type": "alltoall",
}
FLEX = {**EXPERTS, "moe_token_dispatcher_type": "flex"}
GATHER = {"overlap_param_gather": True, "overlap_grad_reduce": True, "use_distributed_optimizer": True}
OVERLAP = {**EXPERTS, "overlap_moe_expert_parallel_comm": True, "bf16": True}
FULL = {"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1}
GRAPHS = {**EXPERTS, "cuda_graph_impl": "transformer_engine"}
CORE_16 = {"megatron-core": "0.16.1"}
TORCH = {"torch": "2.9.1"}
GROUPED = {"group_query_attention": True, "num_query_groups": 4}

ENCODER = {"tensor_model_parallel_size": 2, "encoder_pipeline_model_parallel_size": 1}
INTERLEAVED = {
    "pipeline_model_parallel_size": 4,
    "virtual_pipeline_model_parallel_size": 2,
    "microbatch_group_size_per_vp_stage": 5,
    "micro_batch_size": 1,
    "global_batch_size": 20,
}
QUEUES = "CUDA_DEVICE_MAX_CONNECTIONS"

LAYOUT_EDGES = (
    Edge("PAR001", par001.ENCODER_APART, "crash-start", fields=ENCODER, world=6),
    Edge(
        "PAR001",
        par001.WEIGHT_SHARDS,
        "crash-start",
        fields={"tensor_model_parallel_size": 2, "tensor_parallel_num_weight_shards": 6},
        world=8,
    ),
    Edge(
        "PAR002",
        par002.GRID,
        "",
        below="crash-start",
        fields={"tensor_model_parallel_size": 4, "context_parallel_size": 2, "expert_model_parallel_size": 2},
        world=8,
    ),
    Edge(
        "PAR002",
        par002.ENCODER_APART,
        "crash-start",
        fields={**ENCODER, "expert_model_parallel_size": 8, "expert_tensor_parallel_size": 1},
        world=8,
    ),
    Edge(
        "PAR002",
        par002.WEIGHT_SHARDS,
        "crash-start",
        fields={
            "expert_model_parallel_size": 2,
            "expert_tensor_parallel_size": 1,
            "expert_tensor_parallel_num_weight_shards": 3,
        },
        world=8,
    ),
    Edge(
        "PAR003",
        par003.STAGES_CHECKED,
        "crash-late",
        below="wrong",
        framework="megatron-bridge",
        fields={"num_layers": 6, "pipeline_model_parallel_size": 4},
    ),
    Edge(
        "PAR003",
        par003.COUNTED_APART,
        "crash-start",
        fields={
            "num_layers": 62,
            "pipeline_model_parallel_size": 8,
            "account_for_embedding_in_pipeline_split": True,
            "account_for_loss_in_pipeline_split": True,
        },
        framework="megatron-bridge",
    ),
    Edge(
        "PAR003",
        par003.NONE_BETWEEN,
        "crash-start",
        fields={
            "num_layers": 8,
            "pipeline_model_parallel_size": 2,
            "num_layers_in_first_pipeline_stage": 3,
            "num_layers_in_last_pipeline_stage": 5,
        },
    ),
    Edge(
        "PAR003",
        par003.EMPTY_REFUSED,
        "crash-start",
        below="wrong",
        fields={
            "num_layers": 8,
            "pipeline_model_parallel_size": 2,
            "num_layers_in_first_pipeline_stage": 3,
            "num_layers_in_last_pipeline_stage": 4,
        },
    ),
    Edge(
        "PAR003",
        par003.CHUNKS_EVEN,
        "crash-start",
        fields={
            "num_layers": 10,
            "pipeline_model_parallel_size": 2,
            "num_layers_in_first_pipeline_stage": 4,
            "num_layers_per_virtual_pipeline_stage": 2,
        },
    ),
    Edge(
        "PAR005",
        par005.SEQUENCE_SWITCHED_OFF,
        "",
        below="crash-start",
        framework="megatron-bridge",
        fields={"sequence_parallel": True, "tensor_model_parallel_size": 1},
    ),
    Edge(
        "PAR010",
        par010.WITH_CP,
        "",
        below="crash-start",
        fields={"context_parallel_size": 2, "num_distributed_optimizer_instances": 8},
        world=8,
    ),
    Edge(
        "PAR010",
        par010.EXPERTS_TOO,
        "crash-start",
        fields={
            "expert_model_parallel_size": 4,
            "expert_tensor_parallel_size": 1,
            "num_distributed_optimizer_instances": 4,
        },
        world=8,
    ),
    Edge("PAR011", par011.GROUPED, "", below="crash-late", fields=INTERLEAVED, world=8),
    Edge("PAR012", par012.BY_ARCHITECTURE, "", below="crash-start", environment={QUEUES: "8"}),
    Edge(
        "PAR012",
        par012.SHARDING_REFUSES,
        "crash-start",
        fields={"use_megatron_fsdp": True},
        environment={QUEUES: "1"},
    ),
    Edge(
        "PAR012",
        par012.EXPERT_OVERLAP_WARNS,
        "",
        below="crash-start",
        fields={"tensor_model_parallel_size": 2, "overlap_moe_expert_parallel_comm": True, "gpu": "H100"},
        environment={QUEUES: "8"},
    ),
)

EDGES = (
    *LAYOUT_EDGES,
    Edge(
        "HCP001",
        hcp001.BRIDGE_ASSERTS,
        "crash-start",
        below="wrong",
        framework="megatron-bridge",
        fields={**CP, "cp_comm_type": ("a2a+p2p",)},
    ),
    Edge(
        "HCP002",
        hcp002.BUILDER_ASSERTS,
        "crash-start",
        below="wrong",
        keys={"yaml_cfg": "gpt.yaml"},
        fields={**LEVELS, "hierarchical_context_parallel_sizes": (2, 1)},
    ),
    Edge(
        "HCP004",
        hcp004.REFUSED,
        "crash-start",
        below="wrong",
        framework="megatron-bridge",
        fields={**LEVELS, "use_decentralized_pg": True},
    ),
    Edge(
        "HCP004",
        hcp004.SILENT,
        "wrong",
        above="crash-start",
        framework="megatron-bridge",
        fields={**LEVELS, "use_decentralized_pg": True},
    ),
    Edge("HCP005", hcp005.OLD, "crash-late", fields=LEVELS),
    Edge(
        "HCP008",
        hcp008.HYBRID,
        "crash-late",
        fields={**LEVELS, "hybrid_context_parallel": True, "calculate_per_token_loss": True},
    ),
    Edge(
        "HCP008",
        hcp008.DYNAMIC_CHECKS,
        "crash-start",
        framework="verl",
        keys={"actor_rollout_ref.actor.strategy": "megatron"},
        fields={**CP, "dynamic_context_parallel": True, "packed_sequences": True, "max_seqlen_per_dp_cp_rank": 0},
    ),
    Edge(
        "HCP008",
        hcp008.DYNAMIC_LENGTH,
        "crash-start",
        framework="verl",
        keys={"actor_rollout_ref.actor.strategy": "megatron"},
        fields={**CP, "dynamic_context_parallel": True, "packed_sequences": True},
    ),
    Edge(
        "HCP009",
        hcp009.CLEARS,
        "wrong",
        framework="megatron-bridge",
        entry="load",
        keys={"mp_overrides.context_parallel_size": 4},
    ),
    Edge("CTX004", ctx004.ASSERTS, "crash-late", fields={**CP, "window_size": (128, 0)}),
    Edge("CTX005", ctx005.SINKS, "crash-late", fields={**CP, "softmax_type": "learnable"}),
    Edge(
        "CTX005",
        ctx005.PACKED,
        "crash-late",
        fields={**PACKED, "cp_comm_type": ("a2a",), "softmax_type": "learnable"},
    ),
    Edge("CTX008", ctx008.SINK, "crash-late", fields={**FP8, "softmax_type": "learnable"}),
    Edge("CTX008", ctx008.PACKED, "crash-late", fields={**FP8, "packed_sequences": True}),
    Edge("CTX008", ctx008.CUSTOM, "crash-late", fields={**FP8, "fp8_recipe": "custom"}),
    Edge("CTX008", ctx008.MLA, "crash-late", fields={**FP8, "multi_latent_attention": True}),
    Edge(
        "CTX009",
        ctx009.ANY_CP,
        "crash-start",
        fields={"context_parallel_size": 1, "num_layers": 4, "cp_comm_type": ("p2p", "p2p")},
    ),
    Edge(
        "PKD005",
        nemo_rl.PAD_CHECKED,
        "crash-late",
        framework="nemo-rl",
        keys={"policy.megatron_cfg.enabled": True},
        fields={**PACKED, "pad_multiple": 4},
    ),
    Edge("PKD002", pkd002.REFUSED, "crash-late", fields={**PACKED, "cp_comm_type": ("all_gather",)}),
    Edge("PKD003", pkd003.REFUSED, "crash-late", fields={**PACKED, "cp_comm_type": ("a2a",)}),
    Edge("PKD004", pkd004.REFUSED, "crash-late", fields={**PACKED, **LEVELS}),
    Edge(
        "PKD004",
        pkd004.BY_GROUP,
        "",
        above="crash-late",
        fields={**PACKED, **LEVELS, "hierarchical_context_parallel_sizes": (1, 4)},
    ),
    Edge(
        "PAR004",
        par004.DIVISORS_PASS,
        "",
        below="crash-start",
        fields={"tensor_model_parallel_size": 8, "num_attention_heads": 32, **GROUPED},
    ),
    Edge("CTX011", ctx011.REFUSED, "crash-late", below="crash-late", fields={**MLA, "cp_comm_type": ("a2a",)}),
    Edge("CTX011", ctx011.NO_BACKEND, "crash-late", fields=MLA),
    Edge(
        "CTX011",
        ctx011.PADS,
        "",
        below="crash-late",
        fields={**MLA, "cp_comm_type": ("a2a",), "packed_sequences": True},
    ),
    Edge("MOE004", moe004.DEEPEP, "crash-start", fields={**EXPERTS, "moe_enable_deepep": True}),
    Edge(
        "MOE004",
        moe004.BACKENDS,
        "crash-start",
        fields={**FLEX, "moe_enable_deepep": True, "moe_flex_dispatcher_backend": "hybridep"},
    ),
    Edge(
        "MOE004",
        moe004.NCCLEP,
        "crash-start",
        below="ignored",
        fields={**EXPERTS, "moe_flex_dispatcher_backend": "ncclep"},
    ),
    Edge("MOE004", moe004.NO_FLEX, "crash-start", fields=FLEX),
    Edge(
        "MOE004", moe004.SEQ, "", above="crash-start", fields={**EXPERTS, "moe_token_dispatcher_type": "alltoall_seq"}
    ),
    Edge(
        "MOE004",
        moe004.SHARED_FLEX,
        "",
        below="crash-start",
        fields={**FLEX, "moe_shared_expert_overlap": True, "moe_shared_expert_intermediate_size": 512},
    ),
    Edge(
        "MOE004",
        moe004.ANY_BACKEND_WIDE,
        "crash-start",
        fields={**FLEX, "expert_model_parallel_size": 1, "moe_flex_dispatcher_backend": "hybridep"},
    ),
    Edge(
        "OVL001",
        ovl001.FSDP_PASSES,
        "",
        below="crash-start",
        fields={**GATHER, "use_megatron_fsdp": True, "use_distributed_optimizer": False},
    ),
    Edge(
        "OVL001",
        ovl001.MUON_PASSES,
        "",
        below="crash-start",
        fields={**GATHER, "optimizer": "dist_muon", "use_distributed_optimizer": False},
    ),
    Edge(
        "OVL001",
        ovl001.STRATEGY_OVERLAPS,
        "",
        below="crash-start",
        above="crash-start",
        fields={**GATHER, "overlap_grad_reduce": False, "data_parallel_sharding_strategy": "optim_grads_params"},
    ),
    Edge(
        "OVL001",
        ovl001.HOOKS,
        "ignored",
        above="crash-late",
        framework="megatron-bridge",
        fields={**GATHER, "use_distributed_optimizer": False},
    ),
    Edge(
        "OVL001",
        ovl001.ONE_HAS_ALL,
        "",
        below="crash-late",
        framework="megatron-bridge",
        fields={**GATHER, "use_distributed_optimizer": False},
        world=1,
    ),
    Edge(
        "OVL002",
        ovl002.LAYERS,
        "ignored",
        framework="verl",
        keys={"actor_rollout_ref.actor.strategy": "megatron"},
        fields={"tp_comm_overlap": True, "tensor_model_parallel_size": 2, "sequence_parallel": False},
    ),
    Edge("OVL003", ovl003.THERE, "crash-start", fields={**OVERLAP, "recompute_granularity": "full"}),
    Edge("OVL003", ovl003.OLD_TORCH, "crash-start", fields=OVERLAP, pins=CORE_16),
    Edge(
        "OVL003",
        ovl003.MOE_RECOMPUTE,
        "crash-start",
        fields={**OVERLAP, "recompute_granularity": "selective", "recompute_modules": ("moe",)},
        pins=TORCH,
    ),
    Edge("OVL003", ovl003.MTP_PIPELINE, "crash-start", fields={**OVERLAP, "mtp_num_layers": 1}, pins=TORCH),
    Edge("OVL003", ovl003.MTP_ZERO, "", below="crash-start", fields={**OVERLAP, "mtp_num_layers": 0}, pins=TORCH),
    Edge(
        "RCP001",
        rcp001.MODULES,
        "ignored",
        fields={"recompute_modules": ("mlp",)},
    ),
    Edge("RCP001", rcp001.RUNS_OVER, "crash-late", fields={**FULL, "num_layers": 4, "recompute_num_layers": 3}),
    Edge("CGR001", cgr001.CHECKED, "crash-start", fields={"cuda_graph_impl": "local", "cpu_offloading": True}),
    Edge(
        "CGR001",
        cgr001.NO_RECOMPUTE,
        "crash-start",
        fields={"cuda_graph_impl": "local", "recompute_granularity": "selective", "cuda_graph_modules": ("attn",)},
        above="crash-start",
    ),
    Edge(
        "CGR001",
        cgr001.ATTN_RECOMPUTE,
        "crash-start",
        fields={
            "cuda_graph_impl": "transformer_engine",
            "recompute_granularity": "selective",
            "cuda_graph_modules": ("attn",),
            "attention_dropout": 0.0,
        },
    ),
    Edge("CGR001", cgr001.SCOPES, "crash-start", fields={**GRAPHS, "cuda_graph_modules": ("moe", "moe_router")}),
    Edge(
        "CGR001",
        cgr001.OFFLOADS,
        "",
        below="crash-start",
        fields={"cuda_graph_impl": "local", "cuda_graph_modules": ("full_iteration",), "cpu_offloading": True},
    ),
)
