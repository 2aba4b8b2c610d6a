"""Rules of the family grp: Groups."""
