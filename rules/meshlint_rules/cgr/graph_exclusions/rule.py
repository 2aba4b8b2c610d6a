"""CGR001: CUDA graphs and what they exclude."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.clauses import each
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict, Window

CORE = "megatron-core"
CHECKED = Window(
    CORE,
    since="0.11",
    says="graphs are checked; before 0.15 those of enable_cuda_graph only",
    source="megatron/core/transformer/transformer_config.py:822 at core_v0.11.0; nothing at core_v0.10.0",
)
NO_RECOMPUTE = Window(
    CORE,
    since="0.11",
    until="0.15",
    says="graphs of layers exclude every recompute",
    source="megatron/core/transformer/transformer_config.py:825 at core_v0.11.0; :1270 at core_v0.14.0",
)
ATTN_RECOMPUTE = Window(
    CORE,
    since="0.15",
    until="0.16",
    says="recompute passes with Transformer Engine's graphs of the scope attn only, core_attn and mla_up_proj not",
    source="megatron/core/transformer/transformer_config.py:1397-1410 at core_v0.15.3",
)
SCOPES = Window(
    CORE,
    since="0.16",
    says="graphs have several scopes, each with what it excludes",
    source="megatron/core/transformer/transformer_config.py:1716-1826 at core_v0.16.1; :1397 at core_v0.15.3 has one",
)
OFFLOADS = Window(
    CORE,
    since="0.18",
    says="full-iteration graphs pass with CPU offloading, and have no modules",
    source="megatron/core/transformer/transformer_config.py:2237-2245 at core_v0.18.2; :1964 at core_v0.17.1",
)


class GraphExclusions(LaunchRule):
    """CUDA graphs together with what they exclude.

    ## What it does

    Finds `cuda_graph_impl` (or the older switches for it) with

    - CPU offloading of activations;
    - recompute: any before megatron-core 0.15, since then full recompute outside of a full-iteration graph, and
      recompute of what a graph holds;
    - modules that exclude each other (`moe` and `moe_router`), that miss their company (`moe_preprocess` without
      `moe_router`), that the model does not have (`moe` without experts, `mlp` without a dense layer), or whose shapes
      change (`moe` without padding to capacity).

    ## Why this is bad

    megatron-core's `TransformerConfig` raises while it is made, so every rank stops at start.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --cuda-graph-impl local --recompute-granularity full --recompute-method uniform \\
        --recompute-num-layers 1
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --cuda-graph-impl local
    ```

    ## References/versions

    See below; the table of versions is the one that the rule judges by.
    """

    code = "CGR001"
    slug = "graph-exclusions"
    outcomes = (Outcome.CRASH_START,)
    windows = (CHECKED, NO_RECOMPUTE, ATTN_RECOMPUTE, SCOPES, OFFLOADS)
    references = (
        Reference(
            "megatron/core/transformer/transformer_config.py:1013-1017 at core_v0.12.3; :1390-1410 at core_v0.15.3"
        ),
        Reference("megatron/core/transformer/transformer_config.py:1716-1826 at core_v0.16.1; :1958 at core_v0.17.1"),
        Reference(
            "megatron/core/transformer/transformer_config.py:2221-2350 at core_v0.18.2; :2445-2560 at core_v0.19.0"
        ),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask for the graphs first: most configs have none."""
        if config.data("cuda_graph_impl") in (None, "none"):
            return
        yield from each(config, _offloading, _recompute, _full_recompute, _recomputed_modules, _modules, _moe_shapes)


def _impl(config: EffectiveConfig) -> str:
    return str(config.data("cuda_graph_impl"))


def _scopes(config: EffectiveConfig) -> tuple[str, ...]:
    """Give what is captured; empty is the whole layer."""
    return tuple(name for name in config.data("cuda_graph_modules") or () if name != "full")


def _full_iteration(config: EffectiveConfig) -> bool:
    return _impl(config) == "full_iteration" or "full_iteration" in _scopes(config)


def _verdict(what: str, *fields: str, fix: str, at: str = "cuda_graph_impl") -> Verdict:
    return Verdict(
        f"{what}: TransformerConfig refuses it, and every rank stops at start.",
        Outcome.CRASH_START,
        subject=fields[0] if fields else "",
        at=at,
        fields=tuple(f for f in ("cuda_graph_impl", *fields) if f != at),
        fix=Fix(fix),
    )


def _offloading(config: EffectiveConfig) -> Iterator[Verdict]:
    if not config.data("cpu_offloading") or not config.within(CHECKED):
        return
    if _impl(config) != "local" and config.within(NO_RECOMPUTE):
        return
    if _full_iteration(config) and config.within(OFFLOADS):
        return
    yield _verdict(
        f"cuda_graph_impl = {_impl(config)} with cpu_offloading",
        "cpu_offloading",
        fix="Turn cpu_offloading off, or leave cuda_graph_impl out.",
    )


def _recompute(config: EffectiveConfig) -> Iterator[Verdict]:
    """Judge the versions before 0.16."""
    granularity = config.data("recompute_granularity")
    if granularity is None or config.within(SCOPES):
        return
    if config.within(NO_RECOMPUTE):
        if _impl(config) == "local":
            yield _with_recompute(config, granularity)
        return
    if not config.within(ATTN_RECOMPUTE):
        return
    if granularity != "selective" or _impl(config) != "transformer_engine" or _scopes(config) != ("attn",):
        yield _with_recompute(config, granularity)
        return
    held = [m for m in config.data("recompute_modules") or () if m in ("core_attn", "mla_up_proj")]
    if held:
        yield _held(config, held)


def _with_recompute(config: EffectiveConfig, granularity: str) -> Verdict:
    return _verdict(
        f"cuda_graph_impl = {_impl(config)} with recompute_granularity = {granularity}",
        "recompute_granularity",
        fix="Leave recompute_granularity out, or cuda_graph_impl.",
    )


def _held(config: EffectiveConfig, held: list[str]) -> Verdict:
    return _verdict(
        f"cuda_graph_impl = {_impl(config)} captures attention, and recompute_modules hold {', '.join(held)}",
        "recompute_modules",
        "cuda_graph_modules",
        fix=f"Take {', '.join(held)} out of recompute_modules, or attn out of cuda_graph_modules.",
    )


def _full_recompute(config: EffectiveConfig) -> Iterator[Verdict]:
    if config.data("recompute_granularity") != "full" or not config.within(SCOPES) or _full_iteration(config):
        return
    yield _verdict(
        f"cuda_graph_impl = {_impl(config)} with recompute_granularity = full, and the graph is not that of a full "
        "iteration",
        "recompute_granularity",
        "cuda_graph_modules",
        fix="Set recompute_granularity to selective, or leave cuda_graph_impl out.",
    )


def _recomputed_modules(config: EffectiveConfig) -> Iterator[Verdict]:
    if config.data("recompute_granularity") != "selective" or not config.within(SCOPES):
        return
    scopes, modules = _scopes(config), config.data("recompute_modules") or ()
    if _impl(config) == "transformer_engine" and "moe" in modules and "moe_router" in scopes:
        yield _verdict(
            "cuda_graph_impl = transformer_engine captures moe_router, and recompute_modules hold moe",
            "recompute_modules",
            "cuda_graph_modules",
            fix="Take moe out of recompute_modules, or moe_router out of cuda_graph_modules.",
        )
    attention = not scopes or "attn" in scopes or _full_iteration(config)
    if not attention or "core_attn" not in modules:
        return
    if config.value("attention_dropout").span is None and not config.habit("validates_arguments"):
        return  # the model's own code sets it, mostly to 0
    dropout = config.data("attention_dropout")
    if dropout:
        yield _verdict(
            f"cuda_graph_impl = {_impl(config)} captures attention with attention_dropout = {dropout}, and "
            "recompute_modules hold core_attn",
            "attention_dropout",
            "recompute_modules",
            fix="Set attention_dropout to 0, or take core_attn out of recompute_modules.",
        )


def _modules(config: EffectiveConfig) -> Iterator[Verdict]:
    """Look at modules that exclude or need each other."""
    scopes = set(_scopes(config))
    if not scopes or not config.within(SCOPES):
        return
    if _impl(config) == "local" and scopes & {"moe_router", "moe_preprocess"}:
        scopes |= {"moe_router", "moe_preprocess"}
    if _impl(config) == "full_iteration" and config.within(OFFLOADS):
        yield _in_modules("cuda_graph_modules beside cuda_graph_impl = full_iteration", "Leave cuda_graph_modules out.")
    elif _impl(config) == "transformer_engine" and "full_iteration" in scopes:
        yield _in_modules(
            "cuda_graph_modules hold full_iteration beside cuda_graph_impl = transformer_engine",
            "Set cuda_graph_impl to local, or take full_iteration out of cuda_graph_modules.",
        )
    elif {"moe", "moe_router"} <= scopes:
        yield _in_modules(
            "cuda_graph_modules hold both moe and moe_router", "Take one of the two out of cuda_graph_modules."
        )
    elif "moe_preprocess" in scopes and "moe_router" not in scopes:
        yield _in_modules(
            "cuda_graph_modules hold moe_preprocess without moe_router", "Put moe_router into cuda_graph_modules."
        )


def _in_modules(what: str, fix: str, *fields: str) -> Verdict:
    return _verdict(what, *fields, fix=fix, at="cuda_graph_modules")


def _moe_shapes(config: EffectiveConfig) -> Iterator[Verdict]:
    """Look at modules that the model does not have, or whose shapes change from step to step."""
    scopes = _scopes(config)
    if not {"moe", "moe_router", "mlp"} & set(scopes) or not config.within(SCOPES):
        return
    experts = config.data("num_moe_experts") or 0
    if experts <= 1:
        if {"moe", "moe_router"} & set(scopes):
            yield _in_modules(
                "cuda_graph_modules hold modules of experts, and the model has none",
                "Take them out of cuda_graph_modules.",
                "num_moe_experts",
            )
        return
    if "mlp" in scopes and _all_have_experts(config):
        yield _in_modules(
            "cuda_graph_modules hold mlp, and every layer has experts",
            "Take mlp out of cuda_graph_modules.",
            "moe_layer_freq",
            "num_moe_experts",
        )
    if "moe" in scopes and not _padded(config):
        yield _in_modules(
            "cuda_graph_modules hold moe, and expert inputs are not padded to a fixed capacity",
            "Set moe_expert_capacity_factor and turn moe_pad_expert_input_to_capacity on, or capture moe_router.",
            "moe_expert_capacity_factor",
            "moe_pad_expert_input_to_capacity",
        )


def _padded(config: EffectiveConfig) -> bool:
    padded = config.data("moe_pad_expert_input_to_capacity")
    return bool(padded) and config.data("moe_expert_capacity_factor") is not None


def _all_have_experts(config: EffectiveConfig) -> bool:
    often = config.data("moe_layer_freq")
    return often == 1 or (isinstance(often, tuple) and 0 not in often)


RULE = GraphExclusions
