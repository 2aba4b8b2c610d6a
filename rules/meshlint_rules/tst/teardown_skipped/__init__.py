"""TST002: a teardown that some ways out of a test skip."""
