"""From the object that a recipe returns to writes of dotted keys, in the order in which they took effect."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from functools import lru_cache

from meshlint.config.launch import Write
from meshlint.config.python.machine import Row, record_taints
from meshlint.config.python.values import (
    ClassVal,
    Dep,
    External,
    Func,
    Leaf,
    Map,
    Partial,
    Record,
    Seq,
    Unknown,
    Unset,
    Val,
    origins_of,
)
from meshlint.config.value import Data, Kind, Origin, State, Value, unknown, written
from meshlint.records import dataclass

MAX_ROWS = 3_000
MAX_LEVELS = 6

SHAPE_FIELDS = [
    "num_layers",
    "hidden_size",
    "ffn_hidden_size",
    "num_attention_heads",
    "num_query_groups",
    "kv_channels",
    "qk_head_dim",
    "qk_pos_emb_head_dim",
    "v_head_dim",
    "max_position_embeddings",
    "position_embedding_type",
    "window_size",
    "window_attn_skip_freq",
    "softmax_type",
    "multi_latent_attention",
    "experimental_attention_variant",
    "linear_attention_freq",
    "linear_num_key_heads",
    "linear_num_value_heads",
    "is_hybrid_model",
    "hybrid_layer_pattern",
    "hybrid_attention_ratio",
    "hybrid_mlp_ratio",
    "mtp_num_layers",
    "num_moe_experts",
    "moe_router_topk",
    "moe_layer_freq",
    "moe_ffn_hidden_size",
    "moe_shared_expert_intermediate_size",
]
"""Canonical fields that a model's own config decides where nobody writes them."""


def rows(record: Record, prefix: str = "") -> Iterator[Row]:
    """Give every write of a config object and of the objects in it, ordered; at most `MAX_ROWS`."""
    found: list[Row] = []
    _object(record, prefix, 0, found, [])
    found.sort(key=lambda row: row.order)
    return iter(found)


def _object(record: Record, prefix: str, since: int, found: list[Row], above: list[Record]) -> None:
    if len(above) >= MAX_LEVELS or any(record is a for a in above) or len(found) > MAX_ROWS:
        return
    if record.model is not None:
        found += [replace(row, order=since) for row in _shape(record.model)] if since else _shape(record.model)
    elif record.open:
        found.append(Row(since, f"{prefix}*", Unknown(record.open, record.origins)))
    found += [Row(t.order, f"{prefix}*", t.value) for t in record_taints(record)]
    for name in list(record.names()):
        _attribute(record, name, prefix, since, found, above)
    for key, deps in list(record.slots.items()):
        if key[:1] == "?" and not record.slots.get(key[1:]):
            found.append(Row(since, f"{prefix}{key[1:]}", Unset(deps)))


def _attribute(record: Record, name: str, prefix: str, since: int, found: list[Row], above: list[Record]) -> None:
    history = record.slots[name]
    if not history:
        return
    last = history[-1]
    key = f"{prefix}{name}"
    order = max(since, last.order)
    if isinstance(last.value, Record):
        if last.value.type:
            found.append(Row(order, key, Leaf(last.value.type, last.value.origins)))
        _object(last.value, f"{key}.", order, found, [*above, record])
        return
    if isinstance(last.value, Seq) and any(isinstance(item, Record) for item in last.value.items):
        for item in last.value.items:
            if isinstance(item, Record):
                _object(item, f"{key}.", order, found, [*above, record])
        return
    if isinstance(last.value, Map):
        _entries(last.value, f"{key}.", order, found)
        return
    kept_by: tuple[Dep, ...] = record.slots.get(f"?{name}", ())
    for slot in history:
        if not isinstance(slot.value, Record | Map):
            value = slot.value
            if kept_by and slot is last and isinstance(value, Leaf):
                value = Leaf(value.data, value.origins, (*value.deps, *(d for d in kept_by if d not in value.deps)))
            found.append(Row(max(since, slot.order), key, value, slot.uses))


def _entries(entries: Map, prefix: str, order: int, found: list[Row], level: int = 0) -> None:
    if entries.rest:
        found.append(Row(order, f"{prefix}*", Unknown(entries.rest, entries.origins)))
    for name, value in entries.entries.items():
        if len(found) > MAX_ROWS or level > MAX_LEVELS:
            return
        if isinstance(value, Map):
            _entries(value, f"{prefix}{name}.", order, found, level + 1)
        else:
            found.append(Row(order, f"{prefix}{name}", value))


@lru_cache(maxsize=256)
def _shape(model: Leaf | Unknown) -> tuple[Row, ...]:
    """Give the rows of a model's shape, unknown until a table or a config.json says more.

    The longest sequence is the model's own too (Megatron-Bridge v0.4.0 models/conversion/model_bridge.py:260), and
    stands in neither.
    """
    if isinstance(model, Leaf):
        reason = f"it comes from the config of the model {model.data!r}, whose shape is in no table"
    else:
        reason = f"it comes from a model that is not known: {model.reason}"
    unread = Unknown(reason, origins_of(model))
    longest = Unknown("it is the max_position_embeddings of the model's own config", origins_of(model))
    rows = (Row(0, f"@{name}", unread) for name in SHAPE_FIELDS)
    return (*rows, Row(0, "@seq_length", longest), Row(0, "@model_id", model))


@dataclass(slots=True, eq=False)
class Writes:
    """Rows turned into the writes that launches hold; recipes that share a base share its writes."""

    known: dict[tuple[str, int, int], tuple[Row, Write]] = field(default_factory=dict)

    def write(self, row: Row) -> Write:
        """Turn a row into a write."""
        key = (row.key, id(row.value), id(row.uses))
        found = self.known.get(key)
        if found is None:  # the row is kept, so that the identities in its key stay its own
            found = self.known[key] = (row, Write(row.key, value_of(row.value, row.uses)))
        return found[1]


def value_of(value: Val | Unset, uses: tuple[Origin, ...] = ()) -> Value:
    """Turn an evaluated value into a config's."""
    if isinstance(value, Unset):
        return Value(State.UNSET, None, tuple(_derived(d) for d in value.deps))
    if isinstance(value, Unknown):
        return unknown(value.reason, *value.origins, *uses)
    data, reason = data_of(value)
    origins = origins_of(value)
    more = tuple(use for use in uses if use not in origins)
    if reason:
        return unknown(reason, *origins, *more)
    derived = tuple(_derived(dep) for dep in value.deps) if isinstance(value, Leaf) else ()
    first = origins or more or (Origin(Kind.DEFAULT, text=repr(data)),)
    return written(data, first[0], *first[1:], *(more if origins else ()), *derived)


def data_of(value: Val) -> tuple[Data, str]:
    """Give a value's data, or the reason why it is not known."""
    if isinstance(value, Leaf):
        return value.data, ""
    if isinstance(value, Unknown):
        return None, value.reason
    if isinstance(value, External | Func | ClassVal):
        return value.name, ""
    if isinstance(value, Partial):
        return data_of(value.callee)
    if isinstance(value, Record):
        return value.type, "" if value.type else "it is an object that was not read"
    if isinstance(value, Seq):
        parts = [data_of(item) for item in value.items]
        bad = next((reason for _, reason in parts if reason), "")
        return tuple(data for data, _ in parts), bad
    return None, "it is no plain value"


def _derived(dep: Dep) -> Origin:
    text = f"{dep.name} = {dep.data!r}"
    return Origin(
        Kind.DERIVED,
        text=text,
        span=dep.origin.span if dep.origin is not None else None,
        surface=dep.origin.surface if dep.origin is not None else "",
        scope=dep.origin.scope if dep.origin is not None else "",
        note=f"computed from {text}",
    )
