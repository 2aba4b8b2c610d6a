"""Makes mutations of command lines that Megatron-LM's own validators accept: questions for `megatron_cli.py`.

    python tests/oracle/mutations.py questions.jsonl answers.jsonl COUNT SEED > mutations.jsonl

Each mutation changes one option of an accepted command line, or two; it may make the launch wrong or leave it right,
which is for the validators to say. The options are those that rules speak of.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Options = list[tuple[str, tuple[str, ...]]]
"""An option and its values, in the order of the command line."""

WHOLE = {
    "--tensor-model-parallel-size": (1, 2, 3, 4, 8),
    "--pipeline-model-parallel-size": (1, 2, 3, 4, 8),
    "--context-parallel-size": (1, 2, 3, 4, 8),
    "--expert-model-parallel-size": (1, 2, 3, 4, 8),
    "--expert-tensor-parallel-size": (1, 2, 4),
    "--num-layers": (1, 2, 4, 6, 8, 12, 13, 16, 24),
    "--num-attention-heads": (1, 2, 6, 8, 12, 16, 20),
    "--num-query-groups": (1, 2, 3, 4, 8),
    "--num-layers-per-virtual-pipeline-stage": (1, 2, 3, 4),
    "--num-virtual-stages-per-pipeline-rank": (1, 2, 3, 4),
    "--decoder-first-pipeline-num-layers": (1, 2, 3),
    "--decoder-last-pipeline-num-layers": (1, 2, 3),
    "--microbatch-group-size-per-virtual-pipeline-stage": (1, 2, 3, 4),
    "--micro-batch-size": (1, 2, 3, 4),
    "--global-batch-size": (1, 4, 8, 12, 16, 30, 32, 128),
    "--seq-length": (512, 1000, 1022, 1024, 2048, 4096),
    "--max-position-embeddings": (512, 1024, 4096),
    "--num-experts": (2, 4, 6, 8, 12),
    "--moe-router-topk": (1, 2, 4, 16),
    "--moe-shared-expert-intermediate-size": (512,),
    "--num-distributed-optimizer-instances": (1, 2, 3, 4),
    "--recompute-num-layers": (1, 2),
    "--mtp-num-layers": (1, 2),
    "--moe-router-num-groups": (2, 4),
    "--moe-router-group-topk": (1, 2),
}
WORDS = {
    "--cp-comm-type": ("p2p", "a2a", "allgather", "all_gather", "a2a+p2p", "ring"),
    "--hierarchical-context-parallel-sizes": ("2 2", "2 1", "1 2", "2 4", "2 2 2", "4"),
    "--moe-token-dispatcher-type": ("allgather", "alltoall", "flex", "alltoall_seq"),
    "--moe-flex-dispatcher-backend": ("deepep", "hybridep"),
    "--moe-expert-capacity-factor": ("1.0", "-1.0"),
    "--recompute-granularity": ("full", "selective"),
    "--recompute-method": ("uniform", "block"),
    "--recompute-modules": ("core_attn", "moe", "moe_act", "layernorm mlp", "mla_up_proj", "shared_experts"),
    "--cuda-graph-impl": ("none", "local", "transformer_engine"),
    "--cuda-graph-scope": ("full_iteration", "attn", "moe", "moe_router", "mlp", "attn moe_router"),
    "--window-size": ("128,0", "-1,-1"),
    "--softmax-type": ("vanilla", "off-by-one", "learnable"),
    "--attention-backend": ("auto", "flash", "fused", "unfused", "local"),
    "--position-embedding-type": ("rope", "learned_absolute", "none"),
    "--data-parallel-sharding-strategy": ("optim", "optim_grads", "optim_grads_params", "no_shard"),
    "--fp8-format": ("e4m3", "hybrid"),
    "--optimizer": ("adam", "sgd", "muon", "dist_muon"),
    "--ckpt-format": ("torch", "torch_dist", "fsdp_dtensor"),
}
SWITCHES = (
    "--sequence-parallel",
    "--group-query-attention",
    "--account-for-embedding-in-pipeline-split",
    "--account-for-loss-in-pipeline-split",
    "--use-distributed-optimizer",
    "--overlap-grad-reduce",
    "--overlap-param-gather",
    "--overlap-param-gather-with-optimizer-step",
    "--tp-comm-overlap",
    "--overlap-moe-expert-parallel-comm",
    "--delay-wgrad-compute",
    "--moe-shared-expert-overlap",
    "--moe-enable-deepep",
    "--moe-pad-expert-input-to-capacity",
    "--moe-grouped-gemm",
    "--moe-layer-recompute",
    "--recompute-activations",
    "--distribute-saved-activations",
    "--enable-cuda-graph",
    "--external-cuda-graph",
    "--te-rng-tracker",
    "--inference-rng-tracker",
    "--use-megatron-fsdp",
    "--use-torch-fsdp2",
    "--multi-latent-attention",
    "--untie-embeddings-and-output-weights",
    "--bf16",
    "--variable-seq-lengths",
    "--no-overlap-p2p-communication",
    "--cpu-offloading",
    "--deterministic-mode",
    "--fp8-dot-product-attention",
    "--use-tp-pp-dp-mapping",
)
CONNECTIONS = ("", "1", "8", "32")
RANKS = (1, 2, 4, 8, 12, 16, 32)


MIN_LENGTH = 8
"""Characters of a flag that is misspelt, dashes included."""


def parsed(argv: Sequence[str]) -> Options:
    """Give the options of a command line with their values."""
    found: Options = []
    for word in argv:
        if word.startswith("--"):
            found.append((word, ()))
        elif found:
            found[-1] = (found[-1][0], (*found[-1][1], word))
    return found


def written(options: Options) -> list[str]:
    """Give the words of options."""
    return [word for name, values in options for word in (name, *values)]


def put(options: Options, name: str, values: tuple[str, ...]) -> Options:
    """Set an option, where it stands or at the end."""
    if all(known != name for known, _ in options):
        return [*options, (name, values)]
    return [(known, values if known == name else old) for known, old in options]


def without(options: Options, name: str) -> Options:
    """Leave an option out."""
    return [(known, values) for known, values in options if known != name]


def misspelt(name: str, draw: random.Random) -> str:
    """Give a flag with one letter less, more, other, or two that changed places."""
    at = draw.randrange(3, len(name) - 1)
    return draw.choice(
        (
            name[:at] + name[at + 1 :],
            name[:at] + name[at] + name[at:],
            name[:at] + ("x" if name[at] != "x" else "y") + name[at + 1 :],
            name[:at] + name[at + 1] + name[at] + name[at + 2 :],
        )
    )


def mutate(question: Mapping[str, Any], draw: random.Random) -> tuple[dict[str, Any], str]:
    """Change one thing; give the new question and what was changed."""
    options = parsed(question["argv"])
    kind = draw.choices(
        ("whole", "word", "switch", "drop", "world", "connections", "misspelt"), (40, 16, 18, 8, 8, 4, 6)
    )[0]
    changed = dict(question)
    if kind == "world":
        changed["world"] = draw.choice([size for size in RANKS if size != question["world"]])
        return changed, f"world {changed['world']}"
    if kind == "connections":
        changed["env"] = {**question["env"], "CUDA_DEVICE_MAX_CONNECTIONS": draw.choice(CONNECTIONS)}
        return changed, f"CUDA_DEVICE_MAX_CONNECTIONS={changed['env']['CUDA_DEVICE_MAX_CONNECTIONS']}"
    if kind == "misspelt":
        index = draw.choice([i for i, (name, _) in enumerate(options) if len(name) >= MIN_LENGTH])
        name, values = options[index]
        wrong = misspelt(name, draw)
        changed["argv"] = written([*options[:index], (wrong, values), *options[index + 1 :]])
        return changed, f"{name} as {wrong}"
    changed["argv"], said = _option(options, kind, draw)
    return changed, said


def _option(options: Options, kind: str, draw: random.Random) -> tuple[list[str], str]:
    if kind == "drop":
        spoken = [name for name, _ in options if name in WHOLE or name in WORDS]
        name = draw.choice(spoken)
        return written(without(options, name)), f"no {name}"
    if kind == "switch":
        name = draw.choice(SWITCHES)
        there = any(known == name for known, _ in options)
        return written(without(options, name) if there else put(options, name, ())), f"{'no ' if there else ''}{name}"
    if kind == "whole":
        name = draw.choice(list(WHOLE))
        value = str(draw.choice((*WHOLE[name], *WHOLE[name], *WHOLE[name], 0, -1)))
        return written(put(options, name, (value,))), f"{name} {value}"
    name = draw.choice(list(WORDS))
    text = draw.choice(WORDS[name])
    return written(put(options, name, tuple(text.split()))), f"{name} {text}"


def mutations(accepted: Sequence[Mapping[str, Any]], count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Give mutations of accepted questions, each once."""
    draw = random.Random(seed)
    seen: set[str] = set()
    while len(seen) < count:
        base = draw.choice(accepted)
        changed, said = mutate(base, draw)
        if draw.random() < 0.4:
            changed, more = mutate(changed, draw)
            said = f"{said}; {more}"
        key = json.dumps([changed["argv"], changed["env"], changed["world"]])
        if key in seen:
            continue
        seen.add(key)
        yield {**changed, "id": f"{base['id']}#{len(seen)}", "change": said}


def main(words: list[str]) -> None:
    """Print the mutations of what was accepted."""
    questions, answers, count, seed = words
    taken = {a["id"] for a in map(json.loads, Path(answers).read_text().splitlines()) if a["accepted"]}
    accepted = [q for q in map(json.loads, Path(questions).read_text().splitlines()) if q["id"] in taken]
    for question in mutations(accepted, int(count), int(seed)):
        print(json.dumps(question))


if __name__ == "__main__":
    main(sys.argv[1:])
