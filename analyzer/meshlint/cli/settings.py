"""`meshlint settings`: what is in force, and where it was written."""

from __future__ import annotations

import json
from pathlib import Path

import click

from meshlint.cli.common import Given, settings_for


@click.command()
@click.argument("path", default=".")
@click.option("--config", type=click.Path(path_type=Path), help="Use this settings file instead of the nearest.")
@click.option("--isolated", is_flag=True, help="Use no settings file.")
@click.option("--schema", is_flag=True, help="Print the JSON schema of the settings instead.")
def command(path: str, config: Path | None, isolated: bool, schema: bool) -> int:
    """Show each setting in force for PATH, and the line that it stands on."""
    from meshlint.report.text import clean
    from meshlint.settings.read import KEYS

    if schema:
        from meshlint.settings.schema import schema as build

        click.echo(json.dumps(build(), indent=2))
        return 0
    if not Path(path).exists():
        raise click.UsageError(f"there is no file or folder `{path}`")
    settings = settings_for((path,), Given(config=config, isolated=isolated))
    click.echo(f"# {clean(str(settings.file))}" if settings.file is not None else "# no settings file: the defaults")
    for key in KEYS:
        value = getattr(settings, key.replace("-", "_"))
        shown = json.dumps(value, default=list, ensure_ascii=False)
        line = settings.lines.get(key)
        source = f"{settings.file}:{line}" if line else "default"
        click.echo(f"{key} = {clean(shown)}  # {clean(source)}")
    return 0
