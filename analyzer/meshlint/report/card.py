"""Launch cards as text that a person reads at launch time: the verdict first, then a line a matter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from meshlint.card import AMISS, AS_WRITTEN, GO, NO_GO, Card, Group, Item, Line, Pad, RoleCard, Stage, Step
from meshlint.finding import Finding
from meshlint.place import Span
from meshlint.report.style import Style
from meshlint.report.text import causes, clean, judged_share, line_start
from meshlint.words import plural

MAX_FINDINGS = 8
MAX_RANKS = 8
"""Ranks of a group that are written out; others are told by the first, the second and the last."""
MAX_UNKNOWN = 3
LABEL = 10


def render(cards: Sequence[Card], style: Style, verbose: bool = False) -> Iterator[str]:
    """Give the lines of all cards, and how many may go."""
    for card in cards:
        yield from _card(card, style, verbose)
        yield ""
    if len(cards) > 1:
        yield f"{tally(cards)}."


def tally(cards: Sequence[Card]) -> str:
    """Count the launches and their verdicts; `NO-GO as written` where there are some."""
    verdicts = [card.verdict for card in cards]
    shown = [kind for kind in (GO, NO_GO, AS_WRITTEN) if kind != AS_WRITTEN or kind in verdicts]
    return f"{plural(len(cards), 'launch')}: {', '.join(f'{verdicts.count(kind)} {kind}' for kind in shown)}"


def _card(card: Card, style: Style, verbose: bool) -> Iterator[str]:
    yield f"{_shown(card.verdict, style)}  {style('bold', line_start(card.launch.identity))}  {counts(card)}"
    yield f"  {style('dim', heading(card))}"
    for finding in card.findings if verbose else card.findings[:MAX_FINDINGS]:
        severity = finding.severity.value
        where = f"{style('place', place(finding.span))}{of_roles(card, finding)}"
        yield f"  {style(severity, severity)} {finding.code} {where}  {told(finding)}"
    if len(card.findings) > MAX_FINDINGS and not verbose:
        yield f"  and {len(card.findings) - MAX_FINDINGS} more: --verbose"
    for label, text in matters(card, verbose):
        shown = text.replace("CROSSES", style("warning", "CROSSES")).replace(AMISS, style("error", AMISS))
        yield f"  {style('dim', f'{label:<{LABEL}}')} {shown}".rstrip() if text else f"  {style('bold', label)}"


def _shown(verdict: str, style: Style) -> str:
    return style({GO: "good", NO_GO: "error"}.get(verdict, "warning"), verdict)


def of_roles(card: Card, finding: Finding) -> str:
    """Name the roles that a finding is about, where it is about some of several."""
    names = {role.name for variant in card.variants for role in variant.roles}
    mine = card.roles_of(finding)
    return f" [{', '.join(map(clean, mine))}]" if mine and names - set(mine) else ""


def matters(card: Card, verbose: bool = False) -> Iterator[tuple[str, str]]:
    """Give what a card says below its findings, as label and text; a heading has no text.

    The label of several lines in a row stands before the first.
    """
    before = ""
    for label, text in _matters(card, verbose):
        yield ("" if label == before and text else label), text
        before = label


def _matters(card: Card, verbose: bool) -> Iterator[tuple[str, str]]:
    if card.undecided:
        yield "roles", f"unknown: {clean(card.undecided)}"
    elif not any(variant.roles for variant in card.variants):
        yield "roles", "none that meshlint knows to train with Megatron"
    if card.verdict == AS_WRITTEN:
        yield "as written", _as_written(card)
    for variant in card.variants:
        yield from (("where", clean(where)) for where in variant.where)
        for role in variant.roles:
            if role.name:
                yield f"[{clean(role.name)}]  {card.verdict_of(role)}", ""
            elif variant.where and role.amiss:
                yield "verdict", f"{card.verdict_of(role)} there"
            yield from role_rows(role, card.launch.span.path)
    yield from (("versions", text) for text in versions(card))
    yield from (("not judged", text) for text in unjudged(card, verbose))


def _as_written(card: Card) -> str:
    """Say why a launch may go only if something says otherwise, and what could."""
    role = next(role for variant in card.variants for role in variant.roles if role.amiss)
    lines = (role.ranks, role.nodes, role.per_node, *role.sizes.values(), role.step)
    names = dict.fromkeys(name for line in lines for item in line for name in item.unless)
    otherwise = f"{_overriding(names)} says otherwise" if names else "what the warnings name is otherwise"
    return f"it ends at start ({clean(role.amiss)}), unless {otherwise}"


def heading(card: Card) -> str:
    """Say what is started, and where."""
    return f"{card.framework}: {clean(card.entry)}, started at {place(card.launch.span)}"


def counts(card: Card) -> str:
    """Count the findings by severity, and the rules that could be judged."""
    numbers = [(kind, sum(f.severity.value == kind for f in card.findings)) for kind in ("error", "warning", "info")]
    found = ", ".join(plural(number, kind) for kind, number in numbers if number) or "no findings"
    silenced = f", {card.silenced} suppressed" if card.silenced else ""
    return f"{found}{silenced}; {judged_share([card.coverage])}"


def told(finding: Finding) -> str:
    """Give the first sentence of a finding, or its first line where no sentence ends in it."""
    line = clean(finding.message.split("\n", 1)[0])
    return line.split(". ", 1)[0].rstrip(".")


def place(span: Span) -> str:
    """Name a line."""
    return f"{line_start(span.path)}:{span.line}"


def versions(card: Card) -> Iterator[str]:
    """Give a clause a library that is pinned, and one for all those that are not."""
    pinned = [v for v in card.versions if v.pin]
    yield from (f"{v.library} {v.releases} ({clean(v.pin)})" for v in pinned)
    loose = ", ".join(f"{v.library} {v.releases}" for v in card.versions if not v.pin and v.releases != "?")
    if loose:
        yield f"{loose} (no pin: all are judged)"


def unjudged(card: Card, all_of_them: bool = False) -> Iterator[str]:
    """Give what stopped rules, the most rules first."""
    found = [str(cause) for cause in causes([card.coverage])]
    yield from found if all_of_them else found[:MAX_UNKNOWN]
    if len(found) > MAX_UNKNOWN and not all_of_them:
        yield f"{len(found) - MAX_UNKNOWN} more: --verbose"


def role_rows(role: RoleCard, home: str = "") -> list[tuple[str, str]]:
    """Give what a card says of a role, as label and text; places in the file `home` are told by their line."""
    open_: dict[str, None] = {}
    seen = {item.reason for item in role.ranks}

    def lines(line: Line, text: Callable[[Item], str]) -> Iterator[str]:
        """Tell each item of a line; one without data says nothing, one that may be overridden gets a star."""
        for item in line:
            open_.update(dict.fromkeys(item.unless))
            if item.known and item.data is None:
                continue
            if not item.known:
                yield f"{_unknown(item)}{_on(item)}"
                continue
            yield f"{text(item)}{_where(item, home)}{_on(item)}"

    rows = [("ranks", text) for text in lines(role.ranks, lambda item: f"{item.data}{_star(item)}")]
    rows += [("grid", text) for text in _grid(role, seen)]
    rows += [("experts", text) for text in _experts(role, seen)]
    rows += [("groups", text) for text in _groups(role, seen)]
    rows += [("layers", text) for text in lines(role.stages, layers)]
    rows += [("batch", text) for text in lines(role.step, step)]
    rows += [("length", text) for text in lines(role.length, lambda item: _tokens(item, role.sizes["cp"]))]
    rows += [("pads", text) for text in lines(role.pads, _pads)]
    for line in role.sizes.values():
        open_.update(dict.fromkeys(name for item in line for name in item.unless))
    return [*rows, ("*", f"unless overridden: {_overriding(open_)}")] if open_ else rows


def _unknown(item: Item) -> str:
    """Say why something is not known; what does not fit is known well enough."""
    return clean(item.reason) if AMISS in item.reason else f"unknown: {clean(item.reason)}"


def _star(item: Item) -> str:
    return "*" if item.unless else ""


def _overriding(names: Iterable[str]) -> str:
    """Name what may override values, variables of the environment together."""
    known = sorted(names)
    variables = [name.removesuffix(SET_OUTSIDE) for name in known if name.endswith(SET_OUTSIDE)]
    others = [name for name in known if not name.endswith(SET_OUTSIDE)]
    return "; ".join(clean(text) for text in ([f"{', '.join(variables)}{SET_OUTSIDE}"] if variables else []) + others)


SET_OUTSIDE = " in the environment"


def _on(item: Item) -> str:
    return f"  [{clean(item.versions)}]" if item.versions else ""


def _where(item: Item, home: str) -> str:
    """Say how data comes about and where it is written."""
    parts = [clean(item.note)] if item.note else []
    here = list(dict.fromkeys(str(span.line) for span in item.written if span.path == home))
    parts += [f"line{'s' if len(here) > 1 else ''} {', '.join(here)}"] if here else []
    parts += dict.fromkeys(place(span) for span in item.written if span.path != home)
    return f"  ({'; '.join(parts)})" if parts else ""


SHOWN = ("tp", "shards", "cp", "dp", "pp")
EXPERT = ("etp", "ep", "expert_shards", "edp")
RARE = ("shards", "expert_shards")
"""Sizes that are told where they are above 1."""


def _grid(role: RoleCard, seen: set[str]) -> Iterator[str]:
    order = " ".join(str(item.data) for item in role.order if item.known)
    kept = "-".join(word for word in order.split("-") if word != "ep") if " " not in order else order
    told = f"  ({kept}, the first varies fastest)" if kept else ""
    yield f"{product(role.sizes, SHOWN)}{told}{_beside(role)}"
    yield from _why(role.sizes, (*SHOWN, "vpp", "sp"), seen)


def _beside(role: RoleCard) -> str:
    """Name interleaving and sequence parallelism, where they are on."""
    more = [f"vpp {item.data}" for item in role.sizes["vpp"][:1] if item.known and item.data > 1]
    more += ["SP" for item in role.sizes["sp"][:1] if item.known and item.data]
    return f", {', '.join(more)}" if more else ""


def _experts(role: RoleCard, seen: set[str]) -> Iterator[str]:
    if all(item.known and item.data is None for item in role.sizes["ep"]):
        return
    if not any(item.known for item in role.sizes["ep"]):
        yield from _why(role.sizes, ("ep",), seen)
        return
    yield product(role.sizes, (*EXPERT, "pp"))
    yield from _why(role.sizes, EXPERT, seen)


def product(sizes: Mapping[str, Line], names: Sequence[str]) -> str:
    """Write sizes as a product: `tp 2 x cp 1 x dp 4 x pp 1`; `?` for one that is not known."""
    told_of = [name for name in names if name not in RARE or any(item.known and item.data != 1 for item in sizes[name])]
    return " x ".join(f"{name.replace('_', ' ')} {_size(sizes[name])}" for name in told_of)


def _size(line: Line) -> str:
    return " or ".join(f"{item.data}{_star(item)}" if item.known else "?" for item in line)


def _why(sizes: Mapping[str, Line], names: Sequence[str], seen: set[str]) -> Iterator[str]:
    """Say why sizes are not known, each reason once on a card."""
    reasons: dict[str, list[str]] = {}
    for name in names:
        for item in sizes[name]:
            if not item.known and item.reason not in seen:
                reasons.setdefault(f"{clean(item.reason)}{_on(item)}", []).append(name)
    seen.update(item.reason for name in names for item in sizes[name])
    for reason, mine in reasons.items():
        yield reason if AMISS in reason else f"{', '.join(mine)} unknown: {reason}"


def _groups(role: RoleCard, seen: set[str]) -> Iterator[str]:
    """Give the table of the groups; where they hang on open versions, that of the first."""
    lines = (role.groups, role.expert_groups)
    rows: list[Group] = [group for line in lines for group in line[0].data or ()]
    yield from table(rows)
    for line in lines:
        if len(line) > 1 and line[0].known:
            yield f"as on {clean(line[0].versions)}; other on {'; '.join(clean(item.versions) for item in line[1:])}"
    for item in (item for line in lines for item in line):
        if not item.known and item.reason not in seen:
            seen.add(item.reason)
            yield f"{_unknown(item)}{_on(item)}"
    if rows and all(group.nodes is None for group in rows):
        yield from (f"nodes unknown: {clean(item.reason)}" for item in role.per_node[:1] if not item.known)


def table(rows: Sequence[Group]) -> Iterator[str]:
    """Give a line a group, in columns: how many of how many ranks, the ranks of the first, the nodes."""
    if not rows:
        return
    wide = max(len(group.name) for group in rows)
    told_of = [(group, f"{group.count} of {group.size}", members(group.first)) for group in rows]
    number = max(len(many) for _, many, _ in told_of)
    listed = max(len(ranks) for _, _, ranks in told_of)
    for group, many, ranks in told_of:
        yield f"{group.name:<{wide}}  {many:<{number}}  {ranks:<{listed}}  {spans(group)}".rstrip()


def spans(group: Group) -> str:
    """Say whether a group stays inside a node."""
    if group.nodes is None:
        return ""
    return "inside a node" if group.nodes == 1 else f"CROSSES {group.nodes} nodes"


def members(ranks: Sequence[int]) -> str:
    """Write ranks short: `0-7`, `0,8,16,24`, `0,8,..56`."""
    if len(ranks) > 2 and ranks[-1] - ranks[0] == len(ranks) - 1:
        return f"{ranks[0]}-{ranks[-1]}"
    if len(ranks) <= MAX_RANKS:
        return ",".join(map(str, ranks))
    return f"{','.join(map(str, ranks[:4]))},..{ranks[-1]}"


def layers(item: Item) -> str:
    """Write the layers of stages: `32 = 4 stages of 8`, or `31 = stages 0-2: 8 each, stage 3: 7`."""
    held: Sequence[Stage] = item.data
    whole = f"{sum(stage.layers for stage in held)}{_star(item)}"
    if len(held) == 1:
        return f"{whole} on one stage{_ends(held[0])}"
    if len({(stage.chunks, stage.beside) for stage in held}) == 1:
        return f"{whole} = {len(held)} stages of {_stage(held[0])}"
    parts, at = [], 0
    for key, run in groupby(held, key=lambda stage: (stage.chunks, stage.beside)):
        last = at + len(list(run)) - 1
        where = f"stage {at}" if last == at else f"stages {at}-{last}"
        parts.append(f"{where}: {_stage(Stage(*key))}{' each' if last > at else ''}")
        at = last + 1
    return f"{whole} = {', '.join(parts)}"


def _stage(stage: Stage) -> str:
    chunks = stage.chunks
    if len(chunks) == 1:
        return f"{chunks[0]}{_ends(stage)}"
    if len(set(chunks)) == 1:
        return f"{stage.layers} ({len(chunks)} chunks of {chunks[0]}){_ends(stage)}"
    return f"{stage.layers} (chunks {'+'.join(map(str, chunks))}){_ends(stage)}"


def _ends(stage: Stage) -> str:
    return "".join(f" + {what}" for what in stage.beside)


def step(item: Item) -> str:
    """Write the batch arithmetic of a step."""
    cut: Step = item.data
    samples = f"{cut.samples}{_star(item)} samples a step"
    replicas = cut.replicas if cut.replicas is not None else "?"
    if cut.by_tokens:
        most = f" (at most {cut.tokens} each)" if cut.tokens is not None else ""
        return f"{samples}, over dp {replicas} in micro-batches cut by tokens{most}: how many hangs on the data"
    number = plural(cut.count, "micro-batch", "micro-batches") if cut.count is not None else "? micro-batches"
    return f"{samples} = {number} x {cut.micro} x dp {replicas}"


def _tokens(item: Item, line: Line) -> str:
    cp = line[0].data if len(line) == 1 and line[0].known else 1
    each = f", {item.data // cp} on each cp rank" if cp > 1 and item.data % cp == 0 else ""
    return f"{item.data}{_star(item)} tokens at most{each}"


def _pads(item: Item) -> str:
    return "; ".join(pad_text(pad) for pad in item.data)


def pad_text(pad: Pad) -> str:
    """Say what a length is a multiple of, what it should be, and whether that fits."""
    wants = f" wants multiples of {pad.wanted} ({pad.how})" if pad.wanted > 1 else ""
    fits = "" if pad.wanted == 1 else ", which fits" if pad.fits else ", which does NOT FIT"
    if pad.is_length:
        return f"{pad.what} = {pad.given}{wants}{fits}"
    given = f"padded to multiples of {pad.given}" if pad.given is not None else "not padded"
    return f"{pad.what} {given}{f' by {pad.by}' if pad.by else ''}{';' if wants else ''}{wants}{fits}"
