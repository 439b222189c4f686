"""Find-last reductions: the number of the last iteration that meets a condition, as a maximum.

rewrite: ``j = c ? i : j`` -> ``j = max(j, c ? i : INT_MIN)``

What came first is less: so the last is the greatest, and a maximum may be taken in any order, by
lanes and by threads. Numbers that fall become a minimum. *Requires* integers that all writers of
the element give by affine forms, in this order for all sizes (checked as relations), of an array
that the caller does not fill, and a condition on nothing that the loop computes. (LLVM knows it as
``FindLastIV``.)
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.errors import NotDecidedError
from polyopt.ir import build
from polyopt.ir.expr import Affine, Const, Select, loads
from polyopt.ir.types import I64
from polyopt.isl import Map, UnionMap, affine_constant, budget, dim_type

if TYPE_CHECKING:
    from polyopt.ir.expr import Expr
    from polyopt.ir.scop import Scop, Statement
    from polyopt.isl import PwAff

#: isl operations that a program may take: what is not decided by then stays as it is
OPERATIONS = 200_000
#: of two numbers, the later one is ...: isl's name of the opposite
_OPPOSITE = {"max": "gt", "min": "lt"}


def with_find_last(scop: Scop, *, wraps: bool) -> Scop:
    """The program with selections of the last iteration as maxima or minima, where they are.

    ``wraps`` says that numbers of iterations may leave types of less than 64 bits: in C no
    program's do.
    """
    chosen = [s for s in scop.statements if _is_chosen(s, wraps=wraps)]
    made: list[Statement] = []
    with suppress(NotDecidedError), budget(OPERATIONS, "find-last reductions"):
        made += [s for one in chosen if (s := _reduced(scop, one)) is not None]
    return scop.with_statements(*made)


def _is_chosen(statement: Statement, *, wraps: bool) -> bool:
    """Whether a statement keeps its element or sets it, once and again in its innermost loop."""
    value, inner = statement.value, len(statement.iterators) - 1
    if not isinstance(value, Select) or statement.spread or inner < 0:
        return False
    if not value.type.is_integer or (wraps and value.type != I64):
        return False
    moves = any(part.form.involves_dims(dim_type.in_, inner, 1) for part in statement.index)
    return not moves and _number(statement) is not None


def _number(statement: Statement) -> PwAff | None:
    """``{ S[i] -> [number] }``: what a statement writes where it changes its element; ``None`` for
    what is not affine."""
    value = statement.value
    if isinstance(value, Select):
        keeps = [statement.is_target(side) for side in (value.then, value.other)]
        if sum(keeps) != 1:
            return None
        value = value.other if keeps[0] else value.then
    if isinstance(value, Affine):
        return value.form
    if isinstance(value, Const) and value.type.is_integer:
        return affine_constant(statement.space, int(value.value))
    return None


def _reduced(scop: Scop, statement: Statement) -> Statement | None:
    value = statement.value
    assert isinstance(value, Select)
    carried = scop.written_around(statement.name)  # the place of the greatest so far, say
    if scop.array(statement.array).is_live_in or any(x.array in carried for x in loads(value.cond)):
        return None
    op = next((op for op in _OPPOSITE if _is_last(scop, statement, op)), None)
    if op is None:
        return None
    lowest: Expr = build.identity(op, value.type)
    sides = (lowest, value.other) if statement.is_target(value.then) else (value.then, lowest)
    own = value.then if statement.is_target(value.then) else value.other
    return replace(statement, value=build.binary(op, own, build.select(value.cond, *sides)))


def _is_last(scop: Scop, statement: Statement, op: str) -> bool:
    """Whether no number that an element got before is beyond the one that it gets."""
    number = _number(statement)
    assert number is not None
    here = _numbers(statement, number)
    for other in scop.statements:
        if other.array != statement.array:
            continue
        before = _number(other)
        if before is None or other.spread:
            return False
        element = other.write.relation.apply_range(statement.write.relation.reverse())
        beyond = getattr(Map, f"lex_{_OPPOSITE[op]}")(here.get_space().range())
        wrong = _numbers(other, before).apply_range(beyond).apply_range(here.reverse())
        pairs = UnionMap.from_map(wrong.intersect(element)).intersect_params(scop.context)
        times = scop.schedule
        earlier = times.intersect_domain(pairs.domain()).lex_lt_union_map(
            times.intersect_domain(pairs.range())
        )
        if not pairs.intersect(earlier).is_empty():
            return False
    return True


def _numbers(statement: Statement, form: PwAff) -> Map:
    """``{ S[i] -> [number] }`` for the instances that there are."""
    return Map.from_pw_aff(form).intersect_domain(statement.domain)
