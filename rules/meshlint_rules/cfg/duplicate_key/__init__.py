"""CFG001: one key twice in one place."""
