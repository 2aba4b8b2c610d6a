"""HCP001: two-level context parallelism without its level sizes."""
