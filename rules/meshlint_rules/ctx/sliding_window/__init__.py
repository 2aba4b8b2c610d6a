"""CTX004: a sliding window with an exchange that cannot do it."""
