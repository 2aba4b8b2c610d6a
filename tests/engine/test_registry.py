"""The patterns of the registry leave out no path that a surface claims, its words no command that a reader claims."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from meshlint.config import registry
from meshlint.config.command import Command, CommandReader, Word
from meshlint.config.commands import dispatch
from meshlint.config.surfaces import shell
from meshlint.engine.gather import context_of
from meshlint.engine.options import Options
from meshlint.engine.run import scope_of
from meshlint.place import Span

FIXTURES = Path(__file__).parents[2] / "fixtures"

PATHS = (
    "model_config.yaml",
    "a/b/model_config.yaml",
    "a.yaml",
    "x/a.yml",
    "conf/a.yaml",
    "x/conf/y/a.yml",
    "x/my_override.yaml",
    "a.py",
    "x/y/recipe.py",
    "run.sh",
    "x/job.sbatch",
    "x/job.slurm",
    "x/job.sub",
    "x/job.bash",
    "a.toml",
    "noending",
)


def test_what_a_surface_claims_its_patterns_let_through() -> None:
    for surface in registry.surfaces():
        for path in PATHS:
            if surface.claims(path):
                assert surface in list(registry.surfaces([path])), (surface.name, path)


def test_every_pattern_belongs_to_a_surface() -> None:
    assert set(registry.PATTERNS) <= set(registry.SURFACES)


SIGNS = (
    "actor-num-nodes", "actor-num-gpus-per-node", "rollout-batch-size", "num-rollout", "rollout-num-gpus", "colocate",
    "hf-checkpoint", "rollout-num-gpus-per-engine", "n-samples-per-prompt", "rollout-function-path",
)  # fmt: skip
CLAIMED = {
    "verl": ("python -m verl.trainer.main_ppo", "python x.py +actor_rollout_ref.model=a", "verl/fully_async_main.py"),
    "nemo_rl": (
        *(f"uv run examples/run_vlm_{name}.py --config a.yaml" for name in ("grpo", "ppo", "dpo", "sft", "rm")),
        "run_distillation_math.py",
        "single_update.py",
    ),
    "roll": ("python examples/start_rlvr_pipeline.py --config_name a",),
    "areal": (
        *(f"python -m areal.{name}.local a.py" for name in ("launcher", "infra.launcher")),
        *(f"train.py --config a.yaml {key}=a" for key in ("allocation_mode", "actor.backend", "rollout.backend")),
        *(f"train.py --config=a.yaml {key}=a" for key in ("scheduler.type", "cluster.n_nodes", "gconfig.n_samples")),
    ),
    "slime": tuple(f"python {name} --{flag} a" for name in ("train.py", "x/train_async.py") for flag in SIGNS),
    "ms_swift": ("megatron sft --a b", "/opt/bin/megatron rlhf", "python swift/cli/_megatron/pt.py"),
    "megatron_bridge": (
        *(
            f"python {name} a"
            for name in ("run_recipe.py", "x/run_script.py", "scripts/performance/setup_experiment.py")
        ),
        *(
            f"train.py {flag} a"
            for flag in ("--recipe", "--config-file", "--config_file", "--model_recipe_name", "-mr")
        ),
        *(f"a.py +{key}.b=1" for key in ("model", "train", "dataset", "ddp", "dist", "checkpoint", "optimizer")),
    ),
}


@pytest.mark.parametrize(("name", "line"), [(name, line) for name, lines in CLAIMED.items() for line in lines])
def test_the_words_of_a_reader_let_through_what_it_claims(name: str, line: str) -> None:
    words = line.removeprefix("uv run ").split()
    command = Command(tuple(Word(word) for word in words), "a.sh", "command 1", Span("a.sh", 1))
    mine = [reader for reader in registry.command_readers() if type(reader).__module__.endswith(f".{name}")]
    assert [reader.claims(command) for reader in mine] == [True]
    assert mine[0] in list(registry.command_readers(command))


def test_the_words_of_readers_let_through_what_they_claim_of_the_fixtures(monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[Command] = []

    def readers(command: Command) -> Iterator[CommandReader]:
        met.append(command)
        return registry.command_readers(command)

    monkeypatch.setattr(dispatch, "command_readers", readers)
    context = context_of(scope_of([str(FIXTURES)], Options()), Options())
    for path in context.files[::9]:
        if shell.SURFACE.claims(path):
            assert all(launch.framework for launch in shell.SURFACE.launches(path, context))
    assert len(met) > 20
    for command in met:
        asked = list(registry.command_readers(command))
        assert all(reader in asked for reader in registry.command_readers() if reader.claims(command)), command


def test_all_words_belong_to_a_reader() -> None:
    assert set(registry.COMMAND_WORDS) == set(CLAIMED) <= set(registry.COMMANDS)
