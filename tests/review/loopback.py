"""A code host on loopback that keeps pull requests, comments and reviews as GitHub's API does.

What it takes and gives is checked against a table of the request bodies of GitHub's API description (version
2022-11-28, `POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews` and the others), and against the models that
githubkit generates from it where the extra `host` is installed.
"""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "ghs_0123456789secret"
HEAD = "0123456789abcdef0123456789abcdef01234567"
PER_PAGE = 2
"""Comments of a page, whatever is asked for, so that few of them are several pages."""

BODIES: dict[str, tuple[dict[str, type], frozenset[str]]] = {
    "review": ({"commit_id": str, "body": str, "event": str, "comments": list}, frozenset({"body", "event"})),
    "of review": (
        {"path": str, "position": int, "body": str, "line": int, "side": str, "start_line": int, "start_side": str},
        frozenset({"path", "body"}),
    ),
    "inline": (
        {
            "commit_id": str,
            "path": str,
            "body": str,
            "line": int,
            "side": str,
            "start_line": int,
            "start_side": str,
        },
        frozenset({"commit_id", "path", "body"}),
    ),
    "text": ({"body": str}, frozenset({"body"})),
}
"""The keys of each request body that meshlint may send, with their types, and those that are required."""

MODELS = {
    "review": "ReposOwnerRepoPullsPullNumberReviewsPostBody",
    "inline": "ReposOwnerRepoPullsPullNumberCommentsPostBody",
    "issue": "ReposOwnerRepoIssuesIssueNumberCommentsPostBody",
    "edit issue": "ReposOwnerRepoIssuesCommentsCommentIdPatchBody",
    "edit inline": "ReposOwnerRepoPullsCommentsCommentIdPatchBody",
    "IssueComment": "IssueComment",
    "PullRequestReviewComment": "PullRequestReviewComment",
}


def misfit(kind: str, body: Any) -> str:
    """Say what is wrong with a request body; empty where nothing is."""
    keys, required = BODIES[kind]
    if not isinstance(body, dict):
        return "no object"
    wrong = [key for key, value in body.items() if type(value) is not keys.get(key)]
    wrong += sorted(required - set(body))
    if len(str(body.get("body", ""))) > 65_536:
        wrong.append("body is too long")
    if body.get("event", "COMMENT") != "COMMENT" or body.get("side", "RIGHT") != "RIGHT":
        wrong.append("event or side")
    return ", ".join([*wrong, *filter(None, (misfit("of review", one) for one in body.get("comments", [])))])


@dataclass
class Exchange:
    """One request, and the reply to it."""

    method: str
    path: str
    body: Any
    authorization: str
    status: int = 0
    answer: Any = None


@dataclass
class Failure:
    """What a request gets in place of its answer; `after` does it first. Status 0 hangs up."""

    method: str
    part: str
    status: int
    times: int = 1
    after: bool = False
    headers: dict[str, str] = field(default_factory=dict)
    message: str = "no"


@dataclass
class State:
    """What the host keeps, and what it was asked. `lines` are those that it takes comments on, by path."""

    diff: str = ""
    lines: dict[str, set[int]] = field(default_factory=dict)
    inline: list[dict[str, Any]] = field(default_factory=list)
    issue: list[dict[str, Any]] = field(default_factory=list)
    reviews: list[dict[str, Any]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    log: list[Exchange] = field(default_factory=list)
    misfits: list[str] = field(default_factory=list)
    address: str = ""
    number: int = 100

    def writes(self) -> list[tuple[str, str]]:
        """Give the requests that change something, as method and last part of the path's kind."""
        return [(one.method, one.path) for one in self.log if one.method != "GET"]

    def next_number(self) -> int:
        self.number += 1
        return self.number


def user(login: str = "github-actions[bot]", kind: str = "Bot") -> dict[str, Any]:
    """Give an account as the API's `simple-user`."""
    keys = ("avatar_url", "url", "html_url", "followers_url", "following_url", "gists_url", "starred_url")
    more = ("subscriptions_url", "organizations_url", "repos_url", "events_url", "received_events_url")
    links = dict.fromkeys((*keys, *more), "https://example.org/x")
    names = {"login": login, "id": 1, "node_id": "n", "gravatar_id": "", "type": kind, "site_admin": False}
    return {**names, **links}


TIMES = {"created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z"}
LINK = "https://example.org/x"


def issue_comment(number: int, body: str, author: dict[str, Any] | None = None) -> dict[str, Any]:
    """Give an `issue-comment`."""
    links = {"url": LINK, "html_url": LINK, "issue_url": LINK}
    kept = {"id": number, "node_id": "n", "body": body, "user": author or user(), "performed_via_github_app": None}
    return {**kept, **links, **TIMES, "author_association": "NONE"}


def inline_comment(number: int, one: dict[str, Any], author: dict[str, Any] | None = None) -> dict[str, Any]:
    """Give a `pull-request-review-comment`."""
    links = {"url": LINK, "html_url": LINK, "pull_request_url": LINK}
    commits = {"commit_id": HEAD, "original_commit_id": HEAD, "pull_request_review_id": 1, "diff_hunk": "@@ -1 +1 @@"}
    kept = {"id": number, "node_id": "n", "body": one["body"], "path": one["path"], "line": one.get("line")}
    ties = {"self": {"href": LINK}, "html": {"href": LINK}, "pull_request": {"href": LINK}}
    own = {"user": author or user(), "author_association": "NONE", "_links": ties}
    return {**kept, **own, **links, **commits, **TIMES}


class Handler(BaseHTTPRequestHandler):
    """Answers as the API does, out of the state of its server."""

    state: State

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def do_PATCH(self) -> None:
        self._answer("PATCH")

    def _answer(self, method: str) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        body = json.loads(raw) if raw else None
        one = Exchange(method, self.path, body, self.headers.get("Authorization", ""))
        self.state.log.append(one)
        failure = self._failure(method)
        if failure is not None:
            if failure.after:
                self._act(one)
            if failure.status:
                self._send(failure.status, {"message": failure.message}, failure.headers)
            self.close_connection = True
            return
        status, answer, headers = self._act(one)
        one.status, one.answer = status, answer
        self._send(status, answer, headers)

    def _failure(self, method: str) -> Failure | None:
        for failure in self.state.failures:
            if failure.times > 0 and failure.method == method and self.path.split("?")[0].endswith(failure.part):
                failure.times -= 1
                return failure
        return None

    def _send(self, status: int, answer: Any, headers: dict[str, str]) -> None:
        raw = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _act(self, one: Exchange) -> tuple[int, Any, dict[str, str]]:
        parts = urlsplit(one.path).path.split("/")[1:]
        if parts == ["user"]:
            return 403, {"message": "Resource not accessible by integration"}, {}
        if parts[:3] != ["repos", "own", "name"]:
            return 404, {"message": "Not Found"}, {}
        return self._in_repository(one, tuple(parts[3:]))

    def _in_repository(self, one: Exchange, parts: tuple[str, ...]) -> tuple[int, Any, dict[str, str]]:
        state = self.state
        if one.method == "GET" and parts == ("pulls", "7"):
            if "diff" in self.headers.get("Accept", ""):
                return 200, state.diff, {}
            return 200, {"number": 7, "head": {"sha": HEAD}, "base": {"sha": "f" * 40}}, {}
        lists = {("pulls", "7", "comments"): state.inline, ("issues", "7", "comments"): state.issue}
        if one.method == "GET" and parts in lists:
            return self._page(lists[parts], "/".join(parts))
        if one.method == "PATCH" and parts[1:2] == ("comments",):
            return self._edit(one, parts)
        if one.method == "POST" and parts == ("pulls", "7", "reviews"):
            return self._review(one.body)
        if one.method == "POST" and parts == ("pulls", "7", "comments"):
            return self._inline(one.body)
        if one.method == "POST" and parts == ("issues", "7", "comments"):
            return self._issue(one.body)
        return 404, {"message": "Not Found"}, {}

    def _page(self, items: list[dict[str, Any]], path: str) -> tuple[int, Any, dict[str, str]]:
        page = int(parse_qs(urlsplit(self.path).query).get("page", ["1"])[0])
        more = len(items) > page * PER_PAGE
        there = f"{self.state.address}/repos/own/name/{path}?per_page=100"
        link = f'<{there}&page=1>; rel="first"' + (f', <{there}&page={page + 1}>; rel="next"' if more else "")
        return 200, items[(page - 1) * PER_PAGE : page * PER_PAGE], {"Link": link}

    def _wrong(self, kind: str, model: str, body: Any) -> bool:
        found = [*filter(None, [misfit(kind, body)]), *misread(model, body)]
        self.state.misfits += found
        return bool(found)

    def _edit(self, one: Exchange, parts: tuple[str, ...]) -> tuple[int, Any, dict[str, str]]:
        items, model = (self.state.inline, "edit inline") if parts[0] == "pulls" else (self.state.issue, "edit issue")
        if self._wrong("text", model, one.body):
            return 422, {"message": "Validation Failed"}, {}
        for item in items:
            if str(item["id"]) == parts[2]:
                item["body"] = one.body["body"]
                return 200, item, {}
        return 404, {"message": "Not Found"}, {}

    def _resolves(self, one: dict[str, Any]) -> bool:
        lines = self.state.lines.get(one["path"], set())
        return {one["line"], one.get("start_line", one["line"])} <= lines and one.get("start_line", 0) < one["line"]

    def _review(self, body: Any) -> tuple[int, Any, dict[str, str]]:
        if self._wrong("review", "review", body) or not all(self._resolves(one) for one in body["comments"]):
            return 422, {"message": "Unprocessable Entity", "errors": ["Line could not be resolved"]}, {}
        self.state.reviews.append(body)
        self.state.inline += [inline_comment(self.state.next_number(), one) for one in body["comments"]]
        return 200, {"id": self.state.next_number(), "state": "COMMENTED"}, {}

    def _inline(self, body: Any) -> tuple[int, Any, dict[str, str]]:
        if self._wrong("inline", "inline", body) or not self._resolves(body):
            return 422, {"message": "Validation Failed"}, {}
        self.state.inline.append(inline_comment(self.state.next_number(), body))
        return 201, self.state.inline[-1], {}

    def _issue(self, body: Any) -> tuple[int, Any, dict[str, str]]:
        if self._wrong("text", "issue", body):
            return 422, {"message": "Validation Failed"}, {}
        self.state.issue.append(issue_comment(self.state.next_number(), body["body"]))
        return 201, self.state.issue[-1], {}


def misread(kind: str, body: Any) -> list[str]:
    """Say where a body does not fit the model that GitHub's API description gives; nothing without githubkit."""
    model = models().get(kind)
    if model is None:
        return []
    try:
        model.model_validate(body)
    except ValueError as error:
        return [f"{MODELS[kind]}: {error}"]
    return []


_MODELS: dict[str, Any] = {}


def models() -> dict[str, Any]:
    """Give githubkit's models by our names for them; none where it is not installed, or does not import."""
    if not _MODELS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                from githubkit_schemas.latest import models as there  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            return {}
        _MODELS.update({kind: getattr(there, name) for kind, name in MODELS.items()})
    return _MODELS


@contextmanager
def served(state: State) -> Iterator[State]:
    """Serve a state on a free port of loopback, until the end of the block."""
    handler = type("Bound", (Handler,), {"state": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    state.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
