"""What runs a library's own code, run on gloo: megatron-core out of its wheel, with the torch at hand.

The wheel lies in the folder that MESHLINT_CORPUS names (`.ci/run` downloads it); without one, what the Python with
torch has of its own is run.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from test_cases import FOUND, TORCH, needs_torch
from test_own import OWN

from meshlint.reproduce.case import Case, Depth, Reproducer
from meshlint.reproduce.run import Runner
from meshlint.reproduce.verdict import text

WHEEL = "megatron_core-0.17.1-*.whl"
"""The release that is run: later ones cannot be imported without triton, earlier ones do not have the arguments."""


def on_gloo(code: str, cases: tuple[Case, ...]) -> Reproducer:
    """Give the cases that run a library without a GPU."""
    return replace(FOUND[code], cases=tuple(case for case in cases if case.needs and Depth.CPU in case.depths))


OF_RULES = [made for code in FOUND if (made := on_gloo(code, FOUND[code].cases)).cases]
OF_LAUNCHES = [
    pytest.param(made, id=f"{code}-{number}")
    for number, (code, sizes, _) in enumerate(OWN)
    if (own := FOUND[code].own) and (sized := own(sizes)) and (made := on_gloo(code, sized.cases)).cases
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    """Run everything with one worker: the import of megatron-core is most of the time."""
    wheels = sorted(Path(os.environ.get("MESHLINT_CORPUS") or os.devnull).glob(WHEEL))
    with pytest.MonkeyPatch.context() as patch:
        if wheels:
            folder = tmp_path_factory.mktemp("library")
            with zipfile.ZipFile(wheels[0]) as archive:
                archive.extractall(folder, [name for name in archive.namelist() if name.endswith((".py", "METADATA"))])
            others = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
            patch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *others]))
        with Runner(python=TORCH) as made:
            yield made


def shown(library: Runner, reproducer: Reproducer) -> None:
    verdict = library.run(reproducer, Depth.CPU)
    if not verdict.cases:
        pytest.skip(verdict.why)
    assert verdict.shown, "\n".join(text(verdict, ""))


@needs_torch
@pytest.mark.parametrize("reproducer", OF_RULES, ids=lambda made: made.code)
def test_it_is_shown_by_the_library(reproducer: Reproducer, library: Runner) -> None:
    shown(library, reproducer)


@needs_torch
@pytest.mark.parametrize("reproducer", OF_LAUNCHES)
def test_a_launch_s_own_sizes_are_shown_by_the_library(reproducer: Reproducer, library: Runner) -> None:
    shown(library, reproducer)
