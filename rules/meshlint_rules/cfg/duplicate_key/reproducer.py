"""What shows CFG001."""

from __future__ import annotations

from meshlint.reproduce.case import Arm, Case, Depth, Happens, Reproducer, fixed

LOADED = """\
import yaml

text = '''
model:
  context_parallel_size: 4
{second}'''
check("context_parallel_size", yaml.safe_load(text)["model"]["context_parallel_size"], 4)
"""

REPRODUCER = Reproducer(
    "CFG001",
    (
        Case(
            "last-one-counts",
            "one key twice in one mapping: PyYAML keeps the last and says nothing",
            1,
            Arm(LOADED.format(second="  context_parallel_size: 1\n"), Happens.WRONG),
            fixed(LOADED.format(second="")),
            depths=(Depth.SIMULATE,),
            runs="PyYAML's own loader",
        ),
    ),
    sizeless="which of two values counts does not depend on any size",
)
