"""CTX008: FP8 attention that no backend does under context parallelism."""
