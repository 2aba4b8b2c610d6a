"""PKD008: a pad computed from cp before cp is set."""
