"""What shows MOE001: an error of megatron-core's own layer."""

from __future__ import annotations

from meshlint.reproduce.case import Own, Reproducer
from meshlint.reproduce.own import Sizes, numbers, told
from meshlint.reproduce.upstream import LAYER_WITHOUT_GPUS, core_case

TP, EXPERTS = "tensor_model_parallel_size", "num_moe_experts"

LAYER = """\
from megatron.core import parallel_state
from megatron.core.models.gpt.moe_module_specs import get_moe_module_spec
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
from megatron.core.transformer.transformer_config import TransformerConfig

parallel_state.destroy_model_parallel()
parallel_state.initialize_model_parallel(tensor_model_parallel_size=2)
config = TransformerConfig(
    num_layers=1, hidden_size=8, num_attention_heads=4, num_moe_experts=2, tensor_model_parallel_size=2,
    sequence_parallel={on}, use_cpu_initialization=True, add_bias_linear=False)
model_parallel_cuda_manual_seed(1)
spec = get_moe_module_spec(use_te=False, num_experts=2, moe_grouped_gemm=False)
layer = (spec(config=config) if callable(spec) else spec.module(config, submodules=spec.submodules)).cuda()
out, _ = layer(torch.ones(4, 1, 8))
check("tokens", out.shape[0], 4)
"""

CASES = (
    core_case(
        "layer",
        "a layer of two experts in training, tp = 2, without sequence parallelism (failing) and with it (fixed)",
        LAYER.format(on=False),
        LAYER.format(on=True),
        "enabling sequence parallelism",
        world=2,
        prelude=LAYER_WITHOUT_GPUS,
        fresh=True,
    ),
)


def own(sizes: Sizes) -> Own | None:
    """Give the rule's case, the smallest of any tp above 1 and any experts."""
    found = numbers(sizes, TP, EXPERTS)
    if found is None or found[0] < 2 or sizes.get("sequence_parallel") is True:
        return None
    tp, experts = found
    return Own(CASES, told({TP: tp, EXPERTS: experts}, {TP: (tp, 2), EXPERTS: (experts, 2)}))


REPRODUCER = Reproducer("MOE001", CASES, own=own, missing="the error is megatron-core's own, which must be installed")
