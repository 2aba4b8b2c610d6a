"""The process groups of the rank grid, and which of them cross nodes."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from meshlint.card import Group, Item
from meshlint.config.attention import builds_levels, level_sizes
from meshlint.config.card.ranks import (
    CP,
    EP,
    ETP,
    PP,
    SENTENCE,
    TP,
    count,
    expert_replicas,
    expert_shards,
    replicas,
    shards,
    with_experts,
)
from meshlint.config.effective import EffectiveConfig, Unjudged
from meshlint.config.framework import Window
from meshlint.config.sizes import CORE, positive
from meshlint.mesh import layout
from meshlint.mesh.dims import Mesh

INSTANCES = "num_distributed_optimizer_instances"
WITH_CP = Window(
    CORE,
    since="0.11",
    says="instances divide dp * cp; before it dp alone",
    source="megatron/core/parallel_state.py:780-782 at core_v0.11.0; :728 at core_v0.10.0",
)
HAND_ON = frozenset({"megatron-lm", "slime", "megatron-bridge", "nemo-rl", "nemo2"})
"""Frameworks that hand the number of optimizer instances to the group builder.

Source: megatron/training/initialize.py:374 at core_v0.16.1; Megatron-Bridge v0.4.0 training/initialize.py:560; verl,
ms-swift, ROLL and AReaL pass none.
"""


def rank_order(config: EffectiveConfig) -> str:
    """Give the order of the grid, fastest first.

    Megatron-Bridge's own groups have one order alone (v0.4.0 training/initialize.py, `HyperCommGrid`).
    """
    if not config.data("use_tp_pp_dp_mapping"):
        return layout.ORDER
    return layout.ORDER if config.data("use_decentralized_pg") else layout.STAGES_FIRST


def order(config: EffectiveConfig) -> Item:
    """Tell the order of the grid."""
    return Item(rank_order(config))


def groups(config: EffectiveConfig) -> Item:
    """Tell the dense groups of more than one rank."""
    _bounded(config)
    sizes = _dense(config)
    ranks = prod(sizes.values())
    mesh = layout.grid({**sizes, "edp": ranks // sizes["pp"]}, rank_order(config))
    return Item(tuple(_told(config, _of_dense(config, mesh))))


def expert_groups(config: EffectiveConfig) -> Item:
    """Tell the groups of the experts; no data where the model has none."""
    if not with_experts(config):
        return Item()
    _bounded(config)
    dense, edp = _dense(config), expert_replicas(config)
    experts = {"etp": positive(config, ETP), "ep": positive(config, EP), "edp": edp}
    mesh = layout.grid({**dense, **experts, "expert-shards": expert_shards(config)}, rank_order(config))
    if not layout.stages_agree(mesh):
        raise Unjudged(
            SENTENCE, f"in the order {rank_order(config)} experts would be on other stages, which is refused"
        )
    return Item(tuple(_told(config, _of_experts(mesh))))


def _dense(config: EffectiveConfig) -> dict[str, int]:
    """Give the size of each dense leaf."""
    tp, cp, pp = (positive(config, name) for name in (TP, CP, PP))
    return {"tp": tp, "shards": shards(config), "cp.0": cp, "dp": replicas(config), "pp": pp}


def _bounded(config: EffectiveConfig) -> None:
    if count(config) > layout.MAX_RANKS:
        raise Unjudged(SENTENCE, f"meshlint lists the groups of at most {layout.MAX_RANKS:,} ranks")


Named = tuple[str, layout.Groups]


def _of_dense(config: EffectiveConfig, mesh: Mesh) -> Iterator[Named]:
    yield "tp", layout.groups(mesh, "tp")
    yield "weight shards", layout.groups(mesh, "shards")
    cp = layout.groups(mesh, "cp")
    yield "cp", cp
    yield from _levels(config, cp)
    yield "dp", layout.groups(mesh, "dp")
    both = layout.groups(mesh, "dp", "cp")
    if _size(mesh, "cp.0") > 1 and _size(mesh, "dp") > 1:
        yield "dp-cp", both
    yield from _instances(config, both)
    yield "pp", layout.groups(mesh, "pp")


def _levels(config: EffectiveConfig, cp: layout.Groups) -> Iterator[Named]:
    """Give the groups of hierarchical cp, where the framework has them built."""
    sizes = level_sizes(config)
    if len(cp[0]) == 1 or len(sizes) < 2 or prod(sizes) != len(cp[0]) or not builds_levels(config):
        return
    names = ("cp a2a", "cp p2p") if len(sizes) == 2 else tuple(f"cp level {at}" for at in range(len(sizes)))
    for at, name in enumerate(names):
        yield name, layout.level(cp, sizes, at)


def _instances(config: EffectiveConfig, both: layout.Groups) -> Iterator[Named]:
    """Give the groups of the optimizer's instances: the ranks of one instance, and those that hold the same shard."""
    if config.framework.name not in HAND_ON:
        return
    number = positive(config, INSTANCES)
    if number == 1 or len(both[0]) % number or not config.within(WITH_CP):
        return
    sizes = (len(both[0]) // number, number)
    yield "optimizer instance", layout.level(both, sizes, 0)
    yield "across instances", layout.level(both, sizes, 1)


def _of_experts(mesh: Mesh) -> Iterator[Named]:
    yield "etp", layout.groups(mesh, "etp")
    yield "expert weight shards", layout.groups(mesh, "expert-shards")
    yield "ep", layout.groups(mesh, "ep")
    if _size(mesh, "etp") > 1 and _size(mesh, "ep") > 1:
        yield "etp-ep", layout.groups(mesh, "etp", "ep")
    yield "expert-dp", layout.groups(mesh, "edp")


def _size(mesh: Mesh, leaf: str) -> int:
    return mesh.sizes[mesh.axes.leaves.index(leaf)]


def _told(config: EffectiveConfig, named: Iterator[Named]) -> Iterator[Group]:
    """Give those of more than one rank, with the nodes that one of them spans at most."""
    each = _per_node(config)
    for name, found in named:
        if len(found[0]) > 1:
            spans = None if each is None else max(layout.nodes(ranks, each) for ranks in found)
            yield Group(name, len(found[0]), len(found), found[0], spans)


def _per_node(config: EffectiveConfig) -> int | None:
    """Give the ranks of a node; all of them where there is one node."""
    each, nodes = config.launch.gpus_per_node, config.launch.nodes
    if each is not None and isinstance(each.data, int) and each.data > 0:
        return each.data
    return count(config) if nodes is not None and nodes.data == 1 else None
