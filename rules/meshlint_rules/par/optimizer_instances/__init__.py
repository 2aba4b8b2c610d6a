"""PAR010: optimizer instances that the ranks cannot share."""
