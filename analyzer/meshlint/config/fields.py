"""The canonical fields: one name for each setting, whatever the framework calls it.

Names are megatron-core's own where it has one (a `TransformerConfig` or `DistributedDataParallelConfig` field, else the
flag of `arguments.py`). The table is data; docs and `meshlint config` print it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from meshlint.config.parse import (
    as_bool,
    as_data,
    as_float,
    as_frequency,
    as_int,
    as_ints,
    as_name,
    as_names,
    as_str,
    as_strs,
    as_window,
)
from meshlint.config.value import Data
from meshlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Field:
    """A canonical field; `parse` turns what a surface read (a string, a flag's presence, a YAML scalar) into its data.

    `parse` raises ValueError, with a clause that says what it wanted, for anything that it cannot mean.
    """

    name: str
    parse: Callable[[Data], Data]
    doc: str


Row = tuple[str, Callable[[Data], Data], str]


def _table(*rooms: tuple[Row, ...]) -> Mapping[str, Field]:
    return {name: Field(name, parse, doc) for rows in rooms for name, parse, doc in rows}


_PARALLEL: tuple[Row, ...] = (
    ("tensor_model_parallel_size", as_int, "ranks that share each layer's matrices (tp)"),
    ("pipeline_model_parallel_size", as_int, "pipeline stages (pp)"),
    ("virtual_pipeline_model_parallel_size", as_int, "model chunks on each pipeline rank (vpp); None: not interleaved"),
    ("num_layers_per_virtual_pipeline_stage", as_int, "layers of one model chunk, from which vpp may be derived"),
    ("pipeline_model_parallel_layout", as_data, "which layers each stage holds, written out"),
    ("num_layers_in_first_pipeline_stage", as_int, "layers of the first stage, where it differs"),
    ("num_layers_in_last_pipeline_stage", as_int, "layers of the last stage, where it differs"),
    ("account_for_embedding_in_pipeline_split", as_bool, "the embedding counts as a layer of the first stage"),
    ("account_for_loss_in_pipeline_split", as_bool, "the loss counts as a layer of the last stage"),
    ("microbatch_group_size_per_vp_stage", as_int, "micro-batches run on one chunk before the next (interleaved)"),
    (
        "pipeline_model_parallel_split_rank",
        as_int,
        "first stage of the decoder, in encoder-decoder models (core < 0.14)",
    ),
    ("encoder_tensor_model_parallel_size", as_int, "tp of a separate encoder (core < 0.14)"),
    ("encoder_pipeline_model_parallel_size", as_int, "pipeline stages of a separate encoder (core < 0.14)"),
    ("context_parallel_size", as_int, "ranks that share each sequence (cp)"),
    ("cp_comm_type", as_strs, "how context parallel ranks exchange keys and values; one entry, or one a layer"),
    ("hierarchical_context_parallel_sizes", as_ints, "degrees of the a2a and the p2p level, inner first"),
    ("hybrid_context_parallel", as_bool, "cp chosen for each packed sequence by its length (core >= 0.16)"),
    ("dynamic_context_parallel", as_bool, "cp chosen for each micro-batch (frameworks on core's development line)"),
    ("max_seqlen_per_dp_cp_rank", as_int, "tokens a rank may hold under hybrid or dynamic cp"),
    ("sequence_parallel", as_bool, "activations between tp regions are split along the sequence (SP)"),
    ("expert_model_parallel_size", as_int, "ranks that share the experts (ep)"),
    ("expert_tensor_parallel_size", as_int, "tensor parallel size inside experts (etp); None: tp"),
    ("moe_extended_tp", as_bool, "experts are split over tp x ep (deprecated)"),
    ("tensor_parallel_num_weight_shards", as_int, "weight shards of generalized tensor parallelism (core >= 0.19)"),
    ("expert_tensor_parallel_num_weight_shards", as_int, "the same for experts (core >= 0.19)"),
    ("num_distributed_optimizer_instances", as_int, "copies of the sharded optimizer state over dp"),
    ("use_tp_pp_dp_mapping", as_bool, "rank order tp-cp-ep-pp-dp in place of tp-cp-ep-dp-pp"),
    ("use_decentralized_pg", as_bool, "Megatron-Bridge builds groups without megatron-core's global state"),
    ("use_gloo_process_groups", as_bool, "gloo groups beside the NCCL ones"),
)

_MODEL: tuple[Row, ...] = (
    ("model_id", as_str, "the model's hub id or folder, from which its shape may be known"),
    ("num_layers", as_int, "transformer layers"),
    ("encoder_num_layers", as_int, "encoder layers, where the model has both"),
    ("decoder_num_layers", as_int, "decoder layers, where the model has both"),
    ("hidden_size", as_int, "width of the residual stream"),
    ("ffn_hidden_size", as_int, "width of the dense MLP"),
    ("num_attention_heads", as_int, "attention heads"),
    ("group_query_attention", as_bool, "the CLI's switch without which `num_query_groups` is not used"),
    ("num_query_groups", as_int, "key-value heads; equal to the heads where attention is not grouped"),
    ("kv_channels", as_int, "head dimension"),
    ("qk_head_dim", as_int, "query-key head dimension of MLA, without its rotary part"),
    ("qk_pos_emb_head_dim", as_int, "rotary head dimension of MLA"),
    ("v_head_dim", as_int, "value head dimension of MLA"),
    ("seq_length", as_int, "tokens of one sample, the longest there is"),
    ("dataset_seq_length", as_int, "tokens of one sample of the data, where it is set apart from the model's"),
    ("max_prompt_length", as_int, "tokens of a prompt, in reinforcement learning"),
    ("max_response_length", as_int, "tokens of a response, in reinforcement learning"),
    ("max_tokens_per_gpu", as_int, "tokens that a rank takes in one packed micro-batch"),
    ("max_position_embeddings", as_int, "longest position that the model can embed"),
    ("position_embedding_type", as_name, "learned_absolute, rope, yarn, mrope, relative (a bias), none"),
    ("window_size", as_window, "sliding window (left, right); (-1, x) is none"),
    ("window_attn_skip_freq", as_frequency, "which layers attend without the window: every N-th, or a list of 0 and 1"),
    ("softmax_type", as_name, "vanilla, or an attention sink: off-by-one, learnable"),
    ("attention_bias", as_bool, "an additive bias on the attention scores"),
    ("multi_latent_attention", as_bool, "MLA"),
    ("experimental_attention_variant", as_name, "another core attention: dsa, gated_delta_net, ..."),
    ("linear_attention_freq", as_frequency, "which layers are linear attention: every N-th is not, or a list"),
    ("linear_num_key_heads", as_int, "key heads of linear attention"),
    ("linear_num_value_heads", as_int, "value heads of linear attention"),
    ("is_hybrid_model", as_bool, "layers are a mix of Mamba, attention and MLP"),
    ("hybrid_layer_pattern", as_str, "kind of each layer of a hybrid model, one letter each, `|` between stages"),
    ("hybrid_attention_ratio", as_float, "share of attention layers in a hybrid model (core < 0.17)"),
    ("hybrid_mlp_ratio", as_float, "share of MLP layers in a hybrid model (core < 0.17)"),
    ("heterogeneous_layers_config_path", as_str, "a file that gives each layer its own shape"),
    ("mtp_num_layers", as_int, "multi-token prediction layers"),
    ("num_moe_experts", as_int, "experts; None: a dense model"),
    ("moe_router_topk", as_int, "experts that each token goes to"),
    ("moe_layer_freq", as_frequency, "which layers have experts: every N-th, or a list of 0 and 1"),
    ("moe_ffn_hidden_size", as_int, "width of one expert"),
    ("moe_shared_expert_intermediate_size", as_int, "width of the shared experts"),
    ("add_bias_linear", as_bool, "linear layers have a bias"),
    ("transformer_impl", as_name, "transformer_engine, local, or inference_optimized"),
    ("attention_backend", as_name, "auto, flash, fused, unfused or local"),
    ("attention_dropout", as_float, "dropout on attention weights"),
    ("spec", as_strs, "module and function that builds the layers"),
    ("fp16", as_bool, "float16 training"),
    ("bf16", as_bool, "bfloat16 training"),
    ("mixed_precision", as_str, "the name of a precision recipe"),
    ("fp8", as_name, "FP8 format: e4m3 or hybrid; None: off"),
    ("fp8_recipe", as_name, "FP8 scaling: delayed, tensorwise, blockwise, mxfp8, custom"),
    ("fp8_param_gather", as_bool, "parameters are kept and gathered in FP8"),
    ("fp8_dot_product_attention", as_bool, "attention itself in FP8"),
    ("fp8_multi_head_attention", as_bool, "attention's inputs and outputs in FP8 too"),
    ("fp4", as_name, "FP4 format: e2m1; None: off"),
)

_DATA: tuple[Row, ...] = (
    ("micro_batch_size", as_int, "samples of one rank in one forward pass"),
    ("global_batch_size", as_int, "samples of one optimizer step, over all ranks"),
    ("rampup_batch_size", as_data, "start, increment and samples of a growing batch"),
    ("step_batch_size_schedule", as_data, "batch size by step"),
    ("decrease_batch_size_if_needed", as_bool, "an indivisible batch is made smaller"),
    ("packed_sequences", as_bool, "several samples in one row, told apart by cu_seqlens (THD)"),
    ("qkv_format", as_name, "layout of attention's inputs: sbhd, bshd, thd"),
    ("pad_multiple", as_int, "each sequence is padded to a multiple of this"),
    ("pad_total_multiple", as_int, "the packed row is padded to a multiple of this"),
    ("dynamic_batch_size", as_bool, "micro-batches are cut by tokens, not by samples"),
    ("pad_to_max_length", as_bool, "every row is padded to the full sequence length"),
    ("pad_cu_seqlens", as_bool, "cu_seqlens are padded to a fixed number"),
    ("variable_seq_lengths", as_bool, "micro-batches differ in length"),
    ("create_attention_mask_in_dataloader", as_bool, "batches carry an attention mask"),
    ("sft", as_bool, "fine-tuning data and loss"),
    ("training", as_bool, "the entry trains (False: inference, conversion, evaluation)"),
    ("train_iters", as_int, "optimizer steps"),
    ("calculate_per_token_loss", as_bool, "the loss is divided by the tokens of the whole batch"),
    ("average_in_collective", as_bool, "gradients are averaged inside the reduction"),
    ("gpu", as_name, "the accelerator, as `--gpu` names it"),
    ("use_checkpoint_args", as_bool, "the checkpoint's arguments replace those given"),
    ("use_mp_args_from_checkpoint_args", as_bool, "parallel sizes too come from the checkpoint"),
)

_EXECUTION: tuple[Row, ...] = (
    ("recompute_granularity", as_name, "full or selective; None: off"),
    ("recompute_method", as_name, "uniform or block, with full"),
    ("recompute_num_layers", as_int, "layers in a recomputed unit (uniform), or recomputed layers a stage (block)"),
    ("recompute_modules", as_names, "what selective recompute covers"),
    ("distribute_saved_activations", as_bool, "saved activations are split over tp"),
    ("overlap_p2p_comm", as_bool, "stage-to-stage sends overlap with compute"),
    ("batch_p2p_comm", as_bool, "stage-to-stage sends are issued as one batch"),
    ("overlap_grad_reduce", as_bool, "gradient reduction overlaps with the backward pass"),
    ("overlap_param_gather", as_bool, "the parameter all-gather overlaps with the forward pass"),
    ("overlap_param_gather_with_optimizer_step", as_bool, "the parameter all-gather overlaps with the optimizer"),
    ("tp_comm_overlap", as_bool, "tensor parallel communication overlaps with matrix products"),
    ("overlap_moe_expert_parallel_comm", as_bool, "expert all-to-all overlaps with another micro-batch"),
    ("delay_wgrad_compute", as_bool, "weight gradients are computed later"),
    ("defer_embedding_wgrad_compute", as_bool, "the embedding's weight gradient fills the pipeline flush"),
    ("use_distributed_optimizer", as_bool, "optimizer state is sharded over dp"),
    ("optimizer", as_name, "adam, sgd, muon, dist_muon, ..."),
    ("use_megatron_fsdp", as_bool, "Megatron-FSDP"),
    ("data_parallel_sharding_strategy", as_name, "what Megatron-FSDP shards"),
    ("use_torch_fsdp2", as_bool, "PyTorch FSDP2"),
    ("cuda_graph_impl", as_name, "local, transformer_engine or full_iteration; None: off"),
    ("cuda_graph_modules", as_names, "what is captured; before core 0.18 called cuda_graph_scope"),
    ("cpu_offloading", as_bool, "activations are moved to the host"),
    ("moe_token_dispatcher_type", as_name, "allgather, alltoall or flex"),
    ("moe_flex_dispatcher_backend", as_name, "deepep, hybridep or ncclep, with flex"),
    ("moe_enable_deepep", as_bool, "the flex dispatcher's DeepEP (core < 0.16)"),
    ("moe_grouped_gemm", as_bool, "experts as one grouped matrix product"),
    ("moe_shared_expert_overlap", as_bool, "shared experts overlap with the dispatcher"),
    ("moe_expert_capacity_factor", as_float, "tokens an expert takes; None: all"),
    ("moe_pad_expert_input_to_capacity", as_bool, "expert inputs have a fixed size"),
    ("override_context_parallel_size", as_int, "cp in a dict that changes the model's config but not the groups"),
    ("override_tensor_model_parallel_size", as_int, "tp in such a dict"),
    ("override_pipeline_model_parallel_size", as_int, "pp in such a dict"),
    ("override_expert_model_parallel_size", as_int, "ep in such a dict"),
    ("override_sequence_parallel", as_bool, "SP in such a dict"),
)

FIELDS: Mapping[str, Field] = _table(_PARALLEL, _MODEL, _DATA, _EXECUTION)

__all__ = ["FIELDS", "Field", "as_bool", "as_float", "as_int", "as_ints", "as_str", "as_strs"]
