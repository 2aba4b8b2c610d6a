"""What is known beforehand of Megatron-Bridge's library: calls that need a real model, and core's defaults."""

from __future__ import annotations

from collections.abc import Iterable

from meshlint.config.fields import FIELDS
from meshlint.config.python.calls import Calls
from meshlint.config.python.flatten import rows
from meshlint.config.python.machine import CallSite, Knowledge, Row
from meshlint.config.python.recipes import CONTAINER, PACKAGES, is_named_so
from meshlint.config.python.values import (
    NONE,
    Bound,
    External,
    Func,
    Leaf,
    Map,
    Overlay,
    Record,
    Unknown,
    Val,
    sequence,
)
from meshlint.config.value import Data, Kind, Origin

SIZES = (
    "tensor_model_parallel_size",
    "context_parallel_size",
    "pipeline_model_parallel_size",
    "expert_model_parallel_size",
)
READS: dict[str, Data] = {
    **dict.fromkeys(SIZES, 1),
    "virtual_pipeline_model_parallel_size": None,
    "expert_tensor_parallel_size": None,
    "sequence_parallel": False,
    "hierarchical_context_parallel_sizes": None,
    "pipeline_model_parallel_layout": None,
}
"""Defaults of ModelParallelConfig, for conditions that read them. Source: core_v0.16.1
megatron/core/model_parallel_config.py:26-75; hierarchical sizes :63."""

HOLDERS = frozenset(
    [
        "model",
        "train",
        "validation",
        "ddp",
        "dist",
        "dataset",
        "data",
        "comm_overlap",
        "mixed_precision",
        "optimizer",
        "trainer",
        "strategy",
        "config",
        "offline_packing_specs",
        "packed_sequence_specs",
        "plugins",
    ]
)
TRACKED = frozenset({"context_parallel_size", "tensor_model_parallel_size"})
PACKING = frozenset(("pad_seq_to_mult", "packed_train_data_path", "enable_offline_packing", "enable_in_batch_packing"))
INTERESTING = frozenset(FIELDS) | HOLDERS | PACKING | {""}


def from_pretrained(machine: Calls, callee: Val, site: CallSite) -> Val | None:
    """`AutoBridge.from_hf_pretrained(id)`: a bridge that knows which model it is of."""
    if not _of_bridge(machine, site):
        return None
    model = site.argument(0, "path")
    return _bridge(machine, site, model)


def from_config(machine: Calls, callee: Val, site: CallSite) -> Val | None:
    """`AutoBridge.from_hf_config(config)`: a bridge of a model that is known where its config came from an id."""
    if not _of_bridge(machine, site):
        return None
    config = site.argument(0, "config")
    model = config.model if isinstance(config, Record) else None
    return _bridge(machine, site, model)


def hf_config(machine: Calls, callee: Val, site: CallSite) -> Val | None:
    """`AutoConfig.from_pretrained(id)`: the Hugging Face config of a model, not read."""
    model = site.argument(0, "pretrained_model_name_or_path")
    made = _bridge(machine, site, model)
    made.type = "PretrainedConfig"
    return made


_FOLLOWED = ("recipes/", "mixed_precision", "comm_overlap", "flex_dispatcher", "moe_token_drop", "/cuda_graph")


def opaque(path: str) -> bool:
    """Say whether a module is the library's own works rather than a place where configs are made."""
    if "megatron/bridge/" not in path and "megatron/core/" not in path:
        return False
    return not any(part in path for part in _FOLLOWED)


def _of_bridge(machine: Calls, site: CallSite) -> bool:
    return "Bridge" in machine.frame.module.source.text(site.node.func)


def _bridge(machine: Calls, site: CallSite, model: Val | None) -> Record:
    if not (isinstance(model, Leaf) and isinstance(model.data, str)):
        reason = model.reason if isinstance(model, Unknown) else "the model is not named here"
        model = Unknown(reason, (machine.origin(site.node),))
    return Record("AutoBridge", None, {}, "it comes from the model's own config", model, (machine.origin(site.node),))


def provider(machine: Calls, callee: Val, site: CallSite) -> Val | None:
    """`bridge.to_megatron_provider()` and `get_model_config()`: a model config with the shape of that model."""
    if not isinstance(callee, Bound):
        return None
    bridge = callee.receiver
    model = bridge.model if isinstance(bridge, Record) else None
    if model is None:
        model = Unknown("the model is not named here", (machine.origin(site.node),))
    reason = f"it comes from the model {model.data!r}" if isinstance(model, Leaf) else "it comes from the model"
    return Record("provider", None, {}, reason, model, (machine.origin(site.node),))


def merged(machine: Calls, callee: Val, site: CallSite) -> Val | None:
    """`process_config_with_overrides(config, config_filepath, cli_overrides)`: a YAML file, then a dotlist, merged."""
    config = site.argument(0, "config")
    if not isinstance(config, Record):
        return None
    from meshlint.config.python import overrides

    overrides.apply_file(machine, config, site.argument(1, "config_filepath"))
    overrides.apply_words(machine, config, site.argument(2, "cli_overrides"))
    return config


def as_overlay(machine: Calls, callee: Val, site: CallSite) -> Val | None:
    """`create_omegaconf_dict_config(config)`: a copy to merge into, and the fields left out of it."""
    config = site.argument(0, "config_container")
    if not isinstance(config, Record):
        return None
    return sequence("tuple", (Overlay(config), Map({})))


def parsed_overrides(machine: Calls, callee: Val, site: CallSite) -> Val | None:
    """`parse_hydra_overrides(config, words)`: a dotlist merged."""
    from meshlint.config.python import overrides

    base = site.argument(0, "cfg")
    if not isinstance(base, Overlay):
        return None
    return Overlay(base.record, (*base.layers, *overrides.from_words(machine, site.argument(1, "overrides"))))


def loaded(machine: Calls, callee: Val, site: CallSite) -> Val | None:
    """`OmegaConf.load(path)`: a YAML file."""
    from meshlint.config.python import overrides

    return Overlay(NONE, tuple(overrides.from_file(machine, site.argument(0, "file_"))))


def merged_overlay(machine: Calls, callee: Val, site: CallSite) -> Val | None:
    """`OmegaConf.merge(a, b)`."""
    parts = [a for a in site.args if isinstance(a, Overlay)]
    if len(parts) != len(site.args) or not parts:
        return None
    return Overlay(parts[0].record, tuple(layer for part in parts for layer in part.layers))


def container(machine: Calls, callee: Val, site: CallSite) -> Val | None:
    """`OmegaConf.to_container(a)`."""
    return site.args[0] if site.args and isinstance(site.args[0], Overlay) else None


def applied(machine: Calls, callee: Val, site: CallSite) -> Val | None:
    """`apply_overrides(config, merged, excluded)`: what was merged is written."""
    from meshlint.config.python import overrides

    config, layers = site.argument(0, "config_obj"), site.argument(1, "overrides_dict")
    if not isinstance(config, Record) or not isinstance(layers, Overlay):
        return None
    overrides.apply(machine, config, layers.layers)
    return NONE


def cuda_graph_modules(machine: Calls, callee: Val, site: CallSite) -> Val | None:
    """`set_cuda_graph_modules(config, modules)`: one setting, spelt by the version of megatron-core."""
    config, modules = site.argument(0, "config"), site.argument(1, "modules")
    if not isinstance(config, Record) or modules is None:
        return None
    machine.write(config, "cuda_graph_modules", modules, (machine.origin(site.node),))
    return NONE


def no_graph_modules(machine: Calls, callee: Val, site: CallSite) -> Val | None:
    """`clear_cuda_graph_modules(config)`."""
    config = site.argument(0, "config")
    if not isinstance(config, Record):
        return None
    origin = machine.origin(site.node)
    machine.write(config, "cuda_graph_modules", sequence("list", (), (origin,)))
    return NONE


def load_recipe(machine: Calls, callee: Val, site: CallSite) -> Val | None:
    """`load_recipe(name, ...)` of the run scripts: the recipe of that name."""
    from meshlint.config.python import recipes

    name = site.argument(0, "recipe_name")
    if not isinstance(name, Leaf) or not isinstance(name.data, str):
        return None
    return recipes.by_name(machine, name, site)


def benchmark_metadata(machine: Calls, callee: Val, site: CallSite) -> Val | None:
    """`resolved_benchmark_recipe_metadata(name)`: None for a library recipe, unknown for a benchmark's."""
    from meshlint.config.python import recipes

    name = site.argument(0, "recipe_name")
    if isinstance(name, Leaf) and not recipes.is_benchmark(machine.program, str(name.data)):
        return NONE
    return None


def workload(machine: Calls, callee: Val, site: CallSite) -> Val | None:
    """`get_workload_base_config(...)` of the performance scripts: a constant that is found by a name put together."""
    names = [site.argument(i, n) for i, n in enumerate(_WORKLOAD)]
    plain = [str(n.data) for n in names if isinstance(n, Leaf)]
    if len(plain) < 5:
        return None
    family, model, gpu, dtype, task = plain[:5]
    variant = plain[5] if len(plain) > 5 else "v1"
    path = machine.program.find(f"configs.{family}", machine.frame.module.path)
    path = path or machine.program.find(f"configs.{family}", "scripts/performance/x.py")
    module = machine.program.module(path) if path is not None and path.endswith(".py") else None
    if module is None:
        return None
    stem = f"{model}_{task}_config_{gpu}_{dtype}"
    for name in (f"{stem}_{variant}", f"{stem}_v1" if variant.lower() == "v2" else "", stem):
        found = machine.member(module, name.upper()) if name else None
        if found is not None:
            return found
    return None


_SECTIONS = ("model", "train", "dataset", "ddp", "dist", "optimizer", "scheduler", "checkpoint", "tokenizer", "logger")


def outside(machine: Calls, dotted: str, site: CallSite) -> Val | None:
    """A recipe whose source is not in reach: a config of which only the lines after it are known."""
    package = next((p for p in PACKAGES if dotted.startswith(f"{p}.")), None)
    if package is None or not is_named_so(dotted.rpartition(".")[2]):
        return None
    reason = f"the recipe `{dotted.rpartition('.')[2]}` is not in reach: {machine.program.lacking('megatron-bridge')}"
    origins = (machine.origin(site.node),)
    made = Record(CONTAINER, None, {}, reason, None, origins)
    for name in _SECTIONS:
        machine.write(made, name, Record("", None, {}, reason, None, origins))
    model = made.slots["model"][-1].value
    for field, data in _everywhere(dotted.rpartition(".")[2]):
        machine.write(model, field, Leaf(data, (_EVERY_RECIPE,)))
    machine.write(made, "@spec", Leaf(None, (_EVERY_RECIPE,)))  # Megatron-LM's flag, which Bridge does not have
    return made


_EVERY_RECIPE = Origin(Kind.TABLE, note="what every such recipe of Megatron-Bridge 0.2.0 to 0.6.0 gives")
_PLAIN = ("llama2_", "llama3", "qwen2_", "qwen25_", "qwen3_")
"""Families whose layers are plain attention; those with `_OTHERS` in their names are not
(v0.6.0 src/megatron/bridge/models/qwen/qwen3_next_bridge.py:85, qwen35_bridge.py:61)."""
_OTHERS = ("_vl", "_next", "_omni")


def _everywhere(recipe: str) -> Iterable[tuple[str, Data]]:
    """Give what holds in each recipe of v0.2.0, v0.2.2, v0.3.1, v0.4.2, v0.5.1 and v0.6.0, whatever its source.

    None writes level sizes (only model_provider.py declares them); all use Transformer Engine but Falcon-H1
    (v0.6.0 src/megatron/bridge/models/falcon_h1/falconh1_provider.py:94).
    """
    yield "hierarchical_context_parallel_sizes", None
    if "falcon" not in recipe:
        yield "transformer_impl", "transformer_engine"
    if recipe.startswith(_PLAIN) and not any(part in recipe for part in _OTHERS):
        yield from (("experimental_attention_variant", None), ("is_hybrid_model", False))


def trains(machine: Calls, callee: Val, site: CallSite) -> tuple[Record | None, Iterable[Row]] | None:
    """`pretrain(config, step)`, `finetune(config, step)` and `distill(config)`."""
    config = site.argument(0, "config")
    if isinstance(config, Record):
        return (config, rows(config)) if config.type == CONTAINER else None
    if (
        isinstance(config, Unknown)
        and config.site is None
        and _of_library(callee)
        and not machine.frame.module.path.count("megatron/bridge/")
    ):
        open_to_callers = any(part in config.reason for part in _OF_CALLERS)
        return None, () if open_to_callers else (Row(machine.order, "*", config),)
    return None


_OF_CALLERS = ("is not given here", "is given on the command line", "ends in an exception")
"""Reasons of a runner that is no launch by itself: whoever calls it says what it trains."""


def _of_library(callee: Val) -> bool:
    """Say whether a function is Bridge's own rather than one of the same name."""
    if isinstance(callee, Func):
        return "megatron/bridge/" in callee.module.path
    return isinstance(callee, External) and callee.dotted.startswith("megatron.bridge.")


def builds_groups(machine: Calls, callee: Val, site: CallSite) -> tuple[Record | None, Iterable[Row]] | None:
    """`provider.initialize_model_parallel(...)`: groups from the provider's own sizes and this call's arguments."""
    provider = callee.receiver if isinstance(callee, Bound) else None
    if not isinstance(provider, Record) or not (provider.model is not None or provider.type.endswith("Provider")):
        return None
    given = [
        Row(machine.order, f"provider_init.{key}", value, machine.uses(value, site.node, key))
        for key, value in site.kwargs.items()
    ]
    return provider, (*rows(provider, "model."), *given)


def student(machine: Calls, callee: Val, site: CallSite) -> Val | None:
    """`convert_to_distillation_provider(student, teacher, ...)`: gives the student itself, under another class."""
    return site.argument(0, "student_provider")


def loads(machine: Calls, callee: Val, site: CallSite) -> tuple[Record | None, Iterable[Row]] | None:
    """`load_megatron_model(path, mp_overrides={...})`: sizes that override a config reset to one GPU."""
    overrides = site.kwargs.get("mp_overrides")
    if not isinstance(overrides, Map):
        return None
    found = [Row(machine.order, f"mp_overrides.{key}", value) for key, value in overrides.entries.items()]
    if overrides.rest:
        found.insert(0, Row(0, "mp_overrides.*", Unknown(overrides.rest, overrides.origins)))
    return None, found


_WORKLOAD = ("model_family_name", "model_recipe_name", "gpu", "compute_dtype", "task", "config_variant")

_QUIET = """
validate finalize print_yaml to_yaml to_dict print_diff print set_logging_level setup initialize_model_parallel
provide_distributed_model register_pre_wrap_hook register_post_wrap_hook apply_environment_variables
runtime_config_update
"""

OWN = frozenset(
    {
        "enable_offline_packing",
        "enable_in_batch_packing",
        "offline_packing_specs",
        "packed_sequence_specs",
        "packing_buffer_size",
    }
)
"""Packing is Bridge's own: megatron-core's dataset config has nothing of it (core_v0.16.1 datasets/gpt_dataset.py)."""

KNOWLEDGE = Knowledge(
    own=OWN,
    calls={
        "from_hf_pretrained": from_pretrained,
        "from_hf_config": from_config,
        "from_pretrained": hf_config,
        "to_megatron_provider": provider,
        "get_model_config": provider,
        "process_config_with_overrides": merged,
        "create_omegaconf_dict_config": as_overlay,
        "parse_hydra_overrides": parsed_overrides,
        "load": lambda m, c, s: loaded(m, c, s) if isinstance(c, External) and "OmegaConf" in c.dotted else None,
        "merge": lambda m, c, s: merged_overlay(m, c, s) if isinstance(c, External) else None,
        "to_container": container,
        "apply_overrides": applied,
        "set_cuda_graph_modules": cuda_graph_modules,
        "clear_cuda_graph_modules": no_graph_modules,
        "load_recipe": load_recipe,
        "resolved_benchmark_recipe_metadata": benchmark_metadata,
        "get_workload_base_config": workload,
        "convert_to_distillation_provider": student,
    },
    reads=READS,
    tracked=TRACKED,
    interesting=INTERESTING,
    sinks={
        "pretrain": trains,
        "finetune": trains,
        "distill": trains,
        "megatron_mimo_pretrain": trains,
        "initialize_model_parallel": builds_groups,
        "provide_distributed_model": builds_groups,
        "load_megatron_model": loads,
    },
    has=frozenset(FIELDS) - {"cuda_graph_modules"},
    outside=outside,
    opaque=opaque,
    quiet=frozenset(_QUIET.split()),
)
