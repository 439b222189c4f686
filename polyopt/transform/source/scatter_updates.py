"""Right-looking updates: scattered as soon as what they add is known, in place of gathered where
their sum is asked for (left-looking).

relation: the two innermost dimensions of a statement change places,
``{ S[.., j, k] -> S[.., k, j] }``, in the loops that are there.

rewrite: ``for (j) { f(x[j]); for (k < j) x[j] += g(x[k], j); }`` ->
``for (j) { f(x[j]); for (k > j) x[k] += g(x[j], k); }``: what looked left looks right. The
statement's innermost loop, a chain of updates of one element, becomes one over elements.

*Requires* a statement inside two loops at least, which writes one element all along the inner one.
Comes before all other moves, but those that change the program as well. *Fails when* accesses that
clash would change places; updates of one element may, where no order rounds
(``analysis/updates.py``).
(J. Dongarra, F. Gustavson and A. Karp, "Implementing linear algebra algorithms for dense matrices
on a vector pipeline machine", 1984.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.analysis.updates import clashes, exact_update, reversed_pairs
from polyopt.errors import InvalidOptionError, OrderViolatedError, Witness
from polyopt.ir.block import Block
from polyopt.ir.expr import pulled_back, pulled_back_index
from polyopt.isl import (
    Map,
    PwMultiAff,
    dim_type,
    instance_of,
    maps_of,
    tuple_name,
    union_all,
)
from polyopt.transform.schedule.query import check_name, unknown
from polyopt.transform.schedule.registry import transformation

if TYPE_CHECKING:
    from collections.abc import Collection

    from polyopt.ir.scop import Scop, Statement


@transformation("source")
def scatter_updates(scop: Scop, *names: str) -> Scop:
    """The program with the updates of some statements scattered.

    That it is still its source is for ``check_scattered`` to say.
    """
    if not names:
        raise InvalidOptionError("scatter_updates() needs a statement")
    known = {s.name: s for s in scop.statements}
    for name in names:
        check_name("statement", name)
        if name not in known:
            raise unknown("statement", name, [*known])
        reason = not_scattered(scop, known[name])
        if reason:
            raise InvalidOptionError(
                f"the updates of {name} cannot be scattered: {reason}", span=known[name].span
            )
    return scop.with_statements(*(turned(known[name]) for name in dict.fromkeys(names)))


def may_scatter(scop: Scop, name: str) -> bool:
    """Whether the updates of a statement may be scattered."""
    statement = scop.statement(name)
    if not_scattered(scop, statement):
        return False
    try:
        check_scattered(scop, scop.with_statements(turned(statement)), {name})
    except OrderViolatedError:
        return False
    return True


def not_scattered(scop: Scop, statement: Statement) -> str:
    """Why the two innermost loops of a statement cannot change places; empty where they may."""
    depth = len(statement.iterators)
    if depth < 2:
        return "it is not inside two loops"
    if isinstance(statement.value, Block) or statement.spread:
        return "data decide what it does"
    if any(x.form.involves_dims(dim_type.in_, depth - 1, 1) for x in statement.index):
        return "its innermost loop does not write one element all along"
    arrays = {statement.array, *(access.array for access in statement.reads)}
    if any(scop.array(name).private >= depth - 1 for name in arrays):
        return "it uses a local of the loops that would change places"
    return ""


def turned(statement: Statement) -> Statement:
    """The statement with its two innermost dimensions exchanged, under the same names."""
    turn = PwMultiAff.from_map(exchange(statement))
    index = pulled_back_index(statement.index, turn)
    domain = statement.domain.preimage_pw_multi_aff(turn)
    value = pulled_back(statement.value, turn)
    return replace(statement, domain=domain, index=index, value=value)


def exchange(statement: Statement) -> Map:
    """``{ S[.., j, k] -> S[.., k, j] }``."""
    result = Map.universe(statement.space.map_from_set())
    last = len(statement.iterators) - 1
    for position in range(last - 1):
        result = result.equate(dim_type.in_, position, dim_type.out, position)
    result = result.equate(dim_type.in_, last - 1, dim_type.out, last)
    return result.equate(dim_type.in_, last, dim_type.out, last - 1)


def check_scattered(source: Scop, scop: Scop, names: Collection[str]) -> None:
    """Show that ``scop``, in which some statements were turned, runs all that clashes in the
    order of ``source``. Raises ``OrderViolatedError``."""
    to_other = union_all(
        exchange(s) if s.name in names else Map.identity(s.space.map_from_set())
        for s in source.statements
    )
    found = reversed_pairs(source, clashes(source, names), scop, to_other)
    for pairs in maps_of(found):
        if not pairs.is_empty():
            raise _refusal(source, pairs, names)


def _refusal(source: Scop, pairs: Map, names: Collection[str]) -> OrderViolatedError:
    one, other = (tuple_name(pairs, kind) for kind in (dim_type.in_, dim_type.out))
    split = pairs.dim(dim_type.in_)
    example = instance_of(pairs.wrap().flatten())
    witnesses: tuple[Witness, ...] = ()
    if example is not None:
        ends = (one, example[1][:split]), (other, example[1][split:])
        witnesses = (Witness("order", *ends, example[2]),)
    scattered, left = (other, one) if other in names else (one, other)
    when = "before" if scattered == other else "after"
    message = f"scattered, {scattered} would run {when} {left}, with which it shares elements"
    span = source.statement(scattered).span
    hint = _hint(source.statement(scattered), source.statement(left))
    return OrderViolatedError(message, witnesses=witnesses, span=span, hint=hint)


def _hint(scattered: Statement, other: Statement) -> str:
    """What keeps two statements in their order."""
    known = "what a scattered update reads has to be known when its own element is"
    if other.array != scattered.array:
        return known
    if scattered.value.type.is_float:
        return "updates of floating numbers round, and keep their order"
    one, two = exact_update(scattered), exact_update(other)
    if one is None or two is None:
        return (
            f"{other.name if two is None else scattered.name} does not update the element: "
            "what sets elements comes before, in a nest of its own"
        )
    if one[0] != two[0]:
        return f"a {one[0]} and a {two[0]} of one element keep their order"
    return known
