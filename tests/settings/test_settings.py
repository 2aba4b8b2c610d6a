"""Settings: the nearest file, its mistakes, and what is in force."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from conftest import CommandLine
from meshlint.settings.model import Settings, SettingsError
from meshlint.settings.read import find, load


def test_the_nearest_file_wins_and_nothing_is_merged(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[tool.meshlint]\nselect = ["HCP"]\nignore = ["CTX"]\n')
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.other]\nx = 1\n")
    assert find(inner) == tmp_path / "pyproject.toml"
    (tmp_path / "a" / "meshlint.toml").write_text('select = ["PKD"]\n')
    found = find(inner)
    assert found == tmp_path / "a" / "meshlint.toml"
    assert (load(found).select, load(found).ignore) == (("PKD",), ())


def test_the_search_ends_at_the_top_of_the_checkout(tmp_path: Path) -> None:
    (tmp_path / "meshlint.toml").write_text("")
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    assert find(tmp_path / "repo") is None


def test_every_key(tmp_path: Path) -> None:
    file = tmp_path / "meshlint.toml"
    file.write_text(
        'select = ["HCP"]\nextend-select = ["CTX001"]\nignore = ["HCP010"]\nexclude = ["old/"]\nfail-level = "info"\n'
        'world-size = 64\ngpu = "H100"\ncache-dir = "x"\n[per-file-ignores]\n"a/*" = ["HCP001"]\n'
        '[versions]\nmegatron-core = "0.16.1"\n[environment]\nCP = 4\n[[models]]\nx = 1\n'
    )
    settings = load(file)
    assert settings == Settings(
        select=("HCP",),
        extend_select=("CTX001",),
        ignore=("HCP010",),
        exclude=("old/",),
        per_file_ignores={"a/*": ("HCP001",)},
        fail_level="info",
        versions={"megatron-core": "0.16.1"},
        environment={"CP": "4"},
        world_size=64,
        gpu="H100",
        cache_dir="x",
        models=({"x": 1},),
        file=file,
        lines=settings.lines,
    )
    assert (settings.lines["world-size"], settings.lines["versions.megatron-core"]) == (6, 12)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("\nfail_level = 1\n", "meshlint.toml:2: there is no setting `fail_level`; did you mean `fail-level`?"),
        ("zzz = 1\n", "there are select"),
        ('select = "HCP"\n', "meshlint.toml:1: `select` must be a list of strings"),
        ("world-size = 0\n", "a whole number from 1 to 2147483647"),
        ("world-size = true\n", "a whole number from 1 to 2147483647"),
        ('fail-level = "fatal"\n', '"error", "warning" or "info"'),
        ("[versions]\nx = 1\n", "`versions` must be a table of strings"),
        ("select = [\n", "it is not TOML"),
        ("x = " + "[" * 5000, "it is not TOML"),
    ],
)
def test_mistakes_are_usage_errors_with_a_place(meshlint: CommandLine, tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "meshlint.toml").write_text(text)
    with pytest.raises(SettingsError):
        load(tmp_path / "meshlint.toml")
    run = meshlint("check", str(tmp_path))
    assert run.status == 2
    assert told in run.err.replace("\n", " ")


def test_a_broken_settings_file_can_be_passed_by(meshlint: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "meshlint.toml").write_text("zzz = 1\n")
    assert meshlint("check", "--isolated", str(tmp_path)).status == 0


def test_what_is_in_force_is_shown_with_its_line(meshlint: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text('[project]\nname = "x"\n\n[tool.meshlint]\nignore = ["HCP010"]\n')
    run = meshlint("settings", tmp_path)
    assert run.status == 0
    assert f'ignore = ["HCP010"]  # {file}:5\n' in run.out
    assert 'fail-level = "error"  # default\n' in run.out


def test_the_schema_says_what_the_reader_says(meshlint: CommandLine) -> None:
    schema = json.loads(meshlint("settings", "--schema").out)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate({"select": ["HCP"], "versions": {"torch": "2.8"}}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"fail_level": "error"}, schema)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("x = " + "[" * 20_000 + "]" * 20_000, "nested too deeply"),
        ("x = " + "9" * 100_000, "not TOML"),
        ("a" + ".a" * 20_000 + " = 1", "more than 1000 dots"),
    ],
)
def test_settings_that_mean_harm_are_one_sentence(
    meshlint: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, part: str
) -> None:
    (tmp_path / "meshlint.toml").write_text(text + "\n")
    monkeypatch.chdir(tmp_path)
    run = meshlint("check")
    assert run.status == 2
    assert part in run.err
