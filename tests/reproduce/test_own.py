"""A finding's own sizes on the smallest mesh: what is left over stays, and every made case is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_cases import FOUND

from meshlint.reproduce.case import Case, Depth, Reproducer
from meshlint.reproduce.own import MOST, data_parallel, divided, ranks_left_over, short, smallest, without_groups
from meshlint.reproduce.run import Runner
from meshlint.reproduce.script import LINES, written
from meshlint.reproduce.verdict import text


@given(st.integers(1, 10**6), st.integers(1, 4096), st.integers(1, 2))
def test_the_smallest_degree_fails_and_no_smaller_one_does(number: int, degree: int, chunks: int) -> None:
    few = smallest(number, degree, chunks)
    ways = [one for one in range(2, min(degree, MOST) + 1) if degree % one == 0 and number % (one * chunks)]
    assert few == (ways[0] if ways else None)


@given(st.integers(1, 10**6), st.integers(1, 64))
def test_a_short_length_leaves_the_same_over(number: int, unit: int) -> None:
    small = short(number, unit)
    assert small % unit == number % unit
    assert small <= number


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        (
            {"context_parallel_size": 16, "hierarchical_context_parallel_sizes": [2, 8]},
            "16 to 4, levels [2, 8] to [2, 2]",
        ),
        ({"context_parallel_size": 6}, "6 to 2"),
        ({"context_parallel_size": 3}, "(context_parallel_size 3)"),
    ],
)
def test_missing_groups_are_shown_on_the_smallest_mesh(sizes: dict[str, object], told: str) -> None:
    own = without_groups("one", "one")(sizes)
    assert own is not None
    assert told in own.told
    with Runner() as runner:
        assert runner.run(Reproducer("HCP001", own.cases), Depth.SIMULATE).shown


@pytest.mark.parametrize("sizes", [{}, {"a": 8}, {"a": 8, "b": 0}, {"a": 8, "b": "2"}, {"a": 8, "b": 4}])
def test_sizes_that_do_not_suffice_make_no_case(sizes: dict[str, object]) -> None:
    def make(number: int, degree: int) -> tuple[Case, ...]:
        raise AssertionError("not asked")

    assert divided("a", "b", make)(sizes) is None


def test_ranks_with_samples_of_their_own() -> None:
    sizes = {"world_size": 16, "tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 2}
    assert data_parallel({**sizes, "context_parallel_size": 2}) == 2
    assert data_parallel({**sizes, "context_parallel_size": 3}) is None
    assert data_parallel(sizes) is None


@given(st.integers(1, 4096), st.integers(2, 512))
def test_few_ranks_are_left_over_as_many_are(ranks: int, product: int) -> None:
    few = ranks_left_over(ranks, product)
    if ranks % product == 0:
        assert few is None
    elif few is not None:
        assert 1 <= few[0] <= MOST
        assert few[0] % few[1]
        assert product % few[1] == 0


JOB = {"tensor_model_parallel_size": 4, "pipeline_model_parallel_size": 2, "context_parallel_size": 2}
CP, LEVELS = "context_parallel_size", "hierarchical_context_parallel_sizes"
PP, VPP = "pipeline_model_parallel_size", "virtual_pipeline_model_parallel_size"
GROUP, TYPE = "microbatch_group_size_per_vp_stage", "moe_token_dispatcher_type"
STEP = {"world_size": 16, **dict.fromkeys(("tensor_model_parallel_size", CP, "micro_batch_size"), 1), PP: 8}


OWN: list[tuple[str, dict[str, object], str]] = [
    ("PAR001", {"world_size": 24, **JOB}, "world_size 24 to 3, their product 16 to 2"),
    ("PAR001", {"world_size": 7, **JOB}, "(world_size 7, tensor_model_parallel_size 4"),
    ("PAR002", {"world_size": 16, **JOB, "expert_model_parallel_size": 16}, "ep * etp 64 to 8"),
    ("PAR006", {"seq_length": 4097, **JOB}, "tensor_model_parallel_size 4 to 2, seq_length 4097 to 3"),
    ("PAR010", {"world_size": 64, **JOB, "num_distributed_optimizer_instances": 3}, "data-parallel ranks 4)"),
    ("MOE003", {"num_moe_experts": 64, "moe_router_topk": 128}, "moe_router_topk 128)"),
    ("CTX009", {"num_layers": 48, "cp_comm_type": ["p2p", "a2a"]}, "comm types 2, num_layers 48"),
    ("HCP002", {CP: 16, LEVELS: [4, 2]}, "levels [4, 2] to [1, 2]"),
    ("HCP002", {CP: 8, LEVELS: [4, 8]}, "levels [4, 8])"),
    ("HCP002", {CP: 6, LEVELS: [2, 2]}, "(context_parallel_size 6, levels [2, 2])"),
    ("HCP003", {LEVELS: [4, 2, 2]}, "levels [4, 2, 2] to [2, 2, 2]"),
    ("HCP003", {LEVELS: [8]}, "levels [8] to [2]"),
    ("HCP004", {CP: 8, LEVELS: [2, 4]}, "levels [2, 4] to [2, 2]"),
    ("HCP007", {LEVELS: [4, 2], "cp_comm_type": "a2a"}, "levels [4, 2] to [2, 2]"),
    ("HCP009", {CP: 8}, "context_parallel_size 8 to 4"),
    ("HCP010", {LEVELS: [1, 16]}, "levels [1, 16] to [1, 2]"),
    ("PKD005", {"pad_multiple": 4, CP: 4}, "context_parallel_size 4)"),
    ("PKD005", {"pad_multiple": 66, CP: 8}, "pad multiple 66 to 2, context_parallel_size 8 to 2"),
    ("PKD002", {CP: 8}, "context_parallel_size 8 to 2"),
    ("PKD008", {"pad_multiple": 4, CP: 4}, "(pad multiple 4, context_parallel_size 4)"),
    ("PKD009", {CP: 16}, "(context_parallel_size 16)"),
    ("PAR005", {"tensor_model_parallel_size": 1, "sequence_parallel": True}, "sequence_parallel on)"),
    ("PAR007", {PP: 1, VPP: 4}, "virtual_pipeline_model_parallel_size 4 to 2"),
    ("PAR007", {PP: 2, VPP: 4, "framework": "megatron-lm"}, "(pipeline_model_parallel_size 2, virtual"),
    ("PAR009", {"subject": PP, PP: 0}, "(pipeline_model_parallel_size 0)"),
    ("PAR009", {"subject": PP, PP: -1}, "(pipeline_model_parallel_size -1)"),
    ("PAR009", {"subject": "hidden_size", "hidden_size": -4096}, "hidden_size -4096 to -64"),
    ("PAR009", {"subject": "global_batch_size", "global_batch_size": 0}, "(global_batch_size 0)"),
    ("PAR011", {**STEP, "global_batch_size": 20}, "8 to 2, in groups of 8 to 2, micro-batches 10 to 3"),
    ("PAR011", {**STEP, "global_batch_size": 8}, "8 to 2, in groups of 8 to 2, micro-batches 4 to 1"),
    ("PAR011", {**STEP, "global_batch_size": 16, GROUP: 4}, "8 to 2, in groups of 4 to 1, micro-batches 8 to 1"),
    ("MOE001", {"tensor_model_parallel_size": 8, "num_moe_experts": 64}, "8 to 2, num_moe_experts 64 to 2"),
    ("MOE004", {"subject": "moe_enable_deepep", "num_moe_experts": 64}, "num_moe_experts 64 to 4"),
    ("MOE004", {"subject": TYPE, TYPE: "ring", "num_moe_experts": 8}, "moe_token_dispatcher_type ring, about"),
    ("CTX002", {CP: 8, "subject": "A2A"}, "cp_comm_type A2A), shrunk: context_parallel_size 8 to 2"),
    ("CTX006", {CP: 8, "subject": "transformer_impl"}, "transformer_impl local), shrunk: context_parallel_size 8"),
    ("OVL001", {"subject": "overlap_param_gather"}, "(overlap_param_gather on, use_distributed_optimizer off)"),
    ("CTX010", {"cp_comm_type": ["all_gather"]}, "cp_comm_type all_gather)"),
]
"""Sizes of launches, and what is told of them."""


@pytest.mark.parametrize(("code", "sizes", "told"), OWN)
def test_a_launch_s_own_sizes_are_shrunk_and_shown(code: str, sizes: dict[str, object], told: str) -> None:
    own = FOUND[code].own
    assert own is not None
    made = own(sizes)
    assert made is not None
    assert told in made.told
    assert all(case.world <= MOST for case in made.cases)
    assert all(written(case, code).count("\n") < LINES for case in made.cases if not case.runs.startswith("a stand-in"))
    if any(Depth.SIMULATE in case.depths for case in made.cases):
        with Runner() as runner:
            verdict = runner.run(Reproducer(code, made.cases), Depth.SIMULATE)
        assert verdict.shown, "\n".join(text(verdict, ""))


CODE_SIDE = ("COL", "GRP")


def test_every_rule_of_launches_runs_their_sizes_or_says_why_not() -> None:
    launched = {code: made for code, made in FOUND.items() if not code.startswith(CODE_SIDE)}
    shown_by_skeletons = {"PKD001", "PKD007"}
    assert [c for c, made in launched.items() if not made.own and not made.sizeless] == sorted(shown_by_skeletons)


@pytest.mark.parametrize("word", ['p2p"); raise SystemExit', "a b", "\u0430", "x" * 41, "a'b", ["p2p"]])
def test_a_word_that_would_not_stand_in_an_arm_makes_no_case(word: object) -> None:
    makes = [made.own for code, made in FOUND.items() if code in ("CTX002", "MOE004") and made.own is not None]
    assert [make({CP: 8, "subject": TYPE, TYPE: word, "num_moe_experts": 8}) for make in makes[1:]] == [None]
    assert makes[0]({CP: 8, "subject": word}) is None


@pytest.mark.parametrize("code", sorted(code for code, made in FOUND.items() if made.own is not None))
@pytest.mark.parametrize("sizes", [{}, {CP: 0, LEVELS: "2"}, {CP: 1 << 70, "world_size": 3, LEVELS: [1 << 70, 3]}])
def test_odd_sizes_make_no_error_and_no_large_mesh(code: str, sizes: dict[str, object]) -> None:
    own = FOUND[code].own
    assert own is not None
    made = own(sizes)
    assert made is None or all(case.world <= MOST for case in made.cases)
