"""Compiles the hot modules with mypyc when a wheel is built and the hook is enabled; see `docs/compiled.md`.

Not enabled unless asked for (`HATCH_BUILD_HOOKS_ENABLE=1`), and never for an editable install: plain Python is what is
developed, what a source distribution holds, and what runs where there is no compiler.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parents[1]
OPTIONS = ("--implicit-reexport", "--ignore-missing-imports")


class Compiled(BuildHookInterface):  # type: ignore[type-arg, misc]
    """Puts compiled modules into a wheel, beside their sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and say which files belong into the wheel."""
        if version == "editable":
            return
        self._folder = Path(tempfile.mkdtemp(prefix="meshlint-"))
        made = compiled(self.config["modules"], self._folder)
        build_data["force_include"].update(made)
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Take the folder of the build away."""
        if version != "editable":
            shutil.rmtree(self._folder, ignore_errors=True)


def compiled(modules: list[str], folder: Path) -> dict[str, str]:
    """Compile modules in a folder; give each file that was made with its path in the wheel."""
    shutil.copytree(ROOT / "analyzer" / "meshlint", folder / "meshlint", ignore=shutil.ignore_patterns("__pycache__"))
    files = {module: folder / f"{module.replace('.', '/')}.py" for module in modules}
    for module, text in _written_out({name: file.read_text("utf-8") for name, file in files.items()}).items():
        files[module].write_text(text, "utf-8")
    before = Path.cwd()
    os.chdir(folder)  # mypyc takes the names of modules from paths that begin here
    try:
        return _built([str(file.relative_to(folder)) for file in files.values()], folder / "made")
    finally:
        os.chdir(before)


def _written_out(sources: dict[str, str]) -> dict[str, str]:
    sys.path.insert(0, str(ROOT / "native"))
    try:
        from rewrite import written_out
    finally:
        del sys.path[0]
    return written_out(sources)


def _built(paths: list[str], made: Path) -> dict[str, str]:
    from mypyc.build import mypycify
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext

    class Build(build_ext):
        """The standard build, several files at a time."""

        def build_extensions(self) -> None:
            compile_one = self.compiler.compile

            def compile_all(sources: list[str], **words: Any) -> list[str]:
                with ThreadPoolExecutor(os.cpu_count()) as pool:
                    return [
                        one for part in pool.map(lambda each: compile_one([each], **words), sources) for one in part
                    ]

            self.compiler.compile = compile_all
            super().build_extensions()

    words = [*OPTIONS, *paths]
    extensions = mypycify(words, opt_level="1", debug_level="0", multi_file=True, group_name="meshlint")
    build = Build(Distribution({"name": "meshlint", "ext_modules": extensions}))
    build.build_lib, build.build_temp = str(made), str(made.with_name("objects"))
    build.ensure_finalized()
    build.run()
    return {str(file): file.relative_to(made).as_posix() for file in sorted(made.rglob("*")) if file.is_file()}
