"""The reproducer of a rule: the module `reproducer` beside the rule's own, where there is one."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from meshlint.rule import Rule

if TYPE_CHECKING:
    from meshlint.reproduce.case import Reproducer


def reproducer_of(rule: type[Rule]) -> Reproducer | None:
    """Give `REPRODUCER` of the module `reproducer` in the rule's package; None where the rule has none."""
    package, _, _ = rule.__module__.rpartition(".")
    if not package or find_spec(f"{package}.reproducer") is None:
        return None
    found: Reproducer = import_module(f"{package}.reproducer").REPRODUCER
    return found
