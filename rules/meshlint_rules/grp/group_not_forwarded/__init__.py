"""GRP003: a group that a function is given and leaves out in one call."""
