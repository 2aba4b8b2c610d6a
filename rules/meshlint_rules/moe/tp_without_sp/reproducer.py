"""What shows MOE001: an error of megatron-core's own layer."""

from __future__ import annotations

from meshlint.reproduce.case import Depth, Reproducer
from meshlint.reproduce.upstream import core_case

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
out, _ = layer(torch.ones(4, 1, 8, device="cuda"))
check("tokens", out.shape[0], 4)
"""

REPRODUCER = Reproducer(
    "MOE001",
    (
        core_case(
            "layer",
            "a layer of two experts in training, tp = 2, without sequence parallelism (failing) and with it (fixed)",
            LAYER.format(on=False),
            LAYER.format(on=True),
            "enabling sequence parallelism",
            world=2,
            depths=(Depth.GPU,),
        ),
    ),
    missing="the error is megatron-core's own, and the layer runs on GPUs only",
)
