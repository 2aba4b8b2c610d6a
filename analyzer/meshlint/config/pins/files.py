"""The files that fix versions, by their names; nothing here reads one."""

from __future__ import annotations

from pathlib import PurePosixPath

CHECKOUTS: tuple[tuple[str, str], ...] = (
    ("megatron-core", "megatron/core/package_info.py"),
    ("megatron-core", "Megatron-LM/megatron/core/package_info.py"),
    ("megatron-core", "3rdparty/Megatron-LM/megatron/core/package_info.py"),
    ("megatron-core", "third_party/Megatron-LM/megatron/core/package_info.py"),
    ("megatron-bridge", "src/megatron/bridge/package_info.py"),
    ("megatron-bridge", "megatron/bridge/package_info.py"),
    ("megatron-bridge", "3rdparty/Megatron-Bridge-workspace/Megatron-Bridge/src/megatron/bridge/package_info.py"),
    ("nemo-rl", "nemo_rl/package_info.py"),
    (
        "megatron-core",
        "3rdparty/Megatron-Bridge-workspace/Megatron-Bridge/3rdparty/Megatron-LM/megatron/core/package_info.py",
    ),
)
"""Where a library's own version file stands, from the folder that is looked at."""
VERSION_FILES: tuple[tuple[str, str], ...] = (("verl", "verl/version/version"),)
MODULES: tuple[tuple[str, str], ...] = (("ms-swift", "swift/version.py"),)
"""Modules with a library's `__version__` (swift/version.py:2 at v4.2.3)."""
HOLDING_FOLDERS = frozenset({"docker", "dockerfiles", "requirements"})
"""Folders whose files speak for the folder above."""


_PINNING = ("uv.lock", "pyproject.toml", "setup.py", "manifest.json", ".txt")
"""Endings of the files that pin something, besides Dockerfiles."""


def kind_of(path: str) -> str:
    """Give the kind of pins that a file holds, by its name; empty where it holds none."""
    if not path.endswith(_PINNING) and "ockerfile" not in path:
        return ""
    name = path.rsplit("/", 1)[-1]
    if name in ("uv.lock",):
        return "uv.lock"
    if name in ("pyproject.toml", "setup.py"):
        return "pyproject"
    if name == "manifest.json" and "requirements" in path:
        return "manifest"
    if name.endswith(".txt") and ("requirements" in name or "/requirements/" in f"/{path}"):
        return "requirements"
    return "docker" if name.startswith(("Dockerfile", "dockerfile")) or name.endswith(".Dockerfile") else ""


def owner(path: str) -> str:
    """Give the folder that a file with pins speaks for, empty for the root."""
    folder = PurePosixPath(path).parent
    while folder.name.lower() in HOLDING_FOLDERS:
        folder = folder.parent
    return "" if str(folder) == "." else str(folder)


def folder_of(path: str) -> str | None:
    """Give the folder for which a file fixes a version, empty for the root; None where it fixes none."""
    if kind_of(path):
        return owner(path)
    for _, place in (*CHECKOUTS, *VERSION_FILES, *MODULES):
        if path == place or path.endswith(f"/{place}"):
            return path[: -len(place)].rstrip("/")
    return None
