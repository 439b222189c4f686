"""Struct members and dereferenced pointers as arrays and scalars with names of their own.

``points[i].x`` is an element of an array ``points_x`` that is spelled ``points[{0}].x``, ``m->n`` a
scalar ``m_n``, ``*(p + i)`` is ``p[i]``. Different members never overlap, which is all that a Scop
needs to know of structs.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.errors import UnsupportedError
from polyopt.frontend.c.syntax.usage import nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from polyopt.frontend.c.syntax.locations import Locator


@dataclass(frozen=True, eq=False)
class Member:
    """What a path through structs stands for."""

    decl: c_ast.Decl
    #: the variable that the path starts at
    base: str
    #: C text with ``{0}``, ... for subscripts
    spelling: str
    #: the path up to the last pointer that it goes through: "" where it goes through none
    pointer: str


@dataclass(frozen=True)
class _Step:
    """``[subscript]``, ``.name`` or ``->name``."""

    kind: str
    name: str = ""
    subscript: c_ast.Node | None = None


@dataclass(eq=False)
class Flattener:
    """Rewrites the lvalues of a region; ``members`` gathers what the new names stand for."""

    visible: Mapping[str, c_ast.Decl]
    typedefs: Mapping[str, c_ast.Node]
    structs: Mapping[str, c_ast.Struct]
    locator: Locator
    members: dict[str, Member] = field(default_factory=dict[str, Member])
    #: names that are not free for members
    taken: set[str] = field(default_factory=set[str])
    _names: dict[tuple[str, ...], str] = field(default_factory=dict[tuple[str, ...], str])

    def flat(self, node: c_ast.Node) -> c_ast.Node:
        """The node with every path replaced; nodes without one are the same objects."""
        if isinstance(node, (c_ast.StructRef, c_ast.ArrayRef, c_ast.UnaryOp)):
            steps: list[_Step] = []
            base = self._path(node, steps)
            if base is not None and any(step.kind != "[" for step in steps):
                return self._member(base, steps, node)
            if base is not None and steps and _has_deref(node):
                return _subscripted(c_ast.ID(base, node.coord), self._subscripts(steps), node)
        return self._children(node)

    def _children(self, node: c_ast.Node) -> c_ast.Node:
        changed: dict[str, c_ast.Node] = {}
        for name, child in node.children():
            new = self.flat(child)
            if new is not child:
                changed[name] = new
        return replaced(node, changed) if changed else node

    def _path(self, node: c_ast.Node, steps: list[_Step]) -> str | None:
        """The base name of an lvalue; ``steps`` gets what follows it, in order."""
        match node:
            case c_ast.ID():
                return node.name if node.name in self.visible else None
            case c_ast.ArrayRef():
                base = self._path(node.name, steps)
                steps.append(_Step("[", subscript=node.subscript))
                return base
            case c_ast.StructRef():
                inner = node.name
                if (
                    isinstance(inner, c_ast.UnaryOp)
                    and inner.op == "*"
                    and node.type == "."
                    and not isinstance(inner.expr, c_ast.BinaryOp)
                ):  # ``(*p).x`` is ``p->x``
                    base = self._path(inner.expr, steps)
                    steps.append(_Step("->", node.field.name))
                    return base
                base = self._path(inner, steps)
                steps.append(_Step(node.type, node.field.name))
                return base
            case c_ast.UnaryOp(op="*", expr=c_ast.BinaryOp(op="+") as sum_):
                base = self._path(sum_.left, steps)
                steps.append(_Step("[", subscript=sum_.right))
                return base
            case c_ast.UnaryOp(op="*"):
                base = self._path(node.expr, steps)
                steps.append(_Step("[", subscript=c_ast.Constant("int", "0", node.coord)))
                return base
            case _:
                return None

    def _subscripts(self, steps: Iterable[_Step]) -> list[c_ast.Node]:
        return [self.flat(s.subscript) for s in steps if s.subscript is not None]

    def _member(self, base: str, steps: list[_Step], node: c_ast.Node) -> c_ast.Node:
        path = (base, *(step.name for step in steps if step.name))
        name = self._names.get(path)
        if name is None:
            name = "_".join(path)
            while name in self.visible or name in self.taken or name in self.members:
                name += "_"
            self.members[name] = self._described(base, name, steps, node)
            self._names[path] = name
        return _subscripted(c_ast.ID(name, node.coord), self._subscripts(steps), node)

    def _described(self, base: str, name: str, steps: list[_Step], node: c_ast.Node) -> Member:
        type_: c_ast.Node = self.visible[base].type
        spelling, count, pointer = base, 0, ""
        dims: list[c_ast.Node | None] = []
        for step in steps:
            if step.kind in {"[", "->"}:
                type_ = self._resolved(type_)
                if not isinstance(type_, (c_ast.ArrayDecl, c_ast.PtrDecl)):
                    raise self._no_member(node, "is no array or pointer")
                if isinstance(type_, c_ast.PtrDecl):
                    if count:
                        raise self._no_member(node, "goes through pointers that may be equal")
                    pointer = spelling
                dim = type_.dim if isinstance(type_, c_ast.ArrayDecl) else None
                type_ = type_.type
                if step.kind == "[":
                    dims.append(dim)
                    spelling += f"[{{{count}}}]"
                    count += 1
            if step.name:
                type_ = self._field(type_, step.name, node)
                spelling += f"{step.kind}{step.name}"
        rest = self._resolved(type_)
        while isinstance(rest, c_ast.ArrayDecl):  # named without all of its subscripts
            rest = rest.type
            raise self._no_member(node, "is an array: name one element")
        for dim in reversed(dims):
            kind = c_ast.PtrDecl([], type_) if dim is None else c_ast.ArrayDecl(type_, dim, [])
            kind.coord = node.coord
            type_ = kind
        decl = c_ast.Decl(name, [], [], [], [], type_, None, None, node.coord)
        return Member(decl, base, spelling, pointer)

    def _resolved(self, type_: c_ast.Node) -> c_ast.Node:
        """The type behind typedefs and declarators without extents."""
        while True:
            match type_:
                case c_ast.TypeDecl():
                    type_ = type_.type
                case c_ast.IdentifierType() if type_.names[0] in self.typedefs:
                    type_ = self.typedefs[type_.names[0]]
                case _:
                    return type_

    def _field(self, type_: c_ast.Node, name: str, node: c_ast.Node) -> c_ast.Node:
        found = self._resolved(type_)
        if isinstance(found, c_ast.Struct) and not found.decls:
            found = self.structs.get(found.name or "", found)
        if not isinstance(found, c_ast.Struct) or not found.decls:
            raise self._no_member(node, f"has no known member {name!r}")
        for decl in found.decls:
            if isinstance(decl, c_ast.Decl) and decl.name == name:
                if decl.bitsize is not None:
                    raise self._no_member(node, "is a bit field")
                return decl.type
        raise self._no_member(node, f"has no member {name!r}")

    def _no_member(self, node: c_ast.Node, what: str) -> Exception:
        msg = f"this {what}"
        hint = "members of structs that the file defines are taken"
        return self.locator.error(UnsupportedError, node, msg, hint=hint)


def replaced(node: c_ast.Node, changed: Mapping[str, c_ast.Node]) -> c_ast.Node:
    """A node with some children exchanged, by the names that ``children()`` gives them."""
    result = copy.copy(node)
    for name, new in changed.items():
        slot, bracket, rest = name.partition("[")
        if bracket:
            items: list[c_ast.Node] = list(getattr(result, slot))
            items[int(rest.removesuffix("]"))] = new
            setattr(result, slot, items)
        else:
            setattr(result, slot, new)
    return result


def _has_deref(node: c_ast.Node) -> bool:
    return any(isinstance(n, c_ast.UnaryOp) and n.op == "*" for n in nodes(node))


def _subscripted(
    base: c_ast.Node, subscripts: Iterable[c_ast.Node], node: c_ast.Node
) -> c_ast.Node:
    for subscript in subscripts:
        base = c_ast.ArrayRef(base, subscript, node.coord)
    return base


def structs_of(tree: c_ast.FileAST) -> dict[str, c_ast.Struct]:
    """The structs that a file defines by a tag."""
    return {
        node.name: node
        for node in nodes(tree)
        if isinstance(node, c_ast.Struct) and node.decls and node.name
    }
