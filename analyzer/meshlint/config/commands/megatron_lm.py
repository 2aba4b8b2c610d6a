"""Megatron-LM's command line, also as Pai-Megatron-Patch and others build on it: `pretrain_gpt.py --flag value`.

Tables count from core_v0.16.1 and main of August 2026 (megatron/training/arguments.py, and the flags that main makes
from `TransformerConfig`).
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import replace

from meshlint.config.command import Command
from meshlint.config.commands.flags import PARSER, Grammar, keys_of, names, writes
from meshlint.config.hydra.program import Program, program
from meshlint.config.launch import Launch
from meshlint.config.parse import whole
from meshlint.config.surface import Context
from meshlint.config.surfaces.yaml_cfg import FLAG, writes_of_file
from meshlint.config.value import Value
from meshlint.sources.tree import Reader

NAME = "megatron-lm"

LISTS = names(
    "cp_comm_type hierarchical_context_parallel_sizes cuda_graph_scope cuda_graph_modules",
    "recompute_modules data_path train_data_path valid_data_path test_data_path",
    "moe_router_load_balancing_type moe_aux_loss_coeff spec rampup_batch_size window_size offload_modules",
    "profile_ranks rl_inference_parsers retriever_report_topk_accuracies finetune_data_files",
    "moe_layer_recompute_modules ddp_param_name_patterns_for_fp32_local_accumulation",
)
"""Flags with nargs + or *."""

BARE = names(
    "sequence_parallel use_distributed_optimizer overlap_grad_reduce overlap_param_gather",
    "group_query_attention bf16 fp16 swiglu use_mcore_models use_flash_attn",
    "untie_embeddings_and_output_weights disable_bias_linear mock_data no_load_optim no_load_rng",
    "no_save_optim no_save_rng tp_comm_overlap moe_grouped_gemm moe_permute_fusion use_megatron_fsdp",
    "use_torch_fsdp2 recompute_activations attention_softmax_in_fp32 qk_layernorm",
    "accumulate_allreduce_grads_in_fp32 apply_layernorm_1p no_masked_softmax_fusion no_bias_gelu_fusion",
    "no_rope_fusion no_gradient_accumulation_fusion reset_position_ids reset_attention_mask eod_mask_loss",
    "multi_latent_attention calculate_per_token_loss log_throughput manual_gc",
    "use_rotary_position_embeddings hybrid_context_parallel overlap_moe_expert_parallel_comm",
    "delay_wgrad_compute async_save finetune use_checkpoint_args auto_detect_ckpt_format fp8_param_gather",
    "no_create_attention_mask_in_dataloader moe_enable_deepep moe_shared_expert_overlap",
    "moe_pad_expert_input_to_capacity position_embedding_none use_precision_aware_optimizer",
    "enable_cuda_graph external_cuda_graph rl_use_sequence_packing sft",
)
"""Flags that take no value: an unknown word behind one of them may hold flags."""

GRAMMAR = Grammar(LISTS, BARE, PARSER)
_PARALLEL = names(
    "tensor_model_parallel_size pipeline_model_parallel_size context_parallel_size",
    "expert_model_parallel_size expert_tensor_parallel_size use_mcore_models",
)
_PRETRAIN = "pretrain_"
_SHAPE = ("num_layers", "hidden_size", "num_attention_heads")


class MegatronLm:
    """Reads the flags of Megatron-LM's parser."""

    framework = NAME

    def claims(self, command: Command) -> bool:
        """Claim a pretraining script, or any Python program with Megatron-LM's parallel sizes or model shape."""
        found = program(command)
        if found is None:
            return False
        keys = keys_of(found.words)
        if keys & _PARALLEL or all(key in keys for key in _SHAPE):
            return True
        given = any(w.several or (w.text or "").startswith("--") for w in found.words)
        return found.name.startswith(_PRETRAIN) and given

    def launches(self, command: Command, reader: Reader, context: Context) -> Iterator[Launch]:
        """Give the launch of a command."""
        found = program(command)
        if found is not None:
            yield _from_yaml(launch(NAME, command, found, reader), command, reader)


READER = MegatronLm()


def is_entry(file: str) -> bool:
    """Say whether a file without a folder has the name of one of Megatron-LM's pretraining scripts."""
    return file.startswith(_PRETRAIN) and file.endswith(".py") and "/" not in file


def launch(framework: str, command: Command, found: Program, reader: Reader) -> Launch:
    """Make the launch of a command whose words are flags."""
    return Launch(
        framework=framework,
        entry=entry_of(found),
        surface=command.surface,
        identity=command.identity,
        place=command.place,
        writes=writes(found.words, GRAMMAR),
        environment=command.environment,
        nodes=command.nodes,
        gpus_per_node=command.gpus_per_node,
        world=command.world or _started_by_hand(command),
        branches=command.branches,
        reads=frozenset(reader.seen),
    )


def _started_by_hand(command: Command) -> Value | None:
    """Give the ranks of a process that no launcher starts: WORLD_SIZE; None where that is no positive number.

    Source: core_v0.16.1 megatron/training/arguments.py:114.
    """
    value = command.environment.get("WORLD_SIZE")
    if command.counts or value is None or not value.is_set:
        return None
    number = whole(str(value.data).strip())
    return value.with_data(number) if number else None


def _from_yaml(made: Launch, command: Command, reader: Reader) -> Launch:
    """Take everything from the `--yaml-cfg` file where there is one: it replaces the command line."""
    path = made.find(FLAG)
    if path is None or made.find("*") is path:
        return made
    folders = [command.folder] if command.folder is not None else [posixpath.dirname(command.path), ""]
    found = writes_of_file(path, folders, reader)
    return replace(made, writes=found, reads=frozenset(reader.seen))


def entry_of(found: Program) -> str:
    """Give the entry point's name: a script's file name, a module's dotted name."""
    return found.module or posixpath.basename(found.script)
