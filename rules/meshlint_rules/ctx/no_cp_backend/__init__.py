"""CTX006: no attention backend does context parallelism."""
