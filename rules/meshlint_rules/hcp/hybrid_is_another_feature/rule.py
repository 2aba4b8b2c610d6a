"""HCP008: hybrid or dynamic context parallelism taken for the hierarchical one."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.attention import A2A_P2P, builds_levels, level_sizes, listed, wants_levels
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Severity, Verdict, Window

HYBRID = Window(
    "megatron-core",
    since="0.16",
    says="hybrid_context_parallel exists",
    source="megatron/core/model_parallel_config.py:65 at core_v0.16.0; not there at core_v0.15.3",
)
DYNAMIC_CHECKS = Window(
    "verl",
    since="0.9",
    says="the engine refuses what dynamic context parallelism cannot do",
    source="verl/workers/engine/megatron/transformer_impl.py:111-130 at v0.9.0; at v0.8.0 a length alone is asked for",
)
DYNAMIC_LENGTH = Window(
    "verl",
    since="0.8",
    says="the engine asserts that dynamic context parallelism has a max_seqlen_per_dp_cp_rank",
    source="verl/workers/engine/megatron/transformer_impl.py:149 at v0.8.0; no such option at v0.7.1",
)


class HybridIsAnotherFeature(LaunchRule):
    """Hybrid or dynamic context parallelism with, or in place of, the hierarchical one.

    ## What it does

    Finds `hybrid_context_parallel` (megatron-core 0.16 and newer) or `dynamic_context_parallel` (verl) together with
    `a2a+p2p` or with level sizes, and the settings that each of the two excludes by itself.

    ## Why this is bad

    The names are close and the features are not. Hierarchical context parallelism splits one fixed cp into an a2a and
    a p2p level (`cp_comm_type: a2a+p2p` and its sizes). Hybrid, later called dynamic, chooses a cp for each packed
    sequence by its length and gives the layer one flat group; `a2a+p2p` wants a list of two, and Transformer Engine
    asserts in the first forward pass that runs over more than one rank. Sizes without `a2a+p2p` do nothing.

    Hybrid context parallelism by itself excludes pipeline stages, Megatron-FSDP and a loss that is not per token,
    asserted at start by Megatron-LM's command line, and MLA, asserted in the first forward pass. verl's dynamic one
    needs `use_remove_padding` and `max_seqlen_per_dp_cp_rank`, and excludes virtual pipeline stages and FP8.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --context-parallel-size 4 --cp-comm-type a2a+p2p \\
        --hierarchical-context-parallel-sizes 2 2 --hybrid-context-parallel --calculate-per-token-loss
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --context-parallel-size 4 --cp-comm-type a2a+p2p --hierarchical-context-parallel-sizes 2 2
    ```

    ## References/versions

    See below; the table of versions is the one that the rule judges by.
    """

    code = "HCP008"
    slug = "hybrid-is-another-feature"
    outcomes = (Outcome.CRASH_START, Outcome.CRASH_LATE, Outcome.IGNORED)
    windows = (HYBRID, DYNAMIC_CHECKS, DYNAMIC_LENGTH)
    references = (
        Reference("megatron/training/arguments.py:918-923 at core_v0.16.1: the exclusions on the command line"),
        Reference("megatron/core/transformer/multi_latent_attention.py:533 at core_v0.16.1: MLA"),
        Reference(
            "megatron/core/extensions/transformer_engine.py:1347-1354 at core_v0.16.1: one group for each sequence"
        ),
    )
    supersedes = ("HCP007",)

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Look for the two options first: few configs set them."""
        if config.data("hybrid_context_parallel") and config.within(HYBRID):
            yield from _confused(config, "hybrid_context_parallel")
            yield from _hybrid(config)
        elif config.data("dynamic_context_parallel"):
            yield from _confused(config, "dynamic_context_parallel")
            yield from _dynamic(config)


def _confused(config: EffectiveConfig, option: str) -> Iterator[Verdict]:
    sizes = level_sizes(config)
    if wants_levels(config) and builds_levels(config):
        yield Verdict(
            f"{option} gives each packed sequence one flat group, and cp_comm_type {A2A_P2P} wants a list of two: "
            "every rank stops in Transformer Engine, in the first forward that spreads a sequence over several "
            "ranks.",
            Outcome.CRASH_LATE,
            at="cp_comm_type",
            fields=(option, "hierarchical_context_parallel_sizes"),
            subject="levels",
            fix=Fix(f"Keep one of the two: {option} with cp_comm_type p2p, or {A2A_P2P} with its sizes."),
        )
    elif sizes and not wants_levels(config):
        yield Verdict(
            f"hierarchical_context_parallel_sizes {listed(sizes)} does nothing: {option} is another feature than the "
            f"hierarchical exchange, and no layer uses {A2A_P2P}.",
            Outcome.IGNORED,
            at="hierarchical_context_parallel_sizes",
            fields=(option, "cp_comm_type"),
            subject="sizes",
            severity=Severity.WARNING,
            fix=Fix(f"Take the sizes away, or set cp_comm_type to {A2A_P2P} and turn {option} off."),
        )


def _hybrid(config: EffectiveConfig) -> Iterator[Verdict]:
    option = "hybrid_context_parallel"
    if config.habit("validates_arguments"):
        pp = config.number("pipeline_model_parallel_size")
        if pp > 1:
            yield _excluded(config, option, "pipeline_model_parallel_size", f"{pp} pipeline stages; it needs 1")
        if config.data("use_megatron_fsdp"):
            yield _excluded(config, option, "use_megatron_fsdp", "Megatron-FSDP; turn it off")
        if not config.data("calculate_per_token_loss"):
            yield _excluded(config, option, "calculate_per_token_loss", "a loss that is not per token; turn that on")
    if wants_levels(config) and config.value("multi_latent_attention").is_unknown:
        return  # what is told already stands, whatever the model is
    if config.data("multi_latent_attention"):
        yield _excluded(config, option, "multi_latent_attention", "MLA", Outcome.CRASH_LATE)


def _dynamic(config: EffectiveConfig) -> Iterator[Verdict]:
    if "verl" not in config.framework.libraries or not config.within(DYNAMIC_LENGTH):
        return
    option = "dynamic_context_parallel"
    most = config.data("max_seqlen_per_dp_cp_rank")
    checks = config.within(DYNAMIC_CHECKS)
    if most is None or (checks and (not isinstance(most, int) or most <= 0)):
        given = "no max_seqlen_per_dp_cp_rank" if most is None else f"max_seqlen_per_dp_cp_rank {most}"
        yield _excluded(config, option, "max_seqlen_per_dp_cp_rank", f"{given}; set a number above 0")
    if not checks:
        return
    if config.data("packed_sequences") is False:
        yield _excluded(config, option, "packed_sequences", "padded batches; set use_remove_padding")
    vpp = config.data("virtual_pipeline_model_parallel_size")
    if vpp not in (None, 1):
        yield _excluded(config, option, "virtual_pipeline_model_parallel_size", f"{vpp} virtual pipeline stages")
    if config.data("fp8") is not None:
        yield _excluded(config, option, "fp8", "FP8 training")


def _excluded(
    config: EffectiveConfig, option: str, field: str, what: str, outcome: Outcome = Outcome.CRASH_START
) -> Verdict:
    when = "at start" if outcome is Outcome.CRASH_START else "in the first forward"
    name, _, advice = what.partition("; ")
    place = field if config.value(field).is_set else option
    return Verdict(
        f"{option} does not go together with {name}: every rank stops {when}.",
        outcome,
        at=place,
        fields=(option if place == field else field,),
        subject=field,
        fix=Fix(f"Turn {option} off, or change {field}{f': {advice}' if advice else ''}."),
    )


RULE = HybridIsAnotherFeature
