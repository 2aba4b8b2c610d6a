"""The canonical fields: one name for each setting, whatever the framework calls it.

Names are megatron-core's own where it has one. The table is data; docs and `meshlint config` print it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from meshlint.config.parse import as_bool, as_float, as_int, as_ints, as_str, as_strs
from meshlint.config.value import Data


@dataclass(frozen=True, slots=True)
class Field:
    """A canonical field; `parse` turns what a surface read (a string, a flag's presence, a YAML scalar) into its data.

    `parse` raises ValueError, with a clause that says what it wanted, for anything that it cannot mean.
    """

    name: str
    parse: Callable[[Data], Data]
    doc: str


def _table(*rows: tuple[str, Callable[[Data], Data], str]) -> Mapping[str, Field]:
    return {name: Field(name, parse, doc) for name, parse, doc in rows}


FIELDS: Mapping[str, Field] = _table(
    ("tensor_model_parallel_size", as_int, "ranks that share each layer's matrices (tp)"),
    ("pipeline_model_parallel_size", as_int, "pipeline stages (pp)"),
    ("context_parallel_size", as_int, "ranks that share each sequence (cp)"),
    ("expert_model_parallel_size", as_int, "ranks that share the experts (ep)"),
    ("expert_tensor_parallel_size", as_int, "tensor parallel size inside experts (etp)"),
    (
        "cp_comm_type",
        as_strs,
        "how context parallel ranks exchange keys and values; one entry, or one a layer",
    ),
    ("hierarchical_context_parallel_sizes", as_ints, "degrees of the a2a and the p2p level, inner first"),
    ("use_decentralized_pg", as_bool, "Megatron-Bridge builds groups without megatron-core's global state"),
)

__all__ = ["FIELDS", "Field", "as_bool", "as_float", "as_int", "as_ints", "as_str", "as_strs"]
