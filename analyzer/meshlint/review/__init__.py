"""Changes, baselines, and posting to a code host."""
