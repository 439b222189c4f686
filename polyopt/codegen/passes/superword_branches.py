"""Branches on superword conditions (BOSCC): a search that seldom finds more tests whole vectors.

rewrite: ``for (j) { c = best < a[j]; best = c ? a[j] : best; index = c ? j : index; }`` -> for
every whole strip of ``j``

    int32_t changes = 0;
    simd for (j) changes = changes | best < a[j];
    if (changes) for (j) { c = best < a[j]; best = c ? a[j] : best; index = c ? j : index; }

Each iteration of an argmax waits for the one before, and nearly none of them changes anything. As
long as none does, the test of each reads what the strip began with: where none holds for that, the
strip is left out (J. Shin, M. Hall and J. Chame, "Evaluating compiler technology for control-flow
optimizations for multimedia extension architectures", 2009).

*Requires* a sequential loop of assignments to variables, each of which keeps its value where one
and the same comparison with one of them is false, and elements that the loop does not write.

*Does not handle* conditions by data alone, which may hold for every element, and arithmetic on what
the loop changes, which may overflow for a value that has been replaced.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Binary, Select, Symbol, Var, number
from polyopt.codegen.ast.nodes import (
    Assign,
    Block,
    For,
    Function,
    If,
    Local,
    Simd,
    unscoped,
    with_loops,
)
from polyopt.codegen.ast.visit import elements_in, substitute
from polyopt.codegen.passes.strip_mine import sequential_strips
from polyopt.ir.types import I32

if TYPE_CHECKING:
    from polyopt.codegen.ast.expr import Expr

#: iterations that are tested at once: some vectors of the narrowest machine and the widest type
STRIP = 64


def superword_branches(function: Function) -> Function:
    """The function with searches that test strips of whole vectors at once."""
    return function.with_bodies(lambda body: with_loops(body, _in_strips))


def _in_strips(loop: For) -> For | None:
    """A search as strips; ``None`` where the loop is none, or too short for one."""
    strips = sequential_strips(loop, STRIP, STRIP)
    condition = None if strips is None else _condition(loop)
    if strips is None or condition is None:
        return None
    changes = Symbol("changes", I32)
    # a strip at the end that is none of whole vectors runs as it is
    known = Assign(Var(changes), Binary("!=", strips.count, number(STRIP)), declares=True)
    either = Assign(Var(changes), Binary("|", Var(changes), condition))
    tested = replace(strips.vector(either), kind=Simd(sums=(("|", changes),)))
    whole = If(Binary("==", strips.count, number(STRIP)), Block((tested,)))
    searched = strips.vector(*loop.body.body)
    searched = replace(searched, body=replace(searched.body, buffers=loop.body.buffers))
    kept = If(Binary("!=", Var(changes), number(0)), Block((searched,)))
    return strips.around(known, whole, kept, buffers=())


def _condition(loop: For) -> Expr | None:
    """The comparison without which an iteration changes nothing, by what it began with."""
    own = {buffer.symbol for buffer in loop.body.buffers}
    #: variables of the iteration, as made of what it began with
    known: dict[Expr, Expr] = {}
    #: what later iterations read, and what was made of that since it changed
    changed, late = set[Symbol](), set[Symbol]()
    condition: Expr | None = None
    for part in (part for node in loop.body.body for part in unscoped(node)):
        if not isinstance(part, Assign) or not isinstance(part.target, Var):
            return None
        target = part.target.symbol
        is_own = part.declares or target in own
        for local in (*part.locals, Local(target, part.value)) if is_own else part.locals:
            if local.value.symbols & (changed | late):
                late.add(local.symbol)
            else:
                known[Var(local.symbol)] = substitute(local.value, known)
        if is_own:
            continue
        match part.value:
            case Select(test=read, no=no) if no == part.target:
                test = substitute(read, known)
            case _:
                return None
        if target in changed or read.symbols & (changed | late):
            return None
        if test.symbols & own or condition not in {None, test}:
            return None
        condition = test
        changed.add(target)
    if condition is None or not _compares(condition, changed, loop.iterator):
        return None
    return condition


def _compares(condition: Expr, changed: set[Symbol], iterator: Symbol) -> bool:
    """Whether it compares what the loop changes with an element of each iteration."""
    loaded = {symbol for element in elements_in(condition) for symbol in element.symbols}
    return (
        bool(changed & condition.symbols)
        and iterator in loaded
        and not changed & loaded
        and _is_safe(condition, changed)
    )


def _is_safe(condition: Expr, changed: set[Symbol]) -> bool:
    """Whether it is defined also for a value that has been replaced."""
    match condition:
        case Binary(sign="<" | "<=" | ">" | ">=", left=left, right=right):
            return all(isinstance(s, Var) or not s.symbols & changed for s in (left, right))
        case _:
            return False
