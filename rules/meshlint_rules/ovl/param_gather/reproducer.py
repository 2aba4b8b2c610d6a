"""What shows OVL001."""

from __future__ import annotations

from meshlint.reproduce.case import Case, Happens, Own, Reproducer
from meshlint.reproduce.own import Sizes, told
from meshlint.reproduce.upstream import arguments_case, core_case, extracted_case

READ = """\
args = read("--overlap-param-gather{more}")
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
GATHERED = """\
config = dict(overlap_param_gather=True, use_distributed_optimizer={optimizer})
layer_wise_sizes = None  # until a layer-wise optimizer sets them
sizes = [8] if config["use_distributed_optimizer"] else layer_wise_sizes
check("sizes that are gathered", float(max(sizes)), 8)
"""
SAYS = "overlap_param_gather without"
ALONE = f"{SAYS} the distributed optimizer, where no arguments are checked"
BOTH = " --use-distributed-optimizer --overlap-grad-reduce"


def on_a_line(name: str, missing: str, optimizer: bool, reduce: bool, error: str) -> tuple[Case, ...]:
    """Make the cases of a command line that lacks one flag: by the check, and by what was extracted of it."""
    says = f"{SAYS} {missing}, on a command line"
    more = " --use-distributed-optimizer" * optimizer + " --overlap-grad-reduce" * reduce
    return (
        arguments_case(name, says, READ.format(more=more), READ.format(more=BOTH), error),
        extracted_case(
            name,
            says,
            CHECKED.format(optimizer=optimizer, reduce=reduce),
            CHECKED.format(optimizer=True, reduce=True),
            "the check of Megatron-LM's arguments, extracted (arguments.py:597-603 at core_v0.16.1)",
            happens=Happens.CRASH,
            error=missing.rpartition(" ")[2],
        ),
    )


def unchecked(name: str, what: str, text: str, cut: str, releases: str, happens: Happens) -> tuple[Case, ...]:
    """Make the cases of a launch whose arguments nobody checks: by megatron-core, and by what was extracted of it."""
    says, error = f"{ALONE}: {what}", "TypeError" if happens is Happens.CRASH else ""
    failing, right = (WRAPPED.format(optimizer=on) for on in (False, True))
    return (
        core_case(name, says, failing, right, error, world=2, happens=happens, releases=releases),
        extracted_case(
            name, says, text.format(optimizer=False), text.format(optimizer=True), cut, happens=happens, error=error
        ),
    )


ON_A_LINE = {
    "overlap_grad_reduce": on_a_line("grad-reduce", "overlap_grad_reduce", True, False, "overlap-grad-reduce"),
    "use_distributed_optimizer": on_a_line(
        "optimizer", "the distributed optimizer", False, True, "only supported with distributed optimizer"
    ),
}
UNCHECKED = (
    *unchecked(
        "no-optimizer",
        "nothing overlaps before megatron-core 0.17",
        HOOKED,
        "the condition of megatron-core's hooks, extracted (distributed_data_parallel.py:348 at core_v0.16.1)",
        "<0.17",
        Happens.WRONG,
    ),
    *unchecked(
        "no-optimizer-later",
        "the first forward stops from megatron-core 0.17 on",
        GATHERED,
        "the gather of megatron-core's buckets, extracted (param_and_grad_buffer.py:123, :342 at core_v0.17.1)",
        ">=0.17",
        Happens.CRASH,
    ),
)


def own(sizes: Sizes) -> Own | None:
    """Give the cases of what a finding is about: the switches are all that counts."""
    about = str(sizes.get("subject"))
    if about in ON_A_LINE:
        return Own(ON_A_LINE[about], told({"overlap_param_gather": "on", about: "off"}, {}))
    if about != "overlap_param_gather" or sizes.get("framework") == "roll":
        return None
    return Own(UNCHECKED, told({about: "on", "use_distributed_optimizer": "off"}, {}))


REPRODUCER = Reproducer("OVL001", (*(case for cases in ON_A_LINE.values() for case in cases), *UNCHECKED), own=own)
