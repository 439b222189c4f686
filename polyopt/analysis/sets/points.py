"""Numbers out of sets: elements and affine values for given sizes, a whole column at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyopt.errors import InternalError
from polyopt.isl import dim_type, fix_param_values, params_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from polyopt.isl import Aff, PwAff, Set, Val

    #: One row per element, one column per dimension.
    Rows = NDArray[np.int64]

#: what 64 bits hold
_MOST = (1 << 63) - 1


def points(domain: Set, params: Mapping[str, int]) -> Rows:
    """The elements of ``{ S[i] }`` for the given sizes, in lexicographic order.

    Grows the elements dimension by dimension, so that thin sets in wide boxes cost little.
    Raises ``InternalError`` for an infinite set.
    """
    fixed = fix_param_values(domain, params)
    depth = fixed.dim(dim_type.set)
    rows = np.zeros((0 if fixed.is_empty() else 1, 0), np.int64)
    for level in range(depth):
        if not len(rows):
            break
        part = fixed.project_out(dim_type.set, level + 1, depth - level - 1)
        column = np.arange(*_range(part, level), dtype=np.int64)
        longer = np.tile(column, len(rows))[:, None]
        rows = np.hstack((np.repeat(rows, len(column), axis=0), longer))
        rows = rows[holds(part, rows, params)]
    return rows.reshape(len(rows), depth)


def _range(part: Set, position: int) -> tuple[int, int]:
    low, high = part.dim_min_val(position), part.dim_max_val(position)
    if not (low.is_int() and high.is_int()):
        msg = f"dimension {position} of {part} has no bounds for the given sizes"
        raise InternalError(msg)
    return low.to_python(), high.to_python() + 1


def holds(where: Set, rows: Rows, params: Mapping[str, int]) -> NDArray[np.bool_]:
    """For each row, whether it is an element of the set."""
    inside = np.zeros(len(rows), np.bool_)
    for basic in where.compute_divs().get_basic_sets():
        here = np.ones(len(rows), np.bool_)
        for constraint in basic.get_constraints():
            value = _values(constraint.get_aff(), rows, params)
            here &= value == 0 if constraint.is_equality() else value >= 0
        inside |= here
    return inside


def affine_values(form: PwAff, rows: Rows, params: Mapping[str, int]) -> NDArray[np.int64]:
    """The value of ``{ S[i] -> [value] }`` at each row; zero where it is not defined."""
    pieces = form.get_pieces()
    if len(pieces) == 1 and pieces[0][0].plain_is_universe():
        return _values(pieces[0][1], rows, params)
    result = np.zeros(len(rows), np.int64)
    for where, aff in pieces:
        chosen = holds(where, rows, params)
        found = _values(aff, rows[chosen], params)
        result = result.astype(np.result_type(result, found), copy=False)
        result[chosen] = found
    return result


def parameter_value(form: PwAff, params: Mapping[str, int]) -> int:
    """The value of an expression of the parameters alone, such as an extent."""
    return int(affine_values(form, np.zeros((1, 0), np.int64), params)[0])


def _values(aff: Aff, rows: Rows, params: Mapping[str, int]) -> NDArray[np.int64]:
    """``floor(aff)`` at each row; nested divisions are evaluated from the inside out.

    Python's integers where a value on the way or a result does not fit into 64 bits.
    """
    scale = aff.get_denominator_val()
    constant = aff.get_constant_val().mul(scale).to_python()
    for position, name in enumerate(params_of(aff.get_domain_space())):
        factor = aff.get_coefficient_val(dim_type.param, position)
        if not factor.is_zero():
            constant += factor.mul(scale).to_python() * _given(params, name)
    terms = list(_terms(aff, scale, rows, params))
    reach = abs(constant) + sum(abs(factor) * _largest(column) for factor, column in terms)
    divisor = scale.to_python()
    kind = np.int64 if max(reach, divisor) <= _MOST else object
    total = np.full(len(rows), constant, kind)
    for factor, column in terms:
        total += factor * column.astype(kind, copy=False)
    return _narrowed(total if divisor == 1 else total // divisor)


def _terms(
    aff: Aff, scale: Val, rows: Rows, params: Mapping[str, int]
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Dimensions and divisions with their whole factors."""
    for position in range(aff.dim(dim_type.in_)):
        factor = aff.get_coefficient_val(dim_type.in_, position)
        if not factor.is_zero():
            yield factor.mul(scale).to_python(), rows[:, position]
    for position in range(aff.dim(dim_type.div)):
        factor = aff.get_coefficient_val(dim_type.div, position)
        if not factor.is_zero():
            yield factor.mul(scale).to_python(), _values(aff.get_div(position), rows, params)


def _largest(column: NDArray[np.int64]) -> int:
    """The largest absolute value; one of nothing, so that factors count."""
    return max(1, -int(column.min()), int(column.max())) if len(column) else 1


def _narrowed(column: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same as 64 bits where all of it fits."""
    fits = column.dtype == np.int64 or _largest(column) <= _MOST
    return column.astype(np.int64, copy=False) if fits else column


def _given(params: Mapping[str, int], name: str) -> int:
    if name not in params:
        msg = f"no value for the parameter {name!r}"
        raise InternalError(msg)
    return params[name]
