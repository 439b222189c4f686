"""What a function is given: arrays, views of arrays, numbers, and what is known beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.frontend.arrays.grid import Along, Fixed, Pair, Placed, paired
from polyopt.frontend.arrays.helpers import operand_of
from polyopt.frontend.complex_values import Complex
from polyopt.frontend.loops.scope import Alias, Binding, Variable
from polyopt.frontend.values import Form, Strong, Weak
from polyopt.ir import build
from polyopt.ir.expr import Load, index_of
from polyopt.ir.scop import Array
from polyopt.ir.types import ELEMENTS
from polyopt.isl import Set, affine_constant, instance_space, params_space

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.frontend.arrays.facts import Facts, Sizes
    from polyopt.frontend.arrays.grid import Subscript
    from polyopt.ir.types import ScalarType
    from polyopt.isl import Space


#: types of the arrays that are taken
ARRAY_TYPES = tuple(ELEMENTS.values())
#: the same, for messages
TAKEN_TYPES = (
    "NumPy's integers, float16, float32, float64, complex64, complex128 and bool, and bfloat16 of"
    " ml_dtypes"
)


def numpy_type(kind: ScalarType) -> np.dtype[Any]:
    """The dtype of a function's arrays: of bfloat16 that of ``ml_dtypes``, which who has such
    arrays has loaded."""
    return np.dtype(kind.numpy_name)


@dataclass(frozen=True)
class Owner:
    """Memory that arguments lie in: an array in C order. Its sizes are ``stem_0``, ``stem_1``."""

    name: str
    type: ScalarType
    rank: int
    stem: str

    def size(self, axis: int) -> str:
        """The name of an extent."""
        return f"{self.stem}_{axis}"


@dataclass(frozen=True)
class ArrayArgument:
    """An array argument: which axis of its owner each axis walks along, and in which steps.

    Of a view (``is_part``) the sizes are ``stem_0``, ``stem_1``, and it begins at ``stem_from_0``
    and so on in its owner; an axis of step 0 repeats.
    """

    name: str
    owner: str
    #: axis of the owner, and step, by axis of the argument
    axes: tuple[tuple[int, int], ...]
    stem: str
    is_part: bool = False
    #: whether its last axis is real and imaginary part of complex numbers
    is_complex: bool = False

    def size(self, axis: int) -> str:
        """The name of an extent of a view."""
        return f"{self.stem}_{axis}"

    def first(self, axis: int) -> str:
        """The name of the index in the owner's axis at which a view begins."""
        return f"{self.stem}_from_{axis}"


def part_names(name: str, taken: Sequence[str]) -> tuple[str, str]:
    """Names of the parts of a complex number, other than the names that are taken."""
    stem = name
    while any(f"{stem}_{part}" in taken for part in ("re", "im")):
        stem += "_"
    return f"{stem}_re", f"{stem}_im"


@dataclass(frozen=True)
class Arguments:
    """All arguments of a call, as far as a program depends on them."""

    #: the function's names for them, in order
    names: tuple[str, ...]
    owners: tuple[Owner, ...] = ()
    arrays: tuple[ArrayArgument, ...] = ()
    #: type of a number, and whether it is one of Python's
    scalars: tuple[tuple[str, ScalarType, bool], ...] = ()
    #: Python integers that are sizes of the program
    sizes: tuple[str, ...] = ()
    #: what is known beforehand
    constants: tuple[tuple[str, Any], ...] = ()
    #: names of the arrays that are copied before and after a call
    copied: tuple[str, ...] = ()

    @property
    def passed(self) -> tuple[tuple[str, ScalarType], ...]:
        """The numbers that a program is given: of a complex one its parts."""
        found = [(name, kind) for name, kind, _ in self.scalars if not kind.is_complex]
        kinds = {name: kind for name, kind, _ in self.scalars}
        for name, _, parts in self.complex_numbers:
            found += [(part, kinds[name].part) for part in parts]
        return tuple(found)

    @property
    def complex_numbers(self) -> tuple[tuple[str, bool, tuple[str, str]], ...]:
        """Complex numbers, whether they are Python's, and what their parts are called."""
        return tuple(
            (name, weak, part_names(name, self.names))
            for name, kind, weak in self.scalars
            if kind.is_complex
        )


@dataclass(frozen=True, eq=False)
class Bound:
    """The arguments as a reader of the function has them."""

    arrays: tuple[Array, ...]
    bindings: Mapping[str, Binding]
    #: names of array arguments by the identity of the operand
    identities: Mapping[int, str]


def bound(given: Arguments, sizes: Sizes, facts: Facts) -> Bound:
    """Arrays of the program, and what the function's names mean."""
    params = params_space(sizes.params)
    space = instance_space(sizes.params, "", ())
    owners = {
        o.name: Array(
            o.name, o.type, tuple(sizes.form(o.size(k), params) for k in range(o.rank)), "in"
        )
        for o in given.owners
    }
    bindings: dict[str, Binding] = {}
    identities: dict[int, str] = {}
    for argument in given.arrays:
        placed = _placed(argument, owners[argument.owner], sizes, space)
        if argument.is_part:
            _assume_inside(argument, owners[argument.owner], sizes, facts)
        operand: Placed | Pair = placed
        if argument.is_complex:
            lies = placed.array.extents[-1].insert_domain(space)
            for extent in (placed.shape[-1], lies):
                facts.equal(extent, affine_constant(space, 2), Set.universe(space))
            operand = paired(placed, space)
        bindings[argument.name] = Alias(operand)
        identities[id(operand)] = argument.name
    scalars = {name: Array(name, kind.computed, (), "in") for name, kind in given.passed}
    bindings |= _numbers(given, scalars)
    for name in given.sizes:
        bindings[name] = Alias(Form(sizes.form(name, space)))
    for name, value in given.constants:
        bindings[name] = Alias(operand_of(value))
    return Bound((*owners.values(), *scalars.values()), bindings, identities)


def _numbers(given: Arguments, scalars: Mapping[str, Array]) -> dict[str, Binding]:
    """What the names of numbers mean: a half is passed as the f32 that it is, a complex number as
    two."""
    found: dict[str, Binding] = {}
    for name, kind, weak in given.scalars:
        if kind.is_half:
            half = build.cast(kind, Load(kind.computed, name, (), None))
            found[name] = Alias(Strong(half))
        elif not kind.is_complex:
            found[name] = Variable(scalars[name], weak=weak, argument=True)
    for name, weak, parts in given.complex_numbers:
        number = (Load(scalars[part].type, part, (), None) for part in parts)
        found[name] = Alias(Complex(*((Weak if weak else Strong)(part) for part in number)))
    return found


def _placed(argument: ArrayArgument, owner: Array, sizes: Sizes, space: Space) -> Placed:
    zero = affine_constant(space, 0)
    along = {axis: (k, step) for k, (axis, step) in enumerate(argument.axes) if step}
    subscripts: list[Subscript] = []
    for axis in range(owner.rank):
        first = sizes.form(argument.first(axis), space) if argument.is_part else zero
        if axis in along:
            position, step = along[axis]
            subscripts.append(Along(position, first, step))
        else:
            subscripts.append(Fixed(index_of(first)))
    if argument.is_part:
        shape = tuple(sizes.form(argument.size(k), space) for k in range(len(argument.axes)))
    else:
        shape = tuple(owner.extents[axis].insert_domain(space) for axis, _ in argument.axes)
    return Placed(shape, owner, tuple(subscripts))


def _assume_inside(argument: ArrayArgument, owner: Array, sizes: Sizes, facts: Facts) -> None:
    """A view lies in its owner, whatever its sizes."""
    params = params_space(sizes.params)
    zero, one = affine_constant(params, 0), affine_constant(params, 1)
    steps = {axis: (k, step) for k, (axis, step) in enumerate(argument.axes) if step}
    for axis, extent in enumerate(owner.extents):
        first = sizes.form(argument.first(axis), params)
        last = first
        if axis in steps:
            position, step = steps[axis]
            size = sizes.form(argument.size(position), params)
            facts.assume(size.ge_set(one))
            last = first.add(size.sub(one).mul(affine_constant(params, step)))
        for end in (first, last):
            facts.assume(end.ge_set(zero))
            facts.assume(end.lt_set(extent))
