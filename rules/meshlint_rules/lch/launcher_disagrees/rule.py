"""LCH001: launchers that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.clauses import each
from meshlint.config.commands.launchers import devices
from meshlint.config.value import Value
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Related, Verdict


class LauncherDisagrees(LaunchRule):
    """Counts of nodes, GPUs and processes that contradict each other.

    ## What it does

    Finds, where every number is written in the launch:

    - more processes a node than GPUs that CUDA_VISIBLE_DEVICES, or the Slurm job, gives to it;
    - more nodes in torchrun or the trainer than the Slurm job has;
    - a torchrun that srun starts in another number than its `--nnodes`: `--ntasks-per-node` is the number of torchruns
      on a node, not of ranks.

    Fewer than there are is taken as meant.

    ## Why this is bad

    A process without a GPU of its own stops at start (`invalid device ordinal`); Ray refuses a pool that is larger than
    its cluster, or waits for it. Nodes that never come leave the others waiting in the rendezvous, until it gives up.
    Of several torchruns on one node each takes all of its GPUs, and those beyond `--nnodes` find no place.

    ## Example

    ```bash
    #SBATCH --nodes=4 --ntasks-per-node=8 --gpus-per-node=8
    srun torchrun --nnodes 4 --nproc-per-node 8 pretrain_gpt.py ...
    ```

    ## Use instead

    ```bash
    #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
    srun torchrun --nnodes 4 --nproc-per-node 8 pretrain_gpt.py ...
    ```

    ## References/versions

    Every version so far.
    """

    code = "LCH001"
    slug = "launcher-disagrees"
    outcomes = (Outcome.CRASH_START, Outcome.HANG)
    references = (
        Reference(
            "torch/distributed/elastic/rendezvous/dynamic_rendezvous.py of PyTorch 2.6: min_nodes of the rendezvous"
        ),
        Reference(
            "verl/single_controller/ray/base.py and trainer/ppo/utils.py at 1dda039b9: GPUs asked of Ray's cluster"
        ),
        Reference("Slurm's srun manual: --ntasks-per-node"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Compare what starts the ranks with what the job gives."""
        yield from each(config, _visible, _gpus, _nodes, _agents)


def _number(value: Value | None) -> int | None:
    known = value is not None and value.is_set and isinstance(value.data, int) and not isinstance(value.data, bool)
    return value.data if value is not None and known else None


def _verdict(message: str, outcome: Outcome, mine: Value, other: Value, label: str, fix: str) -> Verdict:
    at, there = mine.span, other.span
    return Verdict(
        message,
        outcome,
        subject=label,
        span=at,
        related=() if there is None else (Related(there, label),),
        fix=Fix(fix),
    )


def _visible(config: EffectiveConfig) -> Iterator[Verdict]:
    """Compare the processes of a node with the GPUs that they may see."""
    mine, seen = config.launch.gpus_per_node, devices(config.launch.environment)
    ranks, gpus = _number(mine), _number(seen)
    if mine is None or seen is None or ranks is None or gpus is None or ranks <= gpus:
        return
    yield _verdict(
        f"{ranks} processes a node, and CUDA_VISIBLE_DEVICES names {gpus} GPUs: those beyond stop at start, and the "
        "job with them.",
        Outcome.CRASH_START,
        mine,
        seen,
        f"CUDA_VISIBLE_DEVICES names {gpus} GPUs",
        f"Start {gpus} processes a node, or name {ranks} GPUs.",
    )


def _gpus(config: EffectiveConfig) -> Iterator[Verdict]:
    """Compare the processes of a node with the GPUs that Slurm gives to it."""
    mine, given = config.launch.gpus_per_node, config.launch.counts.get("gpus")
    ranks, gpus = _number(mine), _number(given)
    if mine is None or given is None or ranks is None or gpus is None or ranks <= gpus:
        return
    yield _verdict(
        f"{ranks} processes a node, and the Slurm job has {gpus} GPUs on a node: those beyond stop at start, and the "
        "job with them.",
        Outcome.CRASH_START,
        mine,
        given,
        f"the job has {gpus} GPUs on a node",
        f"Start {gpus} processes a node, or ask for {ranks} GPUs.",
    )


def _nodes(config: EffectiveConfig) -> Iterator[Verdict]:
    """Compare the nodes of torchrun or the trainer with those of the Slurm job."""
    mine, given = config.launch.nodes, config.launch.counts.get("nodes")
    wanted, nodes = _number(mine), _number(given)
    if mine is None or given is None or wanted is None or nodes is None or wanted <= nodes:
        return
    yield _verdict(
        f"{wanted} nodes are waited for, and the Slurm job has {nodes}: the ranks never come together, and the job "
        "ends when its start times out.",
        Outcome.HANG,
        mine,
        given,
        f"the job has {nodes} nodes",
        f"Set the nodes to {nodes}, or ask for {wanted}.",
    )


def _agents(config: EffectiveConfig) -> Iterator[Verdict]:
    """Compare the torchruns that srun starts with the number that each waits for."""
    counts = config.launch.counts
    nnodes = counts.get("nnodes")
    if "srun" not in counts or "nproc" not in counts or nnodes is None:
        return
    each_node = counts.get("tasks_per_node")
    wanted, tasks, nodes = _number(nnodes), _number(each_node), _number(counts.get("nodes"))
    if each_node is None or wanted is None or tasks is None or nodes is None or tasks <= 1:
        return
    if "tasks" in counts or nodes * tasks == wanted:
        return
    yield _verdict(
        f"srun starts {tasks} torchruns on each of {nodes} nodes, {nodes * tasks} in all, and each waits for {wanted}: "
        "those of one node take the same GPUs, and those beyond the number find no place, so the start fails.",
        Outcome.CRASH_START,
        nnodes,
        each_node,
        f"{tasks} tasks a node",
        "Set --ntasks-per-node to 1: torchrun starts the ranks of its node itself.",
    )


RULE = LauncherDisagrees
