"""Each version window that a rule claims, and what proves its edges: data.

A window is proved on the two wheels beside each of its edges: megatron-core itself is asked the same question on both
(`Ask`), or a statement is found in the source of one and not of the other (`Read`), in the wheels or, where no wheel
has the file, at the tags.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from source import Shape
from te_guards import BY_NAME

BESIDE: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "megatron-core": {
        "0.10": ("0.9.0", "0.10.0"),
        "0.11": ("0.10.0", "0.11.0"),
        "0.12": ("0.11.0", "0.12.0"),
        "0.13": ("0.12.3", "0.13.0"),
        "0.14": ("0.13.1", "0.14.0"),
        "0.15": ("0.14.0", "0.15.0"),
        "0.16": ("0.15.3", "0.16.0"),
        "0.17": ("0.16.1", "0.17.0"),
        "0.17.1": ("0.17.0", "0.17.1"),
        "0.18": ("0.17.1", "0.18.0"),
        "0.19": ("0.18.2", "0.19.0"),
    },
    "transformer-engine": {
        "1.11": ("1.10.0", "1.11.0"),
        "1.12": ("1.11.0", "1.12.0"),
        "2.0": ("1.13.0", "2.1.0"),
        "2.5": ("2.4.0", "2.5.0"),
        "2.8": ("2.7.0", "2.8.0"),
        "2.10": ("2.9.0", "2.10.0"),
        "2.12": ("2.11.0", "2.12.0"),
        "2.15": ("2.14.1", "2.15.0"),
        "2.16": ("2.15.0", "2.16.0"),
        "2.18": ("2.17.1", "2.18.0"),
        "2.19": ("2.18.0", "2.19.0"),
    },
    "megatron-bridge": {
        "0.2": ("0.1.0rc4", "0.2.0rc6"),
        "0.3": ("0.2.0rc6", "0.3.0"),
        "0.4": ("0.3.1", "0.4.0"),
        "0.6": ("0.5.1", "0.6.0"),
    },
    "nemo-rl": {"0.6": ("0.5.0", "0.6.0")},
    "verl": {"0.8": ("0.7.1", "0.8.0"), "0.9": ("0.8.0", "0.9.0")},
    "torch": {"2.6": ("2.5.1", "2.6.0")},
}
"""The releases beside each edge. Transformer Engine 2.0 and Bridge 0.2.0 have a tag and no wheel; 2.1.0 and the last
candidate of 0.2.0 stand in."""

TORCH_ASKED_ON = "0.16.1"
"""The megatron-core that is asked where the edge is torch's, which it is told to see."""


@dataclass(frozen=True)
class Ask:
    """A question to megatron-core; `before` and `after` are in the errors of the two answers, "" where it accepts."""

    question: Mapping[str, Any]
    before: str = ""
    after: str = ""
    layers: tuple[int | None, int | None] | None = None
    """The layers that all stages build together, where that is what differs."""

    @property
    def how(self) -> str:
        """Say which of its classes runs."""
        names = {"groups": "initialize_model_parallel", "config": "TransformerConfig"}
        return " and ".join(f"`{said}`" for key, said in names.items() if key in self.question)


@dataclass(frozen=True)
class Read:
    """A statement that stands in one of the two releases and not in the other."""

    shape: Shape
    there: str
    """`before` or `after`."""
    tags: bool = False
    """No wheel has the file: it is read at the tags of the source."""


@dataclass(frozen=True)
class Proof:
    """One edge of one window: the rule, the window's name in the rule's module, the version, and what proves it."""

    code: str
    window: str
    edge: str
    by: tuple[Ask | Read, ...]
    note: str = ""


def config(before: str = "", after: str = "", layers: tuple[int | None, int | None] | None = None, **named: Any) -> Ask:
    """Ask `TransformerConfig`."""
    question: dict[str, Any] = {"config": {**SMALL, **named}}
    return Ask(question | ({"stages": True} if layers else {}), before, after, layers)


def groups(before: str = "", after: str = "", world: int = 8, **named: Any) -> Ask:
    """Ask `initialize_model_parallel`."""
    return Ask({"world": world, "groups": named}, before, after)


def guard(name: str, there: str) -> Read:
    """Read a guard of Transformer Engine; the first of its shapes that counts at this edge is its last."""
    return Read(BY_NAME[name].shapes[0], there)


def later(name: str, there: str) -> Read:
    """Read the second shape of a guard."""
    return Read(BY_NAME[name].shapes[1], there)


SMALL = {"num_layers": 4, "hidden_size": 64, "num_attention_heads": 4}
EXPERTS = {
    "num_moe_experts": 8,
    "moe_token_dispatcher_type": "alltoall",
    "expert_model_parallel_size": 8,
    "expert_tensor_parallel_size": 1,
    "add_bias_linear": False,
}
FLEX = {**EXPERTS, "moe_token_dispatcher_type": "flex"}
OVERLAP = {**EXPERTS, "overlap_moe_expert_parallel_comm": True, "bf16": True}
FULL = {"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1}
OFFLOAD = {"cpu_offloading": True, "cpu_offloading_num_layers": 1}
ATTENTION = {
    "cuda_graph_impl": "transformer_engine",
    "cuda_graph_scope": "attn",
    "recompute_granularity": "selective",
    "attention_dropout": 0.0,
}
ENCODER = groups(
    "world_size (6) is not divisible by 4",
    "encoder_pipeline_model_parallel_size",
    world=6,
    tensor_model_parallel_size=2,
    encoder_pipeline_model_parallel_size=1,
)
NO_FIELD = "unexpected keyword argument"

CORE = "megatron/core/"
MOE_LAYER = (f"{CORE}transformer/moe/moe_layer.py",)
DISPATCHER = (f"{CORE}transformer/moe/token_dispatcher.py",)
ARGUMENTS = ("megatron/training/arguments.py",)
BRIDGE = "megatron/bridge/"
SHARDS = (
    Read(Shape((f"{CORE}model_parallel_config.py",), "field", ("tensor_parallel_num_weight_shards",)), "after"),
    Read(Shape(ARGUMENTS, "set", ("total_model_size", "gtp_weight_remat_size"), "validate_args"), "after"),
)

CONFIG = (f"{CORE}transformer/transformer_config.py",)
SIZES_ASSERTED = Read(
    Shape((f"{BRIDGE}training/config.py",), "assert", ("hcp_sizes", "hierarchical_context_parallel_sizes"),
          "_validate_cp_comm_type"), "after",
)  # fmt: skip
GRID = groups(
    "expert_model_parallel_size",
    "",
    tensor_model_parallel_size=4,
    context_parallel_size=2,
    expert_model_parallel_size=2,
)

TABLES = (
    Proof("megatron-bridge", "EXPERTS_WHOLE", "0.6",
          (Read(Shape((f"src/{BRIDGE}models/transformer_config.py",), "set",
                      ("expert_tensor_parallel_size", "1", "expert_model_parallel_size")), "after", tags=True),)),
    Proof("megatron-bridge", "PAD_MENDED", "0.6",
          (Read(Shape(("scripts/training/run_recipe.py",), "set", ("sync_offline_packing_alignment", "recipe")),
                "after", tags=True),)),
    Proof("megatron-core", "attention_backend", "0.11",
          (Read(Shape(CONFIG, "field", ("attention_backend",)), "after"),)),
    Proof("megatron-core", "moe_flex_dispatcher_backend", "0.16",
          (Read(Shape(CONFIG, "field", ("moe_flex_dispatcher_backend",)), "after"),)),
    Proof("megatron-core", "recompute_modules", "0.12",
          (Read(Shape(CONFIG, "field", ("recompute_modules",)), "after"),)),
    Proof("megatron-lm", "PATTERN_RULES", "0.17",
          (Read(Shape(ARGUMENTS, "set", ("get_hybrid_total_layer_count", "hybrid_layer_pattern"), "validate_args"),
                "after", tags=True),)),
    Proof("megatron-lm", "SFT_PACKS", "0.16",
          (Read(Shape(("pretrain_gpt.py",), "set", ("cu_seqlens", "batch", "pop")), "after", tags=True),)),
    Proof("megatron-lm", "data_parallel_sharding_strategy", "0.18",
          (Read(Shape(ARGUMENTS, "call", ("sharding", "strategy", "default=optim_grads_params")), "after",
                tags=True),)),
    Proof("megatron-lm", "hybrid_attention_ratio", "0.17",
          (Read(Shape(ARGUMENTS, "call", ("hybrid", "attention", "ratio", "default=0.0")), "before", tags=True),)),
    Proof("megatron-lm", "hybrid_mlp_ratio", "0.17",
          (Read(Shape(ARGUMENTS, "call", ("hybrid", "mlp", "ratio", "default=0.0")), "before", tags=True),)),
    Proof("nemo-rl", "PAD_CHECKED", "0.6",
          (Read(Shape(("nemo_rl/models/megatron/data.py", "nemo_rl/models/megatron/common.py"), "assert",
                      ("pad_individual_seqs_to_multiple_of", "minimum_pad_factor")), "after", tags=True),)),
    Proof("megatron-bridge", "SIZES_CHECKED", "0.4", (SIZES_ASSERTED,)),
    Proof("card", "GRID_APART", "0.10", (GRID,)),
)  # fmt: skip
"""The windows of the frameworks' tables, and of cards, that no rule claims itself."""

RULES = (
    Proof("CGR001", "CHECKED", "0.11", (config("", "CPU offloading", enable_cuda_graph=True, **OFFLOAD),)),
    Proof("CGR001", "NO_RECOMPUTE", "0.11",
          (config("", "activation recomputation", enable_cuda_graph=True, recompute_granularity="selective"),)),
    Proof("CGR001", "NO_RECOMPUTE", "0.15",
          (config("", "core_attn", external_cuda_graph=True, cuda_graph_scope="attn", attention_dropout=0.0,
                  recompute_granularity="selective", recompute_modules=["core_attn"]),),
          "before, only graphs of `enable_cuda_graph` are looked at; after, those of Transformer Engine too"),
    Proof("CGR001", "ATTN_RECOMPUTE", "0.15",
          (config("", "core_attn", external_cuda_graph=True, cuda_graph_scope="attn", attention_dropout=0.0,
                  recompute_granularity="selective", recompute_modules=["core_attn"]),)),
    Proof("CGR001", "ATTN_RECOMPUTE", "0.16", (config("core_attn", "", recompute_modules=["core_attn"], **ATTENTION),)),
    Proof("CGR001", "SCOPES", "0.16",
          (config("", "moe_router", cuda_graph_impl="transformer_engine", cuda_graph_scope=["moe", "moe_router"],
                  **EXPERTS),)),
    Proof("CGR001", "OFFLOADS", "0.18",
          (config("CPU offloading", "", cuda_graph_impl="local", cuda_graph_scope=["full_iteration"], **OFFLOAD),)),
    Proof("CTX004", "ASSERTS", "1.11", (guard("window", "after"),)),
    Proof("CTX005", "SINKS", "2.8", (guard("sink", "after"), guard("fused-sink", "after"))),
    Proof("CTX005", "PACKED", "2.8", (guard("sink-packed", "after"),)),
    Proof("CTX005", "PACKED", "2.12", (guard("sink-packed", "before"),),
          "after, below a test of cuDNN before 9.18"),
    Proof("CTX008", "SINK", "2.8", (guard("sink-fp8", "after"),)),
    Proof("CTX008", "SINK", "2.15", (guard("sink-fp8", "before"),)),
    Proof("CTX008", "PACKED", "2.15", (guard("fused-fp8-packed", "after"),)),
    Proof("CTX008", "PACKED", "2.19", (guard("fused-fp8-packed", "before"),)),
    Proof("CTX008", "CUSTOM", "2.16", (guard("custom-recipe", "after"),)),
    Proof("CTX008", "MLA", "2.5", (guard("fused-mla-fp8", "after"),), "before, FusedAttention is dropped for any MLA"),
    Proof("CTX008", "MLA", "2.15", (guard("fused-mla-fp8", "before"),)),
    Proof("CTX009", "ANY_CP", "0.12", (config("cp_comm_type", "", cp_comm_type=["p2p", "p2p"]),)),
    Proof("CTX011", "REFUSED", "2.5", (guard("mla", "after"),)),
    Proof("CTX011", "REFUSED", "2.15", (guard("mla", "before"),)),
    Proof("CTX011", "NO_BACKEND", "2.5", (guard("fused-mla", "before"),)),
    Proof("CTX011", "PADS", "0.18",
          (Read(Shape((f"{CORE}transformer/multi_latent_attention.py",), "set", ("value", "pad", "query", "shape")),
                "after"),)),
    Proof("HCP001", "BRIDGE_ASSERTS", "0.4",
          (SIZES_ASSERTED,)),
    Proof("HCP002", "BUILDER_ASSERTS", "0.13",
          (groups("", "AssertionError", context_parallel_size=4, hierarchical_context_parallel_sizes=[2, 1]),)),
    Proof("HCP004", "REFUSED", "0.4",
          (Read(Shape((f"{BRIDGE}training/initialize.py",), "raise", ("NotImplementedError", "hcp_sizes")), "after"),)),
    Proof("HCP004", "SILENT", "0.3",
          (Read(Shape((f"{BRIDGE}training/config.py",), "field", ("use_decentralized_pg",)), "after"),
           Read(Shape((f"{BRIDGE}training/initialize.py",), "any", ("hcp", "None", "ProcessGroupCollection")),
                "after"))),
    Proof("HCP004", "SILENT", "0.4",
          (Read(Shape((f"{BRIDGE}training/initialize.py",), "raise", ("NotImplementedError", "hcp_sizes")), "after"),)),
    Proof("HCP005", "OLD", "1.12", (guard("levels", "after"),),
          "megatron-core's layers ask for 1.12.0 in so many words; before it the exchange is not there"),
    Proof("HCP008", "HYBRID", "0.16", (config(NO_FIELD, "", hybrid_context_parallel=True),)),
    Proof("HCP008", "DYNAMIC_CHECKS", "0.9",
          (Read(Shape(("verl/workers/engine/megatron/transformer_impl.py",), "raise",
                      ("NotImplementedError", "dynamic_context_parallel", "pad_to_length")), "after"),)),
    Proof("HCP008", "DYNAMIC_LENGTH", "0.8",
          (Read(Shape(("verl/workers/engine/megatron/transformer_impl.py",), "assert", ("max_seqlen_per_dp_cp_rank",)),
                "after"),)),
    Proof("HCP009", "CLEARS", "0.2",
          (Read(Shape((f"{BRIDGE}training/model_load_save.py",), "set", ("hierarchical_context_parallel_sizes", "None"),
                      "load_megatron_model"), "after"),), "0.2.0 has a tag and no wheel: its last candidate stands in"),
    Proof("MOE004", "DEEPEP", "0.12", (config(NO_FIELD, "flex", moe_enable_deepep=True, **EXPERTS),)),
    Proof("MOE004", "BACKENDS", "0.16",
          (config(NO_FIELD, "Only one backend", moe_enable_deepep=True, moe_flex_dispatcher_backend="hybridep",
                  **FLEX),)),
    Proof("MOE004", "NCCLEP", "0.19", (config("", "ncclep", moe_flex_dispatcher_backend="ncclep", **EXPERTS),)),
    Proof("MOE004", "NO_FLEX", "0.12",
          (Read(Shape(MOE_LAYER, "set", ("token_dispatcher", "moe_token_dispatcher_type", "flex"), "MoELayer"),
                "after"),)),
    Proof("MOE004", "SEQ", "0.13",
          (Read(Shape(MOE_LAYER, "set", ("token_dispatcher", "moe_token_dispatcher_type", "alltoall_seq"), "MoELayer"),
                "before"),)),
    Proof("MOE004", "SHARED_FLEX", "0.18",
          (config("moe_shared_expert_overlap", "", moe_shared_expert_overlap=True,
                  moe_shared_expert_intermediate_size=512, **FLEX),)),
    Proof("MOE004", "ANY_BACKEND_WIDE", "0.17.1",
          (Read(Shape(DISPATCHER, "assert", ("tp_size", "ep_size"), "MoEFlexTokenDispatcher",
                      ("moe_flex_dispatcher_backend",)), "before"),)),
    Proof("OVL001", "FSDP_PASSES", "0.14",
          (Read(Shape(ARGUMENTS, "assert", ("overlap_param_gather", "use_distributed_optimizer", "use_megatron_fsdp"),
                      "validate_args"), "after", tags=True),)),
    Proof("OVL001", "MUON_PASSES", "0.17",
          (Read(Shape(ARGUMENTS, "assert", ("overlap_param_gather", "use_distributed_optimizer", "dist_muon"),
                      "validate_args"), "after", tags=True),)),
    Proof("OVL001", "STRATEGY_OVERLAPS", "0.12",
          (Read(Shape(ARGUMENTS, "set", ("overlap_param_gather", "True", "data_parallel_sharding_strategy"),
                      "validate_args"), "after", tags=True),)),
    Proof("OVL001", "STRATEGY_OVERLAPS", "0.14",
          (Read(Shape(ARGUMENTS, "set", ("overlap_param_gather", "True", "data_parallel_sharding_strategy"),
                      "validate_args"), "before", tags=True),)),
    Proof("OVL001", "HOOKS", "0.17",
          (Read(Shape((f"{CORE}distributed/distributed_data_parallel.py",), "set",
                      ("use_forward_hook", "use_distributed_optimizer", "overlap_param_gather")), "before"),)),
    Proof("OVL001", "ONE_HAS_ALL", "0.18",
          (Read(Shape((f"{CORE}distributed/param_and_grad_buffer.py",), "if", ("dp_size", "1"), "start_param_sync"),
                "after"),)),
    Proof("OVL002", "LAYERS", "2.0",
          (Read(Shape(("transformer_engine/pytorch/module/linear.py",), "set",
                      ("ub_overlap_rs", "parallel_mode", "row", "sequence_parallel"), "Linear"), "after"),),
          "2.0 has a tag and no wheel: 2.1.0 stands in"),
    Proof("OVL003", "THERE", "0.14", (config(NO_FIELD, "full recomputation", **OVERLAP, **FULL),)),
    Proof("OVL003", "OLD_TORCH", "2.6", (config("torch", "", **OVERLAP),),
          f"asked of megatron-core {TORCH_ASKED_ON}, which is told to see that torch"),
    Proof("OVL003", "MOE_RECOMPUTE", "0.17",
          (config("", "recompute_modules", recompute_granularity="selective", recompute_modules=["moe"], **OVERLAP),)),
    Proof("OVL003", "MTP_PIPELINE", "0.16", (config("", "MTP", mtp_num_layers=1, **OVERLAP),)),
    Proof("OVL003", "MTP_PIPELINE", "0.18", (config("MTP", "", mtp_num_layers=1, **OVERLAP),)),
    Proof("OVL003", "MTP_ZERO", "0.19", (config("MTP", "", mtp_num_layers=0, **OVERLAP),)),
    Proof("PAR001", "ENCODER_APART", "0.14", (ENCODER,)),
    Proof("PAR001", "WEIGHT_SHARDS", "0.19", SHARDS),
    Proof("PAR002", "GRID", "0.10",
          (GRID,)),
    Proof("PAR002", "ENCODER_APART", "0.14", (ENCODER,)),
    Proof("PAR002", "WEIGHT_SHARDS", "0.19", SHARDS),
    Proof("PAR003", "STAGES_CHECKED", "0.11",
          (config("", "num_layers", (4, None), num_layers=6, pipeline_model_parallel_size=4),),
          "before, 4 of the 6 layers are built"),
    Proof("PAR003", "CHUNKS_EVEN", "0.11",
          (Read(Shape(ARGUMENTS, "assert", ("decoder_first_pipeline_num_layers", "decoder_last_pipeline_num_layers",
                      "num_layers_per_virtual_pipeline_stage"), "validate_args"), "after", tags=True),)),
    Proof("PAR003", "COUNTED_APART", "0.12",
          (config("middle", "", num_layers=62, pipeline_model_parallel_size=8,
                  account_for_embedding_in_pipeline_split=True, account_for_loss_in_pipeline_split=True),)),
    Proof("PAR003", "NONE_BETWEEN", "0.13",
          (config("ZeroDivisionError", "", num_layers=8, pipeline_model_parallel_size=2,
                  num_layers_in_first_pipeline_stage=3, num_layers_in_last_pipeline_stage=5),)),
    Proof("PAR003", "EMPTY_REFUSED", "0.16",
          (config("", "middle", (7, None), num_layers=8, pipeline_model_parallel_size=2,
                  num_layers_in_first_pipeline_stage=3, num_layers_in_last_pipeline_stage=4),),
          "before, 7 of the 8 layers are built"),
    Proof("PAR004", "DIVISORS_PASS", "0.16",
          (config("num_query_groups", "", hidden_size=256, num_attention_heads=32, num_query_groups=4,
                  tensor_model_parallel_size=8),)),
    Proof("PAR005", "SEQUENCE_SWITCHED_OFF", "0.4",
          (Read(Shape((f"{BRIDGE}models/transformer_config.py",), "set",
                      ("sequence_parallel", "False", "tensor_model_parallel_size"), "finalize"), "after"),)),
    Proof("PAR010", "WITH_CP", "0.11",
          (groups("divisible", "", context_parallel_size=2, num_distributed_optimizer_instances=8),)),
    Proof("PAR010", "EXPERTS_TOO", "0.13",
          (groups("", "Expert data parallel size", expert_model_parallel_size=4, expert_tensor_parallel_size=1,
                  num_distributed_optimizer_instances=4),)),
    Proof("PAR011", "GROUPED", "0.10",
          (Read(Shape((f"{CORE}pipeline_parallel/schedules.py",), "raise",
                      ("num_microbatches", "pipeline_parallel_size"),
                      "forward_backward_pipelining_with_interleaving", ("microbatch_group_size_per_vp_stage",)),
                "before"),
           Read(Shape((f"{CORE}pipeline_parallel/schedules.py",), "raise",
                      ("microbatch_group_size_per_vp_stage", "pipeline_parallel_size"),
                      "forward_backward_pipelining_with_interleaving"), "after"))),
    Proof("PAR012", "BY_ARCHITECTURE", "0.12",
          (Read(Shape(ARGUMENTS, "refusal", ("CUDA_DEVICE_MAX_CONNECTIONS", "get_device_arch_version"),
                      "validate_args"), "after", tags=True),)),
    Proof("PAR012", "SHARDING_REFUSES", "0.12",
          (Read(Shape(ARGUMENTS, "assert", ("CUDA_DEVICE_MAX_CONNECTIONS", "use_custom_fsdp"), "validate_args"),
                "after", tags=True),)),
    Proof("PAR012", "EXPERT_OVERLAP_WARNS", "0.14",
          (Read(Shape(ARGUMENTS, "any", ("CUDA_DEVICE_MAX_CONNECTIONS", "overlap_moe_expert_parallel_comm"),
                      "validate_args"), "after", tags=True),)),
    Proof("PKD002", "REFUSED", "2.18", (guard("gather-packed", "before"),)),
    Proof("PKD003", "REFUSED", "2.10", (guard("a2a-packed", "before"),)),
    Proof("PKD004", "REFUSED", "1.12", (later("levels-packed", "after"),)),
    Proof("PKD004", "REFUSED", "2.19", (guard("levels-packed", "before"),)),
    Proof("PKD004", "BY_GROUP", "1.12", (guard("levels-packed-by-group", "after"),)),
    Proof("PKD004", "BY_GROUP", "2.8", (guard("levels-packed-by-group", "before"), guard("levels-packed", "after"))),
    Proof("RCP001", "MODULES", "0.12",
          (config(NO_FIELD, "", recompute_granularity="selective", recompute_modules=["mlp"]),)),
    Proof("RCP001", "RUNS_OVER", "0.17",
          (Read(Shape((f"{CORE}transformer/transformer_block.py",), "set",
                      ("chunk_end", "min", "recompute_num_layers", "num_layers_per_pipeline_rank"),
                      "_checkpointed_forward"), "after"),)),
)  # fmt: skip

PROOFS = (*RULES, *TABLES)
