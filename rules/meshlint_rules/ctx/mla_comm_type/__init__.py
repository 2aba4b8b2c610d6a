"""CTX011: MLA with an exchange that cannot do it."""
