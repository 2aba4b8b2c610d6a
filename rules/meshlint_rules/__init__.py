"""meshlint's own rules: one folder a family, one folder a rule."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from meshlint.rule import Rule


def rules() -> list[type[Rule]]:
    """Give every rule class, in order of code: the class `RULE` of each FAMILY/SLUG/rule.py."""
    here = Path(__file__).parent
    found: list[type[Rule]] = []
    for family in pkgutil.iter_modules([str(here)]):
        for slug in pkgutil.iter_modules([str(here / family.name)]):
            if (here / family.name / slug.name / "rule.py").is_file():
                found.append(import_module(f"{__name__}.{family.name}.{slug.name}.rule").RULE)
    return sorted(found, key=lambda rule: rule.code)
