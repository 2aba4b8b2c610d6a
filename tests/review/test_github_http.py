"""`meshlint review` over HTTP, against a host on loopback that keeps state."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from loopback import HEAD, TOKEN, Exchange, Failure, State, inline_comment, issue_comment, misread, models, served, user

from conftest import CommandLine, Run, git
from meshlint.review.comments import SUMMARY
from meshlint.review.github import Client, HostError, next_page

FIXTURES = Path(__file__).parents[2] / "fixtures" / "HCP001"
RIGHT = (FIXTURES / "good" / "slime.sh").read_text()
WRONG = (FIXTURES / "bad" / "slime.sh").read_text()
REVIEWS, COMMENTS = "/repos/own/name/pulls/7/reviews", "/repos/own/name/issues/7/comments"


class Pull:
    """A checkout with a pull request, and the host that has it."""

    def __init__(self, folder: Path, state: State, meshlint: CommandLine) -> None:
        self.folder = folder
        self.state = state
        self._meshlint = meshlint

    def push(self, **files: str) -> None:
        """Bring the change to this state, here and on the host, which takes comments on added lines."""
        for name, text in files.items():
            (self.folder / f"{name}.sh").write_text(text)
        git(self.folder, "add", "-AN")
        self.state.diff = git(self.folder, "diff", "HEAD")
        self.state.lines = {f"{name}.sh": set(range(1, text.count("\n") + 2)) for name, text in files.items()}

    def review(self, *words: str) -> Run:
        self.state.log.clear()
        run = self._meshlint("review", "--repo", "own/name", "--pr", "7", "--api", self.state.address, *words)
        assert TOKEN not in run.out + run.err
        assert self.state.misfits == []
        return run


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Gather what would be waited."""
    seconds: list[float] = []
    monkeypatch.setattr("meshlint.cli.review._wait", seconds.append)
    return seconds


@pytest.fixture
def pull(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meshlint: CommandLine, waits: list[float]) -> Iterator[Pull]:
    folder = tmp_path / "checkout"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "run.sh").write_text(RIGHT)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("GH_TOKEN", raising=False)
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    with served(State()) as state:
        yield Pull(folder, state, meshlint)


def test_a_finding_is_one_review_and_one_summary(pull: Pull) -> None:
    pull.push(run=WRONG)
    run = pull.review()
    assert run.status == 1
    assert pull.state.writes() == [("POST", REVIEWS), ("POST", COMMENTS)]
    (review,) = pull.state.reviews
    assert (review["commit_id"], review["event"]) == (HEAD, "COMMENT")
    (one,) = review["comments"]
    assert (one["path"], one["line"], one["side"]) == ("run.sh", 9, "RIGHT")
    assert "HCP001" in one["body"]
    assert pull.state.issue[0]["body"].startswith(SUMMARY)
    assert all(exchange.authorization == f"Bearer {TOKEN}" for exchange in pull.state.log)


def test_a_safe_fix_is_a_suggestion_over_the_lines_of_the_hunk(pull: Pull) -> None:
    pull.push(new=(FIXTURES.parent / "CFG001" / "bad" / "megatron.sh").read_text())
    pull.review()
    ((one,),) = (review["comments"] for review in pull.state.reviews)
    assert (one["path"], one["start_line"], one["line"], one["start_side"]) == ("new.sh", 4, 6, "RIGHT")
    assert "suggestion\n    --micro-batch-size 1\n    --seq-length 8192" in one["body"]
    assert "--seq-length 4096\n    --micro" not in one["body"].partition("suggestion")[2]


def test_nothing_is_posted_where_nothing_is_found(pull: Pull) -> None:
    pull.push(run=RIGHT + "# more\n")
    run = pull.review()
    assert (run.status, run.out, run.err) == (0, "", "")
    assert pull.state.writes() == []


def test_a_second_push_repeats_nothing(pull: Pull) -> None:
    pull.push(run=WRONG)
    pull.review()
    pull.push(run=WRONG.replace("#!/bin/bash\n", "#!/bin/bash\n# one\n"))
    run = pull.review()
    assert run.status == 1
    assert [method for method, _ in pull.state.writes()] in ([], ["PATCH"])  # the summary names the line, which moved
    assert (len(pull.state.inline), len(pull.state.issue)) == (1, 1)
    assert pull.review().status == 1
    assert pull.state.writes() == []


def test_what_is_fixed_is_said_once(pull: Pull) -> None:
    pull.push(run=WRONG)
    pull.review()
    pull.push(run=RIGHT + "# fixed\n")
    assert pull.review().status == 0
    assert [method for method, _ in pull.state.writes()] == ["PATCH", "PATCH"]
    assert "does not find this any more" in pull.state.inline[0]["body"]
    assert "all is fixed" in pull.state.issue[0]["body"]
    pull.review()
    assert pull.state.writes() == []
    pull.push(run=WRONG)
    pull.review()
    assert (len(pull.state.inline), len(pull.state.reviews)) == (1, 1)
    assert "does not find" not in pull.state.inline[0]["body"]


def test_comments_are_found_on_every_page(pull: Pull) -> None:
    talk = [inline_comment(n, {"path": "run.sh", "body": "hm"}, user("ann", "User")) for n in range(5)]
    pull.state.inline[:] = talk
    pull.state.issue[:] = [issue_comment(n, "hm", user("ann", "User")) for n in range(5)]
    pull.push(run=WRONG)
    pull.review()
    pull.review()
    assert pull.state.writes() == []
    pages = [one.path for one in pull.state.log if "page=" in one.path.replace("per_page", "")]
    assert len(pages) == 4
    assert (len(pull.state.inline), len(pull.state.issue)) == (6, 6)


def test_a_marker_in_somebody_elses_comment_changes_nothing(pull: Pull) -> None:
    pull.push(run=WRONG)
    pull.review()
    stranger = user("mallory", "User")
    for one in (*pull.state.inline, *pull.state.issue):
        one["user"] = stranger
    before = [one["body"] for one in (*pull.state.inline, *pull.state.issue)]
    pull.review()
    assert pull.state.writes() == [("POST", REVIEWS), ("POST", COMMENTS)]
    assert [pull.state.inline[0]["body"], pull.state.issue[0]["body"]] == before


@pytest.mark.parametrize("options", [("--base", "HEAD"), ("--diff-file", "change.patch")])
def test_a_403_prints_what_could_not_be_posted(pull: Pull, options: tuple[str, ...]) -> None:
    pull.push(run=WRONG)
    (pull.folder.parent / "change.patch").write_text(pull.state.diff)
    words = tuple(str(pull.folder.parent / w) if w.endswith(".patch") else w for w in options)
    said = f"Resource not accessible by {TOKEN}"
    pull.state.failures = [Failure("POST", part, 403, 9, message=said) for part in ("reviews", "comments")]
    run = pull.review(*words)
    assert run.status == 1
    assert "403: Resource not accessible by ***" in run.err
    assert "fork" in run.err
    assert "HCP001" in run.out and "run.sh:9" in run.out


def test_a_line_that_the_host_refuses_goes_into_the_summary(pull: Pull) -> None:
    pull.push(run=WRONG, more=WRONG)
    pull.state.lines["more.sh"] = set()
    run = pull.review()
    assert run.status == 1
    assert [one["path"] for one in pull.state.inline] == ["run.sh"]
    assert "more.sh:9: the host takes no comment on this line: the summary has it" in run.err
    assert "**error** `HCP001" in pull.state.issue[0]["body"]
    assert "more.sh:9" in pull.state.issue[0]["body"]


def test_a_rate_limit_is_waited_for(pull: Pull, waits: list[float]) -> None:
    pull.push(run=WRONG)
    pull.state.failures = [
        Failure("POST", "reviews", 403, 1, headers={"Retry-After": "7"}),
        Failure("POST", "issues/7/comments", 429),
    ]
    assert pull.review().status == 1
    assert waits == [7.0, 60.0]
    assert (len(pull.state.reviews), len(pull.state.issue)) == (1, 1)


def test_a_limit_that_lasts_long_is_not_waited_for(pull: Pull, waits: list[float]) -> None:
    pull.push(run=WRONG)
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "99999999999"}
    pull.state.failures = [Failure("GET", "pulls/7/comments", 403, 9, headers=headers)]
    run = pull.review()
    assert (run.status, waits) == (1, [])
    assert "a rate limit" in run.err
    assert "HCP001" in run.out


@pytest.mark.parametrize("status", [500, 502, 0])
def test_a_fault_of_the_host_is_tried_again(pull: Pull, status: int, waits: list[float]) -> None:
    pull.push(run=WRONG)
    pull.state.failures = [Failure("GET", "pulls/7/comments", status, 2)]
    assert pull.review().status == 1
    assert waits == [1.0, 2.0]
    assert len(pull.state.inline) == 1


@pytest.mark.parametrize("status", [500, 0])
@pytest.mark.parametrize("after", [True, False])
def test_what_may_have_arrived_is_not_posted_twice(pull: Pull, status: int, after: bool) -> None:
    pull.push(run=WRONG)
    pull.state.failures = [Failure("POST", part, status, 1, after) for part in ("reviews", "issues/7/comments")]
    assert pull.review().status == 1
    assert (len(pull.state.inline), len(pull.state.issue)) == (1, 1)


def test_tries_are_bounded(pull: Pull, waits: list[float]) -> None:
    pull.push(run=WRONG)
    pull.state.failures = [Failure("GET", "pulls/7", 503, 99)]
    run = pull.review("--base", "HEAD")
    assert (run.status, waits) == (1, [1.0, 2.0, 4.0])
    assert "the pull request cannot be read: the host answers 503" in run.err
    assert "HCP001" in run.out


def test_a_host_that_does_not_answer_is_given_up(waits: list[float]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        client = Client(address, TOKEN, waits.append, lambda: 0.0, timeout=0.02)
        with pytest.raises(HostError, match="did not answer in time") as caught:
            client.request("GET", "/user")
    assert caught.value.unsure
    assert waits == [1.0, 2.0, 4.0]


def answering(raw: bytes, waits: list[float], now: Callable[[], float] = lambda: 0.0) -> str:
    """Give what a client says of a host that answers everything with some bytes."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            while True:
                try:
                    with listening.accept()[0] as peer:
                        peer.recv(65536)
                        peer.sendall(raw)
                except OSError:
                    return

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        client = Client(f"http://127.0.0.1:{listening.getsockname()[1]}", TOKEN, waits.append, now, timeout=5)
        try:
            with pytest.raises(HostError) as caught:
                client.request("GET", "/x")
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
    return str(caught.value)


@pytest.mark.parametrize("status", [200, 403, 500])
def test_an_answer_that_is_cut_short_is_none(waits: list[float], status: int) -> None:
    said = answering(b"HTTP/1.1 %d X\r\nContent-Length: 1000\r\n\r\n[{}]" % status, waits)
    assert "more expected" in said
    assert waits == [1.0, 2.0, 4.0]


def test_an_answer_that_takes_its_time_is_none(waits: list[float]) -> None:
    clock = iter(range(0, 10**6, 1000))
    said = answering(b"HTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\n[]", waits, lambda: float(next(clock)))
    assert "did not answer in time" in said


@pytest.mark.parametrize("where", [b"http://[", b"/\xe9", b"/a b", b"//other.example/", b"file:///etc/passwd", b""])
def test_a_redirection_to_nowhere_is_told(waits: list[float], where: bytes) -> None:
    head = b"HTTP/1.1 302 X\r\nContent-Length: 0\r\nLocation: " + where + b"\r\n"
    said = answering(head + b"Connection: close\r\n\r\n", waits)
    assert said.startswith("the host ")


def test_a_token_is_masked_before_a_message_is_cut(waits: list[float]) -> None:
    body = b'{"message": "' + b"x" * 290 + TOKEN.encode() + b'"}'
    said = answering(b"HTTP/1.1 404 X\r\nContent-Length: %d\r\n\r\n" % len(body) + body, waits)
    assert said.endswith("x***")
    assert TOKEN[:4] not in said


def test_a_host_that_is_overrun_is_not_waited_for_again_and_again(pull: Pull, waits: list[float]) -> None:
    pull.push(run=WRONG, more=WRONG)
    pull.state.lines["more.sh"] = pull.state.lines["run.sh"] = set()
    pull.state.failures = [
        Failure("POST", "reviews", 422, 1),
        Failure("POST", "pulls/7/comments", 429, 99),
        Failure("GET", "issues/7/comments", 429, 99),
    ]
    run = pull.review()
    assert run.status == 1
    assert waits == [60.0] * 3
    assert "HCP001" in run.out


def test_a_comment_that_somebody_deleted_stops_nothing(pull: Pull) -> None:
    pull.push(run=WRONG)
    pull.review()
    pull.push(run=RIGHT + "# fixed\n")
    pull.state.failures = [Failure("PATCH", f"comments/{pull.state.inline[0]['id']}", 404)]
    run = pull.review()
    assert run.status == 0
    assert "cannot be changed: the host answers 404" in run.err
    assert "all is fixed" in pull.state.issue[0]["body"]


def test_a_redirection_to_another_host_is_not_followed(pull: Pull) -> None:
    pull.push(run=WRONG)
    with served(State()) as other:
        headers = {"Location": f"{other.address}/repos/own/name/pulls/7"}
        pull.state.failures = [Failure("GET", "pulls/7", 302, 99, headers=headers)]
        run = pull.review("--base", "HEAD")
        assert other.log == []
    assert run.status == 1
    assert "leads to another one" in run.err


def test_a_redirection_on_the_same_host_is_followed(pull: Pull) -> None:
    pull.push(run=WRONG)
    headers = {"Location": "/repos/own/name/pulls/7"}
    pull.state.failures = [Failure("GET", "pulls/7", 301, 1, headers=headers)]
    pull.review("--base", "HEAD")
    assert len(pull.state.reviews) == 1


def test_a_next_page_elsewhere_is_not_fetched(pull: Pull) -> None:
    pull.push(run=WRONG)
    pull.state.inline[:] = [inline_comment(n, {"path": "run.sh", "body": "hm"}) for n in range(5)]
    with served(State()) as other:
        address, pull.state.address = pull.state.address, other.address
        run = pull._meshlint("review", "--repo", "own/name", "--pr", "7", "--api", address)
        assert other.log == []
    assert run.status == 1
    assert "leads to another one" in run.err


def test_without_a_token_nothing_is_posted(pull: Pull, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_TOKEN")
    pull.push(run=WRONG)
    run = pull.review("--base", "HEAD")
    assert (run.status, pull.state.log) == (1, [])
    assert "no token in GITHUB_TOKEN or GH_TOKEN" in run.err
    assert "HCP001" in run.out


def test_a_dry_run_asks_for_nothing(pull: Pull) -> None:
    pull.push(run=WRONG)
    run = pull.review("--base", "HEAD", "--dry-run")
    assert (run.status, pull.state.log) == (1, [])
    assert "--- on run.sh:9" in run.out
    assert SUMMARY in run.out


@pytest.mark.parametrize(
    ("name", "files", "inline"),
    [
        ("third_party/run.sh", {}, False),
        ("third_party/run.sh", {".gitattributes": "third_party/** -linguist-vendored\n"}, True),
        ("jobs/run.sh", {".gitattributes": "jobs/** linguist-generated\n"}, False),
        ("jobs/run.sh", {}, True),
    ],
)
def test_what_nobody_writes_here_gets_no_comment_on_a_line(
    name: str, files: dict[str, str], inline: bool, pull: Pull
) -> None:
    for path, text in files.items():
        (pull.folder / path).write_text(text, encoding="utf-8")
    (pull.folder / name).parent.mkdir()
    (pull.folder / name).write_text(WRONG, encoding="utf-8")
    git(pull.folder, "add", ".")
    run = pull.review("--base", "HEAD", "--dry-run")
    assert run.status == 1
    assert (f"--- on {name}:" in run.out) is inline
    assert f"{name}:9" in run.out.partition("--- summary")[2]


def test_a_head_that_says_generated_gets_no_comment_on_a_line(pull: Pull) -> None:
    shebang, _, rest = WRONG.partition("\n")
    pull.push(run=f"{shebang}\n# Generated by make_jobs.py. DO NOT EDIT.\n{rest}")
    run = pull.review("--base", "HEAD", "--dry-run")
    assert run.status == 1
    assert "--- on " not in run.out
    assert "HCP001" in run.out.partition("--- summary")[2]


def test_findings_of_another_job_are_posted_without_a_checkout(
    pull: Pull, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meshlint: CommandLine
) -> None:
    pull.push(run=WRONG)
    assert meshlint("check", "--diff", "HEAD", "--output", f"json={tmp_path / 'found.json'}").status == 1
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    run = pull.review("--findings", str(tmp_path / "found.json"), "--commit", HEAD)
    assert run.status == 1
    assert [(one["path"], one["line"]) for one in pull.state.inline] == [("run.sh", 9)]


def test_findings_of_a_former_commit_are_not_posted(pull: Pull, tmp_path: Path, meshlint: CommandLine) -> None:
    pull.push(run=WRONG)
    meshlint("check", "--diff", "HEAD", "--output", f"json={tmp_path / 'found.json'}")
    run = pull.review("--findings", str(tmp_path / "found.json"), "--commit", "a" * 40)
    assert (run.status, pull.state.writes()) == (1, [])
    assert "has moved on" in run.err


def test_a_base_that_a_shallow_clone_lacks_comes_from_the_host(
    pull: Pull, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(pull.folder, "commit", "-q", "--allow-empty", "-m", "second")
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{pull.folder}", str(shallow))
    monkeypatch.chdir(shallow)
    pull.folder = shallow
    pull.push(run=WRONG)
    run = pull.review("--base", "e" * 40)
    assert run.status == 1
    assert "as the host has it" in run.err
    assert len(pull.state.inline) == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--repo", "own"),
        ("--repo", "own/name/more"),
        ("--repo", "own/.."),
        ("--api", "http://example.org"),
        ("--api", "https://me:word@example.org"),
        ("--dry-run",),
        ("--findings", "nowhere.json"),
        ("--base", "HEAD", "--diff-file", "x"),
    ],
)
def test_wrong_options_are_told(pull: Pull, words: tuple[str, ...]) -> None:
    run = pull.review(*words)
    assert (run.status, pull.state.log) == (2, [])


def test_a_token_that_cannot_be_one_is_not_shown(pull: Pull, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", f"{TOKEN}\nX-More: 1")
    run = pull.review("--base", "HEAD")
    assert (run.status, pull.state.log) == (2, [])
    assert "GITHUB_TOKEN holds a character" in run.err


def test_the_next_page_is_read_from_the_link_header() -> None:
    assert next_page('<https://a/1>; rel="prev", <https://a/3?x=1>; rel="next"') == "https://a/3?x=1"
    assert next_page('<https://a/1>; rel="prev"') == next_page("") == ""


def exchanged(pull: Pull) -> list[Exchange]:
    """Go through every request that meshlint makes."""
    pull.push(run=WRONG, more=WRONG)
    pull.state.lines["more.sh"] = set()
    pull.review()
    done = list(pull.state.log)
    pull.push(run=RIGHT + "# fixed\n", more=RIGHT)
    pull.review()
    return [*done, *pull.state.log]


def test_requests_and_replies_fit_the_api_description(pull: Pull) -> None:
    if not models():
        pytest.skip("githubkit is not installed (the extra `host`)")
    done = exchanged(pull)
    assert {one.method for one in done} == {"GET", "POST", "PATCH"}  # bodies are checked as they arrive
    kinds = {"pulls": "PullRequestReviewComment", "issues": "IssueComment"}
    checked = []
    for one in done:
        kind = kinds[one.path.split("/")[4]] if "/comments" in one.path and one.status < 300 else ""
        items = one.answer if isinstance(one.answer, list) else [one.answer]
        for item in items if kind else []:
            assert misread(kind, json.loads(json.dumps(item))) == []
            checked.append((one.method, kind))
    assert {kind for _, kind in checked} == set(kinds.values())
    assert {method for method, _ in checked} == {"GET", "POST", "PATCH"}


@pytest.mark.parametrize("body", [{"body": 1}, {"event": "NO"}, {"comments": [{"line": 1}]}])
def test_the_models_refuse_what_does_not_fit(body: dict[str, object]) -> None:
    if not models():
        pytest.skip("githubkit is not installed (the extra `host`)")
    assert misread("review", body) != []
