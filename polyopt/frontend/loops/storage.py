"""Local arrays and scalars of loop functions: what they hold, and one copy per iteration."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import numpy as np

from polyopt.errors import NonAffineError, UnsupportedError
from polyopt.frontend.loops.scope import Known, Shape, View
from polyopt.frontend.values import Number, Value, need_form
from polyopt.ir.scop import Array
from polyopt.ir.types import F64
from polyopt.isl import affine_constant, dim_type

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polyopt.frontend.loops.expressions import Expressions
    from polyopt.frontend.loops.scope import Operand
    from polyopt.ir.types import ScalarType
    from polyopt.isl import PwAff, Set
    from polyopt.source import Span

#: NumPy's functions that make arrays, with what they fill them with.
_MAKERS: dict[object, Number | None] = {
    np.empty: None, np.zeros: Number(0), np.ones: Number(1), np.full: None,
    np.empty_like: None, np.zeros_like: Number(0), np.ones_like: Number(1), np.full_like: None,
}  # fmt: skip
_LIKE = {np.empty_like, np.zeros_like, np.ones_like, np.full_like}


def maker_of(node: ast.expr, read: Expressions) -> object | None:
    """NumPy's function that ``node`` calls to make an array, if it does."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute | ast.Name):
        return None
    if isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Name):
        return None
    target = read.operand(node.func)
    if not isinstance(target, Known):
        return None
    return next((maker for maker in _MAKERS if target.value is maker), None)


def made_array(
    node: ast.Call, maker: object, read: Expressions
) -> tuple[ScalarType, tuple[PwAff, ...], Value | None]:
    """Type, extents (over the parameters) and fill value of ``np.zeros((H, W), np.float32)``."""
    positional = list(node.args)
    keywords = {k.arg: k.value for k in node.keywords}
    given = positional.pop(0) if positional else keywords.pop("shape", None)
    if given is None:
        raise UnsupportedError("an array needs a shape", span=read.span(node))
    fill = _MAKERS[maker]
    if maker in {np.full, np.full_like}:
        value = positional.pop(0) if positional else keywords.pop("fill_value", None)
        if value is None:
            raise UnsupportedError("np.full needs a value", span=read.span(node))
        fill = read.value(value)
    dtype = positional.pop(0) if positional else keywords.pop("dtype", None)
    if positional or keywords:
        raise UnsupportedError("only shape and dtype are taken here", span=read.span(node))
    kind = F64 if dtype is None else read.dtype(dtype).type
    if maker in _LIKE:
        like = read.operand(given)
        if not isinstance(like, View):
            raise UnsupportedError("this is not an array", span=read.span(given))
        kind = like.array.type if dtype is None else kind
        return kind, like.array.extents[len(like.index) :], fill
    return kind, _extents(given, read), fill


def _extents(node: ast.expr, read: Expressions) -> tuple[PwAff, ...]:
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(_extent(read.value(n), n, read) for n in node.elts)
    operand: Operand = read.operand(node)
    if isinstance(operand, Shape):
        return tuple(_extent(size, node, read) for size in operand.sizes)
    return (_extent(read.value(node), node, read),)


def _extent(value: Value, node: ast.expr, read: Expressions) -> PwAff:
    space = read.scope.space
    try:
        form = need_form(value, space, "the extent of an array")
    except NonAffineError as error:
        found = error.diagnostic
        raise NonAffineError(found.message, span=read.span(node), hint=found.hint) from None
    count = space.dim(dim_type.set)
    if form.involves_dims(dim_type.in_, 0, count):
        raise NonAffineError(
            "the extent of an array may not depend on a loop",
            span=read.span(node),
            hint="use the largest extent it takes",
        )
    return form.drop_dims(dim_type.in_, 0, count).project_domain_on_params()


def expanded(
    name: str, kind: ScalarType, own: tuple[PwAff, ...], domain: Set, span: Span | None
) -> Array:
    """A local with one copy for each iteration in the box around ``domain``."""
    depth = domain.dim(dim_type.set)
    lows = [domain.dim_min(k) for k in range(depth)]
    spans = [_length(domain.dim_max(k), lows[k]) for k in range(depth)]
    lower: Iterable[PwAff] = ()
    if depth:
        params = lows[0].get_domain_space()
        lower = [*lows, *(affine_constant(params, 0) for _ in own)]
    return Array(name, kind, (*spans, *own), "temp", tuple(lower), depth, span)


def _length(last: PwAff, first: PwAff) -> PwAff:
    return last.sub(first).add(affine_constant(first.get_domain_space(), 1))
