"""`if`, `case`, `&&` and `||`: decided where they can be, else both ways and brought together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from meshlint.sources.shell.conditions import test
from meshlint.sources.shell.document import Mark
from meshlint.sources.shell.flow import run, statement
from meshlint.sources.shell.pattern import Unsupported, matches
from meshlint.sources.shell.state import Shell, State
from meshlint.sources.shell.term import (
    Assume,
    Atoms,
    Cond,
    Lit,
    Opaque,
    Pass,
    Truth,
    Unk,
    branch,
    cases,
    disj,
    join_truth,
    negate,
    plain,
    settle,
    use,
)
from meshlint.sources.shell.term import Node as Open
from meshlint.sources.shell.words import pattern_atoms, word

if TYPE_CHECKING:
    from tree_sitter import Node

Act = Callable[[], str]


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


def if_(shell: Shell, node: Node) -> str:
    """Run `if`."""
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
        truth = shell.known(succeeds(shell, condition))
        if not isinstance(truth, Open):
            if truth:
                shell.status = None
                flow = _run_unless_template(shell, condition, body)
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


def _run_unless_template(shell: Shell, condition: Sequence[Node], body: Sequence[Node]) -> str:
    """Run a body; one that ends the script because a variable is empty asks a person to fill it in, and is passed."""
    names = _asked_for(shell, condition)
    if not names:
        return run(shell, body)
    before, reached = shell.state.fork(), len(shell.reached)
    flow = run(shell, body)
    if flow != "exit" or len(shell.reached) > reached:
        return flow
    shell.state = before
    for name in names:
        reason = f"`{name}` is empty here, and the script ends without it: it is to be filled in"
        shell.assign(name, (shell.unknown(reason),))
    return ""


def _asked_for(shell: Shell, condition: Sequence[Node]) -> list[str]:
    """Give the variables of a condition that asks for nothing but whether they are empty (`-z`)."""
    found: list[str] = []
    stack = [node for node in condition if node.is_named and node.type != "comment"]
    while stack:
        node = stack.pop()
        if node.type in ("test_command", "list", "parenthesized_expression", "binary_expression"):
            stack.extend(node.named_children)
        elif node.type == "unary_expression" and shell.text(node).startswith("-z"):
            names = [n for n in _below(node) if n.type == "variable_name"]
            if len(names) != 1:
                return []
            found.append(shell.text(names[0]))
        else:
            return []
    return found


def _below(node: Node) -> list[Node]:
    found, stack = [], [node]
    while stack:
        part = stack.pop()
        found.append(part)
        stack.extend(part.named_children)
    return found


def _runs(shell: Shell, body: list[Node]) -> Act:
    return partial(run, shell, body)


def succeeds(shell: Shell, condition: Sequence[Node]) -> Truth:
    """Give the truth of a condition that has just run; the success of a command is open."""
    if shell.status is not None:
        return shell.status
    last = next((n for n in reversed(condition) if n.is_named and n.type != "comment"), None)
    if last is None:
        return True
    text = " ".join(shell.text(last).split())
    return Open(shell.cond(f"run:{shell.fresh()}", text, shell.mark(last)), True, False)


def case(shell: Shell, node: Node) -> str:
    """Run `case`; `;;&` counts as `;;`."""
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
        truth = disj(truth, _match(shell, wanted, atoms, mark, subject))
        if truth is True:
            break
    return truth


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


def and_or(shell: Shell, node: Node) -> str:
    """Run `a && b` and `a || b`; a program counts as one that succeeds."""
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


def negated(shell: Shell, node: Node) -> str:
    """Run `! command`."""
    flow = statement(shell, node.children[-1])
    if shell.status is None:
        shell.status = succeeds(shell, [node.children[-1]])
    shell.status = negate(shell.status)
    return flow


def test_command(shell: Shell, node: Node) -> str:
    """Run `[ ]` and `[[ ]]`."""
    shell.status = test(shell, node)
    return ""
