"""Access functions: which element each instance of a copy reads or writes, as linear subscripts.

What the time model asks of an access is where it goes as one loop moves on: nowhere, to the next
element, or to another row. Accesses of inlined operands are those of the copy that they are
computed in.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from polyopt.isl import PwMultiAff, constant_value, dim_type
from polyopt.memo import memo
from polyopt.scheduler.model.instances import rolled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.isl import Aff, PwAff, Val
    from polyopt.transform.schedule.access import ScheduledAccess
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop, SchedulePosition


@dataclass(frozen=True)
class Subscript:
    """``constant`` plus coefficients by the position of the host's dimensions; sizes are left out,
    since they are the same for all accesses of an array."""

    terms: tuple[tuple[int, float], ...]
    constant: float

    def step(self, moved: Mapping[int, float]) -> float:
        """How far it goes where dimensions move by so much."""
        return sum(factor * moved.get(dim, 0) for dim, factor in self.terms)


@dataclass(frozen=True)
class AccessFunction:
    """One access of a copy in the tree, per instance of it."""

    array: str
    #: the buffer that it goes to, "" for the array itself
    buffer: str
    writes: bool
    #: ``None`` where data or conditions decide
    subscripts: tuple[Subscript, ...] | None
    #: elements along the last dimensions that have a constant number of them, as channels do
    short: tuple[int, ...] = ()

    @property
    def place(self) -> tuple[str, str]:
        """What it accesses elements of."""
        return self.array, self.buffer

    def steps(self, moved: Mapping[int, float]) -> tuple[float, ...] | None:
        """How far each subscript goes where dimensions move by so much; ``None``: not known."""
        if self.subscripts is None:
            return None
        return tuple(s.step(moved) for s in self.subscripts)

    def stride(self, moved: Mapping[int, float]) -> float | None:
        """How many elements it goes on in memory where dimensions move by so much.

        ``None`` where data decide, or a size that polyopt does not know.
        """
        steps = self.steps(moved)
        if not steps:
            return None if steps is None else 0.0
        stride, elements = steps[-1], 1
        for length, step in zip(reversed(self.short), reversed(steps[:-1]), strict=False):
            elements *= length
            stride += elements * step
        far = steps[: max(0, len(steps) - 1 - len(self.short))]
        return None if any(far) else stride

    @property
    def directions(self) -> object:
        """What it shares with accesses that go the same way, a constant apart."""
        if self.subscripts is None:
            return None
        return self.place, tuple(s.terms for s in self.subscripts)

    @property
    def constants(self) -> tuple[float, ...]:
        """Where it is among those."""
        return tuple(s.constant for s in self.subscripts or ())


def accesses_of(program: ScheduledProgram, host: str) -> tuple[AccessFunction, ...]:
    """All accesses of a copy in the tree to storage, writes first."""
    writes, reads = program.touches_in({host})
    return tuple(
        AccessFunction(
            touch.access.array,
            touch.scratch.name if touch.scratch is not None else "",
            number < len(writes),
            _subscripts(touch),
            _short(program, touch),
        )
        for number, touch in enumerate((*writes, *reads))
    )


def _short(program: ScheduledProgram, touch: ScheduledAccess) -> tuple[int, ...]:
    scratch = touch.scratch
    if scratch is not None:
        return constant_tail(scratch.ordered(scratch.extents))
    return constant_tail(program.scop.array(touch.access.array).extents)


def constant_tail(extents: Sequence[PwAff]) -> tuple[int, ...]:
    """The last of the extents, as long as these are constants."""
    found: list[int] = []
    for extent in reversed(extents):
        value = constant_value(extent)
        if value is None:
            break
        found.insert(0, value)
    return tuple(found)


def _subscripts(touch: ScheduledAccess) -> tuple[Subscript, ...] | None:
    """The subscripts in the order in which memory has them; ``None`` where data decide."""
    if not touch.access.exact:
        return None
    found = _linear(touch)
    return touch.scratch.ordered(found) if found and touch.scratch is not None else found


@memo
def _linear(touch: ScheduledAccess) -> tuple[Subscript, ...] | None:
    """The subscripts of ``{ H[d] -> A[x] }``."""
    relation = touch.accessed
    if not relation.is_single_valued():
        return None
    element = PwMultiAff.from_map(relation).gist(relation.domain())
    return tuple(_subscript(element.get_at(k)) for k in range(relation.dim(dim_type.out)))


def _subscript(form: PwAff) -> Subscript:
    """A subscript where it moves most: at a border it may stand still."""
    pieces = [_of_aff(aff) for _, aff in form.get_pieces()]
    return max(pieces, key=lambda piece: len(piece.terms), default=Subscript((), 0))


def _of_aff(aff: Aff) -> Subscript:
    """An affine expression; a quotient moves on by a fraction."""
    terms: dict[int, float] = {}
    for d in range(aff.dim(dim_type.in_)):
        terms[d] = _number(aff.get_coefficient_val(dim_type.in_, d))
    for k in range(aff.dim(dim_type.div)):
        factor, inner = _number(aff.get_coefficient_val(dim_type.div, k)), aff.get_div(k)
        for d in range(inner.dim(dim_type.in_)):
            terms[d] += factor * _number(inner.get_coefficient_val(dim_type.in_, d))
    found = tuple((d, by) for d, by in terms.items() if by)
    return Subscript(found, _number(aff.get_constant_val()))


def _number(value: Val) -> float:
    below = value.get_den_val()
    return value.mul(below).to_python() / below.to_python()


def moves_of(copy: str, loops: Sequence[PlanLoop]) -> list[dict[int, float]]:
    """Per loop around a copy: how far its dimensions move as the loop goes on by one while all
    others stand still.

    The values of loops are coordinates, ``t = M d``; what moves is a column of the inverse of M. A
    loop over blocks, whose value is a quotient, moves its dimensions by the block.
    """
    rows = [_moved(loop.values[copy]) for loop in loops]
    exact = [k for k, (_, blocks) in enumerate(rows) if not blocks]
    dims = sorted({d for terms, _ in rows for d in terms})
    inverse = _inverse(tuple(tuple(rows[k][0].get(d, 0.0) for d in dims) for k in exact))
    result: list[dict[int, float]] = []
    for k, (terms, blocks) in enumerate(rows):
        moved = terms if blocks else dict(zip(dims, inverse[exact.index(k)], strict=True))
        result.append({d: by for d, by in moved.items() if by})
    return result


@lru_cache(maxsize=4096)
def _inverse(matrix: tuple[tuple[float, ...], ...]) -> tuple[tuple[float, ...], ...]:
    """The columns of the (pseudo)inverse of a matrix."""
    if not matrix or not matrix[0]:
        return tuple(() for _ in matrix)
    columns = np.linalg.pinv(np.array(matrix)).T
    return tuple(tuple(round(float(by), 6) for by in column) for column in columns)


def _moved(value: PwAff) -> tuple[dict[int, float], bool]:
    """Dimensions in a loop's value with their coefficients; those of a quotient with the size of
    its blocks, and ``True``."""
    found: dict[int, float] = {}
    blocks: dict[int, float] = {}
    for _, aff in value.get_pieces():
        for d in range(aff.dim(dim_type.in_)):
            factor = _number(aff.get_coefficient_val(dim_type.in_, d))
            if factor:
                found[d] = factor
        for k in range(aff.dim(dim_type.div)):
            if aff.get_coefficient_val(dim_type.div, k).is_zero():
                continue
            inner = aff.get_div(k)
            size = float(inner.get_denominator_val().to_python())
            for d in range(inner.dim(dim_type.in_)):
                if not inner.get_coefficient_val(dim_type.in_, d).is_zero():
                    blocks.setdefault(d, size)
    return (blocks, True) if blocks else (found, False)


def body_start(place: SchedulePosition) -> int:
    """How many of the loops around a copy are outside of its innermost body: what is inside is
    written out, or in the registers of a tile."""
    for level, loop in enumerate(place.loops):
        if loop.mark == "register_tile":
            return level + 1
    return len(rolled(place))
