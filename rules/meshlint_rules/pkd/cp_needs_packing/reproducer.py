"""What shows PKD009."""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Depth, Happens, Own, Reproducer, fixed
from meshlint.reproduce.own import Sizes, numbers, told
from meshlint.reproduce.upstream import extracted_case

SETUP = '''\
import __future__
import ast
import importlib.util
from pathlib import Path
from types import SimpleNamespace

def apply(config):
    """Run `_apply_parallelism_config` of NeMo-RL's setup.py, compiled without what the file imports."""
    file = Path(importlib.util.find_spec("nemo_rl").origin).parent / "models/megatron/setup.py"
    tree, name, space = ast.parse(file.read_text()), "_apply_parallelism_config", {}
    tree.body = [node for node in tree.body if getattr(node, "name", "") == name]
    exec(compile(tree, str(file), "exec", __future__.annotations.compiler_flag), space)
    space[name](SimpleNamespace(), config)

SIZES = dict(
    tensor_model_parallel_size=1, pipeline_model_parallel_size=1, sequence_parallel=False,
    num_layers_in_first_pipeline_stage=None, num_layers_in_last_pipeline_stage=None)
'''
APPLIED = """\
policy = {{"sequence_packing": {{"enabled": {on}}}, "megatron_cfg": SIZES | {{"context_parallel_size": {cp}}}}}
apply(policy)
check("packed", float(policy["sequence_packing"]["enabled"]), 1)
"""
CHECKED = """\
policy = {{"sequence_packing": {{"enabled": {on}}}, "megatron_cfg": {{"context_parallel_size": {cp}}}}}
if policy["megatron_cfg"]["context_parallel_size"] > 1:
    assert policy["sequence_packing"]["enabled"], "context parallelism wants packed sequences"
check("packed", float(policy["sequence_packing"]["enabled"]), 1)
"""
CP = "context_parallel_size"


def of(cp: int) -> tuple[Case, ...]:
    """Make the cases of a policy; setting parallelism takes one process, whatever cp is."""
    says = f"cp = {cp} without packed sequences (failing) and with them (fixed)"
    return (
        Case(
            "policy",
            says,
            1,
            Arm(APPLIED.format(on=False, cp=cp), Happens.CRASH, error="Sequence Packing must be enabled"),
            fixed(APPLIED.format(on=True, cp=cp)),
            depths=(Depth.CPU, Depth.GPU),
            needs=("nemo_rl",),
            releases={"nemo_rl": ">=0.6"},
            prelude=SETUP,
            runs="NeMo-RL's own function that sets parallelism",
            alike=True,
        ),
        extracted_case(
            "policy",
            says,
            CHECKED.format(on=False, cp=cp),
            CHECKED.format(on=True, cp=cp),
            "the check of NeMo-RL's worker, extracted (nemo_rl/models/megatron/setup.py:635 at v0.7.0)",
            happens=Happens.CRASH,
            error="packed sequences",
        ),
    )


def own(sizes: Sizes) -> Own | None:
    """Make the cases of a launch's cp."""
    found = numbers(sizes, CP)
    return None if found is None or found[0] < 2 else Own(of(found[0]), told({CP: found[0]}, {}))


REPRODUCER = Reproducer("PKD009", of(2), own=own)
