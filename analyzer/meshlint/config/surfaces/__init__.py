"""One module a surface: the forms in which people write launches."""
