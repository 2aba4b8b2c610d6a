"""The wheels that the oracles ask: which, where they lie, and how they are had.

    python tests/oracle/wheels.py FOLDER

downloads those that are missing from the package index, without what they need, and unpacks nothing.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path


@dataclass(frozen=True)
class Wheel:
    """One release of a library, and the Python whose wheel is taken."""

    library: str
    version: str
    python: str = "3.12"
    path: Path | None = field(default=None, compare=False)

    def of(self, folder: Path) -> Wheel:
        """Give it with its place in a folder; raises FileNotFoundError where it is not there."""
        name = f"{self.library.replace('-', '_')}-{re.escape(self.version)}-"
        for file in sorted(folder.glob("*.whl")):
            if re.match(name, file.name):
                return Wheel(self.library, self.version, self.python, file)
        raise FileNotFoundError(f"{self.library} {self.version} is not in {folder}")

    def text(self, file: str) -> str | None:
        """Give a file's text; None where the wheel has none of that name."""
        assert self.path is not None
        with zipfile.ZipFile(self.path) as archive:
            return archive.read(file).decode("utf-8") if file in archive.namelist() else None

    def unpack(self, folder: Path) -> Path:
        """Lay its Python files into a folder of its own below this one."""
        assert self.path is not None
        mine = folder / f"{self.library}-{self.version}"
        with zipfile.ZipFile(self.path) as archive:
            archive.extractall(mine, [name for name in archive.namelist() if name.endswith(".py")])
        return mine


CORE = tuple(
    Wheel("megatron-core", version, "3.10" if version.startswith(("0.9", "0.10", "0.11", "0.12", "0.13")) else "3.12")
    for version in (
        "0.9.0", "0.10.0", "0.11.0", "0.12.0", "0.12.3", "0.13.0", "0.13.1", "0.14.0", "0.15.0", "0.15.3", "0.16.0",
        "0.16.1", "0.17.0", "0.17.1", "0.18.0", "0.18.2", "0.19.0", "0.19.2",
    )
)  # fmt: skip
ENGINE = tuple(
    Wheel("transformer-engine", version)
    for version in (
        "1.10.0", "1.11.0", "1.12.0", "1.13.0", "2.1.0", "2.2.0", "2.3.0", "2.4.0", "2.5.0", "2.6.0", "2.7.0",
        "2.8.0", "2.9.0", "2.10.0", "2.11.0", "2.12.0", "2.13.0", "2.14.1", "2.15.0", "2.16.0", "2.16.1", "2.17.1",
        "2.18.0", "2.19.0", "2.20.2",
    )
)  # fmt: skip
BRIDGE = tuple(Wheel("megatron-bridge", version) for version in ("0.1.0rc4", "0.2.0rc6", "0.3.0", "0.3.1", "0.4.0"))
VERL = tuple(Wheel("verl", version) for version in ("0.7.1", "0.8.0", "0.9.0"))
WHEELS = (*CORE, *ENGINE, *BRIDGE, *VERL)


def missing(folder: Path) -> list[Wheel]:
    """Give the wheels that are not in a folder."""
    absent = []
    for wheel in WHEELS:
        try:
            wheel.of(folder)
        except FileNotFoundError:
            absent.append(wheel)
    return absent


def rounds(wheels: list[Wheel]) -> list[list[Wheel]]:
    """Put one release of each library into each round: one call of pip takes no two of one library."""
    rows: dict[tuple[str, str], list[Wheel]] = {}
    for wheel in wheels:
        rows.setdefault((wheel.python, wheel.library), []).append(wheel)
    pythons = sorted({python for python, _ in rows})
    by_python = [zip_longest(*(listed for (p, _), listed in rows.items() if p == python)) for python in pythons]
    return [[wheel for wheel in one if wheel] for zipped in by_python for one in zipped]


def download(folder: Path, wheels: list[Wheel]) -> bool:
    """Download one round; False where pip could not."""
    words = [sys.executable, "-m", "pip", "download", "-qq", "--disable-pip-version-check", "--no-deps"]
    words += ["--only-binary=:all:", "--python-version", wheels[0].python, "--dest", str(folder)]
    words += [f"{wheel.library}=={wheel.version}" for wheel in wheels]
    return subprocess.run(words, check=False).returncode == 0


def main(folder: Path) -> int:
    """Download what is missing, two calls at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda wheels: download(folder, wheels), rounds(missing(folder))))
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
