"""MSH003: a file in scope that cannot be read."""

from __future__ import annotations

from meshlint.rule import HouseRule, Outcome, Severity


class CannotRead(HouseRule):
    """A file that a launch needs cannot be read or parsed.

    ## What it does

    Reports a file in scope that is not what its name says (YAML that does not parse, a binary, an encoding other
    than UTF-8), that is too large, closed to the reader, part of a circle, or outside the folders that meshlint may
    read; a base that a config inherits, or a file that a script sources by a path counted from its own, that does not
    exist; and a piece of a script that is not valid bash, such as the `<PLACEHOLDER>` of a template: the rest of the
    script is judged, with what the piece would set unknown. It is an error for a path that you named, and a warning for
    one that was found in a folder. All other files are judged as ever.

    It also tells where a bound on the work is met, and which: a script that takes too many steps to follow, is nested
    too deeply, sources too many files, lets a variable grow too long, or starts more launches than are judged of one
    file. What is found in front of the bound is judged, and so are launches behind it, with what is left out unknown.

    Where rules about code are asked for, Python that does not parse, or is longer than 1,048,576 characters, is told
    as well, if a person named it or its words speak of collectives. What is Python is for the Python that meshlint runs
    on to say: newer syntax than its own is none to it.

    ## Why is this bad

    Launches that need the file, or that part of it, are not judged. Without the report, silence would look like a clean
    bill.

    ## Example

    ```yaml
    MODEL_ARGS: {--context-parallel-size: 2
    ```

    The brace is never closed.

    ## Use instead

    Mend the file, or leave it out:

    ```toml
    [tool.meshlint]
    exclude = ["templates/**"]
    ```
    """

    code = "MSH003"
    slug = "cannot-read"
    severity = Severity.WARNING
    outcomes = (Outcome.NONE,)


RULE = CannotRead
