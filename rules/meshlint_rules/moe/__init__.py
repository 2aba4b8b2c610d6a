"""Rules of the family moe: Mixtures of experts."""
