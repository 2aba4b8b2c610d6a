"""What shows PAR011: checks of megatron-core's own schedule, which runs on GPUs only."""

from __future__ import annotations

from meshlint.reproduce.case import Depth, Reproducer
from meshlint.reproduce.upstream import core_case

SCHEDULED = """\
from megatron.core import parallel_state
from megatron.core.enums import ModelType
from megatron.core.pipeline_parallel.schedules import forward_backward_pipelining_with_interleaving
from megatron.core.transformer.transformer_config import TransformerConfig

class Chunk(torch.nn.Module):  # adds one, so that four chunks make 0 to 4
    def __init__(self, config):
        super().__init__()
        self.config, self.given, self.model_type = config, None, ModelType.encoder_or_decoder

    def set_input_tensor(self, tensor):
        self.given = tensor[0] if isinstance(tensor, list) else tensor

    def forward(self):
        return (torch.zeros(8, 1, 8) if self.given is None else self.given) + 1

def step(batches, model):
    return model(), lambda out: (out.mean(), {"loss": out.mean().item()})

def train(group, count):
    parallel_state.destroy_model_parallel()
    parallel_state.initialize_model_parallel(
        pipeline_model_parallel_size=2, virtual_pipeline_model_parallel_size=2)
    config = TransformerConfig(
        num_layers=4, hidden_size=8, num_attention_heads=4, pipeline_model_parallel_size=2,
        virtual_pipeline_model_parallel_size=2, pipeline_dtype=torch.float32,
        microbatch_group_size_per_vp_stage=group)
    losses = forward_backward_pipelining_with_interleaving(
        forward_step_func=step, data_iterator=[None, None], model=[Chunk(config), Chunk(config)],
        num_microbatches=count, seq_length=8, micro_batch_size=1, forward_only=True)
    check("micro-batches of the last stage", len(losses), count * rank)
    for loss in losses:
        check("loss", loss["loss"], 4.0)
"""

REPRODUCER = Reproducer(
    "PAR011",
    (
        core_case(
            "last-group",
            "three micro-batches (failing) and four (fixed) on two stages of two chunks, in groups of two",
            "train(group=2, count=3)\n",
            "train(group=2, count=4)\n",
            world=2,
            depths=(Depth.GPU,),
            prelude=SCHEDULED,
        ),
        core_case(
            "group-below-pp",
            "groups of one micro-batch (failing) and of two (fixed) on two stages of two chunks",
            "train(group=1, count=4)\n",
            "train(group=2, count=4)\n",
            world=2,
            depths=(Depth.GPU,),
            prelude=SCHEDULED,
        ),
    ),
    missing="the schedule is megatron-core's own, and makes its tensors on a GPU",
)
