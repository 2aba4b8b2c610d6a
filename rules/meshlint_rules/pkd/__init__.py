"""Rules of the family pkd: Packed sequences."""
