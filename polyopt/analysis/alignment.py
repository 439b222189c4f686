"""How coarse a program's coarsest samples are, measured in elements of its results."""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING

import numpy as np

from polyopt.analysis.needed import components
from polyopt.analysis.sets.points import affine_values
from polyopt.ir.expr import Affine, loads

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polyopt.analysis.dependences import Dependences
    from polyopt.ir.expr import Expr
    from polyopt.ir.scop import Scop, Statement
    from polyopt.isl import PwAff

#: where slopes of subscripts are taken, and over what distance
_AT, _STEP = 1 << 18, 1 << 12
#: a ratio with larger numbers than this is no rate of sampling, and units grow no further
_MOST = 1024


def alignment(deps: Dependences, outputs: Sequence[str]) -> int:
    """A unit such that arrays sampled down begin at whole elements where results do.

    1 for programs whose subscripts move as their results do; 4 for a pyramid whose third level
    has a quarter of the rows. It never matters to what is computed, only to how simply.
    """
    scop = deps.scop
    rates: dict[str, set[Fraction]] = {s.name: set() for s in scop.statements}
    for statement in scop.statements:
        if statement.array in outputs:
            rates[statement.name] |= {1 / slope for slope in _slopes(scop, statement.index)} or {
                Fraction(1)
            }
    for members in reversed(components([s.name for s in scop.statements], deps.flow)):
        for reader in (s for s in scop.statements if s.name in members):
            for array, slope in _read_slopes(scop, reader):
                for writer in (s for s in scop.statements if s.array == array):
                    if writer.name not in members:
                        rates[writer.name] |= {
                            rate * slope / own
                            for rate in rates[reader.name]
                            for own in _slopes(scop, writer.index)
                        }
    read = {
        rate * slope
        for s in scop.statements
        for _, slope in _read_slopes(scop, s)
        for rate in rates[s.name]
    }
    known = {r for rs in rates.values() for r in rs} | read
    return min(_MOST, lcm(*(r.denominator for r in known if r.denominator <= _MOST), 1))


def _read_slopes(scop: Scop, statement: Statement) -> Iterator[tuple[str, Fraction]]:
    for node in loads(statement.value):
        for slope in _slopes(scop, node.index):
            yield node.array, slope


def _slopes(scop: Scop, index: Sequence[Expr]) -> set[Fraction]:
    """How fast subscripts move with the iterators, far from borders."""
    found: set[Fraction] = set()
    for part in index:
        if isinstance(part, Affine):
            found |= _slopes_of(scop, part.form)
    return found


def _slopes_of(scop: Scop, form: PwAff) -> set[Fraction]:
    from polyopt.isl import dim_type

    depth = form.dim(dim_type.in_)
    rows = np.full((depth + 1, depth), _AT, np.int64)
    for k in range(depth):
        rows[k + 1, k] += _STEP
    values = affine_values(form, rows, dict.fromkeys(scop.params, 4 * _AT))
    slopes = {abs(Fraction(int(v - values[0]), _STEP)) for v in values[1:]}
    return {s for s in slopes if s and max(s.numerator, s.denominator) <= _MOST}
