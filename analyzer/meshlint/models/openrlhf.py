"""First-rank tests of OpenRLHF and others that spell them alike. Source: names in OpenRLHF, ms-swift, ColossalAI."""

from __future__ import annotations

from meshlint.models.entry import Entry

ENTRIES = (
    Entry(("is_rank_0", "is_rank_zero", "is_master", "is_main_rank", "is_main_process", "is_local_master"), "first",
          "names in OpenRLHF, ms-swift and ColossalAI for the first rank", dims=("world",), weak=True),
)  # fmt: skip
