"""meshlint's own rules: one folder a family, one folder a rule."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from meshlint.rule import Rule


def rules() -> list[type[Rule]]:
    """Give every rule class, in order of code: the class `RULE` of each FAMILY/SLUG/rule.py."""
    here = Path(__file__).parent
    found = [_load(file) for file in sorted(here.glob("*/*/rule.py"))]
    return sorted(found, key=lambda rule: rule.code)


def _load(file: Path) -> type[Rule]:
    """Import a rule's module by its file: finding it through its packages takes as long again as running it."""
    family, slug = file.parts[-3:-1]
    name = f"{__name__}.{family}.{slug}.rule"
    module = sys.modules.get(name)
    if module is None:
        spec = spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            raise ImportError(f"{file} is no Python module")
        module = sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(module)
    return cast("type[Rule]", module.RULE)
