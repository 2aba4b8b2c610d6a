"""Write the pages that come from the code: a page a rule, the fields, the settings, and what was measured.

`python docs/generate.py` writes them, `python docs/generate.py --check` exits with 1 where one is stale.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from meshlint.config.fields import FIELDS
from meshlint.config.framework import Framework
from meshlint.config.registry import FRAMEWORKS, framework
from meshlint.engine.page import markdown
from meshlint.engine.ruleset import load, summary
from meshlint.settings.read import KEYS
from meshlint.words import plural

HERE = Path(__file__).parent
NOTE = "<!-- made by docs/generate.py; edit the source that it reads -->\n\n"

ENGINE_PARTS = {
    "backend": "The choice of a backend",
    "modules": "The backend's module",
    "forward": "The forward pass over the ranks",
}
"""Where Transformer Engine refuses something."""

DEPTHS = ("gpu", "cpu", "simulate")
"""The depths of verdicts, the deepest first."""

FAMILIES = {
    "HCP": "Hierarchical context parallelism",
    "CTX": "Context parallelism",
    "PKD": "Packed sequences",
    "PAR": "Layout of ranks",
    "MOE": "Experts",
    "OVL": "Overlap of communication",
    "RCP": "Recomputation",
    "CGR": "CUDA graphs",
    "FRW": "Frameworks",
    "LCH": "Launchers",
    "CFG": "Config files",
    "COL": "Collectives",
    "GRP": "Groups",
    "DIF": "Changes",
    "TST": "Tests",
    "MSH": "Housekeeping",
}


def pages() -> dict[Path, str]:
    """Give every generated page by its path under docs/."""
    rules = load()
    made = {Path("rules") / f"{rule.code}.md": NOTE + markdown(rule) + section(rule.code) for rule in rules}
    made[Path("evidence.md")] = NOTE + "\n".join(evidence()) + "\n"
    made[Path("windows.md")] = NOTE + "\n".join(_windows()) + "\n"
    made[Path("transformer-engine.md")] = NOTE + "\n".join(_engine()) + "\n"
    made[Path("rules/index.md")] = NOTE + "\n".join(_index()) + "\n"
    made[Path("fields.md")] = NOTE + "\n".join(_fields()) + "\n"
    made[Path("settings-keys.md")] = NOTE + "\n".join(_settings()) + "\n"
    return made


def _index() -> Iterator[str]:
    yield "# Rules"
    yield from _preview()
    families: dict[str, list[str]] = {}
    for rule in load():
        weight = f"{rule.severity.value}, preview" if rule.preview else rule.severity.value
        row = f"| [{rule.code}]({rule.code}.md) | {rule.slug} | {weight} | {summary(rule)} |"
        families.setdefault(rule.family(), []).append(row)
    for family in sorted(families, key=lambda name: (list(FAMILIES).index(name) if name in FAMILIES else 99, name)):
        yield f"\n## {FAMILIES.get(family, family)} ({family})\n"
        yield "| code | slug | severity | finds |"
        yield "| --- | --- | --- | --- |"
        yield from families[family]


def _preview() -> Iterator[str]:
    """Say which rules are in preview: whole families by their name, the others by their codes."""
    rules = load()
    families = sorted({rule.family() for rule in rules})
    named = []
    for family in families:
        mine = [rule for rule in rules if rule.family() == family]
        new = [rule.code for rule in mine if rule.preview]
        named += [f"all of {family}"] if len(new) == len(mine) > 1 else new
    if named:
        yield f"\nIn preview, and judged only with `--preview` or where they are selected: {', '.join(named)}."


def _fields() -> Iterator[str]:
    yield "# Canonical fields"
    yield ""
    yield "Every form is read into these fields. `meshlint config` shows them, and rules ask for nothing else."
    yield ""
    yield "| field | meaning |"
    yield "| --- | --- |"
    for field in FIELDS.values():
        yield f"| `{field.name}` | {field.doc} |"
    for name in FRAMEWORKS:
        yield from _spellings(framework(name.replace("_", "-")))


def _spellings(model: Framework) -> Iterator[str]:
    yield f"\n## {model.title}\n"
    yield f"Versions that count: {', '.join(model.libraries)}. Of several keys, the one written last counts."
    yield ""
    yield "| field | written as |"
    yield "| --- | --- |"
    for field, keys in sorted(_by_field(model).items()):
        yield f"| `{field}` | {', '.join(f'`{key}`' for key in keys)} |"


def _by_field(model: Framework) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for spelling in model.spellings:
        found.setdefault(spelling.field, []).extend(spelling.keys)
    return found


def _settings() -> Iterator[str]:
    yield "# Settings, one by one"
    yield ""
    yield "| key | says |"
    yield "| --- | --- |"
    for key, (doc, _) in KEYS.items():
        yield f"| `{key}` | {doc} |"


def verdicts() -> dict[str, list[dict[str, Any]]]:
    """Give the verdicts by rule, the deepest first."""
    found: dict[str, list[dict[str, Any]]] = {}
    for file in sorted((HERE / "evidence").glob("*.json")):
        verdict = json.loads(file.read_text("utf-8"))
        found.setdefault(verdict["code"], []).append(verdict)
    for listed in found.values():
        listed.sort(key=lambda verdict: DEPTHS.index(verdict["depth"]))
    return found


NOT_MEASURED = {
    "MSH": "\n## Measured\n\nNothing: the rule speaks of meshlint's own work on a file, and no job shows it.\n",
    "DIF": "\n## Measured\n\nNothing of its own: the rule speaks of a change, and what the changed code then does is "
    "shown by the\nrules that judge it.\n",
    "TST": "\n## Measured\n\nNothing: the rule speaks of a test, which shows its fault where it is run.\n",
}
"""Families without reproducers, and why."""


def section(code: str) -> str:
    """Give the part of a rule's page that shows its failure, as measured at the deepest depth; "" without any."""
    listed = verdicts().get(code, [])
    if not listed:
        return NOT_MEASURED.get(code[:3], "")
    lines = [f"\n## Measured\n\n`meshlint reproduce {code}` shows it. Seen so far ([all](../evidence.md)):\n"]
    seen: set[str] = set()
    for verdict in listed:
        for case in verdict["cases"]:
            if case["name"] not in seen and all(arm["outcome"] for arm in case["arms"]):
                seen.add(case["name"])
                lines.append(f"- {case['says']}: {_both(case)} ({_where(verdict, case)}).")
    return "\n".join(lines) + "\n"


def _both(case: dict[str, Any]) -> str:
    failing, fixed = case["arms"]
    shown = "" if case["shown"] else "; **not as the rule states**"
    return f"**{failing['outcome']}**{_detail(failing, case)}; the fixed arm is {fixed['outcome']}{shown}"


def _detail(arm: dict[str, Any], case: dict[str, Any]) -> str:
    """Say how large the error is, who waits for whom, or what was raised."""
    wrong = [v for v in arm["values"] if v["relative_error"] is None or v["relative_error"] > case["tolerance"]]
    parts = []
    if wrong:
        worst = max(wrong, key=lambda v: v["relative_error"] if v["relative_error"] is not None else float("inf"))
        error = worst["relative_error"]
        size = "" if error is None else f", relative error {error:g}"
        values = "" if worst["value"].startswith("[") else f" is {worst['value']} where {worst['right']} is right"
        parts.append(f"{worst['name']} on rank {worst['rank']}{values}{size}")
    for wait in arm["waits"][:2]:
        whom = f" for rank {', '.join(map(str, wait['for']))}" if wait["for"] else ", though all have come"
        parts.append(f"rank {wait['rank']} waits in {wait['op']}{whom}")
    parts += [f"`{one['text'][:90]}`" for one in arm["errors"][:1]]
    return f" ({'; '.join(parts)})" if parts else ""


def _where(verdict: dict[str, Any], case: dict[str, Any]) -> str:
    versions = verdict["versions"]
    names = {"torch": "torch", "nccl": "NCCL", "megatron.core": "megatron-core", "transformer_engine": "TE"}
    said = [f"{shown} {versions[name]}" for name, shown in names.items() if versions.get(name)]
    gpus = verdict["hardware"].get("gpus", [])
    place = f"{len(gpus)} {gpus[0]}" if gpus else {"cpu": "gloo", "simulate": "simulated"}[verdict["depth"]]
    shared = verdict["hardware"].get("shared") and case["ranks"] > len(gpus)
    place += f" that the {case['ranks']} ranks share" if shared else ""
    return ", ".join([place, *(said if gpus else [one for one in said if not one.startswith("NCCL")])])


def evidence() -> Iterator[str]:
    """Give the page of all verdicts."""
    found = verdicts()
    yield "# Evidence"
    yield ""
    yield "What the reproducers showed, on the machines named: the failing arm and the fixed one of each case, as"
    yield "`meshlint reproduce CODE` runs them. The files in [evidence](evidence/) hold every rank's values and waits."
    yield "At depth `gpu` the cases of context parallelism run megatron-core and Transformer Engine themselves where"
    yield "*runs* says so; a stand-in is named as one."
    for code in sorted(found):
        yield f"\n## [{code}](rules/{code}.md)\n"
        yield "| depth | case | failing | fixed | runs | on |"
        yield "| --- | --- | --- | --- | --- | --- |"
        for verdict in found[code]:
            yield from (_row(verdict, case) for case in verdict["cases"])
    yield from _exchanges()


def _exchanges() -> Iterator[str]:
    """Give the table of what each exchange of context parallelism gives, right and wrong settings alike."""
    data = json.loads((HERE / "exchanges.json").read_text("utf-8"))
    gpus, versions = data["hardware"]["gpus"], data["versions"]
    yield "\n## The exchanges of context parallelism, measured\n"
    libraries = f"megatron-core {versions['megatron.core']} and Transformer Engine {versions['transformer_engine']}"
    yield f"{libraries} on {len(gpus)} {gpus[0]}: causal attention in"
    yield "bf16, 2,048 tokens, 8 heads of 128 where no other number is told, against fp32 attention over the whole"
    yield "sequence on one GPU. Each figure is the largest relative error"
    shared = sorted({row["ranks"] for row in data["settings"] if row["shared"]})
    each = "; ".join(f"with cp {ranks}, ranks share a GPU" for ranks in shared) or "each rank has a GPU"
    yield f"||value - right|| / ||right|| over the ranks, each rank's part by itself; {each}."
    yield "[The data](exchanges.json) was made by `tests/tools/exchanges.py`."
    yield ""
    yield "| setting | output | dq | dk | dv |"
    yield "| --- | --- | --- | --- | --- |"
    for row in data["settings"]:
        errors = row.get("relative_errors", {})
        cells = [f"{errors[name]:g}" for name in ("output", "dq", "dk", "dv")] if errors else []
        yield "| " + " | ".join([row["name"], *(cells or [f"`{row['raised'][:90]}`", "", "", ""])]) + " |"


def _row(verdict: dict[str, Any], case: dict[str, Any]) -> str:
    failing, fixed = case["arms"]
    mark = "" if case["shown"] else "not as stated: "
    cells = [
        verdict["depth"],
        f"{case['name']}, {plural(case['ranks'], 'rank')}",
        f"{mark}{failing['outcome'] or 'not run'}{_detail(failing, case)}",
        fixed["outcome"] or "not run",
        case["runs"],
        _where(verdict, case),
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _windows() -> Iterator[str]:
    """Give the page of the windows' edges and what proves each."""
    rows = json.loads((HERE / "windows.json").read_text("utf-8"))
    ran = [row for row in rows if any("Config" in one["how"] or "initialize" in one["how"] for one in row["by"])]
    read = [row for row in rows if row not in ran and not any("tags" in one["how"] for one in row["by"])]
    yield "# Each window, proved on these wheels"
    yield ""
    yield "A rule that speaks of some versions only claims a window of them. Each edge of each window is proved here on"
    yield "the two releases beside it: megatron-core's own code is run on both with one question (*run*), or the"
    yield "statement that makes the difference is found in the source of one of them and not of the other (*source*)."
    yield "`tests/oracle` repeats it on the wheels of the package index in every run of the tests."
    yield ""
    tagged = len(rows) - len(ran) - len(read)
    yield f"{len(rows)} edges: {len(ran)} run, {len(read)} by the source in the wheels, {tagged} by the source at the"
    yield "tags, whose files no wheel has. What real GPUs showed is on the page"
    yield "[evidence](evidence.md); where a window of Transformer Engine was measured there, it agrees."
    yield ""
    yield "Windows of a framework's table, or of launch cards, that no rule claims itself come last."
    yield ""
    yield "| rule | library | edge | says | before | after | how |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for row in sorted(rows, key=lambda one: (one["code"], one["library"])):
        yield "| " + " | ".join(_edge(row)) + " |"


def _edge(row: dict[str, Any]) -> list[str]:
    """Give the cells of one edge."""
    turn = "from" if row["opens"] else "until"
    note = f" ({row['note']})" if row["note"] else ""
    sides = [f"{row[side]}: {'; '.join(_side(one, side) for one in row['by'])}" for side in ("before", "after")]
    how = [f"run: {one['how']}" if "file" not in one else f"{one['how']}: `{one['file']}`" for one in row["by"]]
    name = f"[{row['code']}](rules/{row['code']}.md)" if row["code"].isupper() else f"table of {row['code']}"
    return [name, row["library"], f"{turn} {row['edge']}", row["says"] + note, *sides, "; ".join(dict.fromkeys(how))]


def _side(one: dict[str, Any], side: str) -> str:
    """Say what was seen on one side of an edge."""
    if "file" not in one:
        return str(one[side])
    return "line " + ", ".join(map(str, one[side])) if one[side] else "not there"


def _engine() -> Iterator[str]:
    """Give the page of what Transformer Engine refuses under context parallelism."""
    data = json.loads((HERE / "transformer-engine.json").read_text("utf-8"))
    versions = data["versions"]
    yield "# What Transformer Engine refuses under context parallelism"
    yield ""
    yield "The conditions of its choice of an attention backend and of its forward pass over several ranks, one a row,"
    yield "with the line at the first and the last version that has it. Each is read from the source of one release of"
    yield f"every minor from {versions[0]['version']} to {versions[-1]['version']};"
    yield "[the data](transformer-engine.json) has the line at each of them. A rule's window of versions follows from"
    yield "the row that names it. Where no backend is left, the first forward pass ends with a ValueError: no dot"
    yield "product attention backend."
    for part, title in ENGINE_PARTS.items():
        yield f"\n## {title}\n"
        yield f"In {_files(versions, part)}."
        yield ""
        yield "| when | then | versions | lines | rules |"
        yield "| --- | --- | --- | --- | --- |"
        yield from (_guard(one, versions) for one in data["guards"] if one["part"] == part)


def _files(versions: list[dict[str, Any]], part: str) -> str:
    """Say in which file the guards stand, and since when."""
    seen = {one[part]: one["version"] for one in reversed(versions)}
    return ", ".join(f"`{file}` from {since}" for file, since in reversed(seen.items()))


def _guard(guard: dict[str, Any], versions: list[dict[str, Any]]) -> str:
    """Give the row of one guard."""
    has = [one for one in versions if guard["name"] in one["lines"]]
    ends = has[:1] if len(has) == 1 else [has[0], has[-1]]
    lines = "; ".join(f"{one['version']}: {', '.join(map(str, one['lines'][guard['name']]))}" for one in ends)
    until = "" if has[-1] is versions[-1] else f" to {has[-1]['version']}"
    stretch = "all" if len(has) == len(versions) else f"{has[0]['version']}{until or ' on'}"
    rules = ", ".join(f"[{code}](rules/{code}.md)" for code in guard["rules"])
    return f"| {guard['when']} | {guard['then']} | {stretch} | {lines} | {rules} |"


def stale() -> list[str]:
    """Name the generated pages that are missing, differ, or belong to no rule any more."""
    made = pages()
    wrong = [str(path) for path, text in made.items() if _text(HERE / path) != text]
    gone = [f"rules/{file.name}" for file in (HERE / "rules").glob("*.md") if Path("rules") / file.name not in made]
    return sorted(wrong + gone)


def _text(file: Path) -> str | None:
    return file.read_text("utf-8") if file.is_file() else None


def write() -> None:
    """Write every page, and take away those of rules that are gone."""
    for path in stale():
        (HERE / path).unlink(missing_ok=True)
    for path, text in pages().items():
        (HERE / path).parent.mkdir(exist_ok=True)
        (HERE / path).write_text(text, "utf-8")


def main() -> int:
    """Write, or check."""
    if "--check" not in sys.argv[1:]:
        write()
        return 0
    wrong = stale()
    for path in wrong:
        print(f"docs/{path} is stale: run python docs/generate.py")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
