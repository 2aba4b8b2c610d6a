"""Process groups: partitions of the ranks, with members and an identity.

A group is a *name* for many instances: `dims` says over which leaves one instance varies, `members` which ranks have
an instance at all (the embedding group: first and last stage), `lists` gives the instances as lists of ranks where the
program says them itself. A group that is only a value (`group` of a caller) has a leaf of its own and an identity.
Which instance a rank is in is answered by `meshlint.mesh.evaluate`.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from meshlint.mesh.dims import ALL, UNKNOWN
from meshlint.records import dataclass

if TYPE_CHECKING:
    from meshlint.mesh.gate import Expr


TENSOR = ":mesh of "
"""How the identity of the ranks begins that share a tensor."""


@dataclass(frozen=True, slots=True)
class Group:
    """A partition of (some of) the ranks.

    `dims`: mask of leaf dims; ALL for the world. `members`: a condition on coordinates that a rank of the group
    satisfies, or None for all ranks. `lists`: an expression that gives the instances as lists of global ranks, or
    None for the product of `dims`. `identity`: which communicator it is where that is known ("" is unknown, and equals
    any other of the same partition). `name`: what messages call it. `weak`: known by its name only.
    """

    dims: int
    members: Expr | None = None
    lists: Expr | None = None
    identity: str = ""
    name: str = ""
    weak: bool = False
    _hash: int = field(default=0, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        """Give the hash, computed once: events are looked up by their group."""
        known = self._hash
        if not known:
            known = hash((self.dims, self.members, self.lists, self.identity, self.name, self.weak)) or 1
            object.__setattr__(self, "_hash", known)
        return known

    @property
    def partition(self) -> tuple[int, int, int]:
        """The key of the partition alone: dims, members and lists."""
        members, lists = self.members, self.lists
        return (self.dims, -1 if members is None else members.id, -1 if lists is None else lists.id)

    @property
    def unknown(self) -> bool:
        """Say whether nothing but the identity is known: not over which dims, nor how it lies to other groups."""
        return self.dims != ALL and bool(self.dims & UNKNOWN)

    @property
    def of_program(self) -> bool:
        """Say whether all members surely run this program, though no more is known: the ranks that share a tensor."""
        return self.unknown and self.identity.startswith(TENSOR)

    def may_equal(self, other: Group) -> bool:
        """Say whether both may be one communicator: equal partition, and no two known identities that differ."""
        if self.partition != other.partition:
            return False
        return not self.identity or not other.identity or self.identity == other.identity


WORLD = Group(ALL, name="world")
"""The default group."""

SELF = Group(0, name="self")
"""Every rank alone: for events that wait for nobody, such as keys that a stage hands on."""
