"""TST001: a skip that counts devices where ranks are needed."""
