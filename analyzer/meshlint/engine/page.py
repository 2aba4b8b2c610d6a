"""A rule's page: the facts of its class, its docstring, its windows and references, as Markdown."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from meshlint.config.framework import Window
from meshlint.report.full import OUTCOMES
from meshlint.rule import LaunchRule, Reference, Rule

_OWN = "## References/versions\n"
"""The last heading of a rule's docstring; what stands below it goes before the windows and references."""


def markdown(rule: type[Rule]) -> str:
    """Give the page. The same text is `meshlint explain` and the page of the site."""
    summary, _, body = inspect.cleandoc(rule.__doc__ or "").partition("\n\n")
    written, _, references = f"{body.strip()}\n".partition(_OWN)
    parts = [f"# {rule.code}: {rule.slug}", summary, "\n".join(_facts(rule)), written.strip()]
    sources = "\n".join((*map(_window, rule.windows), *map(_reference, rule.references)))
    if references or sources:
        parts += ["## Versions and references", references.strip(), sources]
    return "\n\n".join(part for part in parts if part) + "\n"


def _facts(rule: type[Rule]) -> Iterator[str]:
    yield f"- severity: {rule.severity.value}"
    outcomes = [OUTCOMES[outcome] for outcome in rule.outcomes if OUTCOMES[outcome]]
    if outcomes:
        yield f"- outcome: {', or '.join(outcomes)}"
    if issubclass(rule, LaunchRule) and rule.frameworks:
        yield f"- frameworks: {', '.join(rule.frameworks)}"
    if rule.supersedes:
        yield f"- goes before: {', '.join(rule.supersedes)}"
    yield f"- since: {rule.since}" + (", in preview: judged with `--preview`, or selected" if rule.preview else "")


def _window(window: Window) -> str:
    since = f"from {window.since}" if window.since else ""
    until = f"before {window.until}" if window.until else ""
    stretch = " and ".join(part for part in (since, until) if part) or "all versions"
    source = f" ({window.source})" if window.source else ""
    return f"- {window.library}, {stretch}: {window.says}{source}"


def _reference(reference: Reference) -> str:
    return f"- [{reference.text}]({reference.url})" if reference.url else f"- {reference.text}"
