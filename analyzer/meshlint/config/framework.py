"""What a framework is, for the config side: its spellings, defaults, roles and habits, as data.

Habits are facts that rules ask by name, `config.habit(name)`. In the tables a habit is data, a `Window` or a tuple of
windows (asked, it is true inside and false outside), or a function of the effective config where it depends on the
entry point. Missing means no.

| habit | what it says |
| --- | --- |
| validates_arguments | the entry runs Megatron-LM's `validate_args` |
| validates_hierarchical_sizes | before training, the entry refuses a2a+p2p without sizes, at cp = 1 too |
| passes_hierarchical_sizes | sizes given in the config reach megatron-core's group builder |
| unwraps_single_comm_type | a comm-type list of one entry counts as that entry for all layers |
| seq_is_tensor_length | unpacked, `seq_length` is the length of the tensor that attention gets |
| checks_seq_for_cp | the entry refuses `seq_length % (2 * cp) != 0`, packed or not |
| pads_each_sequence_to | the multiple that the framework pads each sequence to by itself: `2*cp`, `2*cp*tp`, `cp*tp`, |
|  | `lcm(2*cp,cp*tp)`; `pad_multiple`: only to that field; None: to nothing. `tp` counts as 1 without SP where the |
|  | habit `pads_for_sp_only` holds |
| pads_for_sp_only | the factor tp of the pad is there only under sequence parallelism |
| run_script_mends_pad | the framework's own run script makes the pad anew, where this launch is a recipe by itself |
| checks_pad_multiple | the entry refuses a `pad_multiple` that its sizes do not divide |
| always_packed | every batch is packed (THD), whatever the config says |
| needs_packing_for_cp | the entry refuses cp > 1 without packing |
| validates_sft_loss | fine-tuning with cp > 1 is refused without per-token loss or with average_in_collective |
| fixes_loss | the framework sets per-token loss and average_in_collective itself; the config has no say |
| loss_spans_cp | the loss divides by the tokens of whole sequences, whichever cp rank they fall on, with or without |
|  | per-token loss |
| switches_sp_off_at_tp1 | sequence parallelism with tp = 1 is switched off, silently or with a warning |
| checks_tp_overlap | what tp_comm_overlap without SP meets: `assert`, `off`, or None: nothing |
| checks_param_gather | what overlap_param_gather without its company meets: true: an assertion; `never`: the |
|  | framework takes none at all; None: nothing |
| checks_layers_per_stage | the entry refuses layers that pp does not divide; `config`: its model config does, vpp too |
| lays_out_stages | the framework itself lays the layers out over the stages, evenly or not |
| counts_micro_batches | the entry refuses a global batch that is no multiple of the micro batch times dp |
| checks_world | the entry refuses a world that tp*pp*cp does not divide |
| checks_heads_for_a2a | heads against the a2a degree are checked before the first forward pass |
| sets_max_connections | the framework sets CUDA_DEVICE_MAX_CONNECTIONS itself |
| trains | the entry trains |
| shape_is_written | the model's shape is what the settings say, also where a model is named beside them |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from packaging.version import Version

from meshlint.config.value import Data, Value
from meshlint.records import dataclass

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
    None where the default counts. `habits` are facts that rules ask by name, see the module.
    """

    name: str
    title: str
    libraries: tuple[str, ...]
    spellings: tuple[Spelling, ...]
    defaults: tuple[Default, ...] = ()
    derive: Mapping[str, Callable[[EffectiveConfig], Value | None]] = field(default_factory=dict)
    roles: Callable[[Launch], tuple[Role, ...]] = _one_role
    deciding: tuple[tuple[str, ...], ...] = ()
    """Keys that say which engine runs a role, a tuple for each role: the first of them that is given decides."""
    habits: Mapping[str, Data] = field(default_factory=dict)
    amend: Mapping[str, Callable[[EffectiveConfig, Value], Value]] = field(default_factory=dict)
    """What the framework makes of a field after reading it: a value that a missing switch turns off, or a checkpoint
    replaces. Asked last, for written, derived and default values alike."""

    def undecided(self, launch: Launch) -> tuple[str, str] | None:
        """Say why it is not known whether a launch without roles has any: the key that would tell, and the reason.

        None where some key is given and tells, or where nobody gives any.
        """
        unknown = None
        for keys in self.deciding:
            given = ((key, launch.find(key)) for key in keys)
            first = next(((k, v) for k, v in given if v is not None and (v.is_unknown or v.data is not None)), None)
            if first is None:
                continue
            if not first[1].is_unknown:
                return None
            unknown = unknown or (first[0], first[1].reason)
        return unknown
