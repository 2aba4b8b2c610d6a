"""What frameworks on megatron-core share: its config fields under their own names, defaults, and derived fields.

Not a framework by itself. `core_v0.16.1` in a source is the tag of Megatron-LM, paths count from `megatron/core`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from meshlint.config.framework import Default, Spelling, Window
from meshlint.config.parse import as_bool
from meshlint.config.value import Data, Kind, Origin, State, Value, derived_from, unknown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from meshlint.config.effective import EffectiveConfig
    from meshlint.config.launch import Launch

CORE = "megatron-core"
TE = "transformer-engine"
TORCH = "torch"

Rows = tuple[tuple[str, str], ...]

MODEL_PARALLEL: Rows = (
    ("tensor_model_parallel_size", "core_v0.16.1 model_parallel_config.py:20"),
    ("pipeline_model_parallel_size", "core_v0.16.1 model_parallel_config.py:28"),
    ("virtual_pipeline_model_parallel_size", "core_v0.16.1 model_parallel_config.py:31"),
    ("sequence_parallel", "core_v0.16.1 model_parallel_config.py:39"),
    ("context_parallel_size", "core_v0.16.1 model_parallel_config.py:45"),
    ("hierarchical_context_parallel_sizes", "core_v0.16.1 model_parallel_config.py:48"),
    ("max_seqlen_per_dp_cp_rank", "core_v0.16.1 model_parallel_config.py:56, new there"),
    ("hybrid_context_parallel", "core_v0.16.1 model_parallel_config.py:65, new there"),
    ("expert_model_parallel_size", "core_v0.16.1 model_parallel_config.py:72"),
    ("expert_tensor_parallel_size", "core_v0.16.1 model_parallel_config.py:75"),
    ("moe_extended_tp", "core_v0.16.1 model_parallel_config.py:80, gone in 0.17"),
    ("tensor_parallel_num_weight_shards", "main model_parallel_config.py:58, since 0.19"),
    ("expert_tensor_parallel_num_weight_shards", "main model_parallel_config.py:135, since 0.19"),
    ("pipeline_model_parallel_split_rank", "core_v0.13.1 model_parallel_config.py:289, gone in 0.14"),
    ("fp16", "core_v0.16.1 model_parallel_config.py:106"),
    ("bf16", "core_v0.16.1 model_parallel_config.py:109"),
    ("tp_comm_overlap", "core_v0.16.1 model_parallel_config.py:186"),
    ("overlap_moe_expert_parallel_comm", "core_v0.16.1 model_parallel_config.py:264, since 0.14"),
    ("delay_wgrad_compute", "core_v0.16.1 model_parallel_config.py:269, since 0.13"),
    ("variable_seq_lengths", "core_v0.16.1 model_parallel_config.py:291"),
    ("overlap_p2p_comm", "core_v0.16.1 model_parallel_config.py:297"),
    ("batch_p2p_comm", "core_v0.16.1 model_parallel_config.py:302"),
    ("defer_embedding_wgrad_compute", "core_v0.16.1 model_parallel_config.py:322"),
    ("microbatch_group_size_per_vp_stage", "core_v0.16.1 model_parallel_config.py:343"),
    ("cpu_offloading", "core_v0.16.1 model_parallel_config.py:370"),
)
"""Fields of `ModelParallelConfig`, which `TransformerConfig` inherits."""

TRANSFORMER: Rows = (
    ("num_layers", "core_v0.16.1 transformer/transformer_config.py:45"),
    ("mtp_num_layers", "core_v0.16.1 transformer/transformer_config.py:48, since 0.12"),
    ("num_layers_in_first_pipeline_stage", "core_v0.16.1 transformer/transformer_config.py:62, since 0.11"),
    ("num_layers_in_last_pipeline_stage", "core_v0.16.1 transformer/transformer_config.py:66, since 0.11"),
    ("pipeline_model_parallel_layout", "core_v0.16.1 transformer/transformer_config.py:70, since 0.13"),
    ("account_for_embedding_in_pipeline_split", "core_v0.16.1 transformer/transformer_config.py:96, since 0.11"),
    ("account_for_loss_in_pipeline_split", "core_v0.16.1 transformer/transformer_config.py:100, since 0.11"),
    ("hidden_size", "core_v0.16.1 transformer/transformer_config.py:104"),
    ("num_attention_heads", "core_v0.16.1 transformer/transformer_config.py:107"),
    ("attention_backend", "core_v0.16.1 transformer/transformer_config.py:110, since 0.11"),
    ("softmax_type", "core_v0.16.1 transformer/transformer_config.py:119, since 0.15"),
    ("num_query_groups", "core_v0.16.1 transformer/transformer_config.py:124"),
    ("ffn_hidden_size", "core_v0.16.1 transformer/transformer_config.py:129"),
    ("kv_channels", "core_v0.16.1 transformer/transformer_config.py:133"),
    ("attention_dropout", "core_v0.16.1 transformer/transformer_config.py:140"),
    ("add_bias_linear", "core_v0.16.1 transformer/transformer_config.py:161"),
    ("num_moe_experts", "core_v0.16.1 transformer/transformer_config.py:188"),
    ("window_size", "core_v0.16.1 transformer/transformer_config.py:196"),
    ("window_attn_skip_freq", "core_v0.16.1 transformer/transformer_config.py:200, since 0.15"),
    ("calculate_per_token_loss", "core_v0.16.1 transformer/transformer_config.py:233"),
    ("multi_latent_attention", "core_v0.16.1 transformer/transformer_config.py:237"),
    ("experimental_attention_variant", "core_v0.16.1 transformer/transformer_config.py:250, new there"),
    ("linear_attention_freq", "core_v0.16.1 transformer/transformer_config.py:275, new there"),
    ("linear_num_key_heads", "core_v0.16.1 transformer/transformer_config.py:291, new there"),
    ("linear_num_value_heads", "core_v0.16.1 transformer/transformer_config.py:294, new there"),
    ("recompute_granularity", "core_v0.16.1 transformer/transformer_config.py:383"),
    ("recompute_method", "core_v0.16.1 transformer/transformer_config.py:394"),
    ("recompute_num_layers", "core_v0.16.1 transformer/transformer_config.py:402"),
    ("distribute_saved_activations", "core_v0.16.1 transformer/transformer_config.py:408"),
    ("recompute_modules", "core_v0.16.1 transformer/transformer_config.py:411, since 0.12"),
    ("fp8", "core_v0.16.1 transformer/transformer_config.py:429"),
    ("fp8_recipe", "core_v0.16.1 transformer/transformer_config.py:436, since 0.12"),
    ("fp8_dot_product_attention", "core_v0.16.1 transformer/transformer_config.py:477"),
    ("fp8_multi_head_attention", "core_v0.16.1 transformer/transformer_config.py:480"),
    ("fp4", "core_v0.16.1 transformer/transformer_config.py:510, since 0.15"),
    ("moe_shared_expert_intermediate_size", "core_v0.16.1 transformer/transformer_config.py:534"),
    ("moe_shared_expert_overlap", "core_v0.16.1 transformer/transformer_config.py:550"),
    ("moe_layer_freq", "core_v0.16.1 transformer/transformer_config.py:556"),
    ("moe_ffn_hidden_size", "core_v0.16.1 transformer/transformer_config.py:561"),
    ("moe_router_topk", "core_v0.16.1 transformer/transformer_config.py:578"),
    ("moe_grouped_gemm", "core_v0.16.1 transformer/transformer_config.py:649"),
    ("moe_token_dispatcher_type", "core_v0.16.1 transformer/transformer_config.py:675"),
    ("moe_enable_deepep", "core_v0.16.1 transformer/transformer_config.py:679, since 0.12"),
    ("moe_flex_dispatcher_backend", "core_v0.16.1 transformer/transformer_config.py:682, new there"),
    ("moe_expert_capacity_factor", "core_v0.16.1 transformer/transformer_config.py:690"),
    ("moe_pad_expert_input_to_capacity", "core_v0.16.1 transformer/transformer_config.py:694"),
    ("cp_comm_type", "core_v0.16.1 transformer/transformer_config.py:732"),
    ("cuda_graph_impl", "core_v0.16.1 transformer/transformer_config.py:776, since 0.15"),
    ("cuda_graph_modules", "main transformer/transformer_config.py:1090, since 0.18"),
    ("is_hybrid_model", "core_v0.16.1 transformer/transformer_config.py:843, since 0.12"),
    ("transformer_impl", "core_v0.16.1 transformer/transformer_config.py:880, since 0.14"),
    ("qk_head_dim", "core_v0.16.1 transformer/transformer_config.py:2022 (MLATransformerConfig)"),
    ("qk_pos_emb_head_dim", "core_v0.16.1 transformer/transformer_config.py:2025 (MLATransformerConfig)"),
    ("v_head_dim", "core_v0.16.1 transformer/transformer_config.py:2028 (MLATransformerConfig)"),
)
"""Fields of `TransformerConfig` and `MLATransformerConfig`."""

DDP: Rows = (
    ("overlap_grad_reduce", "core_v0.16.1 distributed/distributed_data_parallel_config.py:14"),
    ("overlap_param_gather", "core_v0.16.1 distributed/distributed_data_parallel_config.py:17"),
    ("use_distributed_optimizer", "core_v0.16.1 distributed/distributed_data_parallel_config.py:25"),
    ("num_distributed_optimizer_instances", "core_v0.16.1 distributed/distributed_data_parallel_config.py:30"),
    ("average_in_collective", "core_v0.16.1 distributed/distributed_data_parallel_config.py:57"),
    ("fp8_param_gather", "core_v0.16.1 distributed/distributed_data_parallel_config.py:61"),
    ("use_megatron_fsdp", "core_v0.16.1 distributed/distributed_data_parallel_config.py:69, since 0.14"),
    ("data_parallel_sharding_strategy", "core_v0.16.1 distributed/distributed_data_parallel_config.py:79, since 0.12"),
)
"""Fields of `DistributedDataParallelConfig`."""

OPTIMIZER: Rows = (
    ("optimizer", "core_v0.16.1 optimizer/optimizer_config.py:209"),
    ("use_distributed_optimizer", "core_v0.16.1 optimizer/optimizer_config.py:287"),
    ("overlap_param_gather_with_optimizer_step", "core_v0.16.1 optimizer/optimizer_config.py:297"),
)
"""Fields of `OptimizerConfig`."""


_TC = "core_v0.16.1 transformer/transformer_config.py"
_MPC = "core_v0.16.1 model_parallel_config.py"
_DDPC = "core_v0.16.1 distributed/distributed_data_parallel_config.py"

DEFAULTS: tuple[Default, ...] = (
    Default("tensor_model_parallel_size", 1, f"{_MPC}:20"),
    Default("pipeline_model_parallel_size", 1, f"{_MPC}:28"),
    Default("context_parallel_size", 1, f"{_MPC}:45"),
    Default("expert_model_parallel_size", 1, f"{_MPC}:72"),
    Default("sequence_parallel", False, f"{_MPC}:39"),
    Default("hybrid_context_parallel", False, f"{_MPC}:65"),
    Default("moe_extended_tp", False, f"{_MPC}:80"),
    Default("cp_comm_type", ("p2p",), "core_v0.16.1 extensions/transformer_engine.py:1240, None is taken as p2p"),
    Default("num_distributed_optimizer_instances", 1, f"{_DDPC}:30"),
    Default("account_for_embedding_in_pipeline_split", False, f"{_TC}:96"),
    Default("account_for_loss_in_pipeline_split", False, f"{_TC}:100"),
    Default("attention_backend", "auto", f"{_TC}:110", Window(CORE, since="0.11")),
    Default("softmax_type", "vanilla", f"{_TC}:119"),
    Default("transformer_impl", "transformer_engine", f"{_TC}:880"),
    Default("attention_dropout", 0.1, f"{_TC}:140"),
    Default("add_bias_linear", True, f"{_TC}:161"),
    Default("calculate_per_token_loss", False, f"{_TC}:233"),
    Default("average_in_collective", False, f"{_DDPC}:57"),
    Default("multi_latent_attention", False, f"{_TC}:237"),
    Default("is_hybrid_model", False, f"{_TC}:843"),
    Default("moe_router_topk", 2, f"{_TC}:578"),
    Default("moe_layer_freq", 1, f"{_TC}:556"),
    Default("moe_grouped_gemm", False, f"{_TC}:649"),
    Default("moe_token_dispatcher_type", "allgather", f"{_TC}:675"),
    Default("moe_enable_deepep", False, f"{_TC}:679"),
    Default("moe_flex_dispatcher_backend", "deepep", f"{_TC}:682", Window(CORE, since="0.16")),
    Default("moe_shared_expert_overlap", False, f"{_TC}:550"),
    Default("moe_pad_expert_input_to_capacity", False, f"{_TC}:694"),
    Default("fp8_recipe", "delayed", f"{_TC}:436"),
    Default("fp8_param_gather", False, f"{_DDPC}:61"),
    Default("fp8_dot_product_attention", False, f"{_TC}:477"),
    Default("fp8_multi_head_attention", False, f"{_TC}:480"),
    Default("recompute_modules", ("core_attn",), f"{_TC}:1193, where none are given", Window(CORE, since="0.12")),
    Default("distribute_saved_activations", False, f"{_TC}:408"),
    Default("overlap_p2p_comm", False, f"{_MPC}:297"),
    Default("batch_p2p_comm", True, f"{_MPC}:302"),
    Default("overlap_grad_reduce", False, f"{_DDPC}:14"),
    Default("overlap_param_gather", False, f"{_DDPC}:17"),
    Default("overlap_param_gather_with_optimizer_step", False, "core_v0.16.1 optimizer/optimizer_config.py:297"),
    Default("tp_comm_overlap", False, f"{_MPC}:186"),
    Default("overlap_moe_expert_parallel_comm", False, f"{_MPC}:264"),
    Default("delay_wgrad_compute", False, f"{_MPC}:269"),
    Default("defer_embedding_wgrad_compute", False, f"{_MPC}:322"),
    Default("variable_seq_lengths", False, f"{_MPC}:291"),
    Default("cpu_offloading", False, f"{_MPC}:370"),
    Default("use_distributed_optimizer", False, f"{_DDPC}:25"),
    Default("optimizer", "adam", "core_v0.16.1 optimizer/optimizer_config.py:209"),
    Default("use_megatron_fsdp", False, f"{_DDPC}:69"),
    Default("data_parallel_sharding_strategy", "no_shard", f"{_DDPC}:79"),
    Default("use_torch_fsdp2", False, "core_v0.16.1 ../training/arguments.py:2335"),
    Default("use_tp_pp_dp_mapping", False, "core_v0.16.1 parallel_state.py, the order argument"),
    Default("use_gloo_process_groups", True, "core_v0.16.1 parallel_state.py, create_gloo_process_groups"),
    Default("fp16", False, f"{_MPC}:106"),
    Default("bf16", False, f"{_MPC}:109"),
    Default("training", True, "an entry that trains"),
)
"""Defaults of megatron-core's own dataclasses; a framework's own rows stand before them and win."""


def named(rows: Rows, *prefixes: str, only: Iterable[str] = (), without: Iterable[str] = ()) -> tuple[Spelling, ...]:
    """Spell fields by their own names behind each prefix; `only` some of them, or `without` some."""
    wanted, left_out = frozenset(only), frozenset(without)
    sources = dict(reversed(rows))
    return tuple(
        Spelling(field, tuple(prefix + field for prefix in prefixes), source=sources[field])
        for field in dict.fromkeys(field for field, _ in rows)
        if field not in left_out and (not wanted or field in wanted)
    )


def negated(data: Data) -> Data:
    """Turn a switch that turns something off (`--no-x`) into the thing's own truth value."""
    switch = as_bool(data)
    return None if switch is None else not switch


def means(word: str) -> Callable[[Data], Data]:
    """Turn a switch into the value that it stands for; switched off, it stands for none."""
    return lambda data: word if as_bool(data) else None


def follows(text: str, *inputs: Value) -> Value | None:
    """Give the unknown that one of the inputs is, so that what follows from them is unknown too; else None."""
    stop = next((v for v in inputs if v.is_unknown), None)
    return None if stop is None else unknown(f"{text}: {stop.reason}", *stop.origins)


def heads_where_not_grouped(config: EffectiveConfig) -> Value | None:
    """Derive `num_query_groups`: without grouping there is one for each head.

    Source: core_v0.16.1 transformer/transformer_config.py:936.
    """
    heads = config.value("num_attention_heads")
    if heads.data is None and not heads.is_unknown:
        return None
    return follows("num_attention_heads", heads) or derived_from(heads.data, "one group for each attention head", heads)


def hidden_over_heads(config: EffectiveConfig) -> Value | None:
    """Derive `kv_channels`: the hidden size over the heads (core_v0.16.1 transformer/transformer_config.py:934)."""
    hidden, heads = config.value("hidden_size"), config.value("num_attention_heads")
    stop = follows("kv_channels", hidden, heads)
    if stop is not None:
        return stop
    if not isinstance(hidden.data, int) or not isinstance(heads.data, int) or heads.data < 1:
        return None
    return derived_from(hidden.data // heads.data, "hidden_size / num_attention_heads", hidden, heads)


def tp_where_none(config: EffectiveConfig, value: Value) -> Value:
    """Amend `expert_tensor_parallel_size`: None is tp (core_v0.16.1 parallel_state.py:786, since 0.10)."""
    if value.is_unknown or value.data is not None:
        return value
    tp = config.value("tensor_model_parallel_size")
    return tp if tp.is_unknown else derived_from(tp.data, "expert tensor parallel size follows tp", tp)


def p2p_where_none(_: EffectiveConfig, value: Value) -> Value:
    """Amend `cp_comm_type`: null is taken as p2p (core_v0.16.1 extensions/transformer_engine.py:1240)."""
    return value if value.is_unknown or value.data is not None else value.with_data(("p2p",))


def entry_says(text: str, launch: Launch) -> Value:
    """Make a truth that the entry point alone tells, written where it is launched."""
    note = f"{launch.entry} does"
    return Value(State.SET, True, (Origin(Kind.DERIVED, text, launch.place, launch.surface, note=note),))


def forward_only(*roles: str) -> Callable[[EffectiveConfig], Value | None]:
    """Derive `training`: these roles run no backward pass."""

    def derive(config: EffectiveConfig) -> Value | None:
        name = config.role.name
        return derived_from(False, f"the role {name} only runs forward") if name in roles else None

    return derive


def groups_where_none(config: EffectiveConfig, value: Value) -> Value:
    """Amend `num_query_groups`: null means one for each head (core_v0.16.1 transformer/transformer_config.py:936)."""
    if value.is_unknown or value.data is not None:
        return value
    return heads_where_not_grouped(config) or value


AMEND: dict[str, Callable[[EffectiveConfig, Value], Value]] = {
    "expert_tensor_parallel_size": tp_where_none,
    "cp_comm_type": p2p_where_none,
    "num_query_groups": groups_where_none,
}
"""What megatron-core itself makes of a null."""
