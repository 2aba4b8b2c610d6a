"""Megatron-LM's command line."""

from __future__ import annotations

from meshlint.config.framework import Default, Framework, Spelling, Window

CORE = "megatron-core"

FRAMEWORK = Framework(
    name="megatron-lm",
    title="Megatron-LM",
    libraries=(CORE, "transformer-engine", "torch"),
    spellings=(
        Spelling("tensor_model_parallel_size", ("tensor_model_parallel_size",)),
        Spelling("context_parallel_size", ("context_parallel_size",)),
        Spelling("cp_comm_type", ("cp_comm_type",)),
        Spelling("hierarchical_context_parallel_sizes", ("hierarchical_context_parallel_sizes",)),
    ),
    defaults=(
        Default("tensor_model_parallel_size", 1, "core_v0.16.1 megatron/training/arguments.py:2567"),
        Default("context_parallel_size", 1, "core_v0.16.1 megatron/training/arguments.py"),
        Default("cp_comm_type", ("p2p",), "core_v0.16.1", Window(CORE, since="0.10")),
    ),
    habits={"validates_hierarchical_sizes": True},
)
