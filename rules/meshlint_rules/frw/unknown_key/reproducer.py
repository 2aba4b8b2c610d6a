"""What shows FRW004."""

from __future__ import annotations

from meshlint.reproduce.case import Happens, Reproducer
from meshlint.reproduce.upstream import core_case, extracted_case

REAL = """\
from megatron.core.transformer.transformer_config import TransformerConfig

config = TransformerConfig(num_layers=2, hidden_size=64, num_attention_heads=4, {key}=2)
check("context_parallel_size", config.context_parallel_size, 2)
"""
FLAG = """\
import argparse, contextlib, io
parser = argparse.ArgumentParser(allow_abbrev=False)
parser.add_argument("--context-parallel-size", type=int, default=1)
with contextlib.redirect_stderr(io.StringIO()):
    args = parser.parse_args(["--{flag}", "2"])
check("context_parallel_size", float(args.context_parallel_size), 2)
"""
SET = """\
class Config:
    context_parallel_size = 1

config = Config()
config.{key} = 2
check("context_parallel_size", float(config.context_parallel_size), 2)
"""

REPRODUCER = Reproducer(
    "FRW004",
    (
        core_case(
            "argument",
            "a key that the config class does not have, as an argument",
            REAL.format(key="context_parallel"),
            REAL.format(key="context_parallel_size"),
            "unexpected keyword argument",
        ),
        extracted_case(
            "flag",
            "a flag that the parser does not know",
            FLAG.format(flag="context-paralel-size"),
            FLAG.format(flag="context-parallel-size"),
            "Python's own parser of arguments, which Megatron-LM uses, with one of its flags",
            happens=Happens.CRASH,
            error="SystemExit",
        ),
        extracted_case(
            "attribute",
            "an attribute that the config does not have: taken without a word, and what was meant keeps its default",
            SET.format(key="context_parallel"),
            SET.format(key="context_parallel_size"),
            "Python's own attributes, as Megatron-Bridge's configs take them",
        ),
    ),
    sizeless="a name is known or not at any size",
)
