"""COL005: a collective on one side of an exception edge."""
