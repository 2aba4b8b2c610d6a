"""Early returns of Nones that keep the layout of packed sequences from the middle of the pipeline."""

from __future__ import annotations

from meshlint.protocol.program import Program, facts_of

TEXT = """
from megatron.core import parallel_state as mpu

def get_batch(data, cfg, mtp_layers):
    first, last = mpu.is_pipeline_first_stage(), mpu.is_pipeline_last_stage()
    if GATE:
        return None, None
    batch = next(data)
    return batch["tokens"], batch.get("LAST")
"""


def found(gate: str, last: str = "cu_seqlens") -> list[tuple[str, str, int]]:
    facts = facts_of([("main.py", TEXT.replace("GATE", gate).replace("LAST", last))])
    return [(f.code, f.severity.value, f.span.line) for f in Program(("main.py",), facts).faults()]


def test_the_middle_stage_gets_none() -> None:
    assert found("not first and not last") == [("PKD001", "error", 7)]


def test_layers_for_multi_token_prediction_are_no_excuse() -> None:
    assert found("not first and not last and not mtp_layers") == [("PKD001", "error", 7)]


def test_a_setting_may_say_that_nothing_is_packed() -> None:
    assert found("not first and not last and not cfg.packs") == []


def test_nothing_packed_is_left_out() -> None:
    assert found("not first and not last", "labels") == []


def test_a_gate_that_is_not_on_stages() -> None:
    assert found("mpu.get_tensor_model_parallel_rank() != 0") == []


def test_a_stage_at_the_end_alone() -> None:
    assert found("last") == []
