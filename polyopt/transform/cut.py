"""cut: a loop in three at one of its iterations: those before it, itself, those after it.

relation: ``{ C[d] -> [v] }`` keeps its value on each of ``v < w``, ``v = w`` and ``v > w``, where
``w`` is the value of a loop around it (index-set splitting).

rewrite: ``for (k) for (j) A[j] = f(A[j], A[k]);`` ->
``for (k) { for (j < k) ...; A[k] = f(A[k], A[k]); for (j > k) ...; }``

*Requires* a loop around the one that is cut, and no buffers inside it. *Fails when* the value is no
iteration of it. The order of instances stays; what all iterations but one have in common, such as
that they only read ``A[k]``, is then true of whole loops.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.errors import NotFusableError, NotPermutableError
from polyopt.isl import dim_type
from polyopt.transform.find import find_loop, fresh_loop_name, path_to
from polyopt.transform.tree import (
    Copy,
    PlanLoop,
    Tree,
    loops_of,
    only,
    replace_loop,
    with_values,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.isl import PwAff, Set
    from polyopt.transform.program import Program

#: the parts in their order; the last keeps the names
_PARTS = ("before", "at", "")


def cut(program: Program, loop: str, at: str) -> Program:
    """The program with ``loop`` in three at the iteration that loop ``at`` is in."""
    node, around = find_loop(program, loop), find_loop(program, at)
    path = path_to(program, node.name)
    if around.name not in [n.name for n in path[:-1]]:
        message = f"{around.name} does not enclose {node.name}: a loop is cut at one around it"
        raise NotPermutableError(message)
    inside = {n.name for n in loops_of((node,))}
    if any(s.at in inside or s.within in inside for s in program.stores):
        message = f"{node.name} holds buffers: it cannot be cut"
        raise NotFusableError(message, hint="cut first, store afterwards")
    sides = {name: _sides(program.copies[name], node, around) for name in node.copies}
    if any(all(sides[n][side].is_empty() for n in sides) for side in (0, 2)):
        message = f"{node.name} has no iterations on both sides of {around.name}'s"
        raise NotFusableError(message, hint="a loop that starts or ends there needs no cut")
    for side, part in enumerate(_PARTS):
        program = _with_part(program, node, path[:-1], part, {n: sides[n][side] for n in sides})
    return program


def _sides(copy: Copy, loop: PlanLoop, around: PlanLoop) -> tuple[Set, Set, Set]:
    """``{ C[d] }`` before, at and after the iteration."""
    value, there = loop.values[copy.name], around.values[copy.name]
    parts = (value.lt_set(there), value.eq_set(there), value.gt_set(there))
    before, here, after = (copy.domain.intersect(part).coalesce() for part in parts)
    return before, here, after


def _with_part(
    program: Program,
    node: PlanLoop,
    around: tuple[PlanLoop, ...],
    part: str,
    domains: Mapping[str, Set],
) -> Program:
    """The program with one part of a loop: before it, or in its place."""
    there = {name for name, domain in domains.items() if not domain.is_empty()}
    kept = only((node,), there) if there else ()
    if not part:
        tree = replace_loop(program.tree, node.name, lambda _: kept)
        copies = {n: c for n, c in program.copies.items() if n not in domains or n in there}
        copies |= {n: replace(copies[n], domain=domains[n]) for n in there}
        return replace(program, tree=tree, copies=copies)
    names = {name: f"{name}@{node.name}#{part}" for name in there}
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


def _over(value: PwAff, copy: Copy) -> PwAff:
    """``{ C[d] -> [v] }`` over a copy of the same dimensions."""
    return value.set_tuple_id(dim_type.in_, copy.domain.get_tuple_id())
