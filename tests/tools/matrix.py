"""The matrix rule x surface, `docs/matrix.md`: where a rule fires on a mutated real launch and not on the original.

    MESHLINT_UPSTREAM=/path/to/checkouts python tests/tools/recall.py --save recall.json
    python tests/tools/matrix.py recall.json > docs/matrix.md

Where no real launch could carry the fault, the fixtures of that surface stand in.
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


def matrix(trials: Sequence[Trial]) -> str:
    """Give the page."""
    columns = [form for form in FORMS if any((t.surface, t.framework) == form for t in trials) or _any_fixture(form)]
    reasons: dict[str, int] = {}
    head = [f"{surface} {framework}" for surface, framework in columns]
    lines = [INTRO, f"| rule | {' | '.join(head)} |", f"| --- |{' --- |' * len(columns)}"]
    codes = [rule.code for rule in rules() if rule.code in _codes()]
    for code in codes:
        cells = [_cell(code, form, trials, reasons) for form in columns]
        lines.append(f"| {code} | {' | '.join(cells)} |")
    lines += ["", "Reasons:", ""]
    lines += [f"{number}. {reason}" for reason, number in reasons.items()]
    return "\n".join(lines) + "\n"


def _codes() -> set[str]:
    return {fault.code for fault in FAULTS} | {"CFG001", "HCP009", "PKD008"}


def _cell(code: str, form: tuple[str, str], trials: Sequence[Trial], reasons: dict[str, int]) -> str:
    mine = [t for t in trials if t.code == code and (t.surface, t.framework) == form]
    caught = sum(t.result == "caught" for t in mine)
    if caught:
        return f"fires ({caught})"
    if _has_fixtures(code, form):
        return "fixture"
    told = next((t.told for t in mine if t.result in ("unfit", "stopped", "missed")), "")
    reason = _nothing_to_say(code, form[1]) or told or "no launch of this surface writes the settings"
    return str(reasons.setdefault(_sentence(reason), len(reasons) + 1))


def _nothing_to_say(code: str, name: str) -> str:
    """Say why a rule has nothing to say of a framework: a fact of it, or a setting that it has no key for."""
    known = REASONS.get(code, {}).get(name, "") or ALONE.get(code, "")
    fault = next((f for f in FAULTS if f.code == code), None)
    if known or fault is None:
        return known
    model = framework(name)
    lacking = next((setting for setting in fault.settings if not spellings(model, setting)), None)
    return f"`{lacking}` is no setting of {model.title}" if lacking else ""


ALONE: Mapping[str, str] = {
    "CFG001": "assignments in Python are no list of keys; verl's own YAML and Megatron-Bridge's are not proved yet",
    "HCP009": "Megatron-Bridge's load helper is called in Python only",
    "PKD008": "a pad is computed in Megatron-Bridge recipes only",
}


def _sentence(text: str) -> str:
    return text + ("" if text.endswith(".") else ".")


def _has_fixtures(code: str, form: tuple[str, str]) -> bool:
    kinds = {case.good for case in testing.cases(FIXTURES, [code]) if _is_of(case, form)}
    return kinds == {True, False}


def _any_fixture(form: tuple[str, str]) -> bool:
    return any(_is_of(case, form) for case in testing.cases(FIXTURES))


def _is_of(case: testing.Case, form: tuple[str, str]) -> bool:
    endings = ENDINGS.get(form[0])
    fits = endings is None or case.path.is_dir() or case.path.suffix in endings
    names = ("bridge_recipe", "bridge_load", "bridge_provider") if form[0] == "bridge-recipe" else (FORMS[form],)
    return fits and case.path.stem.startswith(names)


if __name__ == "__main__":
    sys.stdout.write(matrix(load(Path(sys.argv[1])) if len(sys.argv) > 1 else ()))
