"""Running statements in turn, and what leaves them early."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from meshlint.records import dataclass
from meshlint.sources.shell.document import Document, Mark, parse_around_faults, parser
from meshlint.sources.shell.state import CHARACTERS, Exhausted, Shell, State, Var, guard
from meshlint.sources.shell.term import (
    Atoms,
)

if TYPE_CHECKING:
    from tree_sitter import Node


def run(shell: Shell, nodes: Iterable[Node], whole: bool = False) -> str:
    """Run statements; gives how control goes on: empty, `exit`, `return`, `break` or `continue`.

    Where the steps are used up, the statement at hand is left, and those behind it are only run where they set
    something plainly or can start something. What the others would set is unknown. Where that is too much too,
    the same goes once more for the statements of the text around it (`whole`).
    """
    for node in nodes:
        if shell.spent and node.type not in _ALWAYS and not _can_start(shell, node):
            forget(shell, assigned(shell, node), _BEHIND)
            continue
        before = _Standing.of(shell)
        try:
            flow = statement(shell, node)
        except (Exhausted, RecursionError) as stop:
            if shell.spent > whole or (isinstance(stop, RecursionError) and not whole):
                raise
            before.restore(shell)
            _leave(shell, node, stop)
            continue
        if flow:
            return flow
    return ""


_ALWAYS = frozenset({"variable_assignment", "variable_assignments", "declaration_command", "function_definition"})
_STARTS = (".py", "torchrun", "torch.distributed", "megatron", " -m ", "source ", ". ", "eval ", "bash", "sbatch")
_PROGRAMS = (".py", "torchrun", "torch.distributed", "megatron ")
"""What a launch is known by: a piece that holds one of these and cannot be read is no small loss."""
_BEHIND = "`{}` is set where the script takes more steps than meshlint follows"


@dataclass(frozen=True, slots=True)
class _Standing:
    """What holds around a statement, to go back to where it is left in the middle."""

    state: State
    depths: tuple[int, int, int]
    names: tuple[Any, ...]

    @staticmethod
    def of(shell: Shell) -> _Standing:
        """Note what holds now."""
        inputs = shell.stdin, shell.document, shell.sourcing, shell.bodies
        names = shell.calls, shell.loops, shell.wrappers, shell.directives, *inputs
        return _Standing(shell.state, (len(shell.parked), len(shell.locals), shell.nesting), names)

    def restore(self, shell: Shell) -> None:
        """Go back to it."""
        shell.state, shell.trailing, shell.nesting = self.state, (), self.depths[2]
        del shell.parked[self.depths[0] :], shell.locals[self.depths[1] :]
        shell.calls, shell.loops, shell.wrappers, shell.directives = self.names[:4]
        shell.stdin, shell.document, shell.sourcing, shell.bodies = self.names[4:]


def _leave(shell: Shell, node: Node, stop: Exception) -> None:
    """Leave a statement: say so, and take what it would set for unknown."""
    shell.spent += 1
    sentence = str(stop) if isinstance(stop, Exhausted) else "it is nested too deeply"
    rest = "from there on only what can start something is read"
    shell.trouble(shell.mark(node), f"{sentence}; {rest}, and what the rest would set is unknown", ends=True)
    forget(shell, assigned(shell, node), _BEHIND)
    shell.status = None


def _can_start(shell: Shell, node: Node) -> bool:
    """Say whether a statement can start something, by its text alone."""
    text = shell.text(node)
    return any(s in text for s in _STARTS) or any(word in shell.functions for word in text.split())


def forget(shell: Shell, names: Iterable[str], reason: str) -> None:
    """Take variables for unknown; `{}` in the reason is the name."""
    for name in names:
        old = shell.state.variables.get(name)
        unk = shell.unknown(reason.format(name), several=True)
        shell.state.variables[name] = Var((unk,), old.array if old else False, old.exported if old else False)


def assigned(shell: Shell, node: Node) -> list[str]:
    """Give the variables that a piece of script assigns, by its text alone."""
    found: dict[str, None] = {}
    stack = [node] if "=" in shell.text(node) else []
    visited = 0
    while stack:
        part = stack.pop()
        visited += 1
        if part.type == "variable_assignment":
            name = part.child_by_field_name("name")
            if name is not None:
                found[shell.text(name).partition("[")[0]] = None
        stack.extend(part.named_children)
    shell.step(visited // 16)
    return list(found)


def statement(shell: Shell, node: Node) -> str:
    """Run one statement."""
    act = shell.handlers.get(node.type)
    if act is None:
        return ""
    shell.step()
    shell.nesting += 1
    if shell.nesting > shell.limits.nesting:
        shell.nesting -= 1
        shell.skip(
            shell.mark(node), f"it is nested deeper than the {shell.limits.nesting} levels that meshlint follows"
        )
        forget(shell, assigned(shell, node), "`{}` is set where the script is nested too deeply")
        return ""
    shell.status = None
    shell.at = shell.mark(node)
    try:
        return act(shell, node)
    finally:
        shell.nesting -= 1


def run_document(shell: Shell, document: Document, beside: str = "") -> str:
    """Run a text in the current state."""
    if shell.tool is None:
        shell.tool = parser()
    if len(document.text) > shell.limits.characters:
        what = f"it has {len(document.text):,} characters; of a script, meshlint reads at most"
        shell.skip(Mark(document, 0, 1), f"{what} {shell.limits.characters:,}")
        return ""
    shell.step(len(document.text) // CHARACTERS)
    root, cuts = parse_around_faults(document, shell.tool)
    before, shell.document = shell.document, document
    shell.parked.append([])
    try:
        _report_errors(shell, root, cuts)
        flow = run(shell, root.children, whole=True)
        unpark(shell, ("return",))
    finally:
        shell.document = before
        shell.parked.pop()
    return "exit" if flow == "exit" else ""


def _report_errors(shell: Shell, root: Node, cuts: Sequence[Mark]) -> None:
    """Note the first piece that cannot be read, and how many there are."""
    found = sorted([*_unread(shell, root), *((cut, _near(cut)) for cut in cuts)], key=lambda f: f[0].start)
    if found:
        lost = next((one for one in found if _holds_program(one[0])), None)
        place, what = lost or found[0]
        others = len(found) - 1
        more = f", nor are {others} other pieces" if others > 1 else ", nor is another piece" if others else ""
        mark = _placeholder(place)
        if mark:
            what = f"`{mark}` is a placeholder of a template and not valid bash"
        they = "they" if others else "it"
        fix = f"Fill in `{mark}` before the launch, or leave the template out: {EXCLUDE}."
        fix = fix if mark else f"Mend the line, or leave the file out: {EXCLUDE}."
        sentence = f"{what}{more}; what {they} would set or start counts as unknown"
        shell.trouble(place, sentence, ends=lost is not None, fix=fix)


EXCLUDE = "`exclude` in the settings, or `--exclude`"


def _placeholder(mark: Mark) -> str:
    """Give the first `<NAME OF SOMETHING>` of a piece; empty where there is none."""
    text = mark.document.text[mark.start : mark.end]
    _, less, behind = text.partition("<")
    name, more, _ = behind.partition(">")
    is_name = name[:1].isalpha() and all(char.isalnum() or char in " _-./" for char in name)
    return f"<{name}>" if less and more and is_name and len(name) <= MAX_NAME else ""


MAX_NAME = 60
"""Characters of a placeholder's name."""


def _holds_program(mark: Mark) -> bool:
    text = mark.document.text
    return any(text.find(name, mark.start, mark.end) >= 0 for name in _PROGRAMS)


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
            # What stands inside `${...}` is read again by itself, and is unknown where that fails.
            inner = node.children if node.type != "expansion" else [c for c in node.children if not c.is_error]
            stack.extend(c for c in reversed(inner) if c.has_error or c.is_missing)


def _near(mark: Mark) -> str:
    line = " ".join(mark.document.text[mark.start : mark.end].split())[:40]
    return f"it is not valid bash near `{line}`"


def unpark(shell: Shell, flows: Sequence[str], since: int = 0) -> None:
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


def printed(shell: Shell, atoms: Atoms) -> None:
    """Add to what is captured, if anybody listens."""
    if shell.state.out is not None:
        shell.walk(shell.state.out)
        shell.state.out = (*shell.state.out, *atoms)
