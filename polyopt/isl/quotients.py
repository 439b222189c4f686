"""Division by a size: quasi-affine where the quotient is one of a few numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.isl.affine import affine_constant

if TYPE_CHECKING:
    from polyopt.isl.api import PwAff, Set

#: quotients from minus this to this are told apart: wrapping around takes one or two, and each is a
#: piece of every form it is part of
MOST_QUOTIENT = 3


def floor_quotient(form: PwAff, divisor: PwAff, known: Set) -> PwAff | None:
    """``floor(form / divisor)`` on ``known``, or ``None`` where it is not one of few numbers there.

    The divisor has to be positive on ``known``. Elsewhere the result is any number. Source:
    wrapped subscripts ``(y + 1) % h`` are index-set splitting, Griebl, Feautrier and Lengauer 1999.
    """
    space = form.get_domain_space()
    zero = affine_constant(space, 0)

    def times(count: int) -> PwAff:
        return divisor.mul(affine_constant(space, count))

    if not known.is_subset(divisor.gt_set(zero)):
        return None
    tried = range(-MOST_QUOTIENT, MOST_QUOTIENT + 1)
    low = next((q for q in reversed(tried) if known.is_subset(form.ge_set(times(q)))), None)
    high = next((q for q in tried if known.is_subset(form.lt_set(times(q + 1)))), None)
    if low is None or high is None or high < low:
        return None
    result = affine_constant(space, low)
    for quotient in range(low + 1, high + 1):
        reached = form.ge_set(times(quotient))
        here = affine_constant(space, quotient).intersect_domain(reached)
        result = result.subtract_domain(reached).union_add(here)
    return result


def floor_remainder(form: PwAff, divisor: PwAff, known: Set) -> PwAff | None:
    """``form - divisor * floor(form / divisor)`` on ``known``, as ``floor_quotient``."""
    quotient = floor_quotient(form, divisor, known)
    if quotient is None:
        return None
    result: PwAff | None = None
    for where, aff in quotient.get_pieces():
        count = int(aff.get_constant_val().to_python())
        scaled = divisor.mul(affine_constant(form.get_domain_space(), count))
        piece = form.sub(scaled).intersect_domain(where)
        result = piece if result is None else result.union_add(piece)
    return result
