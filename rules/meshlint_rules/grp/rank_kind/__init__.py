"""GRP002: a rank of the wrong kind as source or destination."""
