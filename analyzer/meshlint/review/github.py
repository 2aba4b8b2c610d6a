"""GitHub's REST API, as far as a review needs it (https://docs.github.com/rest, version 2022-11-28).

A token goes to the API's own host alone, and stands in no message. Requests are bounded in time, number and size;
waiting is done by a function that the caller gives.
"""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from email.message import Message
from typing import IO, Any
from urllib.parse import quote, urljoin, urlsplit

from meshlint.plain import clean
from meshlint.records import dataclass
from meshlint.review.comments import Former, Inline

API = "https://api.github.com"
VERSION = "2022-11-28"
JSON = "application/vnd.github+json"
DIFF = "application/vnd.github.diff"
TIMEOUT = 20.0
"""Seconds that one request may be silent."""
TRIES = 4
MAX_WAIT = 60.0
"""Seconds to wait for a rate limit, at most, before each further try."""
MAX_WAITED = 180.0
"""Seconds to wait in all: a host that wants more of it is not asked further."""
MAX_SILENCE = 120.0
"""Seconds that one answer may take from its first byte to its last."""
MAX_BYTES = 64 * 1024 * 1024
READ = 64 * 1024
"""Bytes that are read of an answer at a time."""
MAX_PAGES = 50
"""Pages of 100 comments that are read."""
MAX_HOPS = 3
"""Redirections that are followed, on the same host."""


class HostError(Exception):
    """A request that failed; the message is one sentence without the token.

    `status` is the reply's, 0 where there was none; `unsure` says that the host may have done what was asked.
    """

    def __init__(self, message: str, status: int = 0, unsure: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.unsure = unsure


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of the host."""

    status: int
    headers: Message
    body: bytes

    @property
    def data(self) -> Any:
        """Give the JSON in it; raises HostError where there is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            raise HostError("the host's answer is not JSON", self.status) from None

    @property
    def message(self) -> str:
        """Give what the host says of a failure; empty where it says nothing."""
        try:
            data = json.loads(self.body)
        except (ValueError, RecursionError):
            return ""
        return str(data.get("message", "")) if isinstance(data, dict) else ""


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirection by itself: it would carry the token to wherever it leads."""

    def http_error_302(self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message) -> None:
        """Give no answer in its place, and look at no address."""
        return

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


class Client:
    """Sends requests: tries again what may be tried again, waits where the host asks for it."""

    def __init__(
        self,
        api: str,
        token: str,
        wait: Callable[[float], None],
        now: Callable[[], float],
        timeout: float = TIMEOUT,
    ) -> None:
        """Take the API's base, a token (empty for none), how to wait, the clock (seconds since 1970), a time limit."""
        self.api = api.rstrip("/")
        self._token = token
        self._wait = wait
        self._now = now
        self._timeout = timeout
        self._waited = 0.0
        self._opener = urllib.request.build_opener(_Stay())

    def request(self, method: str, path: str, body: Any = None, accept: str = JSON) -> Reply:
        """Send a request, `path` below the API's base or a whole address there. Raises HostError."""
        for number in range(1, TRIES + 1):
            try:
                reply = self._followed(method, path, body, accept)
            except HostError as error:
                if not error.unsure or method == "POST" or number == TRIES or not self._waits(2.0 ** (number - 1)):
                    raise
                continue
            if reply.status < 300:
                return reply
            pause = self._pause(reply, method, number)
            if pause is None or number == TRIES or not self._waits(pause):
                raise self._error(reply)
        raise AssertionError("the last try returns or raises")

    def _waits(self, seconds: float) -> bool:
        """Wait, unless that were too much with what was waited before."""
        self._waited += seconds
        if self._waited > MAX_WAITED:
            return False
        self._wait(seconds)
        return True

    def pages(self, path: str) -> Iterator[dict[str, Any]]:
        """Give the items of a list, page after page, by the Link header. Raises HostError."""
        where = f"{path}?per_page=100"
        for _ in range(MAX_PAGES):
            reply = self.request("GET", where)
            items = reply.data
            if not isinstance(items, list):
                raise HostError("the host's answer is not a list", reply.status)
            yield from (item for item in items if isinstance(item, dict))
            where = next_page(reply.headers.get("Link", ""))
            if not where:
                return

    def _followed(self, method: str, path: str, body: Any, accept: str) -> Reply:
        where = path if "://" in path else f"{self.api}{path}"
        for _ in range(MAX_HOPS + 1):
            self._check_host(where)
            reply = self._send(method, where, body, accept)
            if reply.status not in (301, 302, 303, 307, 308):
                return reply
            if method != "GET" and reply.status not in (307, 308):
                raise HostError(f"the host redirects a {method}: was the repository renamed?", reply.status)
            try:
                where = urljoin(where, reply.headers.get("Location", ""))
            except ValueError:
                raise HostError("the host redirects to what is no address", reply.status) from None
        raise HostError("the host redirects in a circle")

    def _check_host(self, where: str) -> None:
        """Send nothing, the token least of all, to another host than the API's."""
        try:
            mine, other = urlsplit(self.api), urlsplit(where)
        except ValueError:
            raise HostError("the host leads to what is no address") from None
        if not where.isascii():
            raise HostError("the host leads to an address that is not ASCII")
        if (mine.scheme, mine.netloc) != (other.scheme, other.netloc):
            raise HostError(f"the host leads to another one, {self._shown(other.netloc)}, which is not followed")

    def _send(self, method: str, where: str, body: Any, accept: str) -> Reply:
        raw = json.dumps(body).encode("ascii") if body is not None else None
        headers = {"Accept": accept, "X-GitHub-Api-Version": VERSION, "User-Agent": "meshlint"}
        if raw is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(where, raw, headers, method=method)
        if self._token:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        try:
            return self._answer(request)
        except TimeoutError:
            raise HostError("the host did not answer in time", unsure=True) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError):
                raise HostError("the host did not answer in time", unsure=True) from None
            raise HostError(f"the host cannot be reached: {self._shown(str(reason))}", unsure=True) from None

    def _answer(self, request: urllib.request.Request) -> Reply:
        try:
            with self._opener.open(request, timeout=self._timeout) as answer:
                return Reply(answer.status, answer.headers, self._read(answer))
        except urllib.error.HTTPError as error:
            with error:
                return Reply(error.code, error.headers, self._read(error))

    def _read(self, answer: Any) -> bytes:
        """Read a body: whole, not too long, and not a byte a minute."""
        parts: list[bytes] = []
        size, began = 0, self._now()
        while part := answer.read1(READ):
            size += len(part)
            parts.append(part)
            if size > MAX_BYTES:
                raise HostError(f"the host's answer is longer than {MAX_BYTES:,} bytes")
            if self._now() - began > MAX_SILENCE:
                raise TimeoutError
        told = _number(answer.headers.get("Content-Length"))
        if told is not None and told > size:
            raise http.client.IncompleteRead(b"", int(told) - size)
        return b"".join(parts)

    def _pause(self, reply: Reply, method: str, number: int) -> float | None:
        """Give the seconds to wait before a further try; None where there is to be none."""
        if reply.status in (403, 429):
            return self._limit(reply)
        if reply.status >= 500 and method != "POST":
            return 2.0 ** (number - 1)
        return None

    def _limit(self, reply: Reply) -> float | None:
        """Give how long a rate limit lasts; None where it is none, or lasts too long.

        https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api says which headers tell it.
        """
        after = _number(reply.headers.get("Retry-After"))
        if after is None and reply.headers.get("X-RateLimit-Remaining") == "0":
            reset = _number(reply.headers.get("X-RateLimit-Reset"))
            after = max(reset - self._now(), 1.0) if reset is not None else None
        if after is None and (reply.status == 429 or "rate limit" in reply.message.lower()):
            after = MAX_WAIT
        return after if after is not None and after <= MAX_WAIT else None

    def _error(self, reply: Reply) -> HostError:
        said = self._shown(reply.message)
        told = f"the host answers {reply.status}" + (f": {said}" if said else "")
        if reply.headers.get("Retry-After") or reply.headers.get("X-RateLimit-Remaining") == "0":
            told += " (a rate limit)"
        return HostError(told, reply.status, unsure=reply.status >= 500)

    def _shown(self, text: str) -> str:
        """Give text of somebody else's in one line, without the token."""
        return clean(text.replace(self._token, "***") if self._token else text)[:300]


def _number(text: str | None) -> float | None:
    return float(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 12 else None


def next_page(link: str) -> str:
    """Give the address that a Link header calls `next` (RFC 8288); empty where there is none."""
    for part in link.split(","):
        target, *words = (word.strip() for word in part.split(";"))
        if 'rel="next"' in words and target.startswith("<") and target.endswith(">"):
            return target[1:-1]
    return ""


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request: its last commit."""

    head: str


class GitHub:
    """One pull request on GitHub. Every method raises HostError."""

    def __init__(self, client: Client, repository: str, number: int) -> None:
        """Take a client, `OWNER/NAME`, and the pull request's number."""
        self._client = client
        self._repository = f"/repos/{quote(repository, safe='/')}"
        self._pull = f"{self._repository}/pulls/{number}"
        self._issue = f"{self._repository}/issues/{number}"
        self._login: str | None = None

    def pull(self) -> Pull:
        """Read the pull request."""
        data = self._client.request("GET", self._pull).data
        head = data.get("head") if isinstance(data, dict) else None
        sha = head.get("sha") if isinstance(head, dict) else None
        if not isinstance(sha, str):
            raise HostError("the host's answer is no pull request")
        return Pull(sha)

    def diff(self) -> str:
        """Read its diff."""
        return self._client.request("GET", self._pull, accept=DIFF).body.decode("utf-8", "replace")

    def inline(self) -> list[Former]:
        """Give our comments on lines: those of this account that begin a thread."""
        items = self._client.pages(f"{self._pull}/comments")
        return [_former(item) for item in items if self._ours(item) and not item.get("in_reply_to_id")]

    def summaries(self) -> list[Former]:
        """Give our comments on the whole."""
        return [_former(item) for item in self._client.pages(f"{self._issue}/comments") if self._ours(item)]

    def review(self, commit: str, body: str, inline: Sequence[Inline]) -> None:
        """Make one review that holds all comments."""
        comments = [_comment(one) for one in inline]
        data = {"commit_id": commit, "event": "COMMENT", "body": body, "comments": comments}
        self._client.request("POST", f"{self._pull}/reviews", data)

    def comment(self, commit: str, one: Inline) -> None:
        """Make one comment on a line."""
        self._client.request("POST", f"{self._pull}/comments", {"commit_id": commit, **_comment(one)})

    def edit(self, former: Former) -> None:
        """Change the body of a comment on a line."""
        self._client.request("PATCH", f"{self._repository}/pulls/comments/{former.number}", {"body": former.body})

    def add_summary(self, body: str) -> None:
        """Make a comment on the whole."""
        self._client.request("POST", f"{self._issue}/comments", {"body": body})

    def edit_summary(self, former: Former) -> None:
        """Change the body of a comment on the whole."""
        self._client.request("PATCH", f"{self._repository}/issues/comments/{former.number}", {"body": former.body})

    def _ours(self, item: Mapping[str, Any]) -> bool:
        """Say whether this account wrote a comment: anybody may write our marker into one of theirs."""
        user = item.get("user")
        if not isinstance(user, dict) or not isinstance(item.get("id"), int):
            return False
        login = self._account()
        return user.get("login") == login if login else user.get("type") == "Bot"

    def _account(self) -> str:
        """Give the token's account; empty for an app, such as that of a workflow's own token, which cannot ask."""
        if self._login is None:
            try:
                data = self._client.request("GET", "/user").data
                self._login = str(data.get("login", "")) if isinstance(data, dict) else ""
            except HostError as error:
                if error.status not in (401, 403, 404):
                    raise
                self._login = ""
        return self._login


def _comment(one: Inline) -> dict[str, Any]:
    made = {"path": one.path, "line": one.line, "side": "RIGHT", "body": one.body}
    if 0 < one.first < one.line:
        made |= {"start_line": one.first, "start_side": "RIGHT"}
    return made


def _former(item: Mapping[str, Any]) -> Former:
    return Former(int(item["id"]), str(item.get("body") or ""))
