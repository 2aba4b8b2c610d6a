"""Input made to hurt, many kinds of it: each judged in a process of its own, with its CPU time and memory.

    python tests/tools/hostile.py            # run all, print a table, exit with 1 where a promise is broken
    python tests/tools/hostile.py shell      # only those whose name holds a word

What is promised of every case: status 0, 1 or 2, no traceback, at most `SECONDS` of CPU and `MEGABYTES` of memory, the
finding in the file beside it intact, and no launch lost in silence: where fewer faults are found than were planted,
MSH003 names a file of the case.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SECONDS = 2.0
MEGABYTES = 400
HARD = 12
"""Seconds of CPU after which a process is stopped."""
SHAPE = "--num-layers 4 --hidden-size 64 --num-attention-heads 4"
LAUNCH = f"torchrun --nproc_per_node 4 pretrain_gpt.py {SHAPE} --context-parallel-size 4 --cp-comm-type a2a+p2p\n"
"""A launch with one fault, HCP001."""
BESIDE = "beside.sh"

Content = bytes | str | Callable[[Path], None]


@dataclass(frozen=True)
class Case:
    """Files by name; a function as content makes the file itself. `faults` launches with HCP001 stand in them."""

    name: str
    files: Mapping[str, Content]
    faults: int = 1
    told: str = ""
    """Part of what MSH003 must say."""


@dataclass
class Result:
    """What a run did."""

    status: int
    seconds: float
    megabytes: float
    error: str
    report: dict[str, Any] = field(default_factory=dict)

    def findings(self, code: str, beside: bool = False) -> list[dict[str, Any]]:
        found = [f for f in self.report.get("findings", []) if f["code"] == code]
        return [f for f in found if (f["path"] == BESIDE) is beside]


def write(folder: Path, files: Mapping[str, Content]) -> None:
    """Write a case's files, and a launch with a fault beside them."""
    for name, content in {BESIDE: LAUNCH, **files}.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if callable(content):
            content(file)
        else:
            file.write_bytes(content.encode() if isinstance(content, str) else content)


def run(case: Case) -> Result:
    """Judge a case in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "case").mkdir()
        write(folder / "case", case.files)
        out, err = folder / "out", folder / "err"
        words = [sys.executable, "-m", "meshlint", "check", "--no-cache", "--format", "json"]
        pid = os.fork()
        if not pid:
            os.chdir(folder / "case")
            resource.setrlimit(resource.RLIMIT_CPU, (HARD, HARD))
            os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT), 1)
            os.dup2(os.open(err, os.O_WRONLY | os.O_CREAT), 2)
            environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
            os.execve(words[0], words, environment)
        _, state, used = os.wait4(pid, 0)
        text = out.read_text(errors="replace")
        report = json.loads(text) if text.startswith("{") else {}
        status = os.waitstatus_to_exitcode(state)
        seconds = used.ru_utime + used.ru_stime
        return Result(status, seconds, used.ru_maxrss / 1024, err.read_text(errors="replace"), report)


def broken(case: Case, result: Result) -> Iterator[str]:
    """Give the promises that a result breaks."""
    if result.status not in (0, 1, 2) or "Traceback" in result.error or "internal error" in result.error:
        yield f"status {result.status}: {result.error.strip().splitlines()[-1:]}"
    if result.seconds > SECONDS:
        yield f"{result.seconds:.1f} s"
    if result.megabytes > MEGABYTES:
        yield f"{result.megabytes:.0f} MB"
    wrong_settings = result.status == 2 and "meshlint.toml" in case.files
    if not wrong_settings and not result.findings("HCP001", beside=True):
        yield "the file beside it lost its finding"
    troubles = result.findings("MSH003")
    judged = sum(len(f["launches"]) for f in result.findings("HCP001"))
    if judged < case.faults and not troubles:
        yield f"{judged} of {case.faults} faults found, and nothing said"
    if case.told and not any(case.told in f["message"] for f in troubles):
        yield f"nothing says `{case.told}`: {[f['message'] for f in troubles]}"


# Shell ----------------------------------------------------------------------------------------------------------


def around(before: str, after: str = "", tail: str = LAUNCH) -> str:
    """Give a script that launches first, inside (`before` and `after` put around) and last."""
    return f"{LAUNCH}{before}{after}\n{tail}"


def ifs(count: int) -> str:
    return "".join(f"if [ $X{i} = 1 ]; then A{i}=1; fi\n" for i in range(count))


def arms(count: int) -> str:
    return "case $X in\n" + "".join(f"  a{i}) TP={i};;\n" for i in range(count)) + "esac\n"


def shells() -> Iterator[Case]:
    """Give scripts."""
    plain: dict[str, str] = {
        "case with 1,000 arms": arms(1000),
        "case with 20,000 arms": arms(20_000),
        "5,000 ifs": ifs(5000),
        "5,000 ifs on one list": "".join(f'if [ $X{i} = 1 ]; then A="$A --f{i}"; fi\n' for i in range(5000)),
        "2,000 elifs": "if [ $X = x ]; then A=1\n"
        + "".join(f"elif [ $X = {i} ]; then A={i}\n" for i in range(2000))
        + "fi\n",
        "doubled text": "A=aa\n" + "A=$A$A\n" * 64,
        "doubled unset text": "A=$A$A\n" * 64,
        "doubled list": "A=(a b)\n" + 'A=("${A[@]}" "${A[@]}")\n' * 40,
        "doubled in while true": "A=x\nwhile true; do A=$A$A; done\n",
        "list doubled in while true": 'A=(x)\nwhile true; do A=("${A[@]}" "${A[@]}"); done\n',
        "doubled in a for": "A=x\nfor i in $(seq 60); do A=$A$A; done\n",
        "20,000 assignments": "".join(f"A{i}={i}\n" for i in range(20_000)),
        "20,000 assignments of one another": "A0=1\n" + "".join(f"A{i + 1}=$A{i}\n" for i in range(20_000)),
        "50,000 continuation lines": "echo a \\\n" + "  --x 1 \\\n" * 50_000 + "  b\n",
        "braces multiplied": "A=" + "{a,b}" * 40 + "\necho " + "{a,b}" * 40 + "\n",
        "braces multiplied in a list": "A=(" + "{a,b}" * 40 + ")\n",
        "a long sequence": "A=({1..100000000})\nfor i in {1..100000000}; do :; done\n",
        "2,000 functions": "".join(f"f{i}() {{ f{i + 1}; }}\n" for i in range(2000)) + "f0\n",
        "binary recursion": "f() { f; f; }\nf\n",
        "eval of itself": 'X=\'eval "$X"; eval "$X"\'\neval "$X"\n',
        "eval 400 times": 'eval "A=1"\n' * 400,
        "pipes": "echo a" + " | tr a b" * 2000 + "\n",
        "and lists": "true" + " && A=1" * 5000 + "\n",
        "or lists": "[ $A = 1 ]" + " || [ $B = 1 ]" * 3000 + "\n",
        "long condition": "if [[ " + " || ".join(f"$X{i} == 1" for i in range(3000)) + " ]]; then A=1; fi\n",
        "long arithmetic": "A=$((" + "+".join(["1"] * 20_000) + "))\n",
        "long pattern": "A=" + "a" * 5000 + "\nB=${A//" + "*a" * 50 + "c/z}\n" * 20,
        "5,000 heredocs": "cat <<EOF\n$A\nEOF\n" * 5000,
        "5,000 substitutions": "A=$(echo $A)\n" * 5000,
        "loop in loop in loop": "for a in 1 2 3 4 5 6 7 8 9; do\n" * 8 + "A=$A$a\n" + "done\n" * 8,
        "while without end": "while :; do A=$((A+1)); done\n",
        "for without end": "for ((;;)); do A=$((A+1)); done\n",
        "200 sources of nothing": "source nowhere.sh\n" * 2000,
        "shifts": "set -- " + "a " * 20_000 + "\n" + "shift\n" * 3000,
        "a table of 20,000": "declare -A T\n" + "".join(f"T[k{i}]={i}\n" for i in range(20_000)),
        "a list filled by index": "".join(f"L[{i}]={i}\n" for i in range(20_000)),
        "a list filled by +=": "".join(f"L+=({i})\n" for i in range(20_000)),
        "reads": "read -r A B <<< '1 2'\n" * 5000,
        "printf": "printf -v A '%s' $A$A\n" * 200,
        "globs": "A=(*/*/*/*/*)\nls ../../../**\n",
        "comments": "# x\n" * 200_000,
        "ANSI": "A=$'" + "\\n" * 100_000 + "'\n",
        "unknown statements": "coproc X { a; }\nselect x in a b; do :; done\n(( 1 <<< 2 ))\n",
        "negations": "! " * 3000 + "true\n",
        "time": "time " * 3000 + "true\n",
        "env chain": "env " * 3000 + "true\n",
        "bash -c chain": 'bash -c "' * 40 + "true" + '"' * 40 + "\n",
        "redirections": "true" + " > a" * 5000 + "\n",
        "set of many in one line": " ".join(f"A{i}=1" for i in range(20_000)) + "\n",
        "very long word": "A=" + "a" * 900_000 + "\n",
        "very long line": "echo " + "a " * 450_000 + "\n",
    }
    for name, text in plain.items():
        yield Case(f"shell: {name}", {"a.sh": around(text)}, 2)
        yield Case(f"shell: {name}, then a launch", {"a.sh": text + "\n" + LAUNCH}, 1)
    nested: dict[str, tuple[str, str]] = {
        "braces": ("{ ", "; }"),
        "parens": ("( ", " )"),
        "ifs": ("if true; then\n", "\nfi"),
        "open ifs": ("if [ $X = 1 ]; then\n", "\nfi"),
        "else ifs": ("if [ $X = 1 ]; then A=1; else\n", "\nfi"),
        "cases": ("case a in a) ", ";; esac"),
        "open cases": ("case $X in a) ", ";; esac"),
        "fors": ("for x in a; do\n", "\ndone"),
        "whiles": ("while [ $X = 1 ]; do\n", "\ndone"),
        "true whiles": ("while true; do\n", "\ndone"),
        "count loops": ("for ((;;)); do\n", "\ndone"),
        "functions": ("f() { ", "; }; f"),
        "and lists": ("true && { ", "; }"),
        "subshells in if": ("if (true); then ( ", " ); fi"),
    }
    for depth in (30, 60, 400, 5000):
        for name, (opens, closes) in nested.items():
            text = opens * depth + LAUNCH.strip() + closes * depth + "\n"
            yield Case(f"shell: {depth} {name} deep", {"a.sh": around(text)}, 3)
            yield Case(f"shell: {depth} {name} deep, the only launch", {"a.sh": text}, 1)
    inner: dict[str, tuple[str, str, str]] = {
        "defaults": ("A=", "${x:-", "}"),
        "quoted defaults": ("A=", '"${x:-', '}"'),
        "substitutions": ("A=", "$(echo ", ")"),
        "backticks": ("A=", "`echo ", "`"),
        "arithmetic": ("A=$((", "(", ")"),
        "arithmetic expansions": ("A=", "$((1+", "))"),
        "replacements": ("A=", "${x//a/", "}"),
        "strings in substitutions": ("A=", '"$(echo ', ')"'),
        "arrays": ("A=", "(", ")"),
        "subscripts": ("A=", "${a[", "]}"),
        "tests": ("[[ ", "( ", " )"),
        "process substitutions": ("cat ", "<(cat ", ")"),
        "braces": ("echo ", "{a,", "}"),
    }
    for depth in (30, 60, 400, 20_000):
        for name, (start, opens, closes) in inner.items():
            text = start + opens * depth + "a" + closes * depth + (" ]]" if start == "[[ " else "")
            text += "))" if start == "A=$((" else ""
            yield Case(f"shell: {depth} {name} deep", {"a.sh": around(text + "\n")}, 2)
            yield Case(f"shell: {depth} {name} deep, then a launch", {"a.sh": f"{text}\n{LAUNCH}"}, 1)
    for name, start in {
        "if": "if true; then\n",
        "for": "for a in b; do\n",
        "while": "while true; do\n",
        "case": "case a in\n a)\n",
        "brace": "{\n",
        "paren": "(\n",
        "function": "f() {\n",
        "string": 'A="\n',
        "raw string": "A='\n",
        "expansion": "A=${x\n",
        "default": "A=${x:-\n",
        "substitution": "A=$(\n",
        "backtick": "A=`\n",
        "arithmetic": "A=$((\n",
        "heredoc": "cat <<EOF\n",
        "array": "A=(\n",
        "test": "[[ a\n",
        "ANSI": "A=$'\n",
        "bash -c": 'bash -c "\n',
        "index": "A[\n",
        "process": "cat <(\n",
    }.items():
        yield Case(f"shell: unterminated {name}", {"a.sh": f"{LAUNCH}{start}{LAUNCH}"}, 1)
        yield Case(f"shell: unterminated {name} x500", {"a.sh": f"{LAUNCH}{start * 500}{LAUNCH}"}, 1)
    for name, text in {
        "1,000 launches": LAUNCH * 1000,
        "10,000 launches": LAUNCH * 10_000,
        "1,000 different launches": "".join(LAUNCH.replace("size 64", f"size {64 + 4 * i}") for i in range(1000)),
        "launch in a loop of 1,000": f"for i in $(seq 1000); do\n{LAUNCH}done\n",
        "launch in loops of 60": f"for a in $(seq 60); do for b in $(seq 60); do\n{LAUNCH}done; done\n",
        "launch in while true": f"while true; do\n{LAUNCH}done\n",
        "launch in for((;;))": f"for ((;;)); do\n{LAUNCH}done\n",
        "launch in a long count": f"for ((i=0;i<100000;i++)); do\n{LAUNCH}done\n",
        "launch in until false": f"until false; do\n{LAUNCH}done\n",
        "a loop per launch": f"for a in 1 2 3 4 5 6 7 8; do\n{LAUNCH}done\n" * 200,
        "launch in a function called often": f"f() {{\n{LAUNCH}}}\n" + "f $X\n" * 2000,
        "launch with 5,000 flags": LAUNCH.strip() + "".join(f" --f{i} {i}" for i in range(5000)) + "\n",
        "launch on 300 branches": "".join(
            f'if [ $X{i} = 1 ]; then A="$A --micro-batch-size {i}"; fi\n' for i in range(300)
        )
        + LAUNCH.strip()
        + " $A\n",
        "launch over 50,000 lines": LAUNCH.strip() + " \\\n  --log-interval 1" * 50_000 + "\n",
        "launch of 10 MB": LAUNCH.strip() + " --x" + " a" * 500_000 + "\n",
        "launch in every arm": "case $X in\n" + "".join(f"  a{i}) {LAUNCH};;\n" for i in range(500)) + "esac\n",
        "launch under 500 ifs": "".join(f"if [ $X{i} = 1 ]; then {LAUNCH}fi\n" for i in range(500)),
    }.items():
        count = text.count("pretrain_gpt.py")
        yield Case(f"shell: {name}", {"a.sh": text}, 1 if "function" in name else 0 if "300" in name else count)


def shell_files() -> Iterator[Case]:
    """Give scripts by encoding, by size and by link."""
    for encoding in ("utf-16", "utf-32", "utf-16-le", "utf-32-le", "utf-16-be", "utf-32-be", "utf-7", "cp500"):
        # Python's UTF-7 spells nothing but the sign `+` anew: another value, which bash would hand on as it stands.
        yield Case(f"shell: {encoding}", {"a.sh": LAUNCH.encode(encoding)}, 0 if encoding == "utf-7" else 1)
    yield Case("shell: a BOM", {"a.sh": b"\xef\xbb\xbf" + LAUNCH.encode()}, 1)
    yield Case("shell: CRLF", {"a.sh": f"A=1\n{LAUNCH}".replace("\n", "\r\n")}, 1)
    yield Case("shell: CR", {"a.sh": f"A=1\n{LAUNCH}".replace("\n", "\r")}, 1)
    yield Case("shell: latin-1", {"a.sh": f"# caf\xe9\n{LAUNCH}".encode("latin-1")}, 1)
    yield Case("shell: NUL", {"a.sh": f"A=\0\n{LAUNCH}"}, 1)
    yield Case("shell: NULs at the end", {"a.sh": f"{LAUNCH}" + "\0" * 1000}, 1)
    yield Case("shell: 100 MB", {"a.sh": lambda file: _large(file)}, 1, "bytes")
    yield Case("shell: 10 MB on one line", {"a.sh": LAUNCH + "echo " + "a" * 10_000_000 + "\n"}, 1)
    yield Case("shell: 7 MB on one line", {"a.sh": LAUNCH + "echo " + "a" * 7_000_000 + "\n"}, 1)
    yield Case("shell: 7 MB of lines", {"a.sh": LAUNCH + "echo aaaaaaaaaaaa\n" * 400_000}, 1)
    ring = {f"s{i}.sh": f"source s{(i + 1) % 25}.sh\n" for i in range(25)}
    yield Case("shell: sourcing in a ring of 25", {**ring, "a.sh": f"source s0.sh\n{LAUNCH}"}, 1)
    chain = {f"s{i}.sh": f"source s{i + 1}.sh\n" for i in range(25)}
    yield Case("shell: sourcing 25 deep", {**chain, "s25.sh": LAUNCH}, 1)
    yield Case(
        "shell: sourcing 25 deep from a launch", {**chain, "s25.sh": "CP=4\n", "a.sh": f"source s0.sh\n{LAUNCH}"}, 1
    )
    mutual = {f"s{i}.sh": "".join(f"source s{j}.sh\n" for j in range(25)) + LAUNCH for i in range(25)}
    yield Case("shell: 25 that source each other", mutual, 1)
    yield Case(
        "shell: 300 sourced files",
        {
            **{f"s{i}.sh": f"A{i}=1\n" for i in range(300)},
            "a.sh": "".join(f"source s{i}.sh\n" for i in range(300)) + LAUNCH,
        },
        1,
    )
    yield Case("shell: it sources itself", {"a.sh": f"source a.sh\n. ./a.sh\nsource $0\n{LAUNCH}"}, 1)
    yield Case("shell: it sources a device", {"a.sh": f"source /dev/zero\n. /dev/stdin\n{LAUNCH}"}, 1)
    yield Case("shell: a sourced binary", {"b.sh": b"\0\1", "a.sh": f"source b.sh\n{LAUNCH}"}, 1)
    yield Case("link: dangling", {"a.sh": lambda file: file.symlink_to("gone.sh")}, 1, "link")
    yield Case(
        "link: a circle",
        {"a.sh": lambda file: file.symlink_to("b.sh"), "b.sh": lambda file: file.symlink_to("a.sh")},
        1,
    )
    yield Case("link: to itself", {"a.sh": lambda file: file.symlink_to("a.sh")}, 1)
    yield Case("link: out of the tree", {"a.sh": lambda file: file.symlink_to("/etc/passwd")}, 1)
    yield Case("link: a folder of itself", {"a": lambda file: file.symlink_to("."), "b.sh": LAUNCH}, 1)
    yield Case("link: yaml dangling", {"model_config.yaml": lambda file: file.symlink_to("gone.yaml")}, 1, "link")


def _large(file: Path) -> None:
    with file.open("wb") as stream:
        stream.truncate(100 * 1024 * 1024)


# YAML -----------------------------------------------------------------------------------------------------------

FUNCTIONAL = "MODEL_ARGS:\n  --context-parallel-size: 4\n  --cp-comm-type: a2a+p2p\n"
VERL = "actor_rollout_ref:\n  actor:\n    strategy: megatron\n    megatron:\n      context_parallel_size: 2\n"
NEMO = "policy:\n  megatron_cfg:\n    enabled: true\n    context_parallel_size: 2\n"


def yamls() -> Iterator[Case]:
    """Give YAML files."""
    bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 30)
    )
    maps = "a0: &a0 {x: 1}\n" + "".join(
        f"a{i}: &a{i} {{{','.join(f'k{j}: *a{i - 1}' for j in range(9))}}}\n" for i in range(1, 30)
    )
    merges = "a0: &a0 {x: 1}\n" + "".join(
        f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}], k{i}: 1}}\n" for i in range(1, 30)
    )
    parts = {
        "aliases": bomb,
        "aliases of mappings": maps,
        "merge keys": merges,
        "100,000 keys": "".join(f"k{i}: {i}\n" for i in range(100_000)),
        "30,000 keys": "".join(f"k{i}: {i}\n" for i in range(30_000)),
        "depth 90 of lists": "d: " + "[" * 90 + "]" * 90 + "\n",
        "depth 5,000 of lists": "d: " + "[" * 5000 + "]" * 5000 + "\n",
        "depth 90 of mappings": "d: " + "{a: " * 90 + "1" + "}" * 90 + "\n",
        "depth 500 of blocks": "".join(" " * i + f"b{i}:\n" for i in range(500)),
        "a key of 10,000": "k" * 10_000 + ": 1\n",
        "a text of 400,000": "k: " + "v" * 400_000 + "\n",
        "duplicates": "k: 1\n" * 5000,
        "tags": "k: !!python/object/apply:os.system ['touch executed']\nl: !x [1]\n",
        "numbers": "k: 1e400\nl: .nan\nm: 0x" + "f" * 5000 + "\nn: " + "9" * 5000 + "\n",
        "merge of itself": "a: &a\n  <<: *a\n  b: 1\n",
        "alias of itself": "a: &a [*a]\n",
        "NUL": "a: \0\n",
        "tabs": "\ta: 1\n",
        "unterminated": 'a: "\n',
        "Jinja": "{% for x in y %}\na: {{ x }}\n{% endfor %}\n",
        "documents": "---\na: 1\n" * 5000,
        "interpolations": "".join(f"i{i}: ${{i{i + 1}}}${{i{i + 1}}}\n" for i in range(64)) + "i64: x\n",
        "an interpolation in a ring": "i: ${j}\nj: ${i}\n",
        "interpolations nested": "i: " + "${a." * 500 + "}" * 500 + "\n",
        "empty": "",
    }
    bases = {
        "functional": ("model_config.yaml", FUNCTIONAL),
        "verl": ("verl.yaml", VERL),
        "nemo-rl": ("grpo.yaml", NEMO),
    }
    for form, (file, base) in bases.items():
        for name, text in parts.items():
            yield Case(f"yaml {form}: {name}", {file: base + text}, 0)
    for encoding in ("utf-16", "utf-32", "latin-1", "utf-16-le"):
        yield Case(f"yaml: {encoding}", {"model_config.yaml": (FUNCTIONAL + "# \xe9\n").encode(encoding)}, 1)
    yield Case("yaml: 100 MB", {"model_config.yaml": lambda file: _large(file)}, 1, "bytes")
    yield Case("yaml: 7 MB", {"model_config.yaml": FUNCTIONAL + "  --x: 1\n" * 700_000}, 1)
    ring = {f"c{i}.yaml": f"defaults: c{(i + 1) % 30}.yaml\n{NEMO}" for i in range(30)}
    yield Case("yaml: defaults in a ring", ring, 1)
    yield Case("yaml: defaults of itself", {"c.yaml": f"defaults: c.yaml\n{NEMO}"}, 1)
    chain = {f"c{i}.yaml": f"defaults: c{i + 1}.yaml\n{NEMO}" for i in range(200)}
    yield Case("yaml: defaults 200 deep", {**chain, "c200.yaml": NEMO}, 0)
    wide = "defaults:\n" + "".join(f"  - c{i}\n" for i in range(2000)) + "  - _self_\n"
    yield Case("yaml: wide defaults", {"verl.yaml": wide + VERL}, 0)
    yield Case(
        "yaml: wide defaults that exist",
        {**{f"c{i}.yaml": f"k{i}: 1\n" for i in range(300)}, "verl.yaml": wide + VERL},
        0,
    )
    mutual = {f"c{i}.yaml": "defaults:\n" + "".join(f"  - c{j}\n" for j in range(20)) + VERL for i in range(20)}
    yield Case("yaml: 20 defaults of each other", mutual, 0)


# TOML, JSON and Python ------------------------------------------------------------------------------------------


def others() -> Iterator[Case]:
    """Give TOML, JSON, pins and Python."""
    for name, text in {
        "deep lists": "x = " + "[" * 20_000 + "]" * 20_000,
        "deep tables": "x = " + "{a=" * 5000 + "1" + "}" * 5000,
        "a deep key": "a" + ".a" * 20_000 + " = 1",
        "no end": "x = [",
        "a number": "x = " + "9" * 100_000,
        "many keys": "".join(f"k{i} = {i}\n" for i in range(60_000)),
        "NUL": "x = \0",
        "a bomb of dates": "x = [" + "1979-05-27T07:32:00Z," * 40_000 + "]",
    }.items():
        yield Case(f"pyproject: {name}", {"pyproject.toml": f"[project]\nname='x'\n{text}\n"}, 0)
        yield Case(f"meshlint.toml: {name}", {"meshlint.toml": f"{text}\n"}, 0)
        yield Case(f"uv.lock: {name}", {"uv.lock": f"{text}\n", "pyproject.toml": "[project]\nname='x'\n"}, 0)
    yield Case("pyproject: utf-16", {"pyproject.toml": "[project]\nname='x'\n".encode("utf-16")}, 0)
    for name, text in {
        "1e400": '{"num_hidden_layers": 1e400, "num_attention_heads": -1e400, "num_key_value_heads": NaN}',
        "deep": "[" * 100_000 + "]" * 100_000,
        "deep objects": '{"a":' * 50_000 + "1" + "}" * 50_000,
        "a large number": '{"num_hidden_layers": ' + "9" * 100_000 + "}",
        "no end": '{"a": ',
        "a list": "[1, 2]",
        "text": '{"num_hidden_layers": "many", "num_attention_heads": [1]}',
        "null": "null",
        "empty": "",
        "many keys": "{" + ",".join(f'"k{i}": {i}' for i in range(200_000)) + "}",
    }.items():
        swift = "NPROC_PER_NODE=4 megatron sft --model ./m --context_parallel_size 4 --cp_comm_type a2a+p2p\n"
        yield Case(f"config.json: {name}", {"m/config.json": text, "a.sh": swift + LAUNCH}, 1)
    yield Case("requirements: 100,000 lines", {"requirements.txt": "a==1\n" * 100_000}, 0)
    yield Case("requirements: -r in a ring", {"requirements.txt": "-r b.txt\n", "b.txt": "-r requirements.txt\n"}, 0)
    yield Case(
        "Dockerfile: odd", {"Dockerfile": "FROM " + "a" * 100_000 + "\nRUN pip install " + "x==1 " * 50_000 + "\n"}, 0
    )
    yield from pythons()


HEAD = (
    "from megatron.bridge.training.config import ConfigContainer\nfrom megatron.bridge.models import GPTModelProvider\n"
)
BASE = "    cfg = ConfigContainer(model=GPTModelProvider(context_parallel_size=2))\n"


def recipe(body: str, before: str = "", size: str = "2") -> str:
    """Give a Bridge recipe with lines in its body."""
    return f"{HEAD}{before}\ndef recipe() -> ConfigContainer:\n{BASE}{body}    return cfg\n"


def pythons() -> Iterator[Case]:
    """Give Python files."""
    deep = 90
    for name, text in {
        "20,000 lines": recipe("".join(f"    cfg.model.field_{n} = {n}\n" for n in range(20_000))),
        "20,000 assignments": recipe("".join(f"    x{n} = {n}\n" for n in range(20_000))),
        "20,000 assignments of one another": recipe(
            "    x0 = 1\n" + "".join(f"    x{n + 1} = x{n}\n" for n in range(20_000))
        ),
        "squares": recipe("    x = 9\n" + "    x = x * x\n" * 64 + "    cfg.model.y = x\n"),
        "doubled text": recipe("    x = 'ab'\n" + "    x = x + x\n" * 64),
        "doubled list": recipe("    x = [1]\n" + "    x = x + x\n" * 64),
        "doubled unknown": recipe("    x = cfg.nothing\n" + "    x = f'{x}{x}'\n" * 64),
        "doubled tuple": recipe("    x = (1,)\n" + "    x = (x, x)\n" * 64),
        "doubled dict": recipe("    x = {}\n" + "    x = {'a': x, 'b': x}\n" * 64 + "    cfg.model.x = x\n"),
        "deep brackets": recipe(f"    x = {'(' * deep}1{')' * deep}\n"),
        "deep brackets, too many": recipe(f"    x = {'(' * 3000}1{')' * 3000}\n"),
        "deep lists": recipe(f"    x = {'[' * deep}1{']' * deep}\n"),
        "a long sum": recipe("    x = " + "+".join(["1"] * 900) + "\n"),
        "a very long sum": recipe("    x = " + "+".join(["1"] * 50_000) + "\n"),
        "a long chain": recipe("    x = cfg" + ".a" * 900 + "\n"),
        "a large literal": recipe("    x = [" + "1," * 200_000 + "]\n"),
        "a large number": recipe("    x = " + "9" * 4000 + "\n    cfg.model.y = x ** x\n"),
        "a large text": recipe("    x = '" + "a" * 1_000_000 + "'\n"),
        "a large dict": recipe("    x = {" + ",".join(f"'k{i}': {i}" for i in range(50_000)) + "}\n"),
        "recursion": recipe("    f(1)\n", "def f(n):\n    return f(n) + f(n)\n"),
        "recursion of recipes": HEAD
        + "def a() -> ConfigContainer:\n    return b()\ndef b() -> ConfigContainer:\n    return a()\n",
        "300 recipes in a chain": HEAD
        + "".join(
            f"def r{n}() -> ConfigContainer:\n    cfg = r{n + 1}()\n    cfg.model.x{n} = 1\n    return cfg\n"
            for n in range(300)
        )
        + f"def r300() -> ConfigContainer:\n{BASE}    return cfg\n",
        "300 recipes": HEAD + "".join(f"def r{n}() -> ConfigContainer:\n{BASE}    return cfg\n" for n in range(300)),
        "3,000 recipes": HEAD + "".join(f"def r{n}() -> ConfigContainer:\n{BASE}    return cfg\n" for n in range(3000)),
        "open ifs": recipe("".join(f"    if unknown({n}):\n        cfg.model.x{n} = {n}\n" for n in range(2000))),
        "nested ifs": recipe(
            "".join(f"{'    ' * (n + 1)}if unknown({n}):\n" for n in range(90)) + "    " * 91 + "x = 1\n"
        ),
        "nested loops": recipe(
            "".join(f"{'    ' * (n + 1)}for i{n} in range(100):\n" for n in range(18)) + "    " * 19 + "x = 1\n"
        ),
        "endless loop": recipe("    while True:\n        cfg.model.x = 1\n"),
        "nested comprehensions": recipe("    x = " + "[" * 18 + "1" + " for i in range(100)]" * 18 + "\n"),
        "Python 2": HEAD + "print 'a'\n",
        "a syntax error": HEAD + "def f(:\n",
        "tabs": HEAD + "def f():\n\tx = 1\n        y = 2\n",
        "nested functions": HEAD + "".join(f"{' ' * n}def f{n}():\n" for n in range(90)) + " " * 90 + "pass\n",
        "decorators": HEAD + "@a\n" * 20_000 + "def f(): pass\n",
        "f-strings": recipe("    x = " + "f'{" * 4 + "1" + "}'" * 4 + "\n"),
        "lambdas": recipe("    x = " + "lambda: " * 900 + "1\n"),
        "20,000 calls": recipe("    f(1)\n" * 20_000, "def f(n):\n    return n\n"),
        "calls of calls": recipe(
            "    f0()\n", "".join(f"def f{n}():\n    f{n + 1}()\n    f{n + 1}()\n" for n in range(40))
        ),
        "20,000 classes": HEAD + "".join(f"class C{n}(C{n + 1}):\n    x = 1\n" for n in range(20_000)),
        "NUL": HEAD + "\0\n",
        "a coding line": "# -*- coding: rot13 -*-\n" + HEAD,
    }.items():
        yield Case(f"python: {name}", {"recipes.py": text}, 0)
    for encoding in ("utf-16", "utf-32", "latin-1"):
        text = recipe("    x = 1  # \xe9\n").encode(encoding)
        yield Case(f"python: {encoding}", {"recipes.py": text}, 0, "it is" if encoding == "latin-1" else "")
    command = LAUNCH.strip().replace("torchrun", "    cmd = 'torchrun") + "'\n"
    slime = "import slime.utils.external_utils.command_utils as U\n\ndef execute():\n"
    for name, text in {
        "20,000 assignments": "".join(f"    x{n} = {n}\n" for n in range(20_000)),
        "20,000 additions": "    x = ''\n" + "    x += ' --a 1'\n" * 20_000,
        "squares": "    x = 9\n" + "    x = x * x\n" * 64,
        "doubled text": "    x = 'ab'\n" + "    x = x + x\n" * 64,
        "open ifs": "".join(f"    if unknown({n}):\n        x = {n}\n" for n in range(3000)),
        "endless loop": "    while True:\n        x = 1\n",
    }.items():
        call = (
            "    U.execute_train(train_args='--context-parallel-size 2 --cp-comm-type a2a+p2p ', num_gpus_per_node=4)\n"
        )
        yield Case(f"python slime: {name}", {"run_a.py": slime + text + call}, 0)
        yield Case(
            f"python command: {name}",
            {"run_b.py": "import os\ndef main():\n" + text + command + "    os.system(cmd)\n"},
            0,
        )
    ring = {f"m{n}.py": "".join(f"from m{k} import *\n" for k in range(30)) + recipe("") for n in range(30)}
    yield Case("python: 30 that import each other", ring, 0)


def cases() -> Iterator[Case]:
    """Give every case."""
    yield from shells()
    yield from shell_files()
    yield from yamls()
    yield from others()


def main(words: list[str]) -> int:
    """Run the cases whose name holds one of the words, or all; give 1 where a promise is broken."""
    chosen = [case for case in cases() if not words or any(word in case.name for word in words)]
    failed = 0
    worst_seconds, worst_memory = 0.0, 0.0
    for case in chosen:
        result = run(case)
        faults = list(broken(case, result))
        failed += bool(faults)
        worst_seconds, worst_memory = max(worst_seconds, result.seconds), max(worst_memory, result.megabytes)
        if faults or os.environ.get("VERBOSE"):
            print(
                f"{case.name}: {result.seconds:.2f} s, {result.megabytes:.0f} MB: {'; '.join(faults) or 'kept'}",
                flush=True,
            )
    print(f"{len(chosen)} cases, {failed} broken; at most {worst_seconds:.2f} s of CPU and {worst_memory:.0f} MB")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
