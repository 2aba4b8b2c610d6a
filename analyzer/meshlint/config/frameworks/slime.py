"""slime: Megatron-LM's command line, with slime's own flags beside it.

It parses with Megatron-LM's parser and runs its `validate_args` (slime/backends/megatron_utils/arguments.py:60). Keys
are flags without dashes, hyphens as underscores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshlint.config.framework import Default, Framework, Spelling
from meshlint.config.frameworks import megatron_lm
from meshlint.config.frameworks.megatron_core import CORE, TE, TORCH, follows
from meshlint.config.parse import as_int, as_name
from meshlint.config.value import Data, Value, default, derived_from, unknown

if TYPE_CHECKING:
    from meshlint.config.effective import EffectiveConfig


def _fine_tunes(data: Data) -> Data:
    """Turn a loss type into `sft`."""
    return as_name(data) == "sft_loss"


def batch_of_steps(config: EffectiveConfig) -> Value | None:
    """Derive the global batch from the steps that share a rollout (slime/utils/arguments.py:1971).

    A global batch that is written beside them must be the same one, or slime stops.
    """
    steps = config.launch.find("num_steps_per_rollout")
    prompts = config.launch.find("rollout_batch_size")
    if steps is None or prompts is None:
        return None
    samples = config.launch.find("n_samples_per_prompt") or default(1, "slime/utils/arguments.py:700")
    stop = follows("global_batch_size", steps, prompts, samples)
    if stop is not None:
        return stop
    try:
        counts = [as_int(value.data) for value in (prompts, samples, steps)]
    except ValueError as error:
        return unknown(f"global_batch_size: {error}", *steps.origins)
    if not all(isinstance(count, int) and count > 0 for count in counts):
        return None
    whole = counts[0] * counts[1] // counts[2]
    return derived_from(whole, "prompts * samples of each // steps of a rollout", steps, prompts, samples)


def shards_optimizer(_: EffectiveConfig, value: Value) -> Value:
    """Amend `use_distributed_optimizer`: it is switched on, whatever is written (backends/.../arguments.py:143)."""
    return value if value.data is True else derived_from(True, "slime switches it on", value)


def varies_lengths(_: EffectiveConfig, value: Value) -> Value:
    """Amend `moe_token_dispatcher_type`: allgather takes no varying lengths (backends/.../arguments.py:83)."""
    return value.with_data("alltoall") if value.data == "allgather" else value


_OWN = (
    Spelling("sft", ("loss_type",), _fine_tunes, "slime/utils/arguments.py:915"),
    Spelling("model_id", ("hf_checkpoint",), source="slime/utils/arguments.py"),
    Spelling("qkv_format", ("qkv_format",), source="v0.2.4 slime/utils/arguments.py, gone in 0.3"),
    Spelling("dynamic_batch_size", ("use_dynamic_batch_size",), source="slime/utils/arguments.py"),
    Spelling("max_tokens_per_gpu", ("max_tokens_per_gpu",), source="slime/utils/arguments.py"),
    Spelling("pad_total_multiple", ("data_pad_size_multiplier",), source="slime/utils/arguments.py"),
)

_BACKEND = "slime/backends/megatron_utils/arguments.py"

DEFAULTS = (
    Default("use_distributed_optimizer", True, f"{_BACKEND}:143, always"),
    Default("seq_length", 4096, f"{_BACKEND}:164, a placeholder"),
    Default("variable_seq_lengths", True, f"{_BACKEND}:82, always"),
    Default("packed_sequences", True, "slime/backends/megatron_utils/data.py:98"),
    Default("qkv_format", "thd", "slime/backends/megatron_utils/data.py:98"),
    Default("pad_total_multiple", 128, "slime/utils/arguments.py:1423, times tp"),
    *megatron_lm.DEFAULTS,
)

HABITS: dict[str, Data] = {
    **megatron_lm.HABITS,
    "validates_arguments": True,
    "validates_hierarchical_sizes": True,
    "unwraps_single_comm_type": True,
    "seq_is_tensor_length": False,
    "checks_seq_for_cp": True,
    "checks_param_gather": True,
    "pads_each_sequence_to": "2*cp",
    "always_packed": True,
    "loss_spans_cp": True,
    "checks_layers_per_stage": True,
    "checks_world": True,
    "shape_is_written": True,
}
"""Sources, in slime/backends/megatron_utils: validate_args arguments.py:79; sizes initialize.py:43; the loss
cp_utils.py (get_sum_of_sample_mean) and loss.py:1353; pad cp_utils.py:200, the whole row data.py:66."""

FRAMEWORK = Framework(
    name="slime",
    title="slime",
    libraries=(CORE, TE, TORCH),
    spellings=(*(s for s in megatron_lm.FRAMEWORK.spellings if s.field != "sft"), *_OWN),
    defaults=DEFAULTS,
    derive={
        **{k: v for k, v in megatron_lm.DERIVE.items() if k != "packed_sequences"},
        "global_batch_size": batch_of_steps,
    },
    amend={
        **megatron_lm.AMENDS,
        "moe_token_dispatcher_type": varies_lengths,
        "use_distributed_optimizer": shards_optimizer,
    },
    habits=HABITS,
)
