"""GRP004: a collective behind a test of another group."""
