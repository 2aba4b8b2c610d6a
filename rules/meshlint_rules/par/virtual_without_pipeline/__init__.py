"""PAR007: interleaving without pipeline stages."""
