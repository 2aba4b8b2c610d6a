"""CTX005: an attention sink without a2a."""
