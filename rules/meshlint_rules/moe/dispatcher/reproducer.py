"""What shows MOE004: errors of megatron-core's own config."""

from __future__ import annotations

from collections.abc import Mapping

from meshlint.reproduce.case import Case, Happens, Own, Reproducer
from meshlint.reproduce.own import Sizes, numbers, told, word
from meshlint.reproduce.upstream import LAYER_WITHOUT_GPUS, config_case, core_case

TYPE, DEEPEP, BACKEND = "moe_token_dispatcher_type", "moe_enable_deepep", "moe_flex_dispatcher_backend"
PADDED, FACTOR = "moe_pad_expert_input_to_capacity", "moe_expert_capacity_factor"
OVERLAP, SHARED = "moe_shared_expert_overlap", "moe_shared_expert_intermediate_size"
PLAIN = "add_bias_linear=False, tensor_model_parallel_size=2"
LAYER = f"""{LAYER_WITHOUT_GPUS}\
from megatron.core import parallel_state
from megatron.core.models.gpt.moe_module_specs import get_moe_module_spec
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
from megatron.core.transformer.transformer_config import TransformerConfig

def dispatcher(**settings):  # of a layer of two experts on one rank
    parallel_state.destroy_model_parallel()
    parallel_state.initialize_model_parallel()
    config = TransformerConfig(
        num_layers=1, hidden_size=8, num_attention_heads=4, num_moe_experts=2, add_bias_linear=False,
        use_cpu_initialization=True, **settings)
    model_parallel_cuda_manual_seed(1)
    spec = get_moe_module_spec(use_te=False, num_experts=2, moe_grouped_gemm=False)
    layer = spec(config=config) if callable(spec) else spec.module(config, submodules=spec.submodules)
    return type(layer.token_dispatcher).__name__
"""
BUILT = 'check("allgather", dispatcher({words}) == "MoEAllGatherTokenDispatcher", True)\n'
ALLGATHER = f"{TYPE}='allgather'"
GONE = {"flex": "<0.12", "alltoall_seq": ">=0.13"}
"""The releases without a dispatcher that others have."""


def of(name: str, says: str, failing: str, right: str, error: str, experts: int | None, releases: str = "") -> Case:
    """Make a case of the config class, with the settings of both arms beside a number of experts."""
    few = f"num_moe_experts={experts}, {PLAIN}" if experts else PLAIN
    return config_case(name, says, f"{few}, {failing}", f"{few}, {right}", error, releases=releases)


def deepep(kind: str, experts: int | None) -> Case:
    """Make the case of DeepEP with a dispatcher that is not flex."""
    says = f"DeepEP with the {kind} dispatcher (failing) and with the flex one (fixed)"
    failing, right = (f"{DEEPEP}=True, {TYPE}={one!r}" for one in (kind, "flex"))
    return of("deepep", says, failing, right, "only supported with flex", experts, ">=0.12")


def both(kind: str, experts: int | None) -> Case:
    """Make the case of DeepEP with another backend of the flex dispatcher."""
    says = "DeepEP beside the backend hybridep (failing) and without it (fixed)"
    failing, right = (f"{DEEPEP}=True, {TYPE}={kind!r}{more}" for more in (f", {BACKEND}='hybridep'", ""))
    return of("two-backends", says, failing, right, "Only one backend", experts, ">=0.16")


def backend(kind: str, experts: int | None) -> Case:
    """Make the case of the backend ncclep with a dispatcher that is not flex."""
    says = f"the backend ncclep with the {kind} dispatcher (failing) and without it (fixed)"
    failing = f"{TYPE}={kind!r}, {BACKEND}='ncclep'"
    return of("ncclep", says, failing, f"{TYPE}={kind!r}", "flex", experts, ">=0.19")


def padded(kind: str, experts: int | None) -> Case:
    """Make the case of expert inputs padded to a capacity, by DeepEP."""
    says = "inputs of experts padded to a capacity with the flex dispatcher (failing) and with alltoall (fixed)"
    failing, right = (f"{TYPE}={one!r}, {FACTOR}=1.0, {PADDED}=True" for one in (kind, "alltoall"))
    return of("padded", says, failing, right, "Flex token dispatcher | flex token dispatcher", experts, ">=0.12")


def no_factor(kind: str, experts: int | None) -> Case:
    """Make the case of a pad to a capacity that nobody gives."""
    says = f"{PADDED} without a capacity factor (failing) and with one (fixed)"
    failing, right = (f"{TYPE}='alltoall', {PADDED}=True{more}" for more in ("", f", {FACTOR}=1.0"))
    return of("no-capacity", says, failing, right, FACTOR, experts)


def shared(kind: str, experts: int | None) -> Case:
    """Make the case of shared experts that overlap with a dispatcher that cannot."""
    says = f"the overlap of shared experts with the {kind} dispatcher (failing) and with alltoall (fixed)"
    failing, right = (f"{TYPE}={one!r}, {SHARED}=64, {OVERLAP}=True" for one in (kind, "alltoall"))
    return of("shared-overlap", says, failing, right, OVERLAP, experts, "<0.18" if kind == "flex" else "")


def variable(kind: str, experts: int | None) -> Case:
    """Make the case of allgather with sequences of variable length."""
    says = "sequences of variable length with the allgather dispatcher (failing) and with alltoall (fixed)"
    failing, right = (f"{TYPE}={one!r}, variable_seq_lengths=True" for one in (kind, "alltoall"))
    return of("variable", says, failing, right, "variable", experts)


def built(name: str, says: str, words: str, error: str, releases: str = "", happens: Happens = Happens.CRASH) -> Case:
    """Make a case of a layer's own dispatcher; the fixed arm has allgather, which runs without a GPU too."""
    failing, right = (BUILT.format(words=one) for one in (words, ALLGATHER))
    more = {"happens": happens, "prelude": LAYER, "releases": releases}
    return core_case(name, says, failing, right, error, fresh=True, **more)  # type: ignore[arg-type]


def one_rank() -> Case:
    """Make the case of the flex dispatcher, which wants experts on several ranks."""
    says = "the flex dispatcher with all experts on one rank (failing) and allgather there (fixed)"
    return built("one-rank", says, f"{TYPE}='flex', {DEEPEP}=True", "AssertionError", ">=0.12")


def unknown(kind: str) -> Case:
    """Make the case of a dispatcher that there is not."""
    says = f"a layer with the dispatcher {kind} (failing) and with allgather (fixed)"
    return built("no-such-type", says, f"{TYPE}={kind!r}", "nsupported token dispatcher", GONE.get(kind, ""))


def inert() -> Case:
    """Make the case of a backend of the flex dispatcher beside another one."""
    says = "the backend hybridep beside allgather (failing) and allgather alone (fixed) give the same dispatcher"
    words = f"{ALLGATHER}, {BACKEND}='hybridep'"
    return built("hybridep-ignored", says, words, "", ">=0.16", Happens.OK)


CLAUSES = {DEEPEP: deepep, BACKEND: backend, PADDED: padded, OVERLAP: shared}
"""The clause of each setting that a finding may be about, where it has one."""


def clause(sizes: Sizes, kind: str, experts: int | None) -> Case | None:
    """Make the case of the clause that a finding is about."""
    about = str(sizes.get("subject"))
    if about == TYPE and sizes.get("variable_seq_lengths") is True and kind == "allgather":
        return variable(kind, experts)
    if about == TYPE:
        return one_rank() if kind == "flex" and sizes.get("expert_model_parallel_size") == 1 else unknown(kind)
    if about == DEEPEP and kind == "flex":
        return both(kind, experts)
    if about == BACKEND and sizes.get(BACKEND) == "hybridep":
        return inert()
    if about == PADDED and FACTOR not in sizes:
        return no_factor(kind, experts)
    make = CLAUSES.get(about)
    return None if make is None else make(kind, experts)


def own(sizes: Sizes) -> Own | None:
    """Make the case of a launch's dispatcher and what it does not go with."""
    kind, found = word(sizes.get(TYPE, "allgather")), numbers(sizes, "num_moe_experts")
    experts = None if found is None else 4
    made = clause(sizes, kind, experts) if kind else None
    if made is None:
        return None
    words: Mapping[str, object] = {TYPE: kind, "about": sizes.get("subject")}
    if found is None:
        return Own((made,), told({**words, "experts": "none"}, {}))
    return Own((made,), told({**words, "num_moe_experts": found[0]}, {"num_moe_experts": (found[0], 4)}))


REPRODUCER = Reproducer(
    "MOE004",
    (
        deepep("alltoall", 4),
        both("flex", 4),
        padded("flex", 4),
        no_factor("alltoall", None),
        shared("allgather", 4),
        variable("allgather", 4),
        one_rank(),
        unknown("allgahter"),
        inert(),
    ),
    own=own,
    missing="the check is megatron-core's own, which must be installed",
)
