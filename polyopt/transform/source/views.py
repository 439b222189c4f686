"""A program whose arrays are parts of larger ones: the same values, at other places.

rewrite: ``a[i, j]`` -> ``a[a_from_0 + 2 * j, a_from_1 + i]`` with ``a`` of ``a_all_0 * a_all_1``
elements, for a view whose axis 0 lies along axis 1 of its owner, and axis 1 in steps of 2 along
axis 0. Where the view begins, and how large the owner is, are sizes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.ir.expr import Affine, Load, index_of, loads, rewrite
from polyopt.isl import (
    affine_constant,
    affine_param,
    exclusive,
    integer_val,
    params_space,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyopt.ir.expr import Expr
    from polyopt.ir.scop import Array, Scop, Statement
    from polyopt.isl import PwAff, Set, Space


@dataclass(frozen=True)
class View:
    """How an array lies in its owner, which is in C order.

    Element ``i`` is the owner's element ``firsts + steps * i`` along ``axes``; an axis of step 0
    repeats, or has one element.
    """

    #: axis of the owner, and step, by axis of the array
    axes: tuple[tuple[int, int], ...]
    #: of the owner
    rank: int
    #: whether there is more of the owner than the array
    is_part: bool


@dataclass(frozen=True)
class ViewSizes:
    """What the sizes of a view are called: extents of the owner, and where the view begins."""

    extents: tuple[str, ...]
    firsts: tuple[str, ...]


def viewable(scop: Scop) -> frozenset[str]:
    """The arrays that may be views: no data choose their elements, and no value chooses others'."""
    by_data: set[str] = set()
    for statement in scop.statements:
        if statement.spread:
            by_data |= {statement.array}
        for load in loads(statement.value):
            if not all(isinstance(index, Affine) for index in load.index):
                by_data |= {load.array}
                by_data |= {inner.array for index in load.index for inner in loads(index)}
    return (
        frozenset(a.name for a in scop.arrays if a.role != "temp" and a.rank and not a.lower)
        - by_data
    )


@exclusive()
def viewed(scop: Scop, views: Mapping[str, View]) -> tuple[Scop, dict[str, ViewSizes]]:
    """The program for arrays that lie as ``views`` say, and what its new sizes are called.

    The arrays are ``viewable`` ones. Whoever calls it vouches that elements which are written lie
    in no other array's place.
    """
    sizes = {name: _sizes(scop, name, view) for name, view in views.items() if view.is_part}
    added = [n for s in sizes.values() for n in (*s.extents, *s.firsts)]
    params = (*scop.params, *added)
    space = params_space(params)
    rewriter = _Rewriter(views, sizes)
    arrays = tuple(rewriter.array(a, space) if a.name in views else a for a in scop.arrays)
    context = scop.context.align_params(space)
    for array in scop.arrays:
        if array.name in sizes:
            for condition in rewriter.conditions(array, space):
                context = context.intersect(condition)
    statements = tuple(rewriter.statement(s, space) for s in scop.statements)
    named = (*params, *(name for name in scop.signature if name not in params))
    made = replace(
        scop, params=params, context=context, arrays=arrays, statements=statements,
        signature=named, reference=None,
    )  # fmt: skip
    return made, sizes


def _sizes(scop: Scop, name: str, view: View) -> ViewSizes:
    stems = [
        scop.unused_name(f"{name}_{kind}", *(f"_{k}" for k in range(view.rank)))
        for kind in ("all", "from")
    ]
    extents, firsts = (tuple(f"{stem}_{k}" for k in range(view.rank)) for stem in stems)
    return ViewSizes(extents, firsts)


@dataclass(frozen=True, eq=False)
class _Rewriter:
    """Arrays and subscripts as those of the owners."""

    views: Mapping[str, View]
    sizes: Mapping[str, ViewSizes]

    def array(self, array: Array, space: Space) -> Array:
        """The owner, with the array's name."""
        view = self.views[array.name]
        if not view.is_part:
            extents = [array.extents[0]] * view.rank
            for extent, (axis, _) in zip(array.extents, view.axes, strict=True):
                extents[axis] = extent
            return replace(array, extents=tuple(extents))
        names = self.sizes[array.name].extents
        role = "inout" if array.role == "out" else array.role  # the rest keeps its values
        return replace(array, extents=tuple(affine_param(space, n) for n in names), role=role)

    def conditions(self, array: Array, space: Space) -> Iterator[Set]:
        """That the view lies in its owner, and that what is written has places of its own."""
        view, sizes = self.views[array.name], self.sizes[array.name]
        along = {axis: k for k, (axis, step) in enumerate(view.axes) if step}
        zero, one = affine_constant(space, 0), affine_constant(space, 1)
        for axis, (extent, first) in enumerate(zip(sizes.extents, sizes.firsts, strict=True)):
            begin, end = affine_param(space, first), affine_param(space, extent)
            last = begin
            if axis in along:
                k = along[axis]
                count = array.extents[k].align_params(space).sub(one)
                last = begin.add(count.scale_val(integer_val(view.axes[k][1])))
            for place in (begin, last):
                yield place.ge_set(zero)
                yield place.lt_set(end)
        for extent, (_, step) in zip(array.extents, view.axes, strict=True):
            if not step and array.is_live_out:
                yield extent.align_params(space).eq_set(one)

    def statement(self, statement: Statement, space: Space) -> Statement:
        """With subscripts of owners."""
        domain = statement.domain.align_params(space)

        def moved(node: Expr) -> Expr:
            if isinstance(node, Load) and node.array in self.views:
                return replace(node, index=self.index(node.array, node.index, domain.get_space()))
            return node

        index: Sequence[Expr] = statement.index
        if statement.array in self.views:
            index = self.index(statement.array, index, domain.get_space())
        written = tuple(part for part in index if isinstance(part, Affine))
        value = rewrite(statement.value, moved)
        return replace(statement, domain=domain, index=written, value=value)

    def index(self, name: str, index: Sequence[Expr], space: Space) -> tuple[Affine, ...]:
        """Subscripts of the owner."""
        view = self.views[name]
        forms: list[PwAff] = [affine_constant(space, 0)] * view.rank
        if view.is_part:
            forms = [affine_param(space, first) for first in self.sizes[name].firsts]
        for part, (axis, step) in zip(index, view.axes, strict=True):
            if step and isinstance(part, Affine):
                forms[axis] = forms[axis].add(part.form.scale_val(integer_val(step)))
        return tuple(index_of(form) for form in forms)
