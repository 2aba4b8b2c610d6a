"""PAR002: ranks that the sizes of the experts do not divide."""
