"""FRW004: a key that the framework does not have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from meshlint.config.keys import holds, nearest, table
from meshlint.config.launch import Write
from meshlint.records import dataclass
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Severity, Verdict, Wish


class UnknownKey(LaunchRule):
    """A key or attribute that is a misspelling of one that the framework has.

    ## What it does

    Finds a flag or key that no release of the framework has, and that is one or two letters away from one that it
    has; and, where the release is pinned, a setting of Megatron-LM, ms-swift or AReaL that it does not have yet, or no
    more. Keys that are like no other are left alone: they may be a fork's own.

    ## Why this is bad

    Megatron-LM's, slime's and ms-swift's parsers refuse an unknown flag, and every rank stops at start; so do AReaL's
    structured config, NeMo 2's partials, and the training arguments that ROLL makes of a strategy's settings. An
    attribute that is set on one of Megatron-Bridge's configs, a key of NeMo-RL, or one that verl passes on to
    megatron-core, is taken without a word: the setting that was meant keeps its default.

    ## Example

    ```python
    cfg.model.context_paralel_size = 4
    ```

    ## Use instead

    ```python
    cfg.model.context_parallel_size = 4
    ```

    ## References/versions

    The tables stand in `meshlint/config/keys`, each with the wheels and tags that it was made from, and the script
    that makes them.
    """

    code = "FRW004"
    slug = "unknown-key"
    outcomes = (Outcome.CRASH_START, Outcome.IGNORED)
    references = (
        Reference("megatron/training/arguments.py of core_v0.10.0 to core_v0.19.0: parse_args, without unknown ones"),
        Reference("swift/utils/utils.py, parse_args, of ms-swift at 3602360a: the rest of the words is refused"),
        Reference("src/megatron/bridge/models/transformer_config.py at 067f987df: dataclasses without slots"),
        Reference("areal/api/cli_args.py:2956, to_structured_cfg, of AReaL at 4aef98d8: merged into a dataclass"),
        Reference("roll/distributed/strategy/megatron_strategy.py:112 of ROLL at 8eb27cc2: TrainingArguments(**...)"),
        Reference("examples/start_rlvr_pipeline.py:27 of ROLL at 8eb27cc2: from_dict leaves unknown keys out"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Look at each key once, in the order in which they are written."""
        seen: set[str] = set()
        for write in config.launch.writes:
            if write.key in seen or write.value.span is None or "*" in write.key or "@" in write.key:
                continue
            seen.add(write.key)
            found = _place(config, write.key)
            if found is not None:
                yield from _judge(config, write, *found)


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a framework's keys: where it is, which tables have its names, and what becomes of another name.

    `section` is what stands in front of the name; one with a dot in front may begin anywhere; `*` is any section, and
    an empty one none.
    """

    section: str
    tables: tuple[str, ...]
    outcome: Outcome
    end: str

    def holds(self, section: str) -> bool:
        """Say whether a section, with a dot at its end, is this part."""
        if self.section == "*":
            return bool(section)
        return section.endswith(self.section) if self.section.startswith(".") else section == self.section


CORE = "megatron-core"
REFUSED = "the parser refuses it, and every rank stops at start"
KEPT = "nothing reads it, and {known} stays as it is"
HYDRA = "Hydra stops at it, or, where it is added with + or in a file of one's own, {known} stays as it is"
STRUCTURED = "OmegaConf refuses it when the file is merged, and the run stops at start"
FIDDLE = "there is no such parameter to set, which raises a TypeError when the recipe is made"
ARGUMENTS = "the training arguments are made from it with a TypeError, and every rank stops at start"

FLAGS = {
    "megatron-lm": ("megatron-lm",),
    "slime": ("megatron-lm", "slime"),
    "ms-swift": ("ms-swift", CORE),
}
"""Frameworks whose keys are flags, and their tables."""

OWN_ENTRIES = ("pretrain_gpt.py", "pretrain_mamba.py", "pretrain_hybrid.py", "pretrain_bert.py", "pretrain_t5.py")
"""Entries of Megatron-LM whose flags are those of its own parser."""

ENGINES = ("sglang_", "router_", "vllm_")
"""What flags of an inference engine begin with; they are the engine's own."""

FREE = ("_kwargs", "override_config", "env_vars", "scheduling_spec", "profiler", "tool_config", "agent", "env")
"""How sections end that hold whatever the user's own code reads."""

PLACES: Mapping[str, tuple[Place, ...]] = {
    "megatron-bridge": tuple(
        Place(section, ("megatron-bridge", CORE), Outcome.IGNORED, KEPT)
        for section in ("model.", "ddp.", "optimizer.", "comm_overlap.", "train.", "dist.")
    ),
    "verl": (
        Place(".override_transformer_config.", (CORE,), Outcome.IGNORED, KEPT),
        Place(".override_ddp_config.", (CORE,), Outcome.IGNORED, KEPT),
        Place("*", ("verl", CORE), Outcome.CRASH_START, HYDRA),
    ),
    "nemo-rl": (
        Place(".model_overrides.", (CORE,), Outcome.IGNORED, KEPT),
        Place(".distributed_data_parallel_config.", (CORE,), Outcome.IGNORED, KEPT),
        Place("*", ("nemo-rl", "megatron-bridge", CORE), Outcome.IGNORED, KEPT),
    ),
    "nemo2": tuple(
        Place(section, ("nemo2", CORE), Outcome.CRASH_START, FIDDLE)
        for section in ("trainer.strategy.", "trainer.strategy.ddp.", "model.config.", "optim.config.")
    ),
    "areal": tuple(
        Place(f"{role}.{part}", ("areal",), Outcome.CRASH_START, STRUCTURED)
        for role in ("actor", "critic", "ref", "teacher")
        for part in ("", "megatron.", "megatron.ddp.", "optimizer.", "mb_spec.")
    ),
    "roll": (
        Place(".strategy_args.strategy_config.", ("roll", CORE), Outcome.CRASH_START, ARGUMENTS),
        Place("", ("roll",), Outcome.IGNORED, KEPT),
    ),
}
"""Parts of each framework's keys whose names are in a table; the first that holds counts."""

LIBRARIES = {"megatron-lm": CORE, "ms-swift": "ms-swift", "areal": "areal"}
"""The library whose releases a table is made from, where a name that a release does not have is refused."""


def _place(config: EffectiveConfig, key: str) -> tuple[str, Place] | None:
    """Give a key's own name and its place; None where nothing is known of it."""
    name = config.framework.name
    if name in FLAGS:
        own = name != "megatron-lm" or config.launch.entry.rsplit("/", 1)[-1] in OWN_ENTRIES
        if not own or "." in key or key.startswith(ENGINES) or config.launch.find("yaml_cfg") is not None:
            return None
        return key, Place("", FLAGS[name], Outcome.CRASH_START, REFUSED)
    section, dot, last = key.rpartition(".")
    place = next((p for p in PLACES.get(name, ()) if p.holds(section + dot)), None)
    if place is None or last.startswith("_") or any(part.endswith(FREE) for part in section.split(".")):
        return None
    if name == "roll" and section and not _megatron(config, section):
        return None
    return last, place


def _megatron(config: EffectiveConfig, section: str) -> bool:
    """Say whether a strategy of ROLL is Megatron's; the other engines take settings of their own."""
    named = config.launch.find(f"{section.rpartition('.')[0]}.strategy_name")
    return named is not None and named.is_set and str(named.data).startswith("megatron")


def _judge(config: EffectiveConfig, write: Write, key: str, place: Place) -> Iterator[Verdict]:
    forms = (key, key.removeprefix("no_"))  # the parser makes `--no-x` of a field x that is on
    windows = [table(name)[form] for name in place.tables for form in forms if form in table(name)]
    if not windows:
        known = nearest(key, place.tables)
        if known:
            yield _misspelt(config, write, key, known, place)
        return
    library = LIBRARIES.get(config.framework.name, "")
    if library not in config.framework.libraries or not config.pinned(library):
        return
    version = config.version(library)
    if any(holds(window, version) for window in windows):
        return
    since, until = windows[0]
    when = f"it comes with {since}" if since and not holds((since, ""), version) else f"it is gone since {until}"
    yield Verdict(
        f"{key} is no setting of {config.framework.title} with {library} {version}: {when}, so that it is refused, "
        "and the run stops at start.",
        Outcome.CRASH_START,
        subject=key,
        span=write.value.span,
        severity=Severity.WARNING,
        fix=Fix(f"Leave {key} out, or use a release that has it."),
    )


def _misspelt(config: EffectiveConfig, write: Write, key: str, known: str, place: Place) -> Verdict:
    sure = place.outcome is Outcome.CRASH_START and place.end != HYDRA
    return Verdict(
        f"{key} is no setting of {config.framework.title}, which has {known}: {place.end.format(known=known)}.",
        place.outcome,
        subject=key,
        span=write.value.span,
        severity=None if sure else Severity.WARNING,
        fix=_rename(config, write, key, known),
    )


def _as_given(config: EffectiveConfig, key: str) -> str:
    """Give a key as a command line writes it, where keys are flags."""
    if config.framework.name not in FLAGS:
        return key
    return f"--{key}" if config.framework.name == "ms-swift" else f"--{key.replace('_', '-')}"


def _rename(config: EffectiveConfig, write: Write, key: str, known: str) -> Fix:
    """The name that is meant must not be given already: which of the two counts is then not ours to say."""
    text = f"Write {_as_given(config, known)} in place of {_as_given(config, key)}."
    right = f"{write.key.removesuffix(key)}{known}"
    if write.value.span is None or config.launch.find(right) is not None:
        return Fix(text)
    return Fix(text, wishes=(Wish("rename", write.value.span, write.key, known),), safe=True)


RULE = UnknownKey
