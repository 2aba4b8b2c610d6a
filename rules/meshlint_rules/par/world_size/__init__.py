"""PAR001: ranks that the parallel sizes do not divide."""
