"""Puts every functional test of a Megatron-LM checkout to the oracle: questions for `megatron_cli.py`.

    python tests/oracle/functional.py CHECKOUT > questions.jsonl

The arguments are built from `model_config.yaml` by the grammar of `_run_training.sh`, apart from meshlint's own reader,
so that the two can be compared. The world size is the smallest multiple of 8 ranks that the parallel sizes divide.
"""

from __future__ import annotations

import json
import shlex
import sys
from math import lcm
from pathlib import Path
from typing import Any

import yaml


def words(flag: str, value: Any) -> list[str]:
    """Give the words of one entry of MODEL_ARGS."""
    if value is True:
        return [flag]
    text = "false" if value is False else " ".join(str(value).split())
    if text == "true":
        return [flag]
    if isinstance(value, list):
        text = "[" + ", ".join(map(str, value)) + "]"
    if text.startswith("[") and text.endswith("]"):
        return [flag, *shlex.split(text[1:-1].replace(",", " ") if isinstance(value, list) else text[1:-1])]
    text = text.replace("\\", "")
    if flag == "--hierarchical-context-parallel-sizes":
        return [flag, *text.split()]
    return [flag, text] if any(c in text for c in " |()") else [flag, *shlex.split(text)]


def size(arguments: dict[str, Any], flag: str) -> int:
    """Give a parallel size, 1 where it is not set."""
    value = arguments.get(flag, 1)
    return value if isinstance(value, int) and value > 0 else 1


def world(arguments: dict[str, Any]) -> int:
    """Guess the world size."""
    tp, pp = size(arguments, "--tensor-model-parallel-size"), size(arguments, "--pipeline-model-parallel-size")
    cp, ep = size(arguments, "--context-parallel-size"), size(arguments, "--expert-model-parallel-size")
    return lcm(8, tp * pp * cp, ep * size(arguments, "--expert-tensor-parallel-size") * pp)


def questions(checkout: Path) -> list[dict[str, Any]]:
    """Give a question for each run of each functional test."""
    found = []
    for path in sorted(checkout.glob("tests/functional_tests/test_cases/**/model_config.yaml")):
        config = yaml.safe_load(path.read_text())
        for key in ("MODEL_ARGS", "MODEL_ARGS_2"):
            arguments = config.get(key)
            if not isinstance(arguments, dict):
                continue
            sharded = any(arguments.get(f) for f in ("--use-megatron-fsdp", "--use-torch-fsdp2"))
            environment = {"CUDA_DEVICE_MAX_CONNECTIONS": "8"} if sharded else {}
            environment |= {k: str(v) for k, v in (config.get("ENV_VARS") or {}).items()}
            found.append(
                {
                    "id": f"{path.relative_to(checkout)}::{key}",
                    "argv": [w for flag, value in arguments.items() for w in words(flag, value)],
                    "env": environment,
                    "world": world(arguments),
                }
            )
    return found


if __name__ == "__main__":
    for question in questions(Path(sys.argv[1])):
        print(json.dumps(question))
