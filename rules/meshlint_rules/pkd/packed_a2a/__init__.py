"""PKD003: packed sequences with a2a on an old Transformer Engine."""
