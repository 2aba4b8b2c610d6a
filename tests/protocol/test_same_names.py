"""Functions of one name in several files: what one of them shows says nothing about the others."""

from __future__ import annotations

import shutil
from pathlib import Path

from meshlint.engine.options import Options
from meshlint.engine.run import check

BAD = Path(__file__).parents[2] / "fixtures"
FILES = (
    "COL003/bad/keys_in_another_order.py",
    "COL003/bad/room_that_nothing_fills.py",
    "COL003/bad/without_a_pipeline.py",
    "PKD007/bad/lengths_without_a_receiver.py",
)


def test_each_file_is_told_of_as_by_itself(tmp_path: Path) -> None:
    options = Options(cache=False, select=("COL", "GRP", "PKD007"), cwd=tmp_path)
    alone = set()
    for name in FILES:
        file = tmp_path / name.rpartition("/")[2]
        shutil.copy(BAD / name, file)
        alone |= {(one.code, one.span.path, one.span.line) for one in check([str(file)], options).findings}
    together = {(one.code, one.span.path, one.span.line) for one in check([str(tmp_path)], options).findings}
    assert {path for _, path, _ in alone} == {name.rpartition("/")[2] for name in FILES}
    assert together == alone


CLASS = """\
class Turn:
    mine = {value}

    def take(self, x):
        if self.mine:
            dist.all_reduce(x)
"""
VARIES, SAME = "bool(dist.get_rank())", "bool(open)"
HEAD = "import torch.distributed as dist\n\n\n"


def test_classes_of_one_full_name_have_values_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "turns").mkdir()
    (tmp_path / "turns/__init__.py").write_text(HEAD + CLASS.format(value=SAME))
    (tmp_path / "turns.py").write_text(HEAD + CLASS.format(value=VARIES))
    either = [CLASS.format(value=value).replace("\n", "\n    ").rstrip() + "\n" for value in (SAME, VARIES)]
    (tmp_path / "both.py").write_text(HEAD + "if __debug__:\n    {}else:\n    {}".format(*either))
    found = check([str(tmp_path)], Options(cache=False, select=("COL",), cwd=tmp_path)).findings
    assert [(one.span.path, one.span.line) for one in found] == [("both.py", 17), ("turns.py", 9)]
