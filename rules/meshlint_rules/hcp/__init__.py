"""Rules of the family hcp: Hierarchical context parallel."""
