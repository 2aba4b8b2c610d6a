"""A model's own `config.json`, as the Hugging Face hub has it, into canonical fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from meshlint.config.value import Data
from meshlint.sources.tree import Text, Unreadable

SINK_MODELS = frozenset({"gpt_oss"})
MAMBA_MODELS = frozenset({"nemotron_h", "falcon_h1", "mamba", "mamba2", "bamba", "jamba"})
DELTA_MODELS = frozenset({"qwen3_next", "qwen3_5", "qwen3_5_moe", "qwen3_5_text", "qwen3_5_moe_text"})

_PLAIN: Mapping[str, tuple[str, ...]] = {
    "num_layers": ("num_hidden_layers", "n_layer"),
    "hidden_size": ("hidden_size", "n_embd"),
    "ffn_hidden_size": ("intermediate_size",),
    "num_attention_heads": ("num_attention_heads", "n_head"),
    "num_moe_experts": ("num_experts", "n_routed_experts", "num_local_experts"),
    "moe_router_topk": ("num_experts_per_tok",),
    "moe_ffn_hidden_size": ("moe_intermediate_size",),
    "max_position_embeddings": ("max_position_embeddings",),
    "linear_num_key_heads": ("linear_num_key_heads",),
    "linear_num_value_heads": ("linear_num_value_heads",),
}


def read(text: Text) -> Mapping[str, Data]:
    """Give the canonical fields of a `config.json`; raises Unreadable where it is no JSON object."""
    try:
        loaded = json.loads(text.text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise Unreadable(text.path, "it is not JSON", line) from None
    if not isinstance(loaded, dict):
        raise Unreadable(text.path, "it is not a JSON object")
    inner = next((loaded[k] for k in ("text_config", "llm_config") if isinstance(loaded.get(k), dict)), loaded)
    return _fields(inner)


def _number(config: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    for name in names:
        value = config.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def _fields(config: Mapping[str, Any]) -> Mapping[str, Data]:
    fields: dict[str, Data] = {name: _number(config, keys) for name, keys in _PLAIN.items()}
    optional = {"num_moe_experts", "moe_router_topk"}
    fields = {name: value for name, value in fields.items() if value is not None or name in optional}
    heads, hidden = fields.get("num_attention_heads"), fields.get("hidden_size")
    fields["num_query_groups"] = _number(config, ("num_key_value_heads",)) or heads
    head = _number(config, ("head_dim",))
    if head is None and isinstance(heads, int) and isinstance(hidden, int) and heads > 0:
        head = hidden // heads
    fields["kv_channels"] = head
    fields.update(_attention(config))
    return fields


def _attention(config: Mapping[str, Any]) -> Mapping[str, Data]:
    kind = str(config.get("model_type", ""))
    window = _number(config, ("sliding_window",)) if config.get("use_sliding_window", True) else None
    layers = config.get("layer_types")
    if isinstance(layers, list) and "sliding_attention" not in layers:
        window = None
    found: dict[str, Data] = {
        "multi_latent_attention": _number(config, ("kv_lora_rank",)) is not None,
        "softmax_type": "learnable" if kind in SINK_MODELS else "vanilla",
        "window_size": (window, 0) if window else None,
        "is_hybrid_model": kind in MAMBA_MODELS,
        "experimental_attention_variant": _variant(kind, config),
    }
    if isinstance(layers, list) and window:
        found["window_attn_skip_freq"] = tuple(int(layer == "sliding_attention") for layer in layers)
    return found


def _variant(kind: str, config: Mapping[str, Any]) -> str | None:
    if kind in DELTA_MODELS:
        return "gated_delta_net"
    return "dsa" if _number(config, ("index_topk",)) is not None else None
