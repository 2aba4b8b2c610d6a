"""How far a launch was judged is said in every text, so that a partial judgement does not look clean."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import CommandLine

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
    run = meshlint("check", script(tmp_path, comm="p2p"))
    assert run.out.startswith(
        "No findings in the rules that could be judged.\n1 launch; 22 of 25 rules judged, 3 not: "
    )
    assert "the shape of my-org/MyModel is not known" in run.out


def test_the_concise_text_says_so_on_stderr(tmp_path: Path, meshlint: CommandLine) -> None:
    run = meshlint("check", "--format", "concise", script(tmp_path, comm="p2p"))
    assert run.out == ""
    (line,) = run.err.splitlines()
    assert line.startswith("meshlint: in 1 launch: 22 of 25 rules judged, 3 not, first for ")


def test_nothing_is_said_where_every_rule_was_judged(meshlint: CommandLine) -> None:
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
