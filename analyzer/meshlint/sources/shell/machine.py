"""Which function runs which statement of the grammar."""

from __future__ import annotations

from meshlint.sources.shell.assignments import assignment, assignments, unset
from meshlint.sources.shell.branches import and_or, case, if_, negated, test_command
from meshlint.sources.shell.builtins import declare
from meshlint.sources.shell.capture import pipeline, redirected
from meshlint.sources.shell.commands import command
from meshlint.sources.shell.functions import compound, function, subshell
from meshlint.sources.shell.loops import count_loop, for_, while_
from meshlint.sources.shell.state import Handler

STATEMENTS: dict[str, Handler] = {
    "if_statement": if_,
    "case_statement": case,
    "list": and_or,
    "negated_command": negated,
    "test_command": test_command,
    "for_statement": for_,
    "while_statement": while_,
    "c_style_for_statement": count_loop,
    "compound_statement": compound,
    "do_group": compound,
    "subshell": subshell,
    "function_definition": function,
    "variable_assignment": assignment,
    "variable_assignments": assignments,
    "pipeline": pipeline,
    "redirected_statement": redirected,
    "command": command,
    "declaration_command": declare,
    "unset_command": unset,
}
