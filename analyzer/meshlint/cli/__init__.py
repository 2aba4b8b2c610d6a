"""The command line: one file a verb; parses arguments, calls the engine, exits."""

from __future__ import annotations


def start() -> None:
    """Run the command line and exit; a Ctrl-C while it is still being loaded is no traceback."""
    import sys

    try:
        from meshlint.cli.main import main

        main()
    except KeyboardInterrupt:
        sys.stderr.write("\nmeshlint: stopped by Ctrl-C\n")
        sys.exit(130)
