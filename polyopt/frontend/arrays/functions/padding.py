"""``np.pad``: an array with a border, which the nearest, mirrored or opposite elements fill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.errors import UnsupportedError
from polyopt.frontend.arrays.grid import Computed, Grid, lifted, strong
from polyopt.frontend.complex_values import as_element
from polyopt.frontend.loops.scope import Known
from polyopt.frontend.values import Number, Value, Where, need_form, select
from polyopt.isl import affine_constant, lift_form

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polyopt.frontend.arrays.functions.calls import Call, Handler
    from polyopt.isl import PwAff, Set, Space

    #: the index in the array of an index that may be outside of it, from its extent
    Border = Callable[[PwAff, PwAff], PwAff]


def _pad(call: Call) -> Grid:
    grid = call.array("array")
    mode = call.operand("mode") if call.has("mode") else Known("constant")
    name = mode.value if isinstance(mode, Known) else None
    if name != "constant" and name not in _BORDERS:
        raise UnsupportedError(
            f"np.pad of the mode {name!r}",
            hint=f"taken are {', '.join(['constant', *_BORDERS])}",
        )
    widths = _widths(call, grid.rank)
    _check(call, grid, widths, name)
    space = call.read.scope.space
    shape = tuple(
        lift_form(extent, space).add(before).add(after)
        for extent, (before, after) in zip(grid.shape, widths, strict=True)
    )
    if name == "constant":
        return _filled(call, grid, widths, shape)
    border = _BORDERS[str(name)]

    def element(index: Sequence[PwAff], space: Space) -> Value:
        inner = [
            border(i.sub(lift_form(before, space)), lift_form(extent, space))
            for i, (before, _), extent in zip(index, widths, grid.shape, strict=True)
        ]
        return grid.at(inner, space)

    return Computed(shape, element)


def _filled(
    call: Call, grid: Grid, widths: Sequence[tuple[PwAff, PwAff]], shape: tuple[PwAff, ...]
) -> Grid:
    """The array between constants."""
    given = call.operand("constant_values") if call.has("constant_values") else Number(0)
    kind = grid.type(call.read.scope.space)
    value = as_element(kind, call.read.as_number(given))

    def element(index: Sequence[PwAff], space: Space) -> Value:
        zero = affine_constant(space, 0)
        inner = [
            i.sub(lift_form(before, space)) for i, (before, _) in zip(index, widths, strict=True)
        ]
        inside: Set | None = None
        for i, extent in zip(inner, grid.shape, strict=True):
            here = i.ge_set(zero).intersect(i.lt_set(lift_form(extent, space)))
            inside = here if inside is None else inside.intersect(here)
        if inside is None:
            return strong(grid.at(inner, space))
        return strong(select(Where(inside), grid.at(inner, space), lifted(value, space)))

    return Computed(shape, element)


def _widths(call: Call, rank: int) -> list[tuple[PwAff, PwAff]]:
    """How many elements come before and after each axis."""
    from polyopt.frontend.arrays.operands import Items

    def pair(operand: Any) -> tuple[PwAff, PwAff]:  # noqa: ANN401
        items = operand.items if isinstance(operand, Items) else (operand,)
        forms = [
            need_form(call.read.as_number(i), call.read.scope.space, "the width of a border")
            for i in items
        ]
        if len(forms) not in {1, 2}:
            raise UnsupportedError("a border has a width before and one after")
        return forms[0], forms[-1]

    given = call.operand("pad_width")
    if isinstance(given, Items) and any(isinstance(item, Items) for item in given.items):
        pairs = [pair(item) for item in given.items]
        if len(pairs) not in {1, rank}:
            raise UnsupportedError(f"{len(pairs)} borders of an array of {rank} dimension(s)")
        return pairs * rank if len(pairs) == 1 else pairs
    return [pair(given)] * rank


def _check(call: Call, grid: Grid, widths: Sequence[tuple[PwAff, PwAff]], mode: object) -> None:
    """Refuse borders that no single rule gives: wider than what they are made of, or negative."""
    here, space = call.read.here, call.read.scope.space
    zero, one = affine_constant(space, 0), affine_constant(space, 1)
    for extent, pair in zip(grid.shape, widths, strict=True):
        most = lift_form(extent, space).sub(one if mode == "reflect" else zero)
        for width in pair:
            if not here.always(width.ge_set(zero)):
                raise UnsupportedError("a border of negative width")
            if mode not in {"constant", "edge"} and not here.always(width.le_set(most)):
                raise UnsupportedError("a border that is wider than the array")


def nearest(index: PwAff, extent: PwAff) -> PwAff:
    """The index of the element of an axis that is nearest to an index."""
    space = index.get_domain_space()
    last = extent.sub(affine_constant(space, 1))
    return index.max(affine_constant(space, 0)).min(last)


def _opposite(index: PwAff, extent: PwAff) -> PwAff:
    return _moved(index, extent, index.add(extent), index.sub(extent))


def _mirrored(beyond: int) -> Border:
    """Mirrored at the last element (``beyond`` 0), or behind it (1)."""

    def border(index: PwAff, extent: PwAff) -> PwAff:
        space = index.get_domain_space()
        below = index.neg().sub(affine_constant(space, beyond))
        last = extent.add(extent).sub(affine_constant(space, 2 - beyond))
        return _moved(index, extent, below, last.sub(index))

    return border


def _moved(index: PwAff, extent: PwAff, below: PwAff, above: PwAff) -> PwAff:
    """The index where it is inside, and what it is moved to on either side."""
    under = index.lt_set(affine_constant(index.get_domain_space(), 0))
    over = index.ge_set(extent)
    inside = index.subtract_domain(under).subtract_domain(over)
    return inside.union_add(below.intersect_domain(under)).union_add(above.intersect_domain(over))


_BORDERS: Mapping[str, Border] = {
    "edge": nearest,
    "wrap": _opposite,
    "reflect": _mirrored(0),
    "symmetric": _mirrored(1),
}
#: functions, the names of their arguments, and what reads them
FUNCTIONS: Mapping[object, tuple[str, Handler]] = {
    np.pad: ("array pad_width mode constant_values", _pad),
}
