"""Rules of the family col: Collectives."""
