"""`python -m meshlint`."""

from __future__ import annotations

import os
import sys

if sys.path and sys.path[0] in ("", os.getcwd()):  # noqa: PTH109 - what lies in the folder that is judged is not run
    del sys.path[0]

from meshlint.cli import start

start()
