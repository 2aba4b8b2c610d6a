"""What shows HCP005: megatron-core's own check of the release of Transformer Engine."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.own import above_one

TOLD = """\
import megatron.core.utils, packaging.version
megatron.core.utils._te_version = packaging.version.Version("{version}")
"""

CASES = attention_cases(
    "old",
    "a2a+p2p where megatron-core takes Transformer Engine for 1.11 (failing) and for 1.12 (fixed)",
    Setting("a2a+p2p", [2, 1], before=TOLD.format(version="1.11.0")),
    Setting("a2a+p2p", [2, 1], before=TOLD.format(version="1.12.0")),
    Happens.CRASH,
    stand_in=False,
    real_error="must be >= 1.12.0",
    fresh=True,
    runs="megatron-core's own check, which is told another release of Transformer Engine than the one that runs",
)

REPRODUCER = Reproducer(
    "HCP005",
    CASES,
    own=above_one("context_parallel_size", CASES),
    missing="the check is megatron-core's own, and comes with the layer of Transformer Engine",
)
