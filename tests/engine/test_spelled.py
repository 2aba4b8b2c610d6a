"""Fixes speak the launch's own words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import CommandLine

FIXTURES = Path(__file__).parents[2] / "fixtures"

SPELLED = {
    "HCP001/bad/slime.sh": "--hierarchical-context-parallel-sizes to 2 2",
    "HCP001/bad/megatron.sh": "--cp-comm-type to p2p",
    "HCP001/bad/bridge_recipe.py": "cfg.model.hierarchical_context_parallel_sizes to [2, 2]",
    "HCP001/bad/nemo_rl.yaml": "policy.megatron_cfg.model_overrides.hierarchical_context_parallel_sizes to [2, 2]",
    "HCP006/bad/swift.sh": "--cp_comm_type to p2p",
    "HCP006/bad/verl.sh": "actor_rollout_ref.actor.megatron.override_transformer_config.cp_comm_type to p2p",
    "PKD005/bad/bridge_recipe.py": "cfg.dataset.offline_packing_specs.pad_seq_to_mult to 8",
}


@pytest.mark.parametrize(("path", "words"), SPELLED.items())
def test_a_fix_names_fields_as_the_launch_writes_them(meshlint: CommandLine, path: str, words: str) -> None:
    shown = meshlint("check", FIXTURES / path, "--isolated", "--no-cache", "--format", "json").out
    code = path.partition("/")[0]
    fixes = [f["fix"]["description"] for f in json.loads(shown)["findings"] if f["code"] == code]
    assert any(words in fix for fix in fixes), fixes


def test_a_fix_of_ms_swift_names_the_option_behind_the_dashes_too(meshlint: CommandLine) -> None:
    script = (FIXTURES / "HCP006/bad/swift.sh").read_text()
    words = " ".join(line.rstrip("\\") for line in script.splitlines() if line and not line.startswith("#")).split()
    shown = meshlint("check", "--isolated", "--format", "json", "--", *words).out
    fixes = [f["fix"]["description"] for f in json.loads(shown)["findings"] if f["code"] == "HCP006"]
    assert any("Set --cp_comm_type to p2p" in fix for fix in fixes), shown
