"""What shows FRW002."""

from __future__ import annotations

from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.upstream import arguments_case, extracted_case

CONFIG = """\
args = read("--num-query-groups 2{more}")
config = core_transformer_config_from_args(args)
check("groups of keys and values", float(config.num_query_groups), 2)
"""
READ = """\
args = dict(num_attention_heads=4, num_query_groups=2, group_query_attention={on})
groups = args["num_query_groups"] if args["group_query_attention"] else args["num_attention_heads"]
check("groups of keys and values", float(groups), 2)
"""
SAYS = "num_query_groups 2 without group_query_attention: every one of 4 heads has keys and values of its own"

REPRODUCER = Reproducer(
    "FRW002",
    (
        arguments_case(
            "query-groups",
            SAYS,
            CONFIG.format(more=""),
            CONFIG.format(more=" --group-query-attention"),
            happens=Happens.WRONG,
        ),
        extracted_case(
            "query-groups",
            SAYS,
            READ.format(on=False),
            READ.format(on=True),
            "how Megatron-LM's arguments become a config, extracted (arguments.py:1348 at core_v0.16.1)",
        ),
    ),
    sizeless="a switch that is off is off at any size",
)
