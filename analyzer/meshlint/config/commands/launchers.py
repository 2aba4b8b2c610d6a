"""Launchers: what stands in front of a training program, and the ranks and variables that it gives.

`peel` takes torchrun, srun, ray and the like off a command, from the outside in, and remembers what each of them says
about nodes and processes. Whoever starts processes last, next to the program, decides how many there are.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from meshlint.config.command import HOLE, Word
from meshlint.config.value import State, Value, default, unknown
from meshlint.records import dataclass

MAX_PEELS = 20
Words = tuple[Word, ...]


@dataclass(slots=True)
class Counts:
    """What the launchers said, by name: `nodes` and `tasks` of Slurm, `nnodes` and `nproc` of torchrun, and so on."""

    said: dict[str, Value] = field(default_factory=dict)
    starter: str = ""
    """The launcher that starts the training processes: `torchrun`, `srun`, `mpirun`, `accelerate`, `deepspeed`."""
    environment: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Peeled:
    """A command without its launchers; counts are None where no launcher gives any."""

    words: Words
    environment: Mapping[str, Value]
    nodes: Value | None = None
    gpus_per_node: Value | None = None
    world: Value | None = None
    program: str = ""
    counts: Mapping[str, Value] = field(default_factory=dict)
    """What each launcher said, by name, see `Launch.counts`."""


@dataclass(frozen=True, slots=True)
class Launcher:
    """How one launcher's own words are told from the program's.

    Options take a value unless they are in `bare` or hold `=`; `counts` maps an option to the count that it gives;
    `skip` words stand between the options and the program (an image, a duration).
    """

    bare: frozenset[str] = frozenset()
    counts: Mapping[str, str] = field(default_factory=dict)
    skip: int = 0
    starter: str = ""
    variables: frozenset[str] = frozenset()
    """Options that set a variable of the environment."""
    valued: bool = True
    """Whether an option that is not in `bare` takes the next word."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TORCHRUN = Launcher(
    bare=_names("--standalone -m --module --no-python --run-path --use-env --use_env --no_python --run_path --help"),
    counts={"--nproc-per-node": "nproc", "--nnodes": "nnodes"},
    starter="torchrun",
)
_SLURM = Launcher(
    bare=_names(
        "-l --label -u --unbuffered --exclusive --overlap --no-container-mount-home --container-remap-root -v -Q -X -W "
        "--container-writable --verbose --pty --no-kill --quiet --disable-status --multi-prog -s --oversubscribe "
        "--kill-on-bad-exit --parsable -H --hold --wait --requeue --no-requeue -E --preserve-env --contiguous -k"
    )
    - _names("-W"),
    counts={
        **dict.fromkeys(("-N", "--nodes"), "nodes"),
        **dict.fromkeys(("-n", "--ntasks"), "tasks"),
        "--ntasks-per-node": "tasks_per_node",
        "--gpus-per-node": "gpus",
        "--gres": "gpus",
        **dict.fromkeys(("-G", "--gpus"), "all_gpus"),
    },
    starter="srun",
)
_MPI = Launcher(
    bare=_names(
        "--allow-run-as-root --oversubscribe -v --verbose --tag-output --display-map --report-bindings --quiet"
    ),
    counts={
        **dict.fromkeys(("-np", "-n", "--np", "-c"), "tasks"),
        **dict.fromkeys(("-npernode", "--npernode", "-N", "-ppn"), "tasks_per_node"),
    },
    variables=_names("-x -env -genv"),
    starter="mpirun",
)
_ACCELERATE = Launcher(
    bare=_names(
        "-m --module --multi_gpu --multi-gpu --use_deepspeed --use_fsdp --use_megatron_lm --same_network --no_python "
        "--cpu --tpu --debug --quiet -q --use_xpu --main_training_function"
    ),
    counts={"--num_processes": "processes", "--num-processes": "processes", "--num_machines": "nnodes"},
    starter="accelerate",
)
_DEEPSPEED = Launcher(
    bare=_names(
        "--no_python --module --no_local_rank --no_ssh_check --force_multi --bind_cores_to_rank --elastic_training"
    ),
    counts={"--num_gpus": "nproc", "--num_nodes": "nnodes"},
    starter="deepspeed",
)
_CONTAINER = Launcher(
    bare=_names(
        "--rm -i -t -it -d --detach --privileged --nv --rocm --cleanenv -e --containall --no-home --init --tty -ti "
        "--interactive --rw --root -r -w --writable-tmpfs --fakeroot"
    )
    - _names("-e"),
    variables=_names("-e --env"),
    skip=1,
)
_UV = Launcher(
    bare=_names(
        "--active --no-sync --frozen --locked --isolated --no-project --quiet -q --verbose -v --all-extras --exact "
        "--no-dev --offline --no-config --no-cache -n --native-tls --refresh -m --module --all-packages --all-groups "
        "--dev --only-dev --no-editable --inexact --no-default-groups --no-progress --no-index --no-build --no-binary "
        "--no-build-isolation --no-sources --no-env-file --upgrade -U --reinstall --compile-bytecode --managed-python "
        "--no-managed-python --no-python-downloads --system-certs -s --script --gui-script"
    )
    - _names("-m --module")
)
_PLAIN = Launcher(valued=False)

LAUNCHERS: Mapping[str, Launcher] = {
    "torchrun": _TORCHRUN,
    "torch.distributed.run": _TORCHRUN,
    "torch.distributed.launch": _TORCHRUN,
    "srun": _SLURM,
    "sbatch": replace(_SLURM, starter=""),
    "salloc": replace(_SLURM, starter=""),
    **dict.fromkeys(("mpirun", "mpiexec", "orterun", "mpiexec.hydra"), _MPI),
    "accelerate launch": _ACCELERATE,
    "deepspeed": _DEEPSPEED,
    **dict.fromkeys(("apptainer exec", "apptainer run", "singularity exec", "singularity run"), _CONTAINER),
    **dict.fromkeys(
        ("docker run", "docker exec", "podman run", "podman exec", "enroot start", "enroot exec"), _CONTAINER
    ),
    "uv run": _UV,
    "poetry run": _PLAIN,
    "pixi run": _PLAIN,
    "conda run": Launcher(bare=_names("--no-capture-output --live-stream -v")),
    "env": Launcher(bare=_names("-i - --ignore-environment"), valued=True),
    "nohup": _PLAIN,
    "time": _PLAIN,
    "exec": _PLAIN,
    "command": _PLAIN,
    "setsid": _PLAIN,
    "sudo": _PLAIN,
    "stdbuf": _PLAIN,
    "numactl": _PLAIN,
    "ionice": _PLAIN,
    "nice": Launcher(),
    "taskset": Launcher(bare=_names("-a"), valued=True),
    "timeout": Launcher(bare=_names("--foreground --preserve-status -v --verbose"), skip=1),
    "nsys profile": Launcher(bare=_names("--")),
    "ncu": Launcher(),
    "rocprof": Launcher(bare=_names("--hip-trace --stats")),
    "ssh": Launcher(skip=1),
    "coverage run": Launcher(bare=_names("-a --append -p --parallel-mode --branch")),
}
_NO_FRONT = _names(
    "echo printf pkill kill killall pgrep grep egrep fgrep rg ps which type whereis hash man pip pip3 uv conda apt "
    "apt-get yum cat tee ls rm cp mv mkdir touch test sed awk logger export alias read local declare cd ln chmod git "
    "wait trap bash sh zsh dash source eval"
)
"""Programs that only speak of a launcher that stands among their words."""
_PYTHONS = ("python", "python3", "pypy3")
_SCRIPTED = ("torch.distributed.run", "torch.distributed.launch")


def peel(
    words: Sequence[Word],
    environment: Mapping[str, Value],
    wrappers: Sequence[Sequence[Word]] = (),
    directives: Sequence[Word] = (),
) -> Peeled:
    """Take the launchers off a command.

    `wrappers` are the launchers of the script around it (`srun bash -c ...`), `directives` the job's SBATCH options.
    """
    counts = Counts()
    _options(tuple(directives), replace(_SLURM, starter=""), counts)
    for wrapper in wrappers:
        _peel_all(tuple(wrapper), counts)
    rest, program = _peel_all(tuple(words), counts)
    nodes, gpus, world = _totals(counts, {**environment, **counts.environment})
    return Peeled(rest, {**environment, **counts.environment}, nodes, gpus, world, program, counts.said)


def _peel_all(words: Words, counts: Counts) -> tuple[Words, str]:
    for _ in range(MAX_PEELS):
        name, rest, launcher = _launcher(words)
        if name == "ray":
            words = _ray(rest, counts)
            continue
        if launcher is None:
            shorter = _assignments(words, counts)
            if len(shorter) == len(words):
                shorter = _behind_front(words)
            if len(shorter) == len(words):
                break
            words = shorter
            continue
        words = _first_of_several(_options(rest, launcher, counts, name), launcher, counts)
        counts.starter = launcher.starter or counts.starter
        if launcher.starter == "srun":
            counts.said["srun"] = Value(State.SET, True)
    return words, _name(words[0]) if words else ""


def _first_of_several(words: Words, launcher: Launcher, counts: Counts) -> Words:
    """Cut off what stands behind a lone `:`, where mpirun and srun start a further program in the same job."""
    end = next((at for at, word in enumerate(words) if word.text == ":"), None)
    if end is None or launcher.starter not in ("mpirun", "srun"):
        return words
    several = unknown("several programs are started together, joined by `:`", *words[end].origins)
    counts.said.update(dict.fromkeys(("nodes", "tasks", "tasks_per_node"), several))
    return words[:end]


def _behind_front(words: Words) -> Words:
    """Take a program off that starts what stands behind it (`xargs`, `find -exec`, a profiler, a wrapper of a site).

    Only a launcher that is told of a Python program is a start of its own there.
    """
    first = _name(words[0]) if words else ""
    if not first or first in _NO_FRONT or first in _PYTHONS or first.endswith(_PROGRAMS):
        return words
    place = next((i for i in range(1, len(words)) if _starts_ranks(words[i:])), None)
    if place is None or not any((w.text or "").endswith(".py") or w.text in ("-m", "--module") for w in words[place:]):
        return words
    end = next((i for i in range(place, len(words)) if words[i].text in (";", "+", ":::", "::::")), len(words))
    return words[place:end]


_PROGRAMS = (".py", ".sh", ".bash")


def _starts_ranks(words: Words) -> bool:
    _, _, launcher = _launcher(words)
    return launcher is not None and launcher.starter in ("torchrun", "srun", "mpirun", "accelerate", "deepspeed")


def _name(word: Word) -> str:
    return posixpath.basename(word.text or "")


def _launcher(words: Words) -> tuple[str, Words, Launcher | None]:
    """Find the launcher at the front: its name, the words after it, how to read them."""
    if not words:
        return "", words, None
    first = _name(words[0])
    second = words[1].text or "" if len(words) > 1 else ""
    if first == "ray" and second == "job":
        return "ray", words[2:], None
    pair = f"{first} {second}"
    if pair in LAUNCHERS:
        return pair, words[2:], LAUNCHERS[pair]
    if first in LAUNCHERS:
        return first, words[1:], LAUNCHERS[first]
    if first in _PYTHONS or first.startswith("python3."):
        place = next((i for i, w in enumerate(words[1:6], 1) if w.text == "-m"), 0)
        module = words[place + 1].text if place and place + 1 < len(words) else None
        if module in _SCRIPTED and all((w.text or "").startswith("-") for w in words[1:place]):
            return str(module), words[place + 2 :], LAUNCHERS[str(module)]
        if module == "accelerate.commands.launch":
            return str(module), words[place + 2 :], _ACCELERATE
    return "", words, None


def _assignments(words: Words, counts: Counts) -> Words:
    """Take `NAME=value` words off the front."""
    place = 0
    while place < len(words) and _sets_variable(words[place], counts):
        place += 1
    return words[place:]


def _sets_variable(word: Word, counts: Counts) -> bool:
    text = word.text if word.text is not None else word.known
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        return False
    if word.text is None:
        counts.environment[name] = unknown(word.reason, *word.origins)
    else:
        counts.environment[name] = Value(State.SET, value, word.origins)
    return True


def _options(words: Words, launcher: Launcher, counts: Counts, name: str = "") -> Words:
    """Read a launcher's own words; gives the program and what follows it."""
    place, skip, vague = 0, launcher.skip, ""
    while place < len(words):
        word = words[place]
        text = word.text if word.text is not None else word.known
        if word.text is None and not word.known:
            vague = word.reason
            place += 1
            continue
        if text == "--":
            place += 1
            break
        if text.startswith("-") and text != "-":
            place = _option(words, place, launcher, counts)
            continue
        if name == "env" and _sets_variable(word, counts):
            place += 1
            continue
        if skip and not _starts_program(word):
            skip -= 1
            place += 1
            continue
        break
    if vague and launcher.starter:
        for key in launcher.counts.values():
            counts.said.setdefault(key, unknown(vague))
    module = _module_flag(words[:place], launcher)
    return (*module, *words[place:])


def _module_flag(words: Words, launcher: Launcher) -> Words:
    return tuple(Word("-m", w.origins) for w in words if w.text in ("-m", "--module") and w.text in launcher.bare)[:1]


def _starts_program(word: Word) -> bool:
    text = _name(word)
    return text in LAUNCHERS or text in _PYTHONS or text.endswith(".py") or text in ("bash", "sh")


def _option(words: Words, place: int, launcher: Launcher, counts: Counts) -> int:
    word = words[place]
    text = word.text if word.text is not None else word.known
    name, equals, value = text.partition("=")
    count = launcher.counts.get(name) or launcher.counts.get(name.replace("_", "-"))
    if equals or name in launcher.bare or (not launcher.valued and name not in launcher.variables):
        if equals and count:
            counts.said[count] = _count(word, value)
        if equals and name in launcher.variables:
            _sets_variable(replace(word, text=value if word.text is not None else None, known=value), counts)
        return place + 1
    glued = next((f for f in launcher.counts if len(f) == 2 and text.startswith(f) and text[2:].isdecimal()), "")
    if glued:
        counts.said[launcher.counts[glued]] = _count(word, text[2:])
        return place + 1
    after = words[place + 1] if place + 1 < len(words) else None
    if after is None:
        return place + 1
    if count:
        counts.said[count] = _count(after, after.text or "")
    if name in launcher.variables:
        _sets_variable(after, counts)
    return place + (3 if name == "--mca" else 2)


def _count(word: Word, text: str) -> Value:
    if word.text is None:
        return unknown(word.reason, *word.origins)
    low, _, high = text.partition(":")
    number = text.rpartition(":")[2] if text.startswith("gpu") else low if low == high else text
    if number.isdecimal() and len(number) < 10:
        return Value(State.SET, int(number), word.origins)
    if number in ("gpu", "auto", "cpu"):
        return unknown(f"torchrun counts the devices of the machine (`{number}`)", *word.origins)
    return unknown(f"`{text}` is not a number of its own", *word.origins)


def _ray(words: Words, counts: Counts) -> Words:
    """Read `ray job submit ... -- program`; its runtime environment sets variables."""
    border = next((i for i, w in enumerate(words) if w.text == "--"), None)
    own = words[: border if border is not None else len(words)]
    for index, word in enumerate(own):
        text = _whole(word)
        if text.startswith("--runtime-env-json="):
            _runtime_env(word, text.partition("=")[2], counts)
        elif text == "--runtime-env-json" and index + 1 < len(own):
            _runtime_env(own[index + 1], _whole(own[index + 1]), counts)
        elif text.startswith("--runtime-env"):
            counts.environment.setdefault("*", unknown("the variables of ray's --runtime-env file are not read"))
    if border is not None:
        return words[border + 1 :]
    place = next((i for i, w in enumerate(words) if _starts_program(w)), len(words))
    return words[place:]


def _whole(word: Word) -> str:
    """Give a word's text, unknown stretches as holes."""
    return word.text if word.text is not None else word.shape or word.known


def _runtime_env(word: Word, text: str, counts: Counts) -> None:
    pairs, complete = env_vars(text)
    for name, value in pairs:
        known = HOLE not in value and HOLE not in name
        counts.environment[name] = (
            Value(State.SET, value, word.origins) if known else unknown(word.reason, *word.origins)
        )
    if not complete:
        reason = word.reason or "the JSON of ray's runtime environment cannot be read"
        counts.environment.setdefault("*", unknown(reason, *word.origins))


def env_vars(text: str) -> tuple[list[tuple[str, str]], bool]:
    """Read `env_vars` of a runtime environment: what can be read of a cut or broken text, and whether it is all."""
    try:
        found = json.loads(text)
        variables = found.get("env_vars", {}) if isinstance(found, dict) else {}
        return [(str(k), _plain(v)) for k, v in variables.items()] if isinstance(variables, dict) else [], True
    except (ValueError, RecursionError):
        return list(_scan(text)), False


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _scan(text: str) -> Iterator[tuple[str, str]]:
    decoder = json.JSONDecoder()
    place = text.find('"env_vars"')
    place = text.find("{", place) + 1 if place >= 0 else 0
    while place > 0:
        try:
            place = _skip_blanks(text, place)
            key, place = decoder.raw_decode(text, place)
            place = _skip_blanks(text, place)
            if text[place : place + 1] != ":":
                return
            value, place = decoder.raw_decode(text, _skip_blanks(text, place + 1))
        except (ValueError, RecursionError):
            return
        yield str(key), _plain(value)
        place = _skip_blanks(text, place)
        if text[place : place + 1] != ",":
            return
        place += 1


def _skip_blanks(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place


# Totals ---------------------------------------------------------------------------------------------------------


def _totals(counts: Counts, environment: Mapping[str, Value]) -> tuple[Value | None, Value | None, Value | None]:
    said = counts.said
    if counts.starter in ("torchrun", "deepspeed"):
        nodes = said.get("nnodes") or default(1, f"the default of {counts.starter}")
        gpus = said.get("nproc") or _own_default(counts.starter, environment)
        return nodes, gpus, times(nodes, gpus)
    if counts.starter == "accelerate":
        world = said.get("processes")
        return said.get("nnodes"), None, world
    if counts.starter in ("srun", "mpirun"):
        return _tasks(said)
    return said.get("nodes"), said.get("gpus"), None


def _own_default(starter: str, environment: Mapping[str, Value]) -> Value:
    if starter == "torchrun":
        return default(1, "the default of torchrun")
    visible = devices(environment)
    return visible or unknown("deepspeed starts one process for each GPU of the machine")


def devices(environment: Mapping[str, Value]) -> Value | None:
    """Count the GPUs that CUDA_VISIBLE_DEVICES names."""
    value = environment.get("CUDA_VISIBLE_DEVICES")
    if value is None or not value.is_set or not str(value.data):
        return None
    return value.with_data(len(str(value.data).split(",")))


def _tasks(said: Mapping[str, Value]) -> tuple[Value | None, Value | None, Value | None]:
    nodes, each = said.get("nodes"), said.get("tasks_per_node")
    world = said.get("tasks") or (times(nodes, each) if nodes is not None and each is not None else None)
    if world is None and nodes is None and each is None:
        return None, said.get("gpus"), None
    return nodes, each or said.get("gpus"), world


def times(one: Value, other: Value) -> Value:
    """Multiply two counts."""
    for value in (one, other):
        if value.is_unknown:
            return value
    data = int(one.data) * int(other.data)
    state = State.SET if State.SET in (one.state, other.state) else State.UNSET
    return Value(state, data, one.origins + other.origins)
