"""The patterns of the registry leave out no path that a surface claims."""

from __future__ import annotations

from meshlint.config import registry

PATHS = (
    "model_config.yaml",
    "a/b/model_config.yaml",
    "a.yaml",
    "x/a.yml",
    "conf/a.yaml",
    "x/conf/y/a.yml",
    "x/my_override.yaml",
    "a.py",
    "x/y/recipe.py",
    "run.sh",
    "x/job.sbatch",
    "x/job.slurm",
    "x/job.sub",
    "x/job.bash",
    "a.toml",
    "noending",
)


def test_what_a_surface_claims_its_patterns_let_through() -> None:
    for surface in registry.surfaces():
        for path in PATHS:
            if surface.claims(path):
                assert surface in list(registry.surfaces([path])), (surface.name, path)


def test_every_pattern_belongs_to_a_surface() -> None:
    assert set(registry.PATTERNS) <= set(registry.SURFACES)
