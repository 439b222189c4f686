"""Matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.ir.graph import Value
from polyopt.graph.operators import (
    Result,
    broadcast,
    broadcast_index,
    need_float,
    need_rank,
    operator,
)

if TYPE_CHECKING:
    from polyopt.frontend.stages import Term
    from polyopt.graph.operators import Maker, Tensor


def _gemm_rule(
    a: Value,
    b: Value,
    c: Value | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    trans_a: int = 0,
    trans_b: int = 0,
) -> Result:
    _ = alpha, beta
    need_float(a, b, c)
    need_rank(a, 2, 2)
    need_rank(b, 2, 2)
    rows, inner = a.shape[::-1] if trans_a else a.shape
    again, columns = b.shape[::-1] if trans_b else b.shape
    if inner != again:
        raise GraphError(f"{inner} columns do not meet {again} rows")
    shape = (rows, columns)
    if c is not None and broadcast(c, Value("", shape, a.dtype)) != shape:
        raise GraphError(f"{list(c.shape)} does not broadcast to {list(shape)}")
    return Result(shape, a.dtype)


@operator("gemm", result=_gemm_rule)
def gemm(
    make: Maker,
    a: Tensor,
    b: Tensor,
    c: Tensor | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    trans_a: int = 0,
    trans_b: int = 0,
) -> Tensor:
    """``alpha * a b + beta * c``, each matrix transposed if asked."""
    inner = a.shape[0] if trans_a else a.shape[1]
    shape = a.shape[1 if trans_a else 0], b.shape[0 if trans_b else 1]

    def product(n: Term, m: Term, k: Term) -> Term:
        return (a[k, n] if trans_a else a[n, k]) * (b[m, k] if trans_b else b[k, m])

    plain = c is None and alpha == 1.0

    def total(n: Term, m: Term) -> Term:
        def element(k: Term) -> Term:
            return product(n, m, k)

        return po.sum(element, k=inner)

    sums = make.stage(shape, total, part="" if plain else "sums")
    if plain:
        return sums

    def scaled(*i: Term) -> Term:
        result = sums[i] if alpha == 1.0 else alpha * sums[i]
        if c is None or beta == 0.0:
            return result
        shift = c[broadcast_index(c, i)]
        return result + (shift if beta == 1.0 else beta * shift)

    return make.stage(shape, scaled)


def matmul_rule(a: Value, b: Value) -> Result:
    """The shape of NumPy's ``matmul``, of the operands' type. Raises ``GraphError``."""
    if a.dtype != b.dtype:
        raise GraphError(f"operands of one type are needed, not {a.dtype} and {b.dtype}")
    need_rank(a, 1)
    need_rank(b, 1)
    left = a.shape if len(a.shape) > 1 else (1, *a.shape)
    right = b.shape if len(b.shape) > 1 else (*b.shape, 1)
    if left[-1] != right[-2]:
        raise GraphError(f"{left[-1]} columns do not meet {right[-2]} rows")
    outer = broadcast(Value("", left[:-2], a.dtype), Value("", right[:-2], b.dtype))
    row = (left[-2],) if len(a.shape) > 1 else ()
    column = (right[-1],) if len(b.shape) > 1 else ()
    return Result((*outer, *row, *column), a.dtype)


@operator("matmul", result=matmul_rule)
def matmul(make: Maker, a: Tensor, b: Tensor) -> Tensor:
    """NumPy's ``matmul``: leading dimensions broadcast, vectors lose theirs again."""
    return matmul_sums(make, a, b)


def matmul_sums(make: Maker, a: Tensor, b: Tensor, dtype: str = "") -> Tensor:
    """The stage of ``matmul``; ``dtype`` is the type that both operands are converted to."""
    shape = matmul_rule(Value("a", a.shape, make.dtype), Value("b", b.shape, make.dtype)).shape
    inner = a.shape[-1]
    has_row, has_column = a.rank > 1, b.rank > 1
    outer = len(shape) - has_row - has_column

    def product(i: tuple[Term, ...], k: Term) -> Term:
        left = _batch(a, i[:outer])
        right = _batch(b, i[:outer])
        row = (i[outer],) if has_row else ()
        column = (i[-1],) if has_column else ()
        one, other = a[(*left, *row, k)], b[(*right, k, *column)]
        return po.cast(dtype, one) * po.cast(dtype, other) if dtype else one * other

    def total(*i: Term) -> Term:
        def element(k: Term) -> Term:
            return product(i, k)

        return po.sum(element, k=inner)

    return make.stage(shape, total)


def panels_rule(a: Value, w: Value, *, columns: int) -> Result:
    """``[..., columns]``. Raises ``GraphError`` where panels do not hold as many columns."""
    if a.dtype != w.dtype:
        raise GraphError(f"operands of one type are needed, not {a.dtype} and {w.dtype}")
    need_rank(a, 2)
    need_rank(w, 3, 3)
    count, inner, width = w.shape
    if a.shape[-1] != inner:
        raise GraphError(f"{a.shape[-1]} columns do not meet {inner} rows")
    if not (count - 1) * width < columns <= count * width:
        raise GraphError(f"{count} panels of {width} columns are not {columns} columns")
    return Result((*a.shape[:-1], columns), a.dtype)


@operator("matmul_panels", result=panels_rule, form_of="matmul")
def matmul_panels(make: Maker, a: Tensor, w: Tensor, *, columns: int) -> Tensor:
    """``matmul`` by a matrix ``w [n / b][k][b]`` of so many ``columns``."""
    width = w.shape[2]

    def total(*i: Term) -> Term:
        *row, n = i

        def element(k: Term) -> Term:
            return a[(*row, k)] * w[n // width, k, n % width]

        return po.sum(element, k=a.shape[-1])

    return make.stage((*a.shape[:-1], columns), total)


def _batch(tensor: Tensor, outer: tuple[Term, ...]) -> list[Term | int]:
    own = tensor.shape[:-2]
    return [
        0 if extent == 1 else i
        for i, extent in zip(outer[len(outer) - len(own) :], own, strict=True)
    ]
