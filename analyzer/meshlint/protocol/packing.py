"""Which keys of a batch carry the layout of packed sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from meshlint.protocol.facts import FileFacts, Node, calls, dotted

BATCH_KEYS = frozenset(("position_ids", "attention_mask", "num_seqs", "seq_lens", "seqlens"))
"""Keys of a batch that some programs turn into the layout of packed sequences."""


PACKED = ("cu_seqlens", "max_seqlen", "packed_seq", "cu_seqlen")


def packed(key: str) -> bool:
    """Say whether a batch key carries the layout of packed sequences."""
    return key.startswith(PACKED)


def building_keys(facts: Iterable[FileFacts]) -> frozenset[str]:
    """Give the names from which the program builds packed parameters, beside those that say so themselves."""
    found: set[str] = set()
    for one in facts:
        for definition in one.definitions:
            if any("packed_seq_params" in c or c.endswith("PackedSeqParams") for c in definition.callees):
                for call in calls(definition.body):
                    if "packed_seq_params" in dotted(call[1]) or dotted(call[1]).endswith("PackedSeqParams"):
                        found.update(_named(call[2]), *(_named((value,)) for _, value in call[3]))
    return frozenset(found & BATCH_KEYS)


def _named(nodes: tuple[Node, ...]) -> Iterator[str]:
    for node in nodes:
        if node[0] == "N":
            yield node[1]
        elif node[0] == "S" and node[2][0] == "C" and isinstance(node[2][1], str):
            yield node[2][1]
