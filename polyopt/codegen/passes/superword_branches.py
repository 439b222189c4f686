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
    Scalar,
    Simd,
    unscoped,
    with_loops,
)
from polyopt.codegen.ast.visit import base_of, elements_in, substitute
from polyopt.codegen.passes.strip_mine import StripMinedLoop, past_of, span_of
from polyopt.ir.types import I32, I64

if TYPE_CHECKING:
    from polyopt.codegen.ast.expr import Expr

#: iterations that are tested at once: some vectors of the narrowest machine and the widest type
STRIP = 64


def superword_branches(function: Function) -> Function:
    """The function with searches that test strips of whole vectors at once."""
    tasks = tuple(replace(task, body=with_loops(task.body, _in_strips)) for task in function.tasks)
    return replace(function, body=with_loops(function.body, _in_strips), tasks=tasks)


def _in_strips(loop: For) -> For | None:
    """A search as strips; ``None`` where the loop is none, or too short for one."""
    past, span = past_of(loop), span_of(loop)
    if not (loop.is_sequential or isinstance(loop.kind, Scalar)) or loop.step != 1 or past is None:
        return None
    if span is not None and span < STRIP:
        return None
    condition = _condition(loop)
    if condition is None:
        return None
    start, end = (Symbol(f"{loop.iterator.hint}_{name}", I64) for name in ("strip", "end"))
    strips = StripMinedLoop(loop, STRIP, start, end, past)
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
        for local in (*part.locals, *((_own(part),) if _is_own(part, own) else ())):
            if local.value.symbols & (changed | late):
                late.add(local.symbol)
            else:
                known[Var(local.symbol)] = substitute(local.value, known)
        if _is_own(part, own):
            continue
        match part.value:
            case Select(test=read, no=no) if no == part.target:
                test = substitute(read, known)
            case _:
                return None
        if part.target.symbol in changed or read.symbols & (changed | late):
            return None
        if test.symbols & own or condition not in {None, test}:
            return None
        condition = test
        changed.add(part.target.symbol)
    if condition is None or not _compares(condition, changed, loop.iterator):
        return None
    return condition


def _is_own(assign: Assign, own: set[Symbol]) -> bool:
    return assign.declares or base_of(assign.target) in own


def _own(assign: Assign) -> Local:
    symbol = base_of(assign.target)
    assert symbol is not None
    return Local(symbol, assign.value)


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
