"""Readers of the files that pin versions: each gives pins with the line that says so.

Line by line and by word, never executed: a pin that is written in a form which these readers do not know is no pin.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from packaging.version import InvalidVersion, Version

from meshlint.config.launch import Pin
from meshlint.config.pins.tables import IMAGES, RELEASES, commit_versions, library_of
from meshlint.config.value import Kind, Origin, written
from meshlint.place import Span
from meshlint.sources.tree import Text

LIBRARIES = tuple(RELEASES)
REPOSITORIES = {
    "megatron-lm": "megatron-core",
    "transformerengine": "transformer-engine",
    "megatron-bridge": "megatron-bridge",
    "verl": "verl",
}
"""The library that a GitHub repository holds, by the repository's name in lower case."""
ARGUMENTS = {
    "MCORE_VERSION": "megatron-core",
    "MEGATRON_CORE_VERSION": "megatron-core",
    "MEGATRON_COMMIT": "megatron-core",
    "TRANSFORMER_ENGINE_VERSION": "transformer-engine",
    "TRANSFORMER_ENGINE_COMMIT": "transformer-engine",
    "TE_VERSION": "transformer-engine",
    "MEGATRON_BRIDGE_VERSION_OR_BRANCH": "megatron-bridge",
    "TORCH_VERSION": "torch",
}
"""Build arguments of Dockerfiles that name a library's version. Source: docker/ of verl, slime, Megatron-LM."""
MAX_LINE = 2_000
MAX_ARGUMENTS = 200
"""Build arguments and variables of one Dockerfile."""


def pin(library: str, specifier: str, text: Text, line: int, column: int, written_as: str, how: str) -> Pin:
    """Make a pin with its place; `how` names the kind of file in a word or two."""
    span = Span(text.path, line, column, line, column + len(written_as))
    return Pin(library, specifier, written(specifier, Origin(Kind.WRITTEN, written_as, span, "pin", note=how)))


def specifier_of(reference: str, library: str) -> str | None:
    """Turn a tag, branch or commit into a specifier; None where it fixes no version (`main`)."""
    known = commit_versions().get(reference[:12].lower())
    if known is not None and known[0] == library and len(reference) >= 12:
        return f"=={known[1]}"
    name = reference.rsplit("/", 1)[-1]
    for prefix in ("core_v", "core_r", "release_v", "v", "r"):
        if name.startswith(prefix) and name[len(prefix) :][:1].isdigit():
            return _exact(name[len(prefix) :], branch=prefix in ("release_v", "core_r"))
    return _exact(name, branch=False) if name[:1].isdigit() and "." in name else None


def _exact(version: str, branch: bool) -> str | None:
    try:
        parsed = Version(version)
    except InvalidVersion:
        return None
    short = len(parsed.release) < 3 or branch
    return f"=={'.'.join(map(str, parsed.release[:2]))}.*" if short else f"=={parsed.public}"


def requirement(word: str) -> tuple[str, str] | None:
    """Read one requirement; give the library and its specifier, or None where it is another package or pins nothing."""
    head = word.partition(";")[0]
    if library_of(_leading_name(word)) not in LIBRARIES or not any(mark in head for mark in "<>=!~@("):
        return None
    plain = _plain_requirement(word)
    if plain is not None:
        return plain
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        parsed = Requirement(word)
    except InvalidRequirement:
        return None
    library = library_of(parsed.name)
    if library not in LIBRARIES:
        return None
    if parsed.url is not None:
        return _repository(parsed.url)
    return (library, str(parsed.specifier)) if len(parsed.specifier) else None


def _leading_name(word: str) -> str:
    """Give the name that a requirement begins with, whatever stands behind it."""
    text = word.lstrip()
    return text[: next((at for at, mark in enumerate(text) if not (mark.isalnum() or mark in "._-")), len(text))]


def _plain_requirement(word: str) -> tuple[str, str] | None:
    """Read `name[extras]>=1,<2` of a library that counts; None for other forms, whose parser takes long to load."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    start = next((at for at, mark in enumerate(word) if mark in "<>=!~"), 0)
    name, _, extras = word[:start].strip().partition("[")
    library = library_of(name.strip())
    if library not in LIBRARIES or any(mark in word for mark in "@;()#") or extras.count("]") != ("[" in word):
        return None
    try:
        return library, str(SpecifierSet(word[start:]))
    except InvalidSpecifier:
        return None


def _repository(url: str) -> tuple[str, str] | None:
    place, _, reference = url.partition("#")[0].rpartition("@")
    library = REPOSITORIES.get(PurePosixPath(place).name.lower().removesuffix(".git"))
    specifier = specifier_of(reference, library) if library is not None else None
    return (library, specifier) if library is not None and specifier is not None else None


def _lines(text: Text) -> Iterator[tuple[int, str]]:
    return ((n, line[:MAX_LINE]) for n, line in enumerate(text.text.split("\n"), 1))


def _could_pin(word: str) -> bool:
    """Say whether a requirement could pin a library that counts; to parse all of a long list is slow."""
    spelled = word.lower().replace("_", "-").replace(".", "-")
    return any(mark in word for mark in "<>=~@") and any(name in spelled for name in LIBRARIES)


def requirements_txt(text: Text) -> Iterator[Pin]:
    """Read a pip requirements file."""
    for number, line in _lines(text):
        word = _without_options(line.split(" #", 1)[0])
        found = requirement(word) if word[:1] not in ("", "#", "-") and _could_pin(word) else None
        if found is not None:
            yield pin(*found, text, number, line.index(word) + 1, word, "requirements")


def _without_options(line: str) -> str:
    """Give a requirement without its hashes and the mark of a line that goes on (`--hash=sha256:...`)."""
    return line.split(" --", 1)[0].rstrip().removesuffix("\\").strip()


def pyproject(text: Text) -> Iterator[Pin]:
    """Read the quoted requirements of a pyproject.toml or setup.py, in whichever table or list they stand."""
    for number, line in _lines(text):
        if line.lstrip().startswith("#"):
            continue
        for column, word in _quoted(line):
            found = requirement(word) if _could_pin(word) else None
            if found is not None:
                yield pin(*found, text, number, column, word, PurePosixPath(text.path).name)


def _quoted(line: str) -> Iterator[tuple[int, str]]:
    at = 0
    while at < len(line):
        quote = line[at]
        if quote == "#":
            return
        if quote in "\"'":
            end = line.find(quote, at + 1)
            if end < 0:
                return
            yield at + 2, line[at + 1 : end]
            at = end
        at += 1


def uv_lock(text: Text) -> Iterator[Pin]:
    """Read the versions and git revisions of a uv.lock; the format is written by a program, one field a line."""
    name = ""
    for number, whole in enumerate(text.text.split("\n"), 1):  # tens of thousands, most of which say nothing here
        line = whole[:MAX_LINE] if whole.startswith(("name = ", "version = ")) else ""
        if line.startswith("name = "):
            name = library_of(line[7:].strip().strip('"'))
        elif line and name in LIBRARIES:
            version = line[10:].strip().strip('"').split("+", 1)[0]
            if version.strip("0."):  # 0.0.0 stands for a version that only a build knows
                yield pin(name, f"=={version}", text, number, 11, line[10:].strip(), "uv.lock")
            name = ""


def package_info(library: str, text: Text) -> Iterator[Pin]:
    """Read MAJOR, MINOR, PATCH and PRE_RELEASE of a library's own package_info.py."""
    parts: dict[str, tuple[int, str]] = {}
    for number, line in _lines(text):
        name, equals, value = line.partition("=")
        if equals and name.strip() in ("MAJOR", "MINOR", "PATCH", "PRE_RELEASE"):
            parts[name.strip()] = (number, value.split("#", 1)[0].strip().strip("'\""))
    if not {"MAJOR", "MINOR", "PATCH"} <= parts.keys():
        return
    version = ".".join(parts[k][1] for k in ("MAJOR", "MINOR", "PATCH")) + parts.get("PRE_RELEASE", (0, ""))[1]
    specifier = _exact(version, branch=False)
    if specifier is not None:
        yield pin(library, specifier, text, parts["MINOR"][0], 1, f"version {version}", "this checkout")


def version_file(library: str, text: Text) -> Iterator[Pin]:
    """Read a file that holds nothing but a version, such as verl/version/version."""
    first = text.text.split("\n", 1)[0].strip()[:64]
    specifier = _exact(first, branch=False)
    if specifier is not None:
        yield pin(library, specifier, text, 1, 1, first, "this checkout")


def version_module(library: str, text: Text) -> Iterator[Pin]:
    """Read `__version__ = '4.5.3'` of a module, such as swift/version.py."""
    for number, line in _lines(text):
        name, equals, value = line.partition("=")
        if equals and name.strip() == "__version__":
            version = value.split("#", 1)[0].strip().strip("'\"")[:64]
            specifier = _exact(version, branch=False)
            if specifier is not None:
                yield pin(library, specifier, text, number, 1, f"version {version}", "this checkout")
            return


def dockerfile(text: Text) -> Iterator[Pin]:
    """Read FROM images, ARG and ENV versions, pip requirements and git references of a Dockerfile."""
    arguments: dict[str, str] = {}
    for number, line in _lines(text):
        words = line.strip().rstrip("\\").split()
        if not words or words[0].startswith("#"):
            continue
        for word in words[1:] if words[0] in ("ARG", "ENV") else ():
            name, equals, value = word.partition("=")
            if equals and len(arguments) < MAX_ARGUMENTS:
                arguments[name] = value.strip("\"'")
                yield from _argument(name, arguments[name], text, number, line)
        if words[0] == "FROM" and len(words) > 1:
            image = next((w for w in words[1:] if not w.startswith("--")), "")
            yield from image_pins(_expand(image, arguments), text, number, line.find(image) + 1)
        for word in words:
            yield from _installed(word, arguments, text, number, line)


def manifest(text: Text) -> Iterator[Pin]:
    """Read NeMo's requirements/manifest.json: `vcs-dependencies` with a repository and a ref, one field a line."""
    library: str | None = None
    for number, line in _lines(text):
        words = [word for _, word in _quoted(line)]
        if words[:1] == ["repo"] and len(words) > 1:
            library = REPOSITORIES.get(PurePosixPath(words[1]).name.lower().removesuffix(".git"))
        elif words[:1] == ["ref"] and len(words) > 1 and library is not None:
            specifier = specifier_of(words[1], library)
            if specifier is not None:
                yield pin(library, specifier, text, number, line.find(words[1]) + 1, words[1], "manifest.json")


def _argument(name: str, value: str, text: Text, number: int, line: str) -> Iterator[Pin]:
    library = ARGUMENTS.get(name)
    specifier = specifier_of(value, library) if library is not None else None
    if library is not None and specifier is not None:
        yield pin(library, specifier, text, number, line.find(name) + 1, f"{name}={value}", "Dockerfile")


def _installed(word: str, arguments: dict[str, str], text: Text, number: int, line: str) -> Iterator[Pin]:
    plain = _expand(word.strip("\"';,"), arguments)
    found = None
    if plain.startswith("git+") and "@" in plain:
        found = _repository(plain)
    elif "==" in plain or ">=" in plain or "~=" in plain:
        found = requirement(plain)
    if found is not None:
        yield pin(*found, text, number, line.find(word) + 1, word, "Dockerfile")


def _expand(word: str, arguments: dict[str, str]) -> str:
    if "$" not in word:
        return word
    for name, value in arguments.items():
        word = word.replace(f"${{{name}}}", value).replace(f"${name}", value)
        if len(word) > MAX_LINE:
            return ""
    return word


def image_pins(image: str, text: Text, number: int, column: int) -> Iterator[Pin]:
    """Give what a container image holds, by the sourced tables: `nvcr.io/nvidia/nemo:26.04`."""
    name, _, tag = image.partition(":")
    held = IMAGES.get(name, {}).get(tag.removesuffix("-py3")[:5] if tag[:2].isdigit() else tag, {})
    for library, version in held.items():
        specifier = _exact(version, branch=False)
        if specifier is not None:
            yield pin(library, specifier, text, number, column, image, "image")
