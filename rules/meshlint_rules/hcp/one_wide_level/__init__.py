"""HCP010: a level of one rank."""
