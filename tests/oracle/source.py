"""Finds guards in a library's source by their shape: which statement, where, and which words it and its tests name.

A shape is facts only: a kind of statement, the names that take part in it, and the scope that it stands in. What is
given back are line numbers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|\d+(?:\.\d+)*\.?")

KINDS: dict[str, tuple[type[ast.AST], ...]] = {
    "assert": (ast.Assert,),
    "raise": (ast.Raise,),
    "refusal": (ast.Assert, ast.Raise),
    "set": (ast.Assign, ast.AnnAssign, ast.AugAssign),
    "field": (ast.AnnAssign,),
    "call": (ast.Expr, ast.Assign, ast.Return),
    "if": (ast.If, ast.IfExp),
    "define": (ast.FunctionDef, ast.ClassDef),
    "any": (ast.stmt,),
}


@dataclass(frozen=True)
class Shape:
    """A kind of statement, below functions or classes of these names, whose words and tests name all of `names`.

    `files` are the places of the file over the versions, the first that is there counts. A name `!x` must stand in a
    test that does not hold, and one of `without` nowhere in the statement or the tests that hold. `x=y` is an argument
    x with the constant y.
    """

    files: tuple[str, ...]
    kind: str
    names: tuple[str, ...]
    within: str = ""
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Seen:
    """One statement: its line, its kind, its words and the words of the tests that it needs."""

    line: int
    node: type[ast.AST]
    words: frozenset[str]


def words(node: ast.AST | None) -> Iterator[str]:
    """Give the names, attributes, arguments and words of strings below a node."""
    for one in ast.walk(node) if node is not None else ():
        match one:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.keyword(arg=str(name), value=ast.Constant(value=value)):
                yield from (name, f"{name}={value}")
            case ast.keyword(arg=str(name)):
                yield name
            case ast.Constant(value=str(text)):
                yield from WORD.findall(text)
            case ast.Constant(value=value):
                yield str(value)
            case _:
                continue


def own(node: ast.stmt) -> ast.AST:
    """Give the part of a statement that is its own: the test of an `if`, the head of a definition."""
    match node:
        case ast.If(test=test) | ast.While(test=test):
            return test
        case ast.FunctionDef(args=arguments):
            return arguments
        case ast.ClassDef(bases=bases):
            return ast.Tuple(bases, ast.Load())
        case ast.For(iter=over):
            return over
        case ast.With(items=items):
            return ast.Tuple([item.context_expr for item in items], ast.Load())
        case ast.Try():
            return ast.Pass()
        case _:
            return node


def statements(body: list[ast.stmt], tests: frozenset[str] = frozenset()) -> Iterator[Seen]:
    """Give every statement with what stands around it."""
    for node in body:
        named = (node.name,) if isinstance(node, ast.FunctionDef | ast.ClassDef) else ()
        yield Seen(node.lineno, type(node), tests | {*named, *words(own(node))})
        yield from _below(node, tests)


def _below(node: ast.stmt, tests: frozenset[str]) -> Iterator[Seen]:
    inner = tests
    if isinstance(node, ast.If | ast.While):
        inner = tests | set(words(node.test))
        yield from statements(node.orelse, tests | {f"!{word}" for word in words(node.test)})
    elif isinstance(node, ast.For | ast.Try):
        yield from statements(node.orelse, tests)
    for handler in getattr(node, "handlers", ()):
        yield from statements(handler.body, tests)
    yield from statements(getattr(node, "finalbody", []), tests)
    for case in getattr(node, "cases", ()):
        yield from statements(case.body, tests | set(words(node)))
    body = getattr(node, "body", [])
    yield from statements(body if isinstance(body, list) else [], inner)


@lru_cache(maxsize=4)
def parsed(text: str) -> ast.Module:
    """Give the tree of a file."""
    return ast.parse(text)


def definitions(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """Give the functions and classes of some statements, those inside others too."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node
        for part in ("body", "orelse", "finalbody"):
            inner = getattr(node, part, [])
            yield from definitions(inner if isinstance(inner, list) else [])


@lru_cache(maxsize=16)
def read(text: str, within: str) -> tuple[Seen, ...]:
    """Give the statements of a file, or of its functions and classes of one name."""
    body = parsed(text).body
    if not within:
        return tuple(statements(body))
    return tuple(seen for scope in definitions(body) if scope.name == within for seen in statements(scope.body))


def lines(text: str, shape: Shape) -> tuple[int, ...]:
    """Give the lines of the statements that have a shape, in order."""
    if not all(name.removeprefix("!").rpartition("=")[2] in text for name in (*shape.names, shape.within)):
        return ()
    kinds = KINDS[shape.kind]
    found = (
        one.line
        for one in read(text, shape.within)
        if issubclass(one.node, kinds) and set(shape.names) <= one.words and not set(shape.without) & one.words
    )
    return tuple(sorted(set(found)))
