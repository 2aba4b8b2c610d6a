"""COL002: an exit of some ranks before a collective."""
