"""HCP003: a number of levels other than two."""
