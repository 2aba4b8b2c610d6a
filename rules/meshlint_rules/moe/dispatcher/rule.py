"""MOE004: a token dispatcher and settings that do not go with it."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.clauses import each
from meshlint.config.experts import has_experts
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Severity, Verdict, Window

CORE = "megatron-core"
DEEPEP = Window(
    CORE,
    since="0.12",
    says="moe_enable_deepep asks for the flex dispatcher",
    source="megatron/core/transformer/transformer_config.py:629 at core_v0.12.3; no such field at core_v0.11.0",
)
BACKENDS = Window(
    CORE,
    since="0.16",
    says="the flex dispatcher has a backend; moe_enable_deepep excludes hybridep",
    source="megatron/core/transformer/transformer_config.py:1066 at core_v0.16.1; no such field at core_v0.15.3",
)
NCCLEP = Window(
    CORE,
    since="0.19",
    says="the backend ncclep asks for the flex dispatcher",
    source="megatron/core/transformer/transformer_config.py:1609 at core_v0.19.0; no such backend at core_v0.18.2",
)
NO_FLEX = Window(
    CORE,
    until="0.12",
    says="there is no flex dispatcher",
    source="megatron/core/transformer/moe/moe_layer.py:91-105 at core_v0.11.0; :111 at core_v0.12.3",
)
SEQ = Window(
    CORE,
    until="0.13",
    says="there is a dispatcher alltoall_seq",
    source="megatron/core/transformer/moe/moe_layer.py:107 at core_v0.12.3; gone at core_v0.13.0",
)
SHARED_FLEX = Window(
    CORE,
    since="0.18",
    says="shared experts overlap with the flex dispatcher too",
    source="megatron/core/transformer/transformer_config.py:1467 at core_v0.18.2; :1270 at core_v0.17.1",
)
ANY_BACKEND_WIDE = Window(
    CORE,
    until="0.17.1",
    says="the flex dispatcher needs tp*ep > 1 whatever its backend",
    source="megatron/core/transformer/moe/token_dispatcher.py:1360 at core_v0.17.0; deepep alone, :1365 at "
    "core_v0.17.1",
)


class Dispatcher(LaunchRule):
    """A token dispatcher together with settings that exclude it.

    ## What it does

    Finds, of a model with experts, and the two that TransformerConfig refuses of one without as well (DeepEP, and a
    pad without a capacity):

    - `moe_enable_deepep` or the backend `ncclep` without the `flex` dispatcher, `moe_enable_deepep` with `hybridep`;
    - `flex` where the experts are spread over one rank only (DeepEP, and `ncclep`), or where expert inputs are padded
      to capacity (DeepEP);
    - `moe_pad_expert_input_to_capacity` without a capacity;
    - `moe_shared_expert_overlap` with a dispatcher that cannot overlap;
    - `allgather` with sequences of variable length;
    - a dispatcher that the judged megatron-core does not have;
    - as information: the backend `hybridep` without `flex`, which changes nothing.

    ## Why this is bad

    megatron-core's `TransformerConfig` or its dispatcher raises while the model is made, on every rank.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --num-experts 8 --expert-model-parallel-size 8 --moe-enable-deepep
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --num-experts 8 --expert-model-parallel-size 8 --moe-enable-deepep \\
        --moe-token-dispatcher-type flex
    ```

    ## References/versions

    See below; the table of versions is the one that the rule judges by.
    """

    code = "MOE004"
    slug = "dispatcher"
    outcomes = (Outcome.CRASH_START, Outcome.IGNORED)
    windows = (DEEPEP, BACKENDS, NCCLEP, NO_FLEX, SEQ, SHARED_FLEX, ANY_BACKEND_WIDE)
    references = (
        Reference(
            "megatron/core/transformer/transformer_config.py:1063-1095, :1827 at core_v0.16.1; :570 at core_v0.10.0"
        ),
        Reference(
            "megatron/core/transformer/moe/token_dispatcher.py:1360 at core_v0.17.0; :1770, :1788 at core_v0.19.0"
        ),
        Reference("megatron/core/transformer/moe/moe_layer.py:219 at core_v0.16.1"),
        Reference("slime/backends/megatron_utils/arguments.py:82 of slime at 624b824a: allgather becomes alltoall"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask for experts first: most models have none; three settings are refused all the same."""
        if not has_experts(config):
            yield from each(config, _deepep, _no_factor, _shared)
            return
        yield from each(config, _unknown_type, _deepep, _backend, _one_rank, _padded, _no_factor, _shared, _variable)


def _type(config: EffectiveConfig) -> str:
    return str(config.data("moe_token_dispatcher_type") or "allgather")


def _verdict(config: EffectiveConfig, message: str, at: str, *fields: str, fix: str) -> Verdict:
    written = next((f for f in (at, *fields) if config.value(f).span is not None), at)
    return Verdict(
        message,
        Outcome.CRASH_START,
        subject=at,
        at=written,
        fields=tuple(f for f in (at, *fields) if f != written),
        fix=Fix(fix),
    )


def _unknown_type(config: EffectiveConfig) -> Iterator[Verdict]:
    kind = _type(config)
    if kind in ("flex", "alltoall_seq") and not config.pinned(CORE):
        return  # whoever writes it has a release that knows it
    known = {"allgather", "alltoall"}
    if kind not in known and not config.within(NO_FLEX):
        known.add("flex")
    if kind not in known and config.within(SEQ):
        known.add("alltoall_seq")
    if kind in known:
        return
    names = ", ".join(sorted(known))
    yield _verdict(
        config,
        f"moe_token_dispatcher_type = {kind} is none that this megatron-core has ({names}): it is refused before the "
        "first step, and every rank stops.",
        "moe_token_dispatcher_type",
        fix=f"Set moe_token_dispatcher_type to one of {names}.",
    )


def _uses_deepep(config: EffectiveConfig) -> bool:
    return bool(config.data("moe_enable_deepep")) and config.within(DEEPEP)


def _backend_of(config: EffectiveConfig) -> str:
    """Give the flex dispatcher's backend; before 0.16 there is DeepEP alone."""
    if _uses_deepep(config) or not config.within(BACKENDS):
        return "deepep"
    return str(config.data("moe_flex_dispatcher_backend") or "")


def _deepep(config: EffectiveConfig) -> Iterator[Verdict]:
    if not config.data("moe_enable_deepep") or not _uses_deepep(config):
        return
    if _type(config) != "flex":
        yield _verdict(
            config,
            f"moe_enable_deepep with moe_token_dispatcher_type = {_type(config)}: TransformerConfig raises a "
            "ValueError, since DeepEP is a backend of the flex dispatcher, and every rank stops at start.",
            "moe_enable_deepep",
            "moe_token_dispatcher_type",
            fix="Set moe_token_dispatcher_type to flex, or turn moe_enable_deepep off.",
        )
    elif config.within(BACKENDS) and config.data("moe_flex_dispatcher_backend") == "hybridep":
        yield _verdict(
            config,
            "moe_enable_deepep with moe_flex_dispatcher_backend = hybridep: TransformerConfig raises a ValueError, "
            "since the flex dispatcher has one backend, and every rank stops at start.",
            "moe_enable_deepep",
            "moe_flex_dispatcher_backend",
            fix="Turn moe_enable_deepep off.",
        )


def _backend(config: EffectiveConfig) -> Iterator[Verdict]:
    value = config.value("moe_flex_dispatcher_backend")
    if value.span is None or value.data not in ("hybridep", "ncclep") or _type(config) == "flex":
        return
    if value.data == "ncclep" and config.within(NCCLEP):
        yield _verdict(
            config,
            f"moe_flex_dispatcher_backend = ncclep with moe_token_dispatcher_type = {_type(config)}: TransformerConfig "
            "raises a ValueError, and every rank stops at start.",
            "moe_flex_dispatcher_backend",
            "moe_token_dispatcher_type",
            fix="Set moe_token_dispatcher_type to flex.",
        )
        return
    yield Verdict(
        f"moe_flex_dispatcher_backend = {value.data} does nothing with moe_token_dispatcher_type = {_type(config)}: "
        "only the flex dispatcher has backends.",
        Outcome.IGNORED,
        at="moe_flex_dispatcher_backend",
        fields=("moe_token_dispatcher_type",),
        severity=Severity.INFO,
        fix=Fix("Set moe_token_dispatcher_type to flex, or leave moe_flex_dispatcher_backend out."),
    )


def _one_rank(config: EffectiveConfig) -> Iterator[Verdict]:
    if _type(config) != "flex" or config.within(NO_FLEX):
        return
    ep, tp = config.number("expert_model_parallel_size"), config.number("expert_tensor_parallel_size")
    if ep * tp > 1:
        return
    if not config.within(ANY_BACKEND_WIDE) and _backend_of(config) not in ("deepep", "ncclep"):
        return
    yield _verdict(
        config,
        f"moe_token_dispatcher_type = flex with expert_model_parallel_size * expert_tensor_parallel_size = {ep * tp}: "
        "the dispatcher asserts that experts are spread over several ranks, and every rank stops while the model is "
        "built.",
        "moe_token_dispatcher_type",
        "expert_model_parallel_size",
        "expert_tensor_parallel_size",
        fix="Set moe_token_dispatcher_type to alltoall, or expert_model_parallel_size above 1.",
    )


def _padded(config: EffectiveConfig) -> Iterator[Verdict]:
    if not config.data("moe_pad_expert_input_to_capacity") or _type(config) != "flex" or config.within(NO_FLEX):
        return
    if config.within(BACKENDS) and _backend_of(config) != "deepep":
        return
    yield _verdict(
        config,
        "moe_pad_expert_input_to_capacity with moe_token_dispatcher_type = flex and DeepEP: TransformerConfig raises a "
        "ValueError, and every rank stops at start.",
        "moe_pad_expert_input_to_capacity",
        "moe_token_dispatcher_type",
        "moe_flex_dispatcher_backend",
        fix="Set moe_token_dispatcher_type to alltoall, or turn moe_pad_expert_input_to_capacity off.",
    )


def _no_factor(config: EffectiveConfig) -> Iterator[Verdict]:
    if not config.data("moe_pad_expert_input_to_capacity") or config.data("moe_expert_capacity_factor") is not None:
        return
    yield _verdict(
        config,
        "moe_pad_expert_input_to_capacity without moe_expert_capacity_factor: TransformerConfig raises a ValueError, "
        "and every rank stops at start.",
        "moe_pad_expert_input_to_capacity",
        "moe_expert_capacity_factor",
        fix="Set moe_expert_capacity_factor, or turn moe_pad_expert_input_to_capacity off.",
    )


def _shared(config: EffectiveConfig) -> Iterator[Verdict]:
    if not config.data("moe_shared_expert_overlap"):
        return
    if config.data("moe_shared_expert_intermediate_size") is None:
        return
    kind = _type(config)
    if kind == "alltoall" or (kind == "flex" and config.within(SHARED_FLEX)):
        return
    yield _verdict(
        config,
        f"moe_shared_expert_overlap with moe_token_dispatcher_type = {kind}: TransformerConfig raises a ValueError, "
        "and every rank stops at start.",
        "moe_shared_expert_overlap",
        "moe_token_dispatcher_type",
        "moe_shared_expert_intermediate_size",
        fix="Set moe_token_dispatcher_type to alltoall, or turn moe_shared_expert_overlap off.",
    )


def _variable(config: EffectiveConfig) -> Iterator[Verdict]:
    if _type(config) != "allgather" or not config.data("variable_seq_lengths"):
        return
    yield _verdict(
        config,
        "moe_token_dispatcher_type = allgather with variable_seq_lengths: TransformerConfig raises a ValueError, and "
        "every rank stops at start.",
        "moe_token_dispatcher_type",
        "variable_seq_lengths",
        fix="Set moe_token_dispatcher_type to alltoall.",
    )


RULE = Dispatcher
