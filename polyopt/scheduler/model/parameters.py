"""Default parameters: numbers for sizes that the caller does not give, for the cost model."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, SupportsIndex

from polyopt.errors import InvalidOptionError
from polyopt.ir.text import condition_text
from polyopt.isl import dim_type, integer_val, params_of, sample

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.ir.scop import Scop

#: the size that a parameter is taken to have unless the program or the caller says otherwise:
#: as large as this, as long as no array gets more elements than that
USUAL = 1024
#: elements of the largest array then
ELEMENTS = 1 << 24


def assumed_sizes(
    scop: Scop, given: Mapping[str, int] | None, usual: Mapping[str, int] | None = None
) -> dict[str, int]:
    """A value per parameter: those given, else ``usual`` ones, else as near ``USUAL`` as can be.

    Usual values that the context forbids are passed over. Raises ``InvalidOptionError`` for a
    given value that it forbids, that is no whole number, or that belongs to no parameter.
    """
    asked = given or {}
    for name, value in asked.items():
        _check(scop, name, value)
    known = scop.context
    default = _usual(scop)
    result: dict[str, int] = {}
    for name in sorted(scop.params, key=lambda name: name not in asked):
        wanted = asked.get(name, (usual or {}).get(name, default))
        position = scop.params.index(name)
        fixed = known.fix_val(dim_type.param, position, integer_val(int(wanted)))
        if not fixed.is_empty():
            known = fixed
            result[name] = int(wanted)
        elif name in asked:
            message = f"{scop.name} does not allow {name} = {wanted}"
            raise InvalidOptionError(message, hint=f"it needs {condition_text(scop.context)}")
    found = sample(known)
    if found is None:
        return dict.fromkeys(scop.params, default)
    names = params_of(known.get_space())
    return dict(zip(names, found["params"], strict=True)) | result


def _check(scop: Scop, name: str, value: object) -> None:
    if name not in scop.params:
        message = f"{scop.name} has no size {name!r}"
        hint = "there are: " + ", ".join(scop.params) if scop.params else ""
        raise InvalidOptionError(message, hint=hint)
    if not isinstance(value, SupportsIndex) or abs(operator.index(value)) >= 1 << 62:
        message = f"{name} = {value!r} is not a size: it has to be a whole number"
        raise InvalidOptionError(message)


def _usual(scop: Scop) -> int:
    rank = max((a.rank for a in scop.arrays), default=0)
    return min(USUAL, round(ELEMENTS ** (1 / max(rank, 1))))
