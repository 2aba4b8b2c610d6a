"""The code side: per-file extraction, linking, summaries, the comparison of ranks."""
