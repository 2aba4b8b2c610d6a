"""MOE002: experts that expert parallelism cannot split."""
