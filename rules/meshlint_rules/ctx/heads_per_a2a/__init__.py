"""CTX003: heads that the a2a cannot split."""
