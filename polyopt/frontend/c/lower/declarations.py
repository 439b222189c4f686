"""Local declarations: names for affine values, scalars and arrays with their private copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.errors import TypeMismatchError, UnsupportedError
from polyopt.frontend.c.lower.diagnostics import unsupported
from polyopt.frontend.c.lower.expressions import Lowering
from polyopt.frontend.c.lower.scope import Env, Pending, Place, Program, Substituted, Variable
from polyopt.ir.expr import Affine, Const
from polyopt.ir.type_bounds import without_type_bounds
from polyopt.isl import (
    IslError,
    Map,
    PwAff,
    Set,
    affine_constant,
    constant_value,
    dim_type,
    params_space,
)

if TYPE_CHECKING:
    from polyopt.ir.types import ScalarType
    from polyopt.source import Span

#: from so many loops on, a local's copies are not counted exactly
_EXACT = 4
#: Most elements of a list initialiser: each is a statement.
_MOST_ELEMENTS = 256
#: what processors can address
MOST_BYTES = 1 << 47


@dataclass(frozen=True, eq=False)
class Initial:
    """A write that an initialiser asks for."""

    variable: Variable
    subscripts: tuple[int, ...]
    value: c_ast.Node
    node: c_ast.Node


@dataclass(frozen=True, eq=False)
class Declarer:
    """Declares locals at one place."""

    program: Program
    env: Env
    place: Place

    def declare(self, node: c_ast.Decl) -> list[Initial]:
        """Bind the name; return the writes of its initialiser.

        Raises ``UnsupportedError`` or ``TypeMismatchError``.
        """
        if isinstance(node.type, (c_ast.Struct, c_ast.Union, c_ast.Enum, c_ast.FuncDecl)):
            raise unsupported(self.program.locator, node.type)
        const = "const" in (node.quals or [])
        if "extern" in node.storage or ("static" in node.storage and not const):
            msg = f"{node.storage[0]} variables are not taken"
            raise self.program.locator.error(
                UnsupportedError, node, msg, hint="pass the array as an argument"
            )
        kind = self.program.types.of(node.type)
        if kind.scalar is None:
            msg = "a variable cannot be of type void"
            raise self.program.locator.error(
                TypeMismatchError, node, msg, hint="use a number's type"
            )
        if kind.is_array:
            return self._array(node, kind.scalar, list(kind.extents))
        if node.init is None:
            return self._bare(node, kind.scalar)
        return self._scalar(node, kind.scalar)

    def _bare(self, node: c_ast.Decl, type_: ScalarType) -> list[Initial]:
        name = node.name
        single = self.program.usage.assigned.get(name, 0) == 1
        if name in self.program.usage.iterated or single:
            self.env.declare(name, Pending(node, type_, self.place))
        else:
            span = self.program.locator.span(node)
            self.env.declare(name, self.variable(name, type_, (), span))
        return []

    def _scalar(self, node: c_ast.Decl, type_: ScalarType) -> list[Initial]:
        usage = self.program.usage
        value = node.init
        if isinstance(value, c_ast.InitList):
            value = value.exprs[0]
        assert value is not None
        changed = node.name in usage.assigned
        if node.name in usage.iterated and not changed:
            self.env.declare(node.name, Pending(node, type_, self.place))
            return []
        if not changed:
            affine = node.name in usage.affine
            lowering = Lowering(self.program, self.env, self.place, assuming=affine)
            lowered = lowering.cast(type_, lowering.lower(value))
            form = lowering.form(lowered) if type_.is_integer and affine else None
            if form is not None and not isinstance(lowered, Const):
                lowered = Affine(type_, form)
            if isinstance(lowered, (Affine, Const)):
                self.env.declare(node.name, Substituted(lowered, self.place.depth))
                return []
        span = self.program.locator.span(node)
        variable = self.variable(node.name, type_, (), span)
        return [self._bound(node, variable, value)]

    def _bound(self, node: c_ast.Decl, variable: Variable, value: c_ast.Node) -> Initial:
        if node.name in {n.name for n in _ids(value)}:
            msg = f"{node.name!r} is used in its own initialiser"
            raise self.program.locator.error(
                UnsupportedError, value, msg, hint="give the inner variable another name"
            )
        self.env.declare(node.name, variable)
        return Initial(variable, (), value, node)

    def _array(
        self, node: c_ast.Decl, type_: ScalarType, sizes: list[c_ast.Node | None]
    ) -> list[Initial]:
        if sizes[0] is None and isinstance(node.init, c_ast.InitList):
            sizes[0] = c_ast.Constant("int", str(len(node.init.exprs)), node.coord)
        if any(size is None for size in sizes):
            msg = f"the local {node.name!r} has no extent"
            raise self.program.locator.error(
                UnsupportedError, node, msg, hint="pointers are taken as arguments only"
            )
        extents = tuple(self.extent(size, node.name) for size in sizes if size is not None)
        span = self.program.locator.span(node)
        self._check_bytes(node, type_, extents)
        variable = self.variable(node.name, type_, extents, span)
        self.env.declare(node.name, variable)
        for extent in extents:
            self.program.assume_extent(extent)
        return [] if node.init is None else self._elements(node, variable, extents)

    def _check_bytes(self, node: c_ast.Decl, type_: ScalarType, extents: tuple[PwAff, ...]) -> None:
        total = type_.bytes
        for extent in extents:
            total *= constant_value(extent) or 1
        if total > MOST_BYTES:
            msg = f"the local {node.name!r} is larger than any memory: {total:,} bytes"
            raise self.program.locator.error(
                UnsupportedError, node, msg, hint="use a smaller array"
            )

    def _elements(
        self, node: c_ast.Decl, variable: Variable, extents: tuple[PwAff, ...]
    ) -> list[Initial]:
        """One write per element of a list; what the list leaves out is zero."""
        counts = [constant_value(extent) for extent in extents]
        total = 1
        for count in counts:
            total *= count if count is not None else _MOST_ELEMENTS + 1
        if not isinstance(node.init, c_ast.InitList) or total > _MOST_ELEMENTS:
            msg = f"this initialiser of {node.name!r} is not taken"
            hint = (
                f"lists fill arrays of fixed extents, up to {_MOST_ELEMENTS} elements; use a loop"
            )
            raise self.program.locator.error(UnsupportedError, node.init, msg, hint=hint)
        sizes = [count or 0 for count in counts]
        zero = c_ast.Constant("int", "0", node.coord)
        return [
            Initial(variable, subscripts, value or zero, value or node)
            for subscripts, value in self._spread(node.init, sizes)
        ]

    def _spread(
        self, value: c_ast.Node | None, sizes: list[int]
    ) -> list[tuple[tuple[int, ...], c_ast.Node | None]]:
        """Each element's subscripts with its expression, ``None`` for an implied zero."""
        if not sizes:
            return [((), value)]
        parts: list[c_ast.Node] = list(value.exprs) if isinstance(value, c_ast.InitList) else []
        plain = len(sizes) == 1 or all(isinstance(p, c_ast.InitList) for p in parts)
        if (
            len(parts) > sizes[0]
            or not plain
            or any(isinstance(p, c_ast.NamedInitializer) for p in parts)
        ):
            if not (len(parts) == 1 and _is_zero(parts[0])):
                msg = "this list does not have the shape of the array"
                raise self.program.locator.error(
                    TypeMismatchError, value, msg, hint="one brace level per dimension"
                )
            parts = []
        padded = [*parts, *[None] * (sizes[0] - len(parts))]
        return [
            ((number, *rest), leaf)
            for number, part in enumerate(padded)
            for rest, leaf in self._spread(part, sizes[1:])
        ]

    def extent(self, size: c_ast.Node, name: str) -> PwAff:
        """``[N] -> { [extent] }``; the largest one where it depends on iterators."""
        lowering = Lowering(self.program, self.env, self.place)
        form = lowering.affine(size, f"an extent of {name!r}")
        return _largest(form, self.place)

    def variable(
        self, name: str, type_: ScalarType, extents: tuple[PwAff, ...], span: Span
    ) -> Variable:
        """A local in memory, with one copy for each iteration of the loops around it."""
        private = self.program.boxes.get(self.place)
        if private is None:
            private = tuple(self._box(level) for level in range(self.place.depth))
            self.program.boxes[self.place] = private
        unique = self.program.fresh(name)
        return self.program.add(Variable(unique, type_, extents, private=private, span=span))

    def _box(self, level: int) -> tuple[PwAff, PwAff]:
        """``[N] -> { [least] }`` and ``[N] -> { [count] }`` of one iterator around."""
        known = self.program.known(self.place)
        if known.is_empty():
            zero = affine_constant(params_space(self.program.params), 0)
            return zero, zero
        line = _shadow(known, self.program.context, level)
        least, most = line.dim_min(level), line.dim_max(level)
        least = plain(least)
        one = affine_constant(least.get_domain_space(), 1)
        return least, plain(most).sub(least).add(one)


def _shadow(where: Set, context: Set, level: int) -> Set:
    """``{ [i] }`` that holds all values of one dimension, with plain bounds where there are some.

    Exact ones of blocks of blocks tell apart what sizes leave over in each, and take isl minutes;
    a local only needs a copy for each value that there may be. Where no bound holds of all parts,
    each has its own; those that sizes have by their types are no bounds of a local.
    """
    if where.n_basic_set() == 1 and where.dim(dim_type.set) < _EXACT:
        return where
    parts = without_type_bounds(where, context).remove_divs()
    for rough in (parts.simple_hull().to_set(), parts):
        after = rough.dim(dim_type.set) - level - 1
        line = rough.eliminate(dim_type.set, level + 1, after).eliminate(dim_type.set, 0, level)
        bounded = line.dim_has_lower_bound(dim_type.set, level)
        if bounded and line.dim_has_upper_bound(dim_type.set, level):
            return line.coalesce()
    return where


def plain(form: PwAff) -> PwAff:
    """The form without the condition under which it is defined."""
    condition = form.domain().params()
    try:
        return form.coalesce().gist_params(condition).coalesce()
    except IslError:  # it stops where parts have other remainders: what holds of all is known then
        return form.coalesce().gist_params(condition.remove_divs()).coalesce()


def _largest(form: PwAff, place: Place) -> PwAff:
    if not form.involves_dims(dim_type.in_, 0, place.depth):
        return form.project_domain_on_params()
    values = Map.from_pw_aff(form).intersect_domain(place.domain).range()
    return plain(values.dim_max(0))


def _is_zero(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.Constant) and node.value.rstrip("fFuUlL") in {"0", "0.0", "0."}


def _ids(node: c_ast.Node) -> list[c_ast.ID]:
    from polyopt.frontend.c.syntax.usage import nodes

    return [n for n in nodes(node) if isinstance(n, c_ast.ID)]
