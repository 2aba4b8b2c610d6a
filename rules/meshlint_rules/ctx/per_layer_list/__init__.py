"""CTX009: a list of comm types that does not fit the layers."""
