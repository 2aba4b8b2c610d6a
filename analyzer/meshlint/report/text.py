"""Why rules were not judged, as text; and text made safe, which `meshlint.plain` makes so."""

from __future__ import annotations

from collections.abc import Sequence

from meshlint.finding import Coverage, NotJudged
from meshlint.plain import clean as clean
from meshlint.plain import dumps as dumps
from meshlint.plain import harmless as harmless
from meshlint.plain import line_start as line_start
from meshlint.plain import lines as lines
from meshlint.plain import plain as plain
from meshlint.plain import plain_lines as plain_lines
from meshlint.records import dataclass
from meshlint.words import plural

MAX_NAMES = 3


@dataclass(frozen=True, slots=True)
class Cause:
    """One unknown that stopped rules: the fields that it leaves open, the rules, and the number of launches."""

    reason: str
    fields: tuple[str, ...]
    codes: tuple[str, ...]
    launches: int

    def __str__(self) -> str:
        return f"{_some(self.fields)}: {clean(self.reason)} ({_some(self.codes)})"


def causes(coverage: Sequence[Coverage]) -> list[Cause]:
    """Give what stopped rules, that which touches most launches, then most rules, first."""
    stops: dict[str, list[tuple[int, NotJudged]]] = {}
    for number, one in enumerate(coverage):
        for stop in one.not_judged:
            stops.setdefault(stop.reason, []).append((number, stop))
    found = [
        Cause(
            reason,
            tuple(dict.fromkeys(stop.field for _, stop in mine)),
            tuple(sorted({stop.code for _, stop in mine})),
            len({number for number, _ in mine}),
        )
        for reason, mine in stops.items()
    ]
    return sorted(found, key=lambda cause: (-cause.launches, -len(cause.codes), cause.reason))


def _some(names: Sequence[str]) -> str:
    """Name up to three, and count the others."""
    more = len(names) - MAX_NAMES
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:MAX_NAMES])} and {more} more"


def judged_share(coverage: Sequence[Coverage]) -> str:
    """Give `22 of 24 rules judged`, or `24 rules judged`; ranges where launches differ."""
    judged = _range([len(one.judged) for one in coverage])
    totals = [len(one.judged) + len(one.not_judged) for one in coverage]
    if not any(one.not_judged for one in coverage):
        return f"{judged} {'rule' if judged == '1' else 'rules'} judged"
    return f"{judged} of {plural(max(totals), 'rule')} judged"


def _range(numbers: list[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"
