"""What shows PAR007: assertions of Megatron-LM's argument check and of megatron-core."""

from __future__ import annotations

from meshlint.reproduce.case import Case, Own, Reproducer
from meshlint.reproduce.own import Sizes, numbers, told
from meshlint.reproduce.upstream import arguments_case, groups_case

PP, VPP = "pipeline_model_parallel_size", "virtual_pipeline_model_parallel_size"
CHECKS_ARGUMENTS = ("megatron-lm", "slime")
ERROR = "pipeline-model-parallel size should be greater than"

READ = """\
args = read("--pipeline-model-parallel-size {pp} --num-layers {layers}{more}")
check("stages", float(args.pipeline_model_parallel_size), {pp})
"""


def in_core(vpp: int) -> Case:
    """Make the case of megatron-core's groups: virtual stages with one pipeline stage."""
    return groups_case(
        "one-stage",
        f"{vpp} virtual stages with one pipeline stage",
        f"{VPP}={vpp}",
        f"{VPP}=None",
        error=ERROR,
    )


def on_a_line(pp: int) -> Case:
    """Make the case of a command line: two chunks of layers a stage, which a step does not overlap with two stages."""
    overlap = " --no-overlap-p2p-communication" if pp > 1 else ""
    failing, right = (
        READ.format(pp=pp, layers=2 * pp, more=f"{chunks}{overlap}")
        for chunks in (" --num-virtual-stages-per-pipeline-rank 2", "")
    )
    beside = " and without the overlap of p2p communication" if overlap else ""
    says = f"two virtual stages on {pp} of a command line{beside} (failing), and none (fixed)"
    return arguments_case(
        "one-stage" if pp == 1 else "two-stages", says, failing, right, "pipeline-model-parallel size"
    )


def own(sizes: Sizes) -> Own | None:
    """Make the case of a launch's stages, by the check that it meets first."""
    found = numbers(sizes, PP, VPP)
    if found is None or found[0] > 2:
        return None
    (pp, vpp), line = found, sizes.get("framework") in CHECKS_ARGUMENTS
    if pp == 2 and not line:
        return None
    few = min(vpp, 2)
    cases = (*((on_a_line(pp),) if line else ()), *((in_core(few),) if pp == 1 else ()))
    return Own(cases, told({PP: pp, VPP: vpp}, {VPP: (vpp, few)}))


REPRODUCER = Reproducer(
    "PAR007",
    (in_core(2), on_a_line(2)),
    own=own,
    missing="the check is megatron-core's own, which must be installed",
)
