"""CTX009: a list of comm types that does not fit the layers."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.attention import comm_types
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict, Window

ANY_CP = Window(
    "megatron-core",
    until="0.12",
    says="the length is asserted at cp = 1 too",
    source="megatron/core/transformer/transformer_config.py:849 at core_v0.11.0; with cp > 1 at :1044, core_v0.12.3",
)


class PerLayerList(LaunchRule):
    """A list of comm types whose length is not the number of layers.

    ## What it does

    Finds a `cp_comm_type` list, one entry a layer, that has more or fewer entries than the model has layers. A list of
    one is fine on the command line, which unwraps it, and nowhere else.

    ## Why this is bad

    The transformer config asserts the length while it is made, before the model is built. Every rank stops.

    ## Example

    ```python
    cfg.model.num_layers = 4
    cfg.model.context_parallel_size = 2
    cfg.model.cp_comm_type = ["p2p"]
    ```

    ## Use instead

    ```python
    cfg.model.num_layers = 4
    cfg.model.context_parallel_size = 2
    cfg.model.cp_comm_type = "p2p"
    ```

    ## References/versions

    See below; the table of versions is the one that the rule judges by.
    """

    code = "CTX009"
    slug = "per-layer-list"
    outcomes = (Outcome.CRASH_START,)
    windows = (ANY_CP,)
    references = (
        Reference("megatron/core/transformer/transformer_config.py:1928-1935 at core_v0.16.1"),
        Reference("megatron/training/arguments.py:1361 at core_v0.16.1: the command line unwraps a list of one"),
        Reference("src/megatron/bridge/training/config.py:1261-1265 at v0.4.0"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Look for a list first: most configs have one word."""
        types = comm_types(config)
        if not _is_list(config, len(types)):
            return
        layers = config.number("num_layers")
        if len(types) == layers:
            return
        cp = config.number("context_parallel_size")
        if cp <= 1 and not config.within(ANY_CP):
            return
        yield Verdict(
            f"cp_comm_type is a list of {len(types)}, and the model has num_layers = {layers}: the transformer config "
            f"asserts that they are equal, and every rank stops at start.",
            Outcome.CRASH_START,
            at="cp_comm_type",
            fields=("num_layers", "context_parallel_size"),
            fix=Fix(f"Give {layers}, one for each layer, or a single word for all."),
        )


def _is_list(config: EffectiveConfig, length: int) -> bool:
    """Say whether a list reaches the transformer config; a list of one shows only in how it is written."""
    if length > 1:
        return True
    value = config.value("cp_comm_type")
    written = next((o.text for o in value.origins if o.text), "")
    return value.is_set and not config.habit("unwraps_single_comm_type") and written.strip("'\" ")[:1] in ("[", "(")


RULE = PerLayerList
