"""Launchers: what starts the ranks."""
