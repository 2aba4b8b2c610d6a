"""What the shell reader says of a script: words with their places, undecided branches, jobs inside scripts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from meshlint.sources.shell.script import Program, Script, evaluate
from meshlint.sources.shell.variants import Variant, Word
from meshlint.sources.tree import Reader, Tree

Follow = Callable[..., Script]


@pytest.fixture
def follow(tmp_path: Path) -> Callable[..., Script]:
    """Give a function that writes files and follows the first of them."""

    def call(text: str, environment: dict[str, str] | None = None, **others: str) -> Script:
        (tmp_path / "job.sh").write_text(text)
        for name, content in others.items():
            file = tmp_path / name.replace("__", "/").replace("_sh", ".sh")
            file.parent.mkdir(exist_ok=True)
            file.write_text(content)
        reader = Reader(Tree(tmp_path, (tmp_path,)))
        return evaluate(reader.read("job.sh"), reader, environment)

    return call


def only(script: Script) -> Variant:
    (program,) = script.programs
    (variant,) = program.variants()
    return variant


def texts(variant: Variant) -> list[str | None]:
    return [word.text for word in variant.words]


def after(variant: Variant, flag: str) -> Word:
    """Give the word behind a flag."""
    return variant.words[texts(variant).index(flag) + 1]


def lines(word: Word) -> list[tuple[int, int, str]]:
    return [(s.span.line, s.span.column, s.text) for s in word.spots() if s.span is not None]


def test_place_to_edit_is_where_the_value_is_written_and_uses_follow(follow: Follow) -> None:
    script = follow('TP=4\nOPTS="\n  --tp ${TP} \\\n  --cp 2\n"\ntorchrun train.py $OPTS\n')
    variant = only(script)
    assert lines(after(variant, "--tp")) == [(1, 4, "4"), (3, 8, "${TP}"), (6, 19, "$OPTS")]
    assert lines(after(variant, "--cp"))[0] == (4, 8, "2")


def test_value_of_an_equals_flag_has_its_own_column(follow: Follow) -> None:
    variant = only(follow("torchrun train.py --cp=8 a.b=3\n"))
    assert lines(variant.words[2])[0] == (1, 24, "8")
    assert lines(variant.words[3])[0] == (1, 30, "3")


def test_default_counts_with_what_would_override_it(follow: Follow) -> None:
    word = after(only(follow("CP=${CP:-8}\ntorchrun train.py --cp $CP\n")), "--cp")
    assert word.text == "8"
    assert [s.caveat for s in word.spots() if s.caveat] == ["CP in the environment"]
    assert lines(word)[0] == (1, 10, "8")


def test_environment_given_from_outside_wins_over_a_default(follow: Follow) -> None:
    word = after(only(follow("CP=${CP:-8}\ntorchrun train.py --cp $CP\n", {"CP": "4"})), "--cp")
    assert word.text == "4"
    assert not any(s.caveat for s in word.spots())
    assert (word.spots()[0].span, word.spots()[0].text) == (None, "CP=4")


def test_variable_that_nothing_sets_is_unknown_and_may_be_several_words(follow: Follow) -> None:
    words = only(follow('torchrun train.py --cp "$CP" $EXTRA --k=$K\n')).words
    quoted, bare, flag = words[3], words[4], words[5]
    assert (quoted.text, quoted.several) == (None, False)
    assert (bare.text, bare.several) == (None, True)
    assert (flag.text, flag.known) == (None, "--k=")
    assert "does not set `CP`" in quoted.reason


def test_passed_arguments_leave_no_word_but_are_told(follow: Follow) -> None:
    variant = only(follow('torchrun train.py --cp 4 "$@"\n'))
    assert texts(variant) == ["torchrun", "train.py", "--cp", "4"]
    assert variant.passed == (4, "the script's own arguments")


def test_list_that_nothing_sets_is_empty(follow: Follow) -> None:
    assert texts(only(follow('torchrun train.py ${EVAL_ARGS[@]} "${NONE[@]}"\n'))) == ["torchrun", "train.py"]


def test_undecided_condition_makes_a_variant_for_each_arm(follow: Follow) -> None:
    script = follow("CP=1\nif [ $BIG = yes ]; then\n  CP=8\nfi\ntorchrun train.py --cp $CP\n")
    found = script.programs[0].variants()
    assert [after(v, "--cp").text for v in found] == ["8", "1"]
    (arm,) = found[0].arms()
    assert (arm.text, arm.taken, arm.span.line) == ("[ $BIG = yes ]", True, 2)
    assert found[1].arms()[0].taken is False


def test_condition_that_touches_no_word_makes_no_variant(follow: Follow) -> None:
    script = follow("if [ -f log ]; then\n  LOG=1\nelse\n  mkdir -p log\nfi\ntorchrun train.py --cp 2\n")
    assert len(script.programs[0].variants()) == 1


def test_equal_tests_go_the_same_way_and_equations_exclude_each_other(follow: Follow) -> None:
    script = follow(
        "if [ $M = a ]; then TP=1; else TP=2; fi\n"
        "if [ $M = b ]; then PP=1; else PP=2; fi\n"
        "if [ $M = a ]; then CP=1; else CP=2; fi\n"
        "torchrun train.py $TP $PP $CP\n"
    )
    assert [texts(v)[2:] for v in script.programs[0].variants()] == [["1", "2", "1"], ["2", "1", "2"], ["2", "2", "2"]]


def test_known_value_decides(follow: Follow) -> None:
    script = follow(
        "M=7b\ncase $M in\n  7b|8b) L=32 ;;\n  *) L=80 ;;\nesac\n[[ $L -gt 40 ]] && X=1\ntorchrun train.py $L $X\n"
    )
    assert texts(only(script)) == ["torchrun", "train.py", "32", None]


def test_guard_that_ends_the_script_leaves_the_other_way(follow: Follow) -> None:
    script = follow(
        'if [ -z "$DATA" ]; then\n  echo usage\n  exit 1\nfi\n[ $# -lt 1 ] && exit 1\ntorchrun train.py --data $DATA\n'
    )
    assert after(only(script), "--data").text is None


def test_test_for_emptiness_is_a_default_in_other_words(follow: Follow) -> None:
    word = after(only(follow('if [ -z "$CP" ]; then\n  CP=8\nfi\ntorchrun train.py --cp $CP\n')), "--cp")
    assert word.text == "8"
    assert "CP in the environment" in [s.caveat for s in word.spots()]


def test_loop_over_arguments_runs_not_at_all(follow: Follow) -> None:
    script = follow(
        'CP=2\nLOAD=""\nwhile [[ $# -gt 0 ]]; do\n  case "$1" in\n    --cp) CP="$2"; shift 2 ;;\n'
        '    --load) LOAD="$2"; shift 2 ;;\n  esac\ndone\n[ -z "$LOAD" ] && exit 1\n'
        'torchrun train.py --cp $CP --load "$LOAD"\n'
    )
    variant = only(script)
    assert after(variant, "--cp").text == "2"
    assert "the script's own arguments" in [s.caveat for s in after(variant, "--cp").spots()]
    assert after(variant, "--load").text is None


def test_loop_over_a_literal_list_is_one_command_each(follow: Follow) -> None:
    script = follow("for CP in 2 4; do\n  torchrun train.py --cp $CP\ndone\n")
    assert [p.loops for p in script.programs] == [(("CP", "2"),), (("CP", "4"),)]
    assert lines(after(script.programs[1].variants()[0], "--cp"))[0] == (1, 13, "4")


def test_loop_that_cannot_be_counted_makes_what_it_sets_unknown(follow: Follow) -> None:
    script = follow("N=1\nwhile read -r line; do\n  N=$((N + 1))\ndone < list\ntorchrun train.py --n $N --m 2\n")
    assert after(only(script), "--n").text is None
    assert after(only(script), "--m").text == "2"


def test_sourced_file_is_found_beside_the_script_by_each_idiom(follow: Follow) -> None:
    for idiom in (
        'source "$(dirname "$0")/models/m_sh"',
        ". models/m_sh",
        'D="$(cd "$(dirname "${BASH_SOURCE[0]}")" &>/dev/null && pwd)"; source "${D}/models/m_sh"',
        "source /root/somewhere/models/m_sh",
    ):
        script = follow(
            idiom.replace("m_sh", "m.sh") + '\ntorchrun train.py "${ARGS[@]}"\n', models__m_sh="ARGS=(--layers 4)\n"
        )
        word = after(only(script), "--layers")
        assert (word.text, word.spots()[0].span.path) == ("4", "models/m.sh")
        assert "models/m.sh" in script.reads


def test_sourced_file_that_is_missing_may_set_anything(follow: Follow) -> None:
    script = follow('source /opt/other/env.sh\ntorchrun train.py "${ARGS[@]}"\n')
    word = only(script).words[2]
    assert (word.text, word.several) == (None, True)
    assert "/opt/other/env.sh" in word.reason


def test_heredoc_job_has_its_own_lines_and_outer_values(follow: Follow) -> None:
    script = follow(
        "CP=4\ncat > job2.sh <<EOF\n#!/bin/bash\n#SBATCH --nodes=2\nTP=8\n"
        "srun python train.py --cp ${CP} --tp \\$TP\nEOF\nsbatch --time 1 job2.sh\n"
    )
    variant = only(script)
    assert texts(variant) == ["srun", "python", "train.py", "--cp", "4", "--tp", "8"]
    assert lines(after(variant, "--cp"))[:2] == [(1, 4, "4"), (6, 27, "${CP}")]
    assert lines(after(variant, "--tp"))[0] == (5, 4, "8")
    assert [w.text for w in variant.directives] == ["--nodes=2"]
    assert variant.wrappers[0][0].text == "sbatch"


def test_quoted_heredoc_keeps_its_dollars(follow: Follow) -> None:
    script = follow("CP=4\nsbatch <<'EOF'\nCP=2\npython train.py --cp $CP\nEOF\n")
    assert after(only(script), "--cp").text == "2"


@pytest.mark.parametrize(
    "line",
    [
        "srun bash -c 'python train.py --cp 4'",
        'bash -c "python train.py --cp $CP"',
        'CMD="python train.py --cp $CP"; eval $CMD',
        'CMD="python train.py --cp $CP"; eval "$CMD"',
        'CMD="python train.py --cp $CP"; $CMD',
        'CMD="python train.py --cp $CP"; echo "$CMD" | bash',
        "run() { python train.py --cp $1; }; run $CP",
        'run() { "$@"; }; run python train.py --cp 4',
        "(cd there && exec python train.py --cp $CP 2>&1) | tee log",
        "bash <<EOF\npython train.py --cp $CP\nEOF",
    ],
)
def test_command_is_found_however_it_is_started(follow: Follow, line: str) -> None:
    script = follow(f"CP=4\n{line}\n")
    assert texts(only(script))[-4:] == ["python", "train.py", "--cp", "4"]


def test_condition_inside_a_value_that_is_evaluated_later_stays_open(follow: Follow) -> None:
    script = follow('if [ $SP = 1 ]; then S="--sp"; fi\nCMD="torchrun train.py ${S} --cp 4"\neval $CMD\n')
    assert [texts(v) for v in script.programs[0].variants()] == [
        ["torchrun", "train.py", "--sp", "--cp", "4"],
        ["torchrun", "train.py", "--cp", "4"],
    ]


def test_variables_of_slurm_follow_from_its_options(follow: Follow) -> None:
    variant = only(
        follow("#!/bin/bash\n#SBATCH -N 4\n\ntorchrun --nnodes $SLURM_NNODES --node_rank $SLURM_NODEID train.py\n")
    )
    assert after(variant, "--nnodes").text == "4"
    assert lines(after(variant, "--nnodes"))[0] == (2, 12, "4")
    assert after(variant, "--node_rank").reason == "Slurm sets `SLURM_NODEID` when the job runs"


def test_exported_variables_reach_the_command_and_others_do_not(follow: Follow) -> None:
    variant = only(follow("A=1\nexport B=2\nexport C\nC=3\nD=4 torchrun train.py\n"))
    assert {name: word.text for name, word in variant.environment().items()} == {"B": "2", "C": "3", "D": "4"}


def test_more_than_sixteen_ways_leave_the_rest_unknown_by_flag(follow: Follow) -> None:
    arms = "".join(f'if [ $X{i} = 1 ]; then O{i}="--f{i} 1"; fi\n' for i in range(6))
    script = follow(f"{arms}torchrun train.py {' '.join(f'$O{i}' for i in range(6))} --last 3\n")
    found = script.programs[0].variants()
    assert len(found) == 16
    for variant in found:
        assert after(variant, "--last").text == "3"
        assert [w.known for w in variant.words if w.text is None] == ["--f4=", "--f5="]


def test_flags_that_nobody_reads_make_no_variants(follow: Follow) -> None:
    script = follow(
        'if [ $W = 1 ]; then O="--wandb x"; fi\nif [ $S = 1 ]; then P="--sp"; fi\ntorchrun train.py $O $P\n'
    )
    found = script.programs[0].variants(relevant=lambda flag: flag == "--sp")
    assert [[w.text or w.known for w in v.words[2:]] for v in found] == [["--wandb=", "--sp"], ["--wandb="]]


def test_what_arms_share_is_known_though_the_condition_is_left_open(follow: Follow) -> None:
    script = follow('if [ $W = 1 ]; then O="--a 1 --b 2"; else O="--a 1 --b 3"; fi\ntorchrun train.py $O\n')
    (variant,) = script.programs[0].variants(relevant=lambda flag: False)
    assert [w.text or w.known for w in variant.words[2:]] == ["--a", "1", "--b="]


def test_comment_behind_a_continuation_ends_the_command_as_in_bash(follow: Follow) -> None:
    script = follow("torchrun train.py \\\n  --tp 2 \\\n  # --pp 2 \\\n  --cp 4\n")
    assert [texts(p.variants()[0]) for p in script.programs] == [["torchrun", "train.py", "--tp", "2"], ["--cp", "4"]]


def test_broken_line_is_told_and_the_rest_is_read(follow: Follow) -> None:
    script = follow("DATA=<path of data>\nTP=4\ntorchrun train.py --tp $TP\n")
    assert after(only(script), "--tp").text == "4"
    assert script.troubles[0].span.line == 1
    assert "not valid bash" in script.troubles[0].sentence


def test_last_line_may_end_in_a_backslash(follow: Follow) -> None:
    script = follow("torchrun train.py \\\n  --tp 4 \\\n")
    assert texts(only(script)) == ["torchrun", "train.py", "--tp", "4"]
    assert script.troubles == ()


def test_place_counts_characters_also_behind_other_alphabets(follow: Follow) -> None:
    script = follow("N='模型' # 四\nTP=4\ntorchrun train.py --name $N --tp $TP\n")
    variant = only(script)
    assert after(variant, "--name").text == "模型"
    assert lines(after(variant, "--tp")) == [(2, 4, "4"), (3, 34, "$TP")]


def programs(script: Script) -> list[Program]:
    return list(script.programs)


def test_same_input_gives_the_same_words(follow: Follow) -> None:
    text = "for A in 1 2; do if [ $X = 1 ]; then B=1; fi; torchrun train.py $A $B; done\n"
    shown = [[[texts(v) for v in p.variants()] for p in programs(follow(text))] for _ in range(2)]
    assert shown[0] == shown[1]
