"""OVL003: expert all-to-all overlap and what it excludes."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.clauses import each
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict, Window

CORE = "megatron-core"
THERE = Window(
    CORE,
    since="0.14",
    says="the overlap is there, with its assertions",
    source="megatron/core/transformer/transformer_config.py:1298 at core_v0.14.0; no such field at core_v0.13.1",
)
OLD_TORCH = Window(
    "torch",
    until="2.6",
    says="the overlap hangs, and is refused",
    source="megatron/core/transformer/transformer_config.py:1299 at core_v0.14.0; :1853 at core_v0.16.1",
)
MOE_RECOMPUTE = Window(
    CORE,
    since="0.17",
    says="recompute of the module moe is refused",
    source="megatron/core/transformer/transformer_config.py:2122 at core_v0.17.1; not at core_v0.16.1",
)
MTP_PIPELINE = Window(
    CORE,
    since="0.16",
    until="0.18",
    says="a prediction layer asks for pp > 1",
    source="megatron/core/transformer/transformer_config.py:1892 at core_v0.16.1, :2137 at core_v0.17.1; "
    "not at core_v0.15.3 and core_v0.18.2",
)
MTP_ZERO = Window(
    CORE,
    since="0.19",
    says="zero prediction layers pass",
    source="megatron/core/transformer/transformer_config.py:2709 at core_v0.19.0; :2440 at core_v0.18.2",
)


class EpOverlapExclusions(LaunchRule):
    """Expert all-to-all overlap together with what it excludes.

    ## What it does

    Finds `overlap_moe_expert_parallel_comm` with torch below 2.6, in single precision (Megatron-LM), pp > 1 without
    virtual stages, ep = 1, a dispatcher other than alltoall and flex, full recompute or a recompute method or number of
    layers, recompute of the module `moe`, `moe_shared_expert_overlap`, or several prediction layers; and
    `delay_wgrad_compute` without it.

    ## Why this is bad

    megatron-core's `TransformerConfig` asserts each of these while it is made, so every rank stops at start. With
    torch below 2.6 the overlap itself would hang; the assertion is there for that.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --num-experts 64 --expert-model-parallel-size 8 --bf16 \\
        --overlap-moe-expert-parallel-comm
    ```

    The command line's dispatcher is allgather.

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --num-experts 64 --expert-model-parallel-size 8 --bf16 \\
        --overlap-moe-expert-parallel-comm --moe-token-dispatcher-type alltoall
    ```

    ## References/versions

    See below; the table of versions is the one that the rule judges by.
    """

    code = "OVL003"
    slug = "ep-overlap-exclusions"
    outcomes = (Outcome.CRASH_START,)
    windows = (THERE, OLD_TORCH, MOE_RECOMPUTE, MTP_PIPELINE, MTP_ZERO)
    references = (
        Reference(
            "megatron/core/transformer/transformer_config.py:1298-1343 at core_v0.14.0; :1852-1912 at core_v0.16.1"
        ),
        Reference(
            "megatron/core/transformer/transformer_config.py:2399-2457 at core_v0.18.2; :2669-2752 at core_v0.19.0"
        ),
        Reference(
            "src/megatron/bridge/training/comm_overlap.py:478-523 at 067f987df: the same, before the model is made"
        ),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask for the overlap first: most configs have it off."""
        if config.data("overlap_moe_expert_parallel_comm"):
            if config.within(THERE):
                yield from each(
                    config, _torch, _precision, _stages, _experts, _dispatcher, _recompute, _module, _shared, _mtp
                )
        elif config.data("delay_wgrad_compute") and config.within(THERE):
            yield _verdict(
                "delay_wgrad_compute without overlap_moe_expert_parallel_comm",
                "delay_wgrad_compute",
                "overlap_moe_expert_parallel_comm",
                fix="Turn overlap_moe_expert_parallel_comm on, or delay_wgrad_compute off.",
            )


OVERLAP = "overlap_moe_expert_parallel_comm"


def _verdict(what: str, at: str, *fields: str, fix: str) -> Verdict:
    return Verdict(
        f"{what}: an assertion about it fails while the model's config is made, and every rank stops at start.",
        Outcome.CRASH_START,
        subject=fields[0] if fields else "",
        at=at,
        fields=fields,
        fix=Fix(fix),
    )


def _torch(config: EffectiveConfig) -> Iterator[Verdict]:
    if config.within(OLD_TORCH):
        yield Verdict(
            f"{OVERLAP} on torch {config.version('torch')}: it would hang before torch 2.6, so the model's config "
            "asserts the version, and every rank stops at start.",
            Outcome.CRASH_START,
            subject="torch",
            at=OVERLAP,
            fix=Fix(f"Use torch 2.6 or newer, or turn {OVERLAP} off."),
        )


def _precision(config: EffectiveConfig) -> Iterator[Verdict]:
    """Only the command line leaves the precision to flags that are off; elsewhere a recipe has one."""
    if config.framework.name != "megatron-lm" or config.data("bf16") or config.data("fp16"):
        return
    yield _verdict(f"{OVERLAP} without bf16 or fp16", OVERLAP, "bf16", "fp16", fix="Turn bf16 on.")


def _stages(config: EffectiveConfig) -> Iterator[Verdict]:
    pp = config.number("pipeline_model_parallel_size")
    if pp > 1 and config.data("virtual_pipeline_model_parallel_size") is None:
        yield _verdict(
            f"{OVERLAP} with pipeline_model_parallel_size = {pp} and no virtual stages",
            OVERLAP,
            "pipeline_model_parallel_size",
            "virtual_pipeline_model_parallel_size",
            fix=f"Set virtual_pipeline_model_parallel_size to 2 or more, or turn {OVERLAP} off.",
        )


def _experts(config: EffectiveConfig) -> Iterator[Verdict]:
    if config.number("expert_model_parallel_size") <= 1:
        yield _verdict(
            f"{OVERLAP} with expert_model_parallel_size = 1",
            OVERLAP,
            "expert_model_parallel_size",
            fix=f"Set expert_model_parallel_size above 1, or turn {OVERLAP} off.",
        )


def _dispatcher(config: EffectiveConfig) -> Iterator[Verdict]:
    kind = config.data("moe_token_dispatcher_type")
    if kind not in ("alltoall", "flex"):
        yield _verdict(
            f"{OVERLAP} with moe_token_dispatcher_type = {kind}",
            OVERLAP,
            "moe_token_dispatcher_type",
            fix="Set moe_token_dispatcher_type to alltoall or flex.",
        )


def _recompute(config: EffectiveConfig) -> Iterator[Verdict]:
    if config.data("recompute_granularity") == "full":
        yield _verdict(
            f"{OVERLAP} with recompute_granularity = full",
            OVERLAP,
            "recompute_granularity",
            fix="Set recompute_granularity to selective, or leave it out.",
        )
        return
    for name in ("recompute_method", "recompute_num_layers"):
        data = config.data(name)
        if data is not None:
            yield _verdict(f"{OVERLAP} with {name} = {data}", OVERLAP, name, fix=f"Leave {name} out.")


def _module(config: EffectiveConfig) -> Iterator[Verdict]:
    if "moe" in (config.data("recompute_modules") or ()) and config.within(MOE_RECOMPUTE):
        yield _verdict(
            f"{OVERLAP} with recompute_modules that hold moe",
            OVERLAP,
            "recompute_modules",
            fix="Take moe out of recompute_modules.",
        )


def _shared(config: EffectiveConfig) -> Iterator[Verdict]:
    if config.data("moe_shared_expert_overlap"):
        yield _verdict(
            f"{OVERLAP} with moe_shared_expert_overlap",
            OVERLAP,
            "moe_shared_expert_overlap",
            fix="Turn moe_shared_expert_overlap off.",
        )


def _mtp(config: EffectiveConfig) -> Iterator[Verdict]:
    layers = config.data("mtp_num_layers")
    if layers is None:
        return
    if layers not in (0, 1) or (layers == 0 and not config.within(MTP_ZERO)):
        yield _verdict(
            f"{OVERLAP} with mtp_num_layers = {layers}", OVERLAP, "mtp_num_layers", fix="Set mtp_num_layers to 1."
        )
    elif layers == 1 and config.number("pipeline_model_parallel_size") == 1 and config.within(MTP_PIPELINE):
        yield _verdict(
            f"{OVERLAP} with mtp_num_layers = 1 and pipeline_model_parallel_size = 1",
            OVERLAP,
            "mtp_num_layers",
            "pipeline_model_parallel_size",
            fix="Set pipeline_model_parallel_size above 1.",
        )


RULE = EpOverlapExclusions
