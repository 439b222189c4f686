"""What a function returns: arguments, new arrays, numbers, or a tuple of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polyopt.errors import UnsupportedError
from polyopt.frontend.arrays.grid import Grid, Pair, Placed
from polyopt.frontend.complex_values import Complex
from polyopt.frontend.loops.scope import Known, Shape
from polyopt.frontend.values import Form, Number, Value, is_weak, type_of

if TYPE_CHECKING:
    import ast
    from collections.abc import Mapping

    from polyopt.frontend.arrays.statements import ArrayStatements
    from polyopt.ir.scop import Array
    from polyopt.isl import Set


@dataclass(frozen=True)
class Result:
    """One thing that is returned.

    ``kind`` is ``argument`` (the caller's own object, by its name), ``array`` (a new array of the
    program, by its name), ``number`` (a NumPy scalar in one), ``python`` (a Python number in one),
    or ``constant``; ``complex array``, ``complex number`` and ``complex python`` are arrays whose
    last axis is real and imaginary part.
    """

    kind: str
    name: str = ""
    value: Any = None


@dataclass(frozen=True)
class Returned:
    """What a function returns: one thing, or a tuple of them."""

    items: tuple[Result, ...] = (Result("constant"),)
    is_tuple: bool = False


class Results:
    """Takes the return statement of a function, or of a helper."""

    def __init__(self, statements: ArrayStatements) -> None:
        self._statements = statements
        self.done = False
        self.is_helper = False
        #: what a helper returns
        self.operand: Any = Known(None)
        self.returned = Returned()
        self.outs: list[Array] = []
        #: names of the caller's arrays
        self.arguments: Mapping[int, str] = {}
        self._begun: tuple[int, int, Set] | None = None

    def begin(self) -> None:
        """Remember the loops and conditions around the function's own statements."""
        self._begun = self._around()

    def _around(self) -> tuple[int, int, Set]:
        found = self._statements
        return found.scope.depth, found.tests, found.domain

    def take(self, node: ast.Return) -> None:
        """The statement ``return ...``. Raises ``UnsupportedError`` inside of loops."""
        read = self._statements.read
        if (
            self._begun is None
            or self._around()[:2] != self._begun[:2]
            or (self._around()[2] is not self._begun[2])
        ):
            raise UnsupportedError(
                "a return inside of a loop or a condition",
                hint="assign the result, and return it at the end",
            )
        operand = Known(None) if node.value is None else read.operand(node.value)
        self.done = True
        if self.is_helper:
            self.operand = operand
            return
        from polyopt.frontend.arrays.operands import Items

        if isinstance(operand, Items | Shape):
            parts = operand.items if isinstance(operand, Items) else operand.sizes
            self.returned = Returned(tuple(self._result(p, node) for p in parts), is_tuple=True)
        else:
            self.returned = Returned((self._result(operand, node),))

    def _result(self, operand: Any, node: ast.AST) -> Result:  # noqa: ANN401
        from polyopt.frontend.arrays.operands import is_number

        if id(operand) in self.arguments:
            return Result("argument", self.arguments[id(operand)])
        if isinstance(operand, Grid) and not is_number(operand):
            return self._array(operand, node)
        if isinstance(operand, Known):
            if operand.value is None or isinstance(operand.value, str):
                return Result("constant", value=operand.value)
            raise UnsupportedError("an object is returned that is neither array nor number")
        return self._number(self._statements.read.as_number(operand), node)

    def _array(self, grid: Grid, node: ast.AST) -> Result:
        found = self._statements
        is_stored = isinstance(grid, Placed | Pair)
        if is_stored and grid.array.role != "temp":
            raise UnsupportedError(
                "a view of an argument is returned",
                hint="return a copy of it, or make the view where it is needed",
            )
        if not (is_stored and grid.is_whole):
            grid = found.materialise(grid, node, "result")
        assert isinstance(grid, Placed | Pair)
        if grid.array not in self.outs:
            self.outs.append(grid.array)
        return Result("array" if isinstance(grid, Placed) else "complex array", grid.array.name)

    def _number(self, value: Value, node: ast.AST) -> Result:
        if isinstance(value, Number):
            return Result("constant", value=value.value)
        if isinstance(value, Complex):
            pair = self._statements.temp(value.kind, (), node)
            self._statements.store(pair, value, node, first=True)
            self.outs.append(pair.array)
            return Result(
                "complex python" if value.is_python else "complex number", pair.array.name
            )
        kind = "python" if is_weak(value) or isinstance(value, Form) else "number"
        array = self._statements.scalar(type_of(value), value, node)
        self.outs.append(array)
        return Result(kind, array.name)
