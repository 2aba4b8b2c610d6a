"""Rules of the family ctx: Context parallel."""
