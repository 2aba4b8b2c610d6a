"""Edits of Python made on its syntax tree by libcst, which keeps every blank and comment.

libcst is a hundred times slower than what reads Python elsewhere, and the extra `fix` brings it: it is imported where
a file is mended, and only there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import libcst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from meshlint.finding import Edit
from meshlint.place import Span
from meshlint.sources.splice import MisfitError, spliced

LEAVES = (
    libcst.Name,
    libcst.SimpleString,
    libcst.Integer,
    libcst.Float,
    libcst.FormattedStringText,
    libcst.List,
    libcst.Tuple,
)
"""Nodes whose text an edit may change; the smallest one around it is meant."""


def rewritten(text: str, edits: Iterable[Edit]) -> str:
    """Give Python with edits made: each changes one literal or name, or adds a statement of one line below another.

    Raises MisfitError for an edit that does anything else, or that would change more than its own characters.
    """
    made = sorted(set(edits), key=lambda e: e.span)
    try:
        wrapper = MetadataWrapper(libcst.parse_module(text), unsafe_skip_copy=True)
    except libcst.ParserSyntaxError:
        raise MisfitError("this is not Python that libcst reads") from None
    places = {node: place for node, place in wrapper.resolve(PositionProvider).items() if isinstance(place, CodeRange)}
    editor = _Editor(text)
    for edit in made:
        editor.take(edit, places)
    code = str(wrapper.module.visit(editor).code)
    if code != spliced(text, made):
        raise MisfitError("libcst writes the file in another way")
    return code


class _Editor(libcst.CSTTransformer):
    """Puts new nodes in the place of others, and statements below others."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows = text.split("\n")
        self.leaves: dict[libcst.CSTNode, list[Edit]] = {}
        self.places: dict[libcst.CSTNode, CodeRange] = {}
        self.below: dict[libcst.CSTNode, list[str]] = {}

    def take(self, edit: Edit, places: Mapping[libcst.CSTNode, CodeRange]) -> None:
        """Find the node that an edit is about; raises MisfitError where there is none."""
        span = edit.span
        adds = (span.line, span.column) == (span.end_line, span.end_column) and edit.text.startswith("\n")
        kinds = (libcst.SimpleStatementLine,) if adds else LEAVES
        around = [node for node, place in places.items() if isinstance(node, kinds) and _holds(place, span, adds)]
        if not around:
            raise MisfitError(f"line {span.line} has no literal, name or statement where the edit is")
        node = min(around, key=lambda one: places[one].end.column - places[one].start.column)
        self.places[node] = places[node]
        if adds:
            self.below.setdefault(node, []).append(edit.text.strip())
        else:
            self.leaves.setdefault(node, []).append(edit)

    def on_leave(  # type: ignore[override]
        self, original_node: libcst.CSTNode, updated_node: libcst.CSTNode
    ) -> libcst.CSTNode | libcst.FlattenSentinel[libcst.CSTNode]:
        """Give the new node."""
        if original_node in self.leaves:
            return self._leaf(original_node)
        rows = self.below.get(original_node)
        if rows is None:
            return updated_node
        return libcst.FlattenSentinel([updated_node, *(libcst.parse_statement(row) for row in rows)])

    def _leaf(self, node: libcst.CSTNode) -> libcst.CSTNode:
        place = self.places[node]
        row, first = self.rows[place.start.line - 1], place.start.column
        shown = row[first : place.end.column]
        moved = [
            Edit(Span("", 1, e.span.column - first, 1, e.span.end_column - first), e.text) for e in self.leaves[node]
        ]
        new = spliced(shown, moved)
        if isinstance(node, libcst.FormattedStringText):
            return node.with_changes(value=new)
        try:
            made = libcst.parse_expression(new)
        except libcst.ParserSyntaxError:
            raise MisfitError(f"`{new}` is no expression") from None
        around = {side: getattr(node, side) for side in ("lpar", "rpar")}  # they are no part of a node's place
        return made.with_changes(**around) if around["lpar"] else made


def _holds(place: CodeRange, span: Span, adds: bool) -> bool:
    if adds:
        return bool(place.start.line == place.end.line == span.line)
    within = place.start.column < span.column and span.end_column <= place.end.column + 1
    return bool(place.start.line == place.end.line == span.line == span.end_line) and within
