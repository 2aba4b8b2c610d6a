"""verl's Megatron engine: Hydra YAML and dotlists.

A role's prefix is the path of its engine config (`actor_rollout_ref.actor.megatron.`, `critic.megatron.`, `engine.` of
the SFT trainer), its parent the section around it. Sources count from `verl/` at main 1dda039b9.
`override_transformer_config` reaches the model's `TransformerConfig` and nothing else: parallel sizes there are
fields of their own (`override_*`), since the process groups do not follow them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshlint.config.framework import Default, Framework, Role, Spelling
from meshlint.config.frameworks.megatron_core import (
    AMEND,
    CORE,
    DDP,
    MODEL_PARALLEL,
    TE,
    TORCH,
    TRANSFORMER,
    entry_says,
    follows,
    forward_only,
    means,
    named,
)
from meshlint.config.frameworks.megatron_core import DEFAULTS as CORE_DEFAULTS
from meshlint.config.parse import as_bool
from meshlint.config.value import Data, Value, derived_from

if TYPE_CHECKING:
    from meshlint.config.effective import EffectiveConfig
    from meshlint.config.launch import Launch

VERL = "verl"

_SIZES = (
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "virtual_pipeline_model_parallel_size",
    "context_parallel_size",
    "expert_model_parallel_size",
    "expert_tensor_parallel_size",
    "sequence_parallel",
)
_ENGINE = "trainer/config/engine/megatron.yaml"

_KEYS = (
    Spelling("tensor_model_parallel_size", ("{role}tensor_model_parallel_size",), source=_ENGINE),
    Spelling("pipeline_model_parallel_size", ("{role}pipeline_model_parallel_size",), source=_ENGINE),
    Spelling("virtual_pipeline_model_parallel_size", ("{role}virtual_pipeline_model_parallel_size",), source=_ENGINE),
    Spelling("context_parallel_size", ("{role}context_parallel_size",), source=_ENGINE),
    Spelling("expert_model_parallel_size", ("{role}expert_model_parallel_size",), source=_ENGINE),
    Spelling("expert_tensor_parallel_size", ("{role}expert_tensor_parallel_size",), source=_ENGINE),
    Spelling("sequence_parallel", ("{role}sequence_parallel",), source=_ENGINE),
    Spelling("use_distributed_optimizer", ("{role}use_distributed_optimizer",), source=_ENGINE),
    Spelling("use_megatron_fsdp", ("{role}use_megatron_fsdp",), source=_ENGINE),
    Spelling("dynamic_context_parallel", ("{role}dynamic_context_parallel",), source=_ENGINE),
    Spelling("max_seqlen_per_dp_cp_rank", ("{role}max_seqlen_per_dp_cp_rank",), source=_ENGINE),
    Spelling("packed_sequences", ("{role}use_remove_padding",), source=f"{_ENGINE}, since 0.7"),
    Spelling("pad_to_max_length", ("{role}pad_to_length",), source=_ENGINE),
    Spelling(
        "override_tensor_model_parallel_size",
        ("{role}override_transformer_config.tensor_model_parallel_size",),
        source="workers/engine/megatron/transformer_impl.py:296",
    ),
    Spelling(
        "override_pipeline_model_parallel_size",
        ("{role}override_transformer_config.pipeline_model_parallel_size",),
        source="workers/engine/megatron/transformer_impl.py:296",
    ),
    Spelling(
        "override_context_parallel_size",
        ("{role}override_transformer_config.context_parallel_size",),
        source="workers/engine/megatron/transformer_impl.py:296",
    ),
    Spelling(
        "override_expert_model_parallel_size",
        ("{role}override_transformer_config.expert_model_parallel_size",),
        source="workers/engine/megatron/transformer_impl.py:296",
    ),
    Spelling(
        "override_sequence_parallel",
        ("{role}override_transformer_config.sequence_parallel",),
        source="workers/engine/megatron/transformer_impl.py:296",
    ),
    Spelling(
        "cuda_graph_modules",
        ("{role}override_transformer_config.cuda_graph_scope",),
        source="core_v0.16.1 transformer/transformer_config.py:760, before 0.18",
    ),
    Spelling(
        "cuda_graph_impl",
        ("{role}override_transformer_config.enable_cuda_graph",),
        means("local"),
        "core_v0.14.0 transformer/transformer_config.py",
    ),
    Spelling(
        "model_id",
        ("{parent}model.path", "actor_rollout_ref.model.path", "model.path"),
        source="trainer/config/model/hf_model.yaml",
    ),
    Spelling("max_prompt_length", ("data.max_prompt_length",), source="trainer/config/data/legacy_data.yaml"),
    Spelling("max_response_length", ("data.max_response_length",), source="trainer/config/data/legacy_data.yaml"),
    Spelling("dataset_seq_length", ("data.max_length",), source="trainer/config/sft_trainer_engine.yaml"),
    Spelling("micro_batch_size", ("{parent}ppo_micro_batch_size_per_gpu",), source="trainer/config/actor/actor.yaml"),
    Spelling("global_batch_size", ("{parent}ppo_mini_batch_size",), source="trainer/config/actor/actor.yaml"),
    Spelling(
        "dynamic_batch_size",
        ("{parent}use_dynamic_bsz", "data.use_dynamic_bsz"),
        source="trainer/config/actor/actor.yaml",
    ),
    Spelling("max_tokens_per_gpu", ("{parent}ppo_max_token_len_per_gpu",), source="trainer/config/actor/actor.yaml"),
)

ACTOR = Role("actor", "actor_rollout_ref.actor.megatron.", "actor_rollout_ref.actor.")
REF = Role("ref", "actor_rollout_ref.ref.megatron.", "actor_rollout_ref.ref.")
CRITIC = Role("critic", "critic.megatron.", "critic.")
REWARD = Role("reward", "reward_model.megatron.", "reward_model.")
SFT = Role("sft", "engine.", "")


def roles(launch: Launch) -> tuple[Role, ...]:
    """Give the roles that run Megatron and are active; one whose engine or switch is not known is left out."""
    if _is_megatron(launch, SFT):
        return (SFT,)
    active = {REF: _needs_ref(launch), CRITIC: _needs_critic(launch), REWARD: _on(launch, "reward_model.enable")}
    return tuple(role for role in (ACTOR, REF, CRITIC, REWARD) if active.get(role, True) and _is_megatron(launch, role))


def _deciding(role: Role) -> tuple[str, ...]:
    """Give the keys that say which engine runs a role; the first that is given decides."""
    group = "engine" if role is SFT else "model_engine"
    return (f"{role.parent}strategy", f"{role.prefix}strategy", f"{role.prefix}_target_", group)


def _is_megatron(launch: Launch, role: Role) -> bool:
    """Tell by the role's strategy, by its engine's class, or, with neither in reach, by a key of its section."""
    for key in _deciding(role):
        value = launch.find(key)
        if value is None or value.data is None:
            continue
        return not value.is_unknown and ("megatron" in str(value.data) or "Mcore" in str(value.data))
    wanted = f"{role.prefix}tensor_model_parallel_size"
    return any(w.key == wanted or (role is not SFT and w.key.startswith(role.prefix)) for w in launch.writes)


def _on(launch: Launch, key: str) -> bool:
    value = launch.find(key)
    try:
        return value is not None and not value.is_unknown and as_bool(value.data) is True
    except ValueError:
        return False


def _needs_ref(launch: Launch) -> bool:
    """Follow `need_reference_policy` (trainer/ppo/utils.py:75)."""
    return _on(launch, "actor_rollout_ref.actor.use_kl_loss") or _on(launch, "algorithm.use_kl_in_reward")


def _needs_critic(launch: Launch) -> bool:
    """Follow `need_critic` (trainer/ppo/utils.py:96); the estimator is gae where nothing is written."""
    enabled = launch.find("critic.enable")
    if enabled is not None and enabled.data is not None:
        return _on(launch, "critic.enable")
    estimator = launch.find("algorithm.adv_estimator")
    return estimator is None or estimator.data == "gae"


def _prompt_and_response(config: EffectiveConfig) -> Value | None:
    """Derive `seq_length`: the longest prompt and the longest response together."""
    prompt, response = config.value("max_prompt_length"), config.value("max_response_length")
    stop = follows("seq_length", prompt, response)
    if stop is not None or not (isinstance(prompt.data, int) and isinstance(response.data, int)):
        return stop
    return derived_from(prompt.data + response.data, "max_prompt_length + max_response_length", prompt, response)


def _fine_tunes(config: EffectiveConfig) -> Value | None:
    """Derive `sft`: the SFT trainer has one role (workers/utils/losses.py, sft_loss)."""
    return entry_says("sft", config.launch) if config.role == SFT else None


DEFAULTS = (
    Default("sft", False, "the trainer"),
    Default("sequence_parallel", True, f"{_ENGINE}; v0.5.0 trainer/config/actor/megatron_actor.yaml:68"),
    Default("use_distributed_optimizer", True, _ENGINE),
    Default("packed_sequences", True, f"{_ENGINE}; before 0.7 always packed, v0.6.1 models/mcore/model_forward.py"),
    Default("attention_backend", "flash", f"{_ENGINE}, override_transformer_config"),
    Default("moe_token_dispatcher_type", "alltoall", "models/mcore/config_converter.py:91; v0.5.0 :86"),
    Default("variable_seq_lengths", True, "models/mcore/config_converter.py:89; v0.5.0 :84"),
    Default("dynamic_context_parallel", False, _ENGINE),
    Default("dynamic_batch_size", False, "trainer/config/actor/actor.yaml"),
    Default("pad_to_max_length", False, _ENGINE),
    *CORE_DEFAULTS,
)
"""Where the surface composes verl's own YAML, its values are written and these are not asked."""

HABITS: dict[str, Data] = {
    "validates_hierarchical_sizes": False,
    "passes_hierarchical_sizes": False,
    "seq_is_tensor_length": False,
    "pads_each_sequence_to": "2*cp*tp",
    "switches_sp_off_at_tp1": True,
    "needs_packing_for_cp": True,
    "fixes_loss": True,
    "sets_max_connections": True,
    "trains": True,
}
"""Sources: groups workers/engine/megatron/transformer_impl.py:272 (v0.4.0 workers/megatron_workers.py) pass no sizes;
pad models/mcore/util.py:77 (v0.4.0 :33); SP workers/config/engine.py:237 (v0.4.0 workers/actor/megatron_actor.py:147);
CP without packing models/mcore/util.py:228; loss transformer_impl.py:1450; environment trainer/constants_ppo.py:39
(v0.4.0 workers/megatron_workers.py:94)."""

FRAMEWORK = Framework(
    name="verl",
    title="verl",
    libraries=(VERL, CORE, TE, TORCH),
    spellings=(
        *named(MODEL_PARALLEL, "{role}override_transformer_config.", without=_SIZES),
        *named(TRANSFORMER, "{role}override_transformer_config.", without=_SIZES),
        *named(DDP, "{role}override_ddp_config.", without=("use_distributed_optimizer", "use_megatron_fsdp")),
        *_KEYS,
    ),
    defaults=DEFAULTS,
    derive={"seq_length": _prompt_and_response, "training": forward_only("ref", "reward"), "sft": _fine_tunes},
    roles=roles,
    deciding=tuple(_deciding(role) for role in (ACTOR, SFT)),
    habits=HABITS,
    amend=AMEND,
)
