"""PKD005: packed sequences padded to less than cp asks for."""
