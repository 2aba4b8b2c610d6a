"""Compares what Megatron-LM's validators said with what meshlint said, by the tables beside this file.

    python tests/oracle/disagreements.py TAG mutations.jsonl answers.jsonl verdicts.jsonl

`refusals.tsv` says of each refusal of the validators which rules speak of it, or why none does; `accepted.tsv` says of
each rule why the validators may accept what it reports. Whatever no row explains is printed and counted:

- missed: refused for what rules speak of, and none of them said so
- unread: refused for what has no row
- contradicted: accepted, though a rule says that every rank stops at start
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


Tables = "tuple[list[Refusal], set[str]]"


def rows(name: str) -> Iterator[list[str]]:
    """Give the rows of a table, its head and comments left out."""
    for line in (HERE / name).read_text("utf-8").splitlines()[1:]:
        if line and not line.startswith("#"):
            yield line.split("\t")


@dataclass(frozen=True)
class Refusal:
    """A row of `refusals.tsv`: what it speaks of, the rules that speak of it too, or why none does."""

    tag: str
    where: str
    text: str
    codes: str
    reason: str

    def fits(self, tag: str, where: str, told: str) -> bool:
        """Say whether a refusal is this one; `*` is any, and each part of the text between ` & ` must be there."""
        parts = self.text.split(" & ")
        return self.tag in ("*", tag) and self.where in ("*", where) and all(part in told for part in parts)


def kind(
    tag: str, question: Mapping[str, Any], answer: Mapping[str, Any], verdict: Mapping[str, Any], tables: Tables
) -> tuple[str, str]:
    """Give what became of one question, and of what; rows match the error, what was changed, and the question's id."""
    refusals, accepted = tables
    if answer["accepted"]:
        stops = sorted({code for code, _, outcome, _ in verdict["findings"] if outcome == "crash-start"})
        against = [code for code in stops if code not in accepted]
        if against:
            return "contradicted", against[0]
        return ("accepted, with a reason", stops[0]) if stops else ("both accept", "")
    where, error = str(answer["where"]), str(answer["error"])
    told = f"{where} {error[:160]}" if where != "argparse" else f"argparse: {error.partition('error: ')[2][:60]}"
    said = {code for code, *_ in verdict["findings"]}
    whole = f"{error} | {question.get('change', '')} | {question['id']}"
    fitting = [row for row in refusals if row.fits(tag, where, whole)]
    if any(said & set(row.codes.split(",")) for row in fitting):
        return "both refuse", where
    if any(row.reason for row in fitting):
        return "refused, with a reason", where
    if not fitting:
        return "unread", told
    open_code = fitting[0].codes.split(",")[0]
    stopped = next((reason for code, _, reason in verdict["stopped"] if code == open_code), "")
    return ("not judged", f"{open_code}: {stopped}") if stopped else ("missed", f"{fitting[0].codes} {told}")


def main(words: list[str]) -> int:
    """Print the counts, and each disagreement with one question as an example."""
    tag, *files = words
    questions, answers, verdicts = (
        {d["id"]: d for d in map(json.loads, Path(f).read_text().splitlines())} for f in files
    )
    tables = [Refusal(*row) for row in rows("refusals.tsv")], {code for code, _ in rows("accepted.tsv")}
    counts: Counter[str] = Counter()
    found: dict[tuple[str, str], list[str]] = {}
    for name, answer in answers.items():
        if name not in verdicts:
            continue
        what, of = kind(tag, questions[name], answer, verdicts[name], tables)
        counts[what] += 1
        if what in ("missed", "unread", "contradicted"):
            found.setdefault((what, of), []).append(name)
    for what, count in sorted(counts.items()):
        print(f"{count:6} {what}")
    for (what, of), names in sorted(found.items(), key=lambda item: (item[0][0], -len(item[1]))):
        print(f"{len(names):6} {what}: {of}")
        for name in names[:3]:
            print(f"         {questions[name].get('change', '')}  [{name}]")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
