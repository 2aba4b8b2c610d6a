"""The nearest name is told in the same words everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import CommandLine
from meshlint.words import meant

ANALYZER = Path(__file__).parents[2] / "analyzer" / "meshlint"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("chekc",), "there is no verb `chekc`; did you mean `check`?"),
        (("zzz",), "there is no verb `zzz`; there are "),
        (("check", "--select", "HCP022"), "there is no rule `HCP022`; did you mean `HCP002`?"),
        (("check", "--gpu", "h10"), "there is no GPU `h10`; did you mean `H100`?"),
        (("check", "--pin", "megatroncore=1"), "is judged; did you mean `megatron-core`?"),
    ],
)
def test_the_nearest_name_is_told(
    meshlint: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], told: str
) -> None:
    monkeypatch.setattr("click.formatting.FORCED_WIDTH", 300)
    monkeypatch.chdir(tmp_path)
    run = meshlint(*words)
    assert run.status == 2
    assert told in run.err


def test_one_place_looks_for_it() -> None:
    where = [file.name for file in sorted(ANALYZER.rglob("*.py")) if "get_close_matches" in file.read_text("utf-8")]
    assert where == ["words.py"]


def test_a_name_that_is_near_to_none() -> None:
    assert meant("zzz", ("a", "b")) == "; there are a, b"
    assert meant("zzz", ("a", "b"), tell_all=False) == ""
    assert meant("hcp", ("HCP",)) == "; did you mean `HCP`?"
