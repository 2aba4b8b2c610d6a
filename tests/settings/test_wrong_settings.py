"""Settings that mean nothing are refused, each with its file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import CommandLine
from meshlint.settings.model import SettingsError
from meshlint.settings.read import load

WRONG = {
    "a library misspelt": ('\n[versions]\nmegatron-cor = "1"\n', 3, "did you mean `megatron-core`?"),
    "a library misspelt, dotted": ('\nversions.megatron-cor = "1"\n', 2, "did you mean `megatron-core`?"),
    "no version": ('versions = {torch = "abc"}\n', 1, "for torch, `abc` is neither a version nor a specifier"),
    "a version that is a number": ("[versions]\ntorch = 2\n", 2, "`versions` must be a table of strings"),
    "a GPU that is none": ('\ngpu = "H1000"\n', 2, "there is no GPU `H1000`; did you mean `H100`?"),
    "a pattern to exclude left open": ('\nexclude = ["a/["]\n', 2, "opens a `[`"),
    "a pattern to exclude that is none": ('exclude = ["a\\\\"]\n', 1, "is none of a .gitignore"),
    "a range backwards": ('exclude = ["[z-a]"]\n', 1, "is none of a .gitignore"),
    "a rule to select": ('\n\nselect = ["HCP", "HCP022"]\n', 3, "did you mean `HCP002`?"),
    "a rule to select besides": ('extend-select = ["XYZ"]\n', 1, "there is no rule `XYZ`"),
    "a rule to ignore": ('ignore = ["hcp"]\n', 1, "did you mean `HCP`?"),
    "a code for files": ('[per-file-ignores]\n"*.sh" = ["HCP001"]\n"a.sh" = ["HCP022"]\n', 3, "did you mean `HCP002`?"),
    "codes that are no list": ('[per-file-ignores]\n"a.sh" = "HCP001"\n', 2, "must be a table of lists of strings"),
    "a pattern left open": ('[per-file-ignores]\n"a[" = ["HCP001"]\n', 2, "opens a `[`"),
    "a pattern of nothing": ('[per-file-ignores]\n"" = ["HCP001"]\n', 2, "matches no file"),
    "a comment for a pattern": ('[per-file-ignores]\n"#a.sh" = ["HCP001"]\n', 2, "matches no file"),
    "a pattern that takes away": ('[per-file-ignores]\n"!a.sh" = ["HCP001"]\n', 2, "matches no file"),
    "a pattern that goes up": ('[per-file-ignores]\n"../a.sh" = ["HCP001"]\n', 2, "matches no file"),
    "a pattern from here": ('[per-file-ignores]\n"./a.sh" = ["HCP001"]\n', 2, "matches no file"),
    "a variable with a sign": ('[environment]\nCP = 4\n"A=B" = 1\n', 3, "none is named `A=B`"),
    "a variable without a name": ('[environment]\n"" = 1\n', 2, "none is named ``"),
    "a variable with a dash": ("[environment]\na-b = 1\n", 2, "none is named `a-b`"),
    "a variable that is a list": ("[environment]\nCP = [4]\n", 2, "a table of strings and numbers"),
    "a cache that is a number": ("cache-dir = 1\n", 1, "`cache-dir` must be a string"),
    "a cache without a name": ('cache-dir = " "\n', 1, "`cache-dir` must be the name of a folder"),
    "a cache that is a file": ('\ncache-dir = "run.sh"\n', 2, "must be a folder, and"),
    "a cache in a file": ('cache-dir = "run.sh/x"\n', 1, "must be a folder, and"),
    "a cache in nobody's home": ('cache-dir = "~nobody-of-this-name/x"\n', 1, "a home folder that is none"),
    "a model of nothing": ("\n[[models]]\nx = 1\n", 2, "`models`"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_setting_is_refused_at_its_line(
    meshlint: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    text, line, told = WRONG[name]
    file = tmp_path / "meshlint.toml"
    file.write_text(text)
    (tmp_path / "run.sh").write_text("echo\n")
    monkeypatch.setattr("click.formatting.FORCED_WIDTH", 500)
    run = meshlint("check", "--no-cache", tmp_path)
    assert run.status == 2
    assert f"Error: {file}:{line}: " in run.err
    assert told in run.err


@pytest.mark.parametrize(
    "text",
    [
        'exclude = ["# a comment", "", "*.txt", "!keep.txt"]\n',
        '[per-file-ignores]\n"**/a[0-9].sh" = ["HCP001", "sizes-product", "CTX", "ALL"]\n',
        '[environment]\n_x1 = "a=b"\n',
        'cache-dir = "not/there/yet"\n',
        'gpu = "h100"\n',
    ],
)
def test_what_means_something_is_taken(meshlint: CommandLine, tmp_path: Path, text: str) -> None:
    (tmp_path / "meshlint.toml").write_text(text)
    (tmp_path / "run.sh").write_text("echo\n")
    run = meshlint("check", "--no-cache", tmp_path)
    assert run.status == 0
    assert "Error" not in run.err


def test_codes_of_files_can_be_slugs(meshlint: CommandLine, tmp_path: Path) -> None:
    bad = Path(__file__).parents[2] / "fixtures" / "HCP001" / "bad" / "megatron.sh"
    (tmp_path / "run.sh").write_text(bad.read_text())
    words = ("check", "--no-cache", "--select", "HCP001", tmp_path)
    assert meshlint(*words).status == 1
    (tmp_path / "meshlint.toml").write_text('[per-file-ignores]\n"run.sh" = ["a2a-p2p-without-sizes"]\n')
    assert meshlint(*words).status == 0


@pytest.mark.parametrize("text", ["tool = 1\n", "[tool]\nmeshlint = 1\n"])
def test_a_table_that_is_none_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(SettingsError, match="must be a table"):
        load(tmp_path / "pyproject.toml")


@pytest.mark.parametrize("pattern", ["[", "a\\", "[z-a]"])
def test_a_wrong_pattern_of_the_command_line_is_refused(meshlint: CommandLine, tmp_path: Path, pattern: str) -> None:
    run = meshlint("check", "--isolated", "--no-cache", "--exclude", pattern, tmp_path)
    assert run.status == 2
    assert f"--exclude: the pattern `{pattern}`" in run.err


def test_a_wrong_variable_of_the_command_line_is_refused(meshlint: CommandLine, tmp_path: Path) -> None:
    run = meshlint("check", "--isolated", "--no-cache", "--env", "a-b=1", tmp_path)
    assert run.status == 2
    assert "no variable of the environment is named `a-b`" in run.err


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[project]\nname = "x"\n[tool.meshlint\nselect = ["HCP"]\n', 3),
        ('[tool.meshlint]\nselect = ["HCP"\nx = 1\n', 3),
        ("[[tool.meshlint.models]]\nname = \n", 2),
    ],
)
def test_a_broken_project_file_that_means_meshlint_is_a_fault_of_use(
    text: str, line: int, tmp_path: Path, meshlint: CommandLine
) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(text)
    for verb in ("check", "config", "settings"):
        run = meshlint(verb, tmp_path)
        assert run.status == 2
        assert f"{file}:{line}: it is not TOML" in " ".join(run.err.split())


def test_a_broken_project_file_of_others_is_nobody_s_business(tmp_path: Path, meshlint: CommandLine) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\ndescription = "with meshlint\n')
    assert meshlint("check", tmp_path).status == 0


@pytest.mark.parametrize(
    "table", ["tool.meshlnt", "tool.mesh-lint", "tool.Meshlint", "meshlint", "tool.meshlit.versions"]
)
def test_a_table_that_is_nearly_that_of_meshlint_is_told_once(
    table: str, tmp_path: Path, meshlint: CommandLine
) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(f'[project]\nname = "x"\n\n[{table}]\nx = "1"\n')
    told = f"meshlint: {file}:4: `[{table}]` is no table of meshlint; did you mean `[tool.meshlint]`?\n"
    run = meshlint("check", tmp_path)
    assert (run.status, run.err.count(told), run.err.count("did you mean")) == (0, 1, 1)
    assert meshlint("check", "--isolated", tmp_path).err.count("did you mean") == 0


@pytest.mark.parametrize("table", ["tool.pylint", "tool.tomlint", "tool.mypy", "tool.flit.metadata", "tool.meshlint"])
def test_tables_of_other_tools_are_not(table: str, tmp_path: Path, meshlint: CommandLine) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[{table}]\n")
    assert "did you mean" not in meshlint("check", tmp_path).err
