"""Files that a person or the settings name, read and written; what is wrong with one is a usage error."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import click


def text_of(file: Path, most: int, what: str) -> str:
    """Read a plain file of at most `most` bytes, in UTF-8; `what` names its kind, for errors.

    A pipe or a device is refused: settings of a repository may name one, and it might never end.
    """
    try:
        size = _size(file)
        if size > most:
            raise click.UsageError(f"{file}: {what} has at most {most:,} bytes")
        with file.open("rb") as source:
            return source.read(most).decode("utf-8")
    except UnicodeDecodeError:
        raise click.UsageError(f"{file}: it is not UTF-8") from None
    except OSError as error:
        raise click.UsageError(f"{file}: it cannot be read: {error.strerror}") from None


def _size(file: Path) -> int:
    status = file.stat()
    if not stat.S_ISREG(status.st_mode):
        raise click.UsageError(f"{file}: it is no plain file")
    return status.st_size


def replace_text(file: Path, text: str, head: str) -> None:
    """Write a file, over none that does not begin with `head`, and through no link.

    Settings of a repository may name any file, and a repository may hold a link to any.
    """
    try:
        if file.is_symlink():
            raise click.UsageError(f"{file}: it is a link, and nothing is written through one")
        if file.exists() and _size(file):
            with file.open("rb") as there:
                if not there.read(len(head.encode())).startswith(head.encode()):
                    raise click.UsageError(f"{file}: it holds something else, and is not written over")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(file, flags, 0o666), "wb") as out:
            out.write(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise click.UsageError(f"{file}: it cannot be written: {error.strerror}") from None
