"""Bring a plan to a host; what fails is told, and what was to be posted is given back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Protocol

from meshlint.finding import Finding
from meshlint.records import dataclass
from meshlint.review.comments import SUMMARY, Former, Inline, Lines, Plan, plan, review_body, summary
from meshlint.review.github import HostError
from meshlint.words import plural

REFUSED = (401, 403)
"""Statuses by which a token may not do something: the rest of the kind would fail alike."""


class Host(Protocol):
    """What a code host has to do; every method raises HostError."""

    def inline(self) -> list[Former]:
        """Give our comments on lines."""

    def summaries(self) -> list[Former]:
        """Give our comments on the whole."""

    def review(self, commit: str, body: str, inline: Sequence[Inline]) -> None:
        """Make one review."""

    def comment(self, commit: str, one: Inline) -> None:
        """Make one comment on a line."""

    def edit(self, former: Former) -> None:
        """Change a comment on a line."""

    def add_summary(self, body: str) -> None:
        """Make a comment on the whole."""

    def edit_summary(self, former: Former) -> None:
        """Change a comment on the whole."""


@dataclass(slots=True)
class Posted:
    """What happened: `done` and `failed` are sentences, `left` the texts that could not be posted."""

    done: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def post(
    host: Host,
    commit: str,
    findings: Sequence[Finding],
    lines: Mapping[str, Lines],
    sources: Mapping[str, str],
    complete: bool = True,
) -> Posted:
    """Make and change comments so that the pull request shows the findings; raises nothing of the host's."""
    posted = Posted()
    try:
        former = host.inline()
    except HostError as error:
        what = plan(findings, lines, sources)
        posted.failed.append(f"the comments that are there cannot be read: {error}")
        posted.left += [summary(what.keyed, frozenset(), sources)] if findings else []
        return posted
    what = plan(findings, lines, sources, former, complete)
    placed = what.standing | _review(host, commit, what, posted)
    _edits(host, what.edits, posted)
    _summary(host, what, placed, sources, posted, complete)
    return posted


def _review(host: Host, commit: str, what: Plan, posted: Posted) -> frozenset[str]:
    """Post the inline comments, and give the keys of those that are there now."""
    if not what.inline:
        return frozenset()
    placed, error = _at_once(host, commit, what)
    missing = [one for one in what.inline if one.key not in placed]
    if error is not None and error.status == 422:
        placed |= _one_by_one(host, commit, missing, posted)
    elif error is not None and missing:
        posted.failed.append(f"{plural(len(missing), 'comment')} cannot be posted: {error}{_hint(error)}")
    if placed:
        posted.done.append(f"{plural(len(placed), 'comment')} made")
    return frozenset(placed)


def _at_once(host: Host, commit: str, what: Plan) -> tuple[set[str], HostError | None]:
    """Post a review; where it is unsure whether it arrived, look, and try once more what did not."""
    missing = list(what.inline)
    failure: HostError | None = None
    for _ in range(2):
        try:
            host.review(commit, review_body(missing, what.keyed), missing)
            return {one.key for one in what.inline}, None
        except HostError as error:
            failure = error
        if not failure.unsure:
            break
        try:
            there = {one.key for one in host.inline()}
        except HostError:
            break
        missing = [one for one in missing if one.key not in there]
        if not missing:
            return {one.key for one in what.inline}, None
    return {one.key for one in what.inline} - {one.key for one in missing}, failure


def _one_by_one(host: Host, commit: str, missing: Sequence[Inline], posted: Posted) -> set[str]:
    """Post each comment alone: a host refuses a whole review for one line. The others go into the summary."""
    placed: set[str] = set()
    for one in missing:
        try:
            host.comment(commit, one)
            placed.add(one.key)
        except HostError as error:
            told = "the summary has it" if error.status == 422 else str(error)
            posted.failed.append(f"{one.path}:{one.line}: the host takes no comment on this line: {told}")
            if _hopeless(error):
                break
    return placed


def _hopeless(error: HostError) -> bool:
    """Say whether what follows would fail alike: the token may not, the host is overrun, or does not answer."""
    return error.unsure or error.status in (*REFUSED, 429)


def _edits(host: Host, edits: Sequence[Former], posted: Posted) -> None:
    done = 0
    for former in edits:
        try:
            host.edit(former)
            done += 1
        except HostError as error:
            posted.failed.append(f"comment {former.number} cannot be changed: {error}{_hint(error)}")
            if _hopeless(error):
                break
    if done:
        posted.done.append(f"{plural(done, 'comment')} brought up to date")


def _summary(
    host: Host, what: Plan, placed: frozenset[str], sources: Mapping[str, str], posted: Posted, complete: bool
) -> None:
    """Make the one summary, or change it; nothing where all is fine and none was there."""
    text = summary(what.keyed, placed, sources)
    try:
        former = _former(host)
        if former is None and what.keyed:
            _add(host, text)
            posted.done.append("summary made")
        elif former is not None and not _same(former.body, text) and (what.keyed or complete):
            host.edit_summary(Former(former.number, text))
            posted.done.append("summary brought up to date")
    except HostError as error:
        posted.failed.append(f"the summary cannot be posted: {error}{_hint(error)}")
        posted.left.append(text)


def _former(host: Host) -> Former | None:
    return next((one for one in host.summaries() if one.body.lstrip().startswith(SUMMARY)), None)


def _add(host: Host, text: str) -> None:
    """Make the summary; where it is unsure whether it arrived, look before a further try."""
    try:
        host.add_summary(text)
    except HostError as error:
        if not error.unsure:
            raise
        if _former(host) is None:
            host.add_summary(text)


def _same(one: str, other: str) -> bool:
    """Compare texts as hosts keep them: with other line ends perhaps, and without blanks around."""
    return one.replace("\r\n", "\n").strip() == other.strip()


def _hint(error: HostError) -> str:
    if error.status != 403:
        return ""
    return "; a pull request from a fork gets a token that may not write: `Forks` in docs/changes.md has the way"
