"""COL004: a loop of collectives whose trip count differs."""
