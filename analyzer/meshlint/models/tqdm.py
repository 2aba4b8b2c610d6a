"""Progress bars: they give the elements that they are given, whichever ranks show one."""

from __future__ import annotations

from meshlint.models.entry import Entry

ENTRIES = (
    Entry(("tqdm",), "unwrap", "the iterable comes first: https://tqdm.github.io/docs/tqdm/"),
    Entry(("rich.progress.track",), "unwrap",
          "the sequence comes first: https://rich.readthedocs.io/en/stable/reference/progress.html"),
)  # fmt: skip
