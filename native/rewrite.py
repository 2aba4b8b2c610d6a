"""Writes the source of modules as mypyc compiles it best: in a copy that is thrown away, and with the same meaning.

- The `__init__` of records. mypyc makes a native class of a record but leaves `__init__` to the decorator, which runs
  it interpreted: a record would be dearer to build compiled than not. In the text it is five times cheaper.
- `Final` for the constants of a module, which mypyc else looks up in a dict at each use.
- `isinstance(one, A | B)` as `isinstance(one, (A, B))`, for which mypyc compares classes and makes no union.

What is added stands on lines that are there, so that tracebacks name the lines of the source.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Field:
    """A field of a record as it is written: its annotation, its default or what makes one, where it was declared."""

    name: str
    annotation: ast.expr
    default: ast.expr | None
    factory: ast.expr | None
    init: bool
    home: str
    """The module that declares it, dotted."""


def written_out(sources: Mapping[str, str]) -> dict[str, str]:
    """Give the texts of modules, by dotted name, as they are to be compiled; raises ValueError.

    A record that inherits from another needs the other's module among them.
    """
    trees = {module: ast.parse(text) for module, text in sources.items()}
    records = {
        (module, node.name): node
        for module, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and _decorator(node) is not None
    }
    return {module: _module(module, text, trees[module], records) for module, text in sources.items()}


Records = Mapping[tuple[str, str], ast.ClassDef]


def _module(module: str, text: str, tree: ast.Module, records: Records) -> str:
    lines = text.split("\n")
    wanted: dict[str, set[str]] = {"typing": set()}
    _as_tuples(lines, tree)
    if _as_final(lines, tree):
        wanted["typing"].add("Final")
    imported, known = _imported(tree), _known(tree)
    made: list[tuple[ast.ClassDef, str]] = []
    for (home, _), node in records.items():
        if home != module or _defines(node, "__init__"):
            continue
        fields = _fields(node, home, imported, records)
        if fields:
            made.append((node, _init(node, fields, _finishes(node, home, imported, records))))
        for each in fields:
            if each.home != module:
                wanted.setdefault(each.home, set()).update(_names(each))
    _import(lines, tree, {home: names - known for home, names in wanted.items()})
    for node, line in reversed(made):
        _put(lines, node, line)
    return "\n".join(lines)


def _as_tuples(lines: list[str], tree: ast.Module) -> None:
    """Write the unions of classes that `isinstance` is asked about as tuples, the last one first."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_name(node.func, "isinstance")]
    unions = [call.args[1] for call in calls if isinstance(call.args[1], ast.BinOp)]
    for union in sorted(unions, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        if union.lineno == union.end_lineno and "None" not in _joined(union):  # which only a union may hold
            _replace(lines, union, f"({', '.join(_joined(union))})")


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _joined(node: ast.expr) -> list[str]:
    return [*_joined(node.left), *_joined(node.right)] if isinstance(node, ast.BinOp) else [ast.unparse(node)]


def _replace(lines: list[str], node: ast.expr, text: str) -> None:
    """Write another text for an expression on one line; columns count bytes."""
    line = lines[node.lineno - 1].encode()
    lines[node.lineno - 1] = (line[: node.col_offset] + text.encode() + line[node.end_col_offset :]).decode()


def _as_final(lines: list[str], tree: ast.Module) -> bool:
    """Mark the constants of a module; say whether there were any."""
    done = False
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or not _is_constant(node.value):
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if not isinstance(target, ast.Name) or not target.id.isupper():
            continue
        done = True
        if isinstance(node, ast.Assign):
            lines[node.lineno - 1] = lines[node.lineno - 1].replace(f"{target.id} =", f"{target.id}: Final =", 1)
        elif node.annotation.lineno == node.annotation.end_lineno:
            _replace(lines, node.annotation, f"Final[{ast.unparse(node.annotation)}]")
    return done


def _is_constant(value: ast.expr | None) -> bool:
    """Say whether a value is one that is worth it; a tuple would be taken apart and made anew at each use."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in ("frozenset", "dict", "set")
    return isinstance(value, ast.Constant | ast.Dict | ast.Set | ast.DictComp | ast.SetComp)


def _decorator(node: ast.ClassDef) -> ast.expr | None:
    for each in node.decorator_list:
        called = each.func if isinstance(each, ast.Call) else each
        if isinstance(called, ast.Name) and called.id == "dataclass":
            return each
    return None


def _defines(node: ast.ClassDef, name: str) -> bool:
    return any(isinstance(each, ast.FunctionDef) and each.name == name for each in node.body)


def _imported(tree: ast.Module) -> dict[str, tuple[str, str]]:
    """Give the names that a module imports from others, with the module and the name there."""
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    }


def _fields(
    node: ast.ClassDef, module: str, imported: Mapping[str, tuple[str, str]], records: Records
) -> tuple[Field, ...]:
    """Give the fields of a record, those of its bases first."""
    found: dict[str, Field] = {}
    for base in node.bases:
        if not isinstance(base, ast.Name):
            continue
        home, name = imported.get(base.id, (module, base.id))
        above = records.get((home, name))
        if above is not None:
            found |= {each.name: each for each in _fields(above, home, {}, records)}
    return tuple((found | {each.name: each for each in _own(node, module)}).values())


def _own(node: ast.ClassDef, module: str) -> Iterable[Field]:
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and not _of_class(each.annotation):
            yield _field(each.target.id, each.annotation, each.value, module)


def _of_class(annotation: ast.expr) -> bool:
    return ast.unparse(annotation).startswith(("ClassVar", "typing.ClassVar"))


def _field(name: str, annotation: ast.expr, value: ast.expr | None, module: str) -> Field:
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "field":
        given = {word.arg: word.value for word in value.keywords}
        init = given.get("init")
        takes = not (isinstance(init, ast.Constant) and init.value is False)
        return Field(name, annotation, given.get("default"), given.get("default_factory"), takes, module)
    return Field(name, annotation, value, None, True, module)


def _finishes(node: ast.ClassDef, module: str, imported: Mapping[str, tuple[str, str]], records: Records) -> bool:
    """Say whether a record or one of its bases has a `__post_init__`."""
    if _defines(node, "__post_init__"):
        return True
    bases = [imported.get(base.id, (module, base.id)) for base in node.bases if isinstance(base, ast.Name)]
    return any(base in records and _finishes(records[base], base[0], {}, records) for base in bases)


def _init(node: ast.ClassDef, fields: tuple[Field, ...], finishes: bool) -> str:
    words, stores = ["self"], []
    for each in fields:
        if each.init:
            words.append(_parameter(node, each))
        value = _value(each)
        if value:
            stores.append(f"self.{each.name} = {value}")
    if finishes:
        stores.append("self.__post_init__()")
    frozen = "frozen=True" in ast.unparse(_decorator(node) or node)
    return f"def __init__({', '.join(words)}) -> None: {'; '.join(stores)}" + ("  # type: ignore[misc]" * frozen)


def _parameter(node: ast.ClassDef, each: Field) -> str:
    annotation = ast.unparse(each.annotation)
    if each.factory is None:
        return f"{each.name}: {annotation}" + (f" = {ast.unparse(each.default)}" if each.default is not None else "")
    if annotation == "Any" or annotation.endswith("| None"):
        raise ValueError(f"{node.name}.{each.name}: None is a value of its own beside a default factory")
    return f"{each.name}: {annotation} | None = None"


def _value(each: Field) -> str:
    made = f"({ast.unparse(each.factory)})()" if each.factory is not None else ""
    if not each.init:
        return made or (ast.unparse(each.default) if each.default is not None else "")
    return f"{made} if {each.name} is None else {each.name}" if made else each.name


def _put(lines: list[str], node: ast.ClassDef, text: str) -> None:
    """Put a line at the end of a class, in the place of a blank one if there is one."""
    end = node.end_lineno or node.lineno
    line = " " * node.body[0].col_offset + text
    if end < len(lines) and not lines[end].strip():
        lines[end] = line
    else:
        lines.insert(end, line)


def _names(each: Field) -> set[str]:
    parts = [part for part in (each.annotation, each.default, each.factory) if part is not None]
    return {node.id for part in parts for node in ast.walk(part) if isinstance(node, ast.Name)}


def _known(tree: ast.Module) -> set[str]:
    """Give the names that a module has, those for types alone included, and the built-in ones."""
    stored = {
        node.id for top in tree.body for node in ast.walk(top) if isinstance(node, ast.Name) and _stores(node, top)
    }
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    return {*vars(builtins), *_imported(tree), *classes, *stored}


def _stores(node: ast.Name, top: ast.stmt) -> bool:
    return isinstance(node.ctx, ast.Store) and isinstance(top, ast.Assign | ast.AnnAssign)


def _import(lines: list[str], tree: ast.Module, wanted: Mapping[str, set[str]]) -> None:
    """Add imports, on the line of an import that is there."""
    added = [f"from {home} import {', '.join(sorted(names))}" for home, names in sorted(wanted.items()) if names]
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module != "__future__"]
    if added and imports:
        lines[(imports[-1].end_lineno or imports[-1].lineno) - 1] += "; " + "; ".join(added)
    elif added:
        raise ValueError("a module that imports nothing")
