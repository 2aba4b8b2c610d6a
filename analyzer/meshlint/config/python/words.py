"""From a string that a program builds to the words of a command, each with its place inside the string's literal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace

from meshlint.config.command import Word
from meshlint.config.python.program import Program
from meshlint.config.python.values import Piece
from meshlint.config.value import Origin
from meshlint.place import Span
from meshlint.records import dataclass

MAX_WORDS = 4_000


@dataclass(slots=True, eq=False)
class _Open:
    """The word being built."""

    text: str = ""
    known: str = ""
    reason: str = ""
    origins: list[Origin] = field(default_factory=list)
    begun: bool = False
    home: tuple[Span, ...] = ()

    def add(self, text: str, origins: tuple[Origin, ...], home: tuple[Span, ...] = ()) -> None:
        """Add a known run; an empty one, of empty quotes, begins a word too. `home` is the literal of it."""
        self.home = self.home if self.begun else home
        self.begun = True
        self.text += text
        if not self.reason:
            self.known += text
        self.origins += [o for o in origins if o not in self.origins]

    def fail(self, reason: str, origins: tuple[Origin, ...]) -> None:
        """Add an unknown run."""
        self.begun = True
        self.reason = self.reason or reason or "it is not known"
        self.origins += [o for o in origins if o not in self.origins]

    def word(self) -> Word:
        """Give the word."""
        if not self.reason:
            return Word(self.text, tuple(self.origins), home=self.home)
        alone = not self.text
        return Word(None, tuple(self.origins), self.reason, self.known, several=alone, home=self.home)


def words_of(pieces: tuple[Piece, ...], program: Program) -> list[Word]:
    """Split pieces of a string into words as a shell does: blanks outside quotes, quotes and backslashes away."""
    locator = _Locator(program)
    found: list[Word] = []
    current = _Open()
    quotes = _Quotes()
    for piece in pieces:
        if piece.text is None:
            current.fail(piece.reason, piece.origins)
            continue
        for part in quotes.parts(piece.text):
            if part is not None:
                current.add(part, locator.origins(piece, part), _home(piece))
            elif current.begun:
                found.append(current.word())
                current = _Open()
            if len(found) > MAX_WORDS:
                return [*found, Word(None, (), "there are too many words", several=True)]
    return [*found, current.word()] if current.begun else found


def _home(piece: Piece) -> tuple[Span, ...]:
    span = piece.home or (piece.origins[0].span if piece.origins else None)
    return (span,) if span is not None else ()


@dataclass(slots=True)
class _Quotes:
    """Reads quotes; one that a piece opens may be closed by a later piece."""

    quote: str = ""

    def parts(self, text: str) -> Iterator[str | None]:
        """Give the runs of a text; None for a blank between words."""
        run = ""
        escaped = False
        for char in text:
            if escaped:
                run += "" if char == "\n" else char
                escaped = False
            elif char == "\\" and self.quote != "'":
                escaped = True
            elif char == self.quote or (not self.quote and char in "'\""):
                yield run
                run, self.quote = "", "" if self.quote else char
            elif char.isspace() and not self.quote:
                if run:
                    yield run
                run = ""
                yield None
            else:
                run += char
        if run:
            yield run


@dataclass(slots=True, eq=False)
class _Locator:
    """Finds words inside the literals that hold them, from left to right."""

    program: Program
    cursors: dict[Span, int] = field(default_factory=dict)

    def origins(self, piece: Piece, part: str) -> tuple[Origin, ...]:
        first = piece.origins[0] if piece.origins else None
        if first is None or first.span is None or not part or part == piece.text:
            return piece.origins
        place = self._find(first.span, part)
        if place is None:
            return piece.origins
        return (replace(first, text=part, span=place), *piece.origins[1:])

    def _find(self, span: Span, part: str) -> Span | None:
        module = self.program.module(span.path)
        if module is None:
            return None
        text = module.source.between(span)
        at = text.find(part, self.cursors.get(span, 0))
        if at < 0:
            return None
        self.cursors[span] = at + len(part)
        before = text[:at]
        line = span.line + before.count("\n")
        column = at - before.rfind("\n") if "\n" in before else span.column + at
        return Span(span.path, line, column, line, column + len(part))
