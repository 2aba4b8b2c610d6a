"""The words that meshlint reads are the words that bash passes: small generated scripts, run by the real bash."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from meshlint.sources.shell.script import evaluate
from meshlint.sources.tree import Reader, Text, Tree

BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None, reason="there is no bash here to compare with")

NAMES = ("A", "B", "C", "TP")
LISTS = ("L", "M")


def passed_by_bash(script: str) -> list[list[str]]:
    """Run a script with `stub` as a function that prints its arguments; gives them for each call."""
    assert BASH is not None
    prelude = "stub() { [ $# -eq 0 ] || printf '%s\\0' \"$@\"; printf '\\1'; }\n"
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    done = subprocess.run([BASH, "-c", prelude + script], capture_output=True, env=env, timeout=20, check=False)
    calls = done.stdout.decode().split("\1")[:-1]
    return [call.split("\0")[:-1] for call in calls]


class Cut(Exception):  # noqa: N818
    """A script was too much, as a list is that doubles again and again, and meshlint says so."""


def passed_by_meshlint(script: str, tmp_path: Path = Path("/nowhere")) -> list[list[str | None]]:
    """Follow a script; gives the words after `stub` for each command that is reached."""
    text = Text("script.sh", tmp_path / "script.sh", script)
    found = evaluate(text, Reader(Tree(tmp_path, (tmp_path,))))
    if any(trouble.ends for trouble in found.troubles):
        raise Cut
    calls = []
    for program in found.programs:
        (variant,) = program.variants()
        assert variant.words[0].text == "stub"
        calls.append([word.text for word in variant.words[1:]])
    return calls


plain = st.sampled_from(["1", "2", "8", "a", "b c", "--flag", "x=y", "", "a  b", "--cp 4", "*z"])
name = st.sampled_from(NAMES)
lists = st.sampled_from(LISTS)


def quote(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'


@st.composite
def operand(draw: st.DrawFn) -> str:
    """Draw one piece of a word."""
    which = draw(st.integers(0, 11))
    n, other, items = draw(name), draw(name), draw(lists)
    return [
        f"${n}",
        f"${{{n}}}",
        f'"${n}"',
        f'"${{{n}:-{draw(plain)}}}"',
        f"${{{n}:-8}}",
        f"${{{n}:+--on}}",
        f'"${{{items}[@]}}"',
        f"${{{items}[*]}}",
        f"${{#{items}[@]}}",
        f"$(({draw(st.integers(0, 9))} * 3 + {draw(st.integers(1, 9))}))",
        draw(st.sampled_from(["--size", "'x y'", "--k=v", '"a b"', "\\$z", '"\\"q\\""'])),
        f'"${{{other}%b*}}${{{n}##*-}}"',
    ][which]


@st.composite
def word(draw: st.DrawFn) -> str:
    return "".join(draw(st.lists(operand(), min_size=1, max_size=2)))


@st.composite
def statement(draw: st.DrawFn, depth: int = 0) -> str:
    """Draw one statement."""
    which = draw(st.integers(0, 11 if depth < 2 else 6))
    n, items = draw(name), draw(lists)
    words = " ".join(draw(st.lists(word(), max_size=3)))
    inner = lambda: "\n".join(draw(st.lists(statement(depth + 1), min_size=1, max_size=2)))  # noqa: E731
    test = draw(condition())
    if which == 0:
        return f"{n}={quote(draw(plain))}"
    if which == 1:
        return f"{n}={draw(word())}"
    if which == 2:
        return f"{n}+={quote(draw(plain))}"
    if which == 3:
        return f"{items}=({words})"
    if which == 4:
        return f"{items}+=(\n  {words} # comment\n)"
    if which == 5:
        return f"stub {words}"
    if which == 6:
        return f"(( {draw(st.sampled_from(['i', 'j']))} += {draw(st.integers(1, 5))} ))"
    if which == 7:
        return f"if {test}; then\n{inner()}\nelse\n{inner()}\nfi"
    if which == 8:
        return f"{test} && {n}=yes || {n}=no"
    if which == 9:
        return f"for {n} in {words} last; do\n{inner()}\ndone"
    if which == 10:
        return f'case "${n}" in\n 1|2) {n}=small ;;\n a*) {inner()} ;;\n *) {n}=other ;;\nesac'
    return f'f() {{ local {n}=${{1:-none}}; stub "$@" ${n}; }}\nf {words}'


@st.composite
def condition(draw: st.DrawFn) -> str:
    n, other = draw(name), draw(name)
    number = draw(st.integers(0, 9))
    return draw(
        st.sampled_from(
            [
                f'[ "${n}" = "{number}" ]',
                f'[ "${n}" != "${other}" ]',
                f"[[ ${n} == a* ]]",
                f'[[ -z "${n}" || ${other} == "8" ]]',
                f'[ -n "${n}" ]',
                f"[ ${{#{draw(lists)}[@]}} -gt {number % 3} ]",
                f"(( i > {number} ))",
                f'! [ "${n}" = a ]',
                f'test "${n}" = "{number}"',
            ]
        )
    )


SETUP = "A=1 B=a C='' TP=8 L=(x 'y z') M=() i=1 j=2\n"


@needs_bash
@settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.lists(statement(), min_size=1, max_size=6), st.lists(word(), max_size=3))
def test_words_are_those_that_bash_passes(statements: list[str], last: list[str]) -> None:
    script = SETUP + "\n".join([*statements, "stub " + " ".join(last)]) + "\n"
    try:
        words = passed_by_meshlint(script)
    except Cut:
        assume(False)
    assert words == passed_by_bash(script), script


CASES = {
    "tr": "X=$(echo \"a b\nC-d\" | tr '\\n' ' '); stub \"$X\" $(echo A-b,c | tr A-Z a-z | tr -d ,)",
    "sed": "stub $(echo 'a b' | sed 's/ /,/g') \"$(echo 'a  b   c' | sed -E 's/ +/ /g' | sed 's/  \\+/ /g')\"",
    "home": 'HOME=/h; X=~/a Y=${Q:-~/i} Z="${Q:-~/j}"; stub "$Y" "$Z" ~ ~/b $X ${Q:-~/c} "${Q:-~/d}" "~/e" x=~/f a~/g',
    "parentheses in a default": 'stub ${Q:-$(((A + 7) * (1 + A)))} "${Q:-$(( (A + 1) * 2 ))}"',
    "substring from an expression": 'X=--cp=4 N=4; stub "${X:$N+1}" ${X:$N + 1:$N-3} ${X: $N:1}',
    "words behind a redirection": "stub --a 1 < /dev/null --b 2 2> /dev/null --c",
    "words that touch an expansion": 'X=1 L=(x $X\\$z "y"$X\\$z); for Y in $X\\$z a; do stub $Y; done; stub "${L[@]}"',
    "string of options": 'O=" --a 1 \\\n  --b ${A} \\\n"\nstub $O "$O"',
    "read": 'read -r X Y Z <<< "1 2 3 4"; stub "$X" "$Y" "$Z"',
    "read list": 'IFS=, read -ra X <<< "1,2,3"; stub "${X[@]}" ${#X[@]}',
    "set and shift": 'set -- a "b c" d; shift; stub "$@" $# "$1" "${@:2}"',
    "substitution": 'X=$([ "$TP" -gt 1 ] && echo yes || echo no); stub $X',
    "printf": 'printf -v X "%s-%d" a 3; stub "$X" "$(printf "%s," 1 2)"',
    "joined": 'IFS=", "; stub "${L[*]}"',
    "replace": "X=a.b.c; stub ${X//./_} ${X/a/z} ${X%%.*} ${X#*.} ${X:1:3} ${X^^}",
    "table": 'declare -A T=([k]=v ["a b"]=2); K=k; stub "${T[$K]}" "${T["a b"]}"',
    "heredoc": 'X=$(cat <<EOF\nline $A\nEOF\n); stub "$X"',
    "eval": 'CMD="stub --a $A \'b c\'"; eval "$CMD"; eval $CMD',
    "nested default": 'stub ${Q:-${R:-$((A + 7))}} "${Q:-"x $A"}"',
    "assign default": "stub ${Q:=4}; stub $Q",
    "numbers": "stub $((2**3)) $((7/2)) $((-7%3)) $(( A > 0 ? 5 : 6 )) $((i++)) $i",
    "sequence": "stub $(seq 1 3) {1..3}",
    "while": "n=0; while [ $n -lt 3 ]; do stub $n; n=$((n + 1)); done",
    "count": "for ((k=0; k<3; k++)); do (( k == 1 )) && continue; stub $k; done",
    "break": "for k in 1 2 3; do if [ $k = 2 ]; then break; fi; stub $k; done",
    "return": 'f() { if [ "$1" = a ]; then return 1; fi; stub "$1"; }; f a || stub failed; f b',
    "subshell": "(A=9; stub $A); stub $A",
    "prefix": 'A=5 eval "stub \\$A"; stub $A',
    "unset": 'unset A; stub "${A-none}" "${A:-empty}" x$A',
    "empty test": "E=; [ -n $E ] && stub yes; [ $E = a ] || stub no; [ -z $E ] && stub empty",
    "quotes": 'stub \'a"b\' "a\'b" a\\ b $\'t\\tb\' "\\$A" "`echo $A`"',
    "basename": 'stub $(basename /a/b.sh .sh) $(dirname /a/b/c) $(basename "/x/y/")',
    "comment in array": "X=(\n --a 1 # --b 2\n # --c 3\n --d\n); stub ${X[@]}",
    "last wins": 'stub --a 1 --a=2 --a "3"',
    "entry": 'L[1]=q; L[2]=r; stub "${L[@]}" "${L[0]}" ${L[-1]}',
    "slice": 'X=(a b c d); stub "${X[@]:1:2}" "${X[@]:2}"',
    "local": "f() { local A=7; g; }; g() { stub $A; }; f; g",
    "elif": "if [ $A = 2 ]; then stub two; elif [ $A = 1 ]; then stub one; else stub none; fi",
    "case fallthrough pattern": "case x.yaml in *.json) stub j;; *.yaml|*.yml) stub y;; esac",
    "assignment with a quoted dollar": "B=${A:+--on}\\$z\nstub $B",
    "row of assignments": "A=2 B=3\nL=()\nfor C in 1; do stub $A $B $C; done\nA=5 C=6\nstub $A $C",
    "list as text": 'X="${L[@]}"; stub $X "$X"',
    "indirect": 'N=A; stub "${!N}"',
}


@needs_bash
@pytest.mark.parametrize("script", CASES.values(), ids=list(CASES))
def test_forms_that_launch_scripts_use(script: str) -> None:
    assert passed_by_meshlint(SETUP + script + "\n") == passed_by_bash(SETUP + script + "\n")
