"""Command readers: one module a framework, from evaluated words to launches."""
