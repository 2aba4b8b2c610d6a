"""PKD001: packed metadata that does not reach every stage."""
