"""Launch scripts through the command line: what cannot be read, and forms that real scripts have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import CommandLine

SHAPE = "--num-layers 4 --hidden-size 64 --num-attention-heads 4"


def launches(meshlint: CommandLine, folder: Path, script: str, name: str = "run.sh") -> list[dict[str, Any]]:
    (folder / name).write_text(script)
    found: list[dict[str, Any]] = json.loads(meshlint("config", "--json", folder / name).out)["launches"]
    return found


def fields(launch: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = launch["roles"][0]["fields"]
    return found


def findings(meshlint: CommandLine, folder: Path) -> list[dict[str, Any]]:
    report = json.loads(meshlint("check", folder, "--format", "json", "--no-cache").out)
    found: list[dict[str, Any]] = report["findings"]
    return found


def test_an_unreadable_piece_without_a_launch_is_nobodys_business(meshlint: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "train.sh").write_text("pip install x\nif then fi )\npython prepare_data_for_training.py --a 1\n")
    assert findings(meshlint, tmp_path) == []


def test_unreadable_pieces_of_a_launch_script_are_one_finding(meshlint: CommandLine, tmp_path: Path) -> None:
    script = f"X=<a file> \\ \n  (e.g., a.txt)\nY=<a file> \\ \n  (e.g., b.txt)\npython pretrain_gpt.py {SHAPE}\n"
    (tmp_path / "train.sh").write_text(script)
    found = findings(meshlint, tmp_path)
    assert [(f["code"], f["line"]) for f in found] == [("MSH003", 1)]
    assert "another piece" in found[0]["message"]


def test_a_launch_behind_an_unreadable_piece_is_read(meshlint: CommandLine, tmp_path: Path) -> None:
    script = f"X=<a file> \\ \n  (e.g., a.txt)\npython pretrain_gpt.py {SHAPE} \\\n  --load ${{X}}\n"
    (launch,) = launches(meshlint, tmp_path, script)
    assert fields(launch)["num_layers"]["data"] == 4


def test_a_substring_from_an_expression_is_valid(meshlint: CommandLine, tmp_path: Path) -> None:
    script = f'A=--cp=4 N=4\npython pretrain_gpt.py {SHAPE} --context-parallel-size "${{A:$N+1}}"\n'
    (launch,) = launches(meshlint, tmp_path, script)
    assert fields(launch)["context_parallel_size"]["data"] == 4
    assert not [f for f in findings(meshlint, tmp_path) if f["code"] == "MSH003"]


def test_words_behind_a_placeholder_in_angle_brackets_belong_to_the_command(
    meshlint: CommandLine, tmp_path: Path
) -> None:
    script = f'srun --image <path to the image> \\\n  --mounts "<m>" \\\n  sh -c "python pretrain_gpt.py {SHAPE}"\n'
    (launch,) = launches(meshlint, tmp_path, script)
    assert fields(launch)["num_layers"]["data"] == 4


def test_a_list_that_nothing_sets_is_empty_and_a_variable_is_not(meshlint: CommandLine, tmp_path: Path) -> None:
    start = f"python pretrain_gpt.py {SHAPE} --context-parallel-size 2 "
    (launch,) = launches(meshlint, tmp_path, start + "${EVAL_ARGS[@]}\n")
    assert fields(launch)["context_parallel_size"]["data"] == 2
    (launch,) = launches(meshlint, tmp_path, start + "${EVAL_ARGS}\n")
    assert fields(launch)["context_parallel_size"]["state"] == "unknown"


def test_a_model_below_an_unknown_folder_has_the_shape_of_its_name(meshlint: CommandLine, tmp_path: Path) -> None:
    for script in (
        "NPROC_PER_NODE=8 megatron sft --model $HOME/models/Qwen3-8B\n",
        "python -m verl.trainer.main_ppo actor_rollout_ref.actor.strategy=megatron "
        'actor_rollout_ref.model.path="${HOME}/models/Qwen/Qwen3-8B"\n',
    ):
        (launch,) = launches(meshlint, tmp_path, script)
        assert fields(launch)["num_layers"]["data"] == 36
        assert fields(launch)["model_id"]["state"] == "unknown"


def test_a_model_that_is_unknown_to_its_end_has_no_shape(meshlint: CommandLine, tmp_path: Path) -> None:
    (launch,) = launches(meshlint, tmp_path, "NPROC_PER_NODE=8 megatron sft --model $FOLDER/models/Qwen3-8B-$KIND\n")
    assert fields(launch)["num_layers"]["state"] == "unknown"


def test_ray_of_swift_trains_with_a_group_of_the_config(meshlint: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "grpo.yaml").write_text(
        "rlhf_type: grpo\nmodel: Qwen/Qwen3-8B\nnnodes: 2\ncontext_parallel_size: 1\n"
        "train:\n  gpus: 8\n  context_parallel_size: 2\nrollout:\n  gpus: 4\n  tensor_model_parallel_size: 4\n"
    )
    (launch,) = launches(meshlint, tmp_path, "megatron rlhf --use_ray true --config grpo.yaml\n")
    assert (launch["nodes"]["data"], launch["gpus_per_node"]["data"], launch["world"]["data"]) == (2, 4, 8)
    assert fields(launch)["context_parallel_size"]["written"] == ["grpo.yaml:7:26"]
    assert fields(launch)["tensor_model_parallel_size"]["state"] == "unset"


def test_a_script_that_wants_something_filled_in_is_read_as_if_it_were(meshlint: CommandLine, tmp_path: Path) -> None:
    script = (
        'IMAGE=""\nif [ -z "$IMAGE" ]; then\n  echo "set IMAGE"\n  exit 1\nfi\n'
        f'srun --nodes 2 --image=$IMAGE bash -c "python pretrain_gpt.py {SHAPE}"\n'
    )
    (launch,) = launches(meshlint, tmp_path, script)
    assert (launch["nodes"]["data"], fields(launch)["num_layers"]["data"]) == (2, 4)


def test_a_script_that_ends_for_another_reason_ends(meshlint: CommandLine, tmp_path: Path) -> None:
    script = f'MODE=a\nif [ "$MODE" = a ]; then\n  exit 1\nfi\npython pretrain_gpt.py {SHAPE}\n'
    assert launches(meshlint, tmp_path, script) == []


def test_an_inner_script_that_is_read_whole(meshlint: CommandLine, tmp_path: Path) -> None:
    script = (
        "read -r -d '' INNER <<'EOF' || true\nset -e\ncd /train\npython pretrain_gpt.py \\\n  ${ARGS}\nEOF\n"
        f'ARGS="{SHAPE} --context-parallel-size 2"\n'
        'srun bash -c "export ARGS=\\"${ARGS}\\"; ${INNER}"\n'
    )
    (launch,) = launches(meshlint, tmp_path, script)
    assert fields(launch)["context_parallel_size"]["written"][0] == "run.sh:7:87"


def test_a_list_in_a_default_is_valid(meshlint: CommandLine, tmp_path: Path) -> None:
    script = f"X=${{X:-['a','b']}}\npython pretrain_gpt.py {SHAPE} --cp-comm-type $X\n"
    (launch,) = launches(meshlint, tmp_path, script)
    assert fields(launch)["cp_comm_type"]["data"] == ["a", "b"]
    assert not [f for f in findings(meshlint, tmp_path) if f["code"] == "MSH003"]


SOURCED = f"CP=4\nsource ./%s\nTP=2\npython pretrain_gpt.py {SHAPE} --cp-comm-type a2a+p2p \\\n"
SOURCED += "  --context-parallel-size $CP --tensor-model-parallel-size $TP\n"


def test_a_sourced_file_that_is_not_there_may_change_what_stands_before(meshlint: CommandLine, tmp_path: Path) -> None:
    (launch,) = launches(meshlint, tmp_path, SOURCED % "cluster_env.sh")
    notes = {name: fields(launch)[f"{name}_parallel_size"].get("notes", []) for name in ("context", "tensor_model")}
    said = "unless overridden: `./cluster_env.sh` (sourced after it; could not be read)"
    assert notes == {"context": [said], "tensor_model": []}
    (finding,) = [f for f in findings(meshlint, tmp_path) if f["code"] == "HCP001"]
    assert finding["confidence"] == "medium"
    assert "`./cluster_env.sh` (sourced after it; could not be read)" in finding["message"]


HERE = 'HERE="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)"\n'
LAUNCH = f"python pretrain_gpt.py {SHAPE} ${{MODEL_ARGS[@]}}\n"


def unread(meshlint: CommandLine, folder: Path) -> list[dict[str, Any]]:
    return [f for f in findings(meshlint, folder) if f["code"] == "MSH003"]


def test_a_sourced_file_that_should_be_there_is_told_at_its_line(meshlint: CommandLine, tmp_path: Path) -> None:
    script = f'{HERE}source "${{HERE}}/../models/x.sh"\n{LAUNCH}'
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "run.sh").write_text(script)
    (finding,) = unread(meshlint, tmp_path)
    assert (finding["path"], finding["line"]) == ("jobs/run.sh", 2)
    assert "`models/x.sh`, which is sourced here, does not exist" in finding["message"]
    assert finding["fix"]["description"] == "Correct the path, or add the file."
    told = meshlint("check", "--no-cache", tmp_path).out
    assert "the script does not set `MODEL_ARGS`; it may come from `models/x.sh`, which it sources" in told
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "x.sh").write_text("MODEL_ARGS=(--bf16)\n")
    assert unread(meshlint, tmp_path) == []


@pytest.mark.parametrize(
    "source",
    [
        "source ./cluster.sh",
        "source conf/cluster.sh",
        'source "$CONF/cluster.sh"',
        'source "${HERE}/../../cluster.sh"',
        'source "${HERE}/.venv/bin/activate"',
        '[ -f "${HERE}/conf/x.sh" ] && source "${HERE}/conf/x.sh"',
        'if [ -n "$WHERE" ]; then source "${HERE}/conf/x.sh"; fi',
    ],
)
def test_a_sourced_file_that_may_be_missing_is_not(source: str, meshlint: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(f"{HERE}{source}\n{LAUNCH}")
    assert unread(meshlint, tmp_path) == []


def test_a_placeholder_is_said_to_be_one_of_a_template(meshlint: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(f"OUT=<PATH_OF_THE_OUTPUT> (e.g., /out)\n{LAUNCH}")
    (finding,) = unread(meshlint, tmp_path)
    assert "`<PATH_OF_THE_OUTPUT>` is a placeholder of a template" in finding["message"]
    assert finding["fix"]["description"].startswith("Fill in `<PATH_OF_THE_OUTPUT>` before the launch")
    assert "the rest is read" not in finding["message"] and "are not judged" not in finding["message"]


def test_what_sets_up_an_interpreter_changes_no_variable_of_the_script(meshlint: CommandLine, tmp_path: Path) -> None:
    (launch,) = launches(meshlint, tmp_path, SOURCED % ".venv/bin/activate")
    assert "notes" not in fields(launch)["context_parallel_size"]
