"""Where a model's shape comes from: a folder with a `config.json`, the hub's cache, or the table of known models."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path

from meshlint.config.shapes import hub
from meshlint.config.shapes.table import by_name
from meshlint.config.surface import Context
from meshlint.config.value import HOLE, Data, Kind, Origin, State, Value, unknown
from meshlint.place import Span
from meshlint.records import dataclass
from meshlint.sources.tree import Tree, Unreadable

FIELDS: frozenset[str] = frozenset(
    {
        "num_layers",
        "hidden_size",
        "ffn_hidden_size",
        "num_attention_heads",
        "num_query_groups",
        "kv_channels",
        "num_moe_experts",
        "moe_router_topk",
        "moe_ffn_hidden_size",
        "window_size",
        "window_attn_skip_freq",
        "softmax_type",
        "multi_latent_attention",
        "experimental_attention_variant",
        "linear_attention_freq",
        "linear_num_key_heads",
        "linear_num_value_heads",
        "is_hybrid_model",
        "max_position_embeddings",
    }
)
"""The fields that a model's shape can give."""


MAX_SHOWN = 60
"""Characters shown of what stands where a model should be named."""


def _stands_for_one(name: str) -> bool:
    """Say whether a name is a placeholder: words, an address, `<NAME>`, `/path/to/model`."""
    spelt = name.lower()
    marks = ("://", "path/to", "your-", "your_", "yourpath")
    return any(char.isspace() or char in "<>" for char in name) or any(mark in spelt for mark in marks)


@dataclass(slots=True)
class Shapes:
    """Shapes by model id, each read once; `cache` is the hub's cache folder, None where it is not to be read."""

    tree: Tree
    cache: Path | None = None
    _known: dict[str, tuple[Mapping[str, Data], Origin] | None] = field(default_factory=dict)

    def value(self, name: str, model: Value) -> Value:
        """Give a field of the shape of `model`, the value of the field `model_id`; unknown where nothing states it."""
        if model.is_unknown and not _folder_name(model):
            return unknown(f"the model is not known: {model.reason}", *model.origins)
        if not model.is_unknown and (not isinstance(model.data, str) or not model.data):
            return unknown("no model is named, and its shape is not written here")
        found = self._table(_folder_name(model)) if model.is_unknown else self._shape(model.data)
        if found is None and model.is_unknown:
            return unknown(f"the model is not known: {model.reason}", *model.origins)
        if found is None:
            reason = f"the shape of {model.data} is not known: no config.json in reach, and not in the table of models"
            if _stands_for_one(str(model.data)):
                reason = f"the model is still to be filled in for `{str(model.data)[:MAX_SHOWN]}`"
            return unknown(reason, *model.origins)
        fields, origin = found
        model = _name_first(model)
        if name not in fields:
            return unknown(f"{origin.note} does not say {name}", *model.origins)
        return Value(State.SET, fields[name], (*model.origins, origin))

    def _shape(self, model: str) -> tuple[Mapping[str, Data], Origin] | None:
        if model not in self._known:
            self._known[model] = self._local(model) or self._cached(model) or self._table(model)
        return self._known[model]

    def _local(self, model: str) -> tuple[Mapping[str, Data], Origin] | None:
        return self._read(self.tree, f"{model}/config.json", "the model's own config.json")

    def _read(self, tree: Tree, path: str, note: str) -> tuple[Mapping[str, Data], Origin] | None:
        try:
            text = tree.read(path)
            return hub.read(text), Origin(Kind.DERIVED, path, Span(text.path, 1), "config.json", note=note)
        except Unreadable:
            return None

    def _cached(self, model: str) -> tuple[Mapping[str, Data], Origin] | None:
        if self.cache is None or model.count("/") != 1 or ".." in model:
            return None
        folder = self.cache / f"models--{model.replace('/', '--')}"
        try:
            commit = (folder / "refs" / "main").read_text("ascii").strip()
        except (OSError, ValueError):
            return None
        if not commit.isalnum():
            return None
        tree = Tree(folder, (self.cache.resolve(),))
        return self._read(tree, f"snapshots/{commit}/config.json", "config.json in the hub's cache")

    def _table(self, model: str) -> tuple[Mapping[str, Data], Origin] | None:
        shape = by_name(model)
        if shape is None:
            return None
        return shape.fields(), Origin(Kind.TABLE, model, note=f"meshlint's table of models ({shape.source})")


def _folder_name(model: Value) -> str:
    """Give the last part of a model's path of which only the front is unknown, as in `$HOME/models/Qwen3-8B`."""
    _, mark, rest = model.partial.rpartition(HOLE)
    _, slash, name = rest.rstrip("/").rpartition("/")
    return name if mark and slash else ""


def _name_first(model: Value) -> Value:
    """Put the place in front that holds the name, where the front of a path is unknown."""
    name = _folder_name(model) if model.is_unknown else ""
    return replace(model, origins=tuple(sorted(model.origins, key=lambda o: name not in o.text))) if name else model


def shapes_of(context: Context) -> Shapes:
    """Give the shapes of a run, made once for its context."""
    known = context.shared.get("shapes")
    if not isinstance(known, Shapes):
        known = context.shared["shapes"] = Shapes(context.tree, hub_cache())
    return known


def hub_cache() -> Path | None:
    """Give the hub's cache folder as the hub's own library finds it; None where there is none."""
    named = os.environ.get("HF_HUB_CACHE")
    home = os.environ.get("HF_HOME") or str(Path("~/.cache/huggingface").expanduser())
    folder = Path(named) if named else Path(home) / "hub"
    return folder if folder.is_dir() else None
