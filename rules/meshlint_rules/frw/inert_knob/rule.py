"""FRW002: a size whose switch is off."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.clauses import each
from meshlint.config.effective import spelled
from meshlint.config.experts import has_experts
from meshlint.config.value import Value
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Severity, Verdict


class InertKnob(LaunchRule):
    """A size that counts only with a switch, and the switch is off.

    ## What it does

    Finds, where they are written:

    - `num_query_groups` on Megatron-LM's command line without `--group-query-attention`: each head has keys and values
      of its own;
    - `expert_model_parallel_size` or `expert_tensor_parallel_size` above 1 of a model without experts (on the command
      line ep is refused);
    - `max_tokens_per_gpu` without dynamic batches (verl, slime);
    - `max_seqlen_per_dp_cp_rank` without hybrid or dynamic context parallelism;
    - `microbatch_group_size_per_vp_stage` without virtual stages.

    A switch that is written, and off, is taken as meant: its size waits for it.

    ## Why this is bad

    The setting is read and put aside, without a word. The model has another shape, or the batch another size, than its
    config says.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --num-attention-heads 32 --num-query-groups 8
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --num-attention-heads 32 --group-query-attention --num-query-groups 8
    ```

    ## References/versions

    Every version so far, from the one that has the setting.
    """

    code = "FRW002"
    slug = "inert-knob"
    outcomes = (Outcome.IGNORED, Outcome.CRASH_START)
    references = (
        Reference("megatron/training/arguments.py:1348 at core_v0.16.1: key-value groups"),
        Reference("megatron/training/arguments.py:535 at core_v0.8.0; :1025 at core_v0.16.1: ep without experts"),
        Reference("slime/utils/dp_schedule.py:118 of slime at 624b824a; verl/utils/seqlen_balancing.py at 1dda039b9"),
        Reference("megatron/core/model_parallel_config.py:56, :343 at core_v0.16.1"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Look at each knob that somebody wrote."""
        yield from each(config, _groups, _experts, _tokens, _hybrid, _chunks)


def _written(config: EffectiveConfig, name: str) -> Value | None:
    """Give a field as it is written, before the framework amends it; None where nobody wrote a number."""
    value = config.launch.find(spelled(name, config.launch, config.framework, config.role))
    known = value is not None and value.is_set and value.span is not None and str(value.data).isdigit()
    return value if known else None


def _verdict(name: str, value: Value, why: str, fix: str, *fields: str) -> Verdict:
    return Verdict(
        f"{name} = {value.data} is not used: {why}.",
        Outcome.IGNORED,
        subject=name,
        span=value.span,
        fields=fields,
        severity=Severity.WARNING,
        fix=Fix(fix),
    )


def _groups(config: EffectiveConfig) -> Iterator[Verdict]:
    if not config.habit("validates_arguments"):
        return
    value = _written(config, "num_query_groups")
    switch = config.need("group_query_attention")
    if value is None or switch.data or switch.is_set or config.data("multi_latent_attention"):
        return
    heads = config.number("num_attention_heads")
    if int(value.data) != heads:
        yield _verdict(
            "num_query_groups",
            value,
            f"without group_query_attention each of the {heads} heads has keys and values of its own",
            "Turn group_query_attention on, or leave num_query_groups out.",
            "group_query_attention",
            "num_attention_heads",
        )


def _experts(config: EffectiveConfig) -> Iterator[Verdict]:
    for name in ("expert_model_parallel_size", "expert_tensor_parallel_size"):
        value = _written(config, name)
        if value is None or int(value.data) <= 1 or has_experts(config):
            continue
        if name == "expert_model_parallel_size" and config.habit("validates_arguments"):
            yield Verdict(
                f"{name} = {value.data} of a model without experts: the argument check refuses it, and every rank "
                "stops at start.",
                Outcome.CRASH_START,
                subject=name,
                at=name,
                fields=("num_moe_experts",),
                fix=Fix(f"Leave {name} out."),
            )
        else:
            yield _verdict(name, value, "the model has no experts", f"Leave {name} out.", "num_moe_experts")


def _tokens(config: EffectiveConfig) -> Iterator[Verdict]:
    if config.framework.name not in ("verl", "slime") or config.role.name not in ("", "actor"):
        return
    value = _written(config, "max_tokens_per_gpu")
    if value is None:
        return
    switch = config.value("dynamic_batch_size")
    if switch.is_unknown or switch.is_set:
        return
    yield _verdict(
        "max_tokens_per_gpu",
        value,
        "without dynamic_batch_size micro-batches are cut by samples",
        "Turn dynamic_batch_size on, or leave max_tokens_per_gpu out.",
        "dynamic_batch_size",
    )


def _hybrid(config: EffectiveConfig) -> Iterator[Verdict]:
    value = _written(config, "max_seqlen_per_dp_cp_rank")
    switches = [config.need(name) for name in ("hybrid_context_parallel", "dynamic_context_parallel")]
    if value is None or any(switch.data or switch.is_set for switch in switches):
        return
    yield _verdict(
        "max_seqlen_per_dp_cp_rank",
        value,
        "it bounds the sequences of hybrid and dynamic context parallelism, and both are off",
        "Leave max_seqlen_per_dp_cp_rank out.",
        "hybrid_context_parallel",
    )


def _chunks(config: EffectiveConfig) -> Iterator[Verdict]:
    value = _written(config, "microbatch_group_size_per_vp_stage")
    stages = config.need("virtual_pipeline_model_parallel_size")
    if value is None or stages.data is not None or stages.is_set:
        return
    yield _verdict(
        "microbatch_group_size_per_vp_stage",
        value,
        "no rank has several model chunks",
        "Set virtual_pipeline_model_parallel_size, or leave microbatch_group_size_per_vp_stage out.",
        "virtual_pipeline_model_parallel_size",
    )


RULE = InertKnob
