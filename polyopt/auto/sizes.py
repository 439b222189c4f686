"""Numbers for parameters, where the caller gives none: the model has to weigh something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.isl import Val, context, dim_type, params_of, sample

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.ir.scop import Scop

#: the size that a parameter is taken to have unless the program or the caller says otherwise:
#: as large as this, as long as no array gets more elements than that
USUAL = 1024
ELEMENTS = 1 << 24


def assumed_sizes(scop: Scop, given: Mapping[str, int] | None) -> dict[str, int]:
    """A value per parameter that the context allows: those given, else as near ``USUAL`` as can be.

    Values that the context forbids are passed over: plans hold for every size anyway.
    """
    known = scop.context
    usual = _usual(scop)
    result: dict[str, int] = {}
    for position, name in enumerate(scop.params):
        wanted = (given or {}).get(name, usual)
        fixed = known.fix_val(dim_type.param, position, Val.int_from_si(context(), wanted))
        if not fixed.is_empty():
            known = fixed
            result[name] = wanted
    found = sample(known)
    if found is None:
        return dict.fromkeys(scop.params, usual)
    names = params_of(known.get_space())
    return {**dict(zip(names, found["params"], strict=True)), **result}


def _usual(scop: Scop) -> int:
    rank = max((a.rank for a in scop.arrays), default=0)
    return min(USUAL, round(ELEMENTS ** (1 / max(rank, 1))))
