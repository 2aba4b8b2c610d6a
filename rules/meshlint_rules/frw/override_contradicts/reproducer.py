"""What shows FRW001."""

from __future__ import annotations

from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.own import of_subject
from meshlint.reproduce.upstream import core_case, extracted_case

REAL = """\
from megatron.core import parallel_state
from megatron.core.transformer.transformer_block import get_num_layers_to_build
from megatron.core.transformer.transformer_config import TransformerConfig

engine, override = {{"pipeline_model_parallel_size": 1}}, {override}
parallel_state.destroy_model_parallel()
parallel_state.initialize_model_parallel(**engine)
settings = engine | override  # verl: the override goes into the model's config, and not to the groups
config = TransformerConfig(
    num_layers=4, hidden_size=64, num_attention_heads=4, pipeline_dtype=torch.float32, **settings)
check("layers of the only stage", get_num_layers_to_build(config, None, 0), 4)
"""
EXTRACTED = """\
engine, override = {{"cp": 2}}, {override}
group_ranks = engine["cp"]
layer = engine | override  # verl: the override goes into the model's config, and not to the groups
gets_group = layer["cp"] > 1  # megatron-core: the layer takes a group where its config has a cp above 1
check("ranks that share a sequence in attention", float(group_ranks if gets_group else 1), group_ranks)
"""

CASES = (
    core_case(
        "pp",
        "an override of pp = 2 under groups of one stage: the stage builds half of the layers",
        REAL.format(override='{"pipeline_model_parallel_size": 2}'),
        REAL.format(override="{}"),
        happens=Happens.WRONG,
        runs="megatron-core's groups and its count of layers; the merge is verl's, extracted "
        "(verl/workers/engine/megatron/transformer_impl.py:272-372 at 1dda039b9)",
    ),
    extracted_case(
        "cp",
        "an override of cp = 1 under groups of two ranks: each attends to its own part alone",
        EXTRACTED.format(override='{"cp": 1}'),
        EXTRACTED.format(override="{}"),
        "verl's merge and megatron-core's choice of group, extracted (transformer_engine.py:1228 at core_v0.16.1)",
    ),
)

REPRODUCER = Reproducer(
    "FRW001",
    CASES,
    own=of_subject(CASES, {"context_parallel_size": "cp", "pipeline_model_parallel_size": "pp"}),
    sizeless="none of them is about this very setting",
)
