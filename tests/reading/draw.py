"""Draw the launchers of the reading proof: ten of each surface, by a fixed seed, from checkouts of real repositories.

A second seed draws five more of each surface. Those of them that have an expected file were read before meshlint was
run on them.

    MESHLINT_UPSTREAM=/folder/of/checkouts python tests/reading/draw.py [SURFACE ...]

Files are chosen by their path and text alone, not by what meshlint makes of them, and sorted by path before the draw.
What was drawn and turned out to start no training of the surface is named in `NOT_LAUNCHERS`, and the next one drawn
stands in for it.
"""

from __future__ import annotations

import os
import random
import sys
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

SEED = 20261128
COUNT = 10
BLIND_SEED = 20270214
BLIND_COUNT = 5
SCRIPTS = (".sh", ".sbatch", ".slurm")
YAML = (".yaml", ".yml")


@dataclass(frozen=True)
class Form:
    """A surface of one repository: the folder of its checkout, and how its files are told by path and text.

    A file must lie below one of the folders `under`, hold a word of every row of `words`, and have none of `without`
    in its path.
    """

    name: str
    checkout: str
    repository: str
    suffixes: tuple[str, ...] = SCRIPTS
    under: tuple[str, ...] = ("",)
    words: tuple[tuple[str, ...], ...] = ()
    without: tuple[str, ...] = ()


FORMS: tuple[Form, ...] = (
    Form(
        "megatron-lm-shell",
        "Megatron-LM",
        "NVIDIA/Megatron-LM",
        words=(("--tensor-model-parallel-size", "--num-layers"), (".py",)),
        without=("tests/unit_tests/",),
    ),
    Form("slime-shell", "slime", "THUDM/slime", words=(("train.py", "train_async.py"), ("ray job submit",))),
    Form("slime-python", "slime", "THUDM/slime", (".py",), words=(("execute_train(",),), without=("external_utils/",)),
    Form(
        "verl-shell",
        "verl",
        "verl-project/verl",
        words=(("megatron",), ("verl.trainer.", "verl.experimental.", "sft_trainer")),
    ),
    Form(
        "ms-swift-shell",
        "ms-swift",
        "modelscope/ms-swift",
        words=(("megatron sft", "megatron pt", "megatron rlhf"),),
    ),
    Form("nemo-rl-shell", "RL", "NVIDIA-NeMo/RL", under=("tests/test_suites/",), words=(("run_",), ("CONFIG_PATH",))),
    Form(
        "megatron-bridge-shell",
        "Megatron-Bridge",
        "NVIDIA-NeMo/Megatron-Bridge",
        words=(("run_recipe.py", "finetune_", "pretrain_", "setup_experiment.py"), ("torchrun", "srun", "python")),
        without=("conversion", "inference", "tests/", "pack_data"),
    ),
    Form(
        "megatron-lm-functional-test",
        "Megatron-LM",
        "NVIDIA/Megatron-LM",
        YAML,
        under=("tests/functional_tests/test_cases/",),
        words=(("MODEL_ARGS:",),),
    ),
    Form(
        "verl-yaml",
        "verl",
        "verl-project/verl",
        YAML,
        words=(("actor_rollout_ref:", "model_engine", "engine: megatron"), ("defaults:",), ("megatron",)),
        without=("_generated_",),
    ),
    Form(
        "nemo-rl-yaml",
        "RL",
        "NVIDIA-NeMo/RL",
        YAML,
        under=("examples/configs/recipes/", "examples/nemo_gym/"),
        words=(("policy:",), ("megatron",)),
    ),
    Form(
        "megatron-bridge-yaml",
        "Megatron-Bridge",
        "NVIDIA-NeMo/Megatron-Bridge",
        YAML,
        under=("examples/", "tutorials/"),
        words=(("model:",), ("train:", "dataset:")),
        without=("card.yaml",),
    ),
    Form("roll-yaml", "ROLL", "alibaba/ROLL", YAML, under=("examples/",), words=(("strategy_name: megatron",),)),
    Form("areal-yaml", "AReaL", "inclusionAI/AReaL", YAML, under=("examples/",), words=(("megatron:",),)),
    Form(
        "megatron-bridge-recipe",
        "Megatron-Bridge",
        "NVIDIA-NeMo/Megatron-Bridge",
        (".py",),
        under=("src/megatron/bridge/recipes/", "src/megatron/bridge/perf_recipes/"),
        words=((") -> ConfigContainer:",), ("def ",)),
        without=("common.py", "utils"),
    ),
    Form(
        "nemo2-recipe",
        "NeMo",
        "NVIDIA/NeMo",
        (".py",),
        under=("nemo/collections/",),
        words=((") -> run.Partial:",), ("_recipe(",)),
        without=("utils", "tests/"),
    ),
)

NOT_LAUNCHERS: dict[str, str] = {
    "Megatron-Bridge/examples/megatron_mimo/llava/prepare_llava_pretrain_audio.sh": "it prepares data",
    "Megatron-Bridge/examples/models/nemotron/nemotron_vl/conf/nemotron_nano_v2_vl_video.yaml": "no script names it",
    "Megatron-Bridge/examples/models/qwen/qwen_vl/conf/qwen25_vl_pretrain_override_example.yaml": "no script names it",
    "Megatron-Bridge/examples/models/qwen/qwen_vl/conf/qwen3_vl_pretrain_override_example.yaml": "no script names it",
    "NeMo/nemo/collections/llm/recipes/finetune_default.py": "its recipe needs a model",
    "RL/examples/configs/recipes/llm/grpo-qwen3-30ba3b-10n8g-megatron-cp2-r3-async.yaml": "another recipe completes it",
    "verl/verl/experimental/fully_async_policy/config/fully_async_ppo_megatron_trainer.yaml": "scripts start it",
    "verl/verl/experimental/one_step_off_policy/config/one_step_off_ppo_megatron_trainer.yaml": "scripts start it",
    "verl/verl/trainer/config/ppo_megatron_trainer.yaml": "scripts start it",
    "verl/verl/trainer/config/ppo_trainer.yaml": "scripts start it",
}
"""`checkout/path`, and why no training of the surface starts there."""


def candidates(form: Form, folder: Path) -> list[str]:
    """Give the paths of a form's files in a checkout, sorted."""
    found = []
    for file in folder.rglob("*"):
        path = file.relative_to(folder).as_posix()
        if file.suffix not in form.suffixes or not file.is_file() or file.is_symlink():
            continue
        if not path.startswith(form.under) or any(word in path for word in form.without):
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        if all(any(word in text for word in row) for row in form.words):
            found.append(path)
    return sorted(found)


def draw(form: Form, folder: Path) -> list[str]:
    """Draw a form's launchers, in the order in which they are drawn."""
    paths = candidates(form, folder)
    random.Random(f"{SEED} {form.name}").shuffle(paths)
    return [path for path in paths if f"{form.checkout}/{path}" not in NOT_LAUNCHERS][:COUNT]


def draw_more(form: Form, folder: Path) -> list[str]:
    """Draw further launchers of a form, with the second seed, in the order in which they are drawn."""
    paths = candidates(form, folder)
    first = draw(form, folder)
    random.Random(f"{BLIND_SEED} {form.name}").shuffle(paths)
    left = (p for p in paths if p not in first and f"{form.checkout}/{p}" not in NOT_LAUNCHERS)
    return list(islice(left, BLIND_COUNT))


def main() -> int:
    """Print what is drawn."""
    if "MESHLINT_UPSTREAM" not in os.environ:
        sys.stderr.write("set MESHLINT_UPSTREAM to a folder of checkouts\n")
        return 2
    upstream = Path(os.environ["MESHLINT_UPSTREAM"])
    for form in FORMS:
        if sys.argv[1:] and form.name not in sys.argv[1:]:
            continue
        folder = upstream / form.checkout
        sys.stdout.write(f"{form.name}: {len(candidates(form, folder))} files in {form.checkout}\n")
        sys.stdout.writelines(f"  {path}\n" for path in draw(form, folder))
        sys.stdout.writelines(f"  more: {path}\n" for path in draw_more(form, folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
