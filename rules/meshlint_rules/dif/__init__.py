"""Rules of the family dif: changes."""
