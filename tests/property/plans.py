"""Random plans: a few moves each, whatever of them the engine accepts.

What it refuses has to be refused well: an error of polyopt's own, told in the user's words.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from polyopt.errors import InternalError, PolyoptError
from polyopt.transform.plan import Plan
from polyopt.transform.schedule.query import loops_around
from polyopt.transform.schedule.registry import TRANSFORMATIONS
from polyopt.transform.schedule.tree import PlanLoop, copies_in, loops_of

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from polyopt.ir.scop import Array, Scop

#: What no message to a user may hold; budgets are given in isl operations, and say so.
_LEAKS = re.compile(r"\bisl(?! operations\b)|Traceback|object at 0x|\bNone\b")

MOST_MOVES = 6
_MOST_TRIES = 24
_MOST_SIZE = 7


class Defect(Exception):  # noqa: N818 (it is polyopt's, not this file's)
    """polyopt failed in a way that no user may see; ``kind`` says where."""

    def __init__(self, kind: str, text: str, moves: Sequence[Call] = ()) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind, self.text, self.moves = kind, text, tuple(moves)


@dataclass(frozen=True)
class Call:
    """A move that can be made again: ``name(*args, **options)``."""

    name: str
    args: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict[str, Any])

    def __str__(self) -> str:
        """``tile('out', y=4)``."""
        parts = [repr(a) for a in self.args] + [f"{k}={v!r}" for k, v in self.options.items()]
        return f"{self.name}({', '.join(parts)})"


@dataclass
class Tally:
    """How often each move was accepted, and refused with which class of error."""

    accepted: Counter[str] = field(default_factory=Counter[str])
    refused: Counter[str] = field(default_factory=Counter[str])

    def add(self, other: Tally) -> None:
        """Count what another tally counted."""
        self.accepted.update(other.accepted)
        self.refused.update(other.refused)


def random_plan(start: Scop | Plan, rng: random.Random, tally: Tally | None = None) -> Plan:
    """A plan of 1 to 6 random moves on a program, or on a plan made of it.

    Raises ``Defect`` where a move fails otherwise than by a proper refusal.
    """
    return random_plans(start, rng, tally)[-1]


def random_plans(
    start: Scop | Plan, rng: random.Random, tally: Tally | None = None, most: int = MOST_MOVES
) -> tuple[Plan, ...]:
    """The plans after each accepted move, at least one; see ``random_plan``."""
    tally = Tally() if tally is None else tally
    plan = start if isinstance(start, Plan) else Plan(start)
    wanted = rng.randint(1, most)
    found: list[Plan] = []
    for _ in range(_MOST_TRIES):
        if len(found) == wanted or not _loops(plan):
            break
        changed = tried(plan, random_call(plan, rng), tally)
        if changed is not plan:
            plan = changed
            found.append(plan)
    if found or not _loops(plan):
        return tuple(found) or (plan,)
    # whatever was refused, a loop can be split
    return (tried(plan, _split(plan, rng), tally),)


def tried(plan: Plan, call: Call, tally: Tally) -> Plan:
    """The plan after a move, or as it was where the move is refused."""
    refusal = f"{call.name} {{}}"
    try:
        plan = plan.replay(call.name, call.args, call.options)
    except PolyoptError as error:
        check_refusal(error, (*calls_of(plan), call))
        tally.refused[refusal.format(type(error).__name__)] += 1
        return plan
    except Exception as error:
        moves = (*calls_of(plan), call)
        raise Defect("move", f"{type(error).__name__}: {error}", moves) from error
    names = [loop.name for loop in _loops(plan)]
    if len(names) > len(set(names)):
        raise Defect("names", f"two loops have one name: {names}", calls_of(plan))
    for loop in _loops(plan):
        if set(loop.values) != set(loop.copies):
            text = (
                f"{loop.name} has values for {sorted(loop.values)}, and {sorted(loop.copies)} in it"
            )
            raise Defect("values", text, calls_of(plan))
    tally.accepted[call.name] += 1
    return plan


def check_refusal(error: PolyoptError, calls: Sequence[Call]) -> None:
    """Raise ``Defect`` unless this is an error that a user can read."""
    text = str(error)
    if isinstance(error, InternalError) or _LEAKS.search(text) or not error.diagnostic.message:
        raise Defect("refusal", f"{type(error).__name__}: {text}", calls) from error


def calls_of(plan: Plan) -> tuple[Call, ...]:
    """The moves that made a plan."""
    return tuple(Call(m.name, m.args, dict(m.options)) for m in plan.moves)


def replayed(scop: Scop, calls: Sequence[Call]) -> Plan:
    """The plan of these moves, proven once at its end, as saved plans are."""
    plan = replace(Plan(scop), checked=False)
    for call in calls:
        if call.name == "auto":
            import polyopt as po

            plan = replace(po.auto(scop, **call.options), checked=False)
        else:
            plan = plan.replay(call.name, call.args, call.options)
    plan = replace(plan, checked=True)
    plan.prove()
    return plan


def random_call(plan: Plan, rng: random.Random) -> Call:
    """Some move with arguments that may make sense."""
    makers, weights = zip(*_MAKERS, strict=True)
    while True:
        call = rng.choices(makers, weights)[0](plan, rng)
        if call is not None:
            return call


# -- one maker per move -------------------------------------------------------------------------


def _loops(plan: Plan) -> list[PlanLoop]:
    return list(loops_of(plan.program.tree))


def _loop(plan: Plan, rng: random.Random) -> str:
    return rng.choice(_loops(plan)).name


def _spaces(plan: Plan) -> list[str]:
    """Names of arrays that are computed, and of copies where that is something else."""
    arrays = [copy.statement.array for copy in plan.program.copies.values()]
    return list(dict.fromkeys([*arrays, *arrays, *plan.program.copies]))


def _space(plan: Plan, rng: random.Random) -> str:
    return rng.choice(_spaces(plan))


def _around(plan: Plan, space: str) -> list[PlanLoop]:
    return list(loops_around(plan.program, space))


def _size(rng: random.Random) -> int:
    return rng.randint(1, _MOST_SIZE)


def _tile(plan: Plan, rng: random.Random) -> Call | None:
    space = _space(plan, rng)
    names = list(dict.fromkeys(loop.iterator for loop in _around(plan, space)))
    if not names:
        return None
    chosen = rng.sample(names, min(len(names), rng.randint(1, 3)))
    return Call("tile", (space,), {name: _size(rng) for name in names if name in chosen})


def _split(plan: Plan, rng: random.Random) -> Call:
    return Call("split", (_loop(plan, rng), _size(rng)))


def _chain(plan: Plan, rng: random.Random) -> list[str]:
    """Loops around one space: those of a nest, mostly."""
    return [loop.name for loop in _around(plan, _space(plan, rng))]


def _interchange(plan: Plan, rng: random.Random) -> Call | None:
    chain = _chain(plan, rng)
    if len(chain) < 2:
        return None
    one, other = rng.sample(chain, 2)
    return Call("interchange", (one, other))


def _reorder(plan: Plan, rng: random.Random) -> Call | None:
    chain = _chain(plan, rng)
    if len(chain) < 2:
        return None
    return Call("reorder", tuple(rng.sample(chain, rng.randint(2, len(chain)))))


def _skew(plan: Plan, rng: random.Random) -> Call | None:
    chain = _chain(plan, rng)
    if len(chain) < 2:
        return None
    outer, inner = sorted(rng.sample(range(len(chain)), 2))
    options = {"by": chain[outer], "factor": rng.choice((1, 1, 2, -1))}
    return Call("skew", (chain[inner],), options)


def _reverse(plan: Plan, rng: random.Random) -> Call:
    return Call("reverse", (_loop(plan, rng),))


def _diamond(plan: Plan, rng: random.Random) -> Call | None:
    chain = _chain(plan, rng)
    if len(chain) < 2:
        return None
    outer, inner = sorted(rng.sample(range(len(chain)), 2))
    return Call("diamond", (chain[outer], chain[inner], rng.randint(1, 6)))


def _shift(plan: Plan, rng: random.Random) -> Call | None:
    space = _space(plan, rng)
    names = [loop.iterator for loop in _around(plan, space)]
    if not names:
        return None
    amounts = {rng.choice(names): rng.randint(-3, 3) for _ in range(rng.choice((1, 1, 2)))}
    return Call("shift", (space,), amounts)


def _neighbours(plan: Plan) -> list[tuple[str, str]]:
    bodies = [plan.program.tree, *(loop.body for loop in _loops(plan))]
    return [
        (one.name, other.name)
        for body in bodies
        for one, other in pairwise(body)
        if isinstance(one, PlanLoop) and isinstance(other, PlanLoop)
    ]


def _fuse_loops(plan: Plan, rng: random.Random) -> Call | None:
    pairs = _neighbours(plan)
    if not pairs:
        return None
    options = {"depth": rng.choice((1, 1, 2, 3)), "shift": rng.choice((0, 0, 1, 2, 3, -1))}
    return Call("fuse_loops", rng.choice(pairs), options)


def _distribute(plan: Plan, rng: random.Random) -> Call:
    shared = [loop for loop in _loops(plan) if len(copies_in(loop)) > 1]
    if shared and rng.random() < 0.8:
        loop = rng.choice(shared)
        return Call("distribute", (loop.name,), {"at": rng.choice(copies_in(loop)[1:])})
    return Call("distribute", (_loop(plan, rng),), {"at": _space(plan, rng)})


def _edges(plan: Plan) -> list[tuple[str, str]]:
    """Arrays with the arrays computed from them."""
    statements = [copy.statement for copy in plan.program.copies.values()]
    written = {s.array for s in statements}
    return list(
        dict.fromkeys(
            (access.array, s.array)
            for s in statements
            for access in s.reads
            if access.array in written and access.array != s.array
        )
    )


def _fuse(plan: Plan, rng: random.Random) -> Call:
    edges = _edges(plan)
    if edges and rng.random() < 0.9:
        producer, into = rng.choice(edges)
    else:
        producer, into = _space(plan, rng), _space(plan, rng)
    around = _around(plan, into)
    at = rng.choice(around).name if around and rng.random() < 0.6 else None
    storage = rng.choice(("scratch", "scratch", "sliding", "sliding", "full", "register", "inline"))
    keep = rng.choice((None, None, None, True, False))
    return Call("fuse", (producer,), {"into": into, "at": at, "storage": storage, "keep": keep})


def _inline(plan: Plan, rng: random.Random) -> Call:
    local = [name for name in _spaces(plan) if name in {a.name for a in _temps(plan)}]
    return Call("inline", (rng.choice(local if local and rng.random() < 0.8 else _spaces(plan)),))


def _temps(plan: Plan) -> list[Array]:
    return [a for a in plan.scop.arrays if a.role == "temp"]


def _store(plan: Plan, rng: random.Random) -> Call:
    arrays = plan.scop.arrays
    temps = [a for a in _temps(plan) if a.rank]
    buffers = [plan.scop.array(s.array) for s in plan.program.stores]
    array = rng.choice(rng.choice([group for group in (temps, buffers, arrays) if group]))
    places = [*(loop.name for loop in _loops(plan)), "", None, None]
    options: dict[str, Any] = {"at": rng.choice((*places, "full"))}
    for option in ("fold", "extents"):
        if array.rank and rng.random() < 0.4:
            options[option] = {rng.randrange(array.rank): rng.randint(1, 9)}
    return Call("store", (array.name,), options)


def _pack(plan: Plan, rng: random.Random) -> Call:
    reads = [a.array for c in plan.program.copies.values() for a in c.statement.reads]
    name = rng.choice(reads or [a.name for a in plan.scop.arrays])
    return Call("pack", (name,), {"at": _loop(plan, rng)})


def _innermost(plan: Plan, rng: random.Random) -> str:
    found = [loop for loop in _loops(plan) if not any(loops_of(loop.body))]
    return rng.choice(found).name


def _parallelize(plan: Plan, rng: random.Random) -> Call:
    return Call("parallelize", (_loop(plan, rng),))


def _vectorize(plan: Plan, rng: random.Random) -> Call:
    loop = _innermost(plan, rng) if rng.random() < 0.9 else _loop(plan, rng)
    return Call("vectorize", (loop, rng.choice((0, 0, 2, 4, 8, 3))))


def _unroll(plan: Plan, rng: random.Random) -> Call:
    return Call("unroll", (_loop(plan, rng), rng.choice((0, 2, 3, 4))))


def _unroll_and_jam(plan: Plan, rng: random.Random) -> Call:
    return Call("unroll_and_jam", (_loop(plan, rng), rng.choice((1, 2, 3, 4))))


def _separate_full_tiles(plan: Plan, rng: random.Random) -> Call:
    return Call("separate_full_tiles", (_loop(plan, rng),))


#: Moves that make sense of most programs, with how often each is drawn.
_MAKERS: list[tuple[Callable[[Plan, random.Random], Call | None], int]] = [
    (_tile, 8), (_split, 3), (_interchange, 3), (_reorder, 2), (_skew, 3), (_shift, 2), (_diamond, 3),
    (_fuse_loops, 5), (_distribute, 3), (_fuse, 12), (_inline, 3), (_store, 6), (_parallelize, 5),
    (_vectorize, 5), (_unroll, 3), (_unroll_and_jam, 3), (_separate_full_tiles, 2), (_pack, 3),
    (_reverse, 2),
]  # fmt: skip

#: Moves that a run should have seen accepted.
DRAWN = frozenset(maker.__name__[1:] for maker, _ in _MAKERS)
assert set(TRANSFORMATIONS) >= DRAWN
