"""Outlining: the body of a loop that threads share becomes a function of its own.

rewrite: ``for (t) { body }`` with ``#pragma omp parallel for`` ->
``for (t) { f_t(H, W, img, out, t); }``, and before it
``static void f_t(int64_t H, int64_t W, const float img[restrict H][W], ..., int64_t t) { body }``

Compilers make such a function of the loop themselves, but theirs gets its arrays through a
structure, where ``restrict`` says nothing any more: each store may then change what is loaded
next. As parameters the arrays stay apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Call, Expr, Index, Run, Symbol, Var
from polyopt.codegen.ast.names import function_name
from polyopt.codegen.ast.nodes import (
    Assign,
    Barrier,
    Block,
    Buffer,
    Do,
    For,
    Function,
    Heap,
    Node,
    Opaque,
    Parallel,
    Parameter,
    Task,
    assigns_in,
    loops_in,
    rebuilt,
    symbols_in,
    walk,
)
from polyopt.ir.types import I32, I64

if TYPE_CHECKING:
    from collections.abc import Mapping


def outline(function: Function) -> Function:
    """The function with a task for every parallel loop that holds loops."""
    known = {p.symbol: p for p in function.arguments}
    known |= {b.symbol: _parameter(b) for b in function.buffers}
    outliner = _Outliner(function.name)
    body = outliner.block(function.body, known)
    return replace(function, body=body, tasks=tuple(outliner.tasks))


@dataclass
class _Outliner:
    """Replaces loop bodies by calls, and collects the functions called."""

    name: str
    tasks: list[Task] = field(default_factory=list[Task])

    def block(self, block: Block, known: Mapping[Symbol, Parameter]) -> Block:
        """``known`` declares, as parameters, what the block may name."""
        known = {**known, **{b.symbol: _parameter(b) for b in block.buffers}}
        body: list[Node] = []
        for node in block.body:
            body.append(self._node(node, known))
            if isinstance(node, Assign) and node.declared is not None:
                known[node.declared] = Parameter(node.declared)
        return replace(block, body=tuple(body))

    def _node(self, node: Node, known: Mapping[Symbol, Parameter]) -> Node:
        match node:
            case Block():
                return self.block(node, known)
            case For():
                inner = {**known, **{i: Parameter(i) for i in _iterators(node)}}
                task = self._task(node, inner) if isinstance(node.kind, Parallel) else None
                return task or replace(node, body=self.block(node.body, inner))
            case _:
                return rebuilt(node, lambda inside: self._node(inside, known))

    def _task(self, loop: For, known: Mapping[Symbol, Parameter]) -> For | None:
        """The loop with a call for its body; ``None`` where the body is better left there."""
        body = loop.shared
        written = {a.buffer for a in assigns_in(body) if isinstance(a.target, Var)}
        if any(map(_is_opaque, walk(body))) or not loops_in(body):
            return None
        if not written.isdisjoint(known):
            return None
        known = {**known, **{b.symbol: _parameter(b) for b in loop.private}}
        used = set(symbols_in(body))
        while more := {s for name in used & known.keys() for s in _extents(known[name])} - used:
            used |= more
        passed = [symbol for symbol in known if symbol in used]
        thread = Call("omp_get_thread_num", (), I32)
        own: dict[Symbol, Expr] = {
            b.symbol: Index(b.space.pool, (thread,))
            for b in loop.private
            if isinstance(b.space, Heap)
        }
        # two loops of one name have a task each
        stem = function_name(f"{self.name}_{loop.iterator.hint}")
        name = Symbol(stem, I64, loop.iterator.origin)
        self.tasks.append(Task(name, tuple(known[symbol] for symbol in passed), body))
        given = tuple(own.get(symbol, Var(symbol)) for symbol in passed)
        return replace(_calling(loop, Do(Run(name, given))), private=())


def _iterators(loop: For) -> tuple[Symbol, ...]:
    """Those of a loop and of what is collapsed with it."""
    inner = loop.collapsed
    return (loop.iterator, *(() if inner is None else _iterators(inner)))


def _calling(loop: For, call: Do) -> For:
    """The loop with a call for what threads share."""
    inner = loop.collapsed
    return replace(loop, body=Block((call if inner is None else _calling(inner, call),)))


def _is_opaque(node: Node) -> bool:
    return isinstance(node, Opaque) or (isinstance(node, Barrier) and not node.memory)


def _extents(parameter: Parameter) -> set[Symbol]:
    """What the extents of a parameter name."""
    return {symbol for extent in parameter.extents or () for symbol in extent.symbols}


def _parameter(buffer: Buffer) -> Parameter:
    """A buffer as a parameter: an array by reference, one element by value."""
    return Parameter(buffer.symbol, buffer.extents or None)
