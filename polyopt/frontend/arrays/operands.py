"""Operands of expressions over whole arrays: arrays, numbers, tuples, and what they are made of."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from polyopt.errors import UnsupportedError
from polyopt.frontend.arrays.arguments import numpy_type
from polyopt.frontend.arrays.grid import (
    Along,
    Computed,
    Grid,
    Pair,
    lifted,
    reindexed,
    strong,
    whole,
)
from polyopt.frontend.arrays.helpers import operand_of
from polyopt.frontend.arrays.slices import Place, broadcast, broadcast_to
from polyopt.frontend.complex_values import (
    Complex,
    as_element,
    imaginary_part,
    kind_of,
    number_of,
    real_part,
)
from polyopt.frontend.located import located
from polyopt.frontend.loops.expressions import Expressions
from polyopt.frontend.loops.scope import Known, Shape, View
from polyopt.frontend.values import (
    Form,
    Number,
    Strong,
    Value,
    Weak,
    binary,
)
from polyopt.ir.expr import Load
from polyopt.isl import affine_constant, lift_form

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyopt.frontend.arrays.statements import ArrayStatements
    from polyopt.ir.types import ScalarType
    from polyopt.isl import PwAff, Set, Space


@dataclass(frozen=True, eq=False)
class Items:
    """A tuple: what a function returns, or is given as axes."""

    items: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Method:
    """``a.sum`` of an array, which is yet to be called."""

    of: Any
    name: str


@dataclass(frozen=True, eq=False)
class ComplexVariable:
    """A complex number with storage: the names that its parts have."""

    re: str
    im: str


#: Objects whose attributes do not change, or whose changes are looked for
_UNCHANGED: tuple[Any, ...] = (ModuleType, type, np.dtype, np.finfo, np.iinfo, np.ufunc)
#: Everything that an expression may be.
AnyOperand = Any


#: parts of complex numbers, by attribute
_PARTS: dict[str, Callable[[Value], Value]] = {"real": real_part, "imag": imaginary_part}


def is_number(operand: AnyOperand) -> TypeGuard[Pair]:
    """Whether it is one stored complex number."""
    return isinstance(operand, Pair) and operand.space is not None


class ArrayOperands(Expressions):
    """Reads operands; what has to be stored on the way is stored by the statements' reader."""

    def __init__(self, statements: ArrayStatements) -> None:
        super().__init__(statements.scope)
        self._statements = statements
        #: what a condition around, inside of an expression, leaves of the domain
        self._region: Set | None = None

    @property
    def here(self) -> Place:
        """Where questions about sizes are asked."""
        domain = self._statements.domain
        if self._region is not None:
            domain = domain.intersect(self._region)
        return Place(self._statements.facts, domain)

    @property
    def known(self) -> Set:
        here = self.here
        return here.domain.intersect_params(here.facts.context)

    @property
    def statements(self) -> ArrayStatements:
        """The reader of the statements around."""
        return self._statements

    # operands

    def operand(self, node: ast.expr) -> AnyOperand:
        """The node as a number, an array, a shape, a tuple, or a known Python object."""
        with located(lambda: self.span(node)):
            match node:
                case ast.Tuple() | ast.List():
                    return Items(tuple(self.operand(item) for item in node.elts))
                case ast.Constant(value=str() | None):
                    return Known(node.value)
                case ast.Constant(value=complex()):
                    return number_of(node.value)
                case _:
                    return self._operand(node)

    def array_or_number(self, node: ast.expr) -> Grid | Value:
        """The node as an array or a number. Raises ``UnsupportedError`` for anything else."""
        operand = self.operand(node)
        with located(lambda: self.span(node)):
            return self.numeric(operand)

    def numeric(self, operand: AnyOperand) -> Grid | Value:
        """An operand as an array or a number. Raises ``UnsupportedError`` for anything else."""
        if isinstance(operand, Grid) and not is_number(operand):
            return operand
        return self._as_value(operand)

    @staticmethod
    def _as_value(operand: AnyOperand) -> Value:
        if is_number(operand):
            assert operand.space is not None
            return operand.at((), operand.space)
        if isinstance(operand, Grid):
            raise UnsupportedError(
                f"an array of {operand.rank} dimension(s) where a number is needed",
                hint="reduce it, such as with .sum() or .any(), or choose one element",
            )
        if isinstance(operand, Items | Method):
            what = "a tuple" if isinstance(operand, Items) else f"the method {operand.name}"
            raise UnsupportedError(f"{what} where a number is needed")
        if isinstance(operand, Known) and isinstance(operand.value, np.ndarray):
            raise UnsupportedError(
                "an array from outside of the function", hint="pass it as an argument"
            )
        if isinstance(operand, Known):
            return number_of(operand.value)
        if isinstance(operand, View) and not operand.rank:
            array = operand.array
            return Strong(Load(array.type, array.name, operand.index, operand.span))
        return Expressions._as_value(operand)  # noqa: SLF001 (of the base)

    def _loaded(self, load: Load) -> Value:
        return Strong(load)  # halves stay halves

    def as_number(self, operand: AnyOperand) -> Value:
        """An operand as a number. Raises ``UnsupportedError`` for anything else."""
        return self._as_value(operand)

    @staticmethod
    def converted(value: Value, kind: ScalarType) -> Value:
        """The number as an element of an array of that type."""
        return as_element(kind, value)

    def elementwise(
        self, compute: Callable[..., Value], operands: Sequence[Grid | Value], node: ast.AST
    ) -> Grid | Value:
        """An operation on numbers, done on the elements of arrays with NumPy's broadcasting."""
        grids = [o for o in operands if isinstance(o, Grid)]
        if not grids:
            return compute(*operands)
        here = self.here
        shape = broadcast([g.shape for g in grids], here)
        spread = [broadcast_to(o, shape, here) if isinstance(o, Grid) else o for o in operands]

        def element(index: Sequence[PwAff], space: Space) -> Value:
            values = [
                o.at(index, space) if isinstance(o, Grid) else lifted(o, space) for o in spread
            ]
            with located(lambda: self.span(node)):
                return strong(compute(*values))

        return Computed(shape, element)

    # names and attributes

    def _name(self, node: ast.Name) -> AnyOperand:
        found = super()._name(node)
        if isinstance(found, ComplexVariable):
            parts = (ast.copy_location(ast.Name(n, ast.Load()), node) for n in (found.re, found.im))
            return Complex(*(self._name(part) for part in parts))
        if isinstance(found, View) and found.rank:
            return whole(found.array, found.index, self.scope.space, found.span)
        if isinstance(found, Known) and self.scope.binding(node.id) is None:
            self._statements.saw(self.scope.function, node.id, found.value)
        return lifted(found, self.scope.space) if isinstance(found, Weak | Strong) else found

    def _attribute(self, node: ast.Attribute) -> AnyOperand:
        base = self.operand(node.value)
        if isinstance(base, Grid):
            return self._array_attribute(base, node)
        if isinstance(base, Known):
            return self._known_attribute(base, node)
        if isinstance(base, Shape | Items | Method):
            raise UnsupportedError(f"the attribute .{node.attr} is not taken here")
        if node.attr == "dtype":
            return Known(numpy_type(kind_of(base)))
        if node.attr in _PARTS:
            return _PARTS[node.attr](base)
        return Method(base, node.attr)

    def _known_attribute(self, base: Known, node: ast.Attribute) -> AnyOperand:
        origin: Any = base.value
        if not hasattr(origin, node.attr):
            raise UnsupportedError(f"{ast.unparse(node.value)} has no {node.attr!r}")
        if not isinstance(origin, _UNCHANGED):
            raise UnsupportedError(
                f"the attribute .{node.attr} of an object may change",
                hint="pass the value as an argument",
            )
        value: object = getattr(origin, node.attr)
        if isinstance(origin, ModuleType):
            self._statements.saw(origin, node.attr, value)
        return operand_of(value)

    def _array_attribute(self, base: Grid, node: ast.Attribute) -> AnyOperand:
        match node.attr:
            case "shape":
                return Shape(tuple(Form(self.lifted(extent)) for extent in base.shape))
            case "ndim":
                return Number(base.rank)
            case "dtype":
                return Known(numpy_type(base.type(self.scope.space)))
            case "size":
                return self.count(base.shape)
            case "real" | "imag":
                return self.part(node.attr, base, node)
            case "T":
                return self.transposed(base, range(base.rank)[::-1])
            case _:
                return Method(base, node.attr)

    def part(self, name: str, base: Grid | Value, node: ast.AST) -> AnyOperand:
        """``real`` or ``imag``: a view of complex numbers that are stored, a real array itself."""
        if isinstance(base, Pair):
            return base.re if name == "real" else base.im
        if name == "real" and isinstance(base, Grid):
            is_real = not base.type(self.scope.space).is_complex
            if is_real:
                return base
        return self.elementwise(_PARTS[name], [base], node)

    def lifted(self, form: PwAff) -> PwAff:
        """A form from outer loops over the loops around here."""
        return lift_form(form, self.scope.space)

    def count(self, shape: Sequence[PwAff]) -> Value:
        """The number of elements of a shape."""
        result: Value = Number(1)
        for extent in shape:
            result = binary("mul", result, Form(self.lifted(extent)))
        return result

    def transposed(self, base: Grid, order: Sequence[int]) -> Grid:
        """The array with its axes in another order."""
        zero = affine_constant(self.scope.space, 0)
        picks = [Along(order.index(axis), zero, 1) for axis in range(base.rank)]
        return reindexed(base, picks, [base.shape[axis] for axis in order], self.scope.space)
