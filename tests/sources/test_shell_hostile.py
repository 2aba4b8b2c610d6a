"""Scripts made to hurt: each ends, raises nothing, and either says what was not read or still gives its command."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshlint.sources.shell.script import Script, evaluate
from meshlint.sources.shell.state import Limits
from meshlint.sources.shell.variants import MAX_VARIANTS
from meshlint.sources.tree import Reader, Text, Tree

HERE = Path("/nowhere")
END = "\ntorchrun train.py --tp 4\n"


def follow(text: str, limits: Limits | None = None) -> Script:
    return evaluate(Text("x.sh", HERE / "x.sh", text), Reader(Tree(HERE, (HERE,))), limits=limits)


def resolve(script: Script) -> list[int]:
    """Resolve every command, as a surface does; gives the number of variants of each."""
    counts = []
    for program in script.programs:
        found = program.variants()
        for variant in found:
            for word in variant.words:
                word.spots()
            variant.environment()
        counts.append(len(found))
    return counts


def branches(count: int, body: str) -> str:
    return "\n".join(f"if [ $X{i} = 1 ]; then {body.replace('@', str(i))}; fi" for i in range(count))


READ = {
    "many branches of one option list": branches(200, 'O="$O --f@"') + "\ntorchrun train.py $O\n",
    "many branches of an array": branches(200, "O+=(--f@)") + '\ntorchrun train.py "${O[@]}"\n',
    "many variables with branches": branches(60, "A@=1")
    + "\ntorchrun train.py "
    + " ".join(f"--f{i} $A{i}" for i in range(60)),
    "an eval that evaluates itself": 'X=\'eval "$X"; eval "$X"\'\neval "$X"' + END,
    "a function that calls itself": 'f() { f "$1x"; f "$1"; }\nf a' + END,
    "an endless loop": 'while true; do A="$A x"; done' + END,
    "a long count": "for ((i = 0; i < 1000000000; i++)); do A+=x; done" + END,
    "long sequences": "A=($(seq 1 1000000000)) B=({1..99999})" + END,
    "large powers": "X=$((2**62**2)) Y=$((10**1000)) Z=$((1 << 99999)) W=$((1 / 0))" + END,
    "large numbers": "X=$((" + "9" * 300 + ")) Y=1e400; [ $Y -gt 3 ]; (( Y > 3 ))" + END,
    "slow patterns": "X=" + "a" * 3000 + "b\nY=${X//" + "*a" * 60 + "c/z}; [[ $X == " + "*a" * 60 + "c ]] && Z=1" + END,
    "a slow regular expression": "X=" + "a" * 3000 + "b\n[[ $X =~ ^(a+)+$ ]] && Z=1" + END,
    "a script that sources itself": "source x.sh\n. ./x.sh\nsource $0" + END,
    "paths that lead out": "source ../../../etc/passwd\nsource /etc/passwd\n. ~/.bashrc\nsource /dev/zero" + END,
    "characters of the private area": "A=\ue000\ue001 torchrun train.py \ue000 $A <<EOF\n$B \ue000\nEOF\n"
    'bash -c "torchrun train.py \ue000 $B"\n',
    "a string that never ends": 'torchrun train.py "abc\n--x $(echo ${A:-\n',
    "an unknown operator": "X=${A@Q}${B^^[a]}${!C*}${D:(-3)}$'\\x41'" + END,
    "wrong types": "declare -A T=([a]=1); L=(1 2); X=${T[$Y]}${L[99]}${L[-9]}${#T}${T}; T+=(3); L[7]=x; L[$Q]=1" + END,
    "a condition of many parts": "[[ " + " || ".join(f"$X{i} == 1" for i in range(300)) + " ]] && A=1" + END,
    "no file at all": "",
    "carriage returns": "TP=4\r\ntorchrun train.py --tp $TP\r\n",
}


@pytest.mark.parametrize("text", READ.values(), ids=list(READ))
def test_it_is_read_within_the_bounds(text: str) -> None:
    script = follow(text)
    counts = resolve(script)
    assert all(0 < count <= MAX_VARIANTS for count in counts)
    assert counts or not text or script.troubles


CUT = {
    "branches without end": branches(3000, 'O="$O --f@"') + END,
    "arms without end": "case $X in\n" + "".join(f"a{i}) TP={i};;\n" for i in range(3000)) + "esac" + END,
    "nested branches": "if [ $A = 1 ]; then\n" * 500 + "torchrun train.py\n" + "fi\n" * 500,
    "nested substitutions": "X=" + "$(echo " * 300 + "a" + ")" * 300 + END,
    "nested defaults": "X=" + "${A:-" * 300 + "a" + "}" * 300 + END,
    "nested arithmetic": "X=$((" + "(" * 3000 + "1" + ")" * 3000 + "))" + END,
    "a chain of conditions": "[ $A = 1 ] && " * 3000 + "torchrun train.py\n",
    "a text that doubles": "X=aaaaaaaaaa\n" + "X=$X$X\n" * 40 + END,
    "a list that doubles": "X=(a b)\n" + 'X=("${X[@]}" "${X[@]}")\n' * 40 + END,
    "loops inside loops": "for a in $(seq 60); do for b in $(seq 60); do for c in $(seq 60); do\n"
    "torchrun train.py $a; done; done; done\n",
    "a line without end": "torchrun train.py " + "--a 1 " * 200_000 + "\n",
}


@pytest.mark.parametrize("text", CUT.values(), ids=list(CUT))
def test_where_reading_ends_early_it_says_so(text: str) -> None:
    script = follow(text, Limits(steps=8000, reached=50))
    assert all(count <= MAX_VARIANTS for count in resolve(script))
    assert script.troubles


def test_what_was_found_before_the_end_of_the_budget_stays() -> None:
    script = follow("torchrun train.py --tp 4\n" + branches(3000, "A@=1"), Limits(steps=2000))
    assert [[w.text for w in p.variants()[0].words] for p in script.programs] == [["torchrun", "train.py", "--tp", "4"]]
    assert "more steps" in script.troubles[-1].sentence


def test_nothing_is_executed(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    touch = f"touch {witness}"
    follow(f"{touch}\nX=$({touch})\neval '{touch}'\n[[ -n $({touch}) ]]\n`{touch}`\n")
    assert not witness.exists()


def test_junk_raises_nothing() -> None:
    dice = random.Random(3)
    for _ in range(20):
        resolve(follow("".join(dice.choice("(){}[]\"'$`\\;|&<>\n a=*#!-") for _ in range(600)), Limits(steps=3000)))


WORDS = (
    *("if ", "then ", "fi", "do ", "done", "for x in ", "case $x in ", "esac", "$(", ")", "${", "}", "$((", "))"),
    *("'", '"', "[[ ", " ]]", "[ ", " ]", "a) ", ";;", ";", "\n", " ", "x=", "x=(", "<<EOF\n", "EOF\n", "f() {"),
    *("&&", "||", "|", "$x", "\\", "#", "!", "torchrun t.py ", "eval ", "source x ", "{1..3}", "shift ", "\t"),
    *("é", "\0", "*", "@", "local "),
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(WORDS), max_size=40))
def test_pieces_of_scripts_in_any_order_raise_nothing(pieces: list[str]) -> None:
    resolve(follow("".join(pieces), Limits(steps=2000)))


FRONTED = {
    "a wrapper of the program's own name": 'torchrun() { command torchrun "$@"; }\n',
    "a wrapper that is taken back": "torchrun() { echo; }\nunset -f torchrun\n",
    "exec with nothing to start": "exec -a name\nexec -c\n",
    "digits that int() refuses": "shift ²\nset -- a\necho ${²}\n[ ² -eq 1 ] && A=1\n",
    "several signs": "[ +-5 -eq 1 ] && A=1\n",
}


@pytest.mark.parametrize("name", FRONTED)
def test_the_launch_behind_it_is_still_found(name: str) -> None:
    script = follow(FRONTED[name] + END)
    assert sum("train.py" in program.text() for program in script.programs) == 1


@pytest.mark.parametrize("start", ["case a in\n a)\n", "A=${x:-\n", "A=$((\n", "[[ a\n", "A[\n"])
def test_a_launch_lost_in_what_is_not_bash_is_told(start: str) -> None:
    script = follow(END + start * 500 + END)
    seen = sum("train.py" in program.text() for program in script.programs)
    assert seen or any(trouble.ends for trouble in script.troubles)


def test_scripts_that_source_each_other_are_followed_a_few_times_only(tmp_path: Path) -> None:
    everyone = "".join(f"source s{j}.sh\n" for j in range(25))
    for i in range(25):
        (tmp_path / f"s{i}.sh").write_text(everyone + END)
    reader = Reader(Tree(tmp_path, (tmp_path,)))
    script = evaluate(reader.read("s0.sh"), reader)
    assert 1 <= len(script.programs) <= Limits().circles + 1
    assert any("in a circle" in trouble.sentence for trouble in script.troubles)


def test_a_guarded_pair_that_sources_each_other_is_read_in_whole(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("source b.sh\nsource c.sh\n" + END)
    (tmp_path / "b.sh").write_text("source a.sh\nB=1\n")
    (tmp_path / "c.sh").write_text("C=2\n")
    reader = Reader(Tree(tmp_path, (tmp_path,)))
    script = evaluate(reader.read("a.sh"), reader)
    assert len(script.programs) == 1
    assert not script.troubles


def test_a_command_of_more_words_than_steps_is_left_before_they_are_gone_over() -> None:
    script = follow("echo " + "a " * 200_000 + END, Limits(steps=2_000))
    assert any(trouble.ends for trouble in script.troubles)
    assert sum("train.py" in program.text() for program in script.programs) == 1


def test_a_return_outside_of_functions_ends_nothing() -> None:
    script = follow("return 5\n[ -n x ] && return 0\n" + END)
    assert sum("train.py" in program.text() for program in script.programs) == 1
