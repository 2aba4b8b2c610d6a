"""Ranks, nodes, and parallel sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from meshlint.card import Item
from meshlint.config.effective import WORLD, EffectiveConfig, Unjudged
from meshlint.config.experts import has_experts
from meshlint.config.framework import Window
from meshlint.config.sizes import CORE, EXPERT_SHARDS, SHARDS, on_nodes, positive, replica, weight_shards
from meshlint.config.value import State, Value
from meshlint.place import Span

TP, PP, CP = "tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size"
EP, ETP = "expert_model_parallel_size", "expert_tensor_parallel_size"
VPP = "virtual_pipeline_model_parallel_size"

SENTENCE = ""
"""The field of an `Unjudged` whose reason is a sentence by itself."""

Part = Callable[[EffectiveConfig], Item]

GRID_APART = Window(
    CORE,
    since="0.10",
    says="experts have a grid of their own",
    source="megatron/core/parallel_state.py:645-652 at core_v0.10.0; before it dp % ep, :536 at core_v0.9.0",
)


def places(value: Value | None) -> tuple[Span, ...]:
    """Give the first place where a value is written, in a file; none for a default or an option."""
    span = None if value is None or not value.is_set else value.span
    return () if span is None else (span,)


def unless(*values: Value | None) -> tuple[str, ...]:
    """Name what would override values at launch."""
    return tuple(sorted({o.caveat for value in values if value is not None for o in value.origins if o.caveat}))


def noted(*parts: str) -> str:
    """Join what there is to say."""
    return "; ".join(part for part in parts if part)


def count(config: EffectiveConfig) -> int:
    """Give the ranks of this role, also where the launch could say otherwise: a card shows what is written."""
    number = config.number(WORLD)
    if number < 1:
        raise Unjudged(WORLD, "it is not a positive number")
    return number


def ranks(config: EffectiveConfig) -> Item:
    """Tell how many ranks there are."""
    number, value = count(config), config.value(WORLD)
    by_default = "by default" if value.state is State.UNSET else ""
    note = noted(on_nodes(config).strip(" ()"), by_default)
    return Item(number, note=note, written=places(value), unless=unless(value))


def nodes(config: EffectiveConfig) -> Item:
    """Tell how many nodes there are; unknown where the ranks are others than those of the launch's nodes."""
    found, each = _of_launch(config.launch.nodes, "nothing says how many nodes there are"), per_node(config)
    if found.known and each.known and config.value(WORLD).data not in (None, found.data * each.data):
        return Item(reason="the ranks are others than those of the nodes that the launch asks for")
    return found


def per_node(config: EffectiveConfig) -> Item:
    """Tell how many GPUs a node has."""
    return _of_launch(config.launch.gpus_per_node, "nothing says how many GPUs a node has; --gpus-per-node does")


def _of_launch(value: Value | None, nothing: str) -> Item:
    if value is None:
        return Item(reason=nothing)
    if value.is_unknown or not isinstance(value.data, int) or isinstance(value.data, bool) or value.data < 1:
        return Item(reason=value.reason or nothing)
    return Item(value.data, written=places(value), unless=unless(value))


def size(name: str) -> Part:
    """Tell a parallel size."""

    def tell(config: EffectiveConfig) -> Item:
        value = config.need(name)
        return Item(positive(config, name), written=places(value), unless=unless(value))

    return tell


def virtual(config: EffectiveConfig) -> Item:
    """Tell how many model chunks a pipeline rank holds."""
    value = config.need(VPP)
    number = 1 if value.data is None else positive(config, VPP)
    return Item(number, written=places(value), unless=unless(value))


def replicas(config: EffectiveConfig) -> int:
    """Give the data parallel size; ends where the ranks are no whole number of replicas."""
    total, one = count(config), replica(config)
    if one.ranks != one.decoder:
        raise Unjudged(SENTENCE, "a separate encoder has ranks of its own")
    if total % one.ranks:
        raise Unjudged(SENTENCE, f"{total} ranks do NOT FIT: they are no multiple of tp * cp * pp = {one.ranks}")
    return total // one.ranks


def data(config: EffectiveConfig) -> Item:
    """Tell the data parallel size."""
    return Item(replicas(config), note="ranks / (tp * cp * pp)")


def with_experts(config: EffectiveConfig) -> bool:
    """Say whether the grid of the experts matters: the model has some, or the launch spreads them."""
    return config.number(EP) > 1 or has_experts(config)


def expert_size(name: str) -> Part:
    """Tell a parallel size of the experts; no data where the model has none."""

    def tell(config: EffectiveConfig) -> Item:
        return size(name)(config) if with_experts(config) else Item()

    return tell


def expert_replicas(config: EffectiveConfig) -> int:
    """Give the data parallel size of the experts; ends where the ranks do not fit."""
    if not config.within(GRID_APART):
        raise Unjudged(SENTENCE, "before megatron-core 0.10 experts have no grid of their own")
    total, etp, ep, pp = count(config), positive(config, ETP), positive(config, EP), positive(config, PP)
    one = etp * ep * pp * weight_shards(config, EXPERT_SHARDS, etp)
    if total % one:
        raise Unjudged(SENTENCE, f"{total} ranks do NOT FIT: they are no multiple of etp * ep * pp = {one}")
    return total // one


def expert_data(config: EffectiveConfig) -> Item:
    """Tell the data parallel size of the experts."""
    if not with_experts(config):
        return Item()
    return Item(expert_replicas(config), note="ranks / (etp * ep * pp)")


def sequence(config: EffectiveConfig) -> Item:
    """Tell whether activations are split along the sequence (SP), which says nothing at tp = 1."""
    value = config.need("sequence_parallel")
    on = bool(value.data) and positive(config, TP) > 1
    return Item(on, written=places(value), unless=unless(value))


def shards(config: EffectiveConfig) -> int:
    """Give how often weights are cut beyond tp."""
    return weight_shards(config, SHARDS, positive(config, TP))


def expert_shards(config: EffectiveConfig) -> int:
    """Give how often the weights of experts are cut beyond etp."""
    return weight_shards(config, EXPERT_SHARDS, positive(config, ETP))


def sharded(config: EffectiveConfig) -> Item:
    """Tell how often weights are cut beyond tp."""
    return Item(shards(config), written=places(config.value(SHARDS)))


def experts_sharded(config: EffectiveConfig) -> Item:
    """Tell how often the weights of experts are cut beyond etp; 1 where the model has none."""
    return Item(expert_shards(config), written=places(config.value(EXPERT_SHARDS))) if with_experts(config) else Item(1)


SIZES: Mapping[str, Part] = {
    "tp": size(TP),
    "shards": sharded,
    "cp": size(CP),
    "dp": data,
    "pp": size(PP),
    "vpp": virtual,
    "sp": sequence,
    "etp": expert_size(ETP),
    "ep": expert_size(EP),
    "expert_shards": experts_sharded,
    "edp": expert_data,
}
"""What a card calls the sizes, in the order in which it tells them."""
