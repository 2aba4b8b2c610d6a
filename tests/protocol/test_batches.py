"""Senders and receivers of a batch: what a rank reads counts again where the same condition holds."""

from __future__ import annotations

from meshlint.protocol.program import Program, facts_of

HEAD = """
import torch
import torch.distributed as dist
from megatron.core import parallel_state as mpu
"""

SENDER = """
def _broadcast(item):
    if item is not None:
        dist.broadcast(item, mpu.get_tensor_model_parallel_src_rank(), group=mpu.get_tensor_model_parallel_group())

def get_batch(data_iterator, args):
    tp_rank = mpu.get_tensor_model_parallel_rank()
    batch = {}
    if tp_rank == 0:
        batch = next(data_iterator)
    return share(batch, tp_rank, args)

def share(batch, tp_rank, args):
    if tp_rank == 0:
        _broadcast(batch["tokens"])
        SENT
        if args.sft:
            _broadcast(batch["cu_seqlens"])
        return batch
    tokens, labels = torch.empty(8), torch.empty(8)
    cu_seqlens = torch.empty(8) if args.sft else None
    _broadcast(tokens)
    RECEIVED
    _broadcast(cu_seqlens)
    return {"tokens": tokens, "labels": labels, "cu_seqlens": cu_seqlens}
"""


def found(sent: str, received: str) -> set[tuple[str, str]]:
    text = HEAD + SENDER.replace("SENT", sent).replace("RECEIVED", received)
    facts = facts_of([("main.py", text)])
    return {(fault.code, fault.outcome.value) for fault in Program(("main.py",), facts).faults()}


def test_a_batch_that_one_rank_reads_and_hands_on_agrees() -> None:
    assert found('_broadcast(batch["labels"])', "_broadcast(labels)") == set()


def test_a_key_that_the_sender_leaves_out() -> None:
    assert {code for code, _ in found("pass", "_broadcast(labels)")} == {"COL003"}


def test_a_key_that_the_receivers_leave_out() -> None:
    assert {code for code, _ in found('_broadcast(batch["labels"])', "pass")} == {"COL003"}


def swapped(pipeline: str) -> set[str]:
    text = f"""
def get_batch(data_iterator, args):
    if mpu.get_tensor_model_parallel_rank() == 0:
        batch = next(data_iterator)
        if {pipeline}:
            _broadcast(batch["labels"])
            _broadcast(batch["tokens"])
        return batch
    tokens, labels = torch.empty(8), torch.empty(8)
    if {pipeline}:
        _broadcast(tokens)
        _broadcast(labels)
    return tokens, labels
"""
    text = HEAD + SENDER.partition("def get_batch")[0] + text
    facts = facts_of([("main.py", text)])
    return {f"{fault.code} {fault.outcome.value}" for fault in Program(("main.py",), facts).faults()}


def test_keys_in_another_order_without_a_pipeline() -> None:
    assert swapped("args.pipeline_model_parallel_size == 1") == {"COL003 wrong"}


def test_keys_in_another_order_with_two_stages() -> None:
    both = "mpu.is_pipeline_first_stage() or mpu.is_pipeline_last_stage()"
    assert swapped(f"args.pipeline_model_parallel_size == 2 and ({both})") == {"COL003 wrong"}


def test_the_side_of_a_join_under_its_own_condition() -> None:
    text = (
        HEAD
        + """
def f(x, flag):
    first = dist.get_rank() == 0
    item = None
    if first:
        item = x
    if flag and not first:
        if item is not None:
            dist.barrier()
"""
    )
    facts = facts_of([("main.py", text)])
    assert [fault.code for fault in Program(("main.py",), facts).faults()] == []


def test_functions_inside_of_functions_see_the_variables_of_their_own_call() -> None:
    text = (
        HEAD
        + """
def outer(x, group):
    def inner():
        dist.all_reduce(x, group=group)
    def middle():
        inner()
    if mpu.get_tensor_model_parallel_rank() == 0:
        middle()

def calls(x):
    outer(x, mpu.get_data_parallel_group())

def breaks(x):
    outer(x, mpu.get_tensor_model_parallel_group())
"""
    )
    facts = facts_of([("main.py", text)])
    assert [(fault.code, fault.span.line) for fault in Program(("main.py",), facts).faults()] == [("COL001", 12)]


def test_a_key_that_only_refused_settings_keep_from_a_stage_is_not_missing() -> None:
    body = """
def get_batch(data_iterator, args):
    if mpu.get_tensor_model_parallel_rank() == 0:
        batch = next(data_iterator)
        if mpu.is_pipeline_first_stage() and args.hybrid:
            _broadcast(batch["cu_seqlens"])
        return batch
    cu_seqlens = torch.empty(8)
    if mpu.is_pipeline_first_stage() and args.hybrid:
        _broadcast(cu_seqlens)
    return cu_seqlens
"""
    check = """
def validate(args):
    if args.hybrid:
        assert not args.pipeline_model_parallel_size > 1
"""
    text = HEAD + SENDER.partition("def get_batch")[0] + body
    for more, codes in (("", ["PKD001"]), (check, [])):
        facts = facts_of([("main.py", text + more)])
        assert [fault.code for fault in Program(("main.py",), facts).faults()] == codes
