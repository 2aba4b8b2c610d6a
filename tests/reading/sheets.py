"""Compare what `meshlint config --json` says of drawn launchers with expected files that were made by hand.

An expected file holds, for one launcher, its repository, commit and sha256, and its launches in the order in which the
launcher comes to them: `entry`, `framework`, `role` (where roles have names), `branches` (the ways that undecided
conditions go, where several variants are told apart; else the first variant counts), the counts `nodes`,
`gpus_per_node` and `world`, and `fields`. A field is `[value, "path:line"]`, the line being the one to edit; a
place without a path lies in the launcher. A field that is not listed must not be written; `unknown` lists those that
nobody could know. With `more`, the launcher has further launches, which were not read.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EXPECTED = Path(__file__).parent / "expected"
COUNTS = ("nodes", "gpus_per_node", "world")
FIELDS = (
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "virtual_pipeline_model_parallel_size",
    "context_parallel_size",
    "expert_model_parallel_size",
    "expert_tensor_parallel_size",
    "sequence_parallel",
    "cp_comm_type",
    "hierarchical_context_parallel_sizes",
    "num_layers",
    "hidden_size",
    "num_attention_heads",
    "num_query_groups",
    "seq_length",
    "micro_batch_size",
    "global_batch_size",
    "num_moe_experts",
    "packed_sequences",
    "pad_multiple",
    "pad_total_multiple",
    "sft",
)
"""Fields that the proof compares."""

Data = dict[str, Any]


@dataclass
class Outcome:
    """What was compared: how many values, and where expectation and output differ."""

    compared: int = 0
    differences: list[str] = field(default_factory=list)

    def check(self, what: str, wanted: object, found: object) -> None:
        """Compare two values."""
        self.compared += 1
        if wanted != found:
            self.differences.append(f"{what}: expected {wanted}, found {found}")


def expectations(surface: str) -> list[Data]:
    """Give the expected files of a surface, in order of name."""
    return [json.loads(file.read_text(encoding="utf-8")) for file in sorted((EXPECTED / surface).glob("*.json"))]


def usable(wanted: Data, checkout: Path) -> str:
    """Say why an expected file cannot be compared with a checkout; empty where it can.

    The checkout must stand at the commit, or, without git, hold the very launcher.
    """
    file = checkout / wanted["path"]
    if not file.is_file():
        return f"{wanted['path']} is not in {checkout}"
    if (checkout / ".git").exists():
        done = subprocess.run(["git", "-C", str(checkout), "rev-parse", "HEAD"], capture_output=True, check=False)
        commit = done.stdout.decode().strip()
        return "" if commit == wanted["commit"] else f"{checkout} is at {commit}, not at {wanted['commit']}"
    same = hashlib.sha256(file.read_bytes()).hexdigest() == wanted["sha256"]
    return "" if same else f"{file} is not the one that was read"


def outcome(wanted: Data, launches: list[Data]) -> Outcome:
    """Compare one launcher."""
    result = Outcome()
    mine = [launch for launch in launches if launch["place"].rpartition(":")[0].rpartition(":")[0] in _paths(wanted)]
    groups: dict[str, list[Data]] = {}
    for launch in mine:
        groups.setdefault(launch["identity"], []).append(launch)
    rows = [row for identity in groups for row in _rows(groups[identity], wanted)]
    if wanted.get("more"):
        rows = rows[: len(wanted["launches"])]
    result.check(f"{wanted['path']}: launches", [_title(w) for w in wanted["launches"]], [_title(r) for r, _ in rows])
    for number, (expected, (_, found)) in enumerate(zip(wanted["launches"], rows, strict=False)):
        _compare(result, wanted["path"], number + 1, expected, found)
    return result


def _paths(wanted: Data) -> tuple[str, ...]:
    return (wanted["path"], *wanted.get("also", ()))


def _rows(variants: list[Data], wanted: Data) -> Iterator[tuple[Data, Data]]:
    """Give a row for each role of the variants that are told apart in the expected file, or of the first."""
    told_apart = any("branches" in launch for launch in wanted["launches"])
    for variant in variants if told_apart else variants[:1]:
        for role in variant["roles"] or ({"name": "", "fields": {}},):
            row = {"entry": variant["entry"], "framework": variant["framework"], "role": role["name"]}
            if told_apart:
                row["branches"] = [branch["taken"] for branch in variant["branches"]]
            yield row, {**variant, "world": role.get("world", variant["world"]), "fields": role["fields"]}


def _title(row: Mapping[str, Any]) -> str:
    ways = row.get("branches")
    return " ".join(str(p) for p in (row["framework"], row["entry"], row.get("role", ""), ways or "") if p)


def _compare(result: Outcome, path: str, number: int, wanted: Data, found: Data) -> None:
    where = f"{path} launch {number}"
    for name in COUNTS:
        _value(result, f"{where} {name}", path, wanted.get(name), found[name], wanted, name)
    for name in FIELDS if found["fields"] else ():
        shown = found["fields"][name]
        first = shown[0] if isinstance(shown, list) else shown
        _value(result, f"{where} {name}", path, wanted["fields"].get(name), first, wanted, name)


def _value(
    result: Outcome, what: str, path: str, expected: list[Any] | None, found: Data | None, wanted: Data, name: str
) -> None:
    state = "unset" if found is None else found["state"]
    if name in wanted.get("unknown", ()):
        result.check(what, "unknown", state if state != "set" else _short(found))
    elif expected is None:
        result.check(what, "unset", state if state != "set" else _short(found))
    else:
        place = expected[1] if ":" in str(expected[1]) else f"{path}:{expected[1]}"
        result.check(what, f"{expected[0]!r} at {place}", state if state != "set" else _short(found))


def _short(found: Data | None) -> str:
    assert found is not None
    place = found["written"][0].rpartition(":")[0] if found["written"] else "nowhere"
    return f"{found['data']!r} at {place}"
