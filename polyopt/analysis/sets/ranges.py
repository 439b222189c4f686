"""Bounds on a dimension of a set as expressions of the parameters, simple ones first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.analysis.sets.points import parameter_value
from polyopt.isl import (
    Aff,
    PwAff,
    Set,
    affine_constant,
    constant_value,
    dim_type,
    integer_val,
    params_of,
    sample,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.isl import BasicSet, Constraint


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
    line = line.compute_divs()
    hull = line.simple_hull().remove_unknown_divs()
    lows, highs = ([_of_params(b) for b in side] for side in _sides(hull))
    if not lows or not highs:
        return None
    low = min(lows, key=lambda form: (-parameter_value(form, typical), _weight(form)))
    high = min(highs, key=lambda form: (parameter_value(form, typical), _weight(form)))
    if line.n_basic_set() > 1:
        low, high = _of_pieces(line, low, high, typical)
    return Range(low, high)


def _sides(hull: BasicSet) -> tuple[list[Aff], list[Aff]]:
    """Lower and upper bounds on x, as ``{ [x] -> [f] }`` that do not depend on x."""
    lows: list[Aff] = []
    highs: list[Aff] = []
    for constraint in hull.get_constraints():
        if not _bounds(constraint):
            continue
        bound = constraint.get_bound(dim_type.set, 0)
        if constraint.is_equality() or constraint.is_lower_bound(dim_type.set, 0):
            lows.append(bound.ceil())
        if constraint.is_equality() or constraint.is_upper_bound(dim_type.set, 0):
            highs.append(bound.floor())
    return lows, highs


def _of_pieces(
    line: Set, low: PwAff, high: PwAff, typical: Mapping[str, int]
) -> tuple[PwAff, PwAff]:
    """Tighter bounds where single pieces have some: moved until they hold for all pieces.

    The hull has only bounds that it can find by moving constraints of one form.
    """
    for basic in line.get_basic_sets():
        lows, highs = _sides(basic.remove_unknown_divs())
        for bound in lows:
            form = _of_params(bound)
            if parameter_value(form, typical) > parameter_value(low, typical):
                low = _tighter(line, bound, low, typical, lower=True)
        for bound in highs:
            form = _of_params(bound)
            if parameter_value(form, typical) < parameter_value(high, typical):
                high = _tighter(line, bound, high, typical, lower=False)
    return low, high


def _tighter(
    line: Set, bound: Aff, known: PwAff, typical: Mapping[str, int], *, lower: bool
) -> PwAff:
    space = line.get_space().to_local_space()
    distance = Aff.var_on_domain(space, dim_type.set, 0).sub(bound)
    worst = line.min_val(distance) if lower else line.max_val(distance)
    if not worst.is_int():
        return known
    moved = _of_params(bound.add_constant_val(worst))
    one, other = (parameter_value(form, typical) for form in (moved, known))
    return moved if (one > other if lower else one < other) else known


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
        for number in (wanted[name],) if name in wanted else (1 << 20, 1 << 12, 1 << 8):
            fixed = known.fix_val(dim_type.param, position, integer_val(number))
            if not fixed.is_empty():
                known, result[name] = fixed, number
                break
    found = sample(known)
    if found is None:
        return result
    names = params_of(known.get_space())
    return dict(zip(names, found["params"], strict=True)) | result
