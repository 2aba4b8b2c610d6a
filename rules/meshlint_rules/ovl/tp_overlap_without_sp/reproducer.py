"""What shows OVL002."""

from __future__ import annotations

from meshlint.reproduce.attention import REAL_NEEDS
from meshlint.reproduce.case import Arm, Case, Depth, Happens, Reproducer, fixed
from meshlint.reproduce.upstream import arguments_case, extracted_case

READ = """\
args = read("--tensor-model-parallel-size 2 --tp-comm-overlap{more}")
check("overlaps", float(args.tp_comm_overlap), 1)
"""
CHECKED = """\
args = dict(tp_comm_overlap=True, sequence_parallel={on})
if args["tp_comm_overlap"]:
    assert args["sequence_parallel"], "tp_comm_overlap wants sequence_parallel"
check("overlaps", 1.0, 1)
"""
LAYER = """\
from megatron.core import parallel_state
from megatron.core.extensions.transformer_engine import TERowParallelLinear
from megatron.core.transformer.transformer_config import TransformerConfig

parallel_state.destroy_model_parallel()
parallel_state.initialize_model_parallel(tensor_model_parallel_size=2)
config = TransformerConfig(
    num_layers=1, hidden_size=64, num_attention_heads=4, tensor_model_parallel_size=2, bf16=True,
    params_dtype=torch.bfloat16, tp_comm_overlap=True, sequence_parallel={on}, use_cpu_initialization=True)
try:
    layer = TERowParallelLinear(
        64, 64, config=config, init_method=config.init_method, bias=False, input_is_parallel=True,
        skip_bias_add=True, is_expert=False, tp_comm_buffer_name="proj")
    overlaps = layer.ub_overlap_rs_fprop
except AssertionError as error:  # it asks for the buffers of the overlap, which nobody has made
    overlaps = "initialize_ub" in str(error)
check("overlaps that the layer takes up", float(overlaps), 1)
"""
LEFT_OFF = """\
config = dict(tp_comm_overlap=True, sequence_parallel={on})
overlaps = config["tp_comm_overlap"] and config["sequence_parallel"]
check("overlaps", float(overlaps), 1)
"""
ON_A_LINE = "tp_comm_overlap without sequence parallelism, on a command line"
UNCHECKED = "tp_comm_overlap without sequence parallelism, where no arguments are checked: nothing overlaps"

REPRODUCER = Reproducer(
    "OVL002",
    (
        arguments_case(
            "checked", ON_A_LINE, READ.format(more=""), READ.format(more=" --sequence-parallel"), "sequence parallel"
        ),
        extracted_case(
            "checked",
            ON_A_LINE,
            CHECKED.format(on=False),
            CHECKED.format(on=True),
            "the check of Megatron-LM's arguments, extracted (arguments.py:916 at core_v0.16.1)",
            happens=Happens.CRASH,
            error="sequence_parallel",
        ),
        Case(
            "left-off",
            UNCHECKED,
            2,
            Arm(LAYER.format(on=False), Happens.WRONG),
            fixed(LAYER.format(on=True)),
            depths=(Depth.GPU,),
            needs=REAL_NEEDS,
            runs="megatron-core's layer over Transformer Engine's, which is built and asked",
            alike=True,
        ),
        extracted_case(
            "left-off",
            UNCHECKED,
            LEFT_OFF.format(on=False),
            LEFT_OFF.format(on=True),
            "the condition of Transformer Engine's layers, extracted (Linear.__init__ at v2.8)",
        ),
    ),
    sizeless="the overlap depends on its switches and not on any size",
)
