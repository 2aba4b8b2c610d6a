"""Where Megatron-LM's functional tests run: the workload recipes beside them, `tests/test_utils/recipes`.

A recipe names a model folder, a training script, nodes and GPUs a node, and under `products` the test cases that run
so; a product may give nodes or GPUs of its own (`tests/test_utils/python_scripts/recipe_parser.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from meshlint.config.surface import Context
from meshlint.config.value import Kind, Origin, Value, derived_from, unknown, written
from meshlint.records import dataclass
from meshlint.sources.tree import Text, Unreadable
from meshlint.sources.yaml import Node, parse

FOLDER = "test_utils/recipes/"
SURFACE = "functional-test recipe"
_SCRIPT = "TRAINING_SCRIPT_PATH="
MAX_PRODUCTS = 5000
"""Products of one recipe."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where one test case runs: in which recipe, by which script, on how many nodes and GPUs."""

    path: str
    script: str
    nodes: Value
    gpus: Value
    factory: Value | None = None
    """The recipe of NeMo that `nemo llm pretrain --factory` takes."""

    @property
    def world(self) -> Value:
        """Give the number of ranks.

        A recipe that asks for one GPU says no number: the run script starts 8 unless its environment says otherwise
        (main tests/functional_tests/shell_test_utils/_run_training.sh:202).
        """
        if self.nodes.data == 1 and self.gpus.data == 1 and self.path:
            return unknown("the recipe asks for one GPU, and the run script starts 8 ranks", *self.gpus.origins)
        if isinstance(self.nodes.data, int) and isinstance(self.gpus.data, int):
            return derived_from(self.nodes.data * self.gpus.data, "nodes times GPUs a node", self.gpus, self.nodes)
        return unknown("the recipe gives no number of nodes or GPUs", *self.gpus.origins, *self.nodes.origins)


Sites = Mapping[tuple[str, str], tuple[Site, ...]]
"""Sites by model folder and test case."""


def sites(tests: str, case: tuple[str, str], context: Context) -> tuple[Site, ...]:
    """Give where a test case (model folder, name) runs, by the recipes of a `tests` folder that speak of it.

    Each recipe is read once a run, and only if a case that is asked about stands in it.
    """
    found: list[Site] = []
    for path in _recipes(f"{tests}{FOLDER}", context):
        known = context.shared.get(f"{SURFACE}={path}")
        if isinstance(known, dict):
            found += known.get(case, ())
            continue
        try:
            text = context.tree.read(path)
        except Unreadable:
            continue
        if case[1] in text.text:
            found += _recipe(text, context).get(case, ())
    return tuple(found)


def _recipes(folder: str, context: Context) -> tuple[str, ...]:
    key = f"{SURFACE}:{folder}"
    known = context.shared.get(key)
    if not isinstance(known, tuple):
        known = tuple(p for p in context.files if p.startswith(folder) and p.endswith((".yaml", ".yml")))
        context.shared[key] = known
    return known


def _recipe(text: Text, context: Context) -> Sites:
    known = context.shared.get(f"{SURFACE}={text.path}")
    if isinstance(known, dict):
        return known
    found: dict[tuple[str, str], tuple[Site, ...]] = {}
    for case, site in _sites(text):
        found[case] = (*found.get(case, ()), site)
    context.shared[f"{SURFACE}={text.path}"] = found
    return found


def _sites(text: Text) -> Iterator[tuple[tuple[str, str], Site]]:
    try:
        documents = parse(text)
    except Unreadable:
        return
    for root in documents:
        spec, products = root.get("spec"), root.get("products")
        if spec is not None and products is not None:
            yield from _products(spec, products, text)


def _products(spec: Node, products: Node, text: Text) -> Iterator[tuple[tuple[str, str], Site]]:
    model, script = spec.get("model"), _script(spec)
    for product in products.items[:MAX_PRODUCTS]:
        cases = product.get("test_case")
        rows = product.get("products")
        if model is None or cases is None or not cases.items or rows is None:
            continue
        for row in rows.items:
            factory = _factory(row)
            for nodes in _numbers(row, spec, "nodes"):
                for gpus in _numbers(row, spec, "gpus"):
                    yield (model.text, cases.items[0].text), Site(text.path, script, nodes, gpus, factory)


def _factory(row: Node) -> Value | None:
    node = row.get("nemo_model")
    named = next(iter(node.items), node) if node is not None else None
    if named is None or named.kind != "scalar":
        return None
    return written(named.text, Origin(Kind.WRITTEN, named.text, named.span, SURFACE, note="--factory"))


def _script(spec: Node) -> str:
    body = spec.get("script")
    for line in (body.text if body is not None else "").splitlines():
        word = line.strip().replace('\\"', "").strip("'\" ")
        if word.startswith(_SCRIPT):
            return word.removeprefix(_SCRIPT)
    return ""


def _numbers(row: Node, spec: Node, name: str) -> Iterator[Value]:
    """Give the numbers of a product, one or a list, else that of the recipe."""
    node = row.get(name) or spec.get(name)
    if node is None:
        yield unknown(f"the recipe has no {name}")
        return
    for item in node.items or (node,):
        origin = Origin(Kind.WRITTEN, text=item.text, span=item.span, surface=SURFACE, note=name)
        yield written(item.data, origin) if isinstance(item.data, int) else unknown(f"{name} is no number", origin)
