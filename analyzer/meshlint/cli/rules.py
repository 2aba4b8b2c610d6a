"""`meshlint rules`: list the rules."""

from __future__ import annotations

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print an array of objects.")
def command(as_json: bool) -> int:
    """List the rules of every installed pack."""
    from meshlint.engine.ruleset import load, summary

    rules = load()
    if as_json:
        import json

        data = [
            {
                "code": rule.code,
                "slug": rule.slug,
                "severity": rule.severity.value,
                "outcomes": [outcome.value for outcome in rule.outcomes],
                "since": rule.since,
                "preview": rule.preview,
                "supersedes": list(rule.supersedes),
                "summary": summary(rule),
            }
            for rule in rules
        ]
        click.echo(json.dumps(data, indent=2))
        return 0
    width = max((len(rule.slug) for rule in rules), default=0)
    for rule in rules:
        preview = " (preview)" if rule.preview else ""
        click.echo(f"{rule.code}  {rule.slug:{width}}  {rule.severity.value:7}  {summary(rule)}{preview}")
    return 0
