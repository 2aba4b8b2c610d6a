"""List the keys that real launches write most often and that no canonical field reads, each with a decision.

    MESHLINT_UPSTREAM=/folder/of/checkouts python tests/tools/unmodelled_keys.py > docs/unmodelled-keys.md

Reads every launch of the checkouts in the folder, counts keys by surface and framework (a launch counts once for a
key), and prints the 20 most frequent that the framework's table neither spells nor consults. Ends with status 1 where
one of them has no decision below.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from meshlint.config.launch import Launch
from meshlint.config.registry import framework
from meshlint.engine import gather
from meshlint.engine.options import Options
from meshlint.engine.run import scope_of

CHECKOUTS = (
    "AReaL",
    "Megatron-Bridge",
    "Megatron-LM",
    "NeMo",
    "Pai-Megatron-Patch",
    "RL",
    "ROLL",
    "ms-swift",
    "slime",
    "verl",
)
"""Folders that are read; one that is not there is left out, and told."""
TOP = 20

WORLD = "read by the surface: it makes the number of ranks"
TABLE = "read by the framework's table: it decides a role, a switch or a derived field"
LOGGING = "irrelevant: logging, timing or profiling"
CHECKPOINT = "irrelevant: where and how often to save and load; formats come with the checkpoint rules, if ever"
DATA = "irrelevant: which data, how it is split and read; no size of it meets a mesh"
TOKENIZER = "irrelevant: text to numbers"
OPTIMIZER = "irrelevant: the optimizer's arithmetic is the same on every mesh"
SCHEDULE = "irrelevant: learning-rate schedule and length of the run"
ALGORITHM = "irrelevant: the reinforcement learning or preference algorithm; no rank depends on it"
ROLLOUT = "irrelevant: the inference engine's own sizes and sampling; its ranks are not Megatron's"
ADAPTER = "irrelevant: which parameters train"
NUMERICS = "irrelevant: precision of single operations; both sides of every collective change alike"
SHAPE = "irrelevant: a part of the model's shape that no mesh divides"
FUSION = "irrelevant: a fused kernel in place of plain ones; the groups stay"
MEMORY = "irrelevant: where tensors lie between steps"
OTHER_ENGINE = "irrelevant: another engine than Megatron (FSDP, DTensor), whose roles are left out"
NAMES = "irrelevant: names, classes and seeds"
EXPERTS = "model it with the expert rules if one needs it; today none reads it"
OPEN = "a write of unknown extent (an argument of the script); it makes what it reaches unknown"

DECISIONS: tuple[tuple[str, str], ...] = (
    ("[*]", OPEN),
    ("*[*]", OPEN),
    ("trainer.n_gpus_per_node", WORLD),
    ("trainer.nnodes", WORLD),
    ("trainer.num_nodes", WORLD),
    ("trainer.devices", WORLD),
    ("cluster.fileroot", CHECKPOINT),
    ("cluster.name_resolve*", NAMES),
    ("cluster.*", WORLD),
    ("actor_num_nodes", WORLD),
    ("actor_num_gpus_per_node", WORLD),
    ("*device_mapping", WORLD),
    ("nproc_per_node", WORLD),
    ("nnodes", WORLD),
    ("num_gpus", WORLD),
    ("gpu", WORLD),
    ("packing", TABLE),
    ("rlhf_type", TABLE),
    ("task_type", TABLE),
    ("*use_kl_loss", TABLE),
    ("*use_kl_in_reward", TABLE),
    ("*adv_estimator", TABLE),
    ("*strategy_name", TABLE),
    ("*.strategy", TABLE),
    ("*megatron_cfg.enabled", TABLE),
    ("*.backend", TABLE),
    ("*gradient_checkpointing", TABLE),
    ("*activation_checkpointing", TABLE),
    ("critic.enable", TABLE),
    ("@*", TABLE),
    ("*dtensor_cfg*", OTHER_ENGINE),
    ("*fsdp*", OTHER_ENGINE),
    ("*scheduler*", SCHEDULE),
    ("*warmup*", SCHEDULE),
    ("*lr_decay*", SCHEDULE),
    ("*wd_incr*", SCHEDULE),
    ("*weight_decay_incr*", SCHEDULE),
    ("scheduler.*", SCHEDULE),
    ("*train_samples", SCHEDULE),
    ("*total_epochs", SCHEDULE),
    ("*total_train_epochs", SCHEDULE),
    ("*total_training_steps", SCHEDULE),
    ("*num_train_epochs", SCHEDULE),
    ("*max_steps", SCHEDULE),
    ("*test_freq", SCHEDULE),
    ("*save_freq", CHECKPOINT),
    ("*eval_interval", SCHEDULE),
    ("*eval_iters", SCHEDULE),
    ("*eval_steps", SCHEDULE),
    ("*limit_val_batches", SCHEDULE),
    ("*val_check_interval", SCHEDULE),
    ("*exit_*", SCHEDULE),
    ("num_rollout", SCHEDULE),
    ("*optimizer.*", OPTIMIZER),
    ("*optim.*", OPTIMIZER),
    ("*adam_*", OPTIMIZER),
    ("*weight_decay*", OPTIMIZER),
    ("*clip_grad", OPTIMIZER),
    ("lr", OPTIMIZER),
    ("*.lr", OPTIMIZER),
    ("min_lr", OPTIMIZER),
    ("*learning_rate", OPTIMIZER),
    ("*gradient_accumulation_steps", "model it with PAR008 for ROLL and LLaMA-Factory style batches"),
    ("*grad_reduce_in_fp32", NUMERICS),
    ("*accumulate_allreduce*", NUMERICS),
    ("*attention_softmax_in_fp32", NUMERICS),
    ("*params_dtype", NUMERICS),
    ("*pipeline_dtype", "model it if a rule comes: None with pp > 1 is refused (model_parallel_config.py:529)"),
    ("*dtype", NUMERICS),
    ("*precision", NUMERICS),
    ("*deterministic_mode", NUMERICS),
    ("*fp32*", NUMERICS),
    ("*logits*", NUMERICS),
    ("*check_for_nan*", NUMERICS),
    ("*fusion*", FUSION),
    ("*use_fused*", FUSION),
    ("*use_te", FUSION),
    ("*use_mcore_models", "irrelevant: a leftover; the other models are gone"),
    ("*manual_gc*", LOGGING),
    ("*log*", LOGGING),
    ("*tensorboard*", LOGGING),
    ("*wandb*", LOGGING),
    ("*swanlab*", LOGGING),
    ("*profil*", LOGGING),
    ("*timing*", LOGGING),
    ("track_with", LOGGING),
    ("report_to", LOGGING),
    ("*checkpoint*", CHECKPOINT),
    ("*ckpt*", CHECKPOINT),
    ("*saver.*", CHECKPOINT),
    ("*recover.*", CHECKPOINT),
    ("*evaluator.*", SCHEDULE),
    ("load", CHECKPOINT),
    ("save", CHECKPOINT),
    ("ref_load", CHECKPOINT),
    ("*save_*", CHECKPOINT),
    ("*no_load_*", CHECKPOINT),
    ("*load_from*", DATA),
    ("async_save", CHECKPOINT),
    ("use_persistent_ckpt_worker", CHECKPOINT),
    ("finetune", CHECKPOINT),
    ("*resume*", CHECKPOINT),
    ("*default_local_dir", CHECKPOINT),
    ("*default_hdfs_dir", CHECKPOINT),
    ("*output_dir", CHECKPOINT),
    ("*fileroot", CHECKPOINT),
    ("*tokenizer*", TOKENIZER),
    ("*vocab*", TOKENIZER),
    ("merge_file", TOKENIZER),
    ("*tiktoken*", TOKENIZER),
    ("*chat_template*", TOKENIZER),
    ("*template", TOKENIZER),
    ("data.*", DATA),
    ("data_*", DATA),
    ("dataset.*", DATA),
    ("dataset*", DATA),
    ("split*", DATA),
    ("*dataloader*", DATA),
    ("*train_dataset*", DATA),
    ("*data_args*", DATA),
    ("*preprocessing*", DATA),
    ("cutoff_len", "model it if LLaMA-Factory becomes a framework of its own"),
    ("prompt_data", DATA),
    ("*_key", DATA),
    ("*lora*", ADAPTER),
    ("*tuner*", ADAPTER),
    ("*target_modules", ADAPTER),
    ("*freeze*", ADAPTER),
    ("finetuning_type", ADAPTER),
    ("*rollout*", ROLLOUT),
    ("*actor_infer*", ROLLOUT),
    ("*generat*", ROLLOUT),
    ("*vllm*", ROLLOUT),
    ("*sglang*", ROLLOUT),
    ("*inference*", ROLLOUT),
    ("*infer_batch_size", ROLLOUT),
    ("gconfig.*", ROLLOUT),
    ("*log_prob*", ALGORITHM),
    ("*kl_*", ALGORITHM),
    ("*entropy*", ALGORITHM),
    ("*advantage*", ALGORITHM),
    ("*eps_clip*", ALGORITHM),
    ("*clip*", ALGORITHM),
    ("*reward*", ALGORITHM),
    ("*loss*", ALGORITHM),
    ("n_samples_per_prompt", ALGORITHM),
    ("*policy_loss*", ALGORITHM),
    ("*tau_*", ALGORITHM),
    ("ppo_epochs", ALGORITHM),
    ("beta", ALGORITHM),
    ("stage", ALGORITHM),
    ("do_train", ALGORITHM),
    ("*train_batch_size", "model it with PAR008 for this framework's batch arithmetic"),
    ("*balance_batch", DATA),
    ("*scheduling_spec*", "irrelevant: how processes are placed, not how many ranks there are"),
    ("*empty_unused_memory*", MEMORY),
    ("*offload*", MEMORY),
    ("*_target_", NAMES),
    ("*name", NAMES),
    ("*seed*", NAMES),
    ("*distributed_backend", "irrelevant: NCCL in every case that has a GPU"),
    ("*trainer.device", NAMES),
    ("*moe_*", EXPERTS),
    ("normalization", SHAPE),
    ("*dropout", SHAPE),
    ("*rotary*", SHAPE),
    ("*swiglu", SHAPE),
    ("*untie*", SHAPE),
    ("*init_method*", SHAPE),
    ("*patch_dim", SHAPE),
    ("img_*", SHAPE),
    ("*language_model_type", SHAPE),
    ("decoder_seq_length", "model it if an encoder-decoder rule needs it; CTX001 reads the encoder's"),
    ("*disable_bias*", SHAPE),
    ("*model_type", SHAPE),
    ("*use_shm", DATA),
    ("model_*_name", NAMES),
    ("*cross_entropy*", FUSION),
    ("use_mca", "irrelevant: LLaMA-Factory's switch for its Megatron engine"),
    ("*provider_init*", "irrelevant: arguments of the call that builds the groups; sizes are read apart"),
    ("*use_te_rng_tracker", NUMERICS),
    ("*no_masked*", FUSION),
    ("*train_max_samples", DATA),
    ("*val_max_samples", DATA),
    ("data", DATA),
    ("compute_dtype", NUMERICS),
    ("ddp", NAMES),
    ("optimizer", NAMES),
    ("rng", NAMES),
    ("dist", NAMES),
    ("model", NAMES),
    ("optim", NAMES),
    ("trainer", NAMES),
    ("trainer.accelerator", NAMES),
    ("rm_type", ALGORITHM),
    ("num_workers", DATA),
    ("*query_key_layer_scaling", NUMERICS),
)
"""Pattern of a key, and what is decided about it; the first that matches counts. `[*]` is a star itself."""

Counts = dict[tuple[str, str], tuple[Counter[str], int]]


def decision(key: str) -> str:
    """Give the decision about a key, or nothing where there is none."""
    return next((text for pattern, text in DECISIONS if fnmatchcase(key, pattern)), "")


def unmodelled(launch: Launch) -> Iterator[str]:
    """Give the keys that a launch writes and its framework's table does not spell."""
    table = framework(launch.framework)
    spelt = {
        key.replace("{role}", role.prefix).replace("{parent}", role.parent)
        for role in table.roles(launch)
        for spelling in table.spellings
        for key in spelling.keys
    }
    yield from sorted({write.key for write in launch.writes} - spelt)


def count(folder: Path) -> Counts:
    """Count the keys of every launch of every checkout in a folder, roles that run Megatron only."""
    counts: Counts = {}
    for checkout in (folder / name for name in CHECKOUTS):
        if not checkout.is_dir():
            print(f"left out: {checkout.name}", file=sys.stderr)
            continue
        options = Options(cwd=checkout)
        scope = scope_of([str(checkout)], options)
        context = gather.context_of(scope, options)
        failures: list[str] = []
        for entry in gather.entries(scope, context, failures):
            for variants in gather.launches(entry, context, options, failures):
                _add(counts, entry.surface.name, variants[0])
    return counts


def _add(counts: Counts, surface: str, launch: Launch) -> None:
    if not framework(launch.framework).roles(launch):
        return
    keys, launches = counts.get((surface, launch.framework), (Counter(), 0))
    keys.update(unmodelled(launch))
    counts[surface, launch.framework] = (keys, launches + 1)


def page(counts: Counts) -> tuple[str, list[str]]:
    """Write the page, and list the keys without a decision."""
    lines = [
        "# Keys that are not modelled",
        "",
        "Generated by `tests/tools/unmodelled_keys.py` over checkouts of the frameworks' own repositories",
        f"({', '.join(CHECKOUTS)}): for each surface and framework the {TOP} keys that most launches write and no",
        "canonical field reads, and why not.",
    ]
    open_keys: list[str] = []
    for (surface, name), (keys, launches) in sorted(counts.items()):
        lines += [
            "",
            f"## {surface}: {name} ({launches} launches)",
            "",
            "| key | launches | decision |",
            "|---|---|---|",
        ]
        for key, number in sorted(keys.items(), key=lambda item: (-item[1], item[0]))[:TOP]:
            verdict = decision(key)
            open_keys += [] if verdict else [key]
            lines.append(f"| `{key}` | {number} | {verdict or 'none yet'} |")
    return "\n".join(lines) + "\n", open_keys


def main() -> int:
    """Print the page; tell on stderr what has no decision."""
    folder = os.environ.get("MESHLINT_UPSTREAM")
    if not folder:
        print("MESHLINT_UPSTREAM names no folder of checkouts", file=sys.stderr)
        return 2
    text, open_keys = page(count(Path(folder)))
    sys.stdout.write(text)
    for key in sorted(set(open_keys)):
        print(f"no decision: {key}", file=sys.stderr)
    return 1 if open_keys else 0


if __name__ == "__main__":
    raise SystemExit(main())
