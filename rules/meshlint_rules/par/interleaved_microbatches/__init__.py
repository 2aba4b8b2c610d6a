"""PAR011: micro-batches that the interleaved schedule cannot group."""
