"""What shows PKD009."""

from __future__ import annotations

from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.upstream import extracted_case

CHECKED = """\
policy = {{"sequence_packing": {{"enabled": {on}}}, "megatron_cfg": {{"context_parallel_size": 2}}}}
if policy["megatron_cfg"]["context_parallel_size"] > 1:
    assert policy["sequence_packing"]["enabled"], "context parallelism wants packed sequences"
check("packed", float(policy["sequence_packing"]["enabled"]), 1)
"""

REPRODUCER = Reproducer(
    "PKD009",
    (
        extracted_case(
            "policy",
            "cp = 2 without packed sequences (failing) and with them (fixed)",
            CHECKED.format(on=False),
            CHECKED.format(on=True),
            "the check of NeMo-RL's worker, extracted (nemo_rl/models/megatron/setup.py:635 at v0.7.0)",
            happens=Happens.CRASH,
            error="packed sequences",
        ),
    ),
)
