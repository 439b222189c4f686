"""Enabling transformations: moves after which a refused one is legal, found by making them.

Skewing and interchange (a wavefront), shifting, loop distribution, index-set splitting, splitting
by the distance of a dependence, and privatisation are tried in this order of cost; what is offered
was made on the plan and checked move by move. (J. R. Allen and K. Kennedy, "Optimizing Compilers
for Modern Architectures", 2001, chapters 5 and 6.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, pairwise, product
from typing import TYPE_CHECKING, TypeVar

from polyopt.errors import UserError
from polyopt.isl import PwAff, constant_value, value_text
from polyopt.transform.annotations.reassociate import accumulation
from polyopt.transform.legality.parallel import carried, clashing_arrays
from polyopt.transform.legality.proof import check
from polyopt.transform.legality.split_points import split_points
from polyopt.transform.schedule.move import Move
from polyopt.transform.schedule.query import copies_of, find_loop, path_to
from polyopt.transform.schedule.tree import PlanLoop, loops_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from polyopt.isl import OperationLimit
    from polyopt.transform.plan import Plan

    Moves = tuple[Move, ...]

_Found = TypeVar("_Found")

#: factors of skewing, and shifts of fused loops, that are tried
_FACTORS, _SHIFTS = (1, 2, 3), (0, 1, 2)
#: loops around a statement that are looked at, and places at which one is distributed
_LOOPS, _PLACES = 3, 6


@dataclass(frozen=True)
class Enabling:
    """Looks for moves before a refused one, all within one budget."""

    plan: Plan
    move: Move
    allowed: OperationLimit

    # -- parallel and vector loops ------------------------------------------------------------

    def marked(self) -> Moves:
        """Moves that end with the mark on the refused loop, on its parts, or on another loop of
        its nest; empty where none was found."""
        loop = self._asked(lambda: find_loop(self.plan.program, self.move.args[0]), None)
        if loop is None:
            return ()
        for prefix in chain(self._private(loop), self._aligned(loop), self._parts(loop)):
            if found := self._with_marks(prefix, [loop]):
                return found
        for prefix, others in self._others(loop):
            if found := self._with_marks(prefix, others):
                return found
        return next(filter(None, (self._with_marks(p, [loop]) for p in self._blocks(loop))), ())

    def _others(self, loop: PlanLoop) -> Iterator[tuple[Moves, Sequence[PlanLoop]]]:
        """Other loops of the nest, as they are, and after interchange: a wavefront if skewed."""
        around = self._around(loop)
        is_shared = self.move.name == "parallelize"
        if is_shared:
            yield from (((), [other]) for other in around if other is not loop)
            yield (), [node for node in loop.body if isinstance(node, PlanLoop)]
        for outer, inner in pairwise(around[-_LOOPS:]):
            if loop.name in {outer.name, inner.name}:
                factors = _FACTORS if is_shared else (0, *_FACTORS)
                yield from ((_wavefront(outer, inner, factor), [outer]) for factor in factors)

    def _around(self, loop: PlanLoop) -> tuple[PlanLoop, ...]:
        """The loops around a loop, itself, and the one inside where there is one alone."""
        path = path_to(self.plan.program, loop.name)
        inside = path[-1].body[0] if len(path[-1].body) == 1 else ""
        return (*path, inside) if isinstance(inside, PlanLoop) else path

    def _private(self, loop: PlanLoop) -> Iterator[Moves]:
        """Privatisation: a buffer per iteration for the locals that iterations share."""
        scop = self.plan.scop
        arrays = self._asked(lambda: clashing_arrays(self.plan.program, self._as_marked(loop)), ())
        if arrays and all(scop.array(name).role == "temp" for name in arrays):
            yield tuple(Move("store", (name,), (("at", loop.name),)) for name in arrays)

    def _aligned(self, loop: PlanLoop) -> Iterator[Moves]:
        """Loop alignment: a statement shifted to the iteration of what it reads."""
        names = self._statements(loop)
        distances = self._distances(loop)
        for name, distance, sign in product(names[1:_PLACES], distances, (-1, 1)):
            yield (Move("shift", (name,), ((loop.iterator, sign * distance),)),)

    def _parts(self, loop: PlanLoop) -> Iterator[Moves]:
        """Loop distribution and index-set splitting: parts of the loop or of its range."""
        for name in self._statements(loop)[1:_PLACES]:
            yield (Move("distribute", (loop.name,), (("at", name),)),)
        context = self.plan.scop.context

        def points() -> list[str]:
            pairs = carried(self.plan.program, loop)
            if pairs is None:
                return []
            return list(map(value_text, split_points(pairs.intersect_params(context), context)))

        for point in self._asked(points, []):
            yield (Move("split_range", (loop.name,), (("at", point),)),)

    def _blocks(self, loop: PlanLoop) -> Iterator[Moves]:
        """Blocks as short as the shortest dependence, whose iterations are independent."""
        distance = min(self._distances(loop), default=0)
        if distance > 1:
            yield (Move("split", (loop.name, distance)),)

    def _distances(self, loop: PlanLoop) -> list[int]:
        """How far apart iterations clash at least, and at most: where these are constants."""

        def found() -> list[int]:
            pairs = carried(self.plan.program, loop)
            if pairs is None:
                return []
            apart = pairs.intersect_params(self.plan.scop.context).deltas()
            ends = (apart.dim_min(0), apart.dim_max(0))
            pieces = [piece for end in ends for _, piece in end.coalesce().get_pieces()]
            known = (constant_value(PwAff.from_aff(piece)) for piece in pieces)
            return list(dict.fromkeys(d for d in known if d is not None))

        return self._asked(found, [])

    def _statements(self, loop: PlanLoop) -> list[str]:
        copies = self.plan.program.copies
        return list(dict.fromkeys(copies[name].statement.name for name in loop.copies))

    def _as_marked(self, loop: PlanLoop) -> PlanLoop:
        if self.move.name == "parallelize":
            return replace(loop, mark="parallel", width=0)
        width = self.move.args[1] if len(self.move.args) > 1 else 0
        return replace(loop, mark="vector", width=width)

    def _with_marks(self, prefix: Moves, loops: Sequence[PlanLoop]) -> Moves:
        """A prefix, and the mark on all parts of these loops that may have it then."""
        made = self._made(self.plan, prefix)
        if made is None:
            return ()
        origins = [loop.origin for loop in loops]
        marks: list[Move] = []
        for part in loops_of(made.program.tree):
            if part.origin in origins:
                again = self._on(part.name)
                marked = self._made(made, (again,))
                if marked is not None:
                    made = marked
                    marks.append(again)
        return (*prefix, *marks) if marks else ()

    def _on(self, loop: str) -> Move:
        return replace(self.move, args=(loop, *self.move.args[1:]))

    def reassociated(self) -> Moves:
        """The mark after freeing the order of its sums; empty where that is not enough."""
        program = self.plan.program
        loop = find_loop(program, self.move.args[0])
        statements = (program.copies[name].statement for name in loop.copies)
        sums = dict.fromkeys(s.name for s in statements if accumulation(s) is not None)
        more = tuple(name for name in sums if name not in program.reassociated)
        moves = (Move("reassociate", more), self.move)
        return moves if self._made(self.plan, moves) is not None else ()

    # -- orders of loops ----------------------------------------------------------------------

    def permuted(self, loops: Sequence[PlanLoop]) -> Moves:
        """Moves that end with the refused one, which exchanges or tiles these loops."""
        for prefix in _skews(loops):
            if self._made(self.plan, (*prefix, self.move)) is not None:
                return (*prefix, self.move)
        return ()

    def imperfect(self) -> Moves:
        """Moves that end with the refused tiling, of loops that are not perfectly nested: fused
        loops, skewed where that is needed, or distributed ones."""
        space = self.move.args[0]
        copies = self._asked(lambda: copies_of(self.plan.program, space), ())
        if not copies:
            return ()
        path = self.plan.program.places[copies[-1]].loops
        for prefix in chain(((),), _fusions(path)):
            made = self._made(self.plan, prefix)
            if made is None:
                continue
            loops = made.program.places[copies[-1]].loops
            for skews in chain(((),), _skews(loops)):
                if self._made(made, (*skews, self.move)) is not None:
                    return (*prefix, *skews, self.move)
        names = list(dict.fromkeys(self.plan.program.copies[c].statement.name for c in copies))
        for loop, name in product(path[:_LOOPS], names[1:_PLACES]):
            again = replace(self.move, args=(name, *self.move.args[1:]))
            moves = (Move("distribute", (loop.name,), (("at", name),)), again)
            if self._made(self.plan, moves) is not None:
                return moves
        return ()

    def inwards(self) -> Moves:
        """Moves that end with the refused vector loop, interchanged to be the innermost one."""
        loop = self._asked(lambda: find_loop(self.plan.program, self.move.args[0]), None)
        if loop is None:
            return ()
        cuts = [()] + [
            (Move("distribute", (loop.name,), (("at", name),)),)
            for name in self._statements(loop)[1:_PLACES]
        ]
        for prefix in cuts:
            made = self._made(self.plan, prefix)
            parts = loops_of(made.program.tree) if made is not None else ()
            for part in parts:
                names = _chain(part) if part.origin is loop.origin else ()
                moves = (*prefix, Move("reorder", (*names[1:], part.name)), self._on(part.name))
                if len(names) > 1 and self._made(self.plan, moves) is not None:
                    return moves
        return self._with_marks((), [inner for inner in loop.loops if len(_chain(inner)) == 1])

    # -- making moves -------------------------------------------------------------------------

    def _made(self, plan: Plan, moves: Iterable[Move]) -> Plan | None:
        """The plan after moves that are legal each, or ``None``."""
        made = replace(plan, checked=False)
        try:
            with self.allowed:
                for move in moves:
                    made = made.replay(move.name, move.args, dict(move.options))
                    check(made.program, made.original)
        except UserError:
            return None
        return made

    def _asked(self, question: Callable[[], _Found], otherwise: _Found) -> _Found:
        try:
            with self.allowed:
                return question()
        except UserError:
            return otherwise


def called(move: Move) -> str:
    """The call as hints write it: ``skew("a.j", by="a.i", factor=2)``."""
    parts = [_literal(a) for a in move.args]
    return f"{move.name}({', '.join([*parts, *(f'{k}={_literal(v)}' for k, v in move.options)])})"


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _skew(inner: PlanLoop, outer: PlanLoop, factor: int) -> Move:
    amount = (("factor", factor),) if factor > 1 else ()
    return Move("skew", (inner.name,), (("by", outer.name), *amount))


def _skews(loops: Sequence[PlanLoop]) -> Iterator[Moves]:
    """One loop by the one around it; all by the outermost, and then the last by the one before."""
    for outer, inner in pairwise(loops):
        for factor in _FACTORS:
            yield (_skew(inner, outer, factor),)
    if not 2 < len(loops) <= _LOOPS + 1:
        return
    for factor in _FACTORS:
        all_ = tuple(_skew(inner, loops[0], factor) for inner in loops[1:])
        yield all_
        yield (*all_, _skew(loops[-1], loops[-2], 1))


def _wavefront(outer: PlanLoop, inner: PlanLoop, factor: int) -> Moves:
    """Two loops skewed and exchanged: what they carried, the outer one carries alone."""
    exchange = Move("interchange", (outer.name, inner.name))
    return (_skew(inner, outer, factor), exchange) if factor else (exchange,)


def _fusions(path: Sequence[PlanLoop]) -> Iterator[Moves]:
    """All that a loop holds made one loop nest, each later than the one before."""
    for loop in path:
        if len(loop.body) < 2:
            continue
        nests = [node for node in loop.body if isinstance(node, PlanLoop)]
        if len(nests) != len(loop.body) or len(nests) > _LOOPS:
            return
        depth = min(len(_chain(nest)) for nest in nests)
        for shift in _SHIFTS:
            options = [("depth", depth)] * (depth > 1) + [("shift", shift)] * (shift > 0)
            yield tuple(
                Move("fuse_loops", (one.name, other.name), tuple(options))
                for one, other in pairwise(nests)
            )
        return


def _chain(loop: PlanLoop) -> tuple[str, ...]:
    """The loops of the perfect nest that starts with a loop, from the outside in."""
    inside = loop.body[0] if len(loop.body) == 1 else ""
    return (loop.name, *_chain(inside)) if isinstance(inside, PlanLoop) else (loop.name,)
