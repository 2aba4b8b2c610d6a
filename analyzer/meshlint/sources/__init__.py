"""Finding and reading files: every value with its span."""
