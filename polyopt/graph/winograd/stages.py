"""Winograd's minimal filtering: 3 x 3 convolutions by products of transformed tiles.

``Y = A' [(G g G') * (B' d B)] A`` computes ``m`` by ``m`` results of a correlation with ``r`` by
``r`` weights ``g`` from ``m + r - 1`` by ``m + r - 1`` elements ``d``, with as many products, where
the sums of a convolution have ``m^2 r^2``. Summed over channels, the products are those of
matrices, one for each place of a tile, and what comes before and after them is shared by channels.
(S. Winograd, "Arithmetic Complexity of Computations", 1980; A. Lavin and S. Gray, "Fast Algorithms
for Convolutional Neural Networks", 2016.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.operators import Result, need_float, need_rank, operator
from polyopt.graph.ops.blocked import need_bias
from polyopt.graph.ops.convolutions import need_lengths, output_extents
from polyopt.graph.winograd.transforms import KERNEL, transforms

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from polyopt.frontend.stages import Term
    from polyopt.graph.ir.graph import Value
    from polyopt.graph.operators import Maker, Tensor


def _rule(x: Value, u: Value, b: Value | None = None, *, tile: int, pads: Sequence[int]) -> Result:
    need_float(x, u, b)
    need_rank(x, 5, 5)
    need_rank(u, 6, 6)
    need_lengths(2, pads=pads)
    width, again, blocks, inner, each, lanes = u.shape
    if tile < 1 or (width, again) != (tile + KERNEL - 1,) * 2:
        raise GraphError(f"weights {list(u.shape)} are not for tiles of {tile} by {tile}")
    if (inner, each) != (x.shape[1], x.shape[-1]):
        raise GraphError(f"weights {list(u.shape)} do not fit blocks of channels {x}")
    need_bias(b, blocks, lanes)
    outputs = output_extents(x, (KERNEL, KERNEL), (1, 1), pads, (1, 1))
    return Result((x.shape[0], blocks, *outputs, lanes), x.dtype)


@operator("winograd_conv", result=_rule, form_of="conv", in_strips=True)
def winograd_conv(
    make: Maker,
    x: Tensor,
    u: Tensor,
    b: Tensor | None = None,
    *,
    tile: int,
    pads: Sequence[int],
) -> Tensor:
    """``conv`` with 3 x 3 weights, stride 1, in tiles of ``tile`` by ``tile`` results.

    ``x [n][ci / b]..[b]`` and ``b [co / v][v]`` are in blocks of channels, and the weights are
    transformed: ``u [m + 2][m + 2][co / v][ci / b][b][v]``. Equal to ``conv`` in real numbers;
    ``winograd.rounding`` says how far rounding may take them apart.
    """
    forms = transforms(tile)
    width = tile + KERNEL - 1
    outputs = output_extents(x, (KERNEL, KERNEL), (1, 1), pads, (1, 1))
    down, right = (-(-size // tile) for size in outputs)
    batch, inner, *_, each = x.shape
    blocks, lanes = u.shape[2], u.shape[-1]
    source = _framed(make, x, pads, (down * tile + KERNEL - 1, right * tile + KERNEL - 1))

    def of_columns(n: Term, ty: Term, i: Term, ci: Term, column: Term, lane: Term) -> Term:
        return _row_of(forms.data, i, lambda k: source[n, ci, tile * ty + k, column, lane])

    shape = (batch, down, width, inner, right * tile + KERNEL - 1, each)
    columns = make.stage(shape, of_columns, part="columns")

    def of_tiles(n: Term, ty: Term, i: Term, j: Term, ci: Term, tx: Term, lane: Term) -> Term:
        return _row_of(forms.data, j, lambda k: columns[n, ty, i, ci, tile * tx + k, lane])

    tiles = make.stage((batch, down, width, width, inner, right, each), of_tiles, part="tiles")

    def product(n: Term, ty: Term, i: Term, j: Term, co: Term, tx: Term, lane: Term) -> Term:
        def term(ci: Term, k: Term) -> Term:
            return tiles[n, ty, i, j, ci, tx, k] * u[i, j, co, ci, k, lane]

        return po.sum(term, {"ci": inner, "k": each})

    shape = (batch, down, width, width, blocks, right, lanes)
    products = make.stage(shape, product, part="products")

    def of_rows(n: Term, ty: Term, y: Term, j: Term, co: Term, tx: Term, lane: Term) -> Term:
        return _row_of(forms.result, y, lambda k: products[n, ty, k, j, co, tx, lane])

    shape = (batch, down, tile, width, blocks, right, lanes)
    rows = make.stage(shape, of_rows, part="rows")

    def result(n: Term, co: Term, y: Term, column: Term, lane: Term) -> Term:
        at = (n, y // tile, y % tile)
        tx, place = column // tile, column % tile
        total = _row_of(forms.result, place, lambda k: rows[(*at, k, co, tx, lane)])
        return total if b is None else total + b[co, lane]

    return make.stage((batch, blocks, *outputs, lanes), result)


def _framed(make: Maker, x: Tensor, pads: Sequence[int], extents: tuple[int, int]) -> Tensor:
    """The operand with a frame of zeros that fills its last tiles."""
    shape = (*x.shape[:2], *extents, x.shape[-1])
    if shape == x.shape:
        return x
    framed = x.padded(0.0)
    top, left = pads[:2]

    def element(n: Term, c: Term, y: Term, column: Term, lane: Term) -> Term:
        return framed[n, c, y - top, column - left, lane]

    return make.stage(shape, element, part="padded")


def _row_of(
    matrix: tuple[tuple[Fraction, ...], ...], row: Term, element: Callable[[int], Term]
) -> Term:
    """The product of the matrix's row with elements, zeros left out."""
    made = [_combination(numbers, element) for numbers in matrix]
    found = made[-1]
    for k in range(len(made) - 2, -1, -1):
        found = po.select(row == k, made[k], found)
    return found


def _combination(numbers: Sequence[Fraction], element: Callable[[int], Term]) -> Term:
    """``sum numbers[k] element(k)``, without zeros, and products by one."""
    total: Term | None = None
    for k, number in enumerate(numbers):
        if not number:
            continue
        value = element(k)
        part = value if abs(number) == 1 else value * float(abs(number))
        if total is None:
            total = part if number > 0 else -part
        else:
            total = total + part if number > 0 else total - part
    assert total is not None
    return total
