"""CTX003: heads that the a2a cannot split."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from meshlint.config.attention import A2A_P2P, a2a_degree, builds_levels, comm_types, level_sizes, listed, uses_te_core
from meshlint.config.packing import can_be_packed
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict
from meshlint.words import plural


class HeadsPerA2a(LaunchRule):
    """Attention heads that the all-to-all cannot split.

    ## What it does

    Finds `a2a`, or the a2a level of `a2a+p2p`, whose degree does not divide the heads of a tensor parallel rank, or its
    key-value groups (at least 1). The degree is cp for `a2a`, and the first of the level sizes for `a2a+p2p`.

    ## Why this is bad

    The all-to-all gives each rank the whole sequence for a part of the heads. Transformer Engine asserts that the heads
    divide, in the first forward pass; with `a2a+p2p` it says that no attention backend is available, without the
    reason, or fails in a reshape. No argument check looks at it.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --num-attention-heads 32 --num-query-groups 8 --group-query-attention \\
        --tensor-model-parallel-size 4 --context-parallel-size 8 --cp-comm-type a2a
    ```

    Each tensor parallel rank has 8 heads and 2 key-value groups; 2 does not divide by 8.

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --num-attention-heads 32 --num-query-groups 8 --group-query-attention \\
        --tensor-model-parallel-size 4 --context-parallel-size 8 --cp-comm-type a2a+p2p \\
        --hierarchical-context-parallel-sizes 2 4
    ```

    ## References/versions

    Every version of Transformer Engine that has a2a, from 1.11 on.
    """

    code = "CTX003"
    slug = "heads-per-a2a"
    outcomes = (Outcome.CRASH_LATE,)
    references = (
        Reference("transformer_engine/pytorch/attention.py:3540 at v1.11"),
        Reference("transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py:4243-4246 at v2.18"),
        Reference("measured: a2a with 6 heads and cp = 4 asserts; a2a+p2p [2,2] with 3 heads finds no backend"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Look for a2a first, then cp, then the shape."""
        types = sorted({comm for comm in comm_types(config) if comm in ("a2a", A2A_P2P)})
        if not types:
            return
        cp = config.number("context_parallel_size")
        if cp <= 1 or not uses_te_core(config):
            return
        for comm in types:
            yield from _one(config, comm, cp)


def _one(config: EffectiveConfig, comm: str, cp: int) -> Iterator[Verdict]:
    sizes = level_sizes(config) if comm == A2A_P2P else ()
    if comm == A2A_P2P and not builds_levels(config):
        return
    degree = a2a_degree(comm, sizes, cp)
    if degree <= 1:
        return
    tp = config.number("tensor_model_parallel_size")
    heads = config.number("num_attention_heads")
    if heads % tp:
        return
    if heads // tp % degree:
        have = f"num_attention_heads / tp = {heads} / {tp} = {plural(heads // tp, 'head')}"
        yield _verdict(config, comm, degree, have, heads // tp, _common(config, heads // tp, tp))
        return
    groups = heads if config.data("multi_latent_attention") else config.number("num_query_groups")
    local = max(groups // tp, 1)
    if local % degree:
        yield _verdict(
            config,
            comm,
            degree,
            f"max(num_query_groups / tp, 1) = max({groups} / {tp}, 1) = {plural(local, 'key-value group')}",
            local,
            gcd(local, heads // tp),
        )


def _common(config: EffectiveConfig, heads: int, tp: int) -> int:
    """Give what a degree must divide besides cp: heads, and key-value groups where they are known."""
    groups = config.value("num_query_groups").data
    grouped = isinstance(groups, int) and groups > 0 and not config.value("multi_latent_attention").data
    return gcd(heads, max(groups // tp, 1)) if grouped else heads


def _verdict(config: EffectiveConfig, comm: str, degree: int, have: str, count: int, common: int) -> Verdict:
    cp = config.number("context_parallel_size")
    source = f"{comm} over cp = {cp}" if comm == "a2a" else f"the a2a level of {listed(level_sizes(config))}"
    return Verdict(
        f"{source} splits heads {degree} ways, but a rank has {have}: {count} % {degree} = {count % degree}. Start-up "
        f"passes, and every rank stops in Transformer Engine in the first forward.",
        Outcome.CRASH_LATE,
        at="cp_comm_type" if comm == "a2a" else "hierarchical_context_parallel_sizes",
        fields=("context_parallel_size", "tensor_model_parallel_size", "num_attention_heads", "num_query_groups"),
        fix=Fix(_advice(cp, common, levels=builds_levels(config) and not can_be_packed(config))),
    )


def _advice(cp: int, count: int, *, levels: bool) -> str:
    """Name what works here: the two levels only where their groups are built, and they take the sequences."""
    fits = gcd(cp, count)
    if fits == 1:
        return "Set cp_comm_type to p2p: no a2a degree fits these heads."
    if fits == cp:
        return "Set cp_comm_type to a2a."
    if not levels:
        return f"Set cp_comm_type to p2p, or context_parallel_size to {fits}."
    return (
        f"Set cp_comm_type to a2a+p2p with hierarchical_context_parallel_sizes {listed((fits, cp // fits))}, or to p2p."
    )


RULE = HeadsPerA2a
