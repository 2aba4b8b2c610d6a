"""Megatron-LM's functional tests: `model_config.yaml` with MODEL_ARGS.

`MODEL_ARGS` maps flags to values, `MODEL_ARGS_2` and so on replace it in later runs; each is a launch. The value
grammar is that of `tests/functional_tests/shell_test_utils/_run_training.sh`: true is a bare flag, `[a b]` are several
words, `(...)` and anything with a space are one word, an empty value drops the flag. Variables come from ENV_VARS. The
script and the number of ranks come from the recipes (`functional_recipes`); a case that runs on several numbers of
ranks is one launch for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from meshlint.config.commands.flags import PARSER, Grammar, misspelt
from meshlint.config.launch import Launch, Write
from meshlint.config.surface import Context
from meshlint.config.surfaces.functional_recipes import Site, sites
from meshlint.config.value import Data, Kind, Origin, Value, derived_from, unknown, written
from meshlint.place import Span
from meshlint.sources.tree import Reader, Unreadable
from meshlint.sources.yaml import Node, parse
from meshlint.words import plural

NAME = "functional-test"
CASES = "functional_tests/test_cases/"
ARGUMENTS = "MODEL_ARGS"
_GRAMMAR = Grammar(dashed=PARSER)

SCRIPTS: Mapping[str, str] = {
    "bert": "examples/bert/pretrain_bert.py",
    "t5": "examples/t5/pretrain_t5.py",
    "hybrid": "pretrain_hybrid.py",
    "nemotron": "pretrain_hybrid.py",
    "multimodal-llava": "pretrain_vlm.py",
    "mimo": "examples/mimo/train.py",
    "gpt-nemo": "nemo llm pretrain",
}
"""The script of a model folder where no recipe names it (main tests/test_utils/recipes/h100/*.yaml); else GPT's."""


class FunctionalTest:
    """The surface; a file of this name without MODEL_ARGS is no launch."""

    name = NAME

    def claims(self, path: str) -> bool:
        """Claim files by their fixed name."""
        return PurePosixPath(path).name == "model_config.yaml"

    def entries(self, paths: Iterable[str], context: Context) -> Iterable[str]:
        """Judge every file alone."""
        return paths

    def launches(self, path: str, context: Context) -> Iterator[Launch]:
        """Give one launch for each set of arguments and each number of ranks that it runs on."""
        reader = context.reader()
        try:
            documents = parse(reader.read(path))
        except Unreadable as trouble:
            context.problem(Span(trouble.path, trouble.line, trouble.column), trouble.sentence)
            return
        for root in documents[:1]:
            yield from _launches(path, root, reader, context)


def _launches(path: str, root: Node, reader: Reader, context: Context) -> Iterator[Launch]:
    places = _sites(path, context)
    environment = _environment(root)
    variables = {**environment, **context.environment}
    for key, key_node, arguments in root.pairs():
        if not key.startswith(ARGUMENTS) or arguments.kind != "mapping":
            continue
        writes = tuple(_writes(arguments, variables))
        for label, alike in places:
            site = alike[0] if alike else None
            script = site.script if site is not None and site.script else _default_script(path)
            world, nodes, gpus = _ranks(root, key, site)
            if len({(one.nodes.data, one.gpus.data) for one in alike}) > 1:
                nodes = gpus = _on_either(alike)
            yield Launch(
                framework="nemo2" if "nemo" in script.lower() else "megatron-lm",
                entry=script,
                surface=NAME,
                identity=f"{path}::{key}{label}",
                place=key_node.span,
                writes=(*_kind_of_run(root, script), *_factory(site), *writes),
                environment=environment,
                nodes=nodes,
                gpus_per_node=gpus,
                world=world,
                reads=frozenset(reader.seen | {one.path for one in alike}),
            )


def _sites(path: str, context: Context) -> list[tuple[str, tuple[Site, ...]]]:
    """Give the case's sites by their number of ranks, with a label where there are several numbers."""
    tests, found, case = path.partition(CASES)
    parts = PurePosixPath(case).parts
    if not found or len(parts) < 3:
        return [("", ())]
    by_world: dict[Data, tuple[Site, ...]] = {}
    for site in sites(tests, (parts[0], parts[1]), context):
        by_world[site.world.data] = (*by_world.get(site.world.data, ()), site)
    if len(by_world) < 2:
        return [("", next(iter(by_world.values()), ()))]
    ordered = sorted(by_world.items(), key=lambda item: str(item[0]))
    return [(f" on {world} ranks" if world is not None else "", alike) for world, alike in ordered]


def _on_either(alike: tuple[Site, ...]) -> Value:
    """Leave nodes open where recipes cut the same ranks into different ones (main h100/moe.yaml, gb200/moe.yaml)."""
    cuts = sorted({(one.nodes.data, one.gpus.data) for one in alike}, key=str)
    told = " and ".join(f"{plural(nodes, 'node')} of {gpus}" for nodes, gpus in cuts if isinstance(nodes, int))
    return unknown(f"its recipes start it on {told}", *(one.gpus.origins[0] for one in alike if one.gpus.origins))


def _default_script(path: str) -> str:
    parts = PurePosixPath(path.partition(CASES)[2]).parts
    return SCRIPTS.get(parts[0] if parts else "", "pretrain_gpt.py")


def _ranks(root: Node, key: str, site: Site | None) -> tuple[Value | None, Value | None, Value | None]:
    """Give ranks, nodes and GPUs a node; `MODEL_ENV_VARS` may give a run GPUs of its own."""
    nodes, gpus = (site.nodes, site.gpus) if site is not None else (None, None)
    runs = root.get("MODEL_ENV_VARS")
    own = runs.get(key) if runs is not None else None
    count = own.get("GPUS_PER_NODE") if own is not None else None
    if count is not None and isinstance(count.data, int):
        gpus = written(count.data, _origin(count))
    if gpus is None or not isinstance(gpus.data, int):
        return None, nodes, gpus
    if nodes is None:
        return derived_from(gpus.data, "one node of this many GPUs", gpus), None, gpus
    path = site.path if site is not None and gpus is site.gpus else ""
    return Site(path, "", nodes, gpus).world, nodes, gpus


def _kind_of_run(root: Node, script: str) -> Iterator[Write]:
    """Say where a run does not train: an inference script, or MODE: inference."""
    mode = root.get("MODE")
    if mode is not None and mode.text == "inference":
        yield Write("@training", written(False, _origin(mode)))
    elif "/inference/" in script:
        yield Write("@training", derived_from(False, f"{script} does not train"))


def _factory(site: Site | None) -> tuple[Write, ...]:
    return (Write("@factory", site.factory),) if site is not None and site.factory is not None else ()


def _environment(root: Node) -> dict[str, Value]:
    """Read ENV_VARS; a BEFORE_SCRIPT may set others."""
    variables = root.get("ENV_VARS")
    environment: dict[str, Value] = {}
    if root.get("BEFORE_SCRIPT") is not None:
        environment["*"] = unknown("BEFORE_SCRIPT may set it")
    if variables is not None and variables.kind == "mapping":
        for name, _, node in variables.pairs():
            environment[name] = _expanded(node.text, _origin(node), environment)
    return environment


def _writes(arguments: Node, variables: Mapping[str, Value]) -> Iterator[Write]:
    own = {id(key) for key, _ in arguments.entries}
    seen: set[str] = set()
    for name, key, node in arguments.pairs():
        if node.kind == "scalar" and node.text == "" and node.quoted:
            continue
        flag = _flag(name)
        value = misspelt(name, _value(node, variables), _GRAMMAR)
        yield Write(flag, value, same_place=flag in seen)
        if id(key) in own:
            seen.add(flag)


def _flag(name: str) -> str:
    """Spell a flag as a key; what is no flag (a NeMo path) stays as it is."""
    return name[2:].replace("-", "_") if name.startswith("--") else name.lstrip("-")


def _value(node: Node, variables: Mapping[str, Value]) -> Value:
    origin = _origin(node)
    text = _plain(node)
    if text == "true" or node.data is True:
        return written(True, origin)
    value = _expanded(text, origin, variables)
    if value.is_unknown or not (text[:1] == "[" and text[-1:] == "]"):
        return value
    return value.with_data(tuple(str(value.data).strip("[]").split()))


_UNQUOTED = str.maketrans("", "", "'\"\\")


def _plain(node: Node) -> str:
    """Give a value as one line of text, as `tostring` and `xargs` leave it."""
    if node.kind == "sequence":
        return f"[{', '.join(item.text for item in node.items)}]"
    text = "null" if node.data is None and not node.quoted else node.text
    return text.translate(_UNQUOTED).strip()


def _origin(node: Node) -> Origin:
    return Origin(Kind.WRITTEN, text=node.text or _plain(node), span=node.span, surface=NAME)


def _expanded(text: str, origin: Origin, variables: Mapping[str, Value]) -> Value:
    """Put variables in, `$X` or `${X}`, their places first; one that is not known makes the whole value unknown."""
    whole, at = "", 0
    places: tuple[Origin, ...] = (origin,)
    while (dollar := text.find("$", at)) >= 0:
        name, end = _name(text, dollar + 1)
        if not name:
            whole, at = whole + text[at : dollar + 1], dollar + 1
            continue
        value = variables.get(name) or unknown(f"{name} is set by whoever runs the test")
        if value.is_unknown:
            return unknown(value.reason, *places)
        whole, at = f"{whole}{text[at:dollar]}{value.data}", end
        places = (*value.origins, *places)
    return written(whole + text[at:], *places)


def _name(text: str, at: int) -> tuple[str, int]:
    """Read a variable's name behind a dollar sign; gives it and the place behind it."""
    braced = text[at : at + 1] == "{"
    start = end = at + braced
    while end < len(text) and (text[end] == "_" or text[end].isalnum()):
        end += 1
    if braced and text[end : end + 1] != "}":
        return "", at
    return text[start:end], end + braced


SURFACE = FunctionalTest()
