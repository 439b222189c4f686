"""Bounds on a dimension of a set as expressions of the parameters, simple ones first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.analysis.points import parameter_value
from polyopt.isl import (
    PwAff,
    Set,
    Val,
    affine_constant,
    constant_value,
    context,
    dim_type,
    params_of,
    sample,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.isl import Aff, Constraint


@dataclass(frozen=True, eq=False)
class Range:
    """Every element lies in ``low <= x <= high``, whatever the parameters' values."""

    #: [N] -> { [first] }
    low: PwAff
    #: [N] -> { [last] }
    high: PwAff

    @property
    def extent(self) -> PwAff:
        """``[N] -> { [high - low + 1] }``."""
        one = affine_constant(self.low.get_domain_space(), 1)
        return self.high.sub(self.low).add(one).coalesce()


def param_range(elements: Set, position: int, typical: Mapping[str, int]) -> Range | None:
    """The range of one dimension of ``[N] -> { A[x] }``; ``None`` where nothing bounds it.

    Among the bounds of the set's simple hull, which all hold for all parameters, the one that is
    tightest for ``typical`` values: single quasi-affine expressions, never pieces.
    """
    after = elements.dim(dim_type.set) - position - 1
    line = elements.project_out(dim_type.set, position + 1, after)
    line = line.project_out(dim_type.set, 0, position).reset_tuple_id().coalesce()
    if line.is_empty():
        zero = affine_constant(line.params().get_space(), 0)
        return Range(zero, zero)
    hull = line.compute_divs().simple_hull().remove_unknown_divs()
    lows: list[PwAff] = []
    highs: list[PwAff] = []
    for constraint in hull.get_constraints():
        if not _bounds(constraint):
            continue
        bound = constraint.get_bound(dim_type.set, 0)
        if constraint.is_equality() or constraint.is_lower_bound(dim_type.set, 0):
            lows.append(_of_params(bound.ceil()))
        if constraint.is_equality() or constraint.is_upper_bound(dim_type.set, 0):
            highs.append(_of_params(bound.floor()))
    if not lows or not highs:
        return None
    low = min(lows, key=lambda form: (-parameter_value(form, typical), _weight(form)))
    high = min(highs, key=lambda form: (parameter_value(form, typical), _weight(form)))
    return Range(low, high)


def _bounds(constraint: Constraint) -> bool:
    """Whether the constraint bounds x itself, not a division of x."""
    if not constraint.involves_dims(dim_type.set, 0, 1):
        return False
    aff = constraint.get_aff()
    return not aff.get_coefficient_val(dim_type.in_, 0).is_zero() and all(
        aff.get_coefficient_val(dim_type.div, k).is_zero()
        or not aff.get_div(k).involves_dims(dim_type.in_, 0, 1)
        for k in range(aff.dim(dim_type.div))
    )


def _of_params(bound: Aff) -> PwAff:
    """``{ [x] -> [f] }`` that does not depend on x, as ``{ [f] }``."""
    return PwAff.from_aff(bound.drop_dims(dim_type.in_, 0, 1)).project_domain_on_params()


def _weight(form: PwAff) -> tuple[bool, int, str]:
    """Numbers first, then what has fewer divisions; the text decides between the others."""
    return constant_value(form) is None, form.get_pieces()[0][1].dim(dim_type.div), str(form)


def typical_values(
    context_: Set, sizes: tuple[str, ...], wanted: Mapping[str, int]
) -> dict[str, int]:
    """A value per parameter that the context allows: as wanted, else a large one."""
    known = context_
    result: dict[str, int] = {}
    for name in (*sizes, *wanted):
        position = known.find_dim_by_name(dim_type.param, name)
        for number in ((wanted[name],) if name in wanted else (1 << 20, 1 << 12, 1 << 8)):
            fixed = known.fix_val(dim_type.param, position, Val.int_from_si(context(), number))
            if not fixed.is_empty():
                known, result[name] = fixed, number
                break
    found = sample(known)
    if found is None:
        return result
    names = params_of(known.get_space())
    return dict(zip(names, found["params"], strict=True)) | result
