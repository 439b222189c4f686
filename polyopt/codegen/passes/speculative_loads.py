"""Speculative loads: what a choice by data loads is loaded before the choice, in vector loops.

rewrite: ``out[x] = m[x] > 0 ? a[x + 1] : b[x];`` ->
``v1 = a[x + 1]; v2 = b[x]; out[x] = m[x] > 0 ? v1 : v2;``

A compiler that does not know that an element may be read keeps a branch around the load, or a load
under a mask, where the target has one for its type: without, the loop is no vectors. We know: reads
are shown to stay in their arrays whatever the data are. A test of iterators and sizes may be what
keeps a read inside, so what stands under one stays there, and so do subscripts that data decide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Binary, Index, Select, Symbol, Var
from polyopt.codegen.ast.nodes import (
    Assign,
    Block,
    For,
    Local,
    Node,
    Simd,
    as_block,
    assigns_in,
    rebuilt,
)
from polyopt.codegen.ast.subscripts import coefficient
from polyopt.codegen.ast.visit import is_element, substitute, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.codegen.ast.expr import Expr


def speculative_loads(block: Block, sizes: frozenset[Symbol], arrays: frozenset[Symbol]) -> Block:
    """The block with loads before the choices that they stand in. ``arrays`` are the arrays,
    buffers and scalars of the program, and ``sizes`` its sizes."""
    known = {a.declared: a.value for a in assigns_in(block) if a.declared and a.constant}
    known |= {local.symbol: local.value for a in assigns_in(block) for local in a.locals}
    return as_block(_Speculation(arrays, known, sizes).node(block))


@dataclass(frozen=True)
class _Speculation:
    arrays: frozenset[Symbol]
    #: what constants of the function are
    known: Mapping[Symbol, Expr]
    #: sizes, and iterators of the loops around
    numbers: frozenset[Symbol]
    #: the iterator of the vector loop around
    lane: Symbol | None = None
    #: scalars that this loop assigns
    assigned: frozenset[Symbol] = frozenset()

    def node(self, node: Node) -> Node:
        """A node with its loads, where it is in a vector loop, before its choices."""
        if isinstance(node, Assign):
            return node if self.lane is None else self._assign(node)
        if not isinstance(node, For):
            return rebuilt(node, self.node)
        inside = replace(self, numbers=self.numbers | {node.iterator})
        if isinstance(node.kind, Simd):
            targets = [a.target for a in assigns_in(node.body)]
            scalars = frozenset(t.symbol for t in targets if isinstance(t, Var))
            inside = replace(inside, lane=node.iterator, assigned=scalars)
        return rebuilt(node, inside.node)

    def _assign(self, node: Assign) -> Assign:
        before: list[Local] = []
        loaded: dict[Expr, Expr] = {}
        always = {e for value in node.values for e in self._loads(value, chosen=False)}

        def ahead(value: Expr) -> Expr:
            for load in self._loads(value, chosen=True):
                if load not in loaded and load not in always:
                    made = Symbol("", load.type)
                    loaded[load] = Var(made)
                    before.append(Local(made, load))
            return substitute(value, loaded)

        for local in node.locals:
            value = ahead(local.value)
            before.append(replace(local, value=value))
        value = ahead(node.value)
        return replace(node, value=value, locals=tuple(before)) if loaded else node

    def _loads(self, expr: Expr, *, chosen: bool, under: bool = False) -> Iterator[Expr]:
        """The elements that are loaded whatever comes; with ``chosen`` those that only a choice by
        data loads. ``under`` says that one is around."""
        match expr:
            case Select(test=test):
                guarded = [expr.yes, expr.no]
            case Binary(sign="&&" | "||", left=test, right=right):
                guarded = [right]
            case _:
                if isinstance(expr, Index) and under == chosen and self._may_load(expr):
                    yield expr
                for child in () if is_element(expr) else expr.children:
                    yield from self._loads(child, chosen=chosen, under=under)
                return
        yield from self._loads(test, chosen=chosen, under=under)
        if chosen and self._is_data(test) and self._varies(test):
            for part in guarded:
                yield from self._loads(part, chosen=True, under=True)

    def _is_data(self, test: Expr) -> bool:
        """Whether elements and scalars alone decide a test."""
        if is_element(test):
            return True
        if isinstance(test, Var):
            value = self.known.get(test.symbol)
            return test.symbol in self.arrays if value is None else self._is_data(value)
        return all(map(self._is_data, test.children))

    def _varies(self, test: Expr) -> bool:
        """Whether a test loads, or needs what an iteration computes: it is not the same for all."""
        return any(
            is_element(e) or (isinstance(e, Var) and self._varies_as(e.symbol)) for e in walk(test)
        )

    def _varies_as(self, symbol: Symbol) -> bool:
        if symbol in self.assigned:
            return True
        return symbol in self.known and self._varies(self.known[symbol])

    def _may_load(self, load: Index) -> bool:
        """Whether sizes and iterators alone say which element it is, and iterations load
        neighbours: of elements that are further apart gcc makes groups, some of them wrong."""
        if load.array not in self.arrays or not all(map(self._is_number, load.subscripts)):
            return False
        steps = [coefficient(subscript, self.lane) for subscript in load.subscripts if self.lane]
        return steps[-1:] == [1] and not any(steps[:-1])

    def _is_number(self, expr: Expr) -> bool:
        for part in walk(expr):
            if is_element(part):
                return False
            if isinstance(part, Var) and part.symbol not in self.numbers:
                value = self.known.get(part.symbol)
                if value is None or not self._is_number(value):
                    return False
        return True
