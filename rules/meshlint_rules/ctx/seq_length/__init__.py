"""CTX001: a sequence that cp cannot split."""
