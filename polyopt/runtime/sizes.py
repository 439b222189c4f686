"""A kernel's sizes from its arrays' shapes: equations solved, and what contradicts them named."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.codegen.expressions.affine import c_affine, operation_name
from polyopt.codegen.printers.c_expr import c_text, hints
from polyopt.codegen.signature import sizes_called
from polyopt.errors import ArgumentError, InternalError
from polyopt.isl import (
    AstBuild,
    AstExpr,
    Set,
    ast_expr_type,
    constant_value,
    dim_type,
    exclusive,
    params_space,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from polyopt.codegen.signature import Argument
    from polyopt.isl import PwAff


@dataclass(frozen=True)
class Equation:
    """``sum(coefficients[p] * p) + constant = extent of dimension axis of array``."""

    array: str
    axis: int
    coefficients: Mapping[str, Fraction]
    constant: Fraction

    @property
    def place(self) -> str:
        """The extent as Python spells it."""
        return f"{self.array}.shape[{self.axis}]"


@dataclass(frozen=True, eq=False)
class SizeSolver:
    """What shapes say about sizes, for one signature.

    Kernels are made and called by many threads, and isl is for one at a time.
    """

    params: tuple[str, ...]
    arguments: tuple[Argument, ...]
    #: [N] -> { : what sizes have to satisfy }
    context: Set

    @cached_property
    def equations(self) -> tuple[Equation, ...]:
        """Every extent that is linear in the sizes."""
        found = (
            _equation(argument.name, axis, extent)
            for argument in self.arguments
            for axis, extent in enumerate(argument.extents)
        )
        return tuple(equation for equation in found if equation is not None)

    @exclusive()
    def derivable(self, arrays: set[str]) -> set[str]:
        """The sizes that these arrays' shapes determine."""
        known: set[str] = set()
        usable = [e for e in self.equations if e.array in arrays]
        while True:
            new = {
                u[0] for e in usable if len(u := [p for p in e.coefficients if p not in known]) == 1
            }
            if not new:
                return known
            known |= new

    @exclusive()
    def solve(
        self, given: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]
    ) -> dict[str, int]:
        """All sizes, from those given and the arrays' shapes.

        Raises ``ArgumentError``: a size that nothing determines, arrays that contradict each
        other (both are named), or sizes that the program does not allow.
        """
        sizes, origin = self._derive(given, shapes)
        missing = [p for p in self.params if p not in sizes]
        if missing:
            listed = ", ".join(missing)
            raise ArgumentError(
                f"the size {listed} does not follow from the arrays given",
                hint="pass " + ", ".join(f"{p}=..." for p in missing),
            )
        for name, shape in shapes.items():
            self._check_shape(name, shape, sizes, origin)
        self._check_context(sizes, origin)
        return sizes

    @exclusive()
    def shape(self, argument: Argument, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """An array's extents under given sizes."""
        return tuple(evaluate(expr, sizes) for expr in self._extents[argument.name])

    @cached_property
    def _extents(self) -> dict[str, list[AstExpr]]:
        build = AstBuild.from_context(self.context)
        return {
            a.name: [build.expr_from_pw_aff(extent) for extent in a.extents] for a in self.arguments
        }

    def _derive(
        self, given: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]
    ) -> tuple[dict[str, int], dict[str, str]]:
        sizes = dict(given)
        origin = {name: f"{name} = {value} as given" for name, value in given.items()}
        usable = [e for e in self.equations if e.array in shapes]
        progress = True
        while progress:
            progress = False
            for equation in usable:
                unknown = [p for p in equation.coefficients if p not in sizes]
                if len(unknown) != 1:
                    continue
                name, extent = unknown[0], shapes[equation.array][equation.axis]
                sizes[name] = _solved(equation, name, extent, sizes)
                origin[name] = f"{name} = {sizes[name]} from {equation.place} = {extent}"
                progress = True
        return sizes, origin

    def _check_shape(
        self,
        name: str,
        shape: tuple[int, ...],
        sizes: Mapping[str, int],
        origin: Mapping[str, str],
    ) -> None:
        argument = next(a for a in self.arguments if a.name == name)
        expected = self.shape(argument, sizes)
        if shape == expected:
            return
        used = [origin[p] for p in self.params if any(p in e for e in self._uses(name))]
        wanted = ", ".join(argument.c_extents)
        raise ArgumentError(
            f"{name} has shape {shape}, but {expected} is needed",
            notes=[f"{name} is declared as ({wanted})", *used],
        )

    def _uses(self, name: str) -> list[set[str]]:
        argument = next(a for a in self.arguments if a.name == name)
        return [_params_in(extent) for extent in argument.extents]

    def _check_context(self, sizes: Mapping[str, int], origin: Mapping[str, str]) -> None:
        for condition in self._conditions:
            if not evaluate(condition, sizes):
                named = sizes_called({name: name for name in self.params})
                text = c_text(c_affine(condition, named).node, hints)
                used = [origin[p] for p in self.params if p in _names_in(condition)]
                raise ArgumentError(f"the program needs {text}", notes=used)

    @cached_property
    def _conditions(self) -> list[AstExpr]:
        """The context as conditions that all have to hold."""
        universe = Set.universe(params_space(self.params))
        return _conjuncts(AstBuild.from_context(universe).expr_from_set(self.context.coalesce()))


def _equation(array: str, axis: int, extent: PwAff) -> Equation | None:
    """``None`` where the extent is piecewise or rounds: such a dimension is only checked."""
    if not extent.isa_aff():
        return None
    aff = extent.as_aff()
    if aff.dim(dim_type.div):
        return None
    coefficients: dict[str, Fraction] = {}
    for position in range(aff.dim(dim_type.param)):
        value = aff.get_coefficient_val(dim_type.param, position)
        if not value.is_zero():
            name = aff.get_dim_name(dim_type.param, position) or ""
            coefficients[name] = Fraction(str(value))
    return Equation(array, axis, coefficients, Fraction(str(aff.get_constant_val())))


def _solved(equation: Equation, name: str, extent: int, sizes: Mapping[str, int]) -> int:
    known = sum((c * sizes[p] for p, c in equation.coefficients.items() if p != name), Fraction(0))
    value = (extent - equation.constant - known) / equation.coefficients[name]
    if value.denominator != 1:
        msg = f"{equation.place} is {extent}, for which there is no whole {name}"
        raise ArgumentError(msg)
    return int(value)


def _params_in(extent: PwAff) -> set[str]:
    if constant_value(extent) is not None:
        return set()
    names = [extent.get_dim_name(dim_type.param, i) for i in range(extent.dim(dim_type.param))]
    used = (extent.involves_dims(dim_type.param, i, 1) for i in range(len(names)))
    return {name or "" for name, is_used in zip(names, used, strict=True) if is_used}


def _conjuncts(expr: AstExpr) -> list[AstExpr]:
    is_and = expr.get_type() == ast_expr_type.op and operation_name(expr) in {
        "and",
        "and_then",
    }
    if not is_and:
        return [expr]
    return [part for i in range(expr.get_op_n_arg()) for part in _conjuncts(expr.get_op_arg(i))]


def _names_in(expr: AstExpr) -> set[str]:
    kind = expr.get_type()
    if kind == ast_expr_type.id:
        return {expr.get_id().get_name()}
    if kind == ast_expr_type.int:
        return set()
    parts = [_names_in(expr.get_op_arg(i)) for i in range(expr.get_op_n_arg())]
    return {name for part in parts for name in part}


def evaluate(expr: AstExpr, values: Mapping[str, int]) -> int:
    """The value of an affine expression or condition (1 or 0) of isl's AST."""
    kind = expr.get_type()
    if kind == ast_expr_type.int:
        return expr.get_val().to_python()
    if kind == ast_expr_type.id:
        return values[expr.get_id().get_name()]
    args = [expr.get_op_arg(i) for i in range(expr.get_op_n_arg())]
    op = operation_name(expr)
    if op in {"cond", "select"}:
        return evaluate(args[1] if evaluate(args[0], values) else args[2], values)
    return _operation(op, [evaluate(arg, values) for arg in args])


def _operation(op: str, args: list[int]) -> int:
    if op in {"min", "max"}:
        return min(args) if op == "min" else max(args)
    if op == "minus":
        return -args[0]
    if op not in _OPERATIONS:
        msg = f"no value for isl's operation {op}"
        raise InternalError(msg)
    return int(_OPERATIONS[op](*args))


_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": lambda a, b: a // b, "fdiv_q": lambda a, b: a // b, "pdiv_q": lambda a, b: a // b,
    "pdiv_r": lambda a, b: a % b, "zdiv_r": lambda a, b: a % b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b, "and": lambda a, b: a and b, "and_then": lambda a, b: a and b,
    "or": lambda a, b: a or b, "or_else": lambda a, b: a or b,
}  # fmt: skip
