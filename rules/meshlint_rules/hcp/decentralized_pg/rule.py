"""HCP004: level sizes with decentralized process groups."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.attention import A2A_P2P, uses_te_core, wants_levels
from meshlint.config.edits import flip
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict, Window

REFUSED = Window(
    "megatron-bridge",
    since="0.4",
    says="NotImplementedError wherever the sizes are set, whatever the comm type",
    source="src/megatron/bridge/training/initialize.py:403-409 at v0.4.0",
)
SILENT = Window(
    "megatron-bridge",
    since="0.3",
    until="0.4",
    says="the process group collection gets no hierarchical groups, and nothing says so",
    source="src/megatron/bridge/training/initialize.py:511 at v0.3.0 and v0.3.1; the option is not there at v0.2.2",
)


class DecentralizedPg(LaunchRule):
    """Level sizes together with Megatron-Bridge's decentralized process groups.

    ## What it does

    Finds `dist.use_decentralized_pg` together with `model.hierarchical_context_parallel_sizes`.

    ## Why this is bad

    The decentralized path builds its groups from a grid of its own and never builds the two levels. From
    Megatron-Bridge 0.4 on it raises NotImplementedError at start wherever the sizes are set. On 0.3 it passes, the
    layers get no groups, and with `a2a+p2p` each rank attends to its own chunk only, as HCP001 describes.

    ## Example

    ```python
    cfg.dist.use_decentralized_pg = True
    cfg.model.cp_comm_type = "a2a+p2p"
    cfg.model.hierarchical_context_parallel_sizes = [2, 2]
    ```

    ## Use instead

    ```python
    cfg.dist.use_decentralized_pg = False
    cfg.model.cp_comm_type = "a2a+p2p"
    cfg.model.hierarchical_context_parallel_sizes = [2, 2]
    ```

    ## References/versions

    See below; the table of versions is the one that the rule judges by.
    """

    code = "HCP004"
    slug = "decentralized-pg"
    outcomes = (Outcome.CRASH_START, Outcome.WRONG)
    frameworks = ("megatron-bridge",)
    windows = (REFUSED, SILENT)
    references = (
        Reference("the guard's change", "https://github.com/NVIDIA-NeMo/Megatron-Bridge/pull/2665"),
        Reference("measured: groups that are only in the collection give an output error of 1.485, without an error"),
    )
    supersedes = ("HCP007",)

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Look for the option first: few set it."""
        if not config.data("use_decentralized_pg"):
            return
        if config.data("hierarchical_context_parallel_sizes") is None:
            return
        if config.within(REFUSED):
            yield _verdict(
                config,
                Outcome.CRASH_START,
                "use_decentralized_pg is on and hierarchical_context_parallel_sizes is set: Megatron-Bridge from "
                "0.4 on raises NotImplementedError on every rank while it builds the process groups.",
            )
        elif config.within(SILENT) and _runs_levels(config):
            cp = config.number("context_parallel_size")
            yield _verdict(
                config,
                Outcome.WRONG,
                "use_decentralized_pg is on: on Megatron-Bridge 0.3 that path never builds the groups of "
                f"{A2A_P2P}, and each of the {cp} context parallel ranks attends only to its own 1/{cp} of every "
                "sequence, without an error.",
            )


def _runs_levels(config: EffectiveConfig) -> bool:
    return wants_levels(config) and config.number("context_parallel_size") > 1 and uses_te_core(config)


def _verdict(config: EffectiveConfig, outcome: Outcome, message: str) -> Verdict:
    return Verdict(
        message,
        outcome,
        subject=outcome.value,
        at="use_decentralized_pg",
        fields=("hierarchical_context_parallel_sizes", "cp_comm_type", "context_parallel_size"),
        fix=Fix(
            "Set use_decentralized_pg to False; without the sizes, with cp_comm_type p2p or a2a, it may stay.",
            flip(config.value("use_decentralized_pg")),
            safe=A2A_P2P in (config.value("cp_comm_type").data or ()),
        ),
    )


RULE = DecentralizedPg
