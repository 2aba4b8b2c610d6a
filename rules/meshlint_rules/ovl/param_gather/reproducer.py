"""What shows OVL001."""

from __future__ import annotations

from dataclasses import replace

from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.upstream import arguments_case, core_case, extracted_case

READ = """\
args = read("--use-distributed-optimizer --overlap-param-gather{more}")
check("gathers that overlap", float(args.overlap_param_gather), 1)
"""
CHECKED = """\
args = dict(overlap_param_gather=True, use_distributed_optimizer={optimizer}, overlap_grad_reduce={reduce})
if args["overlap_param_gather"]:
    assert args["use_distributed_optimizer"], "overlap_param_gather wants the distributed optimizer"
    assert args["overlap_grad_reduce"], "overlap_param_gather wants overlap_grad_reduce"
check("gathers that overlap", 1.0, 1)
"""
WRAPPED = """\
from megatron.core import parallel_state
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig
from megatron.core.transformer.transformer_config import TransformerConfig

if not torch.cuda.is_available():
    torch.cuda.current_device = lambda: "cpu"  # where its buffers go
parallel_state.destroy_model_parallel()
parallel_state.initialize_model_parallel()
config = TransformerConfig(num_layers=1, hidden_size=8, num_attention_heads=2)
overlap = DistributedDataParallelConfig(
    use_distributed_optimizer={optimizer}, overlap_param_gather=True, overlap_grad_reduce=True)
model = DistributedDataParallel(config, overlap, torch.nn.Linear(8, 8))
gathers = []
for group in model.bucket_groups:
    def start(force_sync=False, begin=group.start_param_sync):
        gathers.append(1)
        return begin(force_sync)
    group.start_param_sync = start
model(torch.ones(2, 8))
check("gathers in a step", float(len(gathers)), 1)
"""
HOOKED = """\
config = dict(overlap_param_gather=True, use_distributed_optimizer={optimizer})
hooked = config["use_distributed_optimizer"] and config["overlap_param_gather"]
check("gathers in a step", float(hooked), 1)
"""
SAYS = "overlap_param_gather without"
ALONE = f"{SAYS} the distributed optimizer, where no arguments are checked"
ON_A_LINE = f"{SAYS} overlap_grad_reduce, on a command line"

REPRODUCER = Reproducer(
    "OVL001",
    (
        arguments_case(
            "grad-reduce",
            ON_A_LINE,
            READ.format(more=""),
            READ.format(more=" --overlap-grad-reduce"),
            "overlap-grad-reduce",
        ),
        extracted_case(
            "grad-reduce",
            ON_A_LINE,
            CHECKED.format(optimizer=True, reduce=False),
            CHECKED.format(optimizer=True, reduce=True),
            "the check of Megatron-LM's arguments, extracted (arguments.py:597-603 at core_v0.16.1)",
            happens=Happens.CRASH,
            error="overlap_grad_reduce",
        ),
        replace(
            core_case(
                "no-optimizer",
                f"{ALONE}: nothing overlaps before megatron-core 0.17",
                WRAPPED.format(optimizer=False),
                WRAPPED.format(optimizer=True),
                world=2,
                happens=Happens.WRONG,
            ),
            releases={"megatron.core": "<0.17"},
        ),
        extracted_case(
            "no-optimizer",
            f"{ALONE}: nothing overlaps before megatron-core 0.17",
            HOOKED.format(optimizer=False),
            HOOKED.format(optimizer=True),
            "the condition of megatron-core's hooks, extracted (distributed_data_parallel.py:348 at core_v0.16.1)",
        ),
    ),
    sizeless="the overlap depends on its switches and not on any size",
)
