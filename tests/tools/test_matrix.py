"""The matrix rule x surface: what it says of a rule that has nothing to say on a surface is so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from faults import FAULTS, REASONS
from matrix import ALONE, FORMS, has_fixtures, matrix, nothing_to_say, of_page, reasons_of, table
from mutate import Fault, spellings

from meshlint.config.effective import option
from meshlint.config.launch import Launch, Pin, Write
from meshlint.config.registry import framework
from meshlint.config.surface import Context
from meshlint.config.value import Data, Kind, Origin, written
from meshlint.config.versions import resolve
from meshlint.engine.judge import Ground, Judgement, judge
from meshlint.place import Span
from meshlint.rule import LaunchRule
from meshlint.sources.tree import Tree
from meshlint_rules import rules

PAGE = (Path(__file__).parents[2] / "docs" / "matrix.md").read_text("utf-8")
RULES = {rule.code: rule for rule in rules()}
PLACE = Span("launch", 1)
ROLES: dict[str, dict[str, Data]] = {
    "verl": {"actor_rollout_ref.actor.strategy": "megatron"},
    "nemo-rl": {"policy.megatron_cfg.enabled": True},
    "roll": {"actor_train.strategy_args.strategy_name": "megatron_train"},
    "areal": {"actor.backend": "megatron:d1p1t1"},
}
"""What makes a role of Megatron's, where a framework has others."""
PLAIN: dict[str, Data] = {
    "num_layers": 16,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_query_groups": 8,
    "tensor_model_parallel_size": 1,
    "pipeline_model_parallel_size": 1,
    "micro_batch_size": 1,
    "global_batch_size": 16,
    "seq_length": 4096,
    "transformer_impl": "transformer_engine",
    "packed_sequences": False,
    "is_hybrid_model": False,
    "multi_latent_attention": False,
    "use_checkpoint_args": False,
    "spec": None,
    "hybrid_layer_pattern": None,
    "experimental_attention_variant": None,
}
"""A launch whose every field that a rule may want is known."""


def facts() -> Iterator[tuple[str, str]]:
    """Give each rule and framework of which a fact is claimed, and not just that a setting has no key there."""
    for code, by_framework in REASONS.items():
        for name in by_framework:
            if all(spellings(framework(name), setting) for setting in _fault(code).settings):
                yield code, name


def _fault(code: str) -> Fault:
    return next(fault for fault in FAULTS if fault.code == code)


def judged(code: str, name: str, folder: Path) -> Judgement:
    """Judge a rule's fault, written in a launch of a framework, by that rule."""
    fault, model, rule = _fault(code), framework(name), RULES[code]
    assert issubclass(rule, LaunchRule)
    named = {f"@{field}": data for field, data in {**PLAIN, **fault.settings}.items()} | ROLES.get(name, {})
    writes = tuple(Write(key, written(data, Origin(Kind.WRITTEN, key, PLACE))) for key, data in named.items())
    world = written(8, Origin(Kind.WRITTEN, "8", PLACE))
    launch = Launch(name, "train", "test", "launch", PLACE, writes, world=world)
    pins = tuple(Pin(library, f"=={v}", option(v, f"--pin {library}={v}")) for library, v in fault.pins.items())
    assert model.roles(launch)
    ground = Ground(model, resolve(launch, model, Context(Tree(folder, (folder,)), pins=pins)))
    return judge([launch], ground, [rule()])


@pytest.mark.parametrize(("code", "name"), list(facts()))
def test_a_fault_of_which_there_is_nothing_to_say_is_passed_over(code: str, name: str, tmp_path: Path) -> None:
    judgement = judged(code, name, tmp_path)
    assert judgement.failures == ()
    assert judgement.coverage.not_judged == ()
    assert judgement.judged == ()


@pytest.mark.parametrize("code", ["HCP001", "CTX002", "CTX010"])
def test_a_fault_of_which_there_is_something_to_say_is_found(code: str, tmp_path: Path) -> None:
    assert judged(code, "megatron-lm", tmp_path).judged


@pytest.mark.parametrize("code", table(PAGE))
def test_every_reason_on_the_page_is_one(code: str) -> None:
    """A setting that the rule needs has no key in the framework, or a fact of the framework is named, and checked."""
    told = reasons_of(PAGE)
    for form, cell in table(PAGE)[code].items():
        if cell.isdigit():
            reason = nothing_to_say(code, form[1])
            assert reason, (code, form, "there is something to say, and neither a launch nor a fixture shows it")
            assert told[cell].removesuffix(".") == reason.removesuffix(".")
            assert not has_fixtures(code, form)


def test_what_stands_alone_is_of_rules_without_a_fault() -> None:
    assert set(ALONE) & {fault.code for fault in FAULTS} == set()
    assert all(RULES[code].frameworks for code in ALONE if code not in ("CFG001", "LCH001"))  # type: ignore[attr-defined]


def test_the_page_is_the_one_that_is_made() -> None:
    assert matrix(of_page(PAGE)) == PAGE
    assert set(next(iter(table(PAGE).values()))) <= set(FORMS)
