"""Double buffering: arrays that a loop copies back at the end of each iteration change places.

rewrite: ``for (t < T) { for (i) b[i] = f(a, i); for (i) a[i] = b[i]; }`` ->
``for (2t + 1 < T) { for (i) b[i] = f(a, i); for (i) a[i] = f(b, i); }``, then what is left of the
steps as it was. Nothing is copied, and as many sweeps write half as much. Three states that move on
(``old = now; now = new``) take turns in three arrays.

relation: ``{ S_r[k, i] -> S[lo + p*k + r, i] : 0 <= r < p }`` for the steps of a group, where p
rotations put all arrays where they began.

A step's own arrays are made one array for all steps first. What no step writes, such as a border,
is copied to the arrays that take turns before them. Where an array that values are copied from is
seen after the loop, it gets an array in its place, and the last step is made as it was. Comes
before all other moves, but those that change the program as well.

*Requires* a loop that is in no other one, with each array copied from another one of its type and
extents, element by element. *Fails when* results would not be the source's
(``transform/legality/equivalence.py``): where steps write other elements, or borders differ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING

from polyopt.errors import InvalidOptionError
from polyopt.ir.block import Block
from polyopt.ir.expr import (
    Expr,
    Load,
    index_of,
    pulled_back,
    pulled_back_index,
    rewrite,
    same_expr,
)
from polyopt.ir.scop import Loop, Statement, statements_in
from polyopt.isl import (
    PwAff,
    Set,
    affine_constant,
    affine_var,
    dim_type,
    instance_space,
    integer_val,
    joined_values,
)
from polyopt.transform.schedule.query import unknown
from polyopt.transform.schedule.registry import transformation
from polyopt.transform.source.shared_locals import with_shared_locals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from polyopt.ir.scop import Array, Scop
    from polyopt.isl import PwMultiAff

#: arrays that take turns at most: the loop's body is repeated for each
MOST_TURNS = 4


@transformation("source")
def double_buffer(scop: Scop, *arrays: str) -> Scop:
    """The program whose steps exchange ``arrays`` for those that they are copied from.

    That it is still its source is for ``check_source`` to say.
    """
    if not arrays:
        raise InvalidOptionError("double_buffer() needs an array that steps copy back")
    for name in arrays:
        if name not in [a.name for a in scop.arrays]:
            raise unknown("array", name, [a.name for a in scop.arrays])
    for node in scop.nest:
        if isinstance(node, Loop):
            shared = with_shared_locals(scop, node)
            found = _copies_in(shared, node)
            if set(arrays) <= {s.array for s in found}:
                return _Turns(shared, node, tuple(s for s in found if s.array in arrays)).program()
    names = ", ".join(arrays)
    message = f"no loop copies {names} back from other arrays, element by element, in each step"
    raise InvalidOptionError(message, span=scop.array(arrays[0]).span)


def copied_back(scop: Scop, node: Loop) -> list[Statement]:
    """The statements of a loop that alone copy to the same elements of an array, in each step,
    what steps make in another one of its type and extents, as they are where the loop's locals are
    one array for all steps."""
    return _copies_in(with_shared_locals(scop, node), node)


def _copies_in(scop: Scop, node: Loop) -> list[Statement]:
    """The same of a program whose loop has one array for all steps of each of its locals."""
    inside = [scop.statement(name) for name in statements_in(node)]
    made = {s.array for s in inside}
    found = [s for s in inside if _is_copy(scop, s) and _source(s) in made]
    if len(found) == len(inside):
        return []
    return [s for s in found if sum(other.array == s.array for other in found) == 1]


def _is_copy(scop: Scop, statement: Statement) -> bool:
    value = statement.value
    if not isinstance(value, Load) or statement.spread or value.array == statement.array:
        return False
    if any(part.form.involves_dims(dim_type.in_, 0, 1) for part in statement.index):
        return False
    one, other = scop.array(statement.array), scop.array(value.array)
    if one.private or other.private or one.type != other.type:
        return False
    if one.rank == 0 or one.rank != other.rank:
        return False
    same = zip((*one.extents, *one.lower), (*other.extents, *other.lower), strict=False)
    return (
        all(a.is_equal(b) for a, b in same)
        and bool(one.lower) == bool(other.lower)
        and all(map(same_expr, value.index, statement.index))
    )


@dataclass(frozen=True, eq=False)
class _Turns:
    """A loop whose steps copy arrays back."""

    scop: Scop
    node: Loop
    copies: tuple[Statement, ...]

    @cached_property
    def inside(self) -> tuple[Statement, ...]:
        """The loop's statements, in textual order."""
        return tuple(self.scop.statement(name) for name in statements_in(self.node))

    @cached_property
    def unused(self) -> Callable[[str], str]:
        """A name for something new, never the same twice."""
        return _names(self.scop)

    # -- what takes turns -------------------------------------------------------------------

    @cached_property
    def start(self) -> Mapping[str, str]:
        """Which array holds each that takes turns, before a group of steps: another one where
        elements that no step makes would be lost, or what the last step left in it."""
        names = dict.fromkeys(n for s in self.copies for n in (s.array, _source(s)))
        return {n: n if self._is_free(n) else self.unused(f"{n}_other") for n in names}

    @cached_property
    def targets(self) -> frozenset[str]:
        """The arrays that are copied back."""
        return frozenset(s.array for s in self.copies)

    def _is_free(self, array: str) -> bool:
        """Whether an array may hold what others do."""
        if array not in self.targets:
            return self._is_own(array)
        others = self._orbit(array) - {array}
        is_seen = self.scop.array(array).role != "temp"
        return not is_seen or all(self._outside(n).is_empty() for n in others)

    def _orbit(self, array: str) -> set[str]:
        """The arrays that an array's values are in, as steps go on."""
        places = self._after({n: n for s in self.copies for n in (s.array, _source(s))})
        result: set[str] = set()
        while array not in result:
            result.add(array)
            array = places[array]
        return result

    def _is_own(self, array: str) -> bool:
        """Whether nobody asks what an array holds once the loop is done."""
        here = self.scop.nest.index(self.node)
        later = [n for node in self.scop.nest[here + 1 :] for n in statements_in(node)]
        read = {access.array for name in later for access in self.scop.statement(name).reads}
        return self.scop.array(array).role == "temp" and array not in read

    @cached_property
    def kept(self) -> int:
        """How many steps at the end are as they were: one, where it leaves more than results."""
        moved = (name for name, place in self.start.items() if name != place)
        return int(any(name not in self.targets for name in moved))

    @cached_property
    def steps(self) -> tuple[Mapping[str, str], ...]:
        """Which array holds each at the start of the steps of a group. Raises
        ``InvalidOptionError`` where they take turns for too long."""
        result = [self.start]
        while (places := self._after(result[-1])) != self.start:
            if len(result) == MOST_TURNS:
                raise self._refused(f"all are where they began after more than {MOST_TURNS}")
            result.append(places)
        return tuple(result)

    def _after(self, places: Mapping[str, str]) -> dict[str, str]:
        result = dict(places)
        for copy in self.copies:
            _exchange(result, copy)
        return result

    @cached_property
    def ends(self) -> tuple[PwAff, PwAff]:
        """The first and the last step, ``[N] -> { [t] }``. Raises ``InvalidOptionError``."""
        found: list[tuple[PwAff, PwAff]] = []
        for statement in self.inside:
            inner = len(statement.iterators) - 1
            line = statement.domain.project_out(dim_type.set, 1, inner)
            line = line.intersect_params(self.scop.context).coalesce()
            pieces = [end.get_pieces() for end in (line.dim_min(0), line.dim_max(0))]
            if any(len(piece) != 1 for piece in pieces):
                raise self._refused("its first and last one are not affine")
            low, high = (PwAff.from_aff(piece[0][1]) for piece in pieces)
            found.append((low, high))
        low, high = found[0]
        if not all(a.is_equal(low) and b.is_equal(high) for a, b in found):
            raise self._refused("not all statements run in all of them")
        return low, high

    @cached_property
    def groups(self) -> PwAff:
        """How many groups of steps there are, ``[N] -> { [count] }``."""
        low, high = self.ends
        steps = _plus(high.sub(low), 1 - self.kept)
        return steps.scale_down_val(integer_val(len(self.steps))).floor()

    def _refused(self, why: str) -> InvalidOptionError:
        message = f"the steps of loop {self.node.iterator} cannot take turns: {why}"
        return InvalidOptionError(message, span=self.copies[0].span)

    # -- the program ------------------------------------------------------------------------

    def program(self) -> Scop:
        """The program with steps in groups, and what is left of them after those."""
        if self.node.step != 1:
            raise self._refused("it does not go upwards one by one")
        if any(isinstance(s.value, Block) for s in self.inside):
            raise self._refused("data decide what is done in them")
        before, after = [*self._before()], [*self._after_groups()]
        groups = [self._group(number, places) for number, places in enumerate(self.steps)]
        left = self._left()
        steps = (s for made in (*groups, left) for s in made.values())
        made = {s.name: s for s in (*before, *steps, *after)}
        body = tuple(new for group in groups for new in _renamed(self.node.body, group))
        rest = _renamed((self.node,), left)
        here = self.scop.nest.index(self.node)
        nest = (
            *self.scop.nest[:here],
            *map(_nest_of, before),
            replace(self.node, body=body),
            *map(_nest_of, after),
            *rest,
            *self.scop.nest[here + 1 :],
        )
        own = {s.name for s in self.inside}
        statements = {s.name: s for s in self.scop.statements if s.name not in own} | made
        ordered = tuple(statements[name] for node in nest for name in statements_in(node))
        return replace(self.scop, arrays=self._arrays(ordered), statements=ordered, nest=nest)

    def _group(self, number: int, places: Mapping[str, str]) -> dict[str, Statement]:
        """One step of each group, by the names of what it is made of."""
        low, high = self.ends
        period, now, result = len(self.steps), dict(places), dict[str, Statement]()
        own = self.own_arrays[number]
        for statement in self.inside:
            if statement in self.copies:
                _exchange(now, statement)
                continue
            name = self.unused(f"{statement.name}_{number + 1}") if number else statement.name
            space = instance_space(self.scop.params, name, statement.iterators)
            group, *others = (affine_var(space, k) for k in range(len(statement.iterators)))
            first = low.insert_domain(space).add(group.scale_val(integer_val(period)))
            there = joined_values([_plus(first, number), *others], statement.name)
            last = _plus(high, 1 - period - self.kept).insert_domain(space)
            domain = statement.domain.preimage_pw_multi_aff(there)
            domain = domain.intersect(group.ge_set(affine_constant(space, 0)))
            domain = domain.intersect(first.le_set(last))
            moved = _moved(statement, name, there, domain, {**now, **own})
            result[statement.name] = _counted(moved, own.values(), group)
        return result

    def _left(self) -> dict[str, Statement]:
        """The steps that fill no group, by the names of what they are made of."""
        low, _ = self.ends
        period, result = len(self.steps), dict[str, Statement]()
        for statement in self.inside:
            name = self.unused(f"{statement.name}_left")
            space = instance_space(self.scop.params, name, statement.iterators)
            same = [affine_var(space, k) for k in range(len(statement.iterators))]
            there = joined_values(same, statement.name)
            start = low.add(self.groups.scale_val(integer_val(period))).insert_domain(space)
            domain = statement.domain.preimage_pw_multi_aff(there).intersect(same[0].ge_set(start))
            if not domain.intersect_params(self.scop.context).is_empty():
                result[statement.name] = _moved(statement, name, there, domain, {})
        return result

    def _before(self) -> Iterator[Statement]:
        """Copies of what steps read and do not make, to the arrays that come in their place."""
        for name, place in self.start.items():
            if place != name and name in self.targets:
                yield self._copy(place, name, self._read(name), f"{place}_in")
            outside = self._outside(name)
            others = dict.fromkeys(p[name] for p in self.steps if p[name] != place)
            if not outside.is_empty():
                for other in others:
                    yield self._copy(other, name, outside, f"{other}_edge")

    def _after_groups(self) -> Iterator[Statement]:
        """Copies of what steps made, where another array held it."""
        for copy in self.copies:
            place = self.start[copy.array]
            if place != copy.array:
                made = copy.write.relation.range()
                yield self._copy(copy.array, place, made, f"{copy.array}_out", made=copy.array)

    def _copy(self, to: str, array: str, cells: Set, stem: str, made: str = "") -> Statement:
        """``to[x] = array[x]`` for ``{ A[x] }``, where there is a group of steps."""
        low, high = self.ends
        name, kind = self.unused(stem), self.scop.array(made or array)
        axes = self._axes(kind.name)
        space = instance_space(self.scop.params, name, axes)
        same = [affine_var(space, k) for k in range(kind.rank)]
        enough = _plus(high.sub(low), 1 - self.kept - len(self.steps))
        domain = cells.preimage_pw_multi_aff(joined_values(same, kind.name))
        domain = domain.intersect(enough.insert_domain(space).nonneg_set())
        index = tuple(map(index_of, same))
        value = Load(kind.type, array, index)
        return Statement(name, axes, domain, to, index, value, self.copies[0].span)

    def _read(self, array: str) -> Set:
        """``{ A[x] }``: what steps read of an array."""
        cells = Set.empty(self.scop.elements[array].get_space())
        for statement in self.inside:
            for access in statement.reads:
                if access.array == array:
                    cells = cells.union(access.relation.range())
        return cells.intersect_params(self.scop.context).coalesce()

    def _outside(self, array: str) -> Set:
        """``{ A[x] }``: what steps read of an array, and neither copy back nor make themselves."""
        cells = self._read(array)
        back = [s for s in self.copies if s.array == array]
        for statement in back or self.inside:
            if statement.array == array:
                cells = cells.subtract(statement.write.relation.range())
        return cells.intersect_params(self.scop.context).coalesce()

    def _axes(self, array: str) -> tuple[str, ...]:
        """Names for the loops over an array."""
        rank = self.scop.array(array).rank
        copy = next(s for s in self.copies if array in {s.array, _source(s)})
        names = copy.iterators[1:]
        return names if len(names) == rank else tuple(f"a{k}" for k in range(rank))

    # -- arrays -----------------------------------------------------------------------------

    @cached_property
    def own_arrays(self) -> tuple[Mapping[str, str], ...]:
        """Locals of the loop in each step of a group: each has its own."""
        names = dict.fromkeys(
            n for s in self.inside for n in (s.array, *(a.array for a in s.reads))
        )
        local = [name for name in names if self.scop.array(name).private]
        return tuple(
            {name: self.unused(f"{name}_{number + 1}") for name in local}
            for number in range(len(self.steps))
        )

    def _arrays(self, statements: tuple[Statement, ...]) -> tuple[Array, ...]:
        """The program's arrays, those in place of others, and locals of groups."""
        used = {n for s in statements for n in (s.array, *(a.array for a in s.reads))}
        result = [a for a in self.scop.arrays if a.role != "temp" or a.name in used]
        for name, place in self.start.items():
            if name != place:
                result.append(replace(self.scop.array(name), name=place, role="temp"))
        for name, other in ((n, o) for own in self.own_arrays for n, o in own.items()):
            array = self.scop.array(name)
            zero = affine_constant(self.groups.get_domain_space(), 0)
            lower = (zero, *array.lower[1:]) if array.lower else ()
            extents = (self.groups, *array.extents[1:])
            result.append(replace(array, name=other, extents=extents, lower=lower))
        return tuple(a for a in result if a.role != "temp" or a.name in used)


def _source(copy: Statement) -> str:
    assert isinstance(copy.value, Load)
    return copy.value.array


def _exchange(places: dict[str, str], copy: Statement) -> None:
    one, other = copy.array, _source(copy)
    places[one], places[other] = places[other], places[one]


def _plus(value: PwAff, number: int) -> PwAff:
    return value.add(affine_constant(value.get_domain_space(), number))


def _moved(
    statement: Statement, name: str, there: PwMultiAff, domain: Set, places: Mapping[str, str]
) -> Statement:
    """A statement in other instances, ``{ R[j] -> S[i] }``, with arrays in others' places."""

    def placed(node: Expr) -> Expr:
        if isinstance(node, Load) and node.array in places:
            return replace(node, array=places[node.array])
        return node

    for position, iterator in enumerate(statement.iterators):
        domain = domain.set_dim_name(dim_type.set, position, iterator)
    return replace(
        statement,
        name=name,
        domain=domain.coalesce(),
        array=places.get(statement.array, statement.array),
        index=pulled_back_index(statement.index, there),
        value=rewrite(pulled_back(statement.value, there), placed),
    )


def _counted(statement: Statement, local: Iterable[str], group: PwAff) -> Statement:
    """A statement whose locals are those of a group, not of a step."""
    names = set(local)
    first = index_of(group)

    def counted(node: Expr) -> Expr:
        if isinstance(node, Load) and node.array in names:
            return replace(node, index=(first, *node.index[1:]))
        return node

    index = statement.index
    if statement.array in names:
        index = (first, *index[1:])
    return replace(statement, index=index, value=rewrite(statement.value, counted))


def _renamed(nest: tuple[Loop | str, ...], made: Mapping[str, Statement]) -> tuple[Loop | str, ...]:
    """The loops with other statements in place of their own; without those that then are empty."""
    result: list[Loop | str] = []
    for node in nest:
        if isinstance(node, str):
            result += [made[node].name] if node in made else []
        elif body := _renamed(node.body, made):
            result.append(replace(node, body=body))
    return tuple(result)


def _nest_of(statement: Statement) -> Loop | str:
    node: Loop | str = statement.name
    for iterator in reversed(statement.iterators):
        node = Loop(iterator, (node,))
    return node


def _names(scop: Scop) -> Callable[[str], str]:
    taken = {*scop.params, *(a.name for a in scop.arrays), *(s.name for s in scop.statements)}

    def unused(stem: str) -> str:
        name = next(n for n in (f"{stem}{k or ''}" for k in count()) if n not in taken)
        taken.add(name)
        return name

    return unused
