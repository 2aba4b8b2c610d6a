"""What shows FRW002."""

from __future__ import annotations

from meshlint.reproduce.case import Reproducer
from meshlint.reproduce.upstream import extracted_case

READ = """\
args = dict(num_attention_heads=32, num_query_groups=8, group_query_attention={on})
groups = args["num_query_groups"] if args["group_query_attention"] else args["num_attention_heads"]
check("groups of keys and values", float(groups), 8)
"""

REPRODUCER = Reproducer(
    "FRW002",
    (
        extracted_case(
            "query-groups",
            "num_query_groups 8 without group_query_attention: every one of 32 heads has keys and values of its own",
            READ.format(on=False),
            READ.format(on=True),
            "how Megatron-LM's arguments become a config, extracted (arguments.py:1348 at core_v0.16.1)",
        ),
    ),
)
