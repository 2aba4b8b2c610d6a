"""slime's commands: `python3 train.py` with Megatron-LM's flags and its own, most often behind `ray job submit`.

Sources count from slime's main of August 2026 (slime/utils/arguments.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from meshlint.config.command import Command
from meshlint.config.commands.flags import PARSER, Grammar, keys_of, names, writes
from meshlint.config.commands.launchers import times
from meshlint.config.commands.megatron_lm import BARE, LISTS, launch
from meshlint.config.hydra.program import program
from meshlint.config.launch import Launch
from meshlint.config.parse import whole
from meshlint.config.surface import Context
from meshlint.config.value import State, Value, default, unknown
from meshlint.sources.tree import Reader

NAME = "slime"
_LISTS = names(
    "eval_prompt_data rollout_external_engine_addrs rollout_stop rollout_stop_token_ids profile_target",
    "freeze_params_name_list only_train_params_name_list sglang_cuda_graph_bs",
)
_BARE = names(
    "colocate apply_chat_template rollout_shuffle balance_data use_kl_loss use_dynamic_batch_size",
    "use_wandb use_tis debug_rollout_only debug_train_only offload offload_train offload_rollout",
    "partial_rollout keep_old_actor optimizer_cpu_offload overlap_cpu_optimizer_d2h_h2d",
    "normalize_advantages use_routing_replay use_opd",
)
GRAMMAR = Grammar(LISTS | _LISTS, BARE | _BARE, PARSER)
_SIGNS = names(
    "actor_num_nodes actor_num_gpus_per_node rollout_batch_size num_rollout rollout_num_gpus colocate",
    "hf_checkpoint rollout_num_gpus_per_engine n_samples_per_prompt rollout_function_path",
)
_SCRIPTS = ("train", "train_async", "train_multi_agent")


class Slime:
    """Reads slime's flags; the actor's nodes and GPUs are the ranks that train."""

    framework = NAME

    def claims(self, command: Command) -> bool:
        """Claim `train.py` and `train_async.py` where they have a flag of slime's own."""
        found = program(command)
        if found is None or found.name not in _SCRIPTS:
            return False
        return bool(keys_of(found.words) & _SIGNS)

    def launches(self, command: Command, reader: Reader, context: Context) -> Iterator[Launch]:
        """Give the launch of a command."""
        found = program(command)
        if found is None:
            return
        made = replace(launch(NAME, command, found, reader), writes=writes(found.words, GRAMMAR))
        nodes = _count(made, "actor_num_nodes", 1)
        gpus = _count(made, "actor_num_gpus_per_node", 8)
        yield replace(made, nodes=nodes, gpus_per_node=gpus, world=times(nodes, gpus))


READER = Slime()


def _count(made: Launch, key: str, otherwise: int) -> Value:
    """Give a count; the defaults stand in slime/utils/arguments.py (`--actor-num-nodes`)."""
    value = made.find(key)
    if value is None:
        return default(otherwise, f"the default of slime's {key}")
    if value.is_unknown:
        return value
    number = whole(str(value.data))
    if number is None:
        return unknown(f"{key} is not a number", *value.origins)
    return Value(State.SET, number, value.origins)
