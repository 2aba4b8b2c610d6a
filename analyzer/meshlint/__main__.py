"""`python -m meshlint`."""

from __future__ import annotations

from meshlint.cli.main import main

main()
