"""The shapes of the models that upstream's launchers name. Data: facts with their source, no weights, no configs.

A row's `source` is the file that states the shape: `bridge` is Megatron-Bridge v0.3.1 src/megatron/bridge/models,
`slime` is slime 624b824a scripts/models. A model that sees has the shape of its language part. Fields are canonical
names (`meshlint.config.fields`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cache

from meshlint.config.value import Data
from meshlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """One architecture. `names` are model names without owner and suffix, in lower case."""

    names: tuple[str, ...]
    layers: int
    hidden: int
    heads: int
    groups: int
    head: int | None
    ffn: int
    source: str
    experts: int | None = None
    topk: int | None = None
    extra: Mapping[str, Data] = field(default_factory=dict)

    def fields(self) -> dict[str, Data]:
        """Give the canonical fields of the shape."""
        return {
            "num_layers": self.layers,
            "hidden_size": self.hidden,
            "num_attention_heads": self.heads,
            "num_query_groups": self.groups,
            "kv_channels": self.head if self.head is not None else self.hidden // self.heads,
            "ffn_hidden_size": self.ffn,
            "num_moe_experts": self.experts,
            "moe_router_topk": self.topk,
            "window_size": None,
            "window_attn_skip_freq": None,
            "softmax_type": "vanilla",
            "multi_latent_attention": False,
            "experimental_attention_variant": None,
            "is_hybrid_model": False,
            **self.extra,
        }


MLA: Mapping[str, Data] = {"multi_latent_attention": True}
GATED_DELTA: Mapping[str, Data] = {"experimental_attention_variant": "gated_delta_net", "linear_attention_freq": 4}
MAMBA: Mapping[str, Data] = {"is_hybrid_model": True}
SINK: Mapping[str, Data] = {"softmax_type": "learnable", "window_size": (128, 0), "window_attn_skip_freq": 2}


def _gemma3(window: int) -> Mapping[str, Data]:
    """Five layers with a window, then one without (bridge gemma/gemma3_provider.py, interleaved_attn_pattern)."""
    return {"window_size": (window, 0), "window_attn_skip_freq": 6}


GEMMA2: Mapping[str, Data] = {"window_size": (4096, 0), "window_attn_skip_freq": 2}
QWEN = "bridge qwen/qwen_provider.py"
LLAMA = "bridge llama/llama_provider.py"
QWEN_VL = "NeMo 8cfedd72 nemo/collections/vlm/qwen2vl/model/qwen2vl.py"
NEMO = "NeMo 8cfedd72 nemo/collections/llm"
XTUNER = "xtuner 0cb8f306 xtuner/v1/model"
QWEN35 = "torchtitan b5bcd76c torchtitan/models/qwen3_5/__init__.py"
MINISTRAL = "bridge ministral3/ministral3_provider.py"
GEMMA = "bridge gemma/gemma3_provider.py"
MODELOPT = "Megatron-LM d98e8a64 examples/post_training/modelopt/conf/nvidia"
HYBRID = "bridge nemotronh/nemotron_h_provider.py"

SHAPES: tuple[Shape, ...] = (
    Shape(("qwen2-0.5b",), 24, 896, 14, 2, None, 4864, f"{QWEN}:77"),
    Shape(("qwen2-1.5b",), 28, 1536, 12, 2, None, 8960, f"{QWEN}:92"),
    Shape(("qwen2-7b",), 28, 3584, 28, 4, None, 18944, f"{QWEN}:107"),
    Shape(("qwen2-72b",), 80, 8192, 64, 8, None, 29568, f"{QWEN}:122"),
    Shape(("qwen2.5-0.5b", "qwen2.5-coder-0.5b"), 24, 896, 14, 2, None, 4864, f"{QWEN}:143"),
    Shape(
        ("qwen2.5-1.5b", "qwen2.5-math-1.5b", "qwen2.5-coder-1.5b", "deepseek-r1-distill-qwen-1.5b"),
        28, 1536, 12, 2, None, 8960, f"{QWEN}:158",
    ),
    Shape(("qwen2.5-3b", "qwen2.5-coder-3b"), 36, 2048, 16, 2, None, 11008, f"{QWEN}:173"),
    Shape(
        ("qwen2.5-7b", "qwen2.5-math-7b", "qwen2.5-coder-7b", "deepseek-r1-distill-qwen-7b"),
        28, 3584, 28, 4, None, 18944, f"{QWEN}:189",
    ),
    Shape(("qwen2.5-14b", "deepseek-r1-distill-qwen-14b"), 48, 5120, 40, 8, None, 13824, f"{QWEN}:204"),
    Shape(("qwen2.5-32b", "deepseek-r1-distill-qwen-32b", "qwq-32b"), 64, 5120, 40, 8, None, 27648, f"{QWEN}:220"),
    Shape(("qwen2.5-72b", "qwen2.5-math-72b"), 80, 8192, 64, 8, None, 29568, f"{QWEN}:236"),
    Shape(("qwen3-0.6b",), 28, 1024, 16, 8, 128, 3072, f"{QWEN}:284"),
    Shape(("qwen3-1.7b",), 28, 2048, 16, 8, 128, 6144, f"{QWEN}:297"),
    Shape(("qwen3-4b",), 36, 2560, 32, 8, 128, 9728, f"{QWEN}:310"),
    Shape(("qwen3-8b",), 36, 4096, 32, 8, 128, 12288, f"{QWEN}:323"),
    Shape(("qwen3-14b",), 40, 5120, 40, 8, 128, 17408, f"{QWEN}:335"),
    Shape(("qwen3-32b",), 64, 5120, 64, 8, 128, 25600, f"{QWEN}:347"),
    Shape(("qwen3-30b-a3b", "qwen3-coder-30b-a3b"), 48, 2048, 32, 4, 128, 6144, f"{QWEN}:401", 128, 8),
    Shape(("qwen3-235b-a22b",), 94, 4096, 64, 4, 128, 12288, f"{QWEN}:415", 128, 8),
    Shape(("qwen2.5-vl-3b",), 36, 2048, 16, 2, None, 11008, f"{QWEN_VL}:109"),
    Shape(("qwen2.5-vl-7b",), 28, 3584, 28, 4, None, 18944, f"{QWEN_VL}:126"),
    Shape(("qwen2.5-vl-32b",), 64, 5120, 40, 8, None, 27648, f"{QWEN_VL}:143"),
    Shape(("qwen2.5-vl-72b",), 80, 8192, 64, 8, None, 29568, f"{QWEN_VL}:160"),
    Shape(("qwen3-vl-4b",), 36, 2560, 32, 8, 128, 9728, f"{XTUNER} dense/qwen3vl_text.py"),
    Shape(("qwen3-vl-8b",), 36, 4096, 32, 8, 128, 12288, f"{XTUNER} dense/qwen3vl_text.py"),
    Shape(("qwen3-vl-30b-a3b",), 48, 2048, 32, 4, 128, 6144, f"{XTUNER} compose/qwen3_vl", 128, 8),
    Shape(("qwen3-vl-235b-a22b",), 94, 4096, 64, 4, 128, 12288, f"{XTUNER} compose/qwen3_vl", 128, 8),
    Shape(("internvl3_5-30b-a3b",), 48, 2048, 32, 4, 128, 6144, f"{XTUNER} compose/internvl", 128, 8),
    Shape(("qwen3-next-80b-a3b",), 48, 2048, 16, 2, 256, 5120, f"{QWEN}:470", 512, 10, GATED_DELTA),
    Shape(("qwen3.5-0.8b",), 24, 1024, 8, 2, 256, 3584, "slime qwen3.5-0.8B.sh", extra=GATED_DELTA),
    Shape(("qwen3.5-2b",), 24, 2048, 8, 2, 256, 6144, f"{QWEN35}:664", extra=GATED_DELTA),
    Shape(("qwen3.5-4b",), 32, 2560, 16, 4, 256, 9216, "slime qwen3.5-4B.sh", extra=GATED_DELTA),
    Shape(("qwen3.5-9b",), 32, 4096, 16, 4, 256, 12288, "slime qwen3.5-9B.sh", extra=GATED_DELTA),
    Shape(("qwen3.5-27b",), 64, 5120, 24, 4, 256, 17408, "slime qwen3.5-27B.sh", extra=GATED_DELTA),
    Shape(("qwen3.5-35b-a3b",), 40, 2048, 16, 2, 256, 512, "slime qwen3.5-35B-A3B.sh", 256, 8, GATED_DELTA),
    Shape(("qwen3.5-122b-a10b",), 48, 3072, 32, 2, 256, 1024, f"{QWEN35}:960", 256, 8, GATED_DELTA),
    Shape(("qwen3.5-397b-a17b",), 60, 4096, 32, 2, 256, 1024, f"{QWEN35}:1023", 512, 10, GATED_DELTA),
    Shape(("llama-2-7b",), 32, 4096, 32, 32, None, 11008, f"{LLAMA}:54"),
    Shape(("llama-2-13b",), 40, 5120, 40, 40, None, 13824, f"{LLAMA}:69"),
    Shape(("llama-2-70b",), 80, 8192, 64, 8, None, 28672, f"{LLAMA}:84"),
    Shape(
        ("meta-llama-3-8b", "llama-3-8b", "llama-3.1-8b", "meta-llama-3.1-8b", "deepseek-r1-distill-llama-8b",
            "llama3_8b",
        ),
        32, 4096, 32, 8, None, 14336, f"{LLAMA}:142,178",
    ),
    Shape(
        (
            "meta-llama-3-70b", "llama-3-70b", "llama-3.1-70b", "meta-llama-3.1-70b", "llama-3.3-70b",
            "deepseek-r1-distill-llama-70b",
        ),
        80, 8192, 64, 8, None, 28672, f"{LLAMA}:159,195",
    ),
    Shape(("llama-3.1-405b", "meta-llama-3.1-405b"), 126, 16384, 128, 8, None, 53248, f"{LLAMA}:213"),
    Shape(("llama-3.2-1b",), 16, 2048, 32, 8, None, 8192, f"{LLAMA}:232"),
    Shape(("llama-3.2-3b",), 28, 3072, 24, 8, None, 8192, f"{LLAMA}:252"),
    Shape(("mistral-7b-v0.3",), 32, 4096, 32, 8, None, 14336, "bridge mistral/mistral_provider.py:29"),
    Shape(
        ("mistral-small-24b",), 40, 5120, 32, 8, 128, 32768, "bridge mistral/mistral_provider.py:65",
    ),
    Shape(("ministral-3-3b",), 26, 3072, 32, 8, 128, 9216, f"{MINISTRAL}:171"),
    Shape(("ministral-3-8b",), 34, 4096, 32, 8, 128, 14336, f"{MINISTRAL}:188"),
    Shape(("ministral-3-14b",), 40, 5120, 32, 8, 128, 16384, f"{MINISTRAL}:204"),
    Shape(("gemma-2-2b", "gemma2_2b"), 26, 2304, 8, 4, 256, 9216, "bridge gemma/gemma2_provider.py:401", extra=GEMMA2),
    Shape(("gemma-2-9b",), 42, 3584, 16, 8, 256, 14336, "bridge gemma/gemma2_provider.py:416", extra=GEMMA2),
    Shape(("gemma-2-27b",), 46, 4608, 32, 16, 128, 36864, "bridge gemma/gemma2_provider.py:431", extra=GEMMA2),
    Shape(("gemma-3-1b",), 26, 1152, 4, 1, 256, 6912, f"{GEMMA}:144", extra=_gemma3(512)),
    Shape(("gemma-3-4b",), 34, 2560, 8, 4, 256, 10240, f"{GEMMA}:162", extra=_gemma3(1024)),
    Shape(("gemma-3-12b",), 48, 3840, 16, 8, 256, 15360, f"{GEMMA}:178", extra=_gemma3(1024)),
    Shape(("gemma-3-27b",), 62, 5376, 32, 16, 128, 21504, f"{GEMMA}:194", extra=_gemma3(1024)),
    Shape(("gpt-oss-20b",), 24, 2880, 64, 8, 64, 2880, "bridge gpt_oss/gpt_oss_provider.py:102", 32, 4, SINK),
    Shape(("gpt-oss-120b",), 36, 2880, 64, 8, 64, 2880, "bridge gpt_oss/gpt_oss_provider.py:94", 128, 4, SINK),
    Shape(
        ("deepseek-v3", "deepseek-r1", "deepseek-v3-0324", "deepseek-v3.1", "deepseek-r1-0528"),
        61, 7168, 128, 128, 128, 18432, "slime deepseek-v3.sh; bridge deepseek/deepseek_provider.py:123", 256, 8, MLA,
    ),
    Shape(("kimi-k2",), 61, 7168, 64, 64, 64, 18432, "bridge kimi/kimi_provider.py:41", 384, 8, MLA),
    Shape(
        ("moonlight-16b-a3b",), 27, 2048, 16, 16, 128, 11264, "slime moonlight.sh", 64, 6, MLA,
    ),
    Shape(("glm-4.5",), 92, 5120, 96, 8, 128, 12288, "bridge glm/glm45_provider.py:101", 160, 8),
    Shape(("glm-4.5-air",), 46, 4096, 96, 8, 128, 10944, "bridge glm/glm45_provider.py:120", 128, 8),
    Shape(("minimax-m2",), 62, 3072, 48, 8, 128, 1536, "slime minimax-m2.sh", 256, 8),
    Shape(("mimo-7b", "mimo-7b-rl", "mimo-7b-sft"), 36, 4096, 32, 8, None, 11008, "slime mimo-7B-rl.sh"),
    Shape(("mixtral_8x7b",), 32, 4096, 32, 8, None, 14336, f"{NEMO}/gpt/model/mixtral.py:97", 8, 2),
    Shape(("bert_340m",), 24, 1024, 16, 16, None, 4096, f"{NEMO}/bert/model/bert.py:96"),
    Shape(("t5_220m",), 12, 768, 12, 12, None, 3072, f"{NEMO}/t5/model/t5.py:242"),
    Shape(("nemotron-h-8b",), 52, 4096, 32, 8, None, 21504, f"{HYBRID}:75", extra=MAMBA),
    Shape(("nemotron-h-47b",), 98, 8192, 64, 8, None, 30720, f"{HYBRID}:88", extra=MAMBA),
    Shape(("nemotron-h-56b",), 118, 8192, 64, 8, None, 32768, f"{HYBRID}:103", extra=MAMBA),
    Shape(("nvidia-nemotron-nano-9b-v2",), 56, 4480, 40, 8, 128, 15680, f"{HYBRID}:121", extra=MAMBA),
    Shape(("nvidia-nemotron-nano-12b-v2",), 62, 5120, 40, 8, 128, 20480, f"{HYBRID}:137", extra=MAMBA),
    Shape(("nvidia-nemotron-3-nano-30b-a3b",), 52, 2688, 32, 2, 128, 1856, f"{HYBRID}:153", 128, 6, MAMBA),
    Shape(
        ("nvidia-nemotron-3-super-120b-a12b",), 88, 4096, 32, 2, 128, 2688,
        f"{MODELOPT}/NVIDIA-Nemotron-3-Super-120B-A12B-BF16.sh", 512, 22, MAMBA,
    ),
    Shape(
        ("nvidia-nemotron-3-ultra-550b-a55b",), 108, 8192, 64, 2, 128, 5120,
        f"{MODELOPT}/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16.sh", 512, 22, MAMBA,
    ),
)  # fmt: skip

SUFFIXES = (
    "-instruct", "-base", "-chat", "-hf", "-it", "-fp8", "-bf16", "-2507", "-thinking", "-sft", "-rl", "-preview",
    "-torch_dist", "-8k", "-2501", "-128k", "-pt", "-2512",
)  # fmt: skip
"""What a model's name may end with without another shape."""


@cache
def _by_name() -> Mapping[str, Shape]:
    return {name: shape for shape in SHAPES for name in shape.names}


def by_name(model: str) -> Shape | None:
    """Give the shape of a hub id or of a folder named like one; None where the table has none."""
    name = model.rstrip("/").rsplit("/", 1)[-1].lower().replace("_torch_dist", "")
    known = _by_name()
    while name not in known:
        shorter = next((name.removesuffix(s) for s in SUFFIXES if name.endswith(s)), None)
        if shorter is None:
            return None
        name = shorter
    return known[name]
