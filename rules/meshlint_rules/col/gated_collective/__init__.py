"""COL001: a collective inside a gate that divides its group."""
