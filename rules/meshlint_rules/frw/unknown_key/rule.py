"""FRW004: a key that the framework does not have."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.keys import holds, nearest, table
from meshlint.config.launch import Write
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Severity, Verdict, Wish


class UnknownKey(LaunchRule):
    """A key or attribute that is a misspelling of one that the framework has.

    ## What it does

    Finds a flag or key that no release of the framework has, and that is one or two letters away from one that it
    has; and, where megatron-core is pinned, a flag of Megatron-LM that the pinned release does not have yet, or no
    more. Keys that are like no other are left alone: they may be a fork's own.

    ## Why this is bad

    Megatron-LM's, slime's and ms-swift's parsers refuse an unknown flag, and every rank stops at start. An attribute
    that is set on one of Megatron-Bridge's configs, or passed on to megatron-core's, is taken without a word: the
    setting that was meant keeps its default.

    ## Example

    ```python
    cfg.model.context_paralel_size = 4
    ```

    ## Use instead

    ```python
    cfg.model.context_parallel_size = 4
    ```

    ## References/versions

    The tables stand in `meshlint/config/keys`, each with the tags that it was made from.
    """

    code = "FRW004"
    slug = "unknown-key"
    outcomes = (Outcome.CRASH_START, Outcome.IGNORED)
    references = (
        Reference("megatron/training/arguments.py of core_v0.10.0 to core_v0.19.0: parse_args, without unknown ones"),
        Reference("swift/utils/utils.py, parse_args, of ms-swift at 3602360a: the rest of the words is refused"),
        Reference("src/megatron/bridge/models/transformer_config.py at 067f987df: dataclasses without slots"),
    )
    preview = True

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


FLAGS = {
    "megatron-lm": ("megatron-lm",),
    "slime": ("megatron-lm", "slime"),
    "ms-swift": ("ms-swift", "megatron-core"),
}
"""Frameworks whose keys are flags, and their tables."""

OWN_ENTRIES = ("pretrain_gpt.py", "pretrain_mamba.py", "pretrain_hybrid.py", "pretrain_bert.py", "pretrain_t5.py")
"""Entries of Megatron-LM whose flags are those of its own parser."""

ENGINES = ("sglang_", "router_", "vllm_")
"""What flags of an inference engine begin with; they are the engine's own."""

SECTIONS = {
    "megatron-bridge": ("model.", "ddp.", "optimizer.", "comm_overlap.", "train.", "dist."),
    "verl": ("override_transformer_config.", "override_ddp_config."),
    "nemo-rl": ("model_overrides.", "distributed_data_parallel_config."),
}
"""Sections whose keys are attributes of megatron-core's configs, or of a framework's own beside them."""


def _place(config: EffectiveConfig, key: str) -> tuple[str, tuple[str, ...]] | None:
    """Give a key's own name and the tables that may have it; None where nothing is known of its place."""
    name = config.framework.name
    if name in FLAGS:
        own = name != "megatron-lm" or config.launch.entry.rsplit("/", 1)[-1] in OWN_ENTRIES
        if not own or "." in key or key.startswith(ENGINES) or config.launch.find("yaml_cfg") is not None:
            return None
        return key, FLAGS[name]
    section, _, last = key.rpartition(".")
    wanted = SECTIONS.get(name, ())
    inside = f"{section}."
    if name == "megatron-bridge":
        return (last, ("megatron-bridge", "megatron-core")) if inside in wanted else None
    return (last, ("megatron-core",)) if inside.endswith(wanted) and wanted else None


def _judge(config: EffectiveConfig, write: Write, key: str, names: tuple[str, ...]) -> Iterator[Verdict]:
    forms = (key, key.removeprefix("no_"))  # the parser makes `--no-x` of a field x that is on
    windows = [table(name)[form] for name in names for form in forms if form in table(name)]
    if not windows:
        known = nearest(key, names)
        if known:
            yield _misspelt(config, write, key, known)
        return
    if names != ("megatron-lm",) or not config.pinned("megatron-core"):
        return
    version = config.version("megatron-core")
    if any(holds(window, version) for window in windows):
        return
    since, until = windows[0]
    when = f"it comes with {since}" if since and not holds((since, ""), version) else f"it is gone since {until}"
    yield Verdict(
        f"{key} is no flag of Megatron-LM with megatron-core {version}: {when}, so the parser refuses it, and every "
        "rank stops at start.",
        Outcome.CRASH_START,
        subject=key,
        span=write.value.span,
        severity=Severity.WARNING,
        fix=Fix(f"Leave {key} out, or use a release that has it."),
    )


def _misspelt(config: EffectiveConfig, write: Write, key: str, known: str) -> Verdict:
    refused = config.framework.name in FLAGS
    what = "the parser refuses it, and every rank stops at start" if refused else f"nothing reads it, and {known} stays"
    return Verdict(
        f"{key} is no setting of {config.framework.title}, which has {known}: {what}{'' if refused else ' as it is'}.",
        Outcome.CRASH_START if refused else Outcome.IGNORED,
        subject=key,
        span=write.value.span,
        severity=None if refused else Severity.WARNING,
        fix=_rename(config, write, key, known),
    )


def _rename(config: EffectiveConfig, write: Write, key: str, known: str) -> Fix:
    """The name that is meant must not be given already: which of the two counts is then not ours to say."""
    text = f"Write {known} in place of {key}."
    right = f"{write.key.removesuffix(key)}{known}"
    if write.value.span is None or config.launch.find(right) is not None:
        return Fix(text)
    return Fix(text, wishes=(Wish("rename", write.value.span, write.key, known),), safe=True)


RULE = UnknownKey
