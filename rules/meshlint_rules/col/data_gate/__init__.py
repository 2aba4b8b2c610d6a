"""COL006: a collective behind a condition on rank-local data."""
