"""Attention under context parallelism: the programs behind the reproducers of config rules.

`STAND_IN` is plain Python with collectives of objects: the same algorithms (slices of 2 * cp chunks, all-to-all over
heads, exchange of keys and values, two levels of both), small enough to run without torch. `real_prelude` calls
megatron-core and Transformer Engine and measures output and gradients against attention over the whole sequence in fp32
on one GPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from meshlint.reproduce.case import Arm, Case, Depth, Happens

STAND_IN = """\
from math import exp, sin

def parts(items, count):
    if len(items) % count:
        raise ValueError(f"{len(items)} cannot be cut into {count} equal parts")
    return [items[at : at + len(items) // count] for at in range(0, len(items), len(items) // count)]

def levels(sizes):  # the groups of each level, as megatron-core makes them: neighbours first, then every size-th rank
    made, stride = [], 1
    for size in sizes or ():
        firsts = [first for first in range(world) if first // stride % size == 0]
        made.append(groups([[first + stride * at for at in range(size)] for first in firsts]))
        stride *= size
    return made or None

def everybodys(mine, group):  # what all ranks of a group bring; this rank's own where there is no group
    theirs = [mine] if group is None else [None] * dist.get_world_size(group)
    if group is not None:
        dist.all_gather_object(theirs, mine, group=group)
    return {at: value for one in theirs for at, value in one.items()}

def attend(q, kv):  # causal, over the keys and values of the same head: {(head, token): vector}
    out = {}
    for (head, token), query in q.items():
        seen = [one for at, one in kv.items() if at[0] == head and at[1] <= token]
        weights = [exp(sum(a * b for a, b in zip(query, key))) for key, _ in seen]
        out[head, token] = [sum(w * v[d] for w, (_, v) in zip(weights, seen)) / sum(weights) for d in range(2)]
    return out

def made(heads, tokens):  # queries, and keys with their values
    at = [(h, t) for h in range(heads) for t in tokens]
    q, k, v = ({(h, t): [2 * sin(seed + 3 * h + 7 * t + d * d) for d in range(2)] for h, t in at} for seed in (1, 2, 3))
    return q, {one: (k[one], v[one]) for one in at}

def measure(comm, cp_group, level_groups=None, seq=8, heads=4):  # against attention over the whole sequence
    cp, place = dist.get_world_size(cp_group), dist.get_rank(cp_group)
    chunks = parts(list(range(seq)), 2 * cp)
    q, kv = made(heads, chunks[place] + chunks[2 * cp - 1 - place])
    right = attend(q, made(heads, range(seq))[1])
    a2a, p2p = {"a2a": (cp_group, None), "p2p": (None, cp_group)}.get(comm, level_groups or (None, None))
    if a2a is not None:
        share = parts(list(range(heads)), dist.get_world_size(a2a))[dist.get_rank(a2a)]
        q, kv = ({at: one for at, one in everybodys(x, a2a).items() if at[0] in share} for x in (q, kv))
    out = everybodys(attend(q, everybodys(kv, p2p)), a2a)
    check("attention", [x for at in right for x in out[at]], [x for at in right for x in right[at]])
"""

_REAL = """\
from megatron.core import parallel_state
from megatron.core.extensions.transformer_engine import TEDotProductAttention
packed|from megatron.core.packed_seq_params import PackedSeqParams
from megatron.core.transformer.enums import AttnMaskType
from megatron.core.transformer.transformer_config import TransformerConfig
packed|import transformer_engine_torch as tex
fp8|from transformer_engine.common.recipe import CustomRecipe, DelayedScaling
fp8|from transformer_engine.pytorch import fp8_autocast

def full(q, k, v, allowed, bias=0.0):  # in fp32 over the whole sequence, [s, b, h, d]
grouped|    k, v = (x.repeat_interleave(q.shape[2] // x.shape[2], 2) for x in (k, v))
    scores = torch.einsum("sbhd,tbhd->bhst", q, k) / q.shape[-1] ** 0.5 + bias
    scores = scores.masked_fill(~allowed, float("-inf"))
sink|    scores = torch.cat([scores, scores.new_zeros(*scores.shape[:-1], 1)], -1)  # one more in the denominator
    return torch.einsum("bhst,tbhd->sbhd", scores.softmax(-1)[..., : k.shape[0]], v).flatten(2)

def measure(comm, sizes=None, seq=2048, heads=8, cp=2, ARGUMENTS**more):
    parallel_state.destroy_model_parallel()
    parallel_state._HIERARCHICAL_CONTEXT_PARALLEL_GROUPS = None  # which the line above leaves
    parallel_state.initialize_model_parallel(context_parallel_size=cp, hierarchical_context_parallel_sizes=sizes)
    config = TransformerConfig(
        num_layers=1, hidden_size=128 * heads, num_attention_heads=heads, context_parallel_size=cp, cp_comm_type=comm,
        attention_dropout=0.0, bf16=True, params_dtype=torch.bfloat16, **more)
mla|    widths = {"k_channels": 192, "v_channels": 128}  # of keys and values, as multi-latent attention has them
    core = TEDotProductAttention(config, 1, AttnMaskType.causal, "self", cp_comm_type=commWIDTHS)
    torch.manual_seed(1)
alike|    q, k, v = (torch.randn(seq, 1, heads, 128, dtype=torch.bfloat16) for _ in range(3))
grouped|    counts = (heads, more["num_query_groups"], more["num_query_groups"])
grouped|    q, k, v = (torch.randn(seq, 1, count, 128, dtype=torch.bfloat16) for count in counts)
mla|    q, k, v = (torch.randn(seq, 1, heads, width, dtype=torch.bfloat16) for width in (192, 192, 128))
    towards, at = torch.randn(seq, 1, heads * 128, dtype=torch.bfloat16), torch.arange(seq)
    allowed = at[:, None] >= at[None]
window|    allowed &= at[:, None] - at[None] <= more["window_size"][0]
mask|    allowed |= True  # no token is padding, and none waits for its turn
packed|    edges = torch.tensor([0, *torch.tensor(lengths).cumsum(0)], dtype=torch.int32)
packed|    allowed &= torch.block_diag(*(torch.ones(length, length) for length in lengths)).bool()
packed|    mine = tex.thd_get_partitioned_indices(edges, seq, cp, rank).long() if cp > 1 else at
plain|    chunks = at.view(2 * cp, -1)
plain|    mine = torch.cat([chunks[rank % cp], chunks[2 * cp - 1 - rank % cp]]) if cp > 1 else at
bias|    bias = torch.randn(1, heads, seq, seq, dtype=torch.bfloat16)
    whole = [x.float().requires_grad_() for x in (q, k, v)]
    right = full(*whole, allowedBIAS)
    right.backward(towards.float())
packed|    part = [(x[mine].squeeze(1) if packed else x[mine]).clone().requires_grad_() for x in (q, k, v)]
packed|    params = PackedSeqParams("thd", *4 * [edges], *2 * [max(lengths)]FLAT) if packed else None
packed|    out = core(*part, None, AttnMaskType.causal, packed_seq_params=params)
plain|    part = [x[mine].clone().requires_grad_() for x in (q, k, v)]
once|    out = core(*part, None, AttnMaskType.causal)
bias|    out = core(*part, None, AttnMaskType.causal, attention_bias=bias[:, :, mine].contiguous())
mask|    masks = torch.zeros(1, 1, 1, len(mine), dtype=torch.bool), AttnMaskType.padding
mask|    out = core(*part, *(masks if masked else (None, AttnMaskType.no_mask)))
fp8|    with fp8_autocast(recipe is not None, fp8_recipe=recipe or DelayedScaling()):
fp8|        out = core(*part, None, AttnMaskType.causal)
    out.backward(towards[mine].reshape(out.shape))
    pairs = [(out, right), *((x.grad, w.grad) for x, w in zip(part, whole))]
    for name, (x, w) in zip(("output", "dq", "dk", "dv"), pairs):
        check(name, x.flatten(), w[mine].flatten())
"""

ASKED = {
    "packed": "lengths",
    "window": "window_size",
    "sink": "softmax_type",
    "flat": "flat",
    "bias": "biased",
    "mask": "masked",
    "fp8": "recipe",
    "mla": "wide",
    "grouped": "num_query_groups",
}
"""Parts of the real program, each with the argument that asks for it."""

_ARGUMENTS = {
    "packed": "lengths=(), packed=True, ",
    "bias": "biased=True, ",
    "mask": "masked=False, ",
    "fp8": "recipe=None, ",
    "mla": "wide=True, ",
    "flat": "flat=True, ",
}
_INSERTS = {
    "FLAT": ("flat", ", cp, parallel_state.get_context_parallel_group()"),
    "BIAS": ("bias", ", bias.float()"),
    "WIDTHS": ("mla", ", **widths"),
}
_INSTEAD = {"plain": ("packed",), "alike": ("mla", "grouped"), "once": ("packed", "bias", "mask", "fp8")}
"""Parts that stand where none of others does."""


def real_prelude(*parts: str) -> str:
    """Give what arms of the real libraries begin with; `parts` of ASKED."""
    kept = {*parts} | {part for part, others in _INSTEAD.items() if not {*parts}.intersection(others)}
    named = {*ASKED, *_INSTEAD}
    lines = [line.partition("|") if line.partition("|")[0] in named else ("", "", line) for line in _REAL.split("\n")]
    text = "\n".join(line for part, _, line in lines if not part or part in kept)
    for word, (part, instead) in _INSERTS.items():
        text = text.replace(word, instead if part in kept else "")
    return text.replace("ARGUMENTS", "".join(more for part, more in _ARGUMENTS.items() if part in kept))


REAL_NEEDS = ("megatron.core", "transformer_engine")
REAL_RUNS = "megatron-core's groups and layer with Transformer Engine's attention, against fp32 attention on one GPU"
STAND_IN_RUNS = "a stand-in in plain Python of the same exchange of heads, keys and values, not the library's code"
REAL_TOLERANCE = 0.02


@dataclass(frozen=True, slots=True)
class Setting:
    """How attention is set up: the words of a config, and what of it reaches the builder of groups.

    `sizes` are those that the builder gets; `before` are lines that come first, `real_before` those with the real
    libraries where they are others; `real` holds further arguments of its `measure`, as written.
    """

    comm: str
    sizes: Sequence[int] | None = None
    cp: int = 2
    seq: int = 8
    heads: int = 4
    before: str = ""
    real_before: str | None = None
    real: Mapping[str, object] = field(default_factory=dict)

    def stand_in(self) -> str:
        """Write the arm of the stand-in."""
        more = "".join(f", {name}={value}" for name, value, plain in self._plain() if value != plain)
        ranks = list(range(self.cp))
        sizes = f", levels({_listed(self.sizes)})" if self.comm == "a2a+p2p" or self.sizes else ""
        return f'{self.before}cp = groups([{ranks}])\nmeasure("{self.comm}", cp{sizes}{more})\n'

    def _plain(self) -> tuple[tuple[str, int, int], ...]:
        return (("seq", self.seq, 8), ("heads", self.heads, 4))

    def parts(self) -> tuple[str, ...]:
        """Name the parts of the real program that this needs."""
        return tuple(part for part, name in ASKED.items() if name in self.real)

    def real_text(self) -> str:
        """Write the arm of the real libraries."""
        words: dict[str, object] = {}
        if self.sizes is not None:
            words["sizes"] = _listed(self.sizes)
        if self.heads != 4:
            words["heads"] = self.heads
        if self.cp != 2:
            words["cp"] = self.cp
        words |= self.real
        more = "".join(f", {name}={value}" for name, value in words.items())
        before = self.before if self.real_before is None else self.real_before
        return f'{before}measure("{self.comm}"{more})\n'


def _listed(sizes: Sequence[int] | None) -> str:
    return "None" if sizes is None else str(list(sizes))


def attention_cases(
    name: str,
    says: str,
    failing: Setting,
    fixed: Setting,
    happens: Happens,
    *,
    real: bool = True,
    stand_in: bool = True,
    error: str = "",
    real_error: str = "",
    fresh: bool = False,
    runs: str = "",
    tolerance: float = REAL_TOLERANCE,
    releases: str = "",
) -> tuple[Case, ...]:
    """Give one failure of attention by the real libraries on GPUs, and by the stand-in elsewhere.

    `releases` are those of Transformer Engine that show it, as a specifier.
    """
    found: list[Case] = []
    if real:
        found.append(
            Case(
                name,
                says,
                max(failing.cp, fixed.cp),
                Arm(failing.real_text(), happens, error=real_error),
                Arm(fixed.real_text(), Happens.OK),
                depths=(Depth.GPU,),
                needs=REAL_NEEDS,
                releases={"transformer_engine": releases} if releases else {},
                prelude=real_prelude(*failing.parts(), *fixed.parts()),
                runs=runs or REAL_RUNS,
                tolerance=tolerance,
                alike=True,
                fresh=fresh,
            )
        )
    if stand_in:
        found.append(
            Case(
                name,
                says,
                failing.cp,
                Arm(failing.stand_in(), happens, error=error),
                Arm(fixed.stand_in(), Happens.OK),
                depths=(Depth.SIMULATE, Depth.CPU) if failing.cp > 2 else (Depth.SIMULATE, Depth.CPU, Depth.GPU),
                prelude=STAND_IN,
                runs=STAND_IN_RUNS,
            )
        )
    return tuple(found)
