"""Accumulator expansion: a SIMD reduction adds up four parts of its row at once.

rewrite: ``simd reduction(+ : s) for (j = 0; j < m; j++) s = s + a[j];`` ->

    if (m >= 128) {
        double s2 = 0, s3 = 0, s4 = 0;
        simd reduction(+ : s) ... reduction(+ : s4) for (j = 0; j < m / 4; j++) {
            s = s + a[j];
            s2 = s2 + a[j + m / 4];
            s3 = s3 + a[j + m / 4 * 2];
            s4 = s4 + a[j + m / 4 * 3];
        }
        s = s + s2;
        s = s + s3;
        s = s + s4;
        simd reduction(+ : s) for (j = m / 4 * 4; j < m; j++) s = s + a[j];
    } else {
        simd reduction(+ : s) for (j = 0; j < m; j++) s = s + a[j];
    }

Each addition waits for the one before, 3 or 4 cycles; processors begin two a cycle.

*Requires* a loop from 0 in steps of 1 over nothing but reductions of little work, whose order is
free (``transform/annotations/reassociate.py``). *Does not handle* calls of functions, which take
longer than an addition waits, rows in several pieces, and extremes: they do as much as they wait,
and four places at once are more than what fetches memory ahead follows in a row of its own length.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import (
    Binary,
    Call,
    Const,
    Select,
    Symbol,
    Var,
    number,
    number_of,
    product,
    scalar,
)
from polyopt.codegen.ast.nodes import Assign, Block, If, Simd
from polyopt.codegen.ast.visit import walk
from polyopt.codegen.passes.scalar_replacement import with_known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.codegen.ast.expr import Expr
    from polyopt.codegen.ast.nodes import For, Node
    from polyopt.ir.types import ScalarType

#: parts: an addition takes 3 or 4 cycles, and there is a load or two for each
PARTS = 4
#: iterations from which the further parts are worth their start and end: eight vectors of each
LEAST = 128
#: operations of an iteration, beyond which the additions are not what it waits for
MOST_OPERATIONS = 12
#: operations that are done in parts, and what changes no result of theirs
STARTS = {"+": 0.0, "*": 1.0}
#: sums of a loop: each takes a register for each part
MOST_SUMS = 2


def expanded(loop: For) -> tuple[Node, ...]:
    """The loop, or what does the same in parts."""
    end = _end(loop)
    if end is None or not isinstance(loop.kind, Simd) or not _is_light(loop):
        return (loop,)
    part = Binary("/", end, number(PARTS))
    bodies = [loop.body]
    starts: list[Assign] = []
    joins: list[Assign] = []
    sums = list(loop.kind.sums)
    for k in range(1, PARTS):
        there = Binary("+", Var(loop.iterator), product((part, number(k)) if k > 1 else (part,)))
        known: dict[Expr, Expr] = {Var(loop.iterator): there}
        for operation, local in loop.kind.sums:
            own = Symbol(local.hint, local.type)
            known[Var(local)] = Var(own)
            sums.append((operation, own))
            start = _start(operation, scalar(local.type))
            starts.append(Assign(Var(own), start, declares=True))
            joins.append(Assign(Var(local), Binary(operation, Var(local), Var(own))))
        bodies.append(with_known(loop.body, known))
    apart = any(isinstance(n, Assign) and n.locals for n in loop.body.body)
    at_once = replace(
        loop,
        condition=Binary("<", Var(loop.iterator), part),
        body=Block(tuple(replace(body, scoped=apart) for body in bodies)),
        kind=replace(loop.kind, sums=tuple(sums)),
    )
    rest = replace(loop, start=product((part, number(PARTS))))
    then = Block((*starts, at_once, *joins, rest), scoped=True)
    return (If(Binary(">=", end, number(LEAST)), then, Block((loop,))),)


def _start(operation: str, of: ScalarType) -> Expr:
    value = STARTS[operation]
    return Const(value if of.is_float else int(value), of)


def _end(loop: For) -> Expr | None:
    """The number of iterations of a loop from 0 on; ``None`` for others."""
    test = loop.condition
    if number_of(loop.start) != 0 or loop.step != 1 or loop.private:
        return None
    if not isinstance(test, Binary) or test.sign != "<" or test.left != Var(loop.iterator):
        return None
    return None if number_of(test.right) is not None else test.right


def _is_light(loop: For) -> bool:
    """Whether a loop has nothing but reductions, which wait for each other."""
    assert isinstance(loop.kind, Simd)
    sums = {local for operation, local in loop.kind.sums if operation in STARTS}
    if len(sums) < len(loop.kind.sums):
        return False
    if loop.kind.width or loop.body.buffers or not 0 < len(sums) <= MOST_SUMS:
        return False
    operations = 0
    for node in loop.body.body:
        if not isinstance(node, Assign) or node.declares or node.buffer not in sums:
            return False
        parts = [part for value in node.values for part in walk(value)]
        if any(isinstance(part, Call) for part in parts):
            return False
        operations += sum(isinstance(part, Binary | Select) for part in parts)
    return operations <= MOST_OPERATIONS


def adds_parts(sources: Sequence[str]) -> bool:
    """Whether words of C join sums of parts: ``s = s + s2;``, both of them of lanes."""
    lanes = {
        sources[k + 4]
        for k in range(len(sources) - 5)
        if tuple(sources[k : k + 2]) == ("reduction", "(") and sources[k + 3] == ":"
    }
    for k in range(len(sources) - 5):
        target, equals, one, sign, other, end = sources[k : k + 6]
        joins = (equals, end) == ("=", ";") and sign in {"+", "*"} and target == one
        if joins and {target, other} <= lanes:
            return True
    return False
