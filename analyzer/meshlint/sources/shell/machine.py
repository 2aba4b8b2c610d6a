"""Statements: branches, loops, functions, pipelines, redirections; and what a command that starts a process is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from meshlint.sources.shell import slurm
from meshlint.sources.shell.conditions import test
from meshlint.sources.shell.document import Document, Mark, derived, parse_around_faults, parser
from meshlint.sources.shell.pattern import Unsupported, matches
from meshlint.sources.shell.state import Exhausted, Reached, Shell, State, Var, guard
from meshlint.sources.shell.term import (
    BREAK,
    Assume,
    Atom,
    Atoms,
    Choice,
    Cond,
    Field,
    Lit,
    Opaque,
    Pass,
    Truth,
    Undecided,
    Unk,
    cases,
    fields,
    join_truth,
    negate,
    pack,
    plain,
    settle,
    text_only,
    use,
)
from meshlint.sources.shell.term import Node as Open
from meshlint.sources.shell.words import (
    EXPANSIONS,
    arithmetic_range,
    dequoted,
    gaps,
    listing,
    pattern_atoms,
    separator,
    word,
)

if TYPE_CHECKING:
    from tree_sitter import Node

SHELLS = frozenset({"bash", "sh", "zsh", "dash"})
SUBMIT = frozenset({"sbatch"})
UNROLL = 64
Act = Callable[[], str]


def run(shell: Shell, nodes: Iterable[Node]) -> str:
    """Run statements; gives how control goes on: empty, `exit`, `return`, `break` or `continue`."""
    for node in nodes:
        flow = statement(shell, node)
        if flow:
            return flow
    return ""


def statement(shell: Shell, node: Node) -> str:
    """Run one statement."""
    act = _STATEMENTS.get(node.type)
    if act is None:
        return ""
    shell.step()
    shell.nesting += 1
    if shell.nesting > shell.limits.nesting:
        raise Exhausted("it is nested too deeply")
    shell.status = None
    try:
        return act(shell, node)
    finally:
        shell.nesting -= 1


def run_document(shell: Shell, document: Document, beside: str = "") -> str:
    """Run a text in the current state."""
    if shell.tool is None:
        shell.tool = parser()
    if len(document.text) > 1_000_000:
        raise Exhausted("it is too long for a script")
    root, cuts = parse_around_faults(document, shell.tool)
    before, shell.document = shell.document, document
    shell.parked.append([])
    try:
        _report_errors(shell, root, cuts)
        flow = run(shell, root.children)
        _unpark(shell, ("return",))
    finally:
        shell.document = before
        shell.parked.pop()
    return "exit" if flow == "exit" else ""


def _report_errors(shell: Shell, root: Node, cuts: Sequence[Mark]) -> None:
    """Note the first piece that cannot be read, and how many there are."""
    found = sorted([*_unread(shell, root), *((cut, _near(cut)) for cut in cuts)], key=lambda f: f[0].start)
    if found:
        others = len(found) - 1
        more = f", nor are {others} other pieces" if others > 1 else ", nor is another piece" if others else ""
        shell.trouble(found[0][0], f"{found[0][1]}{more}; the rest is read without that")


def _unread(shell: Shell, root: Node) -> Iterator[tuple[Mark, str]]:
    stack = [root] if root.has_error else []
    while stack:
        node = stack.pop()
        if node.is_missing:
            yield shell.mark(node), f"`{node.type}` is missing here"
        elif node.is_error:
            if node.end_byte > node.start_byte:
                yield shell.mark(node), _near(shell.mark(node))
        else:
            stack.extend(c for c in reversed(node.children) if c.has_error or c.is_missing)


def _near(mark: Mark) -> str:
    line = " ".join(mark.document.text[mark.start : mark.end].split())[:40]
    return f"it is not valid bash near `{line}`"


# Branching ------------------------------------------------------------------------------------------------------


def fork(shell: Shell, truth: Truth, yes: Act, no: Act) -> str:
    """Go on both ways where a truth is open, and bring what they leave together."""
    truth = shell.known(truth)
    if not isinstance(truth, Open):
        return yes() if truth else no()
    if truth.cond.caveat and not isinstance(truth.yes, Open) and not isinstance(truth.no, Open):
        return _soft(shell, truth, yes if truth.yes else no, no if truth.yes else yes)
    base = shell.state
    arms = []
    for way, act in ((True, yes), (False, no)):
        shell.state = base.fork()
        shell.state.take(truth, way)
        shell.status = None
        flow = act()
        arms.append((shell.state, flow, shell.status))
    return _rejoin(shell, truth, base, *arms[0], *arms[1])


def _rejoin(
    shell: Shell,
    truth: Truth,
    base: State,
    yes: State,
    yes_flow: str,
    yes_status: Truth | None,
    no: State,
    no_flow: str,
    no_status: Truth | None,
) -> str:
    if "exit" in (yes_flow, no_flow):
        kept, flow = (no, no_flow) if yes_flow == "exit" else (yes, yes_flow)
        kept.guards = base.guards + kept.guards[len(base.guards) + 1 :]
        shell.state, shell.status = kept, (no_status if yes_flow == "exit" else yes_status)
        return flow
    if yes_flow != no_flow:
        parked, flow = (yes, yes_flow) if yes_flow else (no, no_flow)
        if shell.parked:
            shell.parked[-1].append((parked, flow))
        shell.state = no if yes_flow else yes
        return no_flow if yes_flow else yes_flow
    shell.state = shell.merge(truth, yes, no, base)
    shell.status = _merged_status(truth, yes_status, no_status)
    return yes_flow


def _merged_status(truth: Truth, yes: Truth | None, no: Truth | None) -> Truth | None:
    from meshlint.sources.shell.term import branch

    if yes is None and no is None:
        return None
    return branch(truth, True if yes is None else yes, True if no is None else no)


def _soft(shell: Shell, truth: Open, likely: Act, other: Act) -> str:
    """Take the way where a variable from outside is unset; the other one where that ends the script."""
    base, reached = shell.state, len(shell.reached)
    shell.state = base.fork()
    shell.state.assume[truth.cond] = True
    flow = likely()
    if flow == "exit" and len(shell.reached) == reached:
        shell.state = base
        shell.state.assume[truth.cond] = False
        _require(shell, truth.cond)
        return other()
    mark = replace(truth.cond.mark, caveat=truth.cond.caveat)
    for name, var in shell.state.variables.items():
        if base.variables.get(name) is not var and var.table is None:
            shell.state.variables[name] = replace(var, atoms=use(var.atoms, mark, None))
    return flow


def _require(shell: Shell, cond: Cond) -> None:
    """Make what counted as empty unknown: the script ends without it."""
    key = next((k for k, c in shell.conds.items() if c is cond), "").removeprefix("empty:")
    for name, var in shell.state.variables.items():
        if any(isinstance(a, Pass) and a.key == key for a in var.atoms):
            reason = f"`{name}` has no value of its own: {cond.caveat} must give it"
            atoms = tuple(Unk(reason, f"given:{key}") if isinstance(a, Pass) and a.key == key else a for a in var.atoms)
            shell.state.variables[name] = replace(var, atoms=atoms)


def _unpark(shell: Shell, flows: Sequence[str], since: int = 0) -> None:
    """Bring back the states that left early."""
    waiting = shell.parked[-1]
    kept = []
    for state, flow in waiting:
        if flow in flows:
            base = shell.state
            shell.state = shell.merge(guard(state, len(base.guards)), state, base, base)
        else:
            kept.append((state, flow))
    shell.parked[-1] = kept


def _if(shell: Shell, node: Node) -> str:
    arms: list[tuple[list[Node], list[Node]]] = []
    otherwise: list[Node] = []
    arms.append(_arm(node.children, "if"))
    for child in node.children:
        if child.type == "elif_clause":
            arms.append(_arm(child.children, "elif"))
        elif child.type == "else_clause":
            otherwise = list(child.children)
    return _arms(shell, arms, otherwise)


def _arm(children: Sequence[Node], opens: str) -> tuple[list[Node], list[Node]]:
    condition: list[Node] = []
    body: list[Node] = []
    into = condition
    for child in children:
        if child.type == "then":
            into = body
        elif child.type not in (opens, "elif_clause", "else_clause", "fi"):
            into.append(child)
    return condition, body


def _arms(shell: Shell, arms: list[tuple[list[Node], list[Node]]], otherwise: list[Node]) -> str:
    """Run an if-elif chain. Undecided arms are joined from the last to the first, so that long chains stay flat."""
    waiting: list[tuple[Truth, State, State, str, Truth | None]] = []
    flow = ""
    for index, (condition, body) in enumerate(arms):
        shell.step(1 + len(shell.state.assume) // 8)
        flow = run(shell, condition)
        if flow:
            break
        truth = shell.known(_sure(shell, condition))
        if not isinstance(truth, Open):
            if truth:
                shell.status = None
                flow = run(shell, body)
                break
            continue
        if truth.cond.caveat or len(arms) == 1:
            flow = fork(shell, truth, _runs(shell, body), partial(_arms, shell, arms[index + 1 :], otherwise))
            break
        base = shell.state
        shell.state = base.fork()
        shell.state.take(truth, True)
        shell.status = None
        ended = run(shell, body)
        waiting.append((truth, base, shell.state, ended, shell.status))
        shell.state = base.fork()
        shell.state.take(truth, False)
    else:
        shell.status = None
        flow = run(shell, otherwise)
    for truth, base, state, ended, status in reversed(waiting):
        flow = _rejoin(shell, truth, base, state, ended, status, shell.state, flow, shell.status)
    return flow


def _runs(shell: Shell, body: list[Node]) -> Act:
    return partial(run, shell, body)


def _sure(shell: Shell, condition: Sequence[Node]) -> Truth:
    """Give the truth of a condition that has just run; the success of a command is open."""
    if shell.status is not None:
        return shell.status
    last = next((n for n in reversed(condition) if n.is_named and n.type != "comment"), None)
    if last is None:
        return True
    text = " ".join(shell.text(last).split())
    return Open(shell.cond(f"run:{shell.fresh()}", text, shell.mark(last)), True, False)


def _case(shell: Shell, node: Node) -> str:
    subject = node.child_by_field_name("value")
    atoms = word(shell, subject, quoted=True) if subject is not None else ()
    items = [c for c in node.children if c.type == "case_item"]
    waiting: list[tuple[Truth, State, State, str, Truth | None]] = []
    flow = ""
    for item in items:
        shell.step(1 + len(shell.state.assume) // 8)
        truth = shell.known(_matches(shell, item, atoms, subject))
        body = [c for c in item.children if item.field_name_for_child(item.children.index(c)) is None]
        if not isinstance(truth, Open):
            if truth:
                flow = run(shell, body)
                break
            continue
        base = shell.state
        shell.state = base.fork()
        shell.state.take(truth, True)
        ended = run(shell, body)
        waiting.append((truth, base, shell.state, ended, None))
        shell.state = base.fork()
        shell.state.take(truth, False)
    for truth, base, state, ended, status in reversed(waiting):
        flow = _rejoin(shell, truth, base, state, ended, status, shell.state, flow, None)
    shell.status = None
    return flow


def _matches(shell: Shell, item: Node, atoms: Atoms, subject: Node | None) -> Truth:
    truth: Truth = False
    for value in item.children_by_field_name("value"):
        mark = shell.mark(value)
        wanted = pattern_atoms(shell, mark.start, mark.end, [value])
        truth = _either(truth, _match(shell, wanted, atoms, mark, subject))
        if truth is True:
            break
    return truth


def _either(one: Truth, other: Truth) -> Truth:
    from meshlint.sources.shell.term import disj

    return disj(one, other)


def _match(shell: Shell, wanted: Atoms, atoms: Atoms, mark: Mark, subject: Node | None) -> Truth:
    def build(known: Assume) -> Truth:
        pattern = plain(wanted, known)
        try:
            if pattern.strip("*") == "" and pattern:
                return True
            return matches(pattern, plain(atoms, known))
        except (Opaque, Unsupported):
            texts = [a for a in settle(atoms, known) if not (isinstance(a, Lit) and not a.text)]
            key = "\0".join(a.key if isinstance(a, Unk) else f"'{a.text}" if isinstance(a, Lit) else "" for a in texts)
            lone = texts[0] if len(texts) == 1 and isinstance(texts[0], Unk) else None
            fact = (lone.key, pattern) if lone is not None and not any(c in pattern for c in "*?[\\") else None
            shown = shell.text(subject) if subject is not None else ""
            key = f"test:{key}\1==\1'{pattern}" if fact else f"case:{key}\0{pattern}"
            return Open(shell.cond(key, f"{shown} is {pattern}", mark, fact), True, False)

    try:
        return cases(build, shell.state.assume, join_truth)
    except Opaque:
        return Open(shell.cond(f"case:{shell.fresh()}", shell.document.text[mark.start : mark.end], mark), True, False)


def _list(shell: Shell, node: Node) -> str:
    left, operator, right = node.children[0], node.children[1].type, node.children[-1]
    flow = statement(shell, left)
    if flow:
        return flow
    truth = True if shell.status is None else shell.known(shell.status)
    if operator == "||":
        truth = negate(truth)

    def skip() -> str:
        shell.status = operator == "||"
        return ""

    def act() -> str:
        flow = statement(shell, right)
        if isinstance(truth, Open):
            shell.status = True if shell.status is None else shell.status
        return flow

    return fork(shell, truth, act, skip)


def _negated(shell: Shell, node: Node) -> str:
    flow = statement(shell, node.children[-1])
    if shell.status is None:
        shell.status = _sure(shell, [node.children[-1]])
    shell.status = negate(shell.status)
    return flow


def _test(shell: Shell, node: Node) -> str:
    shell.status = test(shell, node)
    return ""


# Loops ----------------------------------------------------------------------------------------------------------


def _for(shell: Shell, node: Node) -> str:
    variable, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
    if variable is None or body is None:
        return ""
    name = shell.text(variable)
    atoms = line(_words(shell, node.children_by_field_name("value")))
    if not any(c.type == "in" for c in node.children):
        atoms = shell.state.arguments if shell.state.arguments is not None else (Pass(shell.mark(node)),)
    return _each(shell, name, atoms, body)


def _each(shell: Shell, name: str, atoms: Atoms, body: Node) -> str:
    try:
        words = fields(settle(atoms, shell.state.assume), separator(shell))
    except Undecided:
        words = []
        unk = shell.unknown(f"what `{name}` loops over depends on a condition")
        return _once(shell, [name], {name: (unk,)}, body)
    if len(words) > UNROLL:
        unk = shell.unknown(f"`{name}` loops over {len(words)} values")
        return _once(shell, [name], {name: (unk,)}, body)
    if not words and any(isinstance(a, Pass) for a in atoms):
        _open_to_arguments(shell, body)
    outer = shell.loops
    shell.parked.append([])
    flow = ""
    for field in words:
        value = pack([field])
        shell.assign(name, value)
        shell.loops = (*outer, (name, _shown(field)))
        flow = run(shell, body.children)
        _unpark(shell, ("continue",))
        if flow in ("exit", "return", "break"):
            break
    return _after_loop(shell, outer, flow)


def _shown(field: Field) -> str:
    return "".join(a.text if isinstance(a, Lit) else "?" for a in field)[:60]


def _after_loop(shell: Shell, outer: tuple[tuple[str, str], ...], flow: str) -> str:
    shell.loops = outer
    _unpark(shell, ("break", "continue"))
    left = shell.parked.pop()
    if left and shell.parked:
        shell.parked[-1].extend(left)
    shell.status = None
    return flow if flow in ("exit", "return") else ""


def _once(shell: Shell, names: Iterable[str], values: dict[str, Atoms], body: Node) -> str:
    """Run a body whose number of runs is not known: once, with all that it assigns unknown before and after."""
    changed = dict.fromkeys((*names, *assigned(shell, body)))
    _forget(shell, changed)
    for name, atoms in values.items():
        shell.assign(name, atoms)
    shell.parked.append([])
    flow = run(shell, body.children)
    if flow != "exit":
        _forget(shell, changed)
    return _after_loop(shell, shell.loops, flow if flow != "exit" else "")


def _forget(shell: Shell, names: Iterable[str]) -> None:
    for name in names:
        old = shell.state.variables.get(name)
        unk = shell.unknown(f"`{name}` is set in a loop that meshlint cannot count", several=True)
        shell.state.variables[name] = Var((unk,), old.array if old else False, old.exported if old else False)


def assigned(shell: Shell, node: Node) -> list[str]:
    """Give the variables that a piece of script assigns, by its text alone."""
    found: dict[str, None] = {}
    stack = [node]
    while stack:
        part = stack.pop()
        shell.step()
        if part.type == "variable_assignment":
            name = part.child_by_field_name("name")
            if name is not None:
                found[shell.text(name).partition("[")[0]] = None
        stack.extend(part.named_children)
    return list(found)


def _while(shell: Shell, node: Node) -> str:
    body = node.child_by_field_name("body")
    condition = node.children_by_field_name("condition")
    if body is None:
        return ""
    if _asks_arguments(shell, condition):
        return _skip(shell, body)
    wanted = node.children[0].type == "while"
    outer, flow = shell.loops, ""
    shell.parked.append([])
    for _ in range(shell.limits.iterations):
        run(shell, condition)
        truth = shell.known(shell.status) if shell.status is not None else None
        if isinstance(truth, Open) or truth is None:
            shell.parked.pop()
            return _once(shell, (), {}, body)
        if truth is not wanted:
            break
        flow = run(shell, body.children)
        _unpark(shell, ("continue",))
        if flow in ("exit", "return", "break"):
            break
    else:
        _forget(shell, assigned(shell, body))
    return _after_loop(shell, outer, flow)


def _asks_arguments(shell: Shell, condition: Sequence[Node]) -> bool:
    """Say whether a loop goes over the script's own arguments; none are given, so it does not run."""
    if shell.state.arguments is not None:
        return False
    text = " ".join(shell.text(n) for n in condition)
    return any(sign in text for sign in ("$#", "${#}", "$1", "${1", "$@", "${@", "getopts"))


def _skip(shell: Shell, body: Node) -> str:
    _open_to_arguments(shell, body)
    return ""


def _open_to_arguments(shell: Shell, body: Node) -> None:
    """Say of all that a loop over the script's own arguments assigns that they can override it."""
    caveat = "the script's own arguments"
    mark = replace(shell.mark(body), caveat=caveat)
    mark = replace(mark, end=min(mark.end, mark.start + 2))
    for name in assigned(shell, body):
        var = shell.state.variables.get(name)
        if var is None or var.table is not None:
            continue
        atoms = use(var.atoms, mark, None)
        if not any(isinstance(a, Unk | Choice) or (isinstance(a, Lit) and a.text) for a in atoms):
            atoms = (*atoms, Pass(mark, f"argv:{name}", caveat, False))
        shell.state.variables[name] = replace(var, atoms=atoms)


def _count_loop(shell: Shell, node: Node) -> str:
    body = node.child_by_field_name("body")
    if body is None:
        return ""
    _number(shell, node, "initializer")
    outer, flow = shell.loops, ""
    shell.parked.append([])
    for _ in range(shell.limits.iterations):
        more = _number(shell, node, "condition")
        if more is None:
            shell.parked.pop()
            return _once(shell, assigned(shell, node), {}, body)
        if not more:
            break
        flow = run(shell, body.children)
        _unpark(shell, ("continue",))
        if flow in ("exit", "return", "break"):
            break
        _number(shell, node, "update")
    else:
        _forget(shell, assigned(shell, node))
    return _after_loop(shell, outer, flow)


def _number(shell: Shell, node: Node, name: str) -> int | None:
    parts = node.children_by_field_name(name)
    if not parts:
        return 1
    start, end = shell.mark(parts[0]).start, shell.mark(parts[-1]).end
    return _evaluated(shell, start, end, node)


def _evaluated(shell: Shell, start: int, end: int, node: Node) -> int | None:
    from meshlint.sources.shell.words import _descend

    inner = [n for n in _descend(node) if start <= n.start_byte and n.end_byte <= end]
    atoms = arithmetic_range(shell, start, end, inner, Mark(shell.document, start, end))
    try:
        return int(plain(atoms, shell.state.assume))
    except (Opaque, Undecided):
        return None


# Groups, functions, assignments ---------------------------------------------------------------------------------


def _compound(shell: Shell, node: Node) -> str:
    if node.children and node.children[0].type == "((":
        return _arithmetic(shell, node)
    return run(shell, node.children)


def _arithmetic(shell: Shell, node: Node) -> str:
    from meshlint.sources.shell.words import _descend

    mark = shell.mark(node)
    atoms = arithmetic_range(shell, mark.start + 2, mark.end - 2, list(_descend(node)), mark)

    def build(known: Assume) -> Truth:
        try:
            return plain(atoms, known) != "0"
        except Opaque as stop:
            text = " ".join(shell.text(node).split())
            names = f"arith:{text}:{stop.unk.key.partition(':new')[0]}"
            return Open(shell.cond(f"{names}:{shell.fresh()}", text, mark), True, False)

    try:
        shell.status = cases(build, shell.state.assume, join_truth)
    except Opaque:
        shell.status = None
    return ""


def _subshell(shell: Shell, node: Node) -> str:
    before = shell.state
    shell.state = before.fork()
    shell.parked.append([])
    run(shell, node.children)
    shell.parked.pop()
    out = shell.state.out
    shell.state = before
    before.out = out if before.out is not None else None
    return ""


def _function(shell: Shell, node: Node) -> str:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is not None and body is not None:
        shell.functions[shell.text(name)] = (body, shell.document)
    return ""


def call(shell: Shell, name: str, given: Atoms) -> str:
    """Call a function of the script."""
    if shell.calls.count(name) > 2 or len(shell.calls) > 12:
        shell.status = None
        return ""
    body, document = shell.functions[name]
    saved = shell.state.arguments, shell.state.shifted
    before, shell.document = shell.document, document
    shell.state.arguments, shell.state.shifted = given, 0
    if any(isinstance(a, Pass) for a in given) and not any(isinstance(a, Lit | Unk | Choice) for a in given):
        shell.state.arguments = None
    shell.calls = (*shell.calls, name)
    shell.locals.append({})
    shell.parked.append([])
    try:
        flow = statement(shell, body)
        _unpark(shell, ("return", "break", "continue"))
    finally:
        shell.document = before
        shell.calls = shell.calls[:-1]
        shell.parked.pop()
        local = shell.locals.pop()
    shell.state.arguments, shell.state.shifted = saved
    for variable, var in local.items():
        if var is None:
            shell.state.variables.pop(variable, None)
        else:
            shell.state.variables[variable] = var
    return "exit" if flow == "exit" else ""


def _assignment(shell: Shell, node: Node) -> str:
    assign(shell, node)
    return ""


def _assignments(shell: Shell, node: Node) -> str:
    for child in node.named_children:
        if child.type == "variable_assignment":
            assign(shell, child)
    return ""


def assign(shell: Shell, node: Node) -> str:
    """Run one assignment; gives the variable's name."""
    target, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if target is None:
        return ""
    more = any(c.type == "+=" for c in node.children)
    if target.type == "subscript":
        return _assign_entry(shell, target, value, more)
    name = shell.text(target)
    old = shell.lookup(name)
    if value is not None and value.type == "array":
        atoms, table = listing(shell, value)
        if table is not None:
            base = dict(old.table or {}) if more else {}
            shell.assign(name, (), table={**base, **table})
            return name
        if old.table is not None and not more and not atoms:
            shell.assign(name, (), table={})
            return name
        if more:
            atoms = _appended(old, atoms)
        shell.assign(name, atoms, array=True)
        return name
    atoms = text_only(word(shell, value, quoted=True)) if value is not None else ()
    if more and old.array:
        atoms = atoms + old.atoms
    elif more:
        known = name in shell.state.variables
        atoms = (*(old.atoms if known else use(old.atoms, None, None)), *atoms)
    shell.assign(name, atoms, array=old.array and more)
    return name


def _appended(old: Var, atoms: Atoms) -> Atoms:
    if len(old.atoms) == 1 and isinstance(old.atoms[0], Unk) and not old.array and old.atoms[0].optional:
        return atoms
    if not old.atoms or not atoms:
        return old.atoms or atoms
    return (*old.atoms, BREAK, *atoms)


def _assign_entry(shell: Shell, target: Node, value: Node | None, more: bool) -> str:
    name_node, index = target.child_by_field_name("name"), target.child_by_field_name("index")
    if name_node is None or index is None:
        return ""
    name = shell.text(name_node)
    old = shell.lookup(name)
    atoms = word(shell, value, quoted=True) if value is not None else ()
    try:
        if old.table is not None:
            key = plain(word(shell, index, True), shell.state.assume)
            table = {**old.table, key: (*old.table.get(key, ()), *atoms) if more else atoms}
            shell.assign(name, (), table=table)
            return name
        mark = shell.mark(index)
        position = int(plain(arithmetic_range(shell, mark.start, mark.end, [index], mark), shell.state.assume))
        words = fields(settle(old.atoms, shell.state.assume)) if name in shell.state.variables else []
        if not 0 <= position <= len(words):
            raise Opaque(shell.unknown("its entries have holes"))
        entry = pack([tuple(a for a in settle(atoms, shell.state.assume) if isinstance(a, Lit | Unk)) or (Lit(""),)])
        words[position : position + 1] = [tuple(a for a in entry if isinstance(a, Lit | Unk))]
        shell.assign(name, pack(words), array=True)
    except (Opaque, Undecided, ValueError):
        shell.assign(
            name, (shell.unknown(f"which entry of `{name}` is set cannot be known", several=True),), array=True
        )
    return name


# Capturing and redirecting --------------------------------------------------------------------------------------


def captured(shell: Shell, node: Node) -> Atoms:
    """Give what a command substitution prints, without its last line breaks."""
    inner = [c for c in node.children if c.is_named]
    if inner and all(c.type == "file_redirect" for c in inner):
        return (shell.unknown("it is read from a file when the script runs", node),)
    before = shell.state
    shell.state = before.fork()
    shell.state.out = ()
    stdin, shell.stdin = shell.stdin, None
    shell.parked.append([])
    try:
        run(shell, inner)
        out = shell.state.out
    finally:
        shell.parked.pop()
        shell.state, shell.stdin = before, stdin
    return rstripped(out or ())


def rstripped(atoms: Atoms) -> Atoms:
    """Take line breaks off the end."""
    return _rstripped(atoms, {})


def _rstripped(atoms: Atoms, memo: dict[tuple[int, int], tuple[Atoms, Atoms]]) -> Atoms:
    while atoms:
        last = atoms[-1]
        if isinstance(last, Choice):
            key = (id(last.yes), id(last.no))
            if key not in memo:
                memo[key] = _rstripped(last.yes, memo), _rstripped(last.no, memo)
            return (*atoms[:-1], replace(last, yes=memo[key][0], no=memo[key][1]))
        if not isinstance(last, Lit) or not last.text.endswith("\n"):
            return atoms
        text = last.text.rstrip("\n")
        atoms = atoms[:-1]
        if text:
            return (*atoms, last.slice(0, len(text)))
    return atoms


def printed(shell: Shell, atoms: Atoms) -> None:
    """Add to what is captured, if anybody listens."""
    if shell.state.out is not None:
        shell.state.out = (*shell.state.out, *atoms)


def _pipeline(shell: Shell, node: Node) -> str:
    stages = [c for c in node.children if c.is_named and c.type != "comment"]
    _stages(shell, stages, shell.stdin)
    return ""


def _stages(shell: Shell, stages: Sequence[Node], stdin: Atoms | None) -> None:
    before, outer = shell.state, shell.stdin
    listening = before.out is not None
    for index, stage in enumerate(stages):
        last = index == len(stages) - 1
        shell.state = before.fork()
        shell.state.out = () if not last or listening else None
        shell.stdin = stdin
        shell.parked.append([])
        statement(shell, stage)
        shell.parked.pop()
        stdin = shell.state.out
    shell.state, shell.stdin = before, outer
    if listening:
        printed(shell, stdin or ())
    shell.status = None


def _redirected(shell: Shell, node: Node) -> str:
    body = node.child_by_field_name("body")
    outer = shell.stdin
    target: Node | None = None
    rest: list[Node] = []
    after: list[Node] = []
    for redirect in node.children_by_field_name("redirect"):
        if redirect.type == "heredoc_redirect":
            shell.stdin = heredoc(shell, redirect)
            rest.extend(c for c in redirect.named_children if c.type in ("pipeline", "list"))
            target = next((c for c in redirect.named_children if c.type == "file_redirect"), target)
        elif redirect.type == "herestring_redirect":
            shell.stdin = word(shell, redirect.named_children[-1], quoted=True)
        elif redirect.type == "file_redirect":
            target = redirect
            after.extend(_behind(redirect))
    try:
        return _with_stdin(shell, body, target, rest, after)
    finally:
        shell.stdin = outer


def _behind(redirect: Node) -> list[Node]:
    """Give the words behind a redirection's file: the grammar takes them for files too, bash for arguments."""
    return redirect.children_by_field_name("destination")[1:]


def _with_stdin(shell: Shell, body: Node | None, target: Node | None, rest: list[Node], after: list[Node]) -> str:
    if body is None:
        return ""
    if after and body.type == "command":
        return _command(shell, body, after)
    if shell.stdin is not None and target is not None and _prints_input(shell, body):
        _write_file(shell, target, shell.stdin)
        return ""
    if rest:
        stages = [body, *(c for r in rest for c in r.named_children)]
        _stages(shell, stages, shell.stdin)
        return ""
    if target is not None and shell.state.out is not None and shell.text(target)[:1] in (">", "&"):
        out = shell.state.out
        flow = statement(shell, body)
        shell.state.out = out
        return flow
    return statement(shell, body)


def _prints_input(shell: Shell, body: Node) -> bool:
    return body.type == "command" and shell.text(body).split()[:1] == ["cat"]


def _write_file(shell: Shell, target: Node, content: Atoms) -> None:
    place = target.child_by_field_name("destination")
    if place is None or not shell.text(target).startswith(">"):
        return
    name = _path_key(word(shell, place, quoted=True))
    if len(shell.files) < shell.limits.files:
        shell.files[name] = derived(shell.document.path, content)


def _path_key(atoms: Atoms) -> str:
    """Give a name for a file that is written: two words that are put together alike name one file."""
    parts = []
    for atom in atoms:
        if isinstance(atom, Lit):
            parts.append(atom.text)
        elif isinstance(atom, Unk):
            parts.append(f"<{atom.key}>")
        elif isinstance(atom, Choice):
            parts.append(f"<{atom.cond.number}:{id(atom.yes)}:{id(atom.no)}>")
    name = "".join(parts)
    return name[2:] if name.startswith("./") else name


def heredoc(shell: Shell, redirect: Node) -> Atoms:
    """Evaluate a heredoc's text; a quoted delimiter keeps it as it stands."""
    start = next((c for c in redirect.children if c.type == "heredoc_start"), None)
    body = next((c for c in redirect.children if c.type == "heredoc_body"), None)
    if start is None or body is None:
        return ()
    text = shell.document.text
    low, high = body.start_byte, min(body.end_byte, len(text))
    line = text.rfind("\n", 0, low) + 1
    low = line if not text[line:low].strip() and line > start.end_byte else low
    if any(c in shell.text(start) for c in "'\"\\"):
        from meshlint.sources.shell.term import document_literals

        return document_literals(shell.document, low, high)
    inner = [c for c in body.children if c.type in EXPANSIONS]
    return gaps(shell, low, high, inner, True, dequoted)


# Commands -------------------------------------------------------------------------------------------------------


def _command(shell: Shell, node: Node, after: Sequence[Node] = ()) -> str:
    """Run a command; `after` are words of it that stand behind a redirection."""
    from meshlint.sources.shell.builtins import dispatch

    prefix: list[Node] = []
    parts: list[Node] = []
    outer = shell.stdin
    for child in node.children:
        if child.type == "variable_assignment" and not parts:
            prefix.append(child)
        elif child.type == "herestring_redirect":
            shell.stdin = word(shell, child.named_children[-1], quoted=True)
        elif child.type not in ("file_redirect", "heredoc_redirect", "comment"):
            parts.append(child.named_children[0] if child.type == "command_name" and child.named_children else child)
    parts.extend(after)
    try:
        if not parts:
            for child in prefix:
                assign(shell, child)
            return ""
        mark = shell.mark(node)
        if prefix:
            mark = replace(mark, start=shell.mark(parts[0]).start)
        return _prefixed_call(shell, prefix, lambda: dispatch(shell, _words(shell, parts), mark))
    finally:
        shell.stdin = outer


def _prefixed_call(shell: Shell, prefix: list[Node], act: Act) -> str:
    if not prefix:
        return act()
    saved: dict[str, Var | None] = {}
    for child in prefix:
        target = child.child_by_field_name("name")
        if target is None or target.type == "subscript":
            continue
        name = shell.text(target)
        saved[name] = shell.state.variables.get(name)
        assign(shell, child)
        shell.export(name)
    flow = act()
    for name, var in saved.items():
        if var is None:
            shell.state.variables.pop(name, None)
        else:
            shell.state.variables[name] = var
    return flow


def _words(shell: Shell, parts: Sequence[Node]) -> list[Atoms]:
    """Evaluate the words of a command; nodes without a blank between them are one word."""
    words: list[Atoms] = []
    end = -1
    for part in parts:
        mark = shell.mark(part)
        if mark.start == mark.end:
            continue
        atoms = word(shell, part)
        if mark.start == end and words:
            words[-1] = (*words[-1], *atoms)
        else:
            words.append(atoms)
        end = mark.end
    return words


def line(words: Sequence[Atoms]) -> Atoms:
    """Put words into one value."""
    found: list[Atom] = []
    for atoms in words:
        if atoms and found:
            found.append(BREAK)
        found.extend(atoms)
    return tuple(found)


def text_of(shell: Shell, atoms: Atoms) -> str | None:
    """Give a word's text where it is known."""
    try:
        return plain(atoms, shell.state.assume)
    except (Opaque, Undecided):
        return None


def external(shell: Shell, name: str, words: Sequence[Atoms], mark: Mark) -> str:
    """Meet a command that is a program: look into the scripts that it runs, and record it."""
    shell.status = None
    inner = _inner_script(shell, words)
    if inner is not None:
        document, outer, given = inner
        return run_inner(shell, document, outer, given)
    if shell.state.out is not None:
        text = " ".join(mark.document.text[mark.start : mark.end].split())[:60]
        printed(
            shell, (Unk(f"what `{text}` prints is known only when the script runs", f"out:{shell.fresh()}", (mark,)),)
        )
    if name in shell.boring:
        return ""
    if len(shell.reached) >= shell.limits.reached:
        raise Exhausted(f"it starts more than {shell.limits.reached} commands")
    shell.reached.append(
        Reached(
            mark,
            line(words),
            shell.state.fork(),
            shell.loops,
            shell.wrappers,
            shell.directives,
            shell.calls[0] if shell.calls else "",
            shell.fresh(),
        )
    )
    return ""


def _inner_script(shell: Shell, words: Sequence[Atoms]) -> tuple[Document, Sequence[Atoms], Atoms] | None:
    """Find the script in a command: `bash -c TEXT`, a heredoc for a shell or sbatch, or a file written before."""
    texts = [text_of(shell, w) or "" for w in words]
    for index, text in enumerate(texts):
        name = text.rsplit("/", 1)[-1]
        if name in SHELLS or name in SUBMIT:
            found = _script_of(shell, words, texts, index)
            if found is not None:
                return found
        key = _path_key(words[index])
        if key in shell.files and (index == 0 or texts[index - 1].rsplit("/", 1)[-1] in ("source", ".")):
            shell.ran.add(key)
            return shell.files[key], words[:index], line(words[index + 1 :])
    if shell.stdin is not None and words and texts[-1].rsplit("/", 1)[-1] in SHELLS and len(texts) > 1:
        return derived(shell.document.path, shell.stdin), words[:-1], ()
    return None


def _script_of(
    shell: Shell, words: Sequence[Atoms], texts: Sequence[str], index: int
) -> tuple[Document, Sequence[Atoms], Atoms] | None:
    submits = texts[index].rsplit("/", 1)[-1] in SUBMIT
    outer = words[: index + 1] if submits else words[:index]
    at = index + 1
    while at < len(words):
        text = texts[at]
        if not submits and text.startswith("-") and not text.startswith("--") and "c" in text and at + 1 < len(words):
            return derived(shell.document.path, words[at + 1]), outer, line(words[at + 3 :])
        key = _path_key(words[at])
        if key in shell.files:
            shell.ran.add(key)
            return shell.files[key], (*outer, *words[index + 1 : at]) if submits else outer, line(words[at + 1 :])
        if not submits and not text.startswith("-"):
            return None
        at += 1
    if shell.stdin is not None and (submits or all(t.startswith("-") for t in texts[index + 1 :])):
        return derived(shell.document.path, shell.stdin), words if submits else outer, ()
    return None


def run_inner(shell: Shell, document: Document, outer: Sequence[Atoms], given: Atoms) -> str:
    """Run a script inside the script: a process of its own, with the exported variables."""
    if len(shell.wrappers) > 6:
        return ""
    before = shell.state, shell.wrappers, shell.directives, shell.stdin
    shell.state = shell.state.fork()
    shell.state.variables = {n: v for n, v in shell.state.variables.items() if v.exported}
    shell.state.arguments, shell.state.shifted = given, 0
    shell.wrappers = (*shell.wrappers, line(outer)) if outer else shell.wrappers
    shell.stdin = None
    mine = slurm.directives(document)
    if mine:
        shell.directives = mine
        shell.state.variables.update(slurm.variables(mine))
    try:
        run_document(shell, document)
        out = shell.state.out
    finally:
        shell.state, shell.wrappers, shell.directives, shell.stdin = before
    if shell.state.out is not None and out is not None:
        shell.state.out = out
    shell.status = None
    return ""


def _declaration(shell: Shell, node: Node) -> str:
    from meshlint.sources.shell.builtins import declare

    return declare(shell, node)


def _unset(shell: Shell, node: Node) -> str:
    for child in node.named_children:
        name = shell.text(child)
        if child.type in ("variable_name", "word") and not name.startswith("-"):
            shell.state.variables[name] = Var((), unset=True)
    return ""


_STATEMENTS: dict[str, Callable[[Shell, Node], str]] = {
    "if_statement": _if,
    "case_statement": _case,
    "list": _list,
    "negated_command": _negated,
    "test_command": _test,
    "for_statement": _for,
    "while_statement": _while,
    "c_style_for_statement": _count_loop,
    "compound_statement": _compound,
    "do_group": _compound,
    "subshell": _subshell,
    "function_definition": _function,
    "variable_assignment": _assignment,
    "variable_assignments": _assignments,
    "pipeline": _pipeline,
    "redirected_statement": _redirected,
    "command": _command,
    "declaration_command": _declaration,
    "unset_command": _unset,
}
