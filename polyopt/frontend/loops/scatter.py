"""Scatter: writes to elements that data choose, ``count[key[i]] += 1``.

Such a statement may write any element that its subscript may name, and keeps the others: it is a
``Block`` that reads and writes all of them (docs/adr/0012). A subscript stays in its array by its
type (``u8`` into 256 elements), by ``min`` and ``max``, or because a call checks the
index array that it comes from (``ir/indices.py``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.errors import NonAffineError
from polyopt.ir.block import Block, If, Store
from polyopt.ir.expr import Affine, Cast, Load, RangeHint, index_of, rewrite
from polyopt.ir.index_bounds import index_bounds
from polyopt.ir.indices import index_arrays
from polyopt.ir.scop import spread_over
from polyopt.isl import affine_constant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.ir.expr import Expr
    from polyopt.ir.scop import Array, Scop, Statement
    from polyopt.isl import PwAff, Set
    from polyopt.source import Span

_HINT = "clamp it, such as min(max(k, 0), n - 1), or let it be an element of an index array"


def scattered(
    array: Array, index: Sequence[Expr], value: Expr, test: Expr | None, domain: Set, span: Span
) -> tuple[tuple[Affine, ...], Block, dict[int, PwAff]]:
    """Subscripts, value and spread of ``array[index] = value`` where a test, if any, holds.

    Raises ``NonAffineError`` where a subscript has no bounds that depend on sizes alone.
    """
    put = Store(tuple(index), value)
    spread: dict[int, PwAff] = {}
    first: list[Affine] = []
    for k, part in enumerate(index):
        if isinstance(part, Affine):
            first.append(part)
            continue
        low, spread[k] = _range(array, k, part, domain, span)
        first.append(index_of(low.insert_domain(domain.get_space())))
    old = Load(
        array.type,
        array.name,
        tuple(spread_over(p, spread[k]) if k in spread else p for k, p in enumerate(first)),
        span,
    )
    body = (put,) if test is None else (If(test, (put,)),)
    return tuple(first), Block(array.type, body, old), spread


def _range(array: Array, axis: int, part: Expr, domain: Set, span: Span) -> tuple[PwAff, PwAff]:
    """``[N] -> { [first] }`` and the number of elements that a subscript may choose from."""
    low, high = index_bounds(part, domain.get_space())
    if isinstance(_bare(part), Load) and (low is None or high is None):
        extent = array.extents[axis]
        return affine_constant(extent.get_domain_space(), 0), extent
    if low is None or high is None:
        raise NonAffineError("where this writes depends on data", span=span, hint=_HINT)
    least, most = (bound.project_domain_on_params() for bound in (low, high))
    one = affine_constant(least.get_domain_space(), 1)
    return least, most.sub(least).add(one)


def _bare(part: Expr) -> Expr:
    while isinstance(part, Cast):
        part = part.operand
    return part


def with_index_checks(scop: Scop) -> Scop:
    """The program with subscripts from index arrays known to be in their arrays.

    Raises ``NonAffineError`` for those that no call can check before it runs.
    """
    always = {(i.array, i.target, i.axis) for i in index_arrays(scop) if i.always}
    arrays = {array.name: array for array in scop.arrays}

    def known(expr: Expr) -> Expr:
        if not isinstance(expr, Load):
            return expr
        index = tuple(
            _within(arrays[expr.array], k, part)
            if isinstance(source := _bare(part), Load) and (source.array, expr.array, k) in always
            else part
            for k, part in enumerate(expr.index)
        )
        return replace(expr, index=index)

    for statement in scop.statements:
        _check(statement, always)
    statements = tuple(replace(s, value=rewrite(s.value, known)) for s in scop.statements)
    return replace(scop, statements=statements)


def _within(array: Array, axis: int, part: Expr) -> RangeHint:
    extent = array.extents[axis]
    zero, one = (affine_constant(extent.get_domain_space(), number) for number in (0, 1))
    return RangeHint(part.type, part, zero, extent.sub(one))


def _check(statement: Statement, always: set[tuple[str, str, int]]) -> None:
    """Refuse writes with subscripts of which nothing is known."""
    if not isinstance(statement.value, Block):
        return
    put = statement.value.body[0]
    put = put.then[0] if isinstance(put, If) else put
    assert isinstance(put, Store)
    for k, part in enumerate(put.index):
        source = _bare(part)
        if not isinstance(source, Load) or (source.array, statement.array, k) in always:
            continue
        if any(bound is None for bound in index_bounds(part, statement.space)):
            msg = f"where this writes depends on data: not all of {source.array!r} can be checked"
            hint = (
                f"let every element of {source.array!r} be used, and nothing else decide; or clamp"
            )
            raise NonAffineError(msg, span=statement.span, hint=hint)
