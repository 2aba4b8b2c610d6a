"""Lowered nodes without the lines on which they stand."""

from __future__ import annotations

from meshlint.protocol.facts import Node

CALL, COMPREHENSION = 8, 5
"""How long the nodes are that say where they stand."""


def unplaced(node: Node) -> Node:
    """Give nodes with their places numbered in the order in which they come: which of them are one place stays."""
    return _unplaced(node, {})


def _unplaced(node: Node, places: dict[Node, int]) -> Node:
    tag = node[0] if node else ""
    if tag == "C" or tag == "N":
        return node
    if tag == "K" and len(node) == CALL:
        return ("K", *(_unplaced(part, places) for part in node[1:4]), places.setdefault(node[4:], len(places)))
    if tag == "G" and len(node) == COMPREHENSION:
        place = places.setdefault(node[4:], len(places))
        return ("G", node[1], _unplaced(node[2], places), _unplaced(node[3], places), place)
    return tuple([_unplaced(part, places) if type(part) is tuple else part for part in node])
