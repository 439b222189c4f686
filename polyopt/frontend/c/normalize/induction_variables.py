"""Which scalars of a function or region induction variable substitution is for, and its result.

Those are integers that subscripts, bounds or conditions are made of and that statements step or
set several times, and iterators that are used outside of their loops.
"""

# The parser's trees are made of parts that have no types.
# pyright: basic, reportAttributeAccessIssue=false, reportArgumentType=false

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.errors import UserError
from polyopt.frontend.c.normalize.closed_forms import Integer, number_of
from polyopt.frontend.c.normalize.delinearize import unfolded
from polyopt.frontend.c.normalize.induction import Substitution, Unknown
from polyopt.frontend.c.syntax.desugar import stepped_name
from polyopt.frontend.c.syntax.liveness import address_taken
from polyopt.frontend.c.syntax.nodes import base_of
from polyopt.frontend.c.syntax.usage import (
    iterator_of,
    names_in,
    nodes,
    usage_of,
    written_name,
    written_names,
)
from polyopt.ir.types import I32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from polyopt.frontend.c.lower.ctypes import Types
    from polyopt.frontend.c.syntax.usage import Usage

_STEPS = {"p++", "++", "p--", "--"}


@dataclass(frozen=True, eq=False)
class Outer:
    """A variable that is declared around the items, and what its value is for outside of them."""

    decl: c_ast.Decl
    #: whether its value before them may be read in them, and the one after them outside
    live_in: bool
    live_out: bool
    #: makes a loop over it one over another name
    own: Callable[[c_ast.For, c_ast.Decl, str], c_ast.For]


@dataclass(eq=False)
class Inductions:
    """Items without the induction variables whose values are known, and why others stay."""

    items: list[c_ast.Node]
    visible: Mapping[str, c_ast.Decl]
    types: Types
    outer: Mapping[str, Outer]
    #: names that nothing may get anew
    taken: set[str] = field(default_factory=set[str])
    reasons: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        if any(isinstance(n, (c_ast.Goto, c_ast.Label)) for i in self.items for n in nodes(i)):
            return
        tried: set[str] = set()
        while (name := next((n for n in self._candidates() if n not in tried), None)) is not None:
            tried.add(name)
            if self._substitute(name):
                tried -= self.reasons.keys()  # what was made of it may be known now
                self.reasons.clear()

    # -- which ones --------------------------------------------------------------------------
    def _candidates(self) -> list[str]:
        everything = [node for item in self.items for node in nodes(item)]
        written = sorted(written_names(self.items))
        if not written:
            return []
        usage = usage_of(self.items)
        self._usage = usage
        self._decls = _declarations(self.items, self.visible)
        return [
            name
            for name in written
            if self._is_own(name) and self._is_wanted(name, usage, everything)
        ]

    def _is_own(self, name: str) -> bool:
        """Whether a variable is an integer of the items' own, of which all uses are seen."""
        inside, around = self._decls.get(name, _NOWHERE).own, self.outer.get(name)
        decls = [*inside, *([around.decl] if around is not None else [])]
        if len(decls) != 1 or self._decls[name].heads or (inside and name in self.visible):
            return False
        if set(decls[0].storage or []) - {"register", "auto"}:
            return False
        kind = self._integer(name)
        if kind is None or kind.scalar.bits < I32.bits:
            return False
        return not any(address_taken(item, name) for item in self.items)

    def _is_wanted(self, name: str, usage: Usage, everything: list[c_ast.Node]) -> bool:
        going_on = any(
            isinstance(n, c_ast.For) and n.init is None and stepped_name(n) == name
            for n in everything
        )
        if going_on:
            return True
        if name in usage.iterated:
            lives = name in self.outer and self.outer[name].live_out
            return lives or any(_is_used_outside(item, name) for item in self.items)
        steps = [n for n in everything if written_name(n) == name and _is_scalar(n)]
        # what is declared around the items may have a value from there
        inits = sum(decl.init is not None for decl in self._decls[name].own) or name in self.outer
        moved = any(_moves(n, name) for n in steps)
        if not moved and len(steps) + inits < _SEVERAL:
            return False
        within = {id(n) for item in everything for n in _effects(item)}
        return name in usage.affine or any(id(n) in within for n in steps)

    # -- what they become --------------------------------------------------------------------
    def _substitute(self, name: str) -> bool:
        outer, kind = self.outer.get(name), self._integer(name)
        assert kind is not None
        walk = Substitution(name, kind, self._integer, self._kind, self._is_fixed, self._fresh)
        if outer is not None and (outer.live_in or outer.live_out):
            over, own = self._fresh(name), outer
            walk.own = lambda loop: own.own(loop, own.decl, over)
        if outer is not None and outer.live_in:
            walk.value = walk.forms.leaf(c_ast.ID(name))
        try:
            items = [made for item in self.items for made in walk.statement(item)]
            if outer is not None and outer.live_out:
                if outer.live_in:
                    return self._stays(name, "its value before the region is used, and after it")
                target = c_ast.ID(name, items[-1].coord)
                items.append(c_ast.Assignment("=", target, walk.last(target.coord), target.coord))
        except Unknown as error:
            return self._stays(name, str(error))
        used = {n for item in items for n in names_in(item)}
        for gone in {name, *walk.names} - used:
            items = [kept for item in items for kept in _without(item, gone)]
        if not self._are_subscripts_known(items):
            return self._stays(name, "its value has a product of variables")
        self.items = items
        return True

    def _are_subscripts_known(self, items: list[c_ast.Node]) -> bool:
        """Whether products of variables in new subscripts are those of folded arrays.

        ``a[i * m + j]`` is an array of rows, unless it is declared with so many elements.
        ``a[first + i * step]`` is none: data decide then.
        """
        made = list(_products(items))
        if len(made) <= len(list(_products(self.items))):
            return True
        before, old, _ = unfolded(self.items, self.visible, self.types)
        after, new, _ = unfolded(items, self.visible, self.types)
        if len(list(_products(after))) > len(list(_products(before))):
            return False
        iterated = usage_of(items).iterated
        inner: dict[str, set[str]] = {array: set() for array in new.keys() - old.keys()}
        for node in (n for item in after for n in nodes(item)):
            if isinstance(node, c_ast.ArrayRef) and isinstance(node.name, c_ast.ArrayRef):
                inner.setdefault(base_of(node), set()).update(names_in(node.subscript))
        return all(
            inner[array]
            and inner[array] <= iterated
            and number_of(getattr(self.visible[array].type, "dim", None)) is None
            for array in new.keys() - old.keys()
        )

    def _fresh(self, name: str) -> str:
        """A name made from another that nothing has yet."""
        used = {*self._decls, *(n for item in self.items for n in names_in(item)), *self.taken}
        found = next(n for k in count(1) if (n := f"{name}_{k}") not in used)
        self.taken.add(found)
        return found

    def _stays(self, name: str, reason: str) -> bool:
        self.reasons[name] = reason
        return False

    def _is_fixed(self, name: str) -> bool:
        """Whether a name stands for the same value wherever it means anything."""
        found = self._decls.get(name)
        if found is None or found.heads or len(found.own) + (name in self.visible) != 1:
            return False
        if name in self._usage.assigned or name in self._usage.iterated:
            return False
        return not any(decl.init is None for decl in found.own)

    def _integer(self, name: str) -> Integer | None:
        """The type of a name outside of the loops whose headers declare it, if there is one."""
        found = self._decls.get(name, _NOWHERE)
        around = [self.visible[name]] if name in self.visible else []
        decls = [*found.own, *around]
        if len(decls) > 1:
            return None
        kinds = [self._kind(decl) for decl in (decls or found.heads)]
        first = kinds[0] if kinds else None
        if first is None or any(k is None or k.scalar != first.scalar for k in kinds):
            return None
        return first

    def _kind(self, decl: c_ast.Decl) -> Integer | None:
        if not isinstance(decl.type, c_ast.TypeDecl):
            return None
        if {"volatile", "_Atomic"} & {*(decl.quals or []), *(decl.type.quals or [])}:
            return None
        try:
            scalar = self.types.of(decl.type).scalar
        except UserError:
            return None
        if scalar is None or scalar.kind not in {"int", "uint"}:
            return None
        return Integer(scalar, c_ast.TypeDecl(None, [], None, decl.type.type, decl.coord))


#: from so many values on, a variable is more than a name for one
_SEVERAL = 2


@dataclass(eq=False)
class _Declared:
    """Where the items declare a name: as a variable, or in the header of a loop."""

    own: list[c_ast.Decl] = field(default_factory=list[c_ast.Decl])
    heads: list[c_ast.Decl] = field(default_factory=list[c_ast.Decl])


_NOWHERE = _Declared()


def _declarations(
    items: Sequence[c_ast.Node], visible: Mapping[str, c_ast.Decl]
) -> dict[str, _Declared]:
    result: dict[str, _Declared] = {name: _Declared() for name in visible}
    heads: set[int] = set()
    for item in items:
        for node in nodes(item):
            if isinstance(node, c_ast.For) and isinstance(node.init, c_ast.DeclList):
                heads |= {id(decl) for decl in node.init.decls}
            if isinstance(node, c_ast.Decl) and node.name:
                found = result.setdefault(node.name, _Declared())
                (found.heads if id(node) in heads else found.own).append(node)
    return result


def _products(items: Sequence[c_ast.Node]) -> Iterator[c_ast.Node]:
    """The operations of subscripts, headers and conditions that are not affine by their form."""
    for item in items:
        for node in nodes(item):
            parts: list[c_ast.Node | None] = []
            match node:
                case c_ast.ArrayRef():
                    parts = [node.subscript]
                case c_ast.For():
                    parts = [node.init, node.cond]
                case c_ast.If():
                    parts = [node.cond]
                case _:
                    pass
            for one in (n for part in parts for n in nodes(part)):
                if isinstance(one, c_ast.BinaryOp) and one.op in {"*", "/", "%"}:
                    moving = names_in(one.left) or one.op != "*"
                    if moving and names_in(one.right):
                        yield one


def _is_used_outside(node: c_ast.Node, name: str) -> bool:
    """Whether a name occurs outside of the loops that it is the iterator of."""
    if isinstance(node, c_ast.ID):
        return node.name == name
    if isinstance(node, c_ast.For) and iterator_of(node) == name:
        return isinstance(node.init, c_ast.Assignment) and _is_used_outside(node.init.rvalue, name)
    return any(_is_used_outside(child, name) for _, child in node.children())


def _is_scalar(node: c_ast.Node) -> bool:
    target = node.lvalue if isinstance(node, c_ast.Assignment) else node.expr
    return isinstance(target, c_ast.ID)


def _moves(node: c_ast.Node, name: str) -> bool:
    """Whether an assignment makes a variable's value from the one before."""
    if not isinstance(node, c_ast.Assignment):
        return True
    return node.op != "=" or name in names_in(node.rvalue)


def _effects(node: c_ast.Node) -> list[c_ast.Node]:
    """The steps within a subscript."""
    if not isinstance(node, c_ast.ArrayRef):
        return []
    return [n for n in nodes(node.subscript) if isinstance(n, c_ast.UnaryOp) and n.op in _STEPS]


def _without(node: c_ast.Node, name: str) -> list[c_ast.Node]:
    """A statement without the declaration of a variable that nothing uses any more."""
    if isinstance(node, c_ast.Decl) and node.name == name:
        return []
    if isinstance(node, c_ast.Compound):
        items = [kept for item in node.block_items or [] for kept in _without(item, name)]
        return [c_ast.Compound(items, node.coord)]
    for place in ("stmt", "iftrue", "iffalse"):
        child = getattr(node, place, None)
        if isinstance(child, c_ast.Node) and any(
            isinstance(n, c_ast.Decl) and n.name == name for n in nodes(child)
        ):
            (made,) = _without(child, name)
            setattr(node, place, made)
    return [node]
