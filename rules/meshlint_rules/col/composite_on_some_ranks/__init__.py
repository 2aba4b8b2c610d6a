"""COL007: a call that makes collectives inside, on some ranks only."""
