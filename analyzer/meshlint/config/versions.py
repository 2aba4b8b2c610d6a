"""Which versions of each library are judged: the supported releases, narrowed by whatever pins them.

The order of belief: the command line and the settings, the launch's own words (its image), files near it (a checkout,
locks, requirements, images, submodules), an installed environment, what another pinned library brings along. With none
of them, every supported release is judged that the launch's megatron-core can be run with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from packaging.version import Version

from meshlint.config.effective import Resolved
from meshlint.config.framework import Framework
from meshlint.config.installed import environments
from meshlint.config.launch import Launch, Pin
from meshlint.config.pins.find import find
from meshlint.config.pins.tables import CARRIERS, CORE_NEEDS, RELEASES
from meshlint.config.surface import Context
from meshlint.config.value import Kind, Origin, Value, written

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet


def resolve(launch: Launch, framework: Framework, context: Context) -> dict[str, Resolved]:
    """Give, for each library of the framework, the releases that its pins admit."""
    given = {pin.library: (pin,) for pin in (*launch.pins, *context.pins)}
    near = find(launch.place.path, context)
    resolved: dict[str, Resolved] = {}
    for library in sorted(framework.libraries, key=_rank):
        pins = given.get(library) or near.get(library) or _installed(library, context) or _carried(library, resolved)
        found = narrow(library, pins)
        resolved[library] = found if found.pin is not None else _realistic(library, found, resolved)
    return resolved


def _rank(library: str) -> int:
    """Put what tells of others first."""
    order = (*CARRIERS, "megatron-core")
    return order.index(library) if library in order else len(order)


def _realistic(library: str, found: Resolved, resolved: Mapping[str, Resolved]) -> Resolved:
    """Leave out the releases of an unpinned library that no candidate of megatron-core is run with."""
    core, needs = resolved.get("megatron-core"), CORE_NEEDS.get(library, {})
    if core is None or not core.candidates:
        return found
    lowest = core.candidates[0]
    floors = [Version(needed) for minor, (needed, _) in needs.items() if Version(minor) <= Version(lowest.base_version)]
    inside = tuple(v for v in found.candidates if not floors or v >= floors[-1])
    return Resolved(inside or found.candidates)


def narrow(library: str, pins: Iterable[Pin]) -> Resolved:
    """Give the releases that satisfy all pins; where they contradict each other, those that satisfy any."""
    releases = tuple(Version(text) for text in RELEASES.get(library, ()))
    listed = [(pin, admitted(pin.specifier, releases)) for pin in pins]
    listed = [(pin, versions) for pin, versions in listed if versions]
    if not listed:
        return Resolved(releases)
    common = set(listed[0][1]).intersection(*(versions for _, versions in listed[1:]))
    union = {v for _, versions in listed for v in versions}
    others = {
        pin.specifier: pin for pin, _ in reversed(listed) if not common and pin.specifier != listed[0][0].specifier
    }
    return Resolved(tuple(sorted(common or union)), listed[0][0], tuple(others[s] for s in sorted(others)))


def admitted(specifier: str, releases: tuple[Version, ...]) -> tuple[Version, ...]:
    """Give the releases inside a specifier; an exact version stands for itself, released or not.

    None where the specifier is none, or excludes all that could be meant: `>=0.17,<0.15`, `===main`.
    """
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        wanted = SpecifierSet(specifier, prereleases=True)
    except InvalidSpecifier:
        return ()
    exact = [s.version for s in wanted if s.operator in ("==", "===") and not s.version.endswith("*")]
    if exact:
        return tuple(v for v in (_version(exact[0]),) if v is not None and _admits(wanted, v))
    inside = tuple(v for v in releases if v in wanted)
    floors = (_version(s.version.removesuffix(".*")) for s in wanted if s.operator in ("==", "~=", ">="))
    return inside or tuple(v for v in floors if v is not None and _admits(wanted, v))


def _version(text: str) -> Version | None:
    """Read a version; `0.20.*` and `>=0.20` name the lowest one of a minor that is not among the releases yet."""
    try:
        return Version(text)
    except ValueError:  # an InvalidVersion, or a number of thousands of digits
        return None


def _admits(wanted: SpecifierSet, version: Version) -> bool:
    """Say whether a version is inside of a set; `===0.16` stands for that version too."""
    return all(one.operator == "===" or one.contains(version, prereleases=True) for one in wanted)


def _installed(library: str, context: Context) -> tuple[Pin, ...]:
    """Give what the nearest environment that has the library says."""
    for environment in environments(context):
        version = environment.version(library)
        if version is not None:
            note = f"installed in {environment.label}"
            return (
                Pin(library, f"=={version}", written(version, Origin(Kind.DERIVED, version, None, "pin", note=note))),
            )
    return ()


def _carried(library: str, resolved: Mapping[str, Resolved]) -> tuple[Pin, ...]:
    """Give what the libraries that bring this one along say of it, the outermost that says anything."""
    for carrier, table in CARRIERS.items():
        known = resolved.get(carrier)
        if known is None or known.pin is None or library == carrier:
            continue
        minors = {".".join(str(v).split(".")[:2]) for v in known.candidates}
        carried = sorted({table.get(minor, {}).get(library, "") for minor in minors})
        if "" in carried:
            continue
        note = f"what {carrier} {', '.join(sorted(minors))} brings along"
        return tuple(Pin(library, s, _derived(s, note, known.pin.value)) for s in carried)
    return ()


def _derived(specifier: str, note: str, behind: Value) -> Value:
    return written(specifier, Origin(Kind.DERIVED, specifier, surface="pin", note=note), *behind.origins)
