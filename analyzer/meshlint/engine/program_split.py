"""Which files are judged by the same process: those whose functions call the same ones, in parts of about equal weight.

A function that several files call is followed once in each process that judges one of them. What a file comes to is
not known before it is judged; how many calls stand in what it can reach says enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from meshlint.protocol.summary import EVENT, Engine

Place = tuple[str, int]


def divided(paths: Sequence[str], engine: Engine, number: int) -> list[list[str]]:
    """Divide files into parts, the same ones in every run; the heaviest files are placed first.

    A file goes where it adds least, weighed twice, to what is there already.
    """
    reached = {path: frozenset(_reached(path, engine)) for path in paths}
    weight = {place: 1 + len(engine.edges[place[0]][place[1]][2]) for places in reached.values() for place in places}
    whole = {path: sum(weight[place] for place in places) for path, places in reached.items()}
    parts: list[list[str]] = [[] for _ in range(number)]
    held: list[set[Place]] = [set() for _ in range(number)]
    loads = [0] * number
    for path in sorted(paths, key=lambda path: (-whole[path], path)):
        more = [sum(weight[place] for place in reached[path] - there) for there in held]
        here = min(range(number), key=lambda part: (loads[part] + 2 * more[part], len(parts[part]), part))
        parts[here].append(path)
        held[here] |= reached[path]
        loads[here] += more[here]
    return [sorted(part) for part in parts]


def _reached(path: str, engine: Engine) -> Iterator[Place]:
    """Give the definitions that can reach an event, and that those of a file can call."""
    seen: set[Place] = set()
    stack: list[Place] = [(path, index) for index in range(len(engine.edges[path]))]
    while stack:
        place = stack.pop()
        if place in seen or not engine.bits(*place) & EVENT:
            continue
        seen.add(place)
        yield place
        stack += engine.edges[place[0]][place[1]][2]
