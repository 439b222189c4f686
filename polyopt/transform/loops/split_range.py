"""Index-set splitting: a loop in three at one of its iterations: those before it, itself, those
after it; or in two, the second from a value on that sizes give.

relation: ``{ C[d] -> [v] }`` keeps its value on each of ``v < w``, ``v = w`` and ``v > w``, where
``w`` is the value of a loop around it; or on ``v < w`` and ``v >= w``.

rewrite: ``for (k) for (j) A[j] = f(A[j], A[k]);`` ->
``for (k) { for (j < k) ...; A[k] = f(A[k], A[k]); for (j > k) ...; }``
rewrite: ``for (i < N) A[i] = A[N - 1 - i];`` -> ``for (i < N / 2) ...; for (i >= N / 2) ...;``

*Requires* a loop around the one that is split, or an affine expression of the sizes, and no buffers
inside it. *Fails when* there are no iterations on both sides. The order of instances stays; what
all iterations but one have in common, such as that they only read ``A[k]``, is then true of whole
loops.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING

from polyopt.errors import NotFusableError, NotPermutableError
from polyopt.isl import dim_type, parse_value
from polyopt.transform.schedule.query import check_name, find_loop, fresh_loop_name, path_to
from polyopt.transform.schedule.registry import transformation
from polyopt.transform.schedule.tree import (
    PlanLoop,
    ScheduledStatement,
    Tree,
    loops_of,
    only,
    replace_loop,
    with_values,
    without,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.isl import PwAff, Set
    from polyopt.transform.schedule.program import ScheduledProgram

#: the parts in their order; the last keeps the names
_PARTS = {2: ("before", ""), 3: ("before", "at", "")}


@transformation("loops", keeps=True)
def split_range(program: ScheduledProgram, loop: str, at: str) -> ScheduledProgram:
    """The program with ``loop`` in three at the iteration that loop ``at`` is in, or in two at the
    value of ``at``, an affine expression of the sizes as isl writes it: ``floor((N)/2)``."""
    node = find_loop(program, loop)
    check_name("place to split at", at)
    path = path_to(program, node.name)
    around = next((n for n in path[:-1] if n.name == at), None)
    place = around or _value(program, node, at)
    inside = {n.name for n in loops_of((node,))}
    if any(s.at in inside or s.within in inside for s in program.stores):
        message = f"{node.name} holds buffers: its range cannot be split"
        raise NotFusableError(message, hint="split_range() first, store() afterwards")
    sides = {name: _sides(program.copies[name], node, place) for name in node.copies}
    parts = 2 if around is None else 3
    if any(all(sides[n][side].is_empty() for n in sides) for side in (0, -1)):
        message = f"{node.name} has no iterations on both sides of {at}" + "'s" * (parts == 3)
        raise NotFusableError(message, hint="a loop that starts or ends there needs no splitting")
    for side, part in enumerate(_PARTS[parts]):
        program = _with_part(program, node, path[:-1], part, {n: sides[n][side] for n in sides})
    return program


def _value(program: ScheduledProgram, loop: PlanLoop, text: str) -> PwAff:
    """``[N] -> { [w] }`` of a text. Raises ``NotPermutableError`` where it is none."""
    found = parse_value(program.scop.params, text)
    if found is None:
        message = (
            f"{text} does not enclose {loop.name}, and is no value that sizes give: a range is "
            "split at a loop around it, or at such a value"
        )
        raise NotPermutableError(message, hint="split_range(loop, at='floor((N)/2)')")
    return found


def _sides(copy: ScheduledStatement, loop: PlanLoop, at: PlanLoop | PwAff) -> tuple[Set, ...]:
    """``{ C[d] }`` before, at and after the iteration; or before a value, and from it on."""
    value = loop.values[copy.name]
    if isinstance(at, PlanLoop):
        there = at.values[copy.name]
        parts = (value.lt_set(there), value.eq_set(there), value.gt_set(there))
    else:
        there = at.insert_domain(value.get_domain_space())
        parts = (value.lt_set(there), value.ge_set(there))
    return tuple(copy.domain.intersect(part).coalesce() for part in parts)


def _with_part(
    program: ScheduledProgram,
    node: PlanLoop,
    around: tuple[PlanLoop, ...],
    part: str,
    domains: Mapping[str, Set],
) -> ScheduledProgram:
    """The program with one part of a loop: before it, or in its place."""
    # in the order of the program's copies: isl's scheduler takes statements in that order
    there = [n for n in program.copies if n in domains and not domains[n].is_empty()]
    kept = only((node,), set(there)) if there else ()
    if not part:
        tree = without(program.tree, domains.keys() - set(there))
        copies = {n: c for n, c in program.copies.items() if n not in domains or n in there}
        copies |= {n: replace(copies[n], domain=domains[n]) for n in there}
        return replace(program, tree=tree, copies=copies)
    names = {name: _fresh(program, f"{name}@{node.name}#{part}") for name in there}
    made = {
        new: replace(
            program.copies[name], name=new, domain=domains[name].set_tuple_name(new)
        )
        for name, new in names.items()
    }  # fmt: skip

    def again(nodes: Tree) -> Tree:
        return tuple(
            names[n]
            if isinstance(n, str)
            else replace(
                n,
                name=fresh_loop_name(program.tree, f"{n.name}_{part}"),
                values={names[c]: _over(v, made[names[c]]) for c, v in n.values.items()},
                body=again(n.body),
            )
            for n in nodes
        )

    tree = replace_loop(program.tree, node.name, lambda found: (*again(kept), found))
    added = {
        n.name: {new: _over(n.values[name], made[new]) for name, new in names.items()}
        for n in around
    }
    return replace(program, tree=with_values(tree, added), copies={**program.copies, **made})


def _fresh(program: ScheduledProgram, name: str) -> str:
    """The name of a copy, with a number where an earlier split has taken it."""
    numbered = (f"{name}{number}" for number in count(2))
    return next(n for n in chain((name,), numbered) if n not in program.copies)


def _over(value: PwAff, copy: ScheduledStatement) -> PwAff:
    """``{ C[d] -> [v] }`` over a copy of the same dimensions."""
    return value.set_tuple_id(dim_type.in_, copy.domain.get_tuple_id())
