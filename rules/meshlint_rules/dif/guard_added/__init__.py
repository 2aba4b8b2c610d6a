"""DIF001: a change that makes a collective conditional."""
