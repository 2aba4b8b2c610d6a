"""HCP002: level sizes whose product is not cp."""
