"""What a framework is, for the config side: its spellings, defaults, roles and habits, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from packaging.version import Version

from meshlint.config.value import Data, Value

if TYPE_CHECKING:
    from meshlint.config.effective import EffectiveConfig
    from meshlint.config.launch import Launch


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a library's versions, from `since` (included) up to `until` (excluded); None is open.

    `says` is what holds there, `source` the upstream file and line at a tag.
    """

    library: str
    since: str | None = None
    until: str | None = None
    says: str = ""
    source: str = ""

    def holds(self, version: Version) -> bool:
        """Say whether a version lies inside; a release candidate of `since` counts as `since`."""
        plain = Version(version.base_version)
        return (self.since is None or plain >= Version(self.since)) and (
            self.until is None or plain < Version(self.until)
        )


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a framework spells a field. `{role}` in a key stands for the role's prefix, `{parent}` for its parent's.

    `convert` maps what is written under that key to what the field's own parser reads (an inverted flag, another
    unit). Of several keys, the one written last counts. `source` is the upstream file and line that has the key.
    """

    field: str
    keys: tuple[str, ...]
    convert: Callable[[Data], Data] | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class Default:
    """A default; `window` limits it to versions of a library, None holds always."""

    field: str
    data: Data
    source: str
    window: Window | None = None


@dataclass(frozen=True, slots=True)
class Role:
    """One model of a launch with parallel sizes of its own, such as verl's actor, ref and critic."""

    name: str = ""
    prefix: str = ""
    parent: str = ""
    """The prefix of the section that holds the role's: `actor_rollout_ref.actor.` for its `megatron.`"""


ONE_ROLE: tuple[Role, ...] = (Role(),)


def _one_role(_: Launch) -> tuple[Role, ...]:
    return ONE_ROLE


@dataclass(frozen=True, slots=True, eq=False)
class Framework:
    """A framework: names, libraries, spellings, defaults, derived fields, and the roles of a launch.

    `derive` maps a field to a function of the effective config that is asked where nothing is written; it returns
    None where the default counts. `pads_sequences` and the like are `habits`: facts that rules ask by name.
    """

    name: str
    title: str
    libraries: tuple[str, ...]
    spellings: tuple[Spelling, ...]
    defaults: tuple[Default, ...] = ()
    derive: Mapping[str, Callable[[EffectiveConfig], Value | None]] = field(default_factory=dict)
    roles: Callable[[Launch], tuple[Role, ...]] = _one_role
    habits: Mapping[str, Data] = field(default_factory=dict)
    amend: Mapping[str, Callable[[EffectiveConfig, Value], Value]] = field(default_factory=dict)
    """What the framework makes of a field after reading it: a value that a missing switch turns off, or a checkpoint
    replaces. Asked last, for written, derived and default values alike."""
