"""CTX002: a comm type that does not exist."""
