"""Names of files and values in them command no CI runner, in no format.

GitHub's runner obeys a line that begins with `::NAME`, behind blanks too, and `##[NAME]` anywhere in a line; Azure's
obeys `##vso[...]` anywhere.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import CommandLine
from meshlint import report as formats
from meshlint.report.text import clean

BAD = Path(__file__).parents[2] / "fixtures" / "HCP001" / "bad" / "megatron.sh"
FORMATS = formats.FORMATS
OWN = {"github": "::error file=", "azure": "##vso[task.logissue type=error;"}
"""How a command of ours begins, in the formats that consist of them."""
NAMES = (
    "::error::x.sh",
    " ::error::x.sh",
    "##[error]x.sh",
    "a###[add-mask]x.sh",
    "##vso[task.setvariable variable=PATH]x.sh",
    "a\n::warning::x.sh",
    "a\r::warning::x.sh",
    "a%0A::warning::x.sh",
    "100%,b:c.sh",
)
VALUES = ("::error::x", "a\n::error::x", "a\r\n::error::x", "##[error]x", "%0A::error::x", "%25", "a\u2028::error::x")


def _commands(text: str) -> list[str]:
    """Give the lines that a runner obeys."""
    rows = [row for part in text.split("\n") for row in part.split("\r")]
    return [row for row in rows if row.lstrip().startswith("::") or "##[" in row or "##vso[" in row]


def _harmless(text: str, form: str, findings: int) -> None:
    commands = _commands(text)
    assert len(commands) == (findings if form in OWN else 0), commands
    assert all(row.startswith(OWN[form]) and (form == "github" or "##" not in row[2:]) for row in commands)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", NAMES)
def test_a_name_commands_nothing(
    meshlint: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, form: str
) -> None:
    (tmp_path / name).write_text(BAD.read_text())
    monkeypatch.chdir(tmp_path)
    words = ("--isolated", "--no-cache", "--select", "HCP001", ".")
    run = meshlint("check", "--format", form, "--verbose", *words)
    assert run.status == 1
    _harmless(run.out, form, 1)
    _harmless(run.err, "", 0)
    for shown in (meshlint("config", "--isolated", "."), meshlint("config", "--isolated", "--json", ".")):
        _harmless(shown.out, "", 0)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("value", VALUES)
def test_a_value_commands_nothing(meshlint: CommandLine, tmp_path: Path, value: str, form: str) -> None:
    (tmp_path / "model_config.yaml").write_text(
        "MODEL_ARGS:\n  --context-parallel-size: 4\n  --transformer-impl: transformer_engine\n"
        f"  --attention-backend: flash\n  --cp-comm-type: {json.dumps(value)}\n"
    )
    run = meshlint("check", "--isolated", "--no-cache", "--format", form, "--select", "CTX002", tmp_path)
    assert run.status == 1
    _harmless(run.out, form, len(value.split()))


def test_github_says_a_path_as_it_is(meshlint: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "100%,b:c.sh").write_text(BAD.read_text())
    monkeypatch.chdir(tmp_path)
    out = meshlint("check", "--isolated", "--no-cache", "--format", "github", "--select", "HCP001", ".").out
    assert out.startswith("::error file=100%25%2Cb%3Ac.sh,line=")


def test_json_holds_a_path_as_it_is(meshlint: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "###[error]x.sh").write_text(BAD.read_text())
    monkeypatch.chdir(tmp_path)
    out = meshlint("check", "--isolated", "--no-cache", "--format", "json", "--select", "HCP001", ".").out
    assert {one["path"] for one in json.loads(out)["findings"]} == {"###[error]x.sh"}


@pytest.mark.parametrize("text", ["${x##[a-z]*}", "a ## b", "[x] ## [y]", "${x##*/}", "##"])
def test_a_pattern_of_the_shell_is_shown_as_it_is(text: str) -> None:
    assert clean(text) == text
