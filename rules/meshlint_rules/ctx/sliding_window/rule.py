"""CTX004: a sliding window with an exchange that cannot do it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from meshlint.config.attention import comm_types, level_sizes, taken_as, uses_te_core
from meshlint.config.packing import packed_needs
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict, Window

ASSERTS = Window(
    "transformer-engine",
    since="1.11",
    says="a sliding window with p2p or a2a+p2p is refused in the forward pass",
    source="transformer_engine/pytorch/attention.py:3999 at v1.11; v1.10 gathers all instead",
)


class SlidingWindow(LaunchRule):
    """A sliding window with an exchange that cannot do it.

    ## What it does

    Finds a `window_size` other than `(-1, 0)` and `(-1, -1)` on some layer (`window_attn_skip_freq` says which) whose
    exchange is `p2p`, the default, or `a2a+p2p`, with cp > 1.

    ## Why this is bad

    Transformer Engine does sliding windows under context parallelism with `a2a` and `all_gather` only, and asserts so
    in the first forward pass. No argument check looks at it, and p2p is what runs when nothing is set.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --context-parallel-size 2 --window-size 128,0
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --context-parallel-size 2 --window-size 128,0 --cp-comm-type a2a
    ```

    ## References/versions

    See below; the table of versions is the one that the rule judges by.
    """

    code = "CTX004"
    slug = "sliding-window"
    outcomes = (Outcome.CRASH_LATE,)
    windows = (ASSERTS,)
    references = (
        Reference("transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py:5057-5060 at v2.18"),
        Reference("megatron/core/transformer/utils.py:403 at core_v0.15.0: which layers have the window"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Look for a window first: most models have none."""
        window = config.data("window_size")
        if window is None or tuple(window) in ((-1, 0), (-1, -1)):
            return
        cp = config.number("context_parallel_size")
        if cp <= 1 or not uses_te_core(config):
            return
        types = _under_window(config)
        wrong = next((comm for comm in types if comm in ("p2p", "a2a+p2p")), None)
        if wrong is None or taken_as(wrong, level_sizes(config)) == "a2a" or not config.within(ASSERTS):
            return
        yield _verdict(config, window, wrong, cp)


def _under_window(config: EffectiveConfig) -> Sequence[str]:
    """Give the exchanges of the layers that have the window."""
    types, skip = comm_types(config), config.data("window_attn_skip_freq")
    if skip is None:
        return types
    if len(types) == 1:
        some = skip != 1 if isinstance(skip, int) else any(skip)
        return types if some else ()
    return [comm for layer, comm in enumerate(types, 1) if _has_window(layer, skip)]


def _has_window(layer: int, skip: int | Sequence[int]) -> bool:
    if isinstance(skip, int):
        return skip == 0 or layer % skip != 0
    return layer <= len(skip) and bool(skip[layer - 1])


def _verdict(config: EffectiveConfig, window: Sequence[int], comm: str, cp: int) -> Verdict:
    given = comm if config.value("cp_comm_type").is_set else f"{comm}, which is what runs where cp_comm_type is not set"
    return Verdict(
        f"window_size {tuple(window)} is a sliding window, and its layers exchange by {given}, with "
        f"context_parallel_size = {cp}: start-up passes, and every rank stops with Transformer Engine's assertion "
        "in the first forward.",
        Outcome.CRASH_LATE,
        at="window_size",
        fields=("cp_comm_type", "context_parallel_size", "window_attn_skip_freq"),
        fix=Fix(_advice(config)),
    )


def _advice(config: EffectiveConfig) -> str:
    """Leave all_gather out where an attention sink needs a2a (CTX005)."""
    a2a = f"a2a where heads and key-value groups per tensor parallel rank divide by cp{packed_needs(config, '2.10')}"
    if config.value("softmax_type").data not in (None, "vanilla"):
        return f"Set cp_comm_type to {a2a}."
    return f"Set cp_comm_type to all_gather{packed_needs(config, '2.18')}; or to {a2a}."


RULE = SlidingWindow
