"""OVL001: a parameter gather that overlaps with nothing."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.edits import flip
from meshlint.config.sizes import launched, positive
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Severity, Verdict, Window

CORE = "megatron-core"
FSDP_PASSES = Window(
    CORE,
    since="0.14",
    says="Megatron-FSDP stands in for the distributed optimizer",
    source="megatron/training/arguments.py:560 at core_v0.14.0; :513 at core_v0.12.3",
)
MUON_PASSES = Window(
    CORE,
    since="0.17",
    says="dist_muon stands in for the distributed optimizer",
    source="megatron/training/arguments.py:857 at core_v0.17.1; :598 at core_v0.16.1",
)
STRATEGY_OVERLAPS = Window(
    CORE,
    since="0.12",
    until="0.14",
    says="the sharding strategy turns the overlaps on itself",
    source="megatron/training/arguments.py:505-510 at core_v0.12.3; :587 at core_v0.13.1; gone at core_v0.14.0",
)
HOOKS = Window(
    CORE,
    until="0.17",
    says="without the distributed optimizer the gather is not made",
    source="megatron/core/distributed/distributed_data_parallel.py:348 at core_v0.16.1; :354 at core_v0.17.1",
)
ONE_HAS_ALL = Window(
    CORE,
    since="0.18",
    says="without the distributed optimizer a group of one rank gathers nothing",
    source="megatron/core/distributed/param_and_grad_buffer.py:389 at core_v0.18.0; :342 at core_v0.17.1, no such test",
)
PLAIN = ("adam", "sgd")
"""The optimizers that are known to lay nothing out for a gather of their own, as layer-wise ones do."""
LAYER_WISE = "use_layer_wise_distributed_optimizer"
MEND = "Turn use_distributed_optimizer on, or overlap_param_gather off."


class ParamGather(LaunchRule):
    """An overlapped parameter gather without what it gathers for.

    ## What it does

    Finds `overlap_param_gather` without the distributed optimizer (or Megatron-FSDP, or `dist_muon`, where those may
    stand in for it), and, where the entry checks it, without `overlap_grad_reduce`.

    ## Why this is bad

    Megatron-LM's argument check asserts both, as do slime, which runs it, and ROLL: every rank stops at start.
    Frameworks that build megatron-core's configs themselves assert nothing; there, without the distributed optimizer,
    no parameters are sharded. Before megatron-core 0.17 the setting then does nothing. From 0.17 on the first forward
    pass gathers all the same what a layer-wise optimizer such as Muon would have laid out, and finds nothing: a
    TypeError on every rank, after the model is built and the data is loaded; from 0.18 on only where a parameter lies
    on several data parallel ranks. Other optimizers than Adam and SGD are left alone.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --overlap-param-gather --use-distributed-optimizer
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --overlap-param-gather --overlap-grad-reduce --use-distributed-optimizer
    ```

    ## References/versions

    See below; the table of versions is the one that the rule judges by.
    """

    code = "OVL001"
    slug = "param-gather"
    outcomes = (Outcome.CRASH_START, Outcome.CRASH_LATE, Outcome.IGNORED)
    windows = (FSDP_PASSES, MUON_PASSES, STRATEGY_OVERLAPS, HOOKS, ONE_HAS_ALL)
    references = (
        Reference(
            "megatron/training/arguments.py:279-285 at core_v0.8.0; :597-603 at core_v0.16.1; :990 at core_v0.19.0"
        ),
        Reference(
            "mcore_adapter/src/mcore_adapter/training_args.py:409-413 of ROLL at 8eb27cc2; its training strategy "
            "takes none, roll/distributed/strategy/megatron_strategy.py:119"
        ),
        Reference(
            "src/megatron/bridge/training/comm_overlap.py:579 at 067f987df: set with the distributed optimizer only"
        ),
        Reference(
            "megatron/core/distributed/param_and_grad_buffer.py:324-342 at core_v0.17.1: the gather of a layer-wise "
            "optimizer, whose sizes are None (:123) until it sets them"
        ),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask for the overlap first: most configs have it off, or all three on."""
        if not config.data("overlap_param_gather"):
            return
        checks = config.habit("checks_param_gather")
        if checks == "never":
            yield Verdict(
                f"overlap_param_gather: {config.framework.title}'s training strategy asserts that it is off, and every "
                "rank stops at start.",
                Outcome.CRASH_START,
                at="overlap_param_gather",
                fix=Fix("Turn overlap_param_gather off.", flip(config.value("overlap_param_gather")), safe=True),
            )
            return
        if not _shards(config):
            if checks:
                yield _refused("without use_distributed_optimizer", "use_distributed_optimizer")
            elif config.within(HOOKS):
                yield Verdict(
                    "overlap_param_gather without use_distributed_optimizer does nothing: every rank holds all "
                    "parameters, and none are gathered.",
                    Outcome.IGNORED,
                    at="overlap_param_gather",
                    fields=("use_distributed_optimizer",),
                    severity=Severity.WARNING,
                    fix=Fix(MEND),
                )
            else:
                yield from _gathers_nothing(config)
            return
        if checks and not config.data("overlap_grad_reduce") and not _strategy_overlaps(config):
            yield _refused("without overlap_grad_reduce", "overlap_grad_reduce")


def _gathers_nothing(config: EffectiveConfig) -> Iterator[Verdict]:
    """Judge the gather of a layer-wise optimizer under one that is none."""
    layer_wise = any(write.key.rpartition(".")[2] == LAYER_WISE for write in config.launch.writes)
    if layer_wise or str(config.data("optimizer")) not in PLAIN:
        return
    several = _on_several_ranks(config)
    if several is False and config.within(ONE_HAS_ALL):
        return
    unknown = ", unless there is one data parallel rank" if several is None else ""
    yield Verdict(
        "overlap_param_gather without use_distributed_optimizer: megatron-core gathers in the first forward what only "
        f"a layer-wise optimizer lays out, finds nothing, and every rank stops with a TypeError{unknown}.",
        Outcome.CRASH_LATE,
        at="overlap_param_gather",
        fields=("use_distributed_optimizer",),
        related=launched(config),
        severity=None if several is not None and config.pinned(CORE) else Severity.WARNING,
        fix=Fix(MEND),
    )


def _on_several_ranks(config: EffectiveConfig) -> bool | None:
    """Say whether each parameter of a dense layer lies on several ranks; None where it is not known."""
    world = config.value("world_size")
    if world.is_unknown or not isinstance(world.data, int):
        return None
    holders = positive(config, "tensor_model_parallel_size") * positive(config, "pipeline_model_parallel_size")
    return world.data > holders


def _shards(config: EffectiveConfig) -> bool:
    if config.data("use_distributed_optimizer"):
        return True
    if config.data("use_megatron_fsdp") and config.within(FSDP_PASSES):
        return True
    return config.data("optimizer") == "dist_muon" and config.within(MUON_PASSES)


def _strategy_overlaps(config: EffectiveConfig) -> bool:
    strategy = config.data("data_parallel_sharding_strategy")
    return strategy in ("optim_grads", "optim_grads_params") and config.within(STRATEGY_OVERLAPS)


def _refused(what: str, missing: str) -> Verdict:
    return Verdict(
        f"overlap_param_gather {what}: the argument check asserts that it is on, and every rank stops at start.",
        Outcome.CRASH_START,
        subject=missing,
        at="overlap_param_gather",
        fields=(missing,),
        fix=Fix(f"Turn {missing} on, or overlap_param_gather off."),
    )


RULE = ParamGather
