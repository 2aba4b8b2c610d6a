"""Housekeeping: suppressions, and files that cannot be read."""
