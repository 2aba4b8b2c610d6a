"""Which versions of each library are judged: the supported releases, narrowed by whatever pins them."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from meshlint.config.effective import Resolved
from meshlint.config.framework import Framework
from meshlint.config.launch import Launch, Pin
from meshlint.config.surface import Context

RELEASES: Mapping[str, tuple[str, ...]] = {
    "megatron-core": (
        "0.10.0",
        "0.11.0",
        "0.12.3",
        "0.13.1",
        "0.14.0",
        "0.15.3",
        "0.16.1",
        "0.17.1",
        "0.18.2",
        "0.19.0",
    ),
}
"""The newest patch release of every supported minor, oldest first."""


def resolve(launch: Launch, framework: Framework, context: Context) -> dict[str, Resolved]:
    """Give, for each library of the framework, the releases that its pins admit."""
    pins: dict[str, Pin] = {pin.library: pin for pin in (*launch.pins, *context.pins)}
    return {library: _narrow(library, pins.get(library)) for library in framework.libraries}


def _narrow(library: str, pin: Pin | None) -> Resolved:
    releases = tuple(Version(text) for text in RELEASES.get(library, ()))
    if pin is None:
        return Resolved(releases)
    wanted = SpecifierSet(pin.specifier, prereleases=True)
    admitted = tuple(v for v in releases if v in wanted)
    exact = [s.version for s in wanted if s.operator == "=="]
    return Resolved(admitted or tuple(Version(v) for v in exact), pin)
