"""PAR007: interleaving without pipeline stages."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict

PP = "pipeline_model_parallel_size"
VPP = "virtual_pipeline_model_parallel_size"
OVERLAP = "overlap_p2p_comm"


class VirtualWithoutPipeline(LaunchRule):
    """Model chunks for an interleaved schedule, with no pipeline to interleave.

    ## What it does

    Finds `virtual_pipeline_model_parallel_size` with one pipeline stage; on Megatron-LM's command line and slime, also
    with two stages and `--no-overlap-p2p-communication`. A size of 1 is reset there, as in ms-swift and AReaL;
    elsewhere it counts.

    ## Why this is bad

    The interleaved schedule needs stages to go around. Megatron-LM asserts it among its arguments, and megatron-core's
    `initialize_model_parallel` raises a RuntimeError on every rank.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --num-virtual-stages-per-pipeline-rank 2 --pipeline-model-parallel-size 1
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --num-virtual-stages-per-pipeline-rank 2 --pipeline-model-parallel-size 4
    ```

    ## References/versions

    Every version so far.
    """

    code = "PAR007"
    slug = "virtual-without-pipeline"
    outcomes = (Outcome.CRASH_START,)
    references = (
        Reference(
            "megatron/training/arguments.py:573-582 at core_v0.16.1; :255-261 at core_v0.8.0; :334 at core_v0.10.0"
        ),
        Reference("megatron/core/parallel_state.py:745-750 at core_v0.16.1; :447 at core_v0.8.0; :827 at core_v0.19.0"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask for vpp first: most pipelines are not interleaved."""
        vpp = config.data(VPP)
        if not isinstance(vpp, int) or vpp < 1:
            return
        pp, arguments = config.number(PP), bool(config.habit("validates_arguments"))
        if pp == 1 and arguments:
            yield _verdict(vpp, f"{PP} = 1", f"{config.framework.title} asserts at start that there are stages", ())
        elif pp == 1:
            yield _verdict(
                vpp, f"{PP} = 1", "megatron-core raises a RuntimeError when it builds the process groups", ()
            )
        elif pp == 2 and arguments and config.data(OVERLAP) is False:
            how = f"{config.framework.title} asserts at start that there are more than two stages"
            yield _verdict(vpp, f"{PP} = 2 and {OVERLAP} off", how, (OVERLAP,))


def _verdict(vpp: int, where: str, how: str, more: tuple[str, ...]) -> Verdict:
    others = f"set {PP} above 2 or leave {OVERLAP} on" if more else f"set {PP} above 1"
    return Verdict(
        f"{VPP} = {vpp} with {where}: {how}, and every rank stops.",
        Outcome.CRASH_START,
        at=VPP,
        fields=(PP, *more),
        fix=Fix(f"Leave {VPP} out, or {others}."),
    )


RULE = VirtualWithoutPipeline
