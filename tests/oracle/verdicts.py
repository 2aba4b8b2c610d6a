"""Asks meshlint the questions that `megatron_cli.py` answers, as command lines.

    python tests/oracle/verdicts.py CORE < questions.jsonl > verdicts.jsonl

CORE is the megatron-core release of the checkout that the other side is asked about. A verdict is {"id", "findings",
"stopped"}: each finding as [code, severity, outcome, message], and the rules that were not judged, as [code, field,
reason].
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from meshlint.engine import gather
from meshlint.engine.options import Options
from meshlint.engine.run import scope_of
from meshlint.engine.whole import Outcome, choose, judge_launch
from meshlint.rule import LaunchRule
from meshlint.sources.discover import Scope

TRANSFORMER_ENGINE = "2.8.0"
"""What `megatron_cli.py` pretends."""
TORCH = "2.13.0"
"""What it runs on."""


def words(question: Mapping[str, Any]) -> list[str]:
    """Give the command line of a question."""
    environment = {"CUDA_DEVICE_MAX_CONNECTIONS": "1", **question.get("env", {})}
    variables = [f"{name}={value}" for name, value in environment.items() if value]
    launcher = ["torchrun", "--nnodes=1", f"--nproc-per-node={question['world']}", "pretrain_gpt.py"]
    return ["env", *variables, *launcher, *question["argv"]]


def ask(question: Mapping[str, Any], scope: Scope, options: Options, rules: Sequence[LaunchRule]) -> dict[str, Any]:
    """Give meshlint's verdict on one question."""
    context = gather.context_of(scope, options)
    outcome = Outcome()
    for variants in gather.command_launches(words(question), context, options, outcome.failures):
        judge_launch(variants, context, rules, outcome)
    found = [one.finding for judgement in outcome.judgements for one in judgement.judged]
    stopped = [[n.code, n.field, n.reason] for judgement in outcome.judgements for n in judgement.coverage.not_judged]
    return {
        "id": question["id"],
        "findings": [[f.code, f.severity.value, f.outcome.value, f.message] for f in found],
        "stopped": stopped,
        "failures": outcome.failures,
    }


def main() -> None:
    """Answer every question on standard input, in an empty folder."""
    os.environ.clear()
    with tempfile.TemporaryDirectory() as folder:
        pins = {"megatron-core": sys.argv[1], "transformer-engine": TRANSFORMER_ENGINE, "torch": TORCH}
        options = Options(pins=pins, gpu="H100", preview=True, cwd=Path(folder), cache=False)
        scope = scope_of((".",), options)
        rules = choose(options)[0].launch_rules()
        for line in sys.stdin:
            print(json.dumps(ask(json.loads(line), scope, options, rules)))


if __name__ == "__main__":
    main()
