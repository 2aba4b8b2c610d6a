"""Rules of the family cfg: Config files."""
