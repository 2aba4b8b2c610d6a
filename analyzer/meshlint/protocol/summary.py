"""Summaries: what a function does to groups, and what it returns, for the arguments that matter.

The engine owns the tables of a program: files, links, models, value numbers and terms. It enters a function with
abstract arguments, walks it once and keeps the outcome. Everything is bounded by counts; what goes over a bound is
opaque and told in `notes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace
from functools import partial
from itertools import repeat

from meshlint.mesh.gate import SETTING, UNRESOLVED, WHICH, Expr, Values
from meshlint.mesh.group import WORLD, Group
from meshlint.mesh.term import Nil, Terms, count
from meshlint.mesh.term import Node as Term
from meshlint.models import names as known
from meshlint.models.entry import Entry
from meshlint.models.registry import Models
from meshlint.protocol import keeping
from meshlint.protocol.annotations import class_node, class_of, classes_of
from meshlint.protocol.declared import Kinds, is_field, is_settings, typed
from meshlint.protocol.decorators import gate_around
from meshlint.protocol.events import apply_model
from meshlint.protocol.facts import COLLECTIVE, YIELD, Definition, FileFacts, Node, Param, dotted
from meshlint.protocol.frame import Frame
from meshlint.protocol.items import Goals, OpaqueItem, build, groups_of, left_by
from meshlint.protocol.keeping import Exhausted, Keeping
from meshlint.protocol.kept import Kept
from meshlint.protocol.link import Target
from meshlint.protocol.reading import is_none
from meshlint.protocol.receivers import methods_of
from meshlint.protocol.sources import Source, sources_of
from meshlint.protocol.unordered import of_annotation
from meshlint.protocol.values import (
    NOTHING,
    ClassKey,
    Config,
    Domain,
    Func,
    Grp,
    Instance,
    Klass,
    Paced,
    Seq,
    Sized,
    Unordered,
    V,
)
from meshlint.protocol.walk import Walker
from meshlint.protocol.wrapped import wrapper_of
from meshlint.records import dataclass

MAX_NODES = 1500
"""Nodes of a summary; a larger one is opaque for its callers."""
MAX_CONTEXTS = 64
"""Ways in which one function calls another; further calls are opaque."""
MAX_GROUPS = 16
"""Ways in which one function calls another above which groups that are not known are not told apart any more."""
MAX_CALLS = 64
"""Calls through which an event is reached; beyond, a call is opaque on the groups of what it calls."""
MAX_ACTED = 200
"""Groups that one function acts on; one with more is opaque."""
MANY_NAMES = 200
"""Names of a function beyond which each of its branches counts as work for them."""
MANY_PARAMETERS = 64
"""Parameters of a function beyond which they count as work."""
SMALL = 3
"""A function of so few statements is walked for its value even where nothing says that it matters."""

EVENT, RANK = 1, 2

Edge = tuple[int, int, tuple[tuple[str, int], ...]]
"""What one definition comes to by itself (bits), the definition around it, and those that it may call."""

_RECEIVERS = ("self", "cls", "super()")

_EVENTS = ("op", "barrier-manager")

_GETTERS = frozenset(
    ("rank", "size", "group", "first", "last", "member", "source", "ranks", "config", "pure", "manager", "local",
     "object", "unwrap", "gate-decorator", "yes")
)  # fmt: skip


def short(definition: Definition) -> bool:
    """Say whether a definition has so few lines that following it costs nothing."""
    return definition.end_line - definition.line <= 4 * SMALL


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call comes to."""

    term: Term
    value: V
    stores: dict[str, V]
    cleared: dict[str, int]
    gate: Expr | None = None
    nodes: int = 0
    calls: int = 0
    """Through how many calls its events are reached."""
    waited: frozenset[str] = frozenset()
    """Parameters that say how far a thread is and that it waits for."""

    @property
    def is_nil(self) -> bool:
        """Say whether the call has no events and no exits."""
        return isinstance(self.term, Nil)


@dataclass(slots=True)
class Engine(Keeping):
    """The tables of one program."""

    models: Models = field(default_factory=Models)
    terms: Terms = field(default_factory=Terms)
    notes: list[str] = field(default_factory=list)
    file_steps: int = 0
    """Statements of what was walked for one file beside its roots."""
    frames: int = 0
    root: Kept | None = None
    """What the root came to that was entered last."""
    edges: dict[str, tuple[Edge, ...]] = field(default_factory=dict)
    """What the definitions of each file may call, in their order; what is missing is worked out."""
    near: dict[str, bool] = field(default_factory=dict)
    """Whether a file's definitions show by themselves that it may hold something; what is missing is looked up."""
    gathered: dict[str, frozenset[str]] = field(default_factory=dict)
    """What is gathered from all files, by what it is; what is missing is gathered."""
    _callers: dict[tuple[str, int], list[tuple[str, int]]] = field(default_factory=dict)
    _domain: Domain | None = None
    _bits: dict[tuple[str, int], int] | None = None
    _eventful: set[str] = field(default_factory=set)
    """Files with a definition that can reach an event."""
    _callees: dict[tuple[str, str], tuple[Entry | None, list[tuple[str, int]]]] = field(default_factory=dict)
    _makers: dict[tuple[str, int], tuple[str, ...]] = field(default_factory=dict)
    """What each definition calls that makes objects of which something is modelled."""
    _free: dict[tuple[str, int], tuple[str, ...]] = field(default_factory=dict)
    _sources: dict[tuple[str, int], tuple[Source, ...]] = field(default_factory=dict)
    names: dict[tuple[str, str], V] = field(default_factory=dict)
    """What names of files stand for, where that is the same whoever asks."""
    members: dict[tuple[str, str, str, str], V] = field(default_factory=dict)
    """What attributes of modules stand for, where that is the same whoever asks."""
    _parameters: dict[tuple[str, int, str], tuple[Node | None, V]] = field(default_factory=dict)
    """What parameters are where no call says it, and the annotation that was resolved for it."""

    @property
    def domain(self) -> Domain:
        """The operations on values."""
        if self._domain is None:
            self._domain = Domain(self.terms.values)
        return self._domain

    @property
    def values(self) -> Values:
        """The table of value numbers."""
        return self.terms.values

    def weigh(self, names: int) -> None:
        """Count the names, beyond those that a function of a person has, that a branch copies, refines and joins."""
        if names > MANY_NAMES:
            self.steps += names // 32

    def _charge(self, parameters: int) -> None:
        """Count parameters beyond those that people write, four for a statement."""
        if parameters > 0:
            self.steps += parameters // 4

    # -- what matters --------------------------------------------------------------------------------------------

    def reaches(self, path: str, index: int, bits: int = EVENT) -> bool:
        """Say whether a definition can reach an event (or a rank getter)."""
        self.linker.note("reaches", path, index)
        return bool(self.bits(path, index) & bits)

    def bits(self, path: str, index: int) -> int:
        """Give what a definition can reach, as bits EVENT and RANK."""
        if self._bits is None:
            self._bits = self._closure()
            self._eventful = {here for (here, _), found in self._bits.items() if found & EVENT}
        return self._bits.get((path, index), 0)

    def _closure(self) -> dict[tuple[str, int], int]:
        bits: dict[tuple[str, int], int] = {}
        callers: dict[tuple[str, int], list[tuple[str, int]]] = {}
        for path in sorted(self.linker.files):
            rows = self.edges.get(path)
            if rows is None:
                rows = self.edges[path] = tuple(map(self._edge, repeat(path), self.linker.files[path].definitions))
            for index, (own, parent, targets) in enumerate(rows):
                here = (path, index)
                if parent > 0:
                    callers.setdefault(here, []).append((path, parent))
                for target in targets:
                    callers.setdefault(target, []).append(here)
                if own:
                    bits[here] = own
        self._callers = callers
        queue = list(bits)
        while queue:
            here = queue.pop()
            for caller in callers.get(here, ()):
                before = bits.get(caller, 0)
                after = before | bits[here]
                if after != before:
                    bits[caller] = after
                    queue.append(caller)
        return bits

    def _edge(self, path: str, definition: Definition) -> Edge:
        own = 0
        found: list[tuple[str, int]] = []
        for text in definition.callees:
            entry, targets = self.resolve(path, definition, text)
            found += targets
            if entry is not None and (entry.kind in _EVENTS or entry.creates):
                own |= EVENT
            elif entry is not None and entry.kind not in ("pure", "config", "object", "yes"):
                own |= RANK
        for decorator in definition.decorators:
            entry = self.models.find(dotted(decorator[1] if decorator[0] == "K" else decorator))
            own |= RANK if entry is not None and entry.kind == "gate-decorator" else 0
        return own, definition.parent, tuple(found)

    def concerns(self, path: str) -> bool:
        """Say whether a file can hold anything to judge."""
        near = self.near.get(path)
        if near is None:
            definitions = self.linker.files[path].definitions
            near = self.near[path] = any(d.seeds & COLLECTIVE or asks_for_stages(d) for d in definitions)
        self.bits(path, 0)
        return near or path in self._eventful

    def afresh(self) -> Engine:
        """Give an engine for the same program whose values and terms are its own."""
        self.bits("", 0)
        made = Engine(self.linker, models=self.models, near=self.near, gathered=self.gathered)
        made._callers, made._bits, made._eventful = self._callers, self._bits, self._eventful
        made._callees, made._makers = self._callees, self._makers
        return made

    def of_all(self, what: str, gather: Callable[[Iterable[FileFacts]], frozenset[str]]) -> frozenset[str]:
        """Give what is gathered from all files of the program."""
        self.linker.note("all", what)
        if what not in self.gathered:
            self.gathered[what] = gather(self.linker.files.values())
        return self.gathered[what]

    def callers(self, path: str, index: int) -> list[tuple[str, int]]:
        """Give the definitions that call one, as far as that is known without walking."""
        self.linker.note("callers", path, index)
        self.bits(path, index)
        return list(dict.fromkeys(self._callers.get((path, index), ())))

    def callee(self, path: str, definition: Definition, text: str) -> tuple[Entry | None, list[tuple[str, int]]]:
        """Resolve the dotted text of a callee without walking: a model, or the definitions it may be."""
        asked = ("callee", path, definition.index, text)
        return self.linker.quietly(asked, lambda: self.resolve(path, definition, text))

    def resolve(self, path: str, definition: Definition, text: str) -> tuple[Entry | None, list[tuple[str, int]]]:
        """Do the same without writing down that it was asked."""
        if text.startswith("&"):
            word = text[1:]
            own = definition.index and word in definition.locals and not definition.imports
            if own and word not in self.linker.nested(path):
                return None, []
            modelled, handed = self.resolve(path, definition, word)
            return None, [] if modelled is not None else handed
        first = text.partition(".")[0]
        if first in definition.locals or first in _RECEIVERS or first in self.linker.nested(path):
            return self._callee(path, definition, text)
        known = self._callees.get((path, text))
        if known is None:
            known = self._callees[path, text] = self._callee(path, definition, text)
        return known

    def _callee(self, path: str, definition: Definition, text: str) -> tuple[Entry | None, list[tuple[str, int]]]:
        parts = text.split(".")
        linker = self.linker
        facts = linker.files[path]
        if len(parts) == 1:
            around = {definition.index}
            here = definition
            while here.parent > 0:
                around.add(here.parent)
                here = facts.definitions[here.parent]
            nested = [index for parent, index in linker.nested(path).get(text, ()) if parent in around]
            if nested:
                return None, [(path, index) for index in nested]
        if parts[0] in _RECEIVERS and len(parts) == 2:
            owner = owner_of(facts.definitions, definition)
            if owner >= 0:
                family = self._family((path, owner), parts[1], parts[0] == "super()")
                if family:
                    return None, family
                inherited = self.inherited((path, owner), parts[1])
                return inherited or self._of_wrapped((path, owner), parts[1:]), []
        if parts[0] == "self" and len(parts) == 3 and parts[2] in self.models.methods:
            owner = owner_of(facts.definitions, definition)
            modelled = self._of_wrapped((path, owner), parts[1:]) if owner >= 0 else None
            if modelled is not None:
                return modelled, []
        target: Target | None = None
        if parts[0] in definition.locals and definition.index:
            row = next((row for row in definition.imports if row[0] == parts[0]), None)
            target = linker.imported(path, row) if row is not None else None
            if target is None and len(parts) == 1:
                return self._of_object(path, definition, ""), []
            modelled = self._of_object(path, definition, parts[1]) if target is None and len(parts) == 2 else None
            if modelled is not None:
                return modelled, []
        elif parts[0] not in ("?",):
            target = linker.name(path, parts[0])
        for part in parts[1:]:
            if target is None:
                break
            target = linker.attribute(target, part)
        if target is not None and target.kind == "var":
            target = linker.given(target)
        if target is not None and target.kind == "def":
            entry = self.models.find(target.name)
            if entry is not None and (entry.kind in _GETTERS or entry.composite):
                return entry, []
            wrapper = entry if entry is not None and entry.kind == "op" else None
            return wrapper, [(target.path, target.index)]
        if target is not None and target.kind == "class":
            names = ("__init__", "__enter__", "__exit__")
            made = [linker.method((target.path, target.index), name) for name in names]
            return None, [(found[0], found[1]) for found in made if found is not None]
        name = target.name if target is not None and target.kind == "library" else text
        entry = self.models.find(name)
        if entry is not None or len(parts) == 1 or (target is not None and target.kind == "library"):
            return entry, []
        owner = owner_of(facts.definitions, definition)
        return None, linker.by_name(parts[-1]) or methods_of(linker, path, definition, owner, text)

    def _of_object(self, path: str, definition: Definition, method: str) -> Entry | None:
        """Give the model of a method of an object that the function itself makes; "" is that of calling it."""
        if method not in self.models.methods:
            return None
        key = (path, definition.index)
        makers = self._makers.get(key)
        if makers is None:
            makers = self._makers[key] = self.models.makers(definition.callees)
        ending = f"().{method}" if method else "()"
        plain = self.models.find(method)
        if plain is not None and plain.kind == "op":  # then it is that of any object
            makers = tuple(text.rpartition(".")[2] for text in definition.callees)
        for maker in makers:
            entry = self.models.find(f"{maker}{ending}")
            if entry is not None and entry.kind == "op":
                return entry
        return None

    def inherited(self, key: ClassKey, method: str) -> Entry | None:
        """Give the model of a method that a class has of a library's class."""
        if method not in self.models.inherited:
            return None
        found = (self.models.of_class(base, method) for base in self.linker.inherits(key))
        return next((entry for entry in found if entry is not None), None)

    def _of_wrapped(self, key: ClassKey, parts: list[str]) -> Entry | None:
        """Give the model of calling what an attribute holds, or a method of it."""
        wrapper = wrapper_of(self.linker, key, parts[0])
        return self.models.find(".".join((wrapper, *parts[1:]))) if wrapper else None

    def _family(self, key: ClassKey, name: str, above: bool) -> list[tuple[str, int]]:
        found: dict[tuple[str, int], None] = {}
        for ancestor in self.linker.mro(key)[1 if above else 0 :]:
            index = self.linker.own_methods(ancestor).get(name)
            if index is not None:
                found[ancestor[0], index] = None
                break
        if not above:
            for child in self.linker.subclasses(key)[:16]:
                index = self.linker.own_methods(child).get(name)
                if index is not None:
                    found[child[0], index] = None
        return list(found)

    def model_of(self, func: Func) -> Entry | None:
        """Give the model that wins over a function of the program: getters always, events only where composite.

        A method that names its collectives itself is no library's of the same name: what it does counts, unless that
        is done on a group of which no more is known.
        """
        definition = self.linker.definition(func.path, func.index)
        if definition.owner >= 0 or definition.parent > 0:
            outer = (func.path, definition.owner)
            owner = self.linker.klass(outer).qualname + "." if outer[1] >= 0 else ""
            entry = self.models.find(f"{self.linker.module_name(func.path)}.{owner}{definition.name}")
            if entry is None or not entry.composite or not owner:
                return None
            return None if seeds(definition) and self._acts_itself(func) else entry
        entry = self.models.find(f"{self.linker.module_name(func.path)}.{definition.name}")
        if entry is None:
            return None
        if func.path.startswith("torch/") or entry.kind in _GETTERS or entry.composite:
            return entry
        return entry if entry.kind == "op" and self._is_blind(func) else None

    def _is_blind(self, func: Func) -> bool:
        """Say whether a function that bears the name of an event shows none: it calls what is made at run time."""
        groups = self._groups_of(func)
        return groups is not None and not groups

    def _acts_itself(self, func: Func) -> bool:
        """Say whether a function that bears the name of an event shows events of its own, on groups that are known."""
        groups = self._groups_of(func)
        return bool(groups) and not any(group.unknown for group in groups or ())

    def _groups_of(self, func: Func) -> tuple[Group, ...] | None:
        """Give the groups on which a function acts where nothing is known of its arguments; None while it is walked."""
        key = (func.path, func.index)
        asked = ("groups", key, func.receiver.data if func.receiver is not None else None)
        if not self._may_enter(asked) or not self._may_enter(key):
            return None
        definition = self.linker.definition(*key)

        def walked() -> tuple[Group, ...]:
            return self._walk(self.frame(func, definition, [], {}, None), key).term.groups

        groups: tuple[Group, ...] = self._worked_out(asked, key, walked)
        return groups

    def weakly(self, name: str) -> tuple[str, int] | None:
        """Give the one method that bears a name, for a receiver that is not known, if it can matter."""
        found = self.linker.by_name(name)
        if len(found) == 1 and self.reaches(*found[0], EVENT | RANK):
            return found[0]
        return None

    # -- entering ------------------------------------------------------------------------------------------------

    def call(self, func: Func, args: list[V], kwargs: dict[str, V], walker: Walker) -> Outcome | None:
        """Call a function with abstract arguments; None where it cannot matter."""
        key = (func.path, func.index)
        definition = self.linker.definition(*key)
        if not self._matters(func, definition, args, kwargs):
            return None
        if not self._may_enter(key):
            if not self._bit(key) & self._active and self.reaches(*key):
                self._too_deep(walker.frame.path, walker.frame.definition)
            return None
        frame = self.frame(func, definition, args, kwargs, walker.frame)
        context = (key, *_identity(frame, self._free_names(func, definition)))
        ways = walker.frame.contexts.setdefault(key, set())
        ways.add(context)
        if len(ways) > MAX_CONTEXTS:
            return self._opaque(definition, func, walker)
        outcome: Outcome = self._worked_out(context, key, lambda: self._walk(frame, key))
        if outcome.is_nil:
            return outcome
        if outcome.calls >= MAX_CALLS:
            return self._far(outcome, key, definition, walker)
        walker.frame.calls = max(walker.frame.calls, outcome.calls + 1)
        return outcome

    def start(self, func: Func, given: dict[str, V] | None = None) -> Outcome:
        """Enter a function about whose arguments nothing is known but what is given."""
        key = (func.path, func.index)
        definition = self.linker.definition(*key)
        self._begin()
        self.linker.note("body", *key)
        frame = self.frame(func, definition, [], given or {}, None)
        context = (key, *_identity(frame, ()))
        self.root = self._answer(context, key, lambda: self._walk(frame, key))
        outcome: Outcome = self.root.result
        return outcome

    def evaluated(self, frame: Frame, node: Node) -> V:
        """Give the value of an expression in a function that is not walked; its bounds are its own."""
        self._begin()
        return Walker(self, frame).eval(node)

    def walked(self, func: Func) -> Frame:
        """Walk a function about whose arguments nothing is known; raises Exhausted if much was walked for the file."""
        if self.file_steps > keeping.MAX_STEPS:
            raise Exhausted
        self._begin()
        key = (func.path, func.index)
        frame = self.frame(func, self.linker.definition(*key), [], {}, None)
        with self._inside(self._bit(key)):
            Walker(self, frame).block(frame.definition.body)
        self.file_steps += self.steps - self._trail.steps
        return frame

    def _opaque(self, definition: Definition, func: Func, walker: Walker) -> Outcome:
        site = walker.site(definition.line, 1, definition.name)
        term = self.terms.nil
        if self.reaches(func.path, func.index):
            term = self.terms.opaque(None, term, site)
        self._note(f"{func.path}:{definition.line}: `{definition.qualname}` is called in too many ways to follow all")
        return Outcome(term, self.domain.unknown(f"{definition.qualname}()"), {}, {})

    def _far(self, outcome: Outcome, key: tuple[str, int], definition: Definition, walker: Walker) -> Outcome:
        """Give what a call comes to whose events lie too many calls further down."""
        self._too_deep(key[0], definition)
        term = self.terms.opaque(outcome.term.groups, self.terms.nil, walker.site(definition.line, 1, definition.name))
        walker.frame.calls = max(walker.frame.calls, 1)
        return replace(outcome, term=term, nodes=1, calls=0)

    def _too_deep(self, path: str, definition: Definition) -> None:
        self._note(f"{path}:{definition.line}: `{definition.qualname}` calls too deep down to be followed to the end")

    def _note(self, text: str) -> None:
        self.linker.note("note", text)
        if text not in self.notes:
            self.notes.append(text)

    def acts(self, func: Func, args: list[V], kwargs: dict[str, V]) -> bool:
        """Say whether a call can do more than give a value: an event, in it or in a function that is handed to it."""
        if self.reaches(func.path, func.index):
            return True
        return any(isinstance(v.data, Func) for v in (*args, *kwargs.values()))

    def _matters(self, func: Func, definition: Definition, args: list[V], kwargs: dict[str, V]) -> bool:
        if self.reaches(func.path, func.index, EVENT | RANK):
            return True
        if any(isinstance(v.data, Func) and self.reaches(v.data.path, v.data.index) for v in (*args, *kwargs.values())):
            return True
        return short(definition) and len(definition.body) <= SMALL

    def _walk(self, frame: Frame, key: tuple[str, int]) -> Outcome:
        walker = Walker(self, frame)
        walker.block(frame.definition.body)
        acted = len(groups_of(frame.items)) if frame.items else 0
        if acted > MAX_ACTED:
            name, line = frame.definition.qualname, frame.definition.line
            self._note(f"{key[0]}:{line}: `{name}` acts on too many groups to be followed")
            frame.items = [OpaqueItem(None, walker.site(line))]
        if acted:
            self.two_sided.update(gate.site.span for gate in left_by(frame.items, self.domain.axes))
        term = build(self.terms, frame.items, self.terms.nil, Goals(self.terms.nil)) or self.terms.nil
        nodes = count(term)
        if nodes > MAX_NODES:
            name = frame.definition.qualname
            self._note(f"{key[0]}:{frame.definition.line}: `{name}` has too many branches to follow")
            term, nodes = self.terms.opaque(term.groups, self.terms.nil, walker.site(frame.definition.line)), 1
        receiver = frame.definition.params[0].name + "." if frame.definition.params else "?"
        stores = {}
        if frame.receiver is not None:
            stores = {
                name[len(receiver) :]: value
                for name, value in frame.env.items()
                if name.startswith(receiver) and "." not in name[len(receiver) :] and "[" not in name
            }
        gate = self.decorated(frame.path, frame.definition)
        waited = frozenset(frame.waited)
        return Outcome(term, self._returned(frame), stores, frame.cleared, gate, nodes, frame.calls, waited)

    def decorated(self, path: str, definition: Definition) -> Expr | None:
        """Give the gate that a decorator puts round a function."""
        for decorator in definition.decorators:
            entry = self.models.find(dotted(decorator[1] if decorator[0] == "K" else decorator))
            if entry is not None and entry.kind == "gate-decorator":
                return self.values.first(self.domain.mask(entry.dims))
            if entry is None and decorator[0] in ("N", "A"):
                asked = ("gate", path, definition.index, decorator)
                gate: Expr | None = self._worked_out(asked, asked, partial(gate_around, self, path, decorator))
                if gate is not None:
                    return gate
        return None

    def _returned(self, frame: Frame) -> V:
        if frame.definition.seeds & YIELD:
            return self.domain.unknown(f"{frame.definition.qualname}()", nonnull=True)
        result: V | None = None
        for condition, value, _ in reversed(frame.returns):
            result = value if result is None else self.domain.join(condition, value, result)
        if result is None and self._kinds(frame.path, frame.definition) is not None:
            return self.domain.unknown(f"{frame.definition.qualname}()")  # for those below to say
        return self.domain.const(None) if result is None else result

    def frame(
        self, func: Func, definition: Definition, args: list[V], kwargs: dict[str, V], caller: Frame | None
    ) -> Frame:
        """Make the frame of a call: parameters bound, defaults evaluated."""
        receiver = func.receiver
        owner = (func.path, definition.owner) if definition.owner >= 0 else None
        frame = Frame(func.path, definition, {}, receiver, owner, func.frame)
        self.frames += 1
        frame.serial = self.frames
        self._charge(len(definition.params) - MANY_PARAMETERS)
        given = list(args) if receiver is None else [receiver, *args]
        places = iter(given)
        acts = self.reaches(func.path, definition.index)
        for param in definition.params:
            if param.kind == "*":
                for _ in places:
                    pass
                continue
            if param.kind == "**":
                continue
            value = next(places, None) if param.kind == "pos" else None
            if value is None:
                value = kwargs.get(param.name)
            if value is not None and isinstance(value.data, Unordered) and not acts:
                value = value.holding(None)  # in which order it goes through them is no matter
            if value is None and param.default is not None and caller is not None:
                value = (
                    self.domain.const(param.default[1])
                    if param.default[0] == "C"
                    else Walker(
                        self, Frame(func.path, self.linker.definition(func.path, 0), {}, parent=func.frame)
                    ).eval(param.default)
                )
            if value is None or (self._says_nothing(value) and not self._is_group(func, param, caller)):
                value = self._unknown_argument(func.path, definition, param, value)
            elif isinstance(value.data, Sized) and self._says_nothing(value.holding(None)) and value.phi is None:
                told = value.data if value.data.many.op == "lit" or value.data.many.var else None
                value = self._unknown_argument(func.path, definition, param, value).holding(told)
            elif self._is_some_object(value):
                value = self._any_object(value, param.name)
            frame.env[param.name] = value if value.text else value.spelled(param.name)
            if value.phi is not None:
                frame.joins.add(param.name)
        self._make_members(frame)
        return frame

    def _make_members(self, frame: Frame) -> None:
        """Take parameters of which nothing is known, and that are sources of events on a group, for its first rank."""
        key = (frame.path, frame.definition.index)
        if key not in self._sources:
            self._sources[key] = sources_of(self, frame.path, frame.definition)
        for name, node in self._sources[key]:
            value = frame.env.get(name)
            if value is None or value.data is not None or not self._says_nothing(value):
                continue
            given = None if node is None else Walker(self, frame).eval(node)
            if given is None or (given.expr.op == "lit" and given.expr.args[0] is None):
                group: Group | None = WORLD
            else:
                group = given.data.group if isinstance(given.data, Grp) else self.domain.group_of(given)
            if group is not None:
                frame.env[name] = self.domain.of(self.values.global_rank(group, 0), text=value.text)

    def _is_group(self, func: Func, param: Param, caller: Frame | None) -> bool:
        """Say whether an argument is kept for being one group among others, if there are not too many already."""
        named = known.is_group(param.name) or param.name.endswith("mesh")
        return named and (caller is None or len(caller.contexts.get((func.path, func.index), ())) < MAX_GROUPS)

    def _says_nothing(self, value: V) -> bool:
        """Say whether an argument is no more than an unknown, so that all such calls can share one summary."""
        expr = value.expr
        known = expr.op != "atom" or expr.args[1] is not UNRESOLVED or value.label
        return not known and value.data is None and (value.null is None or value.null.op == "lit")

    def _is_some_object(self, value: V) -> bool:
        """Say whether an argument is an object of which nothing is known but its class."""
        expr = value.expr
        plain = expr.op == "atom" and expr.args[1] is UNRESOLVED and not value.label
        return plain and isinstance(value.data, Instance) and not self._has_a_group(value.data.key)

    def _has_a_group(self, key: ClassKey) -> bool:
        """Say whether objects of a class keep a group each, by which they are told apart."""
        asked = ("has a group", key)

        def stored() -> bool:
            names = {name for ancestor in self.linker.mro(key) for name, _, _ in self.linker.klass(ancestor).stores}
            kept = any(name.lstrip("_") in ("group", "pg", "process_group") for name in names)
            return kept and not any("rank" in name for name in names)

        found: bool = self._looked_up(asked, stored)
        return found

    def _any_object(self, value: V, name: str) -> V:
        """Give any object of a class: its attributes are known by the class alone, so contexts can be shared.

        Two parameters stay two objects.
        """
        whose = self.values.atom(f"{name} of {self.linker.class_name(value.data.key)}", UNRESOLVED)
        if value.expr is whose:
            return value
        return V(whose, value.data, value.null, value.label, value.buf, value.text, value.phi)

    def _unknown_argument(self, path: str, definition: Definition, param: Param, given: V | None) -> V:
        value = self.parameter(path, definition, param.name, param.annotation)
        if given is not None and given.null is not None and value.null is None:
            return value.none_if(given.null)
        return value

    def parameter(self, path: str, definition: Definition, name: str, annotation: Node | None) -> V:
        """Give what a parameter is where no call says it: by annotation, by name, else unknown."""
        asked = (path, definition.index, name)
        known = self._parameters.get(asked)
        if known is None:
            plain = None if annotation is None else class_node(annotation)
            counts = any(param.name == name and _counts(param.default) for param in definition.params)
            value = self._parameter(path, f"{definition.qualname}:{name}", name, plain, counts)
            known = self._parameters[asked] = plain, value
        elif known[0] is not None:
            self.linker.note("chain", path, known[0])
        return known[1].again()

    def _parameter(self, path: str, key: str, name: str, annotation: Node | None, counts: bool) -> V:
        made = None if annotation is None else self.annotated(path, annotation, key, name)
        if made is None and counts:
            return self.domain.unknown(key, text=name)
        return self.domain.by_name(name, key, name) if made is None else made

    def annotated(self, path: str, annotation: Node, key: str, text: str) -> V | None:
        """Give an object of an annotated class: of the program, or of a library that says how far a rank is."""
        plain = class_node(annotation)
        order = None if plain is None else of_annotation(plain)
        if order is not None:
            return V(self.values.atom(key, UNRESOLVED), order, text=text)
        target = class_of(self.linker, path, annotation)
        if target is not None and is_settings(target):
            return V(self.values.atom(text, SETTING), Config(text), text=text)
        kind = self._kind(target)
        return None if kind is None else V(self.values.atom(key, UNRESOLVED), kind, text=text)

    def _kind(self, target: Target | None) -> Instance | Paced | None:
        """Give what objects of a class are: of one of the program, or of a library's that says how far a rank is."""
        if target is None or is_settings(target):
            return None
        if target.kind == "class":
            return Instance((target.path, target.index), weak=True)
        last = target.name.rpartition(".")[2]
        return Paced(last) if last in self.models.paced else None

    def _paced(self, key: ClassKey, name: str) -> Paced | None:
        """Give what an attribute holds that only its annotation tells, if that says how far a rank is."""

        def declared() -> Paced | None:
            found = self.linker.annotation(key, name)
            kind = None if found is None else self._kind(class_of(self.linker, *found))
            return kind if isinstance(kind, Paced) else None

        found: Paced | None = self._looked_up(("paced", key, name), declared)
        return found

    def as_declared(self, func: Func, value: V) -> V:
        """Give the result of a function as what its annotation says that it is, where nothing else says it."""
        definition = self.linker.definition(func.path, func.index)
        if definition.returns is None or (value.data is not None and not isinstance(value.data, Seq)):
            return value
        kinds = self._kinds(func.path, definition)
        return value if kinds is None else typed(self.domain, value, kinds)

    def _kinds(self, path: str, definition: Definition) -> Kinds | None:
        """Give what a function says that it returns: the kind of an object, or those of a tuple's elements."""
        annotation = definition.returns
        if annotation is None:
            return None

        def declared() -> Kinds | None:
            kind = self._kind(class_of(self.linker, path, annotation))
            if kind is not None:
                return kind
            parts = classes_of(self.linker, path, annotation) or ()
            kinds = tuple(map(self._kind, parts))
            return kinds if any(kinds) else None

        found: Kinds | None = self._looked_up(("returns", path, definition.index), declared)
        return found

    def _free_names(self, func: Func, definition: Definition) -> tuple[str, ...]:
        if func.frame is None:
            return ()
        key = (func.path, func.index)
        if key not in self._free:
            names: dict[str, None] = {}
            _names(definition.body, names)
            self._free[key] = tuple(n for n in names if n not in definition.locals)
        return self._free[key]

    def enter(self, func: Func, args: list[V], kwargs: dict[str, V], walker: Walker) -> Frame | None:
        """Walk a generator for its items, to put the body of a `with` into its hole."""
        key = (func.path, func.index)
        if not self._may_enter(key):
            return None
        definition = self.linker.definition(*key)
        frame = self.frame(func, definition, args, kwargs, walker.frame)
        with self._inside(self._bit(key)):
            Walker(self, frame).block(definition.body)
        if frame.calls >= MAX_CALLS:
            raise Exhausted
        walker.frame.calls = max(walker.frame.calls, frame.calls + 1)
        return frame

    # -- attributes and variables ----------------------------------------------------------------------------------

    def attribute(self, key: ClassKey, name: str, base: V, text: str) -> V:
        """Give an attribute of objects of a class, joined over everything that its methods store."""
        entry = self.models.find(text)
        if entry is not None and entry.attribute:
            walker = Walker(self, Frame(key[0], self.linker.definition(key[0], 0), {}))
            return apply_model(walker, entry, [], {}, None, text)
        for kept, group in base.data.given if isinstance(base.data, Instance) else ():
            if kept == name:
                if group is None:
                    return self.domain.const(None, text)
                whose = self.values.atom(f"group {group.name}{group.identity}", UNRESOLVED)
                return V(whose, Grp(group), self.values.lit(False), text=text)
        made = base.data if isinstance(base.data, Instance) else Instance(key)
        weak, bare = made.weak, made.bare
        asked = ("attribute", key, name, weak, bare)
        if not self._may_enter(asked):
            return self.domain.unknown(f"{self.linker.class_name(key)}.{name}", text=text)
        found = self._worked_out(asked, asked, lambda: self._attribute(key, name, weak, bare))
        wrapper = self._wrapper(key, name) if found.data is None else ""
        if found.data is None and not wrapper:
            found = found.holding(self._paced(key, name))
        blank = found.data is None or (isinstance(found.data, Instance) and found.data.weak)
        if blank and not found.expr.var and known.is_group(name) and self._is_one_of(key, base):
            found = self.domain.unknown(f"{self.linker.class_name(key)}.{name} of #{base.expr.id}")
        return found.spelled(wrapper or text)

    def _is_one_of(self, key: ClassKey, base: V) -> bool:
        """Say whether an object is one of several of its class, each with a group, and keeps no rank in its group."""
        if not isinstance(base.data, Instance) or base.expr.op != "atom":
            return False
        if not base.data.weak and "@" not in base.expr.args[0]:
            return False
        stores = (name for ancestor in self.linker.mro(key) for name, _, _ in self.linker.klass(ancestor).stores)
        return not any("rank" in name for name in stores)

    def _wrapper(self, key: ClassKey, name: str) -> str:
        asked = ("wrapped", key, name)
        found: str = self._looked_up(asked, lambda: wrapper_of(self.linker, key, name))
        return found

    def _attribute(self, key: ClassKey, name: str, weak: bool, bare: bool) -> V:
        text = f"self.{name}"
        whose = self.values.atom(f"self of {self.linker.class_name(key)}", UNRESOLVED)
        base = V(whose, Instance(key, weak), self.values.lit(False), text="self")
        found: V | None = None
        full = f"{self.linker.class_name(key)}.{name}"
        for place, (path, index, node) in enumerate(self.linker.stores(key, name)[:6]):
            value = self._stored(path, index, node, base)
            if found is None:
                found = value
            else:
                blank = any(v.expr.op == "lit" and not v.expr.args[0] for v in (found, value))
                which = self.values.atom(f"{full} {place}{' is set' if blank else WHICH}", UNRESOLVED)
                found = self.domain.join(which, found, value)
        if found is not None and isinstance(found.data, Unordered) and found.data.hashes == NOTHING:
            found = found.holding(self._filled_set(key, name))
        if found is not None and (found.data is not None or found.expr.var or found.expr.op == "lit"):
            return found
        declared = self.linker.annotation(key, name)
        if declared is not None:
            made = self.annotated(declared[0], declared[1], full, text)
            if made is not None:
                return made
        at_class = self.linker.class_attribute(key, name)
        if found is None and at_class is not None:
            literal = at_class[1][0] == "C" and at_class[1][1] is not None
            given = literal and not bare and is_field(self.linker, key, name)
            return self._of_constructor(name, full, text) if given else self.class_value(key, name, text)
        if found is not None and found.expr.op == "atom" and found.expr.args[1] is SETTING:
            return found
        return self.domain.by_name(name, full, text)

    def _of_constructor(self, name: str, full: str, text: str) -> V:
        """Give a field that has a default: whoever makes the object may give another value, alike on all ranks."""
        dims = dict(known.SIZES).get(name)
        if dims is not None:
            return self.domain.of(self.values.extent(self.domain.mask(dims)), text=text)
        return V(self.values.atom(full, SETTING), text=text, null=self.values.lit(False))

    def _filled_set(self, key: ClassKey, name: str) -> Unordered:
        """Give a set that an attribute holds, and that is filled elsewhere: its annotation may say with what."""
        declared = self.linker.annotation(key, name)
        plain = None if declared is None else class_node(declared[1])
        return (None if plain is None else of_annotation(plain)) or Unordered()

    def made_with(
        self, key: ClassKey, maker: tuple[str, int], args: list[V], kwargs: dict[str, V]
    ) -> tuple[tuple[str, Group | None], ...]:
        """Give the groups that a new object keeps of its constructor's arguments, in attributes stored nowhere else."""
        asked = ("keeps", key)
        kept = self._looked_up(asked, lambda: tuple(self._kept_groups(key, maker)))
        found: list[tuple[str, Group | None]] = []
        for name, place, param in kept:
            value = args[place] if place < len(args) else kwargs.get(param.name)
            if value is None and param.default is not None:
                value = self.domain.const(param.default[1]) if param.default[0] == "C" else None
            if value is not None and isinstance(value.data, Grp):
                found.append((name, value.data.group))
            elif value is not None and is_none(value):
                found.append((name, None))
        return tuple(found)

    def _kept_groups(self, key: ClassKey, maker: tuple[str, int]) -> Iterator[tuple[str, int, Param]]:
        """Give the attributes that hold a constructor's group parameters as they came: name, place, parameter."""
        definition = self.linker.definition(*maker)
        self.linker.note("body", *maker)
        if not any(known.is_group(param.name) for param in definition.params):
            return
        for place, param in enumerate(definition.params[1:]):
            if not known.is_group(param.name) or param.kind != "pos" or self.assigned_in(definition, param.name):
                continue
            for ancestor in self.linker.mro(key):
                for name, index, node in self.linker.klass(ancestor).stores:
                    here = (ancestor[0], index) == maker and node == ("N", param.name)
                    if here and len(self.linker.stores(key, name)) == 1:
                        yield name, place, param

    def keyed(self, key: ClassKey, name: str, base: V) -> V | None:
        """Give what methods of a class store under a key of a dict that it holds; None where nothing is known of it."""
        stores = self.linker.stores(key, name)[:6]
        asked = ("keyed", key, name)
        if not stores or not self._may_enter(asked):
            return None
        found: V | None = self._worked_out(asked, asked, lambda: self._joined(key, name, stores, base))
        return found

    def _joined(self, key: ClassKey, name: str, stores: list[tuple[str, int, Node]], base: V) -> V | None:
        found: V | None = None
        for place, (path, index, node) in enumerate(stores):
            value = self._stored(path, index, node, base)
            which = self.values.atom(f"{self.linker.class_name(key)}.{name} {place}{WHICH}", UNRESOLVED)
            found = value if found is None else self.domain.join(which, found, value)
        return found if found is not None and (found.data is not None or found.expr.var) else None

    def _stored(self, path: str, index: int, node: Node, base: V) -> V:
        definition = self.linker.definition(path, index)
        frame = Frame(
            path, definition, {}, base, (path, definition.owner) if definition.owner >= 0 else None, lazy=True
        )
        if definition.params and definition.owner >= 0:
            frame.env[definition.params[0].name] = base
        for param in definition.params[1:]:
            frame.env[param.name] = self.parameter(path, definition, param.name, param.annotation)
        return Walker(self, frame).eval(node)

    def class_value(self, key: ClassKey, name: str, text: str) -> V:
        """Give a class-level attribute."""
        full = f"{self.linker.class_name(key)}.{name}"
        at_class = self.linker.class_attribute(key, name)
        if at_class is None:
            return self.domain.unknown(full, text=text)
        path, node = at_class
        if node == ("C", None):
            return self.domain.by_name(name, full, text)
        if node[0] == "C" and not self.linker.stores(key, name):
            return self.domain.const(node[1], text)
        if node[0] in ("K", "Q", "S") and not self.linker.stores(key, name):
            return self._at_class(key, name, path, node, text)
        return V(self.values.atom(full, UNRESOLVED), text=text, null=self.values.lit(False) if node[0] == "D" else None)

    def _at_class(self, key: ClassKey, name: str, path: str, node: Node, text: str) -> V:
        """Give what the body of a class computes for an attribute, where that varies; else no more than its name."""
        asked = ("at class", key, name)  # two files, or one, may have classes of the same full name
        blank = V(self.values.atom(f"{self.linker.class_name(key)}.{name}", UNRESOLVED), text=text)
        if not self._may_enter(asked):
            return blank
        walker = Walker(self, Frame(path, self.linker.definition(path, 0), {}))
        found = self._worked_out(asked, asked, lambda: walker.eval(node))
        return replace(found, text=text) if found.expr.var else blank

    def variable(self, target: Target) -> V:
        """Give a module-level variable: by its only assignment, else unknown."""
        asked = ("variable", target.path, target.name)
        if not self._may_enter(asked):
            return self.domain.unknown(target.name, text=target.name)
        return self._worked_out(asked, asked, lambda: self._variable(target))

    def _variable(self, target: Target) -> V:
        name = target.name.rpartition(".")[2]
        entry = self.models.find(target.name)
        walker = Walker(self, Frame(target.path, self.linker.definition(target.path, 0), {}, lazy=False))
        if entry is not None and entry.attribute:
            return apply_model(walker, entry, [], {}, None, target.name)
        self.linker.note("assigned", target.path, name)
        values = [v for n, v in self.linker.files[target.path].assigns if n == name]
        values = [v for v in values if v != ("C", None)] or values
        named = self.domain.by_name(name, target.name, name)
        tells = named.data is not None or bool(named.expr.var)
        if len(values) == 1 and values[0][0] in ("C", "K", "N", "A", "T", "L", "E", "Q", "B", "U"):
            value = walker.eval(values[0])
            blank = value.data is None and (self._says_nothing(value) or values[0] == ("C", None))
            return named.none_if(None) if tells and blank else value.spelled(name)
        return named

    def assigned(self, frame: Frame, name: str) -> list[Node]:
        """Give what a local of a function is assigned, for a frame that is not walked."""
        return self.assigned_in(frame.definition, name)

    def assigned_in(self, definition: Definition, name: str) -> list[Node]:
        """Give what a local of a function is assigned."""
        found: list[Node] = []
        _assigned(definition.body, name, found)
        return found[:4]


def _counts(default: Node | None) -> bool:
    """Say whether a default is a number that no process has for its place where nobody says it: `rank=8` is a size."""
    return default is not None and default[0] == "C" and type(default[1]) is int and default[1] > 1


def owner_of(definitions: tuple[Definition, ...], definition: Definition) -> int:
    """Give the class in whose method a definition stands, however far inside; -1 outside of classes."""
    here = definition
    while here.owner < 0 and here.parent > 0:
        here = definitions[here.parent]
    return here.owner


def _assigned(body: tuple[Node, ...], name: str, found: list[Node]) -> None:
    for node in body:
        if node[0] == "assign":
            for target in node[2]:
                if target == ("N", name):
                    found.append(node[3])
                elif target[0] == "T":
                    for place, part in enumerate(target[1]):
                        if part == ("N", name):
                            found.append(("S", node[3], ("C", place)))
        elif node[0] in ("if", "while"):
            _assigned(node[3], name, found)
            _assigned(node[4], name, found)
        elif node[0] == "for":
            _assigned(node[4], name, found)
        elif node[0] == "with":
            _assigned(node[3], name, found)
        elif node[0] == "try":
            _assigned(node[2], name, found)


def _names(node: object, found: dict[str, None]) -> None:
    if isinstance(node, tuple):
        if len(node) == 2 and node[0] == "N" and isinstance(node[1], str):
            found[node[1]] = None
            return
        for part in node:
            _names(part, found)


def _identity(frame: Frame, free: tuple[str, ...]) -> tuple[object, ...]:
    own = tuple((name, value.identity()) for name, value in frame.env.items())
    outer: list[object] = []
    for name in free:
        parent = frame.parent
        while parent is not None:
            if name in parent.env:
                outer.append((name, parent.env[name].identity()))
                break
            parent = parent.parent
    return (own, tuple(outer))


def asks_for_stages(definition: Definition) -> bool:
    """Say whether a function calls something that may ask for its pipeline stage, by the texts of its calls."""
    texts = "\n".join(definition.callees)
    return "stage" in texts or "pipeline" in texts


def seeds(definition: Definition) -> bool:
    """Say whether a definition names a collective."""
    return bool(definition.seeds & COLLECTIVE)


__all__ = ["Engine", "Exhausted", "Klass", "Outcome", "seeds"]
