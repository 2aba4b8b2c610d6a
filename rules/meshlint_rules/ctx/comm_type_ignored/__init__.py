"""CTX010: a comm type without context parallelism."""
