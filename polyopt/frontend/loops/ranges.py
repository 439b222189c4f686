"""``range(...)`` as a loop: affine bounds and a constant step of either sign."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.errors import NonAffineError, UnsupportedError
from polyopt.frontend.located import located
from polyopt.frontend.loops.scope import Known
from polyopt.frontend.values import index_form, need_form
from polyopt.isl import (
    PwAff,
    Set,
    affine_constant,
    affine_var,
    constant_value,
    dim_type,
    lift_form,
)

if TYPE_CHECKING:
    from polyopt.frontend.loops.expressions import Expressions


@dataclass(frozen=True, eq=False)
class Range:
    """From ``first`` in steps of ``step`` up (or down) to before ``stop``."""

    #: { [i] -> [value] } over the loops around
    first: PwAff
    stop: PwAff
    step: int


def read_range(node: ast.expr, read: Expressions) -> Range:
    """The bounds of ``range(...)`` or ``reversed(range(...))``.

    Raises ``NonAffineError`` or ``UnsupportedError``.
    """
    function = None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
        target = read.operand(node.func)
        function = target.value if isinstance(target, Known) else None
    if not isinstance(node, ast.Call) or function not in {range, reversed} or node.keywords:
        raise UnsupportedError(
            "loops run over range(...)",
            span=read.span(node),
            hint="write `for y in range(H):` and use y as a subscript",
        )
    if function is reversed:
        return _reversed(read_range(node.args[0], read), node, read)
    if not 1 <= len(node.args) <= 3:
        raise UnsupportedError("range takes one to three arguments", span=read.span(node))
    zero = affine_constant(read.scope.space, 0)
    bounds = [_bound(arg, read) for arg in node.args[:2]]
    first, stop = (zero, bounds[0]) if len(bounds) == 1 else bounds
    step = _step(node.args[2], read) if len(node.args) == 3 else 1
    return Range(first, stop, step)


def _bound(node: ast.expr, read: Expressions) -> PwAff:
    value = read.value(node)
    with located(lambda: read.span(node)):
        return need_form(value, read.scope.space, "this loop bound")


def _step(node: ast.expr, read: Expressions) -> int:
    value = read.value(node)
    form = index_form(value, read.scope.space)
    number = None if form is None else constant_value(form)
    if not number:
        raise NonAffineError(
            "the step of a loop has to be a constant other than 0", span=read.span(node)
        )
    return number


def _reversed(bounds: Range, node: ast.expr, read: Expressions) -> Range:
    if abs(bounds.step) != 1:
        raise UnsupportedError(
            "reversed() is taken of ranges with step 1 only",
            span=read.span(node),
            hint="write the descending range out: range(last, first - 1, -step)",
        )
    step = affine_constant(read.scope.space, bounds.step)
    return Range(bounds.stop.sub(step), bounds.first.sub(step), -bounds.step)


def loop_domain(outer: Set, iterator: str, bounds: Range | PwAff) -> Set:
    """``{ [i, j] : i in outer and j in the range }``.

    A ``PwAff`` is an extent over the parameters: from 0 to before it.
    """
    position = outer.dim(dim_type.set)
    if isinstance(bounds, PwAff):
        space = outer.get_space()
        bounds = Range(affine_constant(space, 0), bounds.insert_domain(space), 1)
    domain = outer.add_dims(dim_type.set, 1).set_dim_name(dim_type.set, position, iterator)
    space = domain.get_space()
    value = affine_var(space, position)
    first, stop = lift_form(bounds.first, space), lift_form(bounds.stop, space)
    if bounds.step > 0:
        domain = domain.intersect(value.ge_set(first)).intersect(value.lt_set(stop))
    else:
        domain = domain.intersect(value.le_set(first)).intersect(value.gt_set(stop))
    if abs(bounds.step) == 1:
        return domain
    stride = affine_constant(space, abs(bounds.step))
    gap = value.sub(first)
    whole = gap.div(stride).floor().mul(stride)
    return domain.intersect(gap.eq_set(whole))
