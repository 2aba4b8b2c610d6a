"""HCP006: a framework that never builds the two levels."""
