"""Array values: a shape, and what each element is. Nothing is computed until it is stored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.errors import InternalError, UnsupportedError
from polyopt.frontend.complex_values import Complex, kind_of
from polyopt.frontend.values import (
    Compound,
    Form,
    Strong,
    Value,
    Weak,
    Where,
    as_expr,
    lift,
    typed,
)
from polyopt.ir.expr import Affine, Inside, Load, index_of, rewrite
from polyopt.ir.types import BOOL
from polyopt.isl import affine_constant, constant_value, dim_type, lift_form

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyopt.ir.expr import Expr
    from polyopt.ir.scop import Array
    from polyopt.ir.types import ScalarType
    from polyopt.isl import PwAff, Set, Space
    from polyopt.source import Span

    #: an element, from its index and the loops that are around it where it is asked for
    Element = Callable[[Sequence[PwAff], Space], Value]


@dataclass(frozen=True, eq=False)
class Grid:
    """An array as a value."""

    #: { [i] -> [extent] } over the loops around the place where it was read
    shape: tuple[PwAff, ...]

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def at(self, index: Sequence[PwAff], space: Space) -> Value:
        """The element at ``{ [i] -> [index] }`` over ``space``, whose first loops are those of
        the place where this was read."""
        raise NotImplementedError

    def type(self, space: Space) -> ScalarType:
        """The type of the elements."""
        zeros = [affine_constant(space, 0)] * self.rank
        return kind_of(strong(self.at(zeros, space)))


@dataclass(frozen=True, eq=False)
class Computed(Grid):
    """An array whose elements are computed where they are asked for."""

    element: Element

    def at(self, index: Sequence[PwAff], space: Space) -> Value:
        return self.element(index, space)


@dataclass(frozen=True, eq=False)
class Unfilled(Grid):
    """``np.empty(...)``: a new array with nothing in it yet."""

    kind: ScalarType

    def at(self, index: Sequence[PwAff], space: Space) -> Value:
        del index, space
        raise UnsupportedError("an empty array is read", hint="give it a name, and fill it first")

    def type(self, space: Space) -> ScalarType:
        del space
        return self.kind


@dataclass(frozen=True, eq=False)
class Fixed:
    """A subscript that is given."""

    index: Expr


@dataclass(frozen=True, eq=False)
class Along:
    """A subscript that walks along an axis of a view: ``start + step * index[axis]``."""

    axis: int
    #: { [i] -> [start] } over the loops around
    start: PwAff
    step: int

    def form(self, index: Sequence[PwAff], space: Space) -> PwAff:
        """The subscript over ``space``."""
        scaled = index[self.axis].mul(affine_constant(space, self.step))
        return lift_form(self.start, space).add(scaled)

    @property
    def is_whole(self) -> bool:
        """Whether it is the index itself."""
        return self.step == 1 and constant_value(self.start) == 0


@dataclass(frozen=True, eq=False)
class Mixed:
    """A subscript of several axes of a view, such as one that axes were merged to or split from:
    ``(start + sum of steps * index) // divisor % modulus``."""

    #: axis of the view, and step
    steps: tuple[tuple[int, int], ...]
    #: { [i] -> [start] } over the loops around
    start: PwAff
    divisor: int = 1
    modulus: int | None = None

    def form(self, index: Sequence[PwAff], space: Space) -> PwAff:
        """The subscript over ``space``."""
        form = lift_form(self.start, space)
        for axis, step in self.steps:
            form = form.add(index[axis].mul(affine_constant(space, step)))
        if self.divisor != 1:
            form = form.div(affine_constant(space, self.divisor)).floor()
        if self.modulus is None:
            return form
        size = affine_constant(space, self.modulus)
        return form.sub(form.div(size).floor().mul(size))


Subscript = Fixed | Along | Mixed


@dataclass(frozen=True, eq=False)
class Placed(Grid):
    """Elements of a stored array: all of it, or a basic view; it may be assigned to."""

    array: Array
    #: one for each dimension of the array, also of those that are private to loops
    subscripts: tuple[Subscript, ...]
    span: Span | None = None

    def place(self, index: Sequence[PwAff], space: Space) -> tuple[Expr, ...]:
        """The subscripts of the array for the element at ``index``."""
        return tuple(
            lifted_expr(s.index, space) if isinstance(s, Fixed) else index_of(s.form(index, space))
            for s in self.subscripts
        )

    def at(self, index: Sequence[PwAff], space: Space) -> Value:
        array = self.array
        return Strong(Load(array.type, array.name, self.place(index, space), self.span))

    def type(self, space: Space) -> ScalarType:
        del space
        return self.array.type

    @property
    def is_whole(self) -> bool:
        """Whether it is all of its array (or of a local's copy in an iteration), as it lies."""
        own = self.subscripts[self.array.private :]
        return (
            len(own) == self.rank
            and all(isinstance(s, Along) and s.axis == k and s.is_whole for k, s in enumerate(own))
            and all(
                one.is_equal(
                    lift_form(other.insert_domain(one.get_domain_space()), one.get_domain_space())
                )
                for one, other in zip(
                    self.shape, self.array.extents[self.array.private :], strict=True
                )
            )
        )


@dataclass(frozen=True, eq=False)
class Pair(Grid):
    """Complex numbers that are stored: the parts are views of arrays of reals."""

    re: Placed
    im: Placed
    #: of a single number, the loops around the place where it was chosen
    space: Space | None = None

    def at(self, index: Sequence[PwAff], space: Space) -> Value:
        return Complex(self.re.at(index, space), self.im.at(index, space))

    @property
    def array(self) -> Array:
        """The array that the parts lie in."""
        return self.re.array

    @property
    def is_whole(self) -> bool:
        """Whether it is all of an array whose last axis is real and imaginary part."""
        array, space = self.re.array, self.shape[0].get_domain_space() if self.shape else None
        if self.im.array is not array or space is None:
            return False
        own = self.re.subscripts[array.private :]
        extents = [e.insert_domain(space) for e in array.extents[array.private :]]
        return (
            len(own) == self.rank + 1
            and constant_value(array.extents[-1]) == 2
            and all(
                isinstance(s, Along) and s.axis == k and s.is_whole for k, s in enumerate(own[:-1])
            )
            and all(a.is_equal(b) for a, b in zip(self.shape, extents[:-1], strict=True))
        )


def paired(parts: Placed, space: Space) -> Pair:
    """An array whose last axis is real and imaginary part, as one of complex numbers."""
    zero = affine_constant(space, 0)
    shape = parts.shape[:-1]
    views: list[Placed] = []
    for part in range(2):
        picks = [Along(k, zero, 1) for k in range(len(shape))]
        at = Fixed(index_of(affine_constant(space, part)))
        view = reindexed(parts, [*picks, at], shape, space)
        assert isinstance(view, Placed)
        views.append(view)
    return Pair(shape, views[0], views[1])


def whole(array: Array, private: Sequence[Expr], space: Space, span: Span | None = None) -> Placed:
    """All of an array, seen from the loops of ``space``."""
    own = range(array.rank - array.private)
    zero = affine_constant(space, 0)
    subscripts = (*map(Fixed, private), *(Along(k, zero, 1) for k in own))
    extents = (extent.insert_domain(space) for extent in array.extents[array.private :])
    return Placed(tuple(extents), array, subscripts, span)


def reindexed(grid: Grid, picks: Sequence[Subscript], shape: Sequence[PwAff], space: Space) -> Grid:
    """A basic view: of each axis of ``grid`` one index, or a walk along an axis of the result.

    Raises ``UnsupportedError`` for an index of data into what is no array of its own.
    """
    shape = tuple(shape)
    if isinstance(grid, Pair):
        re, im = (reindexed(part, picks, shape, space) for part in (grid.re, grid.im))
        assert isinstance(re, Placed)
        assert isinstance(im, Placed)
        return Pair(shape, re, im)
    if isinstance(grid, Placed):
        subscripts = tuple(_composed(s, picks, space) for s in grid.subscripts)
        return replace(grid, shape=shape, subscripts=subscripts)
    if not all(not isinstance(p, Fixed) or isinstance(p.index, Affine) for p in picks):
        raise UnsupportedError(
            "data choose elements of an expression", hint="give the expression a name first"
        )

    def element(index: Sequence[PwAff], space: Space) -> Value:
        return grid.at([_picked(p, index, space) for p in picks], space)

    return Computed(shape, element)


def _picked(pick: Subscript, index: Sequence[PwAff], space: Space) -> PwAff:
    if not isinstance(pick, Fixed):
        return pick.form(index, space)
    assert isinstance(pick.index, Affine)
    return lift_form(pick.index.form, space)


def _composed(have: Subscript, picks: Sequence[Subscript], space: Space) -> Subscript:
    if isinstance(have, Fixed):
        return have
    if isinstance(have, Mixed):
        return _mixed(have, picks, space)
    pick, start = picks[have.axis], lift_form(have.start, space)
    step = affine_constant(space, have.step)
    if isinstance(pick, Along):
        moved = lift_form(pick.start, space).mul(step)
        return Along(pick.axis, start.add(moved), have.step * pick.step)
    if isinstance(pick, Mixed):
        return _moved(pick, start, have.step, space)
    if isinstance(pick.index, Affine):
        return Fixed(index_of(start.add(lift_form(pick.index.form, space).mul(step))))
    if not have.is_whole:
        raise UnsupportedError(
            "data choose elements of a view", hint="use the array that it is a view of"
        )
    return pick


def _moved(pick: Mixed, start: PwAff, step: int, space: Space) -> Mixed:
    """``start + step * pick``."""
    if pick.modulus is None and step == 1:
        moved = lift_form(pick.start, space).add(start.mul(affine_constant(space, pick.divisor)))
        return replace(pick, start=moved)
    if pick.modulus is None and pick.divisor == 1:
        by = affine_constant(space, step)
        steps = tuple((axis, step * factor) for axis, factor in pick.steps)
        return Mixed(steps, lift_form(pick.start, space).mul(by).add(start))
    if step == 1 and constant_value(start) == 0:
        return pick
    raise InternalError("merged axes have gaps between them")


def _mixed(have: Mixed, picks: Sequence[Subscript], space: Space) -> Subscript:
    """A view of an array that was put into another shape."""
    start, steps = lift_form(have.start, space), dict[int, int]()
    for axis, step in have.steps:
        pick, by = picks[axis], affine_constant(space, step)
        if isinstance(pick, Along):
            start = start.add(lift_form(pick.start, space).mul(by))
            steps[pick.axis] = steps.get(pick.axis, 0) + step * pick.step
        elif isinstance(pick, Fixed) and isinstance(pick.index, Affine):
            start = start.add(lift_form(pick.index.form, space).mul(by))
        elif isinstance(pick, Mixed) and pick.divisor == 1 and pick.modulus is None:
            start = start.add(lift_form(pick.start, space).mul(by))
            for inner, factor in pick.steps:
                steps[inner] = steps.get(inner, 0) + step * factor
        else:
            raise UnsupportedError(
                "elements of an array in another shape that data, or another shape of it, choose",
                hint="give a copy of it a name first, such as a.reshape(...).copy()",
            )
    if steps:
        return Mixed(tuple(steps.items()), start, have.divisor, have.modulus)
    return Fixed(index_of(Mixed((), start, have.divisor, have.modulus).form((), space)))


def strong(value: Value) -> Value:
    """The value as an element of an array: never a weak number."""
    if isinstance(value, Where):
        return Strong(typed(value, BOOL))
    return value if isinstance(value, Strong | Compound) else Strong(as_expr(value))


def lifted(value: Value, space: Space) -> Value:
    """A value from outer loops seen from the loops of ``space``, which has those loops first."""
    match value:
        case Compound():
            return value.mapped(lambda part: lifted(part, space))
        case Weak():
            return Weak(lifted_expr(value.expr, space))
        case Strong():
            wide = value.unrounded
            return Strong(
                lifted_expr(value.expr, space), None if wide is None else lifted_expr(wide, space)
            )
        case _:
            return lift(value, space)


def lifted_expr(expr: Expr, space: Space) -> Expr:
    """An expression from outer loops seen from the loops of ``space``."""

    def moved(node: Expr) -> Expr:
        if isinstance(node, Affine) and _is_outer(node.form.dim(dim_type.in_), space):
            return replace(node, form=lift_form(node.form, space))
        if isinstance(node, Inside) and _is_outer(node.where.dim(dim_type.set), space):
            return replace(node, where=_lifted_set(node.where, space))
        return node

    return rewrite(expr, moved)


def _is_outer(loops: int, space: Space) -> bool:
    return loops < space.dim(dim_type.set)


def _lifted_set(where: Set, space: Space) -> Set:
    return where.add_dims(dim_type.set, space.dim(dim_type.set) - where.dim(dim_type.set))


def forms_of(shape: Sequence[PwAff]) -> tuple[Form, ...]:
    """Extents as numbers of the program."""
    return tuple(Form(extent) for extent in shape)
