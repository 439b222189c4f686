"""What a box of a program's results needs: instances, closed under the dependences backwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.analysis.sets.ranges import param_range
from polyopt.errors import NotDecidedError
from polyopt.isl import (
    UnionMap,
    UnionSet,
    affine_var,
    budget,
    dim_type,
    empty_set,
    maps_of,
    sets_of,
    tuple_name,
    union_all,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from polyopt.analysis.dependences import Dependences
    from polyopt.ir.scop import Scop
    from polyopt.isl import Set

#: isl operations that a transitive closure may take before bounds are dropped instead
_CLOSURE_BUDGET = 20_000_000
#: a set of more pieces than this is rounded up to a box
_PIECES = 1
#: rounds after which a bound that still moves is dropped
_ROUNDS = 2


def needed(deps: Dependences, results: UnionSet, typical: Mapping[str, int]) -> UnionSet:
    """``{ S[i] }``: instances enough to compute the elements ``results`` as the program does.

    Every instance that writes an element of ``results`` is there, and with each instance those
    whose values it reads. A set of several pieces is rounded up to a box: more instances than
    need be, never fewer. ``typical`` are the parameter values at which bounds are to be tight.
    """
    scop = deps.scop
    found: dict[str, Set] = {}
    writers = scop.writes.intersect_range(results).domain()
    for part in sets_of(writers):
        found[tuple_name(part)] = part
    for members in reversed(components([s.name for s in scop.statements], deps.flow)):
        inside = union_all(
            part
            for part in maps_of(deps.flow)
            if tuple_name(part, dim_type.in_) in members
            and tuple_name(part, dim_type.out) in members
        )
        seeds = {name: found[name] for name in members if name in found}
        if not seeds:
            continue
        if inside.is_empty():
            closed = {n: _rounded(scop, n, s, typical) for n, s in seeds.items()}
        else:
            closed = _closed(scop, seeds, inside, typical)
        found.update(closed)
        for part in maps_of(deps.flow):
            writer, reader = tuple_name(part, dim_type.in_), tuple_name(part, dim_type.out)
            if reader in closed and writer not in members:
                more = part.intersect_range(closed[reader]).domain()
                found[writer] = found[writer].union(more) if writer in found else more
    return _union(found.values())


def _union(parts: Iterable[Set]) -> UnionSet:
    result = empty_set()
    for part in parts:
        result = result.union(part.to_union_set())
    return result


def _rounded(scop: Scop, name: str, part: Set, typical: Mapping[str, int]) -> Set:
    """The set where it is one piece, else the domain's part of the box around it."""
    part = part.coalesce()
    if part.n_basic_set() <= _PIECES:
        return part
    return _boxed(scop, name, part, typical, range(part.dim(dim_type.set)))


def _boxed(
    scop: Scop, name: str, part: Set, typical: Mapping[str, int], dims: Iterable[int]
) -> Set:
    """The domain's instances whose iterators ``dims`` are within those of ``part``."""
    result = scop.statement(name).domain.intersect_params(scop.context)
    for position in dims:
        found = param_range(part, position, typical)
        if found is None:
            continue
        value = affine_var(result.get_space(), position)
        low, high = (f.insert_domain(result.get_space()) for f in (found.low, found.high))
        result = result.intersect(value.ge_set(low)).intersect(value.le_set(high))
    return result.coalesce()


def _closed(
    scop: Scop, seeds: dict[str, Set], flow: UnionMap, typical: Mapping[str, int]
) -> dict[str, Set]:
    """The seeds with all that they need by way of dependences among themselves."""
    start = _union(seeds.values())
    try:
        with budget(_CLOSURE_BUDGET, "transitive closure"):
            closure = flow.transitive_closure()
            reach = closure[0] if isinstance(closure, tuple) else closure
            whole = start.union(reach.intersect_range(start).domain()).coalesce()
            parts = {tuple_name(part): _hull(scop, part) for part in sets_of(whole)}
            if is_closed(_union(parts.values()), flow):
                return parts
    except NotDecidedError:
        pass
    return _widened(scop, seeds, flow, typical)


def _hull(scop: Scop, part: Set) -> Set:
    """One piece around a set: that of its own constraints which hold for all of it."""
    if part.n_basic_set() <= _PIECES:
        return part
    domain = scop.statement(tuple_name(part)).domain.intersect_params(scop.context)
    hull = part.compute_divs().simple_hull().remove_unknown_divs().to_set()
    return hull.intersect(domain).coalesce()


def is_closed(instances: UnionSet, flow: UnionMap) -> bool:
    """Whether what the instances need of each other is among them."""
    return flow.intersect_range(instances).domain().is_subset(instances)


def _widened(
    scop: Scop, seeds: dict[str, Set], flow: UnionMap, typical: Mapping[str, int]
) -> dict[str, Set]:
    """A fixpoint over boxes: a dimension that still grows after some rounds is left whole."""
    bounded = {name: set(range(part.dim(dim_type.set))) for name, part in seeds.items()}
    current = {n: _boxed(scop, n, s, typical, bounded[n]) for n, s in seeds.items()}
    turn = 0
    while True:
        everything = _union(current.values())
        if is_closed(everything, flow):
            return current
        turn += 1
        grown = everything.union(flow.intersect_range(everything).domain())
        for part in sets_of(grown):
            name = tuple_name(part)
            dims = bounded.setdefault(name, set(range(part.dim(dim_type.set))))
            box = _boxed(scop, name, part, typical, dims)
            if turn > _ROUNDS and name in current:
                dims -= {k for k in dims if _moved(current[name], box, k)}
                box = _boxed(scop, name, part, typical, dims)
            current[name] = box


def _moved(before: Set, after: Set, position: int) -> bool:
    """Whether a dimension takes values that it did not take before."""
    one, two = (_line(part, position) for part in (before, after))
    return not two.is_subset(one)


def _line(part: Set, position: int) -> Set:
    after = part.dim(dim_type.set) - position - 1
    line = part.project_out(dim_type.set, position + 1, after)
    return line.project_out(dim_type.set, 0, position).reset_tuple_id()


def components(names: list[str], flow: UnionMap) -> list[set[str]]:
    """Statements that depend on each other in a circle, producers before consumers."""
    readers: dict[str, set[str]] = {name: set() for name in names}
    for part in maps_of(flow):
        readers[tuple_name(part, dim_type.in_)].add(tuple_name(part, dim_type.out))
    reached = {name: _reached(name, readers) for name in names}
    result: list[set[str]] = []
    done: set[str] = set()
    # a statement reaches strictly more than those after it, or as much in a circle
    for name in sorted(names, key=lambda n: (-len(reached[n] | {n}), names.index(n))):
        if name not in done:
            group = {name, *(o for o in reached[name] if name in reached[o])}
            result.append(group)
            done |= group
    return result


def _reached(name: str, readers: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [*readers[name]]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += readers[one]
    return found
