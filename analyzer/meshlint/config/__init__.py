"""The config side: canonical fields, surfaces, merging, versions and defaults."""
