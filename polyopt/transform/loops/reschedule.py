"""reschedule: the order of isl's scheduler in place of the source's.

relation: each statement's time becomes a schedule of permutable bands found by isl
(S. Verdoolaege and G. Janssens, "Scheduling for PPCG", 2017): ``{ S[i] -> [v1, v2, ...] }``,
affine per loop, with loops of several statements shared where ``fusion`` says.

rewrite: ``for (t) { for (i) B[i] = f(A); for (i) A[i] = f(B); }`` ->
``for (t) for (p = 2*t + i; ...) { B[p - 2*t] = ...; A[p - 2*t - 1] = ...; }``

*Requires* a plan without moves that it would undo: of those that change loops,
``split_range`` alone may come before it. Parts of a statement are scheduled one by one, so that it
may unlock a permutable band. *Fails when* isl finds no schedule within the budget. Locals of loops
become arrays with an element for each iteration.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING

from polyopt.errors import (
    InternalError,
    InvalidOptionError,
    NotDecidedError,
    NotPermutableError,
    given,
)
from polyopt.isl import (
    PwAff,
    ScheduleConstraints,
    ScheduleNode,
    Set,
    UnionSet,
    affine_constant,
    budget,
    canonical_tuples,
    context,
    dim_type,
    largest_params,
    maps_of,
    on_tuple,
    on_tuples,
    schedule_node_type,
    sets_of,
    tuple_name,
    union_all,
)
from polyopt.transform.schedule.identity import source_program
from polyopt.transform.schedule.query import unknown
from polyopt.transform.schedule.registry import registered, transformation
from polyopt.transform.schedule.tree import PlanLoop, Tree, copies_at, loops_of, prefix_map

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from polyopt.isl import Map, Schedule, UnionMap
    from polyopt.transform.schedule.move import Move
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import ScheduledStatement

    #: the loops around a node
    _Path = tuple[PlanLoop, ...]

#: isl operations that the scheduler may take for each number in the constraints of dependences: the
#: library's kernels take 5 to 190, the smallest 310, and up to 46 for all of a component at once. A
#: search that does not end takes ever longer for each, with numbers of hundreds of digits
SCHEDULER_BUDGET = 300
#: as if there were so many numbers more, and the share of operations for all of a component at once
_FIRST, _AT_ONCE = 100, 5
#: per heuristic, what isl is told: one loop nest per strongly connected component (min), shared
#: loops only where no statement loses a permutable one (smart), wherever legal (max), or where
#: isl's clustering finds it near (hybrid)
FUSIONS = {
    "min": {"serialize_sccs": 1},
    "smart": {"maximize_band_depth": 1},
    "max": {"whole_component": 1},
    "hybrid": {},
}
#: iterations of a loop of constant length whose bounds the scheduler is not told of
_LONG = 4
#: the largest coefficient of an iterator in a schedule: where there is no bound, isl's search for
#: the least ones may find no end, and no count of operations shows it
_LARGEST, _ANY = 1000, -1
_OPTIONS = ("serialize_sccs", "maximize_band_depth", "whole_component")


@dataclass(frozen=True, eq=False)
class Bands:
    """isl's schedule as a tree of loops, and what isl says of them."""

    tree: Tree
    #: the loops of each band of more than one, from the outside in
    permutable: tuple[tuple[str, ...], ...]
    #: loops that carry no dependence of their band
    coincident: frozenset[str]


@transformation("loops")
def reschedule(program: ScheduledProgram, fusion: str, loop: str | None = None) -> ScheduledProgram:
    """The program, or the nest of one outermost loop, in the order of isl's scheduler."""
    start = replace(
        source_program(program.scop),
        flow=program.flow,
        copies=program.copies,
        reassociated=program.reassociated,
        nontemporal=program.nontemporal,
        known=program.known,
    )
    found = bands(program, fusion, loop)
    if loop is None:
        return replace(start, tree=found.tree)
    tree = tuple(
        new for node in program.tree for new in (found.tree if _name_of(node) == loop else (node,))
    )
    others = {
        inner.name for node in program.tree if _name_of(node) != loop for inner in loops_of((node,))
    }
    stores = tuple(store for store in program.stores if store.at in others)
    return replace(start, tree=tree, stores=stores)


def _name_of(node: PlanLoop | str) -> str:
    return node if isinstance(node, str) else node.name


def check_first(moves: Sequence[Move]) -> None:
    """Refuse to reschedule after moves that would be undone.

    Raises ``NotPermutableError``.
    """
    undone = next((move for move in moves if not registered(move.name).keeps), None)
    if undone is None:
        return
    message = f"reschedule() makes all loops anew, and would undo {undone}"
    hint = "reschedule first: only split_range() may come before it, and what changes no loops"
    raise NotPermutableError(message, hint=hint)


def bands(program: ScheduledProgram, fusion: str, loop: str | None = None) -> Bands:
    """The schedule that isl finds for a program's copies, each of which is a part of its statement,
    or for those of one outermost loop.

    Raises ``NotDecidedError`` on a spent budget, or where isl's scheduler gives up.
    """
    scop = program.scop
    if not isinstance(fusion, str) or fusion not in FUSIONS:
        message = f"reschedule: no heuristic is called {given(fusion)}"
        raise InvalidOptionError(message, hint="there are: " + ", ".join(FUSIONS))
    copies, taken = program.copies, set[str]()
    if loop is not None:
        root = _root(program, loop)
        copies = {name: program.copies[name] for name in root.copies}
        taken = {other.name for other in loops_of(program.tree)} - {o.name for o in root.loops}
    deps = program.dependences
    order = deps.flow.union(deps.value_anti).union(deps.value_output).coalesce()
    flow, domain = deps.flow, scop.domain.intersect_params(scop.context)
    if any(copy.name != copy.statement.name for copy in copies.values()):
        parts = copies_at(copies.values())
        order, flow = (deps.apply_domain(parts).apply_range(parts) for deps in (order, flow))
        domain = parts.range()
    if loop is not None:
        spaces = (Set.universe(c.domain.get_space()).to_union_set() for c in copies.values())
        inside = reduce(UnionSet.union, spaces)
        order, flow = (
            deps.intersect_domain(inside).intersect_range(inside) for deps in (order, flow)
        )
        domain = domain.intersect(inside)
    known = _constant_bounds(domain)
    if not known.is_equal(known.universe()):
        order, flow = (_without(deps, known) for deps in (order, flow))
    # isl's scheduler prefers a number to a parameter, and would put a statement behind all
    # iterations that any size allows, { S[i] -> [i + 2147483647] }: a loop that runs over nothing
    sizes = largest_params(scop.context)
    order, flow = (deps.gist_params(sizes) for deps in (order, flow))
    tuples = canonical_tuples(copies)
    numbered = _numbered(order, tuples)
    parts = {tuple_name(part): part for part in sets_of(domain)}
    whole = on_tuples({name: parts[name] for name in tuples if name in parts}, tuples)
    constraints = ScheduleConstraints.on_domain(whole)
    constraints = constraints.set_validity(numbered).set_coincidence(numbered)
    constraints = constraints.set_proximity(_numbered(flow, tuples))
    schedule = _scheduled(constraints, scop.name, fusion)
    named = {tuple_: name for name, tuple_ in tuples.items()}
    names = tuple(name for name in program.places if name in copies)
    return _Reader(copies, order, named, taken).read(schedule, names)


def _root(program: ScheduledProgram, loop: str) -> PlanLoop:
    """The outermost loop of that name. Raises ``UnknownNameError``."""
    roots = [node for node in program.tree if isinstance(node, PlanLoop)]
    found = next((node for node in roots if node.name == loop), None)
    if found is None:
        raise unknown("outermost loop", loop, [node.name for node in roots])
    return found


def _numbered(order: UnionMap, tuples: Mapping[str, str]) -> UnionMap:
    """``{ S0[i] -> S1[j] }`` of ``{ C[i] -> D[j] }``."""
    place = {name: position for position, name in enumerate(tuples)}

    def ends(part: Map) -> tuple[str, str]:
        space = part.get_space()
        return tuple_name(space, dim_type.in_), tuple_name(space, dim_type.out)

    def renamed(part: Map) -> Map:
        one, other = ends(part)
        part = part.set_tuple_name(dim_type.in_, tuples[one])
        return part.set_tuple_name(dim_type.out, tuples[other])

    parts = sorted(maps_of(order), key=lambda part: [place[end] for end in ends(part)])
    return union_all(map(renamed, parts))


def _scheduled(constraints: ScheduleConstraints, name: str, fusion: str) -> Schedule:
    """isl's schedule. Raises ``NotDecidedError`` where it gives up."""
    try:
        allowed = budget(_allowed(constraints, fusion), f"isl's schedule of {name}")
        with allowed, _told(FUSIONS[fusion]):
            return constraints.compute_schedule()
    except InternalError as error:
        if "unable to carry dependences" not in str(error):
            raise
        message = f"the scheduler finds no order for {name} in which its dependences advance"
        raise NotDecidedError(message, hint="the source's order can be kept") from None


def _allowed(constraints: ScheduleConstraints, fusion: str) -> int:
    """isl operations for a search among orders, by the size of what each has to keep."""
    pieces = [p for part in maps_of(constraints.get_validity()) for p in part.get_basic_maps()]
    numbers = sum(piece.n_constraint() * (piece.dim(dim_type.all) + 1) for piece in pieces)
    allowed = SCHEDULER_BUDGET * (_FIRST + numbers)
    return allowed // _AT_ONCE if "whole_component" in FUSIONS[fusion] else allowed


def _constant_bounds(domain: UnionSet) -> UnionSet:
    """The domain's sets bounded by nothing but the constants of their long dimensions.

    Dependences without those bounds hold between more instances, of which a schedule keeps the
    order too. With them the numbers of isl's scheduler grow by their products, without an end in
    sight for a stencil of three dimensions, and no count of operations shows it.
    """
    result = domain.universe()
    for part in sets_of(domain):
        for position in range(part.dim(dim_type.set)):
            if not (part.dim_has_any_lower_bound(dim_type.set, position)
                    and part.dim_has_any_upper_bound(dim_type.set, position)):  # fmt: skip
                continue
            low, high = part.dim_min_val(position), part.dim_max_val(position)
            if low.is_int() and high.is_int() and high.sub(low).to_python() >= _LONG:
                box = Set.universe(part.get_space())
                box = box.lower_bound_val(dim_type.set, position, low)
                box = box.upper_bound_val(dim_type.set, position, high)
                result = result.intersect(_others(result, part).union(box.to_union_set()))
    return result


def _without(deps: UnionMap, known: UnionSet) -> UnionMap:
    """Dependences without the bounds of their ends, but for those of what stays bounded without.

    ``{ S[y] -> T[y'] : -7 + 3y <= 5y' <= 4 + 3y and 0 <= y' <= 3 }`` still bounds y, now between
    fractions: isl's search for integers goes through them one cut at a time.
    """
    kept: list[UnionMap] = []
    for part in maps_of(deps.gist_domain(known).gist_range(known)):
        left = part.to_union_map()
        for kind, end in ((dim_type.in_, part.domain()), (dim_type.out, part.range())):
            again = _bounds_again(end, known.extract_set(end.get_space())).to_union_set()
            at_start = kind == dim_type.in_
            left = left.intersect_domain(again) if at_start else left.intersect_range(again)
        kept.append(left)
    return union_all(kept)


def _bounds_again(end: Set, known: Set) -> Set:
    """The known bounds of those dimensions of an end that are bounded without them."""
    box = Set.universe(known.get_space())
    for position in range(known.dim(dim_type.set)):
        bounded = end.dim_is_bounded(dim_type.set, position)
        low, high = known.dim_min_val(position), known.dim_max_val(position)
        if bounded and low.is_int() and high.is_int():
            box = box.lower_bound_val(dim_type.set, position, low)
            box = box.upper_bound_val(dim_type.set, position, high)
    return box


def _others(domain: UnionSet, part: Set) -> UnionSet:
    """The sets of other statements."""
    return domain.subtract(Set.universe(part.get_space()).to_union_set())


@contextmanager
def _told(options: dict[str, int]) -> Generator[None]:
    """isl's scheduler with these options, and the others off; no coefficient is beyond a bound."""
    ctx = context()
    ctx.set_schedule_max_coefficient(_LARGEST)
    for name in _OPTIONS:
        getattr(ctx, f"set_schedule_{name}")(options.get(name, 0))
    try:
        yield
    finally:
        for name in _OPTIONS:
            getattr(ctx, f"set_schedule_{name}")(0)
        ctx.set_schedule_max_coefficient(_ANY)


@dataclass
class _Reader:
    """Turns isl's tree into loops with names."""

    copies: Mapping[str, ScheduledStatement]
    #: { C[i] -> D[j] }: what has to stay in order
    order: UnionMap
    #: the copy of each tuple in isl's tree
    named: Mapping[str, str]
    taken: set[str] = field(default_factory=set[str])
    permutable: list[tuple[str, ...]] = field(default_factory=list["tuple[str, ...]"])
    coincident: set[str] = field(default_factory=set[str])

    def read(self, schedule: Schedule, names: tuple[str, ...]) -> Bands:
        root = schedule.get_root()
        tree = self._children(root, names, ())
        return Bands(tree, tuple(self.permutable), frozenset(self.coincident))

    def _children(self, node: ScheduleNode, names: tuple[str, ...], path: _Path) -> Tree:
        return self._node(node.child(0), names, path) if node.n_children() else names

    def _node(self, node: ScheduleNode, names: tuple[str, ...], path: _Path) -> Tree:
        kind = node.get_type()
        if kind == schedule_node_type.leaf:
            return self._leaf(names, path)
        if kind == schedule_node_type.sequence or kind == schedule_node_type.set:  # noqa: PLR1714
            parts = [node.child(position) for position in range(node.n_children())]
            order = {name: position for position, name in enumerate(names)}
            found = [self._in(part.filter_get_filter(), names) for part in parts]
            # no filter holds a copy without instances, and any part may: the loops around have it
            found[-1] |= set(names).difference(*found)
            inside = [tuple(sorted(mine, key=order.__getitem__)) for mine in found]
            both = list(zip(parts, inside, strict=True))
            if kind == schedule_node_type.set:  # any order will do: the source's
                both.sort(key=lambda pair: order[pair[1][0]])
            return tuple(child for part, mine in both for child in self._children(part, mine, path))
        if kind == schedule_node_type.band:
            return self._band(node, names, path)
        return self._children(node, names, path)

    def _leaf(self, names: tuple[str, ...], path: _Path) -> Tree:
        """Statements of one innermost loop: any order is right; one in which as many of the
        loops around as possible can be distributed comes first."""
        if len(names) < 2 or not path:
            return names
        for depth in range(1, len(path)):
            result = self._sorted(names, path[:depth])
            if result is not None:
                return result
        return self._sorted(names, path[:-1]) or names

    def _sorted(self, names: tuple[str, ...], path: _Path) -> tuple[str, ...] | None:
        """An order that agrees with all dependences between iterations of the same loops;
        ``None`` where these go round in circles."""
        outer = {name: prefix_map(self.copies[name], path) for name in names}
        before = {
            other: {
                one
                for one in names
                if one != other
                and not self._ordered(one, other)
                .intersect(outer[one].apply_range(outer[other].reverse()))
                .is_empty()
            }
            for other in names
        }
        result: list[str] = []
        while len(result) < len(names):
            waiting = [name for name in names if name not in result]
            ready = [name for name in waiting if before[name] <= {*result}]
            if not ready:
                return None
            result.append(ready[0])
        return tuple(result)

    def _ordered(self, one: str, other: str) -> Map:
        spaces = [self.copies[name].domain.get_space() for name in (one, other)]
        return self.order.extract_map(spaces[0].map_from_domain_and_range(spaces[1]))

    def _value(self, name: str, value: PwAff | None) -> PwAff:
        """``{ C[d] -> [v] }`` of a loop; any for a copy that isl leaves out, as none of its
        instances runs."""
        space = self.copies[name].domain.get_space()
        return affine_constant(space, 0) if value is None else on_tuple(value, space)

    def _in(self, part: UnionSet, names: tuple[str, ...]) -> set[str]:
        """Those of some copies that a filter holds."""
        return {self.named[tuple_name(piece)] for piece in sets_of(part)}.intersection(names)

    def _band(self, node: ScheduleNode, names: tuple[str, ...], path: _Path) -> Tree:
        partial = node.band_get_partial_schedule()
        loops: list[PlanLoop] = []
        used = {n: frozenset(d for loop in path for d in _dims(loop.values[n])) for n in names}
        for member in range(node.band_n_member()):
            parts = partial.get_at(member).get_pw_aff_list()
            each = [parts.get_at(position) for position in range(parts.n_pw_aff())]
            found = {self.named[tuple_name(part.get_space(), dim_type.in_)]: part for part in each}
            values = {name: self._value(name, found.get(name)) for name in names}
            if all(_is_constant(value) for value in values.values()):
                continue
            name = self._name(values, used)
            used = {n: used[n] | _dims(value) for n, value in values.items()}
            loops.append(PlanLoop(name, values, ()))
            if node.band_member_get_coincident(member):
                self.coincident.add(name)
        if node.band_get_permutable() and len(loops) > 1:
            self.permutable.append(tuple(loop.name for loop in loops))
        body = self._children(node, names, (*path, *loops))
        for loop in reversed(loops):
            body = (replace(loop, body=body),)
        return body

    def _name(self, values: dict[str, PwAff], used: dict[str, frozenset[int]]) -> str:
        """``array.iterator``: the iterator that no loop around moves with yet."""
        scored: dict[str, int] = {}
        for statement, value in values.items():
            source = self.copies[statement].statement
            for dim in sorted(_dims(value)):
                new = dim not in used[statement]
                name = source.iterators[dim]
                scored[name] = scored.get(name, 0) + (len(values) + 1 if new else 1)
        iterator = max(scored, key=scored.__getitem__)
        array = self.copies[list(values)[-1]].statement.array
        name, number = f"{array}.{iterator}", 1
        while name in self.taken:
            number += 1
            name = f"{array}.{iterator}{number}"
        self.taken.add(name)
        return name


def _dims(value: PwAff) -> frozenset[int]:
    count = value.dim(dim_type.in_)
    return frozenset(d for d in range(count) if value.involves_dims(dim_type.in_, d, 1))


def _is_constant(value: PwAff) -> bool:
    return not _dims(value) and not any(
        value.involves_dims(dim_type.param, p, 1) for p in range(value.dim(dim_type.param))
    )
