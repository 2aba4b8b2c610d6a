"""PKD002: packed sequences with all_gather on an old Transformer Engine."""
