"""The matrix rule x surface, `docs/matrix.md`: where a rule fires on a mutated real launch and not on the original.

    MESHLINT_UPSTREAM=/path/to/checkouts python tests/tools/recall.py --save recall.json
    python tests/tools/matrix.py recall.json > docs/matrix.md

Where no real launch could carry the fault, the fixtures of that surface stand in. With `docs/matrix.md` itself in place
of `recall.json`, what fires on real launches stays as it is there, and all else is made anew.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from faults import FAULTS, REASONS
from mutate import spellings
from recall import Trial, load

from meshlint import testing
from meshlint.config.registry import framework
from meshlint_rules import rules

FIXTURES = Path(__file__).parents[2] / "fixtures"

FORMS: Mapping[tuple[str, str], str] = {
    ("functional-test", "megatron-lm"): "functional",
    ("shell", "megatron-lm"): "megatron",
    ("shell", "slime"): "slime",
    ("slime-python", "slime"): "slime_launcher",
    ("shell", "ms-swift"): "swift",
    ("shell", "verl"): "verl",
    ("verl-yaml", "verl"): "verl",
    ("nemo-rl-yaml", "nemo-rl"): "nemo_rl",
    ("shell", "nemo-rl"): "nemo_rl",
    ("bridge-recipe", "megatron-bridge"): "bridge_recipe",
    ("shell", "megatron-bridge"): "bridge_command",
    ("bridge-yaml", "megatron-bridge"): "bridge_yaml",
    ("nemo2-recipe", "nemo2"): "nemo2_recipe",
    ("roll-yaml", "roll"): "roll",
    ("shell", "roll"): "roll_command",
    ("areal-yaml", "areal"): "areal",
}
"""Surfaces and frameworks, in the order of the columns, and how their fixtures are named."""

ENDINGS: Mapping[str, tuple[str, ...]] = {"shell": (".sh",), "verl-yaml": (".yaml",), "nemo-rl-yaml": (".yaml",)}

INTRO = """# Where each rule fires

One row a rule about configs, one column a surface. **fires**: on a real launch of that surface with one fault put in
by `tests/tools/mutate.py`, and silent on the launch as it was; the number says on how many. **fixture**: on a launch
of our own, and silent on its twin, where no real launch could carry the fault. A number alone points to the reason
below why a rule has nothing to say there. This page is made by `tests/tools/matrix.py`.
"""


Form = tuple[str, str]
Fires = Mapping[tuple[str, Form], int]
"""On how many real launches of a surface a rule fires."""


def of_trials(trials: Sequence[Trial]) -> Fires:
    """Count what was caught."""
    found: dict[tuple[str, Form], int] = {}
    for trial in trials:
        cell = (trial.code, (trial.surface, trial.framework))
        found[cell] = found.get(cell, 0) + (trial.result == "caught")
    return found


def of_page(text: str) -> Fires:
    """Read what an earlier page says."""
    rows = table(text)
    cells = {(code, form): cell for code, row in rows.items() for form, cell in row.items()}
    fires = {at: int(cell[7:-1]) for at, cell in cells.items() if cell.startswith("fires (")}
    return {at: fires.get(at, 0) for at in cells}


def table(text: str) -> dict[str, dict[Form, str]]:
    """Give the cells of a page, by rule and surface."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.split("\n") if line.startswith("|")]
    forms = {f"{surface} {framework}": (surface, framework) for surface, framework in FORMS}
    columns = [forms[name] for name in rows[0][1:]]
    return {row[0]: dict(zip(columns, row[1:], strict=True)) for row in rows[2:]}


def reasons_of(text: str) -> dict[str, str]:
    """Give the reasons of a page, by number."""
    lines = text.partition("\nReasons:\n")[2].strip().split("\n")
    return {number: reason for number, _, reason in (line.partition(". ") for line in lines)}


def matrix(fires: Fires) -> str:
    """Give the page."""
    columns = [form for form in FORMS if any(at == form for _, at in fires) or _any_fixture(form)]
    reasons: dict[str, int] = {}
    head = [f"{surface} {framework}" for surface, framework in columns]
    lines = [INTRO, f"| rule | {' | '.join(head)} |", f"| --- |{' --- |' * len(columns)}"]
    judged = {code for code, _ in fires} | _codes()
    codes = [rule.code for rule in rules() if rule.code in judged]
    for code in codes:
        cells = [_cell(code, form, fires, reasons) for form in columns]
        lines.append(f"| {code} | {' | '.join(cells)} |")
    lines += ["", "Reasons:", ""]
    lines += [f"{number}. {reason}" for reason, number in reasons.items()]
    return "\n".join(lines) + "\n"


def _codes() -> set[str]:
    return {fault.code for fault in FAULTS} | {"CFG001", "FRW004", "HCP009", "LCH001", "PKD008"}


def _cell(code: str, form: Form, fires: Fires, reasons: dict[str, int]) -> str:
    caught = fires.get((code, form), 0)
    if caught:
        return f"fires ({caught})"
    if has_fixtures(code, form):
        return "fixture"
    reason = nothing_to_say(code, form[1]) or NOT_PROVED
    return str(reasons.setdefault(_sentence(reason), len(reasons) + 1))


NOT_PROVED = "not proved yet: no real launch carried the fault, and no fixture of this surface does"


def nothing_to_say(code: str, name: str) -> str:
    """Say why a rule has nothing to say of a framework: a fact of it, or a setting that it has no key for.

    Empty where it has something to say.
    """
    known = REASONS.get(code, {}).get(name, "") or ALONE.get(code, "")
    fault = next((f for f in FAULTS if f.code == code), None)
    if known or fault is None:
        return known
    model = framework(name)
    lacking = next((setting for setting in fault.settings if not spellings(model, setting)), None)
    return f"`{lacking}` is no setting of {model.title}" if lacking else ""


ALONE: Mapping[str, str] = {
    "FRW003": "roles that share their processes are verl's",
    "PAR012": "only Megatron-LM's arguments ask for the variable, and slime's own launchers set it",
    "CFG001": "assignments in Python are no list of keys, nor are the words of a Megatron-Bridge command",
    "LCH001": "no launcher and no job of a cluster stands in such a file",
    "HCP009": "Megatron-Bridge's load helper is called in Python only",
    "PKD008": "a pad is computed in Megatron-Bridge recipes only",
}


def _sentence(text: str) -> str:
    return text + ("" if text.endswith(".") else ".")


def has_fixtures(code: str, form: Form) -> bool:
    """Say whether the rule's fixtures of a surface are both good and bad."""
    kinds = {case.good for case in testing.cases(FIXTURES, [code]) if _is_of(case, form)}
    return kinds == {True, False}


def _any_fixture(form: Form) -> bool:
    return any(_is_of(case, form) for case in testing.cases(FIXTURES))


def _is_of(case: testing.Case, form: Form) -> bool:
    endings = ENDINGS.get(form[0])
    fits = endings is None or case.path.is_dir() or case.path.suffix in endings
    names = ("bridge_recipe", "bridge_load", "bridge_provider") if form[0] == "bridge-recipe" else (FORMS[form],)
    return fits and case.path.stem.startswith(names)


def _fires(file: Path | None) -> Fires:
    if file is None:
        return {}
    return of_page(file.read_text("utf-8")) if file.suffix == ".md" else of_trials(load(file))


if __name__ == "__main__":
    sys.stdout.write(matrix(_fires(Path(sys.argv[1]) if len(sys.argv) > 1 else None)))
