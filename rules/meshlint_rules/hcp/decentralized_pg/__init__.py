"""HCP004: level sizes with decentralized process groups."""
