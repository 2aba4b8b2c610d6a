"""What shows HCP006."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.own import without_groups

WRITTEN = "hierarchical_context_parallel_sizes = [2, 1]  # of the model's config, and never handed to the builder\n"

SAYS = "sizes stand in the model's config, and the groups are built without them"

REPRODUCER = Reproducer(
    "HCP006",
    attention_cases(
        "not-handed-on",
        SAYS,
        Setting("a2a+p2p", None, before=WRITTEN, real={"hierarchical_context_parallel_sizes": [2, 1]}),
        Setting("a2a+p2p", [2, 1], before=WRITTEN, real={"hierarchical_context_parallel_sizes": [2, 1]}),
        Happens.WRONG,
    ),
    own=without_groups("not-handed-on", SAYS),
)
