"""Python's own library where it differs from rank to rank: files, clocks, hosts, the environment."""

from __future__ import annotations

from meshlint.models.entry import Entry

ENTRIES = (
    Entry(("os.path.exists", "os.path.isfile", "os.path.isdir", "os.listdir", "glob.glob", "Path.exists"), "local",
          "the file system: https://docs.python.org/3/library/os.path.html"),
    Entry(("time.time", "time.perf_counter", "time.monotonic"), "local",
          "the clock: https://docs.python.org/3/library/time.html"),
    Entry(("socket.gethostname", "socket.getfqdn", "socket.gethostbyname", "socket.inet_ntoa", "platform.node"),
          "local",
          "the host: https://docs.python.org/3/library/socket.html#socket.gethostname", differs=True),
    Entry(("os.environ", "os.getenv", "os.environ.get"), "config",
          "the environment: https://docs.python.org/3/library/os.html"),
)  # fmt: skip
