"""Megatron-LM's functional tests: `model_config.yaml` with MODEL_ARGS."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from meshlint.config.launch import Launch
from meshlint.config.surface import Context


class FunctionalTest:
    """`MODEL_ARGS` maps flags to values; `MODEL_ARGS_2` belongs to the resumed run."""

    name = "functional-test"

    def claims(self, path: str) -> bool:
        """Claim files by their fixed name."""
        return PurePosixPath(path).name == "model_config.yaml"

    def entries(self, paths: Iterable[str], context: Context) -> Iterable[str]:
        """Judge every file alone."""
        return paths

    def launches(self, path: str, context: Context) -> Iterator[Launch]:
        """Give one launch for each run of the file."""
        return iter(())


SURFACE = FunctionalTest()
