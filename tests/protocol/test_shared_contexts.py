"""What a function does to one object of a class it does to every other: one walk for all of them."""

from __future__ import annotations

from meshlint.protocol.program import Program, facts_of

HEAD = """\
import torch.distributed as dist


class Part:
    def run(self, x):
        if dist.get_rank() == 0:
            dist.barrier()


"""


def judged(body: str) -> tuple[list[tuple[str, int]], tuple[str, ...]]:
    facts = facts_of([("main.py", HEAD + body)])
    program = Program(tuple(facts), facts)
    return [(fault.code, fault.span.line) for fault in program.faults()], program.notes


def test_a_method_of_many_objects_is_called_in_one_way() -> None:
    found, notes = judged("def f(x):\n    dist.all_reduce(x)\n" + "    Part().run(x)\n" * 70)
    assert found == [("COL001", 7)]
    assert notes == ()


def test_two_objects_of_one_class_are_not_one() -> None:
    body = """
def both(first, second):
    if first is second:
        return
    if dist.get_rank() == 0:
        dist.all_reduce(first.x)


def f():
    both(Part(), Part())
"""
    assert judged(body)[0] == [("COL001", 7), ("COL001", 15)]
