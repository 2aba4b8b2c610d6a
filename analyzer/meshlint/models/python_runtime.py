"""Python's own library where it differs from rank to rank: files, clocks, hosts, threads, the environment."""

from __future__ import annotations

from collections.abc import Mapping

from meshlint.models.entry import Entry

ENTRIES = (
    Entry(("os.path.exists", "os.path.isfile", "os.path.isdir", "os.listdir", "glob.glob", "Path.exists"), "local",
          "the file system: https://docs.python.org/3/library/os.path.html"),
    Entry(("time.time", "time.perf_counter", "time.monotonic"), "local",
          "the clock: https://docs.python.org/3/library/time.html"),
    Entry(("socket.gethostname", "socket.getfqdn", "socket.gethostbyname", "socket.inet_ntoa", "platform.node"),
          "local",
          "the host: https://docs.python.org/3/library/socket.html#socket.gethostname", differs=True),
    Entry(("Future().done", "Future().running"), "local",
          "a thread's pace: https://docs.python.org/3/library/concurrent.futures.html#concurrent.futures.Future.done"),
    Entry(("Thread().is_alive", "Event().is_set"), "local",
          "a thread's pace: https://docs.python.org/3/library/threading.html"),
    Entry(("os.environ", "os.getenv", "os.environ.get"), "config",
          "the environment: https://docs.python.org/3/library/os.html"),
)  # fmt: skip

WAITS: Mapping[str, tuple[str, ...]] = {
    "Future": ("result", "exception", "set_result", "set_exception"), "Thread": ("join",),
    "Event": ("wait", "set", "clear"),
}  # fmt: skip
"""Methods after which an object that says how far a thread is says the same on all ranks that come so far.

Where they are given a timeout, those of a future raise if it is over and the others come back.
"""

ENDS: Mapping[str, bool] = {"done": False, "is_set": False, "is_alive": True, "running": True}
"""What such an object says while it is not at its end."""
