"""NeMo 2: rank getters, gathers of results, values of the last pipeline stage. Source: NeMo main of 2025-09."""

from __future__ import annotations

from meshlint.models.entry import Entry

_RANK = "NeMo main of 2025-09 (8cfedd7203), nemo/utils/get_rank.py"
_GATHER = "NeMo main of 2025-09 (8cfedd7203), nemo/utils/distributed.py: gathers over the default group"
_STAGE = "NeMo main of 2025-09 (8cfedd7203), nemo/lightning/_strategy_lib.py: p2p, or a broadcast over pp if asked"

ENTRIES = (
    Entry(("is_global_rank_zero",), "first", _RANK, dims=("world",)),
    Entry(("get_rank.get_rank",), "rank", _RANK, dims=("world",)),
    Entry(("get_last_rank",), "source", _RANK, dims=("world",), place="last"),
    Entry(("nemo.utils.distributed.gather_objects",), "op", _GATHER, dims=("world",), op="all_gather_object",
          payload=(0, "partial_results_list"), object_form=True),
    Entry(("nemo.lightning._strategy_lib._sync_from_last_pipeline_stage",), "p2p", _STAGE),
)  # fmt: skip
