"""`meshlint explain`: a rule's page."""

from __future__ import annotations

import click


@click.command()
@click.argument("code")
def command(code: str) -> int:
    """Explain a rule, by its code (HCP001) or its slug (sizes-product)."""
    from meshlint.engine.page import markdown
    from meshlint.engine.ruleset import load, nearest

    rules = load()
    rule = next((rule for rule in rules if code.upper() == rule.code or code == rule.slug), None)
    if rule is None:
        raise click.UsageError(f"there is no rule `{code}`{nearest(rules, code)}")
    click.echo(markdown(rule), nl=False)
    return 0
