"""Walking one function once, forward: values in an environment, events and branches as items.

The environment maps paths (`x`, `self.rank`, `batch['tokens']`) to values; it is copied on a branch and joined after
it. Loop bodies are walked twice. A call of a function that can matter is summarised by the engine and becomes a
`CallItem`; everything else becomes a value that varies where its arguments vary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from meshlint.mesh.gate import SETTING, UNRESOLVED, WHICH, Expr, Origin, atoms, takes_turns
from meshlint.mesh.term import Gate, Site
from meshlint.models import names as known
from meshlint.place import Span
from meshlint.protocol.apart import selecting, selects
from meshlint.protocol.events import (
    apply_model,
    clear,
)
from meshlint.protocol.facts import Node, dotted
from meshlint.protocol.frame import Frame
from meshlint.protocol.items import (
    AltItem,
    CallItem,
    HoleItem,
    LoopItem,
    has_events,
)
from meshlint.protocol.link import Target
from meshlint.protocol.methods import (
    call_builtin,
    call_library,
    special_method,
)
from meshlint.protocol.paced import handed_on, text_of, waited_at
from meshlint.protocol.reading import (
    atoms_in,
    is_none,
    is_number,
    is_truth,
    same_place,
    unpacks,
)
from meshlint.protocol.rewritten import forget, rewrite
from meshlint.protocol.statements import (
    STATEMENTS,
    gate_of,
    rounds_of,
)
from meshlint.protocol.syntax import (
    has_decorator,
    is_property,
    line_of,
    root_of,
    rounds_up,
)
from meshlint.protocol.unordered import (
    SET_METHODS,
    derived,
    grown_set,
    hash_in,
    joined_sets,
    kind_of,
    of_comprehension,
    of_display,
    unordered_form,
)
from meshlint.protocol.values import (
    HOLLOW,
    MAX_EXPR,
    ClassKey,
    Config,
    Domain,
    Func,
    Given,
    Grp,
    Instance,
    Klass,
    Map,
    MeshOf,
    Module,
    Paced,
    RanksOf,
    Selected,
    Seq,
    Share,
    V,
    Written,
    is_hollow,
    listed,
    mapped,
    shuffled,
    slice_of,
)

if TYPE_CHECKING:
    from meshlint.protocol.summary import Engine, Outcome


class Walker:
    """The walk over one frame."""

    def __init__(self, engine: Engine, frame: Frame) -> None:
        self.engine = engine
        self.frame = frame
        self.line = frame.definition.line
        self.unused: Node | None = None
        """The call whose value nobody uses."""
        self.domain: Domain = engine.domain
        self.values = engine.domain.values
        self.no = engine.domain.no
        """The literal False."""

    # -- places --------------------------------------------------------------------------------------------------

    def site(self, line: int, column: int = 1, label: str = "", end: tuple[int, int] = (0, 0)) -> Site:
        """Make a site in this file."""
        span = Span(self.frame.path, line, column, *end) if end[0] else Span(self.frame.path, line, column)
        return Site(span, label)

    def call_site(self, node: Node) -> Site:
        """Make the site of a call."""
        return self.site(node[4], node[5], dotted(node[1]), (node[6], node[7]))

    def key(self, text: str, line: int = 0) -> str:
        """Make the key of an unknown value of this function."""
        return f"{self.frame.definition.qualname}:{text}" + (f"@{line}" if line else "")

    # -- statements ----------------------------------------------------------------------------------------------

    def block(self, body: Iterable[Node]) -> bool:
        """Walk statements; say whether control reaches the end."""
        engine = self.engine
        engine.nested += 1
        if engine.nested > engine.peak:
            engine.deepen()
        for node in body:
            if not self.statement(node):
                engine.nested -= 1
                return False
        engine.nested -= 1
        return True

    def statement(self, node: Node) -> bool:
        """Walk one statement; say whether control goes on after it."""
        self.engine.spend()
        self.line = node[1]
        method = STATEMENTS.get(node[0])
        return True if method is None else method(self, node)

    # -- storing -------------------------------------------------------------------------------------------------

    def path(self, node: Node) -> str:
        """Give the path of a place that can be stored to; empty where it has none."""
        if node[0] == "N":
            return str(node[1])
        if node[0] == "A":
            base = self.path(node[1])
            return f"{base}.{node[2]}" if base else ""
        if node[0] == "S" and node[2][0] == "C":
            base = self.path(node[1])
            return f"{base}[{node[2][1]!r}]" if base else ""
        return ""

    def store(self, target: Node, value: V) -> None:
        """Bind a target; what hung below the old value is forgotten."""
        if target[0] in ("T", "L"):
            phi = value.phi
            if value.data is None and phi is not None and phi.expr is value.expr and unpacks(phi, len(target[1])):
                for place, part in enumerate(target[1]):
                    then, otherwise = phi.then.data.items[place], phi.otherwise.data.items[place]
                    self.store(part, self.domain.join(phi.condition, then, otherwise))
                return
            items = value.data.items if isinstance(value.data, Seq) else ()
            for place, part in enumerate(target[1]):
                fits = len(items) == len(target[1])
                element = items[place] if fits else self.part(value, place)
                self.store(part, element)
            return
        if target[0] == "*":
            self.store(target[1], self.part(value, 0))
            return
        plain = target[0] == "N"
        path = str(target[1]) if plain else self.path(target)
        env = self.frame.env
        if target[0] == "S" and self.frame.hollow:
            self.filled(self.eval(target[1]), [], {})
        held = self.frame.env.get(self.path(target[1])) if target[0] == "S" else None
        if held is not None and self.frame.turns:
            self.fill_in_turn(target, held)
        if held is not None and held.buf:
            forget(self.frame, self.domain, held, ("S", 0))
        if not path:
            return
        root = path if plain else root_of(path)
        if root in self.frame.parted:
            below = (path + ".", path + "[")
            for name in [n for n in env if n.startswith(below)]:
                del env[name]
        if value.buf and not value.label:
            value = value.labelled("~" + path.rpartition(".")[2])
        self.bind(path, root, value)

    def fill_in_turn(self, target: Node, held: V) -> None:
        """Let a dict that is filled in an order of each rank's own have that order."""
        key = self.frame.env.get(target[2][1]) if target[2][0] == "N" else None
        order = None if key is None else grown_set(self, held, "", [key], ("K", target[1], (target[2],), ()))
        if order is not None and held.data != order:
            path = self.path(target[1])
            self.bind(path, root_of(path), held.holding(order))

    def bind(self, path: str, root: str, value: V) -> None:
        """Bind a path that begins with the name `root`."""
        if len(root) < len(path):
            self.frame.parted.add(root)
        if value.phi is not None:
            self.frame.joins.add(path)
        self.frame.env[path] = value

    def part(self, value: V, place: int) -> V:
        """Give an element of something that is not known by its elements."""
        expr = self.domain.opaque(f"{self.frame.definition.qualname}:#{value.expr.id}[{place}]", (value.expr,))
        return V(expr, text=f"{value.text}[{place}]")

    # -- expressions ---------------------------------------------------------------------------------------------

    def eval(self, node: Node) -> V:
        """Give the value of an expression, and leave its events behind."""
        engine = self.engine
        engine.nested += 1
        if engine.nested > engine.peak:
            engine.deepen()
        value = _EXPRESSIONS[node[0]](self, node)
        engine.nested -= 1
        return value

    def e_const(self, node: Node) -> V:
        """A literal."""
        return self.domain.const(node[1])

    def e_name(self, node: Node) -> V:
        """A name: local, of an enclosing frame, of the module, or built in."""
        name = node[1]
        frame: Frame | None = self.frame
        while frame is not None:
            if name in frame.env:
                return frame.env[name]
            if frame.lazy and name in frame.definition.locals:
                return self.lazily(frame, name)
            frame = frame.parent
        return self.global_name(name)

    def global_name(self, name: str) -> V:
        """Give what a name of the module stands for: what it is in itself is worked out once for a file."""
        engine, path = self.engine, self.frame.path
        known = engine.names.get((path, name))
        if known is not None:
            engine.linker.note("name", path, name)
            return known.again()
        target = engine.linker.name(path, name)
        if target is None:
            value = engine.names[path, name] = self.domain.unknown(f"name {name}", text=name)
            return value.again()
        value = self.target(target, name)
        if self.stands(target):
            engine.names[path, name] = value.again()
        return value

    def stands(self, target: Target) -> bool:
        """Say whether what a resolved name comes to is the same wherever it is asked for, but for its text."""
        if target.kind == "var":
            return False
        entry = None if target.kind == "class" else self.engine.models.find(target.name)
        return entry is None or not entry.attribute

    def lazily(self, frame: Frame, name: str) -> V:
        """Give a local of a function that is not walked: by its parameter or its only assignments."""
        if name in frame.asked:
            return self.domain.unknown(f"{frame.definition.qualname}:{name}", text=name)
        frame.asked.add(name)
        found = self.engine.assigned(frame, name)
        value: V | None = None
        for place, node in enumerate(found):
            here = Walker(self.engine, frame).eval(node)
            if value is None:
                value = here
            else:
                either = self.values.atom(f"{frame.definition.qualname}:{name} {place}{WHICH}", UNRESOLVED)
                value = self.domain.join(either, value, here)
        if value is None:
            value = self.domain.by_name(name, f"{frame.definition.qualname}:{name}", name)
        frame.env[name] = value
        return value

    def target(self, target: Target, text: str) -> V:
        """Give the value of a resolved name."""
        engine = self.engine
        if target.kind == "def":
            entry = engine.models.find(target.name)
            data: Any = Func(target.path, target.index)
            if entry is not None and entry.attribute:
                return apply_model(self, entry, [], {}, None, text)
            return V(self.values.atom(target.name, UNRESOLVED), data, self.no, text=target.name)
        if target.kind == "class":
            klass = Klass((target.path, target.index))
            return V(self.values.atom(target.name, UNRESOLVED), klass, self.no, text=target.name)
        if target.kind == "var":
            return engine.variable(target)
        entry = engine.models.find(target.name)
        if entry is not None and entry.attribute:
            return apply_model(self, entry, [], {}, None, text)
        return V(self.values.atom(target.name, UNRESOLVED), Module(target), self.no, text=target.name)

    def e_attribute(self, node: Node) -> V:
        """`base.name`."""
        frame = self.frame
        if frame.parted and is_part(node, frame.parted):
            path = self.path(node)
            if path and path in frame.env:
                return frame.env[path]
        base = self.eval(node[1])
        if base.data == ("super",):
            return self.super_member(node[2])
        return self.attribute(base, node[2])

    def attribute(self, base: V, name: str) -> V:
        """Read an attribute of a value."""
        data = base.data
        if isinstance(data, Module):
            return self.of_module(base, data.target, name)
        text = f"{base.text}.{name}"
        engine = self.engine
        if isinstance(data, Instance):
            return self.member(base, data.key, name, text)
        if isinstance(data, Klass):
            return self.class_member(data.key, name, text)
        if isinstance(data, Config):
            entry = engine.models.find(text)
            if entry is not None and entry.attribute:
                return apply_model(self, entry, [], {}, None, text)
            return self.domain.setting(f"{data.text}.{name}")
        if isinstance(data, Func) and name == "func" and data.args:
            return base
        if isinstance(data, Paced):
            return self.domain.unknown(text, text=text if data.over else text_of(data, name))
        if isinstance(data, Map) and (kept := data.get(name)) is not None:
            return kept
        if name in ("data", "T", "grad", "_local_tensor"):
            return base.spelled(text).holding(None)
        if name in ("shape", "dtype", "device", "ndim", "is_cuda"):
            return self.domain.of(self.domain.opaque(f"#{base.expr.id}.{name}", (base.expr,)), text=text)
        if isinstance(data, Grp) and name in ("WORLD",):
            return base
        entry = engine.models.find(text)
        if entry is not None and entry.attribute:
            return apply_model(self, entry, [], {}, None, text)
        if base.expr.var:
            return V(self.domain.opaque(f"#{base.expr.id}.{name}", (base.expr,)), text=text)
        named = self.domain.by_name(name, text, text)
        if takes_turns(base.expr) and named.data is None and not named.expr.var:
            return V(self.domain.opaque(f"#{base.expr.id}.{name}", (base.expr,)), text=text)
        return named

    def of_module(self, base: V, module: Target, name: str) -> V:
        """Read an attribute of a module: what it is in itself is worked out once."""
        engine, asked = self.engine, (module.kind, module.name, module.path, name)
        known = engine.members.get(asked)
        if known is not None:
            engine.linker.note("attribute", module.kind, module.name, module.path, module.index, name)
            return known.again()
        text = f"{base.text}.{name}"
        target = engine.linker.attribute(module, name)
        if target is None:
            return self.domain.unknown(text, text=text)
        value = self.target(target, text)
        if self.stands(target):
            engine.members[asked] = value.again()
        return value

    def member(self, base: V, key: ClassKey, name: str, text: str) -> V:
        """Read an attribute of an object: property, method, or what its methods store."""
        engine = self.engine
        found = engine.linker.method(key, name)
        if found is not None:
            definition = engine.linker.definition(found[0], found[1])
            if is_property(definition):
                return self.property(base, found, text)
            if has_decorator(definition, "staticmethod"):
                receiver = None
            elif has_decorator(definition, "classmethod"):
                receiver = V(base.expr, Klass(key), self.no)
            else:
                receiver = base
            data = Func(found[0], found[1], receiver)
            return V(self.values.atom(f"{engine.linker.class_name(key)}.{name}", UNRESOLVED), data, self.no, text=text)
        modelled = engine.inherited(key, name)
        return engine.attribute(key, name, base, modelled.names[0] if modelled is not None else text)

    def property(self, base: V, found: tuple[str, int, ClassKey], text: str) -> V:
        """Call a property."""
        return self.read(Func(found[0], found[1], base)).spelled(text)

    def read(self, getter: Func) -> V:
        """Call the function of a property, which is written without a call."""
        definition = self.engine.linker.definition(getter.path, getter.index)
        call: Node = ("K", ("N", definition.name), (), (), definition.line, 1, definition.line, 2)
        return self.called(getter, [], {}, call)

    def class_member(self, key: ClassKey, name: str, text: str) -> V:
        """Read an attribute of a class: method, nested value or class-level assignment."""
        linker = self.engine.linker
        found = linker.method(key, name)
        if found is not None:
            definition = linker.definition(found[0], found[1])
            receiver = None
            if has_decorator(definition, "classmethod"):
                receiver = V(self.values.atom(f"class {key}", UNRESOLVED), Klass(key), self.no)
            data = Func(found[0], found[1], receiver)
            full = f"{linker.class_name(key)}.{name}"
            return V(self.values.atom(full, UNRESOLVED), data, self.no, text=full)
        return self.engine.class_value(key, name, text)

    def e_subscript(self, node: Node) -> V:
        """`base[index]`."""
        frame = self.frame
        if frame.parted and is_part(node, frame.parted):
            path = self.path(node)
            if path and path in frame.env:
                return frame.env[path]
        kept = self.keyed(node)
        if kept is not None:
            return kept
        base, index = self.eval(node[1]), self.eval(node[2])
        found = self.element(base, index)
        share = self.share(base, index, node[2])
        if share is not None:
            return found.holding(share).none_if(self.no)
        if selects(node[2]) and self.given(base):
            return found.holding(Selected(self.path(node[1])))
        return found

    def given(self, value: V) -> bool:
        """Say whether a value is data as the function was given it: an argument or an element of a batch."""
        expr = value.expr
        if expr.op != "atom" or value.data is not None or "gather" in value.text or "global" in value.text:
            return False
        names = {f"{self.frame.definition.qualname}:{param.name}" for param in self.frame.definition.params}
        return expr.args[0] in names or (expr.args[1] is Origin.CONTRACT and bool(value.label))

    def share(self, base: V, index: V, node: Node) -> Share | None:
        """Give the share of a slice `[start::step]` whose start differs between ranks, if nothing evens shares out."""
        if node[0] != "T" or len(node[1]) != 4 or node[1][3] != ("X",) or not isinstance(index.data, Seq):
            return None
        start, stop, step = (self.domain.numeric(item) for item in index.data.items[:3])
        known_sides = is_number(start) and is_number(step) and not atoms_in(start) and not atoms_in(step)
        if not known_sides or not start.var or step.var or not is_none(V(stop)) or isinstance(base.data, Seq):
            return None
        evened = any(rounds_up(part) for part in self.frame.definition.body)
        return None if evened else Share(start, step, base.expr.id)

    def keyed(self, node: Node) -> V | None:
        """Read a constant key of a dict that a class holds, if some method stores under that key."""
        held, key = node[1], node[2]
        if held[0] != "A" or key[0] != "C" or not isinstance(key[1], str):
            return None
        owner = self.eval(held[1])
        if not isinstance(owner.data, Klass | Instance):
            return None
        return self.engine.keyed(owner.data.key, f"{held[2]}[{key[1]!r}]", owner)

    def element(self, base: V, index: V) -> V:
        """Read an element."""
        data = base.data
        key = index.expr.args[0] if index.expr.op == "lit" else None
        text = f"{base.text}[{key!r}]"
        if isinstance(data, Map) and key is not None:
            found = data.get(key)
            if found is not None:
                return found
        if isinstance(data, Seq) and isinstance(key, int) and -len(data.items) <= key < len(data.items):
            return data.items[key]
        if isinstance(data, MeshOf):
            return self.mesh_slice(data, index, text)
        if isinstance(data, Grp):
            return base
        if isinstance(data, RanksOf) and is_number(index.expr):
            place = index.expr
            if isinstance(key, int) and key < 0:
                place = self.values.arithmetic("+", self.values.size(data.group), key)
            return self.domain.of(self.values.global_rank(data.group, place), text=text)
        if isinstance(data, Module) and data.target.name == "os.environ" and isinstance(key, str):
            launched = self.domain.environment(key)
            if launched is not None:
                return launched
        if isinstance(key, str):
            expr = self.values.atom(f"batch {key!r}", Origin.CONTRACT)
            if base.expr.var:
                expr = self.domain.opaque(f"#{base.expr.id}[{key!r}]", (base.expr,))
            if isinstance(data, Config):
                return self.domain.setting(f"{data.text}.{key}")
            return V(expr, label=key, text=text, null=None)
        return V(
            self.domain.opaque(f"#{base.expr.id}[#{index.expr.id}]", (base.expr, index.expr)),
            label=base.label,
            buf=base.buf,
            text=text,
        )

    def mesh_slice(self, data: MeshOf, index: V, text: str) -> V:
        """`mesh["tp"]`, `mesh["dp", "cp"]`."""
        parts = index.data.items if isinstance(index.data, Seq) else (index,)
        names = [p.expr.args[0] for p in parts if p.expr.op == "lit" and isinstance(p.expr.args[0], str)]
        mask, weak = self.mesh_dims(names)
        if not mask and len(names) == 1 and names[0] in data.names:
            return self.domain.of(self.values.atom(text, UNRESOLVED), slice_of(names[0]), text)
        if not mask:
            return self.domain.unknown(text, text=text)
        return self.domain.of(self.values.atom(text, UNRESOLVED), MeshOf(mask, weak), text)

    def mesh_dims(self, names: list[str]) -> tuple[int, bool]:
        """Give the dims of mesh dimension names."""
        mask = 0
        for name in names:
            dims = dict(known.MESH_DIMS).get(name)
            if dims is None:
                return 0, True
            mask |= self.domain.mask(dims)
        return mask, False

    def e_bool(self, node: Node) -> V:
        """`and`, `or`: events of later operands happen on one side only."""
        frame = self.frame
        first = self.eval(node[2][0])
        both = self.values.both if node[1] == "and" else self.values.either
        values, so_far = [first], self.domain.truth(first)
        decided = so_far
        for operand in node[2][1:]:
            if so_far.op == "lit" and bool(so_far.args[0]) is (node[1] == "or"):
                break
            outer = frame.items
            frame.items = []
            value = self.eval(operand)
            inner, frame.items = frame.items, outer
            if has_events(inner):
                condition = so_far if node[1] == "and" else self.values.negate(so_far)
                line = line_of(operand) or frame.definition.line
                outer.append(AltItem(condition, inner, [], Gate(self.site(line, 1, node[1]), "and", "", True, line)))
            values.append(value)
            so_far = self.domain.small(both(so_far, self.domain.truth(value)))
        if node[1] == "or" and len(values) == 2:
            return self.domain.join(decided, values[0], values[1])
        return self.domain.of(so_far)

    def e_unary(self, node: Node) -> V:
        """`not x`, `-x`."""
        value = self.eval(node[2])
        if node[1] == "not":
            return self.domain.of(self.values.negate(self.domain.truth(value)))
        if node[1] == "-":
            return self.domain.of(self.values.arithmetic("-", 0, self.domain.numeric(value)))
        return self.domain.of(self.domain.opaque(f"{node[1]}#{value.expr.id}", (value.expr,)))

    def e_binary(self, node: Node) -> V:
        """Arithmetic."""
        return self.arithmetic(node[1], self.eval(node[2]), self.eval(node[3]))

    def arithmetic(self, op: str, left: V, right: V) -> V:
        """Compute `left op right`: on the mesh where it can be, else as an unknown function."""
        if op == "+" and isinstance(left.data, Seq) and isinstance(right.data, Seq):
            return self.sequence((*left.data.items, *right.data.items))
        order = joined_sets(op, left, right) if op in SET_METHODS.values() else derived([left, right])
        if order is None and op in ("+", "-", "*", "//", "%") and not left.label and not right.label:
            first, second = self.domain.numeric(left), self.domain.numeric(right)
            if is_number(first) and is_number(second):
                return self.domain.of(self.domain.small(self.values.arithmetic(op, first, second)))
        expr = self.domain.opaque(f"#{left.expr.id}{op}#{right.expr.id}", (left.expr, right.expr))
        return V(expr, order, self.no, left.label)

    def e_compare(self, node: Node) -> V:
        """Comparisons; `x is None`, `"key" in batch`, `rank in ranks`."""
        left = self.eval(node[2])
        parts: list[Expr] = []
        for op, operand in zip(node[1], node[3], strict=True):
            right = self.eval(operand)
            stored = self.stored_key(left, operand) if op in ("in", "not in") else None
            if stored is not None:
                parts.append(stored if op == "in" else self.values.negate(stored))
            else:
                parts.append(self.compared(op, left, right))
            left = right
        if len(parts) == 1 and parts[0].op != "lit" and parts[0].op != "and":
            return self.domain.of(parts[0])
        return self.domain.of(self.values.both(*parts))

    def stored_key(self, key: V, held: Node) -> Expr | None:
        """Give whether a dict that a class holds has a key under which its methods store: any value, alike for all."""
        if held[0] != "A" or key.expr.op != "lit" or not isinstance(key.expr.args[0], str):
            return None
        owner = self.eval(held[1])
        if not isinstance(owner.data, Klass | Instance):
            return None
        name = f"{held[2]}[{key.expr.args[0]!r}]"
        if self.engine.keyed(owner.data.key, name, owner) is None:
            return None
        return self.values.atom(f"{self.engine.linker.class_name(owner.data.key)}.{name} is set", SETTING)

    def compared(self, op: str, left: V, right: V) -> Expr:
        """Give `left op right`."""
        if op in ("is", "==") and is_none(right):
            return self.domain.is_none(left)
        if op in ("is not", "!=") and is_none(right):
            return self.values.negate(self.domain.is_none(left))
        if op in ("in", "not in"):
            test = self.contains(left, right)
            return self.values.negate(test) if op == "not in" else test
        if op in ("is", "=="):
            return self.equal(left, right)
        if op in ("is not", "!="):
            return self.values.negate(self.equal(left, right))
        first, second = self.domain.numeric(left), self.domain.numeric(right)
        if is_truth(first) and is_number(second) and second.op == "lit":
            return self.domain.choose(first, *(self.values.compare(op, number, second) for number in (1, 0)))
        if is_number(first) and is_number(second):
            test = self.values.compare(op, first, second)
            if test.local and any(not atom.local for atom in atoms(test)):
                # What is not known beside it (a start, a limit) makes what a rank finds for itself no more alike.
                return self.domain.opaque(f"#{test.id}", (test,), close=True)
            return test
        return self.domain.opaque(f"#{left.expr.id}{op}#{right.expr.id}", (left.expr, right.expr), close=True)

    def equal(self, left: V, right: V) -> Expr:
        """Give `left == right`."""
        first, second = left.expr, right.expr
        if first.op == "lit" and second.op == "lit":
            return self.values.lit(first.args[0] == second.args[0])
        for one, other in ((first, second), (second, first)):
            if other.op == "lit" and isinstance(other.args[0], bool) and is_truth(one):
                return one if other.args[0] else self.values.negate(one)
            if other.op == "lit" and isinstance(other.args[0], str):
                text = left.data if one is first else right.data
                if isinstance(text, Written) and other.args[0].isdecimal():
                    return self.values.compare("==", text.number, int(other.args[0]))
                if one.op == "ite":
                    condition, then, otherwise = one.args
                    return self.values.choose(
                        condition, self.equal(V(then), V(other)), self.equal(V(otherwise), V(other))
                    )
                return self.domain.opaque(f"#{one.id}=={other.args[0]!r}", (one,))
        numeric = self.domain.numeric(left), self.domain.numeric(right)
        if is_number(numeric[0]) and is_number(numeric[1]):
            return same_place(self.values, *numeric)
        low, high = sorted((first.id, second.id))
        return self.domain.opaque(f"#{low}==#{high}", (first, second), close=True)

    def contains(self, left: V, right: V) -> Expr:
        """Give `left in right`."""
        if isinstance(right.data, RanksOf) and left.expr is self.values.rank():
            return self.values.member(right.data.group)
        if isinstance(right.data, RanksOf) and left.expr is self.values.lit(0):  # then it is the first of them
            return self.equal(self.domain.of(self.values.global_rank(right.data.group, left.expr)), left)
        if isinstance(right.data, Seq) and len(right.data.items) <= MAX_EXPR:
            self.frame.looked_for.append((left, right.expr.id, self.line))
            return self.values.either(*(self.equal(left, item) for item in right.data.items))
        if left.expr.op == "lit" and isinstance(left.expr.args[0], str):
            if isinstance(right.data, Map) and right.data.get(left.expr.args[0]) is not None:
                return self.values.lit(True)
            if isinstance(right.data, Map) and not right.data.rest:
                return self.values.lit(False)
            if right.expr.var:
                return self.domain.opaque(f"{left.expr.args[0]!r} in #{right.expr.id}", (right.expr,))
            present = self.values.atom(f"batch {left.expr.args[0]!r} is None", Origin.CONTRACT)
            return self.values.negate(present)
        if right.expr.op in ("list", "range", "for"):
            self.frame.looked_for.append((left, right.expr.id, self.line))
            return self.values.compare("in", self.domain.numeric(left), right.expr)
        return self.domain.opaque(f"#{left.expr.id} in #{right.expr.id}", (left.expr, right.expr))

    def e_ternary(self, node: Node) -> V:
        """`a if c else b`."""
        condition = self.domain.truth(self.eval(node[1]))
        if condition.op == "lit":
            return self.eval(node[2] if condition.args[0] else node[3])
        frame = self.frame
        outer = frame.items
        frame.items = []
        first = self.eval(node[2])
        then, frame.items = frame.items, []
        second = self.eval(node[3])
        otherwise, frame.items = frame.items, outer
        if has_events(then) or has_events(otherwise):
            line = line_of(node) or frame.definition.line
            outer.append(AltItem(condition, then, otherwise, gate_of(self, line, line, "ternary", [], [])))
        return self.domain.join(condition, first, second)

    def e_sequence(self, node: Node) -> V:
        """A list, tuple or set display."""
        items: list[V] = []
        known_items = True
        for element in node[1]:
            if element[0] == "*":
                value = self.eval(element[1])
                if isinstance(value.data, Seq):
                    items += value.data.items
                else:
                    items.append(value)
                    known_items = False
            else:
                items.append(self.eval(element))
        self.domain.fresh += 1
        made = self.sequence(items)
        if not known_items:
            return made.holding(None)
        return of_display(made, hash_in(self, node, made)) if node[0] == "E" else made

    def sequence(self, items: Sequence[V]) -> V:
        """Make a list of values: of numbers one that the mesh computes, where it is not too long."""
        exprs = tuple(v.expr for v in items)
        data = listed(items)
        if data is not None and all(is_number(e) for e in exprs):
            expr = self.values.ranks(exprs)
        else:
            expr = self.domain.opaque("list" + ",".join([f"#{e.id}" for e in exprs[:12]]), exprs)
        return V(expr, data, self.no, buf=items[0].buf if len(items) == 1 else 0)

    def e_dict(self, node: Node) -> V:
        """A dict display."""
        items: list[tuple[Any, V]] = []
        rest = False
        for key, value in zip(node[1], node[2], strict=True):
            here = self.eval(value)
            if key is None:
                if isinstance(here.data, Map):
                    items += here.data.items
                    rest = rest or here.data.rest
                else:
                    rest = True
                continue
            name = self.eval(key)
            if name.expr.op == "lit":
                items.append((name.expr.args[0], here.labelled(str(name.expr.args[0]))))
            else:
                rest = True
        exprs = tuple(v.expr for _, v in items)
        return V(
            self.domain.opaque("dict" + ",".join(f"#{e.id}" for e in exprs[:12]), exprs),
            mapped(items, rest),
            self.no,
        )

    def e_lambda(self, node: Node) -> V:
        """A lambda bound to this frame."""
        data = Func(self.frame.path, node[1], None, self.frame)
        return V(self.values.atom(self.key(f"lambda {node[1]}"), UNRESOLVED), data, self.no)

    def e_comprehension(self, node: Node) -> V:
        """A comprehension: its element is evaluated once, in a loop over the first iterable."""
        frame = self.frame
        before = dict(frame.env)
        sequence = self.eval(node[3][0][1])
        outer, frame.items = frame.items, []
        trip, element = rounds_of(self, node[3][0][1], sequence, node[4])
        parts, filters, sources = [sequence.expr], [], [sequence]
        for place, (target, iterable, conditions) in enumerate(node[3]):
            if place:
                sources.append(self.eval(iterable))
                element = self.part(sources[-1], 0)
            self.store(target, element)
            filters += [self.domain.truth(self.eval(c)) for c in conditions]
        parts += filters
        asked, frame.items = frame.items, []
        value = self.eval(node[2])
        inner, frame.items = frame.items, outer
        if filters and has_events(inner):
            gate = Gate(self.site(node[4], 1, "if"), "filter", "", True, node[4])
            inner = [AltItem(self.domain.small(self.values.both(*filters)), inner, [], gate)]
        inner = asked + inner
        frame.env = before
        if has_events(inner):
            form = unordered_form(kind_of(sequence.data)) if shuffled(sequence.data) else "loop"
            outer.append(LoopItem(trip, inner, Gate(self.site(node[4], 1, "loop"), form, "", True, node[4])))
        parts.append(value.expr)
        order = of_comprehension(self, node, value, sources)
        if shuffled(sequence.data):  # in whatever order, all of it comes
            parts = [part for part in parts if part.var or not takes_turns(part)]
        expr = self.domain.opaque(self.key("comprehension", node[4]) + f"#{value.expr.id}", tuple(parts))
        return self.domain.of(expr, order)

    def e_star(self, node: Node) -> V:
        """`*x` in a call."""
        return self.eval(node[1])

    def e_walrus(self, node: Node) -> V:
        """`name := value`."""
        value = self.eval(node[2])
        self.frame.env[node[1]] = value
        return value

    def e_yield(self, node: Node) -> V:
        """`yield`: the hole of a context manager."""
        if node[1] is not None:
            self.eval(node[1])
        self.frame.items.append(HoleItem())
        return self.domain.unknown(self.key("yield"))

    def e_fstring(self, node: Node) -> V:
        """An f-string."""
        exprs = tuple([self.eval(part).expr for part in node[1]])
        return self.domain.of(self.domain.opaque("f" + ",".join([f"#{e.id}" for e in exprs]), exprs))

    def e_unknown(self, node: Node) -> V:
        """Anything else."""
        return self.domain.unknown(self.key("?"), nonnull=True)

    # -- calls ---------------------------------------------------------------------------------------------------

    def arguments(self, node: Node) -> tuple[list[V], dict[str, V]]:
        """Evaluate the arguments of a call; spread ones that are not known end the positional list."""
        args: list[V] = []
        for argument in node[2]:
            value = self.eval(argument)
            if argument[0] == "*":
                args += value.data.items if isinstance(value.data, Seq) else ()
            else:
                args.append(value)
        kwargs: dict[str, V] = {}
        for name, argument in node[3]:
            value = self.eval(argument)
            if name is not None:
                kwargs[name] = value
            elif isinstance(value.data, Map):
                kwargs.update({str(k): v for k, v in value.data.items})
        return args, kwargs

    def e_call(self, node: Node) -> V:
        """A call: by model, by definition, by what a method of that name does, else unknown."""
        callee_node = node[1]
        base: V | None = None
        if callee_node[0] == "N" and callee_node[1] == "super" and not node[2]:
            return V(self.values.atom("super", UNRESOLVED), ("super",), self.no)
        if callee_node[0] == "A":
            frame = self.frame
            path = self.path(callee_node) if frame.parted and is_part(callee_node, frame.parted) else ""
            if path and path in frame.env:
                callee = self.frame.env[path]
            else:
                base = self.eval(callee_node[1])
                if base.data == ("super",):
                    return self.super_call(callee_node[2], node)
                special = special_method(self, base, callee_node[2], node)
                if special is not None:
                    if self.frame.hollow:
                        self.filled(base, [], {})
                    if base.buf and callee_node[2] not in ("copy_", "fill_"):
                        rewrite(self, None, base, (), node)
                    return special
                callee = self.attribute(base, callee_node[2])
        else:
            callee = self.eval(callee_node)
        args, kwargs = self.arguments(node)
        result = self.apply(callee, base, args, kwargs, node)
        if self.frame.hollow:
            self.filled(base, args, kwargs)
        rewrite(self, callee, base, (*args, *kwargs.values()), node)
        return result

    def filled(self, base: V | None, args: list[V], kwargs: dict[str, V]) -> None:
        """Take buffers that a call is given, or that it is a method of, as filled from here on."""
        bufs = {v.buf for v in (base, *args, *kwargs.values()) if v is not None and v.buf}
        for name, value in self.frame.env.items() if bufs else ():
            hollow = [atom for atom in atoms(value.expr) if is_hollow(atom)] if value.buf in bufs else []
            if hollow:
                full = {a.id: self.values.atom(a.args[0].removeprefix(HOLLOW), UNRESOLVED) for a in hollow}
                self.frame.env[name] = replace(value, expr=self.values.rebuilt(value.expr, full), phi=None)

    def super_call(self, name: str, node: Node) -> V:
        """`super().method(...)`."""
        args, kwargs = self.arguments(node)
        found = self.above(name)
        if found is None:
            return self.domain.unknown(self.key(f"super.{name}", node[4]))
        return self.called(found, args, kwargs, node)

    def super_member(self, name: str) -> V:
        """`super().name` that is not called: a property of an ancestor, or a method of it."""
        found = self.above(name)
        if found is None or found.receiver is None:
            return self.domain.unknown(self.key(f"super.{name}"))
        definition = self.engine.linker.definition(found.path, found.index)
        if not is_property(definition):
            return V(self.values.atom(self.key(f"super.{name}"), UNRESOLVED), found, self.no)
        return self.read(found)

    def above(self, name: str) -> Func | None:
        """Give the method of an ancestor that `super()` means."""
        frame: Frame | None = self.frame
        while frame is not None and frame.owner is None:
            frame = frame.parent
        if frame is None or frame.owner is None or frame.receiver is None:
            return None
        linker = self.engine.linker
        order = linker.mro(frame.receiver.data.key if isinstance(frame.receiver.data, Instance) else frame.owner)
        after = order[order.index(frame.owner) + 1 :] if frame.owner in order else ()
        for ancestor in after:
            index = linker.own_methods(ancestor).get(name)
            if index is not None:
                return Func(ancestor[0], index, frame.receiver)
        return None

    def apply(self, callee: V, base: V | None, args: list[V], kwargs: dict[str, V], node: Node) -> V:
        """Call a value."""
        data, text = callee.data, callee.text
        if isinstance(data, Given):
            return self.apply(callee.holding(Module(data.target)), None, args, {**dict(data.kwargs), **kwargs}, node)
        if isinstance(data, Func):
            entry = self.engine.model_of(data)
            if entry is not None:
                return apply_model(self, entry, args, kwargs, node, text)
            return self.called(data, args, kwargs, node)
        if isinstance(data, Klass):
            return self.construct(data, args, kwargs, node)
        if isinstance(data, Instance):
            for name in ("__call__", "forward"):
                found = self.engine.linker.method(data.key, name)
                if found is not None:
                    return self.called(Func(found[0], found[1], callee), args, kwargs, node)
        name = node[1][2] if node[1][0] == "A" else node[1][1] if node[1][0] == "N" else ""
        if selecting(name):
            whole = base if base is not None and not isinstance(base.data, Module) else args[0] if args else None
            if whole is not None and self.given(whole):
                made = self.pure(text or name, args, kwargs, base, node)
                return made.holding(Selected(whole.text)).none_if(self.no)
        if isinstance(data, Module) or not isinstance(data, Grp):
            entry = self.engine.models.find(data.target.name if isinstance(data, Module) else text or name)
            if entry is not None:
                return apply_model(self, entry, args, kwargs, node, text or name)
        if node[1][0] == "N":
            built = call_builtin(self, name, args, kwargs, node)
            if built is not None:
                return built
        if isinstance(data, Module):
            library = call_library(self, data.target.name, args, kwargs, node)
            if library is not None:
                return library
        if base is not None and not isinstance(base.data, Module | Config):
            weak = self.engine.weakly(name)
            if weak is not None:
                return self.called(Func(weak[0], weak[1], None, weak=True), [base, *args], kwargs, node)
        return self.pure(text or name, args, kwargs, base, node)

    def pure(self, text: str, args: list[V], kwargs: dict[str, V], base: V | None, node: Node) -> V:
        """Give the value of an unknown function: it varies where its arguments vary."""
        parts = [v.expr for v in (*args, *kwargs.values())]
        if base is not None:
            parts.append(base.expr)
        key = f"{text}({','.join([f'#{e.id}' for e in parts[:8]])})"
        return V(self.domain.opaque(key, tuple(parts)), text=f"{text}()")

    def construct(self, klass: Klass, args: list[V], kwargs: dict[str, V], node: Node) -> V:
        """Make an object; a constructor that can matter is walked."""
        linker = self.engine.linker
        name = linker.class_name(klass.key)
        entry = self.engine.models.find(name)
        if entry is not None and entry.kind in ("mesh", "object", "manager"):
            return apply_model(self, entry, args, kwargs, node, name)
        made = V(
            self.values.atom(f"{name}@{self.frame.path}:{node[4]}:{node[5]}", UNRESOLVED),
            Instance(klass.key),
            self.no,
            text=name,
        )
        found = linker.method(klass.key, "__init__")
        given = () if found is None else self.engine.made_with(klass.key, found[:2], args, kwargs)
        bare = found is None and not node[2] and not node[3]
        if given or bare:
            made = made.holding(Instance(klass.key, given=given, bare=bare))
        if found is not None and self.engine.reaches(found[0], found[1]):
            self.called(Func(found[0], found[1], made), args, kwargs, node)
        return made

    def called(self, func: Func, args: list[V], kwargs: dict[str, V], node: Node) -> V:
        """Call a function of the program: its term at this site, its value here."""
        args = [*func.args, *args]
        kwargs = {**dict(func.kwargs), **kwargs}
        idle = node is self.unused and func.receiver is None and not self.engine.acts(func, args, kwargs)
        outcome = None if idle else self.engine.call(func, args, kwargs, self)
        if outcome is None:
            handed_on(self, (*args, *kwargs.values()))
            made = self.pure(f"{func.path}:{func.index}", args, kwargs, func.receiver, node)
            return self.engine.as_declared(func, made)
        self.engine.place(outcome.nodes)
        site = self.call_site(node)
        if outcome.gate is not None:
            gate = Gate(self.site(node[4], node[5], "decorator"), "decorator", "", True, node[6])
            if not outcome.is_nil:
                self.frame.items.append(AltItem(outcome.gate, [CallItem(outcome.term, site)], [], gate))
        elif not outcome.is_nil:
            self.frame.items.append(CallItem(outcome.term, site))
        self.effects(func, outcome, node)
        if func.receiver is not None and node[1][0] == "A":
            path = self.path(node[1][1])
            if path and outcome.stores:
                for name, value in outcome.stores.items():
                    self.store(("A", node[1][1], name), value)
        return self.engine.as_declared(func, outcome.value)

    def effects(self, func: Func, outcome: Outcome, node: Node) -> None:
        """Clear the arguments that a callee reduced in place, and note those that it waited for."""
        if not outcome.cleared and not outcome.waited:
            return
        definition = self.engine.linker.definition(func.path, func.index)
        names = [p.name for p in definition.params if p.kind == "pos"]
        if func.receiver is not None:
            names = names[1:]
        bound = dict(zip(names[len(func.args) :], node[2], strict=False))
        bound |= {k: v for k, v in node[3] if k is not None}
        for name, dims in outcome.cleared.items():
            if name in bound:
                clear(self, bound[name], dims, node)
        for name in sorted(outcome.waited.intersection(bound)):
            waited_at(self, bound[name])

    # -- models --------------------------------------------------------------------------------------------------

    # -- methods and builtins ------------------------------------------------------------------------------------


def is_part(node: Node, roots: set[str]) -> bool:
    """Say whether a chain of attributes and elements begins with one of some names."""
    while node[0] == "A" or node[0] == "S":
        node = node[1]
    return node[0] == "N" and node[1] in roots


_EXPRESSIONS: dict[str, Callable[[Walker, Node], V]] = {
    "C": Walker.e_const, "N": Walker.e_name, "A": Walker.e_attribute, "S": Walker.e_subscript, "K": Walker.e_call,
    "B": Walker.e_bool, "U": Walker.e_unary, "M": Walker.e_binary, "Q": Walker.e_compare, "I": Walker.e_ternary,
    "T": Walker.e_sequence, "L": Walker.e_sequence, "E": Walker.e_sequence, "D": Walker.e_dict,
    "F": Walker.e_lambda, "G": Walker.e_comprehension, "*": Walker.e_star, "W": Walker.e_walrus,
    "Y": Walker.e_yield, "J": Walker.e_fstring, "X": Walker.e_unknown,
}  # fmt: skip
