"""PAR012: a number of hardware queues that the parallel sizes refuse."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.edits import literal
from meshlint.rule import (
    EffectiveConfig,
    Fix,
    LaunchRule,
    Outcome,
    Reference,
    Related,
    Unjudged,
    Value,
    Verdict,
    Window,
)

BY_ARCHITECTURE = Window(
    "megatron-core",
    since="0.12",
    says="asked for with tp or cp above 1, on GPUs before Blackwell; before it always",
    source="megatron/training/arguments.py:777-791 at core_v0.12.3; :656-664 at core_v0.11.0",
)
SHARDING_REFUSES = Window(
    "megatron-core",
    since="0.12",
    says="Megatron-FSDP and FSDP2 refuse 1",
    source="megatron/training/arguments.py:537, :577 at core_v0.12.3; a warning at core_v0.11.0 :648",
)
EXPERT_OVERLAP_WARNS = Window(
    "megatron-core",
    since="0.14",
    says="with EP overlap a warning only",
    source="megatron/training/arguments.py:861-871 at core_v0.14.0; absent at core_v0.13.1",
)
NAME = "CUDA_DEVICE_MAX_CONNECTIONS"
TP, CP = "tensor_model_parallel_size", "context_parallel_size"
FSDP = ("use_megatron_fsdp", "use_torch_fsdp2")
BLACKWELL = ("B200", "B300", "GB200", "GB300")
ELSEWHERE = ("MI",)
"""How the names of GPUs begin that the check does not know."""


class MaxConnections(LaunchRule):
    """CUDA_DEVICE_MAX_CONNECTIONS set to what the parallel sizes refuse.

    ## What it does

    Finds the variable set to another value than 1 with tp or cp above 1 on Megatron-LM's command line and slime, and
    set to 1 with Megatron-FSDP or FSDP2. A variable that no part of the launch sets is not judged: the container may
    set it. The first is judged only where `--gpu` names the GPU, since from Blackwell on any value will do.

    ## Why this is bad

    With one hardware queue, kernels start in the order in which they are issued, on which the overlap of tensor and
    context parallel communication relies; FSDP needs several. Megatron-LM asserts both at start.

    ## Example

    ```bash
    export CUDA_DEVICE_MAX_CONNECTIONS=8
    torchrun pretrain_gpt.py --tensor-model-parallel-size 2
    ```

    ## Use instead

    ```bash
    export CUDA_DEVICE_MAX_CONNECTIONS=1
    torchrun pretrain_gpt.py --tensor-model-parallel-size 2
    ```

    ## References/versions
    """

    code = "PAR012"
    slug = "max-connections"
    outcomes = (Outcome.CRASH_START,)
    windows = (BY_ARCHITECTURE, SHARDING_REFUSES, EXPERT_OVERLAP_WARNS)
    references = (
        Reference("megatron/training/arguments.py:925-953, :622, :687 at core_v0.16.1; :476-484 at core_v0.8.0"),
        Reference("megatron/training/arguments.py:1411-1439, :1014, :1143 at core_v0.19.0"),
    )
    frameworks = ("megatron-lm", "slime")

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask for the variable first: where nobody sets it, nothing can be said."""
        value = config.env(NAME)
        if value is None:
            raise Unjudged(NAME, "nothing in reach sets it; the container may")
        if value.is_unknown:
            raise Unjudged(NAME, value.reason)
        if not config.habit("validates_arguments"):
            return
        if any(config.data(name) for name in FSDP):
            yield from _sharded(config, value)
        elif str(value.data) != "1":
            yield from _split(config, value)


def _sharded(config: EffectiveConfig, value: Value) -> Iterator[Verdict]:
    if str(value.data) == "1" and config.within(SHARDING_REFUSES):
        name = next(name for name in FSDP if config.data(name))
        how = f"with {name}, {config.framework.title} asserts at start that it is not 1"
        yield _verdict(value, how, name, "Set it to 8 or more, or leave it out.")


def _split(config: EffectiveConfig, value: Value) -> Iterator[Verdict]:
    name = config.framework.title
    if not config.within(BY_ARCHITECTURE):
        yield _verdict(value, f"before megatron-core 0.12, {name} raises a RuntimeError unless it is 1", TP, _ONE)
        return
    large = next((size for size in (TP, CP) if config.number(size) > 1), "")
    if not large:
        return
    gpu = str(config.data("gpu") or "").upper()
    if not gpu:
        raise Unjudged("gpu", "from Blackwell on any number of queues will do; --gpu names the GPU")
    if gpu in BLACKWELL or gpu.startswith(ELSEWHERE):
        return
    if config.data("overlap_moe_expert_parallel_comm") and config.within(EXPERT_OVERLAP_WARNS):
        return
    how = f"with {large} above 1, {name} asserts at start, on GPUs before Blackwell, that it is 1"
    yield _verdict(value, how, large, _ONE)


_ONE = "Set it to 1."


def _verdict(value: Value, how: str, field: str, fix: str) -> Verdict:
    shown = f"{NAME} = {value.data}"
    return Verdict(
        f"{shown}: {how}, and every rank stops.",
        Outcome.CRASH_START,
        span=value.span,
        fields=(field,),
        related=tuple(Related(o.span, shown) for o in value.origins[1:] if o.span is not None),
        fix=Fix(fix, literal(value, "1") if fix == _ONE else (), safe=fix == _ONE),
    )


RULE = MaxConnections
