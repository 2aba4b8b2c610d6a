"""PAR008: a global batch that the ranks cannot share."""
