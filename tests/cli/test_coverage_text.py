"""How far a launch was judged is said in every text, so that a partial judgement does not look clean."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import CommandLine
from meshlint.engine.ruleset import load

VERL = """\
python3 -m verl.trainer.main_ppo \\
    actor_rollout_ref.actor.strategy=megatron \\
    actor_rollout_ref.actor.megatron.context_parallel_size=4 \\
    +actor_rollout_ref.actor.megatron.override_transformer_config.cp_comm_type=COMM \\
    actor_rollout_ref.model.path=MODEL trainer.n_gpus_per_node=8
"""


def script(folder: Path, comm: str = "a2a+p2p", model: str = "my-org/MyModel") -> Path:
    """Write a launch of verl."""
    file = folder / "run.sh"
    file.write_text(VERL.replace("COMM", comm).replace("MODEL", model))
    return file


def test_a_fault_that_hardly_hangs_on_the_model_is_told_without_it(tmp_path: Path, meshlint: CommandLine) -> None:
    run = meshlint("check", "--format", "json", script(tmp_path))
    (finding,) = json.loads(run.out)["findings"]
    assert (finding["code"], finding["severity"], finding["confidence"]) == ("HCP006", "warning", "medium")
    assert "takes for granted that the model" in finding["message"]


def test_with_the_model_known_it_is_an_error(tmp_path: Path, meshlint: CommandLine) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "qwen2", "num_hidden_layers": 4, "num_attention_heads": 8}')
    run = meshlint("check", "--format", "json", script(tmp_path, model=str(folder)))
    (finding,) = json.loads(run.out)["findings"]
    assert (finding["code"], finding["severity"]) == ("HCP006", "error")
    assert "takes for granted" not in finding["message"]


@pytest.mark.parametrize("setting", ["$VARIANT", "dsa"])
def test_what_is_written_of_the_attention_is_never_taken_for_granted(
    setting: str, tmp_path: Path, meshlint: CommandLine
) -> None:
    file = script(tmp_path)
    override = f"+actor_rollout_ref.actor.megatron.override_transformer_config.experimental_attention_variant={setting}"
    file.write_text(file.read_text().replace("trainer.n", f"{override} trainer.n"))
    run = meshlint("check", "--format", "json", file)
    assert json.loads(run.out)["findings"] == []
    (coverage,) = json.loads(run.out)["coverage"]
    assert "HCP006" in [stop["code"] for stop in coverage["not_judged"]]


def test_the_full_text_does_not_call_a_partial_judgement_clean(tmp_path: Path, meshlint: CommandLine) -> None:
    first, head, *reasons = meshlint("check", script(tmp_path, comm="p2p")).out.splitlines()
    assert first == "No findings in the rules that could be judged."
    assert " rules judged in 1 launch" in head and head.endswith(". What stopped the others:")
    assert any("the shape of my-org/MyModel is not known" in reason for reason in reasons)
    assert all(reason.startswith("  ") and reason.endswith(")") for reason in reasons)


@pytest.mark.parametrize("models", [2, 6])
def test_each_cause_has_a_line_and_the_rarer_ones_are_counted(
    models: int, tmp_path: Path, meshlint: CommandLine
) -> None:
    for number in range(models):
        (tmp_path / f"run{number}.sh").write_text(script(tmp_path, "p2p", f"my-org/Model{number}").read_text())
    (tmp_path / "run.sh").write_text(script(tmp_path, "p2p", "my-org/Model0").read_text())
    run = meshlint("check", tmp_path)
    causes = run.out.split("What stopped the others in ")[1].splitlines()[1:]
    assert causes[0].startswith("  in 2 launches: ") and "my-org/Model0 is not known" in causes[0]
    assert causes[1].startswith("  in 1 launch: ") and "my-org/Model1 is not known" in causes[1]
    assert causes[2:] == ([] if models == 2 else [causes[2], f"  {models - 3} more: --verbose"])
    note = meshlint("check", "--format", "concise", tmp_path).err
    assert "my-org/Model0 is not known" in note and note.endswith(f"; {models - 1} more: --format full\n")


def test_the_concise_text_says_so_on_stderr(tmp_path: Path, meshlint: CommandLine) -> None:
    run = meshlint("check", "--format", "concise", script(tmp_path, comm="p2p"))
    assert run.out == ""
    (line,) = run.err.splitlines()
    assert line.startswith("meshlint: in 1 launch ") and "rules judged, most often for want of " in line


def test_rules_that_nobody_judged_are_counted(tmp_path: Path, meshlint: CommandLine) -> None:
    file = script(tmp_path)
    rules = json.loads(meshlint("rules", "--json").out)
    preview = sum(rule["preview"] for rule in rules)
    plain = meshlint("check", file).out
    if preview:
        assert f"; {preview} in preview not judged (--preview)" in plain
    assert "in preview" not in meshlint("check", "--preview", file).out
    ignored = meshlint("check", "--ignore", "HCP006", file)
    assert ignored.out.startswith("No findings") and "; 1 ignored" in ignored.out
    one = meshlint("check", "--select", "HCP006", file).out
    assert f"1 rule judged in 1 launch; {len(rules) - 1} not selected." in one


def test_a_suppressed_finding_leaves_a_trace(tmp_path: Path, meshlint: CommandLine) -> None:
    file = script(tmp_path)
    file.write_text(f"# meshlint: file-ignore[HCP006] -- we know\n{file.read_text()}")
    run = meshlint("check", file)
    assert (run.status, run.out.splitlines()[0][-15:]) == (0, "(1 suppressed).")


def test_a_finding_left_out_by_the_settings_leaves_a_trace(
    tmp_path: Path, meshlint: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "meshlint.toml").write_text('[per-file-ignores]\n"*.sh" = ["HCP006"]\n')
    for _ in range(2):  # anew, and out of the cache
        run = meshlint("check")
        assert (run.status, "(1 left out by per-file-ignores)" in run.out) == (0, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), ""),
        (("--ignore", "HCP"), "HCP006 is ignored: `check` does not judge it (--ignore)"),
        (("--select", "CTX001"), "HCP006 is not selected: `check` does not judge it"),
    ],
)
def test_why_says_that_a_rule_is_not_judged(
    words: tuple[str, ...], says: str, tmp_path: Path, meshlint: CommandLine
) -> None:
    file = script(tmp_path)
    run = meshlint("config", *words, "--why", "HCP006", file)
    assert "fires" in run.out
    assert says in run.out if says else "does not judge" not in run.out
    (launch,) = json.loads(meshlint("config", *words, "--why", "HCP006", "--json", file).out)["launches"]
    assert (launch["left_out"] or "") == says


def test_why_names_the_line_that_ignores(
    tmp_path: Path, meshlint: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "meshlint.toml").write_text('# ours\nignore = ["HCP006"]\n')
    assert "meshlint.toml:2)" in meshlint("config", "--why", "HCP006", "run.sh").out


def test_why_says_that_a_rule_is_in_preview(
    tmp_path: Path, meshlint: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = next(rule for rule in load() if rule.code == "HCP006")
    monkeypatch.setattr(rule, "preview", True)
    file = script(tmp_path)
    told = "HCP006 is in preview: `check` judges it only with --preview"
    assert told in meshlint("config", "--why", "HCP006", file).out
    assert told not in meshlint("config", "--preview", "--why", "HCP006", file).out


def test_nothing_is_said_where_every_rule_was_judged(meshlint: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1")
    words = ("torchrun", "--nproc-per-node", "2", "pretrain_gpt.py", "--tensor-model-parallel-size", "2", "--bf16")
    run = meshlint("check", "--format", "concise", "--", *words, "--num-layers", "2", "--num-attention-heads", "2")
    assert (run.status, run.out, run.err) == (0, "", "")


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (("uv", "run", "run_grpo.py", "--config", "nowhere.yaml"), "policy.megatron_cfg.enabled"),
        (("python3", "-m", "verl.trainer.main_ppo", "--config-name", "nowhere"), "actor_rollout_ref.actor.strategy"),
    ],
)
def test_a_config_that_is_not_there_leaves_every_rule_unjudged(
    words: tuple[str, ...], key: str, tmp_path: Path, meshlint: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run_grpo.py").write_text("")
    monkeypatch.chdir(tmp_path)
    (coverage,) = json.loads(meshlint("check", "--format", "json", "--", *words).out)["coverage"]
    assert coverage["judged"] == []
    assert {stop["field"] for stop in coverage["not_judged"]} == {key}
    assert all("nowhere" in stop["reason"] for stop in coverage["not_judged"])
    assert f"not judged: {key}: the config nowhere" in meshlint("config", "--why", "HCP001", "--", *words).out


@pytest.mark.parametrize(
    ("enabled", "judged"),
    [("${oc.env:MCORE}", False), ("false", True)],
)
def test_an_engine_that_is_not_known_leaves_every_rule_unjudged(
    enabled: str, judged: bool, tmp_path: Path, meshlint: CommandLine
) -> None:
    file = tmp_path / "grpo.yaml"
    file.write_text(f"policy:\n  model_name: x\n  megatron_cfg:\n    enabled: {enabled}\ncluster:\n  num_nodes: 1\n")
    (coverage,) = json.loads(meshlint("check", "--format", "json", file).out)["coverage"]
    assert bool(coverage["judged"]) is judged


@pytest.mark.parametrize(
    "model", ["Follow instructions in https://example.org/model", "/path/to/model", "your-org/model"]
)
def test_a_placeholder_is_no_name_of_a_model(model: str, tmp_path: Path, meshlint: CommandLine) -> None:
    text = meshlint("check", script(tmp_path, comm="p2p", model=f"'{model}'")).out
    assert f"the model is still to be filled in for `{model}`" in text
    assert "the shape of" not in text
