"""GRP001: groups that not all ranks make alike."""
