"""Which surfaces and frameworks there are. To add one: write its module, add its line here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from typing import cast

from meshlint.config.command import Command, CommandReader
from meshlint.config.framework import Framework
from meshlint.config.surface import Surface

SURFACES: tuple[str, ...] = (
    "functional_test",
    "nemo_rl_yaml",
    "verl_yaml",
    "roll_yaml",
    "areal_yaml",
    "bridge_recipe",
    "bridge_yaml",
    "nemo2_recipe",
    "slime_python",
    "shell",
)
"""Modules of `meshlint.config.surfaces`, each with a `SURFACE`; a file goes to every surface that claims it."""

_YAML = ("*.yaml", "*.yml")
PATTERNS: Mapping[str, tuple[str, ...]] = {
    "functional_test": ("model_config.yaml", "*/model_config.yaml"),
    "nemo_rl_yaml": _YAML,
    "verl_yaml": _YAML,
    "roll_yaml": _YAML,
    "areal_yaml": _YAML,
    "bridge_recipe": ("*.py",),
    "bridge_yaml": ("conf/*.y*ml", "*/conf/*.y*ml", "*override*.y*ml"),
    "nemo2_recipe": ("*.py",),
    "slime_python": ("*.py",),
    "shell": ("*.sh", "*.bash", "*.sbatch", "*.slurm", "*.sub"),
}
"""Paths that a surface can claim: its module is imported only where there is one. Without an entry, always."""

WORDS: Mapping[str, tuple[str, ...]] = {
    "nemo_rl_yaml": ("policy:", "defaults:", "cluster:"),
    "verl_yaml": ("actor_rollout_ref:", "trainer"),
    "roll_yaml": ("strategy_args:",),
    "areal_yaml": ("n_gpus_per_node:",),
    "bridge_recipe": ("megatron.bridge",),
    "nemo2_recipe": ("run.Partial", "_recipe(", "MegatronStrategy("),
    "slime_python": ("execute_train(",),
}
"""Words of which a file that the surface reads holds one: where a person names few files, the others are not loaded."""
FEW = 40

COMMANDS: tuple[str, ...] = ("verl", "nemo_rl", "roll", "areal", "slime", "ms_swift", "megatron_bridge", "megatron_lm")
"""Modules of `meshlint.config.commands`, each with a `READER`; the first that claims a command reads it."""

COMMAND_WORDS: Mapping[str, tuple[str, ...]] = {
    "verl": ("main_", "_main", "sft_trainer", "actor_rollout_ref."),
    "nemo_rl": ("_grpo", "_ppo", "_dpo", "_sft", "_rm", "_distillation", "single_update"),
    "roll": ("start_",),
    "areal": (
        "areal.launcher.", "areal.infra.launcher.", "allocation_mode", "actor.backend", "rollout.backend",
        "scheduler.type", "cluster.n_nodes", "gconfig.n_samples",
    ),
    "slime": ("--actor-num-", "--rollout-", "--num-rollout", "--colocate", "--hf-checkpoint", "--n-samples-per-prompt"),
    "ms_swift": ("megatron\n", "_megatron"),
    "megatron_bridge": (
        "run_recipe", "run_script", "setup_experiment", "--recipe", "--config-file", "--config_file",
        "--model_recipe_name", "-mr", "model.", "train.", "dataset.", "ddp.", "dist.", "checkpoint.", "optimizer.",
        "comm_overlap.",
    ),
}  # fmt: skip
"""Texts of which the words of a command that the reader claims, a line each, hold one: it is loaded only for such."""

FRAMEWORKS: tuple[str, ...] = (
    "megatron_lm",
    "megatron_bridge",
    "verl",
    "nemo_rl",
    "slime",
    "ms_swift",
    "nemo2",
    "roll",
    "areal",
)
"""Modules of `meshlint.config.frameworks`, each with a `FRAMEWORK` whose name is the module's with dashes."""


def surfaces(paths: Iterable[str] | None = None, text: Callable[[str], str] | None = None) -> Iterator[Surface]:
    """Give every surface, in order; of given paths only those that could claim one, by path and, of a few, by text."""
    known = None if paths is None else tuple(paths)
    for name in SURFACES:
        if known is None or _could_claim(name, known, text):
            yield cast(Surface, import_module(f"meshlint.config.surfaces.{name}").SURFACE)


def _could_claim(name: str, paths: tuple[str, ...], text: Callable[[str], str] | None) -> bool:
    if name not in PATTERNS:
        return True
    mine = [path for path in paths if any(fnmatchcase(path, pattern) for pattern in PATTERNS[name])]
    if text is None or len(mine) > FEW or name not in WORDS:
        return bool(mine)
    return any(word in text(path) for path in mine for word in WORDS[name])


def command_readers(command: Command | None = None) -> Iterator[CommandReader]:
    """Give every command reader, in order; of a given command only those that could claim it by its words."""
    text = None if command is None else "\n".join(w.known if w.text is None else w.text for w in command.words)
    for name in COMMANDS:
        if text is not None and name in COMMAND_WORDS and not any(word in text for word in COMMAND_WORDS[name]):
            continue
        yield cast(CommandReader, import_module(f"meshlint.config.commands.{name}").READER)


@cache
def framework(name: str) -> Framework:
    """Give a framework by name, or raise KeyError."""
    module = name.replace("-", "_")
    if module not in FRAMEWORKS:
        raise KeyError(name)
    return cast(Framework, import_module(f"meshlint.config.frameworks.{module}").FRAMEWORK)
