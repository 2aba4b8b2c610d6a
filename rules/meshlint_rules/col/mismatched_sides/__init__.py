"""COL003: two sides of a gate that make different collectives."""
