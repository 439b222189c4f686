"""What is drawn of a plan: sizes that one can look at, and tiles that fit into them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from polyopt.analysis.sets.count import about
from polyopt.errors import IllegalScheduleError, UserError
from polyopt.explain.explorer.execution import Execution, execute
from polyopt.isl import fix_param_values
from polyopt.scheduler.model.parameters import assumed_sizes
from polyopt.transform.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.errors import Witness
    from polyopt.ir.scop import Scop
    from polyopt.transform.schedule.move import Move

#: parameters are given these values, one after the other, until a picture holds all instances
SIZES = (14, 12, 10, 8, 6, 5, 4, 3)
#: iterations along the edge of a tile that is drawn, at most: three fit the largest size
EDGE = 4
#: and across a diamond, which has an edge on each side
DIAMOND = 6
#: instances that pictures have where the caller gives no sizes
FEW_INSTANCES = 1500
#: moves whose numbers are sizes of tiles
_TILING = frozenset({"tile", "split", "diamond"})


@dataclass(frozen=True, eq=False)
class Drawn:
    """A plan as it is drawn, run on paper."""

    plan: Plan
    execution: Execution
    #: how sizes of tiles differ from those of the real plan: ``("tile('out', y=64) ...", ...)``
    scaled: tuple[str, ...] = ()


def drawn_sizes(scop: Scop, given: Mapping[str, int] | None) -> dict[str, int]:
    """Values of the parameters for pictures: those given, else the largest that give few instances.

    Raises ``InvalidOptionError`` for a value that the program does not allow.
    """
    known: dict[str, int] = {}
    for size in SIZES:
        known = assumed_sizes(scop, given, dict.fromkeys(scop.params, size))
        domains = (fix_param_values(s.domain, known) for s in scop.statements)
        if sum(about(domain, known) for domain in domains) <= FEW_INSTANCES:
            break
    return known


def draw(plan: Plan, sizes: Mapping[str, int]) -> Drawn:
    """The plan run for small sizes, with tiles scaled down so that several fit.

    Raises ``InvalidOptionError`` where there are too many instances.
    """
    for small, notes in _candidates(plan):
        try:
            return Drawn(small, execute(small.program, sizes), notes)
        except UserError:
            if small is plan:
                raise
    raise AssertionError


def _candidates(plan: Plan) -> Iterator[tuple[Plan, tuple[str, ...]]]:
    """The plan with smaller tiles, where that is a legal plan; then the plan itself."""
    moves, notes = scaled_moves(plan.moves)
    if notes:
        try:
            small = replace(Plan(plan.source), checked=False)
            for move in moves:
                small = small.replay(move.name, move.args, dict(move.options))
            small.prove()
            yield small, notes
        except UserError:
            pass  # a size has a meaning there beside that of a tile
    yield plan, ()


def scaled_moves(moves: tuple[Move, ...]) -> tuple[tuple[Move, ...], tuple[str, ...]]:
    """Moves whose tiles have edges of at most ``EDGE``, equal ones staying equal; what changed."""
    largest: dict[str, int] = {}
    for move in moves:
        for name, size in _sizes(move):
            largest[name] = max(largest.get(name, 1), size)
    made: list[Move] = []
    notes: list[str] = []
    for move in moves:
        scaled = {
            name: max(2, round(size * _edge(move) / largest[name]))
            for name, size in _sizes(move)
            if largest[name] > _edge(move) and size > 1
        }
        changed = _with_sizes(move, scaled)
        made.append(changed)
        if str(changed) != str(move):
            notes.append(f"{str(move)[1:]} as {str(changed)[1:]}")
    return tuple(made), tuple(notes)


def _edge(move: Move) -> int:
    return DIAMOND if move.name == "diamond" else EDGE


def small_witnesses(plan: Plan, move: Move) -> tuple[Witness, ...]:
    """The witnesses of a refused move, with tiles as small as they are drawn; nothing where it is
    not refused there.
    """
    moves, notes = scaled_moves((*plan.moves, move))
    if not notes:
        return ()
    try:
        small = replace(Plan(plan.source), checked=False)
        for earlier in moves[:-1]:
            small = small.replay(earlier.name, earlier.args, dict(earlier.options))
        last = moves[-1]
        replace(small, checked=True).replay(last.name, last.args, dict(last.options))
    except IllegalScheduleError as error:
        return error.witnesses
    except UserError:
        pass
    return ()


def _sizes(move: Move) -> Iterator[tuple[str, int]]:
    """The sizes of tiles in a move, with the iterator or the loop that each is along."""
    if move.name not in _TILING:
        return
    for name, value in move.options:
        if isinstance(value, int):
            yield name, value
    if move.name != "tile" and move.args and isinstance(move.args[-1], int):
        yield str(move.args[0]), move.args[-1]


def _with_sizes(move: Move, sizes: Mapping[str, int]) -> Move:
    if not sizes:
        return move
    options = tuple((name, sizes.get(name, value)) for name, value in move.options)
    args: tuple[Any, ...] = move.args
    if move.name != "tile" and args and isinstance(args[-1], int):
        args = (*args[:-1], sizes.get(str(args[0]), args[-1]))
    return replace(move, args=args, options=options)
