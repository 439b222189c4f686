"""Facts: what the sizes of a first call decide, and what has to hold where it is used again.

NumPy looks at sizes as it runs: whether two extents are equal or one is stretched, whether a slice
ends before the array does. A program is for all sizes, so each such question is answered as the
first call's sizes have it, and the answer becomes a condition on the sizes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from polyopt.errors import InternalError
from polyopt.isl import (
    Set,
    affine_param,
    constant_value,
    dim_type,
    fix_param_values,
    params_of,
    params_space,
    parse_value,
    value_text,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.isl import PwAff, Space


class Unify(Exception):  # noqa: N818
    """A size turned out to be an expression of others: read it all again, without that size."""

    def __init__(self, param: str, text: str) -> None:
        super().__init__()
        self.param = param
        self.text = text


class Sizes:
    """The sizes of the first call, and those that are expressions of others.

    It outlives a reading that ``Unify`` ends; ``Facts`` are of one reading.
    """

    def __init__(self, values: Mapping[str, int]) -> None:
        self.values = dict(values)
        #: sizes that are expressions of the others, as isl writes them
        self.texts: dict[str, str] = {}

    @property
    def params(self) -> tuple[str, ...]:
        """The sizes that are left, in order."""
        return tuple(name for name in self.values if name not in self.texts)

    def unify(self, fact: Unify) -> None:
        """Write a size as an expression of the others, everywhere."""
        word = re.compile(rf"\b{re.escape(fact.param)}\b")
        for name, text in self.texts.items():
            self.texts[name] = word.sub(f"({fact.text})", text)
        self.texts[fact.param] = fact.text

    def form(self, name: str, space: Space) -> PwAff:
        """``{ [i] -> [size] }`` over ``space``."""
        if name not in self.texts:
            return affine_param(space, name)
        found = parse_value(self.params, self.texts[name])
        if found is None:
            msg = f"a size is {self.texts[name]}"
            raise InternalError(msg)
        params = found.project_domain_on_params()
        return params.insert_domain(space) if not space.is_params() else params


class Facts:
    """What holds of the sizes: assumed where the first call's sizes have it so."""

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        universe = Set.universe(params_space(sizes.params))
        #: [N] -> { : what is assumed so far }
        self.context = universe
        self._point = fix_param_values(universe, sizes.values)

    def assume(self, condition: Set) -> None:
        """Add ``[N] -> { : condition }``, which the first call's sizes have to satisfy."""
        self.context = self.context.intersect(condition)

    def always(self, condition: Set, domain: Set) -> bool:
        """Whether ``{ [i] : condition }`` holds in all of ``{ [i] }``, for the first call's sizes.

        Where it does, it is assumed of all sizes.
        """
        wrong = domain.intersect_params(self.context).subtract(condition).params()
        if wrong.is_empty():
            return True
        if not wrong.intersect(self._point).is_empty():
            return False
        self.context = self.context.subtract(wrong)
        return True

    def equal(self, one: PwAff, other: PwAff, domain: Set) -> bool:
        """Whether two extents are equal for the first call's sizes, and so assumed to be.

        Raises ``Unify`` where a size follows from the others then.
        """
        difference = one.sub(other)
        same = one.eq_set(other)
        if domain.intersect_params(self.context).is_subset(same):
            return True
        if not self._point.intersect(domain.subtract(same).params()).is_empty():
            return False
        self._unify(difference)
        return self.always(same, domain)

    def value(self, form: PwAff) -> int | None:
        """What an extent is for the first call's sizes; nothing where loops decide."""
        count = form.dim(dim_type.in_)
        if form.involves_dims(dim_type.in_, 0, count):
            return None
        flat = form.drop_dims(dim_type.in_, 0, count).project_domain_on_params()
        return constant_value(flat.intersect_domain(self._point).gist(self._point))

    def _unify(self, difference: PwAff) -> None:
        count = difference.dim(dim_type.in_)
        if difference.involves_dims(dim_type.in_, 0, count) or not difference.isa_aff():
            return
        aff = difference.as_aff()
        if aff.dim(dim_type.div):
            return
        names = params_of(difference.get_domain_space())
        for position in reversed(range(len(names))):
            factor = aff.get_coefficient_val(dim_type.param, position)
            if not (factor.is_one() or factor.is_negone()):
                continue
            param = affine_param(difference.get_domain_space(), names[position])
            rest = param.sub(difference) if factor.is_one() else param.add(difference)
            flat = rest.drop_dims(dim_type.in_, 0, count)
            raise Unify(names[position], value_text(flat))
