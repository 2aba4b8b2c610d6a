"""Pins: which version runs, and where it is written."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from meshlint.config.launch import Launch, Pin
from meshlint.config.pins.find import find
from meshlint.config.pins.readers import requirement, specifier_of
from meshlint.config.pins.tables import BRIDGE_CARRIES, CORE_NEEDS, IMAGES, RELEASES, commit_versions
from meshlint.config.registry import framework
from meshlint.config.surface import Context
from meshlint.config.value import State, Value
from meshlint.config.versions import admitted, narrow, resolve
from meshlint.place import Span
from meshlint.sources.tree import Tree

CORE = "megatron-core"


def context(root: Path, files: dict[str, str]) -> Context:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Context(Tree(root.resolve(), (root.resolve(),)), tuple(sorted(files)))


def versions(pins: dict[str, tuple[object, ...]], library: str) -> list[str]:
    return [str(v) for v in narrow(library, pins[library]).candidates]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "text", "library", "expected", "line"),
    [
        ("requirements.txt", "numpy\nmegatron-core==0.16.1  # ours\n", CORE, ["0.16.1"], 2),
        ("requirements/train.txt", "transformer_engine[pytorch]==2.8.0\n", "transformer-engine", ["2.8.0"], 1),
        ("pyproject.toml", '[project]\ndependencies = [\n  "megatron-core>=0.18",\n]\n', CORE, ["0.18.2", "0.19.2"], 3),
        (
            "pyproject.toml",
            'x = ["transformer-engine[pytorch] @ git+https://github.com/NVIDIA/TransformerEngine.git@v2.14.1"]\n',
            "transformer-engine",
            ["2.14.1"],
            1,
        ),
        ("requirements.txt", "transformer_engine_cu12==2.8.0\n", "transformer-engine", ["2.8.0"], 1),
        ("requirements.txt", "transformer-engine-cu13==2.11.0\n", "transformer-engine", ["2.11.0"], 1),
        ("uv.lock", 'name = "transformer-engine-cu13"\nversion = "2.9.0"\n', "transformer-engine", ["2.9.0"], 2),
        ("uv.lock", '[[package]]\nname = "torch"\nversion = "2.11.0+cu130"\n', "torch", ["2.11.0"], 3),
        ("docker/Dockerfile", "ARG MCORE_VERSION=core_v0.18.0\n", CORE, ["0.18.0"], 1),
        ("Dockerfile.train", "FROM nvcr.io/nvidia/nemo:26.04\n", CORE, ["0.17.0"], 1),
        ("Dockerfile", "ARG TAG=25.09\nFROM nvcr.io/nvidia/nemo:${TAG}\n", "megatron-bridge", ["0.1.0rc3"], 2),
        (
            "Dockerfile",
            "RUN pip install \\\n    git+https://github.com/NVIDIA/Megatron-LM.git@core_r0.15.0\n",
            CORE,
            ["0.15.3"],
            2,
        ),
        (
            "megatron/core/package_info.py",
            "MAJOR = 0\nMINOR = 12\nPATCH = 3\nPRE_RELEASE = ''\n",
            CORE,
            ["0.12.3"],
            2,
        ),
        ("verl/version/version", "0.7.1\n", "verl", ["0.7.1"], 1),
        ("swift/version.py", "# ours\n__version__ = '4.2.3'  # x\n", "ms-swift", ["4.2.3"], 2),
        ("requirements.txt", "megatron-core==0.16.1 --hash=sha256:0a1b\n", CORE, ["0.16.1"], 1),
        ("requirements.txt", "megatron-core==0.16.1 \\\n    --hash=sha256:0a1b\n", CORE, ["0.16.1"], 1),
        ("requirements.txt", "megatron-core===0.16.1\n", CORE, ["0.16.1"], 1),
        (
            "requirements/manifest.json",
            json.dumps({"vcs-dependencies": {"m": {"repo": "https://x/Megatron-LM", "ref": "core_v0.13.0"}}}, indent=1),
            CORE,
            ["0.13.0"],
            5,
        ),
    ],
)
def test_each_kind_of_file(tmp_path: Path, name: str, text: str, library: str, expected: list[str], line: int) -> None:
    found = find("scripts/run.sh", context(tmp_path, {name: text}))
    assert versions(found, library) == expected  # type: ignore[arg-type]
    span = found[library][0].value.span
    assert span is not None
    assert (span.path, span.line) == (name, line)


def test_what_pins_nothing(tmp_path: Path) -> None:
    files = {
        "uv.lock": '[[package]]\nname = "megatron-bridge"\nversion = "0.0.0"\nsource = { editable = "bridge" }\n',
        "requirements.txt": "# megatron-core==0.10.0\nmegatron-core\ntorch ; sys_platform == 'never'\n",
        "pyproject.toml": '# "megatron-core==0.11.0"\nno-build-isolation-package = ["transformer-engine"]\n',
        "Dockerfile": "FROM python:3.12\nRUN pip install git+https://github.com/NVIDIA/Megatron-LM.git@main\n",
    }
    assert not find("run.sh", context(tmp_path, files))


def test_the_nearest_folder_wins(tmp_path: Path) -> None:
    files = {"requirements.txt": "megatron-core==0.12.3\n", "job/requirements.txt": "megatron-core==0.16.1\n"}
    shared = context(tmp_path, files)
    assert versions(find("job/run.sh", shared), CORE) == ["0.16.1"]  # type: ignore[arg-type]
    assert versions(find("other/run.sh", shared), CORE) == ["0.12.3"]  # type: ignore[arg-type]


def test_a_checkout_beats_requirements(tmp_path: Path) -> None:
    files = {
        "megatron/core/package_info.py": "MAJOR = 0\nMINOR = 16\nPATCH = 1\nPRE_RELEASE = ''\n",
        "requirements.txt": "megatron-core==0.12.3\n",
    }
    assert versions(find("run.sh", context(tmp_path, files)), CORE) == ["0.16.1"]  # type: ignore[arg-type]


def test_two_images_that_disagree_both_count(tmp_path: Path) -> None:
    files = {"docker/Dockerfile.a": "ARG MCORE_VERSION=0.18.0\n", "docker/Dockerfile.b": "ARG MCORE_VERSION=0.12.1\n"}
    assert versions(find("run.sh", context(tmp_path, files)), CORE) == ["0.12.1", "0.18.0"]  # type: ignore[arg-type]


def test_a_submodule_commit_stands_for_its_version(tmp_path: Path) -> None:
    commit, (library, version) = next((c, v) for c, v in sorted(commit_versions().items()) if v[0] == CORE)
    full = commit + "0" * 28
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    shared = context(tmp_path, {".gitmodules": '[submodule "m"]\n\tpath = 3rdparty/Megatron-LM\n\turl = ../m\n'})
    subprocess.run(
        ["git", "-C", str(tmp_path), "update-index", "--add", "--cacheinfo", f"160000,{full},3rdparty/Megatron-LM"],
        check=True,
    )
    assert versions(find("run.sh", shared), library) == [str(Version(version))]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("core_v0.16.1", "==0.16.1"),
        ("core_r0.15.0", "==0.15.*"),
        ("v2.8", "==2.8.*"),
        ("release_v2.15", "==2.15.*"),
        ("r0.5.0", "==0.5.0"),
        ("main", None),
        ("dev", None),
        ("0123456789abcdef0123456789abcdef01234567", None),
    ],
)
def test_references(reference: str, expected: str | None) -> None:
    assert specifier_of(reference, CORE) == expected


@pytest.mark.parametrize(
    "specifier",
    ["===main", "===0.16.x", f"==0.{'9' * 5000}", ">=0.17,<0.15", "==0.16.1,!=0.16.1", "~=0.20,<0.20", "<0.1", "=="],
)
def test_a_specifier_that_nothing_can_meet_pins_nothing(specifier: str) -> None:
    releases = tuple(map(Version, RELEASES[CORE]))
    assert admitted(specifier, releases) == ()
    assert narrow(CORE, (Pin(CORE, specifier, Value(State.SET, specifier)),)).candidates == releases


def test_a_prerelease_stands_for_itself() -> None:
    releases = tuple(map(Version, RELEASES[CORE]))
    assert admitted("==0.16.0rc0,>=0.15", releases) == (Version("0.16.0rc0"),)


def test_foreign_requirements_are_none() -> None:
    assert requirement("numpy==1.0") is None
    assert requirement("not a requirement at all !!") is None
    assert requirement("megatron_core==0.16.1") == (CORE, "==0.16.1")


def test_an_unreleased_minor_stands_for_itself() -> None:
    releases = tuple(Version(v) for v in RELEASES[CORE])
    assert admitted("==0.20.*", releases) == (Version("0.20"),)
    assert admitted("==0.17.0rc0", releases) == (Version("0.17.0rc0"),)
    assert admitted(">=0.18", releases) == (Version("0.18.2"), Version("0.19.2"))


@pytest.mark.parametrize(
    ("pinned", "lowest"),
    [
        ("", "1.13.0"),
        ("megatron-core==0.12.3\n", "1.13.0"),
        ("megatron-core==0.14.0\n", "2.6.0"),
        ("megatron-core==0.16.1\n", "2.9.0"),
        ("megatron-core==0.16.1\ntransformer-engine==1.11.0\n", "1.11.0"),
        ("transformer-engine<1.13\n", "1.11.0"),
    ],
)
def test_an_unpinned_library_is_one_that_the_core_is_run_with(tmp_path: Path, pinned: str, lowest: str) -> None:
    launch = Launch("megatron-lm", "pretrain_gpt.py", "test", "run.sh", Span("run.sh", 1))
    shared = context(tmp_path, {"requirements.txt": pinned, "run.sh": ""})
    found = resolve(launch, framework("megatron-lm"), shared)["transformer-engine"]
    assert str(found.candidates[0]) == lowest


def test_the_tables_are_well_formed() -> None:
    for listed in RELEASES.values():
        assert [Version(v) for v in listed] == sorted({Version(v) for v in listed})
    for images in IMAGES.values():
        for held in images.values():
            assert set(held) <= set(RELEASES)
            assert all(Version(v) for v in held.values())
    for carried in BRIDGE_CARRIES.values():
        assert all(SpecifierSet(s) for s in carried.values())
    for minors in CORE_NEEDS.values():
        assert [Version(m) for m in minors] == sorted(Version(m) for m in minors)
        assert all(Version(needed) and source for needed, source in minors.values())
    assert all(len(c) == 12 and lib in RELEASES and Version(v) for c, (lib, v) in commit_versions().items())


def test_a_file_of_very_many_pins_is_read_in_part_and_told(tmp_path: Path) -> None:
    lines = "".join(f"megatron-core>=0.{i}\n" for i in range(5_000))
    made = context(tmp_path, {"requirements.txt": lines, "run.sh": ""})
    assert len(find("run.sh", made)[CORE]) == 200
    assert [(p.span.path, p.span.line) for p in made.problems] == [("requirements.txt", 201)]


def test_a_version_file_that_is_no_text_is_no_pin(tmp_path: Path) -> None:
    made = context(tmp_path, {"megatron/core/package_info.py": "", "run.sh": ""})
    (tmp_path / "megatron/core/package_info.py").write_bytes(b"MAJOR = 0\xff\n")
    assert find("run.sh", made) == {}


def test_many_build_arguments_do_not_multiply(tmp_path: Path) -> None:
    text = "".join(f"ARG A{i}=$A{i + 1}$A{i + 1}\n" for i in range(400)) + "RUN pip install megatron-core==0.16.1\n"
    made = context(tmp_path, {"Dockerfile": text, "run.sh": ""})
    assert versions(dict(find("run.sh", made)), CORE) == ["0.16.1"]
