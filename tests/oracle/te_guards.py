"""What Transformer Engine's attention refuses under context parallelism, guard by guard, and on which versions.

The meaning of each guard was read; its lines at each version are found by its shape, in the wheels:

    python tests/oracle/te_guards.py FOLDER_OF_WHEELS [GIT_FOLDER]

writes docs/transformer-engine.json, from which docs/generate.py makes the page. The git folder gives the versions that
have a tag and no wheel.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from source import Shape, lines
from wheels import WHEELS, Wheel

DATA = Path(__file__).parents[2] / "docs" / "transformer-engine.json"
LIBRARY = "transformer-engine"
VERSIONS = (
    "1.11.0", "1.12.0", "1.13.0", "2.0", "2.1.0", "2.2.0", "2.3.0", "2.4.0", "2.5.0", "2.6.0", "2.7.0", "2.8.0",
    "2.9.0", "2.10.0", "2.11.0", "2.12.0", "2.13.0", "2.14.1", "2.15.0", "2.16.1", "2.17.1", "2.18.0", "2.19.0",
    "2.20.2",
)  # fmt: skip
"""One release of each minor; 2.0 is a tag without a wheel."""

_ROOT = "transformer_engine/pytorch"
BACKENDS = (
    f"{_ROOT}/attention/dot_product_attention/utils.py",
    f"{_ROOT}/dot_product_attention/utils.py",
    f"{_ROOT}/attention.py",
)
FORWARD = (f"{_ROOT}/attention/dot_product_attention/context_parallel.py", f"{_ROOT}/attention.py")
MODULES = (f"{_ROOT}/attention/dot_product_attention/backends.py", f"{_ROOT}/attention.py")
PARTS = {"backend": BACKENDS, "modules": MODULES, "forward": FORWARD}
"""Where the guards stand: the choice of a backend, the backend's module, the exchange over the ranks."""
CHOICE = "get_attention_backend"
ENTRY = "attn_forward_func_with_cp"
RING, GATHER, ALL_TO_ALL = "AttnFuncWithCPAndKVP2P", "AttnFuncWithCPAndKVAllGather", "AttnFuncWithCPAndQKVOA2A"


@dataclass(frozen=True)
class Guard:
    """One thing that is refused: when, what happens then, and the shapes that its statement has had."""

    name: str
    when: str
    then: str
    shapes: tuple[Shape, ...]
    rules: tuple[str, ...] = ()


def _drop(backend: str, *names: str, without: tuple[str, ...] = ()) -> tuple[Shape, ...]:
    """Give the shape of the backend choice that leaves one backend out."""
    wanted = (f"use_{backend}_attention", "False", *names)
    return (Shape(BACKENDS, "set", wanted, CHOICE, ("inference_params", *without)),)


def _refuse(within: str, *names: str, without: tuple[str, ...] = ()) -> tuple[Shape, ...]:
    """Give the shape of an assertion of the forward pass."""
    return (Shape(FORWARD, "assert", names, within, without),)


CP = "context_parallel"
HEADS = ("head_dim_qk", "head_dim_v")
NO_FUSED = "FusedAttention is left out"
NO_FLASH = "FlashAttention is left out"
STOPS = "AssertionError in the first forward"

GUARDS = (
    Guard("unfused", "cp > 1", "the unfused backend is left out",
          _drop("unfused", CP, "use_unfused_attention", without=("softmax_type",)), ("CTX006",)),
    Guard("inference", "cp > 1, with parameters of inference", "no backend is left",
          (Shape(BACKENDS, "set", ("use_fused_attention", "False", CP, "inference_params"), CHOICE),)),
    Guard("flash-4", "cp > 1, FlashAttention 4 (from 2.19 on: where its version has no context parallelism)",
          "FlashAttention 4 is left out",
          (Shape(BACKENDS, "set", ("use_flash_attention_4", "False", CP), CHOICE,
                 ("inference_params", "softcap", "use_flash_attention_2")),)),
    Guard("flash-fp8", "cp > 1, FP8 attention", NO_FLASH, _drop("flash", CP, "fp8", "fp8_dpa"), ("CTX008",)),
    Guard("flash-bottom-right", "cp > 1, a causal mask aligned bottom right", NO_FLASH,
          _drop("flash", CP, "bottom_right")),
    Guard("flash-lengths", "cp > 1, a causal mask, queries and keys of different lengths", NO_FLASH,
          _drop("flash", CP, "causal", "max_seqlen_q", "max_seqlen_kv")),
    Guard("flash-bias", "cp > 1, a bias other than one added after scaling", NO_FLASH,
          _drop("flash", CP, "core_attention_bias_type", "post_scale_bias"), ("CTX007",)),
    Guard("flash-bias-packed", "cp > 1, packed (THD), a bias", NO_FLASH,
          _drop("flash", CP, "core_attention_bias_type", "thd"), ("CTX007",)),
    Guard("fused-bottom-right", "cp > 1, a causal mask aligned bottom right", NO_FUSED,
          _drop("fused", CP, "bottom_right")),
    Guard("fused-lengths", "cp > 1, a causal mask, queries and keys of different lengths", NO_FUSED,
          _drop("fused", CP, "causal", "max_seqlen_q", "max_seqlen_kv")),
    Guard("fused-bias", "cp > 1, a bias other than one added after scaling", NO_FUSED,
          _drop("fused", CP, "core_attention_bias_type", "post_scale_bias"), ("CTX007",)),
    Guard("fused-bias-packed", "cp > 1, packed (THD), a bias", NO_FUSED,
          _drop("fused", CP, "core_attention_bias_type", "thd", without=("fp8",)), ("CTX007",)),
    Guard("fused-bias-exchange", "cp > 1, a bias, an exchange other than p2p", NO_FUSED,
          _drop("fused", CP, "core_attention_bias_type", "cp_comm_type", without=("softmax_type",)), ("CTX007",)),
    Guard("fused-mla", "cp > 1, head dimensions of keys and values that differ (MLA)", NO_FUSED,
          _drop("fused", CP, *HEADS, without=("fp8",)), ("CTX011",)),
    Guard("fused-mla-fp8", "cp > 1, FP8 (from 2.6 on: FP8 attention), head dimensions that differ (MLA)", NO_FUSED,
          _drop("fused", CP, "fp8", *HEADS), ("CTX008",)),
    Guard("fused-fp8-packed", "cp > 1, FP8 attention, packed (THD)", NO_FUSED,
          _drop("fused", CP, "fp8", "fp8_dpa", "qkv_format", "thd"), ("CTX008",)),
    Guard("fused-fp8-bias", "cp > 1, FP8 attention, a bias", NO_FUSED,
          _drop("fused", CP, "fp8", "fp8_dpa", "core_attention_bias_type", without=("cp_comm_type",)), ("CTX007",)),
    Guard("fused-sink", "cp > 1, an attention sink (softmax other than vanilla), an exchange other than a2a", NO_FUSED,
          _drop("fused", CP, "softmax_type", "cp_comm_type", "a2a"), ("CTX005",)),
    Guard("fused-window", "cp > 1, a sliding window, p2p or a2a+p2p", NO_FUSED,
          _drop("fused", CP, "window_size", "cp_comm_type", "p2p"), ("CTX004",)),
    Guard("fused-packed", "cp > 1, packed (THD), a2a+p2p (until 2.17: all_gather too)", NO_FUSED,
          _drop("fused", CP, "qkv_format", "thd", "cp_comm_type"), ("PKD002", "PKD004")),
    Guard("fused-odd-heads", "cp > 1, a2a or a2a+p2p, an odd number of heads or key-value groups on a rank", NO_FUSED,
          _drop("fused", CP, "num_heads", "num_gqa_groups", "cp_comm_type"), ("CTX003",)),
    Guard("padding", "cp > 1, not packed, a padding mask", STOPS,
          (Shape(MODULES, "assert", ("padding", "context_parallel"), "FlashAttention"),
           Shape(MODULES, "assert", ("padding", "context_parallel"), "FusedAttention")), ("CTX007",)),
    Guard("levels", "a2a+p2p with other than two groups", STOPS,
          _refuse(ENTRY, "cp_group", "len", "2"), ("HCP003", "HCP005")),
    Guard("one-group", "another exchange than a2a+p2p with a list of groups", STOPS,
          _refuse(ENTRY, "cp_group", "dist_group_type")),
    Guard("levels-packed", "a2a+p2p, packed (THD)", STOPS,
          (Shape(FORWARD, "assert", ("qkv_format", "thd", "cp_comm_type", "a2a", "p2p"), ENTRY,
                 ("cu_seqlens_q_padded", "load_balancing_strategy")),
           Shape(FORWARD, "assert", ("qkv_format", "thd", "cp_group", "list"), RING)), ("PKD004",)),
    Guard("levels-packed-by-group", "the same, asked after a level of one rank is taken away", STOPS,
          _refuse(RING, "qkv_format", "thd", "cp_group", "list"), ("PKD004",)),
    Guard("levels-bias", "a2a+p2p, a bias", STOPS,
          (Shape(FORWARD, "assert", ("attn_bias_type", "no_bias", "cp_comm_type", "a2a", "p2p"), ENTRY),
           Shape(FORWARD, "assert", ("attn_bias_type", "no_bias", "cp_group", "list"), RING)), ("CTX007",)),
    Guard("flash-sbhd", "the layout sbhd with FlashAttention", STOPS,
          _refuse(ENTRY, "qkv_format", "sbhd", "use_fused_attention")),
    Guard("bias", "a bias without FusedAttention, or with a padding mask", STOPS,
          _refuse(ENTRY, "attn_bias", "use_fused_attention", "padding"), ("CTX007",)),
    Guard("padded-lengths", "packed (THD) without the padded cumulative lengths", STOPS,
          _refuse(ENTRY, "cu_seqlens_q_padded", "cu_seqlens_kv_padded", "None")),
    Guard("window", "a sliding window, p2p or a2a+p2p (until 1.13: all_gather with FusedAttention too)", STOPS,
          _refuse(ENTRY, "sliding_window_attn", "cp_comm_type"), ("CTX004",)),
    Guard("mla", "head dimensions of keys and values that differ (MLA), all_gather or a2a", STOPS,
          _refuse(ENTRY, "enable_mla", "cp_comm_type"), ("CTX011",)),
    Guard("sink-fused", "an attention sink without FusedAttention", STOPS,
          _refuse(ENTRY, "softmax_type", "vanilla", "use_fused_attention"), ("CTX005",)),
    Guard("sink", "an attention sink, an exchange other than a2a", STOPS,
          _refuse(ENTRY, "softmax_type", "vanilla", "cp_comm_type", "a2a"), ("CTX005",)),
    Guard("sink-packed", "an attention sink, packed (THD)", STOPS,
          _refuse(ENTRY, "softmax_type", "vanilla", "qkv_format", "thd", without=("get_cudnn_version",)), ("CTX005",)),
    Guard("sink-packed-cudnn", "an attention sink, packed (THD), cuDNN before 9.18", STOPS,
          _refuse(ENTRY, "softmax_type", "vanilla", "qkv_format", "thd", "get_cudnn_version")),
    Guard("sink-fp8", "an attention sink, FP8 attention", STOPS,
          _refuse(ENTRY, "softmax_type", "vanilla", "fp8_dpa"), ("CTX008",)),
    Guard("exchange", "an exchange of another name than p2p, all_gather, a2a, a2a+p2p (1.11: the first three)",
          "ValueError in the first forward",
          (Shape(FORWARD, "raise", ("cp_comm_type", "Unsupported"), ENTRY),), ("CTX002",)),
    Guard("custom-recipe", "FP8 attention with a custom recipe", "NotImplementedError in the first forward",
          (Shape(FORWARD, "raise", ("NotImplementedError", "fp8_recipe", "custom"), "_reject_custom_recipe_under_cp"),),
          ("CTX008",)),
    Guard("p2p-even", "p2p, not packed, an odd number of tokens on a rank", STOPS,
          _refuse(RING, "qkv_format", "thd", "shape", "seq_dim", "2"), ("CTX001",)),
    Guard("gather-even", "all_gather, not packed, an odd number of tokens on a rank", STOPS,
          (Shape(FORWARD, "assert", ("shape", "seq_dim", "0"), GATHER),
           Shape(FORWARD, "assert", ("shape", "seq_dim_qkv", "0"), GATHER)), ("CTX001",)),
    Guard("gather-packed", "all_gather, packed (THD)", STOPS,
          _refuse(GATHER, "qkv_format", "thd", without=("padding", "cu_seqlens_q_padded")), ("PKD002",)),
    Guard("gather-padding", "all_gather, not packed, a padding mask", STOPS,
          _refuse(GATHER, "padding", without=("requires",)), ("CTX007",)),
    Guard("gather-packed-mask", "all_gather, packed (THD), another mask than a padding mask", STOPS,
          _refuse(GATHER, "padding", "thd", "requires")),
    Guard("gather-bias", "all_gather, a bias", STOPS, _refuse(GATHER, "attn_bias_type", "no_bias"), ("CTX007",)),
    Guard("a2a-heads", "a2a, heads or key-value groups on a rank that the exchange's ranks do not divide", STOPS,
          _refuse(ALL_TO_ALL, "shape", "cp_size", "0", without=("seq_dim", "seq_dim_qkv")), ("CTX003",)),
    Guard("a2a-even", "a2a, an odd number of tokens on a rank", STOPS,
          (Shape(FORWARD, "assert", ("shape", "seq_dim", "0"), ALL_TO_ALL),
           Shape(FORWARD, "assert", ("shape", "seq_dim_qkv", "0"), ALL_TO_ALL)), ("CTX001",)),
    Guard("a2a-packed", "a2a, packed (THD)", STOPS,
          _refuse(ALL_TO_ALL, "qkv_format", "thd", without=("padding", "cu_seqlens_q_padded")), ("PKD003",)),
    Guard("a2a-padding", "a2a, not packed, a padding mask", STOPS, _refuse(ALL_TO_ALL, "padding"), ("CTX007",)),
    Guard("a2a-bias", "a2a, a bias", STOPS, _refuse(ALL_TO_ALL, "attn_bias_type", "no_bias"), ("CTX007",)),
)  # fmt: skip
BY_NAME = {guard.name: guard for guard in GUARDS}


def found(guard: Guard, text_of: Mapping[str, str]) -> list[int]:
    """Give a guard's lines in the files of one version."""
    return sorted({line for shape in guard.shapes for line in lines(text_of[_present(shape, text_of)], shape)})


def _present(shape: Shape, text_of: Mapping[str, str]) -> str:
    return next(file for file in shape.files if file in text_of)


def texts(wheel: Wheel) -> dict[str, str]:
    """Give the files that the guards stand in."""
    return {file: text for file in (*BACKENDS, *MODULES, *FORWARD) if (text := wheel.text(file)) is not None}


def at_tag(git: Path, version: str) -> dict[str, str]:
    """Give the same of a version that is a tag only."""
    shown = {}
    for file in (*BACKENDS, *MODULES, *FORWARD):
        done = subprocess.run(["git", "-C", str(git), "show", f"v{version}:{file}"], capture_output=True, check=False)
        if done.returncode == 0:
            shown[file] = done.stdout.decode()
    return shown


def row(version: str, text_of: Mapping[str, str]) -> dict[str, Any]:
    """Give one version: its files, and the lines of every guard that it has."""
    listed = {guard.name: found(guard, text_of) for guard in GUARDS}
    files = {part: _present(Shape(places, "any", ()), text_of) for part, places in PARTS.items()}
    return {"version": version, **files, "lines": {name: where for name, where in listed.items() if where}}


def page(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Give what the page shows."""
    shown = [
        {
            "name": guard.name,
            "part": next(part for part, places in PARTS.items() if places == guard.shapes[0].files),
            "when": guard.when,
            "then": guard.then,
            "rules": list(guard.rules),
        }
        for guard in GUARDS
    ]
    return {"guards": shown, "versions": list(rows)}


def main(words: list[str]) -> None:
    """Read every version and write the data."""
    folder = Path(words[0])
    rows = []
    for version in VERSIONS:
        wheel = Wheel(LIBRARY, version)
        tagged = len(words) > 1 and (LIBRARY, version) not in {(w.library, w.version) for w in WHEELS}
        rows.append(row(version, at_tag(Path(words[1]), version) if tagged else texts(wheel.of(folder))))
    DATA.write_text(json.dumps(page(rows), indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
