"""HCP009: a load helper clears the level sizes and cp comes back without them."""
