"""Settings: `[tool.meshlint]` of a pyproject.toml, or meshlint.toml; the nearest file wins, nothing is merged."""
