"""GRP002 shows the line on which a rank of the wrong kind gets its value, where that is another line."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import CommandLine

HEAD = "import os\n\nimport torch.distributed as dist\n\n\n"
NAMED = """def start():
    if "LOCAL_RANK" in os.environ:
        rank = int(os.environ["LOCAL_RANK"])  # set by the launcher
    else:
        rank = 0
    dist.init_process_group("nccl", rank=rank, world_size=8)
"""
PLAIN = """def start(world):
    rank = os.environ["LOCAL_RANK"]
    dist.init_process_group("nccl", rank=int(rank), world_size=world)
    dist.init_process_group("nccl", rank=rank, world_size=world)
"""
HERE = """def start():
    dist.init_process_group("nccl", rank=int(os.environ["LOCAL_RANK"]), world_size=8)
"""


@pytest.mark.parametrize(
    ("body", "line", "made"),
    [
        (NAMED, 11, ("8:9", 'rank = int(os.environ["LOCAL_RANK"])')),
        (PLAIN, 9, ("7:5", 'rank = os.environ["LOCAL_RANK"]')),
        (HERE, 7, None),
    ],
)
def test_the_line_that_makes_the_rank_is_a_related_one(
    meshlint: CommandLine, tmp_path: Path, body: str, line: int, made: tuple[str, str] | None
) -> None:
    (tmp_path / "run.py").write_text(HEAD + body)
    text = meshlint("check", "--isolated", "--no-cache", "--select", "GRP002", tmp_path).out
    assert f"  run.py:{line}:5  (the run hangs)\n" in text
    assert text.count("is made\n") == (made is not None)
    if made is not None:
        place, written = made
        assert f"  run.py:{place}  where `rank` is made\n  {place[0]} | {written}" in text
