"""What a finding about code says first and what it advises: no more than is known, and what mends it."""

from __future__ import annotations

from pathlib import Path

import pytest

from meshlint.protocol.faults import CodeFault
from meshlint.protocol.program import Program, facts_of

PROGRAMS = [
    path
    for code in ("COL", "GRP", "PKD001", "PKD007")
    for path in sorted((Path(__file__).parents[2] / "fixtures").glob(f"{code}*/bad/*.py"))
]

HEAD = "import os\n\nimport torch.distributed as dist\n\n\n"


def _fault(body: str) -> CodeFault:
    text = f"{HEAD}def f(x, path):\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    (fault,) = Program(("a.py",), facts_of({"a.py": text}.items())).faults()
    return fault


def test_what_each_rank_decides_for_itself_may_differ() -> None:
    fault = _fault("if os.path.exists(path):\n    dist.barrier()")
    assert (fault.code, fault.severity.value) == ("COL006", "info")
    assert fault.message.startswith(
        "`barrier` on the world group may not be reached by all of its ranks: each decides line 7 for itself."
    )
    assert fault.fix.startswith("Let one rank decide and broadcast it")


def test_a_handler_is_called_one() -> None:
    fault = _fault("try:\n    open(path)\nexcept OSError:\n    return\ndist.barrier()")
    assert (fault.code, fault.severity.value) == ("COL005", "info")
    assert fault.message.startswith(
        "`barrier` on the world group is not reached by a rank that goes into the handler on line 9."
    )
    assert "reduce a flag" in fault.fix


def test_a_gate_on_ranks_divides_them() -> None:
    fault = _fault("if dist.get_rank() == 0:\n    dist.barrier()")
    assert fault.message.startswith(
        "`barrier` on the world group is not reached by all of its ranks: the gate on line 7 divides them."
    )
    assert fault.fix.startswith("All ranks must make this call")


@pytest.mark.parametrize(
    ("code", "body", "says"),
    [
        ("COL002", "if dist.get_rank() == 0:\n    return\ndist.barrier()", "before some ranks leave"),
        (
            "COL003",
            "if dist.get_rank() == 0:\n    dist.barrier()\nelse:\n    dist.all_reduce(x)",
            "both sides of line 7",
        ),
        ("COL004", "for _ in range(dist.get_rank()):\n    dist.barrier()", "Agree on the rounds"),
        ("GRP002", "dist.init_process_group(rank=int(os.environ['LOCAL_RANK']), world_size=8)", "Give RANK"),
        ("GRP002", "dist.broadcast(x, 0, group=x.tp_group)", "get_global_rank"),
        ("GRP001", "if dist.get_rank() == 0:\n    dist.new_group([0, 1])", "on every rank of the job"),
    ],
)
def test_the_advice_is_of_the_code(code: str, body: str, says: str) -> None:
    fault = _fault(body)
    assert fault.code == code
    assert says in fault.fix


def test_a_forgotten_group_that_strands_ranks_ends_in_a_hang() -> None:
    text = f"{HEAD}def f(x, cp_group):\n    if dist.get_rank(cp_group) == 0:\n        dist.all_reduce(x)\n"
    (fault,) = Program(("a.py",), facts_of({"a.py": text}.items())).faults()
    assert (fault.code, fault.outcome.value, fault.severity.value) == ("GRP003", "hang", "warning")
    assert "cp0 waits for ever for cp1" in fault.message


def test_a_forgotten_group_that_all_ranks_reach_is_wrong() -> None:
    text = f"{HEAD}def f(x, cp_group):\n    dist.barrier(cp_group)\n    dist.all_reduce(x)\n"
    (fault,) = Program(("a.py",), facts_of({"a.py": text}.items())).faults()
    assert (fault.code, fault.outcome.value) == ("GRP003", "wrong")


@pytest.mark.parametrize("path", PROGRAMS, ids=[f"{path.parent.parent.name}-{path.stem}" for path in PROGRAMS])
def test_every_fault_comes_with_advice(path: Path) -> None:
    program = Program((path.name,), facts_of({path.name: path.read_text()}.items()))
    assert [fault.message for fault in program.faults() if not fault.fix] == []
