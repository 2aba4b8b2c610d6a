"""HCP007: level sizes that nothing uses."""
