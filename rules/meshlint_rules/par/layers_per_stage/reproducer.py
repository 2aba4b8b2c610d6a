"""What shows PAR003."""

from __future__ import annotations

from meshlint.reproduce.case import Case, Own, Reproducer
from meshlint.reproduce.own import Sizes, divided
from meshlint.reproduce.upstream import core_case, extracted_case

PP = "pipeline_model_parallel_size"

BUILT = """\
from megatron.core import parallel_state
from megatron.core.transformer.transformer_block import get_num_layers_to_build
from megatron.core.transformer.transformer_config import TransformerConfig

parallel_state.destroy_model_parallel()
parallel_state.initialize_model_parallel(pipeline_model_parallel_size=2)
config = TransformerConfig(
    num_layers={layers}, hidden_size=64, num_attention_heads=4, pipeline_model_parallel_size=2,
    pipeline_dtype=torch.float32)
check("layers of this stage", get_num_layers_to_build(config, None, rank), {layers} / 2)
"""
ROUNDED = """\
layers, stages = {layers}, 2
theirs = [None] * stages
dist.all_gather_object(theirs, layers // stages)
check("layers that some stage builds", float(sum(theirs)), layers)
"""


def of(layers: int, stages: int) -> tuple[Case, ...]:
    """Make the cases of layers over stages."""
    says, right = f"{layers} layers over {stages} pipeline stages", layers // stages * stages or stages
    built = [_staged(BUILT, stages).format(layers=count) for count in (layers, right)]
    rounded = [_staged(ROUNDED, stages).format(layers=count) for count in (layers, right)]
    cut = "the division of megatron-core's stages, without its assertion"
    return (
        core_case("layers", says, built[0], built[1], "divisible by", world=stages),
        extracted_case(
            "layers", f"{says}: those left over are built by nobody", rounded[0], rounded[1], cut, world=stages
        ),
    )


def _staged(text: str, stages: int) -> str:
    text = text.replace("model_parallel_size=2", f"model_parallel_size={stages}")
    return text.replace("{layers} / 2", f"{{layers}} / {stages}").replace("{layers}, 2", f"{{layers}}, {stages}")


def own(sizes: Sizes) -> Own | None:
    """Make the cases of a launch's layers and stages, where a finding is about these two alone."""
    about = sizes.get("subject", PP)
    return divided("num_layers", PP, of)(sizes) if about in (PP, "num_layers") else None


REPRODUCER = Reproducer(
    "PAR003",
    (
        core_case(
            "layers",
            "three layers over two pipeline stages",
            BUILT.format(layers=3),
            BUILT.format(layers=4),
            "should be divisible by",
            world=2,
        ),
        extracted_case(
            "rounded-down",
            "three layers over two pipeline stages where nothing checks it: the last layer is built by nobody",
            ROUNDED.format(layers=3),
            ROUNDED.format(layers=4),
            "the division of megatron-core before 0.11, without the assertion that came later",
            world=2,
        ),
    ),
    own=own,
)
