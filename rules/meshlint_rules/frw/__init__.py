"""What one framework makes of its own settings."""
