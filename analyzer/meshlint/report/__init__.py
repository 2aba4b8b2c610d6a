"""Output formats: one file a format."""
