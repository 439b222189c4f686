"""Where values over whole arrays are stored: local arrays, and loops over their elements."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polyopt.errors import UnsupportedError
from polyopt.frontend.arrays.grid import Grid, Pair, Placed, Unfilled, lifted, paired, whole
from polyopt.frontend.arrays.slices import broadcast_to
from polyopt.frontend.assemble import DraftLoop
from polyopt.frontend.complex_values import Complex, as_element
from polyopt.frontend.loops.ranges import Range, loop_domain
from polyopt.frontend.loops.scope import Frame, View, stores
from polyopt.frontend.loops.statements import Statements
from polyopt.frontend.values import Strong, Value, Weak, is_weak, type_of, typed
from polyopt.ir.expr import Affine, Cast, Load, RangeHint, loads, same_expr
from polyopt.isl import Map, affine_constant, dim_type, lift_form

if TYPE_CHECKING:
    import ast
    from collections.abc import Generator, Sequence

    from polyopt.frontend.arrays.expressions import ArrayExpressions
    from polyopt.frontend.arrays.facts import Facts
    from polyopt.frontend.arrays.helpers import Helpers
    from polyopt.frontend.loops.scope import Scope
    from polyopt.ir.expr import Expr
    from polyopt.ir.scop import Array
    from polyopt.ir.types import ScalarType
    from polyopt.isl import PwAff, Set, Space


class Storing(Statements):
    """Reads statements; stores arrays element by element."""

    read: ArrayExpressions

    def __init__(
        self,
        scope: Scope,
        taken: set[str],
        types: dict[ast.AST, tuple[ScalarType, bool]],
        facts: Facts,
        helpers: Helpers,
    ) -> None:
        super().__init__(scope, taken, types)
        self.facts = facts
        self.helpers = helpers

    @property
    def domain(self) -> Set:
        """``{ [i] : ... }`` of the statement that is being read."""
        return self._domain

    @property
    def is_certain(self) -> bool:
        """Whether the statement runs whenever the loops around do."""
        return not self._tests and self._domain is self.scope.frames[-1].domain

    @property
    def tests(self) -> int:
        """How many conditions on data are around."""
        return len(self._tests)

    def _emit(
        self,
        array: Array,
        index: tuple[Expr, ...],
        value: Value,
        node: ast.AST,
        *,
        first: bool = False,
    ) -> None:
        self.helpers.written.add(array.name)
        super()._emit(array, index, value, node, first=first)

    def _scatter(self, operand: View, target: ast.AST, value: Value, node: ast.AST) -> None:
        self.helpers.written.add(operand.array.name)
        if operand.array.role == "temp":
            self.helpers.scattered.add(operand.array.name)
        for part in operand.index:
            self.covers(part)
        super()._scatter(operand, target, value, node)

    def put(self, place: View, value: Value, target: ast.expr, node: ast.AST) -> None:
        """``a[i, j] = value`` of one element."""
        if all(isinstance(part, Affine) for part in place.index):
            self._emit(place.array, place.index, value, node)
        else:
            self._scatter(place, target, value, node)

    def covers(self, subscript: Expr) -> None:
        """Note that the loops around go over all of an index array, where sizes are such.

        Calls check subscripts of data before they run; they do so where all are used.
        """
        while isinstance(subscript, Cast | RangeHint):
            subscript = subscript.operand
        if not isinstance(subscript, Load):
            return
        source = self.helpers.given.get(subscript.array)
        if source is None or source.role not in {"in", "inout"}:
            return
        for part, extent in zip(subscript.index, source.extents, strict=True):
            if isinstance(part, Affine):
                taken = part.form.intersect_domain(self._domain).as_map().range()
                if taken.dim_has_upper_bound(dim_type.set, 0):
                    one = affine_constant(self.facts.context.get_space(), 1)
                    used = taken.dim_max(0).add(one).insert_domain(self._domain.get_space())
                    everything = extent.insert_domain(self._domain.get_space())
                    self.facts.equal(everything, used, self._domain)

    # storage and loops

    def _declare(self, name: str, kind: ScalarType, own: tuple[PwAff, ...], node: ast.AST) -> Array:
        plain = name.replace(".", "_")  # the parts of z are z.re and z.im
        return super()._declare(plain, kind, own, node)

    @contextmanager
    def loops(
        self, shape: Sequence[PwAff], firsts: Sequence[int] = ()
    ) -> Generator[tuple[list[PwAff], Space]]:
        """Loops over all indices of a shape: the index forms in them, and their space.

        ``firsts`` are first indices other than zero. Loops without statements are dropped.
        """
        depth, body, outer = len(self.scope.frames), self.body, self._domain
        root: list[Any] = []
        self.body = root
        for k, extent in enumerate(shape):
            space = self.scope.space
            iterator = self._iterator_name(f"i{k}")
            first = affine_constant(space, firsts[k] if firsts else 0)
            domain = loop_domain(self._domain, iterator, Range(first, lift_form(extent, space), 1))
            frame = Frame((*self.scope.frames[-1].iterators, iterator), domain, stores([]))
            self.scope.frames.append(frame)
            self._domain = domain
            loop = DraftLoop(iterator)
            self.body.append(loop)
            self.body = loop.body
        try:
            position = self.scope.depth - len(shape)
            yield [self.scope.form(position + k) for k in range(len(shape))], self.scope.space
            filled = bool(self.body)
        finally:
            del self.scope.frames[depth:]
            self.body, self._domain = body, outer
        if filled:
            self.body += root

    def temp(
        self, kind: ScalarType, shape: Sequence[PwAff], node: ast.AST, name: str = "t"
    ) -> Placed | Pair:
        """A new local array, of complex numbers with their parts side by side.

        Raises ``UnsupportedError`` for a shape that loops decide without a limit.
        """
        space = self.scope.space
        if kind.is_complex:
            parts = self.temp(kind.part, [*shape, affine_constant(space, 2)], node, name)
            assert isinstance(parts, Placed)
            return paired(parts, space)
        own = tuple(self._largest(extent, node) for extent in shape)
        array = self._declare(name, kind, own, node)
        self.helpers.unnamed.add(array.name)
        placed = whole(array, self.scope.private_index(array), space)
        return replace(placed, shape=tuple(lift_form(extent, space) for extent in shape))

    def _largest(self, extent: PwAff, node: ast.AST) -> PwAff:
        """The most that an extent is in the loops around, which sizes alone decide."""
        count = extent.dim(dim_type.in_)
        if not extent.involves_dims(dim_type.in_, 0, count):
            return extent.drop_dims(dim_type.in_, 0, count).project_domain_on_params()
        inside = lift_form(extent, self.scope.space).intersect_domain(self._domain)
        taken = inside.as_map().range()
        if not taken.dim_has_upper_bound(dim_type.set, 0):
            raise UnsupportedError(
                "the extent of an array that has to be stored has no limit",
                span=self.read.span(node),
                hint="write the operation as a loop over the elements",
            )
        one = affine_constant(self.facts.context.get_space(), 1)
        return taken.dim_max(0).union_max(one)

    def materialise(self, grid: Grid, node: ast.AST, name: str = "t") -> Placed | Pair:
        """The array's elements in a new local array."""
        space = self.scope.space
        placed = self.temp(grid.type(space), grid.shape, node, name)
        if not isinstance(grid, Unfilled):
            self.store(placed, grid, node, first=True)
        return placed

    def stored(self, value: Value, node: ast.AST, name: str = "t") -> Value:
        """A number in a new local scalar, or two."""
        if isinstance(value, Complex):
            return value.mapped(lambda part: self.stored(part, node, name))
        array = self.scalar(type_of(value), value, node, name)
        load = Load(array.type, array.name, self.scope.private_index(array), self.read.span(node))
        return Weak(load) if is_weak(value) else Strong(load)

    def scalar(self, kind: ScalarType, value: Value, node: ast.AST, name: str = "t") -> Array:
        """A new local scalar that is that number."""
        array = self._declare(name, kind, (), node)
        self._emit(array, self.scope.private_index(array), value, node, first=True)
        return array

    def store(
        self, target: Placed | Pair, value: Grid | Value, node: ast.AST, *, first: bool = False
    ) -> None:
        """``target[...] = value``, as if all of the value were computed before."""
        if isinstance(value, Grid):
            value = broadcast_to(value, target.shape, self.read.here)
        if isinstance(target, Pair):
            self._store_parts(target, value, node, first=first)
            return
        with self.loops(target.shape) as (index, space):
            place = target.place(index, space)
            is_grid = isinstance(value, Grid)
            element = value.at(index, space) if is_grid else lifted(value, space)
            outer = self.scope.depth - len(target.shape)
            read = typed(element, target.array.type)
            clashes = _clashes(read, target.array.name, place, self._domain, outer)
            if not clashes and all(isinstance(part, Affine) for part in place):
                self._emit(target.array, place, element, node, first=first)
            elif not clashes:
                chosen = View(target.array, place, self.read.span(node))
                self._scatter(chosen, node, element, node)
        if clashes:
            self.store(target, self.kept(value, node), node)

    def _store_parts(
        self, target: Pair, value: Grid | Value, node: ast.AST, *, first: bool
    ) -> None:
        """``target[...] = value`` of complex numbers: two statements for each element."""
        with self.loops(target.shape) as (index, space):
            is_grid = isinstance(value, Grid)
            element = value.at(index, space) if is_grid else lifted(value, space)
            element = as_element(target.type(space), element)
            assert isinstance(element, Complex)
            places = [part.place(index, space) for part in (target.re, target.im)]
            outer = self.scope.depth - len(target.shape)
            clashes = any(
                _clashes(typed(part, target.re.array.type), target.array.name, place, self._domain,
                         outer, places)
                for part in (element.re, element.im) for place in places
            )  # fmt: skip
            if not clashes:
                self._put_parts(target, places, element, node, first=first)
        if clashes:
            self.store(target, self.kept(value, node), node)

    def _put_parts(
        self,
        target: Pair,
        places: Sequence[tuple[Expr, ...]],
        value: Complex,
        node: ast.AST,
        *,
        first: bool,
    ) -> None:
        """One complex number in its place; what reads the other part reads it before."""
        kind = target.re.array.type
        if any(load.array == target.array.name for load in loads(typed(value.im, kind))):
            value = Complex(value.re, self.stored(value.im, node))
        parts = zip((target.re, target.im), places, (value.re, value.im), strict=True)
        for part, place, number in parts:
            if all(isinstance(i, Affine) for i in place):
                self._emit(part.array, place, number, node, first=first)
            else:
                self._scatter(View(part.array, place, self.read.span(node)), node, number, node)

    def kept(self, value: Grid | Value, node: ast.AST) -> Grid | Value:
        """The value as it is now, whatever is assigned afterwards."""
        return (
            self.materialise(value, node) if isinstance(value, Grid) else self.stored(value, node)
        )

    def emit(
        self, target: Placed | Pair, index: Sequence[PwAff], value: Value, node: ast.AST
    ) -> None:
        """``target[index] = value`` in the loops around, whatever data say."""
        if isinstance(target, Pair):
            number = as_element(target.type(self.scope.space), value)
            assert isinstance(number, Complex)
            places = [part.place(index, self.scope.space) for part in (target.re, target.im)]
            self._put_parts(target, places, number, node, first=True)
            return
        place = target.place(index, self.scope.space)
        self._emit(target.array, place, value, node, first=True)

    def _test(self) -> Value | None:
        found = super()._test()
        return None if found is None else lifted(found, self.scope.space)


def _clashes(
    value: Expr,
    array: str,
    place: Sequence[Expr],
    domain: Set,
    outer: int,
    own: Sequence[Sequence[Expr]] = (),
) -> bool:
    """Whether an element is read that another iteration of the loops from ``outer`` on writes;
    none does of the elements ``own``, which each iteration has for itself."""
    return any(
        load.array == array
        and not any(
            all(same_expr(a, b) for a, b in zip(load.index, mine, strict=True))
            for mine in (place, *own)
        )
        and _meet(load.index, place, domain, outer)
        for load in loads(value)
    )


def _meet(read: Sequence[Expr], written: Sequence[Expr], domain: Set, outer: int) -> bool:
    """Whether an iteration reads what another one writes, in one iteration of the outer loops."""
    space = domain.get_space()
    pairs = Map.identity(space.map_from_set())
    depth = space.dim(dim_type.set)
    pairs = pairs.project_out(dim_type.out, outer, depth - outer)
    pairs = pairs.apply_range(pairs.reverse()).intersect_domain(domain).intersect_range(domain)
    for one, other in zip(read, written, strict=True):
        if isinstance(one, Affine) and isinstance(other, Affine):
            forms = (lift_form(part.form, space).as_map() for part in (one, other))
            first, second = forms
            pairs = pairs.intersect(first.apply_range(second.reverse()))
    return not pairs.subtract(Map.identity(space.map_from_set())).is_empty()
