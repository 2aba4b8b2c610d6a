"""One fault for each rule about configs, and why some rules have nothing to say of some frameworks."""

from __future__ import annotations

from collections.abc import Mapping

from mutate import Fault

CP = {"context_parallel_size": 4}
LEVELS = {**CP, "cp_comm_type": ("a2a+p2p",)}
SIZES = "hierarchical_context_parallel_sizes"
TE = {"transformer-engine": "2.19.0"}
OLD_TE = {"transformer-engine": "2.9.0"}
EVEN = (
    "pipeline_model_parallel_layout",
    "num_layers_in_first_pipeline_stage",
    "num_layers_in_last_pipeline_stage",
    "hybrid_layer_pattern",
    "num_layers_per_virtual_pipeline_stage",
)
"""Settings that say in another way which layers a stage holds."""
FLAT = {"tensor_model_parallel_size": 1, "pipeline_model_parallel_size": 1, "context_parallel_size": 1}
RANKS = 61440
"""Ranks that the parallel sizes of any launch divide, and 7 does not."""
RAMPS = ("rampup_batch_size", "step_batch_size_schedule")

EXPERTS = {"num_moe_experts": 8}
NO_SP = {"tensor_model_parallel_size": 2, "sequence_parallel": False}

FAULTS: tuple[Fault, ...] = (
    Fault("HCP001", LEVELS, (SIZES,), TE),
    Fault("HCP002", {**LEVELS, SIZES: (2, 4)}, (), {**TE, "megatron-bridge": "0.4.0"}),
    Fault("HCP003", {**LEVELS, "context_parallel_size": 8, SIZES: (2, 2, 2)}, (), TE),
    Fault("HCP004", {**LEVELS, SIZES: (2, 2), "use_decentralized_pg": True}, (), {**TE, "megatron-bridge": "0.4.0"}),
    Fault("HCP005", {**LEVELS, SIZES: (2, 2)}, (), {"transformer-engine": "1.11.0"}),
    Fault("HCP006", LEVELS, (), TE),
    Fault("HCP007", {**CP, SIZES: (2, 2)}, ("cp_comm_type",), TE),
    Fault(
        "HCP008",
        {**LEVELS, SIZES: (2, 2), "hybrid_context_parallel": True},
        (),
        {**TE, "megatron-core": "0.16.1"},
    ),
    Fault("HCP010", {**LEVELS, SIZES: (1, 4)}, (), TE),
    Fault("CTX001", {**CP, "seq_length": 4100}, (), TE),
    Fault("CTX002", {**CP, "cp_comm_type": ("allgather",)}, (), TE),
    Fault("CTX003", {"context_parallel_size": 7, "cp_comm_type": ("a2a",)}, (), TE),
    Fault("CTX004", {**CP, "window_size": (128, 0)}, ("cp_comm_type",), TE),
    Fault("CTX005", {**CP, "softmax_type": "learnable"}, ("cp_comm_type",), TE),
    Fault("CTX006", {**CP, "attention_backend": "unfused"}, (), TE),
    Fault("CTX007", {**CP, "cp_comm_type": ("a2a",)}, (), TE, ("pretrain_bert.py", "pretrain_t5.py")),
    Fault(
        "CTX008",
        {**CP, "fp8": "hybrid", "fp8_dot_product_attention": True, "attention_backend": "flash"},
        (),
        TE,
    ),
    Fault("CTX009", {**CP, "cp_comm_type": ("p2p", "p2p", "a2a")}, (), TE),
    Fault("CTX010", {"context_parallel_size": 1, "cp_comm_type": ("a2a",)}, (), TE),
    Fault(
        "CTX011",
        {**CP, "multi_latent_attention": True, "cp_comm_type": ("a2a",)},
        (),
        {"transformer-engine": "2.12.0", "megatron-core": "0.16.1"},
    ),
    Fault("PKD002", {**CP, "cp_comm_type": ("all_gather",), "packed_sequences": True}, (), OLD_TE),
    Fault("PKD003", {**CP, "cp_comm_type": ("a2a",), "packed_sequences": True}, (), OLD_TE),
    Fault("PKD004", {**LEVELS, SIZES: (2, 2), "packed_sequences": True}, (), OLD_TE),
    Fault("PKD005", {**CP, "packed_sequences": True, "pad_multiple": 4}, (), {**TE, "nemo-rl": "0.6.0"}),
    Fault("PKD009", {**CP, "packed_sequences": False}, (), TE),
    Fault("PKD006", {**CP, "sft": True, "calculate_per_token_loss": False}, (), TE),
    Fault("MOE001", {**EXPERTS, **NO_SP}, trains=True),
    Fault("MOE002", {"num_moe_experts": 6, "expert_model_parallel_size": 4}),
    Fault("MOE003", {**EXPERTS, "moe_router_topk": 16}),
    Fault(
        "MOE004",
        {**EXPERTS, "moe_enable_deepep": True, "moe_token_dispatcher_type": "alltoall"},
        (),
        {"megatron-core": "0.16.1"},
    ),
    Fault(
        "OVL001",
        {"overlap_param_gather": True, "overlap_grad_reduce": True, "use_distributed_optimizer": False},
        ("use_megatron_fsdp",),
        {"megatron-core": "0.16.1"},
    ),
    Fault("OVL002", {**NO_SP, "tp_comm_overlap": True}, (), OLD_TE),
    Fault(
        "OVL003",
        {
            **EXPERTS,
            "expert_model_parallel_size": 2,
            "overlap_moe_expert_parallel_comm": True,
            "mtp_num_layers": 3,
        },
        (),
        {"megatron-core": "0.16.1", "torch": "2.9.1"},
    ),
    Fault("RCP001", {"recompute_granularity": "selective", "recompute_num_layers": 2}, ("recompute_num_layers",)),
    Fault("CGR001", {"cuda_graph_impl": "local", "cpu_offloading": True}, (), {"megatron-core": "0.16.1"}),
    Fault("FRW001", {**CP, "override_context_parallel_size": 1}),
    Fault("FRW002", {"microbatch_group_size_per_vp_stage": 4}, ("virtual_pipeline_model_parallel_size",)),
    Fault("PAR001", {"context_parallel_size": 7}, EVEN, world=RANKS),
    Fault(
        "PAR002",
        {"expert_model_parallel_size": 7, "expert_tensor_parallel_size": 1},
        (),
        {"megatron-core": "0.16.1"},
        world=RANKS,
    ),
    Fault("PAR003", {"pipeline_model_parallel_size": 17}, EVEN, {"megatron-core": "0.16.1"}),
    Fault("PAR004", {"tensor_model_parallel_size": 11}, (), {"megatron-core": "0.16.1"}),
    Fault("PAR005", {"tensor_model_parallel_size": 1, "sequence_parallel": True}, (), {"megatron-bridge": "0.3.1"}),
    Fault(
        "PAR006",
        {
            "tensor_model_parallel_size": 4,
            "context_parallel_size": 1,
            "sequence_parallel": True,
            "seq_length": 4098,
        },
        trains=True,
        unless=("decoder_seq_length",),
    ),
    Fault("PAR007", {"pipeline_model_parallel_size": 1, "virtual_pipeline_model_parallel_size": 2}, EVEN),
    Fault("PAR008", {**FLAT, "micro_batch_size": 7, "global_batch_size": 8}, RAMPS, world=8, trains=True),
    Fault("PAR009", {"context_parallel_size": 0}),
    Fault("PAR010", {"num_distributed_optimizer_instances": 7}, (), {"megatron-core": "0.16.1"}, world=RANKS),
    Fault(
        "PAR011",
        {
            **FLAT,
            "pipeline_model_parallel_size": 4,
            "virtual_pipeline_model_parallel_size": 2,
            "microbatch_group_size_per_vp_stage": 2,
            "micro_batch_size": 1,
            "global_batch_size": 13440,
        },
        (*EVEN, *RAMPS),
        {"megatron-core": "0.16.1"},
        world=32,
        trains=True,
    ),
)

NO_LEVELS = "the sizes never reach the groups there; HCP006 says that"
PADS = "the framework pads each sequence itself"
CUTS = "the framework cuts its batches another way"

REASONS: Mapping[str, Mapping[str, str]] = {
    **{
        code: dict.fromkeys(("verl", "ms-swift", "nemo2", "roll", "areal"), NO_LEVELS)
        for code in ("HCP001", "HCP002", "HCP003", "HCP005", "HCP008", "HCP010", "PKD004")
    },
    "HCP004": dict.fromkeys(
        ("megatron-lm", "slime", "nemo-rl", "verl", "ms-swift", "nemo2", "roll", "areal"),
        "the option is Megatron-Bridge's",
    ),
    "PKD009": dict.fromkeys(
        ("megatron-lm", "slime", "megatron-bridge", "verl", "ms-swift", "nemo2", "roll", "areal"),
        "the rule is NeMo-RL's own; the others do context parallelism without packing, or pack always",
    ),
    "HCP006": dict.fromkeys(("megatron-lm", "slime", "nemo-rl", "megatron-bridge"), "the sizes reach the groups there"),
    "CTX007": {
        **dict.fromkeys(
            ("slime", "ms-swift", "verl", "nemo-rl", "roll", "areal"),
            "only T5 and BERT mask padding or add a bias, and the framework trains neither",
        ),
        **dict.fromkeys(
            ("nemo2", "megatron-bridge"), "T5 and BERT are known by Megatron-LM's entries only, not yet by recipes"
        ),
    },
    "CTX001": dict.fromkeys(("slime", "ms-swift", "verl", "nemo-rl", "roll", "areal"), PADS),
    "PKD005": dict.fromkeys(("megatron-lm", "slime", "ms-swift", "verl", "roll", "areal", "nemo2"), PADS),
    "PKD006": dict.fromkeys(("slime", "verl", "nemo-rl"), "the framework sets the loss itself"),
    "MOE001": {"areal": "the framework sets sequence parallelism itself"},
    "PAR001": {"areal": "the mesh itself says how many ranks there are"},
    "PAR003": {"areal": "the framework lays the layers out over the stages itself"},
    "PAR005": {
        "areal": "the framework sets sequence parallelism itself",
        **dict.fromkeys(("megatron-lm", "slime", "ms-swift", "verl", "roll", "nemo2"), "it is switched off there"),
    },
    "PAR006": dict.fromkeys(("slime", "ms-swift", "verl", "nemo-rl", "roll", "areal"), PADS),
    "PAR008": dict.fromkeys(("verl", "nemo-rl", "roll", "areal"), CUTS),
    "PAR009": {"areal": "a mesh with a zero cannot be written there"},
    "PAR010": dict.fromkeys(("ms-swift", "verl", "roll", "areal"), "the number never reaches the groups there"),
    "PAR011": dict.fromkeys(("slime", "verl", "nemo-rl", "roll", "areal"), CUTS),
}
"""Why a rule has nothing to say of a framework, where that does not follow from its keys."""
