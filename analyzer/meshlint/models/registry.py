"""Finding the model of a name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from meshlint.models import (
    accelerate,
    colossalai,
    composer,
    deepspeed,
    device_mesh,
    fairseq2,
    lightning,
    megatron_bridge,
    megatron_core,
    megatron_training,
    ms_swift,
    nemo,
    nemo_rl,
    olmo_core,
    openrlhf,
    python_runtime,
    slime,
    torch_distributed,
    torch_fsdp,
    torchmetrics,
    torchtitan,
    tqdm,
    trl,
    verl,
)
from meshlint.models.entry import Entry
from meshlint.records import dataclass

LIBRARIES: tuple[tuple[Entry, ...], ...] = (
    torch_distributed.ENTRIES,
    device_mesh.ENTRIES,
    torch_fsdp.ENTRIES,
    megatron_core.ENTRIES,
    accelerate.ENTRIES,
    lightning.ENTRIES,
    torchmetrics.ENTRIES,
    openrlhf.ENTRIES,
    python_runtime.ENTRIES,
    megatron_training.ENTRIES,
    megatron_bridge.ENTRIES,
    nemo.ENTRIES,
    composer.ENTRIES,
    colossalai.ENTRIES,
    verl.ENTRIES,
    nemo_rl.ENTRIES,
    slime.ENTRIES,
    ms_swift.ENTRIES,
    deepspeed.ENTRIES,
    torchtitan.ENTRIES,
    trl.ENTRIES,
    olmo_core.ENTRIES,
    tqdm.ENTRIES,
    fairseq2.ENTRIES,
)
"""The models that come with meshlint."""


@dataclass(slots=True)
class Models:
    """All models of a run; those of the user are asked first."""

    extra: tuple[Entry, ...] = ()
    _by_name: dict[str, Entry] = field(default_factory=dict)
    _asked: dict[str, Entry | None] = field(default_factory=dict)
    _methods: frozenset[str] = frozenset()
    _makers: frozenset[str] = frozenset()
    _paced: frozenset[str] | None = None
    inherited: set[str] = field(default_factory=set)
    """The names of methods that classes of programs have of a library's class."""

    def __post_init__(self) -> None:
        """Index the entries by name."""
        for entries in (*LIBRARIES, self.extra):
            self._index(entries)

    @property
    def methods(self) -> frozenset[str]:
        """The names of methods that are modelled for objects of some class; "" where calling one is."""
        if not self._methods:
            own = (name for name in self._by_name if "()." in name or name.endswith("()"))
            names = ("" if name.endswith("()") else name.rpartition(".")[2] for name in own)
            self._methods = frozenset(names)
        return self._methods

    @property
    def paced(self) -> frozenset[str]:
        """The classes of libraries whose objects only say how far this process is."""
        if self._paced is None:
            owned = [(name.rpartition("().")[0], entry.kind) for name, entry in self._by_name.items() if "()." in name]
            others = {owner for owner, kind in owned if kind != "local"}
            self._paced = frozenset(owner for owner, _ in owned if owner not in others)
        return self._paced

    def makers(self, callees: Iterable[str]) -> tuple[str, ...]:
        """Give the last words of those callees that make objects which can be called, or whose methods are modelled."""
        if not self._makers:
            self._makers = frozenset(name.rpartition("()")[0] for name in self._by_name if "()" in name)
        words = (text.rpartition(".")[2] for text in callees)
        return tuple(dict.fromkeys(word for word in words if word in self._makers))

    def _index(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            for name in entry.names:
                self._by_name[name] = entry
            if entry.inherited:
                self.inherited.update(name.rpartition(".")[2] for name in entry.names)

    def of_class(self, name: str, method: str) -> Entry | None:
        """Give the entry of a method that programs inherit from a library's class."""
        return self._by_name.get(f"{name}.{method}") if method in self.inherited else None

    def find(self, dotted: str) -> Entry | None:
        """Give the entry for a dotted name: that of its longest known ending."""
        if dotted in self._asked:
            return self._asked[dotted]
        rest = dotted
        found = self._by_name.get(rest)
        while found is None and "." in rest:
            rest = rest.partition(".")[2]
            found = self._by_name.get(rest)
        self._asked[dotted] = found
        return found
