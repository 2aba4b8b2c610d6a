"""PAR003: layers that the pipeline stages do not divide."""
