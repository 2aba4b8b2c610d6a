"""Releases, container images and commits, and the versions that they stand for. Data, each table with its source."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

RELEASES: Mapping[str, tuple[str, ...]] = {
    "megatron-core": (
        "0.10.0", "0.11.0", "0.12.3", "0.13.1", "0.14.0", "0.15.3", "0.16.1", "0.17.1", "0.18.2", "0.19.2",
    ),
    "transformer-engine": (
        "1.11.0", "1.12.0", "1.13.0", "2.1.0", "2.2.0", "2.3.0", "2.4.0", "2.5.0", "2.6.0", "2.7.0", "2.8.0", "2.9.0",
        "2.10.0", "2.11.0", "2.12.0", "2.13.0", "2.14.1", "2.15.0", "2.16.1", "2.17.1", "2.18.0", "2.19.0", "2.20.2",
    ),
    "megatron-bridge": ("0.2.2", "0.3.1", "0.4.2", "0.5.1", "0.6.2"),
    "nemo-rl": ("0.3.1", "0.4.0", "0.5.0", "0.6.0", "0.7.0"),
    "verl": ("0.4.1", "0.5.0", "0.6.1", "0.7.1", "0.8.0", "0.9.1"),
    "torch": ("2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1"),
    "ms-swift": ("3.8.3", "3.9.3", "3.10.3", "3.11.3", "3.12.6", "4.0.4", "4.1.3", "4.2.3", "4.3.2", "4.4.2", "4.5.3"),
}  # fmt: skip
"""The newest patch release of every supported minor, oldest first. Source: the package index, Python 3.12, 2026-11.

megatron-bridge 0.2 is a tag (v0.2.2), not on the index; nemo-rl's are the tags of NVIDIA-NeMo/RL.
"""

ALIASES: Mapping[str, str] = {
    "transformer-engine-torch": "transformer-engine",
    "transformer-engine-cu12": "transformer-engine",
    "transformer-engine-cu13": "transformer-engine",
}
"""Distributions of a library under another name, released with it under one version. Source: the package index, and
setup.py of Transformer Engine at v2.8."""


def library_of(distribution: str) -> str:
    """Give the library of a distribution, in whichever spelling: `transformer_engine_cu12` is `transformer-engine`."""
    name = distribution.lower().replace("_", "-").replace(".", "-")
    return ALIASES.get(name, name)


NEMO_IMAGES: Mapping[str, Mapping[str, str]] = {
    "26.06": {"megatron-core": "0.18.0", "transformer-engine": "2.16", "megatron-bridge": "0.5.0", "torch": "2.12"},
    "26.04": {"megatron-core": "0.17.0", "transformer-engine": "2.14", "megatron-bridge": "0.4.0", "torch": "2.11"},
    "26.02": {"megatron-core": "0.16.0", "transformer-engine": "2.12", "megatron-bridge": "0.3.0", "torch": "2.10"},
    "25.11": {"megatron-core": "0.15.0", "transformer-engine": "2.9", "megatron-bridge": "0.2.0", "torch": "2.9"},
    "25.09": {"megatron-core": "0.14.0", "transformer-engine": "2.7.0", "megatron-bridge": "0.1.0rc3", "torch": "2.8"},
    "24.09": {"megatron-core": "0.9.0", "transformer-engine": "1.10", "torch": "2.4"},
    "24.07": {"megatron-core": "0.8.0", "transformer-engine": "1.8.0", "torch": "2.3"},
}
"""`nvcr.io/nvidia/nemo:TAG`. Source: Megatron-Bridge 067f987df docs/releases/software-versions.md; 24.x: the NeMo user
guide 24.09, page "Software Component Versions"."""

PYTORCH_IMAGES: Mapping[str, Mapping[str, str]] = {
    "26.04": {"torch": "2.12"},
    "26.02": {"torch": "2.11"},
    "25.12": {"torch": "2.10"},
    "25.06": {"torch": "2.8"},
}
"""`nvcr.io/nvidia/pytorch:TAG-py3`. Source: the notes under each table of software-versions.md; 25.12: the image's
release notes. The images' Transformer Engine is not listed there and stays unknown."""

IMAGES: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "nvcr.io/nvidia/nemo": NEMO_IMAGES,
    "nvcr.io/nvidia/pytorch": PYTORCH_IMAGES,
}

BRIDGE_CARRIES: Mapping[str, Mapping[str, str]] = {
    "0.2": {"megatron-core": ">=0.15.0a0,<0.17", "transformer-engine": ">=2.9.0a0,<2.10"},
    "0.3": {"megatron-core": "==0.16.*", "transformer-engine": ">=2.10.0a0,<2.13"},
    "0.4": {"megatron-core": "==0.17.*"},
    "0.5": {"megatron-core": "==0.18.*"},
    "0.6": {"megatron-core": "==0.19.*"},
    "0.7": {"megatron-core": "==0.20.*"},
}
"""What a megatron-bridge minor brings along. Source: its pyproject.toml and the submodule 3rdparty/Megatron-LM at the
tags v0.2.2 (core 0.16.0rc0, requirement >=0.15.0a0,<0.16), v0.3.1, v0.4.2, v0.5.1, v0.6.0 and 067f987df (0.7.0)."""

NEMO_RL_CARRIES: Mapping[str, Mapping[str, str]] = {
    "0.3": {"megatron-core": "==0.13.*"},
    "0.4": {"megatron-bridge": "==0.1.*", "megatron-core": "==0.15.*"},
    "0.5": {"megatron-bridge": "==0.3.*"},
    "0.6": {"megatron-bridge": ">=0.5"},
    "0.7": {"megatron-bridge": ">=0.6"},
}
"""What a NeMo-RL minor brings along. Source: the submodules below 3rdparty/ at the tags and what their package_info.py
says: v0.3.0 (Megatron-LM 2ff0f099ffc3, 0.13.0rc0), v0.4.0 (Megatron-Bridge 62f4704b8d66, 0.1.0rc0; Megatron-LM
af73aa2cebf9, 0.15.0rc3), v0.5.0 (Bridge 1e9a459b43aa, 0.3.0rc0), v0.6.0 (Bridge 95e5f38f8727, 0.5.0), v0.7.0 (its
commit is not public; the one before it, 554c7b932422 of f42f79627, is 0.6.0). A checkout of the main branch goes on
calling itself 0.6.0 while its Bridge grows (7ea279abf: 8c46dc425908, 0.7.0): the last two have no upper bound."""

CARRIERS: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "nemo-rl": NEMO_RL_CARRIES,
    "megatron-bridge": BRIDGE_CARRIES,
}
"""Libraries that bring others along in their own checkout, the outer one first."""

CORE_NEEDS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "transformer-engine": {
        "0.10": (
            "1.13",
            "README.md:93 at core_v0.10.0 (2025-02-17) asks for the latest container; v1.13 is of 2024-12",
        ),
        "0.14": ("2.6", "pyproject.toml:80 at core_v0.14.0: >=2.6.0a0,<2.8.0"),
        "0.15": ("2.9", "pyproject.toml:71 at core_v0.15.3: >=2.9.0a0,<2.10.0"),
        "0.16": ("2.9", "pyproject.toml:71 at core_v0.16.1: >=2.9.0a0,<2.12.0"),
        "0.17": ("2.14", "pyproject.toml:205 at core_v0.17.1: commit 366798ef8a, version 2.14.1"),
        "0.18": ("2.16", "pyproject.toml:206 at core_v0.18.2: commit b9d690e042, version 2.16.0"),
    }
}
"""The lowest release of a library that a megatron-core minor and those after it are run with, and its source.

It narrows what is judged where nothing pins the library; a pin always counts for more. Upper bounds are left out:
containers bring newer releases than a minor asks for.
"""


@cache
def commit_versions() -> Mapping[str, tuple[str, str]]:
    """Give (library, version) by the first 12 digits of an upstream commit.

    Source: `package_info.py` (core, Bridge) or `build_tools/VERSION.txt` (Transformer Engine) at every commit that
    the submodules, manifests and Dockerfiles of Megatron-Bridge, NeMo-RL, NeMo, Pai-Megatron-Patch, slime and verl have
    ever named.
    """
    text = Path(__file__).with_name("commits.tsv").read_text("utf-8")
    rows = (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return {commit: (library, version) for commit, library, version in rows}
