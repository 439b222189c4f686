"""Einstein summation, ``np.einsum``, and what is written in its words: traces, tensor products."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass
from functools import partial, reduce
from string import ascii_letters
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.errors import UnsupportedError
from polyopt.frontend.arrays.functions.products import named
from polyopt.frontend.arrays.grid import Computed, Grid
from polyopt.frontend.complex_values import as_element, kind_of
from polyopt.frontend.values import Compound, Number, binary, type_of
from polyopt.ir.types import BOOL, promote_numpy
from polyopt.isl import affine_constant, lift_form

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.frontend.arrays.functions.calls import Call, Handler
    from polyopt.frontend.values import Value
    from polyopt.isl import PwAff, Space

#: names of operands: as many as are taken
_OPERANDS = "a b c d e f"


@dataclass(frozen=True)
class _Subscripts:
    """The letters of each operand's axes, and of the result's."""

    operands: tuple[str, ...]
    result: str

    @property
    def summed(self) -> str:
        """Letters that are added up over, in the order in which operands name them."""
        return "".join(dict.fromkeys(k for k in "".join(self.operands) if k not in self.result))


def _parsed(text: str, count: int) -> _Subscripts:
    """Subscripts of so many operands. Raises ``UnsupportedError`` for others."""
    given, arrow, result = text.replace(" ", "").partition("->")
    operands = tuple(given.split(","))
    if "." in given:
        raise UnsupportedError("np.einsum with an ellipsis", hint="name each axis")
    if not arrow:
        times = Counter("".join(operands))
        result = "".join(sorted(k for k, n in times.items() if n == 1))
    letters = {*"".join(operands)}
    if not letters <= {*ascii_letters} or not {*result} <= letters or len({*result}) < len(result):
        raise UnsupportedError(f"{text!r} are no subscripts of np.einsum")
    if len(operands) != count:
        message = f"{text!r} has subscripts of {len(operands)} operand(s), not of {count}"
        raise UnsupportedError(message)
    return _Subscripts(operands, result)


def _einsum(call: Call) -> Any:  # noqa: ANN401
    node = call.node_of("subscripts")
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        raise UnsupportedError("np.einsum takes its subscripts as a string that is written there")
    grids = [call.array(name) for name in _OPERANDS.split() if call.has(name)]
    return _summed(call, grids, _parsed(node.value, len(grids)))


def _trace(call: Call) -> Any:  # noqa: ANN401
    return _summed(call, [call.array("a")], _Subscripts(("ii",), ""))


def _tensordot(call: Call) -> Any:  # noqa: ANN401
    one, other = call.array("a"), call.array("b")
    count = call.integer("axes", 2)
    if not 0 <= count <= min(one.rank, other.rank):
        raise UnsupportedError(f"np.tensordot over {count} axes of arrays that have fewer")
    left = ascii_letters[: one.rank]
    inner = left[one.rank - count :]
    right = inner + ascii_letters[one.rank : one.rank + other.rank - count]
    kept = left[: one.rank - count] + right[count:]
    return _summed(call, [one, other], _Subscripts((left, right), kept))


def _summed(call: Call, grids: Sequence[Grid], subscripts: _Subscripts) -> Grid | Value:
    """Products of elements, added up over the letters that the result has not."""
    read = call.read
    space, statements = read.scope.space, read.statements
    if len(grids) == 1 and not subscripts.summed:
        raise UnsupportedError("a view by np.einsum", hint="use transpose, or a loop")
    extents = _extents(call, grids, subscripts)
    sources = [named(read, grid, call.node) for grid in grids]
    zero = affine_constant(space, 0)
    firsts = [grid.at([zero] * grid.rank, space) for grid in sources]
    if any(isinstance(value, Compound) for value in firsts):
        found = kind_of(reduce(partial(binary, "mul"), firsts))
    else:
        found = reduce(promote_numpy, map(type_of, firsts))
    kind, order = found.computed, subscripts.result + subscripts.summed
    if kind == BOOL:
        raise UnsupportedError("np.einsum of truth values", hint="cast them first")

    def multiplied(index: Sequence[PwAff], where: Space) -> Value:
        places = dict(zip(order, index, strict=True))
        parts = [
            as_element(kind, grid.at([places[k] for k in letters], where))
            for grid, letters in zip(sources, subscripts.operands, strict=True)
        ]
        return reduce(partial(binary, "mul"), parts)

    shape = tuple(extents[k] for k in subscripts.result)
    if not subscripts.summed:
        return Computed(shape, lambda i, where: as_element(found, multiplied(i, where)))
    placed = statements.temp(kind, shape, call.node)
    statements.store(placed, as_element(kind, Number(0)), call.node, first=True)
    with statements.loops([extents[k] for k in order]) as (index, deeper):
        place = index[: len(shape)]
        value = binary("add", placed.at(place, deeper), multiplied(index, deeper))
        statements.emit(placed, place, value, call.node)
    if found.is_half:
        made = Computed(shape, lambda i, where: as_element(found, placed.at(i, where)))
        return made if shape else made.at((), space)
    return placed if shape else placed.at((), space)


def _extents(call: Call, grids: Sequence[Grid], subscripts: _Subscripts) -> Mapping[str, PwAff]:
    """How far each letter goes. Raises ``UnsupportedError`` where axes of one differ."""
    here, space = call.read.here, call.read.scope.space
    extents: dict[str, PwAff] = {}
    for grid, letters in zip(grids, subscripts.operands, strict=True):
        if len(letters) != grid.rank:
            message = f"the subscripts {letters!r} are of an array of {len(letters)} dimension(s)"
            raise UnsupportedError(f"{message}, not {grid.rank}")
        for letter, extent in zip(letters, grid.shape, strict=True):
            form = lift_form(extent, space)
            if letter in extents and not here.equal(extents[letter], form):
                raise UnsupportedError(f"axes that are called {letter!r} and differ in length")
            extents.setdefault(letter, form)
    return extents


#: functions, the names of their arguments, and what reads them
FUNCTIONS: Mapping[object, tuple[str, Handler]] = {
    np.einsum: (f"subscripts {_OPERANDS}", _einsum),
    np.tensordot: ("a b axes", _tensordot),
    np.trace: ("a", _trace),
}
