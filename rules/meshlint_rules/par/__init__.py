"""Rules of the family par: Parallel sizes."""
