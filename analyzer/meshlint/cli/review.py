"""`meshlint review`: comment on a pull request what its change causes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from meshlint.cli.check import baseline_of, failed, known, patch_text
from meshlint.cli.common import BASELINE, FAIL_LEVEL, NO_BASELINE, engine_options, given, settings_for, shared
from meshlint.finding import Finding, Report
from meshlint.records import dataclass

if TYPE_CHECKING:
    from meshlint.review.comments import Lines
    from meshlint.review.github import GitHub

TOKENS = ("GITHUB_TOKEN", "GH_TOKEN")
"""The variables that may hold the token; the first that is set counts."""
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True)
class Where:
    """The pull request, and what is known of it."""

    host: GitHub
    token: str
    commit: str


@click.command(options_metavar="[OPTIONS]")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--host", type=click.Choice(["github"]), default="github", show_default=True, help="The code host.")
@click.option("--repo", required=True, metavar="OWNER/NAME", help="The repository of the pull request.")
@click.option("--pr", required=True, type=click.IntRange(1, 2**31 - 1), metavar="N", help="The pull request's number.")
@click.option("--base", metavar="REV", help="The change is that since this git revision; default: as the host has it.")
@click.option("--diff-file", metavar="PATCH", help="The change is this unified diff; `-` reads it from stdin.")
@click.option("--findings", metavar="FILE", help="Judge nothing: post what `check --format json` wrote into FILE.")
@click.option("--commit", default="", metavar="SHA", help="Post only where this is the pull request's last commit.")
@click.option("--dry-run", is_flag=True, help="Print what would be posted, and ask the host for nothing.")
@click.option("--api", envvar="GITHUB_API_URL", metavar="URL", help="The API; default: https://api.github.com.")
@FAIL_LEVEL
@BASELINE
@NO_BASELINE
@click.option("--no-cache", is_flag=True, help="Judge everything anew.")
@shared
def command(paths: tuple[str, ...], **values: Any) -> int:
    """Comment on a pull request what its change causes: a review with comments on lines, and one summary.

    The token is read from GITHUB_TOKEN or GH_TOKEN. Comments of a former run are brought up to date, and nothing is
    posted where nothing is found. The exit status depends on the findings alone; what cannot be posted is printed.
    """
    where = _where(values)
    settings = settings_for(paths, given(values))
    report, text = _judged(paths, settings, values, where)
    held = baseline_of(values, settings)
    if held is not None:
        report = known(report, held, whole=False)
    from meshlint.report.message import counting

    for note in report.notes:
        _tell(note)
    findings = list(counting(report))
    if values["dry_run"]:
        _print_plan(findings, _written(_lines(text), report.sources), report.sources)
    else:
        _post(where, findings, report, text)
    return failed(report, values["fail_level"] or settings.fail_level)


def _where(values: Mapping[str, Any]) -> Where:
    """Make the client; what is wrong with an option is a usage error."""
    from meshlint.review.github import API, Client, GitHub

    owner, slash, name = values["repo"].partition("/")
    if not slash or not _is_name(owner) or not _is_name(name):
        raise click.UsageError(f"--repo wants OWNER/NAME, not `{values['repo']}`")
    api = values["api"] or API
    _check_api(api)
    token = _token()
    client = Client(api, token, wait=_wait, now=time.time)
    return Where(GitHub(client, values["repo"], values["pr"]), token, values["commit"])


def _wait(seconds: float) -> None:
    time.sleep(seconds)


def _is_name(text: str) -> bool:
    return (
        text.isascii()
        and text.replace("-", "a").replace("_", "a").replace(".", "a").isalnum()
        and text.strip(".") != ""
    )


def _check_api(api: str) -> None:
    try:
        parts = urlsplit(api)
        secure = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
    except ValueError:
        secure = False
    if not secure or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise click.UsageError(f"--api wants an https address, not `{api}`")


def _token() -> str:
    """Read the token; a usage error, which does not show it, where it cannot be one."""
    name = next((name for name in TOKENS if os.environ.get(name, "").strip()), "")
    token = os.environ.get(name, "").strip()
    if not all("!" <= char <= "~" for char in token):
        raise click.UsageError(f"{name} holds a character that no token has")
    return token


def _judged(paths: tuple[str, ...], settings: Any, values: Mapping[str, Any], where: Where) -> tuple[Report, str]:
    """Give the findings, and the diff as text, empty where none is known here."""
    from meshlint.engine.change import Asked, check_change
    from meshlint.engine.options import UsageError

    if values["base"] is not None and values["diff_file"] is not None:
        raise click.UsageError("give --base or --diff-file, not both")
    if values["findings"] is not None:
        if paths or values["base"] is not None:
            raise click.UsageError("--findings judges nothing: without PATH and --base")
        return _read(values["findings"]), patch_text(values["diff_file"]) or ""
    options = engine_options(settings, given(values), cache=not values["no_cache"])
    try:
        text = _diff(values, where, options.cwd)
        return check_change(paths, options, Asked(text=text)), text
    except UsageError as error:
        raise click.UsageError(str(error)) from None


def _diff(values: Mapping[str, Any], where: Where, cwd: Path) -> str:
    """Give the change: a file, since a revision, or as the host has it. Raises UsageError."""
    from meshlint.engine.change import diff_since
    from meshlint.review.github import HostError

    given_text = patch_text(values["diff_file"])
    if given_text is not None:
        return given_text
    base = values["base"]
    text = diff_since(base, cwd) if base is not None else None
    if text is not None:
        return text
    missing = f"`{base}`, or what both share, is not in this checkout (a shallow clone?)" if base is not None else ""
    if values["dry_run"]:
        raise click.UsageError(missing or "a dry run asks the host for nothing: give --base or --diff-file")
    if missing:
        _tell(f"{missing}: the change is taken as the host has it")
    try:
        return where.host.diff()
    except HostError as error:
        raise click.UsageError(f"the change cannot be read from the host: {error}; give --base") from None


def _read(file: str) -> Report:
    from meshlint import __version__
    from meshlint.cli.files import text_of
    from meshlint.review.findings import MAX_BYTES, FindingsError, read

    try:
        return Report(__version__, read(text_of(Path(file), MAX_BYTES, "a report")))
    except FindingsError as error:
        raise click.UsageError(f"{file}: {error}") from None


def _lines(text: str) -> Mapping[str, Lines]:
    """Give the lines that comments may stand on; none where the diff cannot be read."""
    from meshlint.review.comments import lines_of
    from meshlint.sources.patch import PatchError, read_patch

    try:
        return lines_of(read_patch(text))
    except PatchError:
        return {}


def _written(lines: Mapping[str, Lines], sources: Mapping[str, str]) -> Mapping[str, Lines]:
    """Leave out files that nobody writes here: what is found in them stands in the summary alone."""
    from meshlint.sources.discover import repository
    from meshlint.sources.foreign import foreign

    here = Path.cwd()
    apart = foreign(repository(here) or here, sources, lines)
    return {path: one for path, one in lines.items() if path not in apart}


def _print_plan(findings: list[Finding], lines: Mapping[str, Lines], sources: Mapping[str, str]) -> None:
    """Print what would be posted on a pull request without comments."""
    from meshlint.review.comments import plan, review_body, summary

    what = plan(findings, lines, sources)
    if not findings:
        _tell("nothing would be posted")
        return
    if what.inline:
        _print(review_body(what.inline, what.keyed))
    for one in what.inline:
        _print(f"--- on {one.path}:{one.line}")
        _print(one.body)
    _print("--- summary")
    _print(summary(what.keyed, frozenset(one.key for one in what.inline), sources))


def _post(where: Where, findings: list[Finding], report: Report, text: str) -> None:
    """Post, and print what could not be posted."""
    from meshlint.review.comments import plan as planned
    from meshlint.review.comments import summary
    from meshlint.review.github import HostError
    from meshlint.review.post import post

    reason = "" if where.token else f"no token in {' or '.join(TOKENS)}"
    commit, lines = "", _lines(text)
    if not reason:
        try:
            commit = where.host.pull().head
            lines = _written(_host_lines(where.host) or lines, report.sources)
        except HostError as error:
            reason = f"the pull request cannot be read: {error}"
    if not reason and where.commit and where.commit != commit:
        reason = f"the pull request has moved on to {commit[:12]}"
    if reason:
        _tell(f"{reason}: nothing is posted")
        if findings:
            _print(summary(planned(findings, lines, report.sources).keyed, frozenset(), report.sources))
        return
    posted = post(where.host, commit, findings, lines, report.sources, complete=not report.failures)
    for sentence in (*posted.done, *posted.failed):
        _tell(sentence)
    for left in posted.left:
        _print(left)


def _host_lines(host: GitHub) -> Mapping[str, Lines]:
    """Give the lines of the host's own diff, which are those that it takes comments on; none where it gives none."""
    from meshlint.review.github import HostError

    try:
        return _lines(host.diff())
    except HostError:
        return {}


def _tell(text: str) -> None:
    from meshlint.plain import clean

    click.echo(f"meshlint: {clean(text)}", err=True)


def _print(text: str) -> None:
    from meshlint.plain import shown

    sys.stdout.buffer.write(shown(text).encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.flush()
