"""Words that every room says alike: counts with their noun, and the name that was meant."""

from __future__ import annotations

from collections.abc import Iterable


def plural(number: int, noun: str, many: str = "") -> str:
    """Give `1 launch`, `2 launches`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {many or noun + ('es' if noun.endswith(('ch', 's', 'x')) else 's')}"


def meant(word: str, names: Iterable[str], tell_all: bool = True, cutoff: float = 0.6) -> str:
    """Give `; did you mean X?` for a word that is none of the names, or `; there are X, Y` where none is near.

    `tell_all` False gives nothing in that case; `cutoff` is how near a name must be, from 0 (any) to 1 (equal).
    """
    from difflib import get_close_matches

    known = list(dict.fromkeys(names))
    near = get_close_matches(word, known, 1, cutoff) or get_close_matches(word.upper(), known, 1, cutoff)
    if near:
        return f"; did you mean `{near[0]}`?"
    return f"; there are {', '.join(known)}" if tell_all and known else ""
