"""megatron-core: parallel_state, process group collections, mappings, data, checkpoints, schedules.

Source: NVIDIA/Megatron-LM at core_v0.16.1, megatron/core. Older trees spell the module megatron/mpu/initialize.py or
megatron/core/mpu; the getters kept their names.
"""

from __future__ import annotations

from meshlint.models.entry import Entry, under

_STATE = "megatron/core/parallel_state.py, core_v0.16.1"
_PREFIXES = ("parallel_state", "mpu", "mpu.initialize", "ps", "self.mpu", "mcore_parallel_state", "grid")
_CP = (("with_context_parallel", 0, ("cp",)),)
_CP_PARTIAL = (("with_context_parallel", 0, ("cp",)),)

DIMS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("tensor_model_parallel", ("tp",)),
    ("pipeline_model_parallel", ("pp",)),
    ("context_parallel", ("cp",)),
    ("model_parallel", ("tp", "pp")),
    ("tensor_and_context_parallel", ("tp", "cp")),
    ("expert_model_parallel", ("ep",)),
    ("expert_tensor_parallel", ("etp",)),
    ("expert_tensor_and_model_parallel", ("etp", "ep")),
    ("expert_tensor_model_pipeline_parallel", ("etp", "ep", "pp")),
    ("expert_data_parallel", ("edp",)),
)
"""The getters `get_X_group`, `get_X_rank`, `get_X_world_size` and the dims of X."""


def _getters() -> tuple[Entry, ...]:
    found: list[Entry] = []
    for name, dims in DIMS:
        found.append(Entry((f"get_{name}_group", f"get_{name}_group_gloo"), "group", _STATE, dims=dims))
        found.append(Entry((f"get_{name}_rank",), "rank", _STATE, dims=dims))
        found.append(Entry((f"get_{name}_world_size",), "size", _STATE, dims=dims))
    found.append(Entry(("get_data_parallel_group",), "group", _STATE, dims=("dp",), extra=_CP))
    found.append(Entry(("get_data_parallel_group_gloo",), "group", _STATE, dims=("dp",), extra=_CP))
    found.append(Entry(("get_data_parallel_rank",), "rank", _STATE, dims=("dp",), extra=_CP))
    found.append(Entry(("get_data_parallel_world_size",), "size", _STATE, dims=("dp",), extra=_CP))
    found.append(Entry(("get_tensor_and_data_parallel_group",), "group", _STATE, dims=("tp", "dp"), extra=_CP))
    return tuple(found)


_PARALLEL_STATE = under(
    _PREFIXES,
    (
        *_getters(),
        Entry(("is_pipeline_first_stage",), "first", _STATE, dims=("pp",)),
        Entry(("is_pipeline_last_stage",), "last", _STATE, dims=("pp",)),
        Entry(("is_rank_in_embedding_group",), "member", _STATE, dims=("pp",), members="ends", identity="embd"),
        Entry(("is_rank_in_position_embedding_group",), "first", _STATE, dims=("pp",)),
        Entry(("get_embedding_group",), "group", _STATE, dims=("pp",), members="ends", identity="embd"),
        Entry(("get_position_embedding_group",), "group", _STATE, dims=("pp",), members="first", identity="pos_embd"),
        Entry(("get_tensor_model_parallel_src_rank",), "source", _STATE, dims=("tp",)),
        Entry(("get_model_parallel_src_rank",), "source", _STATE, dims=("tp", "pp")),
        Entry(("get_data_parallel_src_rank",), "source", _STATE, dims=("dp",), extra=_CP),
        Entry(("get_expert_model_parallel_src_rank",), "source", _STATE, dims=("ep",)),
        Entry(("get_pipeline_model_parallel_first_rank",), "source", _STATE, dims=("pp",)),
        Entry(("get_pipeline_model_parallel_last_rank",), "source", _STATE, dims=("pp",), place="last"),
        Entry(("get_pipeline_model_parallel_next_rank", "get_pipeline_model_parallel_prev_rank"), "pure", _STATE),
        Entry(("get_context_parallel_global_ranks",), "ranks", _STATE, dims=("cp",)),
        Entry(("get_intra_distributed_optimizer_instance_group",), "group", _STATE, dims=("dp.0", "cp")),
        Entry(("get_inter_distributed_optimizer_instance_group",), "group", _STATE, dims=("dp.1",)),
        Entry(("get_amax_reduction_group",), "group", _STATE, dims=("tp", "dp"), extra=_CP),
        Entry(("get_virtual_pipeline_model_parallel_world_size", "get_virtual_pipeline_model_parallel_rank",
               "model_parallel_is_initialized", "is_initialized", "is_unitialized"), "config", _STATE),
        Entry(("initialize_model_parallel",), "op", _STATE, dims=("world",), op="initialize_model_parallel",
              composite=True, creates=True),
        Entry(("destroy_model_parallel",), "pure", _STATE),
        Entry(("create_group",), "op", _STATE, dims=("world",), op="new_group", agree=((0, "ranks"),), creates=True),
    ),
)  # fmt: skip

_GETTERS = (
    Entry(("HyperCommGrid.create_pg", "grid.create_pg"), "op", "megatron/core/hyper_comm_grid.py", dims=("world",),
          op="new_group", creates=True),
    Entry(("is_pp_first_stage", "is_vp_first_stage_of_group"), "first",
          "megatron/core/pipeline_parallel/utils.py, core_v0.16.1", dims=("pp",), group=(0, "pp_group")),
    Entry(("is_pp_last_stage",), "last", "megatron/core/pipeline_parallel/utils.py, core_v0.16.1", dims=("pp",),
          group=(0, "pp_group")),
    Entry(("is_vp_first_stage", "is_vp_last_stage"), "yes",
          "megatron/core/pipeline_parallel/utils.py:26-45, core_v0.16.1: true with one chunk; with several each chunk "
          "has its own round, in which other ranks call"),
    Entry(("utils.get_pg_rank", "get_pg_rank"), "rank", "megatron/core/utils.py, core_v0.16.1", dims=("world",),
          group=(0, "group")),
    Entry(("utils.get_pg_size", "get_pg_size"), "size", "megatron/core/utils.py, core_v0.16.1", dims=("world",),
          group=(0, "group")),
    Entry(("utils.get_pg_src_rank", "get_pg_src_rank"), "source", "megatron/core/utils.py, core_v0.16.1",
          group=(0, "group")),
    Entry(("get_tensor_model_parallel_group_if_none",), "group", "megatron/core/utils.py, core_v0.16.1", dims=("tp",)),
    Entry(("get_args", "get_model_config", "get_timers", "get_tokenizer", "global_vars.get_args"), "config",
          "megatron/training/global_vars.py, core_v0.16.1"),
    Entry(("get_forward_backward_func",), "object", "megatron/core/pipeline_parallel/schedules.py, core_v0.16.1"),
)  # fmt: skip

_FIELDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("tp", ("tp",)), ("pp", ("pp",)), ("mp", ("tp", "pp")), ("cp", ("cp",)), ("tp_cp", ("tp", "cp")), ("ep", ("ep",)),
    ("expt_tp", ("etp",)), ("tp_ep", ("etp", "ep")), ("tp_ep_pp", ("etp", "ep", "pp")),
    ("tp_dp_cp", ("tp", "dp", "cp")),
    ("dp", ("dp",)), ("dp_cp", ("dp", "cp")), ("expt_dp", ("edp",)), ("intra_dp_cp", ("dp.0", "cp")),
    ("inter_dist_opt", ("dp.1",)), ("dp_cp_ag", ("dp", "cp")),
)  # fmt: skip
"""ProcessGroupCollection: field and dims (megatron/core/process_groups_config.py, core_v0.16.1)."""

COLLECTION = tuple(
    Entry(
        tuple(f"{holder}.{field}" for holder in ("pg_collection", "pgs", "model_comm_pgs", "process_groups", "pgc")),
        "group",
        "megatron/core/process_groups_config.py, core_v0.16.1",
        dims=dims,
        attribute=True,
    )
    for field, dims in _FIELDS
)

_EMBEDDING = (
    Entry(("pg_collection.embd", "pgs.embd"), "group", "megatron/core/process_groups_config.py, core_v0.16.1",
          dims=("pp",), members="ends", identity="embd", attribute=True),
    Entry(("pg_collection.pos_embd", "pgs.pos_embd"), "group", "megatron/core/process_groups_config.py, core_v0.16.1",
          dims=("pp",), members="first", identity="pos_embd", attribute=True),
)  # fmt: skip

_MAPPINGS = "megatron/core/tensor_parallel/mappings.py, core_v0.16.1"

WRAPPERS = (
    Entry(("tensor_parallel.broadcast_data", "tensor_parallel.data.broadcast_data", "mpu.broadcast_data",
           "mpu.data.broadcast_data"), "op", "megatron/core/tensor_parallel/data.py, core_v0.16.1",
          dims=("tp",), op="broadcast_data", group=(3, "tp_group"), effect="returns"),
    Entry(("gather_from_tensor_model_parallel_region", "gather_from_sequence_parallel_region",
           "reduce_from_tensor_model_parallel_region", "all_gather_last_dim_from_tensor_parallel_region"), "op",
          _MAPPINGS, dims=("tp",), op="tp_mapping", group=(-1, "group"), effect="returns", weak=True),
    Entry(("reduce_scatter_to_sequence_parallel_region",), "op", _MAPPINGS, dims=("tp",), op="tp_reduce_scatter",
          group=(-1, "group")),
    Entry(("copy_to_tensor_model_parallel_region", "scatter_to_tensor_model_parallel_region",
           "scatter_to_sequence_parallel_region"), "unwrap", _MAPPINGS),
    Entry(("vocab_parallel_cross_entropy",), "op", "megatron/core/tensor_parallel/cross_entropy.py, core_v0.16.1",
          dims=("tp",), op="vocab_parallel_cross_entropy", group=(-1, "tp_group"), effect="returns"),
    Entry(("dist_checkpointing.save", "dist_checkpointing.load", "dist_checkpointing.serialization.save",
           "dist_checkpointing.serialization.load"), "op",
          "megatron/core/dist_checkpointing/serialization.py, core_v0.16.1", dims=("world",), op="dist_checkpointing",
          composite=True),
    Entry(("checkpointing.save_checkpoint", "checkpointing.load_checkpoint"), "op",
          "megatron/training/checkpointing.py, core_v0.16.1", dims=("world",), op="checkpoint", composite=True),
    Entry(("average_losses_across_data_parallel_group",), "op", "megatron/training/utils.py, core_v0.16.1",
          dims=("dp",), op="all_reduce", effect="returns"),
    Entry(("reduce_max_stat_across_model_parallel_group", "logical_and_across_model_parallel_group"), "op",
          "megatron/training/utils.py, core_v0.16.1", dims=("tp", "pp"), op="all_reduce", effect="returns"),
    Entry(("MTPLossLoggingHelper.track_mtp_metrics", "MTPLossLoggingHelper.reduce_loss_in_tracker",
           "MTPLossLoggingHelper.reduce_metrics_in_tracker", "DSAIndexerLossLoggingHelper.track_indexer_metrics",
           "DSAIndexerLossLoggingHelper.reduce_loss_in_tracker"), "op",
          "megatron/core/transformer/multi_token_prediction.py and experimental_attention_variant/dsa.py, main of "
          "2026-08: the tracker's avg_group is the dp-cp group that the model's forward passes in",
          dims=("dp", "cp"), op="all_reduce"),
    Entry(("moe_utils.reduce_aux_losses_tracker_across_ranks", "moe_utils.track_moe_metrics",
           "reduce_aux_losses_tracker_across_ranks"), "op",
          "megatron/core/transformer/moe/moe_utils.py, core_v0.16.1: pp, then the tracker's groups", dims=("pp",),
          op="all_reduce"),
    Entry(("allreduce_params.finalize_model_grads", "finalize_model_grads"), "op",
          "megatron/core/distributed/finalize_model_grads.py, core_v0.16.1", dims=("world",), op="finalize_model_grads",
          composite=True),
    Entry(("print_rank_0", "print_rank_last", "warn_rank_0", "log_single_rank", "log_on_each_pipeline_stage"), "pure",
          "megatron/training/utils.py, core_v0.16.1"),
    Entry(("get_cuda_rng_tracker", "is_float8tensor", "unwrap_model", "get_attr_wrapped_model"), "object",
          "megatron/core/utils.py, core_v0.16.1"),
)  # fmt: skip

_SHARDED = (
    Entry(("main_param",), "local", "megatron/core/optimizer/distrib_optimizer.py:576 at core_v0.16.1",
          dims=("dp", "cp"), attribute=True),
)  # fmt: skip
"""Attributes that the distributed optimizer leaves None where another rank holds the shard."""

ENTRIES = (*_SHARDED, *_PARALLEL_STATE, *_GETTERS, *COLLECTION, *_EMBEDDING, *WRAPPERS)
