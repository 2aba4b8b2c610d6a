"""Arithmetic of parallel sizes and of batches, which several rules ask for."""

from __future__ import annotations

from meshlint.config.effective import WORLD, EffectiveConfig, Unjudged
from meshlint.config.framework import Window
from meshlint.config.value import Kind, State, Value
from meshlint.finding import Related
from meshlint.place import Span
from meshlint.records import dataclass

CORE = "megatron-core"

SIZES = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")
"""The sizes whose product is the ranks that hold one replica of a model."""

SHARDS = "tensor_parallel_num_weight_shards"
EXPERT_SHARDS = "expert_tensor_parallel_num_weight_shards"

WEIGHT_SHARDS = Window(
    CORE,
    since="0.19",
    says="weight shards beyond tp take ranks of their own",
    source="megatron/training/arguments.py:422-427 at core_v0.19.0; absent at core_v0.18.2",
)
COUNTED_APART = Window(
    CORE,
    until="0.12",
    says="an embedding or a loss that counts takes a stage of its own, and the layers the others",
    source="megatron/core/transformer/transformer_config.py:658-672 at core_v0.11.0; absent at core_v0.12.0",
)
ENCODER_APART = Window(
    CORE,
    until="0.14",
    says="the ranks of a separate encoder come on top of the decoder's",
    source="megatron/core/parallel_state.py:617-627 at core_v0.12.3; arguments.py:377-383 at core_v0.13.0; gone at "
    "core_v0.14.0 :651",
)


LARGEST = 4096
"""The largest size that advice looks at."""


OPEN_FILES = ("nemo-rl-yaml", "verl-yaml")
"""Surfaces of a config file by itself, whose cluster the command line that starts it often sets anew."""


def smaller_divisors(count: int, size: int) -> str:
    """Give the sizes below `size` that divide `count`, for a sentence."""
    return ", ".join(map(str, divisors(count, size)))


def divisors(count: int, below: int) -> list[int]:
    """Give the sizes below one that divide a count, as far as advice looks."""
    return [size for size in range(1, min(below, LARGEST)) if count % size == 0]


@dataclass(frozen=True, slots=True)
class Replica:
    """The ranks that hold one replica of a model, and which fields say so.

    `sum` is how they come about, for a sentence; `decoder` the ranks of it that are not a separate encoder's.
    """

    ranks: int
    decoder: int
    fields: tuple[str, ...]
    sum: str


def world(config: EffectiveConfig) -> int:
    """Give the ranks that are launched for this role.

    Ends the rule where nobody says how many, or where the launch may say otherwise (`${NNODES:-1}`): then there are
    nodes with which every model fits.
    """
    value = config.need(WORLD)
    if value.state is State.UNSET:
        raise Unjudged(WORLD, "the launch writes no number of ranks; --world-size does")
    for origin in value.origins:
        if origin.caveat:
            raise Unjudged(WORLD, f"{origin.caveat} may say how many ranks are launched; --world-size does")
    if not isinstance(value.data, int) or value.data < 1:
        raise Unjudged(WORLD, "it is not a positive number")
    if config.launch.surface in OPEN_FILES and not any(origin.kind is Kind.OPTION for origin in value.origins):
        config.assumed.setdefault("A warning, since whoever launches the file may give it other nodes.")
    return value.data


def replica(config: EffectiveConfig) -> Replica:
    """Give the ranks of one replica; ends the rule where a size is unknown or not positive."""
    tp, pp, cp = (positive(config, name) for name in SIZES)
    shards = weight_shards(config, SHARDS, tp)
    product = tp * pp * cp * shards
    fields: tuple[str, ...] = SIZES
    factors = f"{tp} * {pp} * {cp}"
    if shards > 1:
        fields, factors = (*SIZES, SHARDS), f"{factors} * {shards} weight shards beyond tp"
    text = f"{' * '.join(SIZES)} = {factors} = {product}"
    stages, encoder_tp = _encoder(config, tp)
    if not stages:
        return Replica(product, product, fields, text)
    apart = encoder_tp * stages * cp
    text = f"{product + apart} ({product} ranks of the decoder and {apart} of the encoder)"
    return Replica(product + apart, product, (*fields, *ENCODER), text)


ENCODER = ("encoder_pipeline_model_parallel_size", "encoder_tensor_model_parallel_size")


def _encoder(config: EffectiveConfig, tp: int) -> tuple[int, int]:
    """Give the stages and tp of a separate encoder; no stages where there is none."""
    if config.data("pipeline_model_parallel_split_rank") is not None:
        raise Unjudged("pipeline_model_parallel_split_rank", "how it divides the stages differs between versions")
    stages = config.data(ENCODER[0]) or 0
    if not isinstance(stages, int) or stages < 1 or not config.within(ENCODER_APART):
        return 0, 0
    return stages, config.data(ENCODER[1]) or tp


def weight_shards(config: EffectiveConfig, name: str, size: int) -> int:
    """Give how often weights are cut beyond tensor parallelism; 1 where they are not, or could not be yet."""
    shards = config.data(name)
    if not isinstance(shards, int) or shards <= size or shards % size or not config.within(WEIGHT_SHARDS):
        return 1
    return shards // size


def launched(config: EffectiveConfig) -> tuple[Related, ...]:
    """Give the places where the ranks are written: nodes, GPUs a node, or both in one."""
    launch = config.launch
    given = launch.world is not None and any(origin.kind is Kind.OPTION for origin in launch.world.origins)
    parts = (("nodes", launch.nodes), ("ranks of a node", launch.gpus_per_node), (WORLD, launch.world))
    spans: dict[Span, str] = {}
    for name, value in () if given else parts:
        if value is not None and value.is_set and value.span is not None:
            spans.setdefault(value.span, f"{name} = {_sum(value)}{value.data}")
            for origin in value.origins if _sum(value) else ():
                if origin.span is not None:
                    spans.setdefault(origin.span, f"of the {name}, these train nothing")
    return tuple(Related(span, text) for span, text in spans.items())


def _sum(value: Value) -> str:
    """Give how a number comes about where it is not what the place says: `256 - 186 = `."""
    note = next((origin.note for origin in reversed(value.origins) if origin.kind is Kind.DERIVED), "")
    return f"{note} = " if " - " in note else ""


def on_nodes(config: EffectiveConfig) -> str:
    """Say on how many nodes the ranks are, for a sentence; empty where one node's ranks are all there is to say."""
    nodes, each = config.launch.nodes, config.launch.gpus_per_node
    if nodes is None or each is None or not (isinstance(nodes.data, int) and isinstance(each.data, int)):
        return ""
    if nodes.data * each.data != config.value(WORLD).data:
        return ""
    return f" ({nodes.data} {'node' if nodes.data == 1 else 'nodes'} of {each.data})"


TEMPLATE = " A warning, since the one node stands in a variable, and on more nodes the sizes fit."


def grows(config: EffectiveConfig, ranks: int, unit: int) -> bool:
    """Say whether the launch is a template on one node, whose number a variable holds, and more nodes would do.

    A verdict is then a warning, and says so by TEMPLATE.
    """
    nodes = config.launch.nodes
    if nodes is None or nodes.data != 1 or unit % ranks:
        return False
    return any(origin.text.startswith("$") for origin in nodes.origins)


def positive(config: EffectiveConfig, name: str) -> int:
    """Give a field that must be a positive whole number; end the rule where it is not (PAR009 says that)."""
    number = config.number(name)
    if number < 1:
        raise Unjudged(name, "it is not positive")
    return number


def data_parallel(config: EffectiveConfig) -> int:
    """Give the replicas of a model; end the rule where the world is unknown, or not a multiple of one (PAR001)."""
    ranks, one = world(config), replica(config).ranks
    if ranks % one:
        raise Unjudged(WORLD, "the parallel sizes do not divide it")
    return ranks // one


def place_of(config: EffectiveConfig, *names: str) -> str:
    """Give the first field that somebody wrote with a value above 1, else that somebody wrote, else the first."""
    values: list[tuple[str, Value]] = [(name, config.value(name)) for name in names]
    written = [(name, value) for name, value in values if value.is_set and value.span is not None]
    large = [name for name, value in written if isinstance(value.data, int) and value.data > 1]
    return next(iter((*large, *(name for name, _ in written), *names)))
