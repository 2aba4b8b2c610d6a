"""PAR009: a size or a batch that is not positive."""
