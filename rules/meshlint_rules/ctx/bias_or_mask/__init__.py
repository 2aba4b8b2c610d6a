"""CTX007: an attention bias or a padding mask that the exchange cannot do."""
