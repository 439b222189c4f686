"""The plan of a contraction between transformations, in strips of tiles: its moves, in steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.ir.expr import Inside, walk
from polyopt.isl import PwMultiAff, dim_type
from polyopt.scheduler.queries import last_iterator
from polyopt.scheduler.strategies.contractions.nests import block_loop, point_loop
from polyopt.scheduler.strategies.transpose_tiles import transposes
from polyopt.scheduler.subscripts import dimension_of, length_of, step
from polyopt.transform.schedule.tree import copies_in

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from polyopt.codegen.target import Target
    from polyopt.ir.scop import Statement
    from polyopt.isl import Map
    from polyopt.scheduler.strategies.contractions.strips import Along, Choice, Strips
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.tree import PlanLoop

#: values of a dimension that choose what a statement computes: each of so few is written out
MOST_CASES = 8


class StripPlan:
    """Makes the plan of one program."""

    def __init__(self, plan: Plan, target: Target, found: Strips, choice: Choice) -> None:
        self.plan = plan
        self.target = target
        self.found = found
        self.choice = choice
        self.total = plan.program.copies[found.sum].statement
        self.array = plan.program.copies[found.result].statement.array

    def made(self) -> Plan:
        """The plan."""
        found = self.found
        results, behind = self._inlined()
        strip, block = self._strips()
        for array in (*results[1:], *behind):
            self.plan = self.plan.fuse(array, into=self.array, at=block)
        for array in (self.total.array, found.before[0]):
            self.plan = self.plan.fuse(array, into=self.array, at=strip)
        self._before()
        self._sums(strip)
        for array in behind:
            self._arrange(self._written(array), [])
        for array in (*behind, *found.before):
            self._vectors(self._written(array))
        self._zeros()
        self._results(results)
        return self.plan

    def _inlined(self) -> tuple[list[str], list[str]]:
        """Arrays behind the sums that stay: the result, with one in vectors that it puts across if
        it does that; and what these are made of in tiles."""
        results, kept = [self.array], list[str]()
        for array in self.found.behind:
            reader = self._written(results[-1])
            if kept or not self._is_element(array, reader):
                kept.append(array)
            elif self._is_beside(array, reader):
                self.plan = self.plan.inline(array)
            else:
                results.append(array)
        return results, kept

    def _is_element(self, array: str, reader: str) -> bool:
        """Whether each element that a reader computes takes another one of an array."""
        relation = self._reads(array, reader)
        return relation is not None and relation.is_single_valued() and relation.is_injective()

    def _is_beside(self, array: str, reader: str) -> bool:
        """Whether elements that a reader writes side by side take elements side by side."""
        relation, lane = self._reads(array, reader), last_iterator(self._statement(reader))
        if relation is None or lane is None:
            return False
        form = PwMultiAff.from_map(relation).get_pw_aff(relation.dim(dim_type.out) - 1)
        return all(aff.get_coefficient_val(dim_type.in_, lane).is_one()
                   for _, aff in form.get_pieces())  # fmt: skip

    def _reads(self, array: str, reader: str) -> Map | None:
        """``{ R[i] -> array[j] }``, where all that the reader reads of it is one element."""
        touches = self.plan.program.reads_of(array, (reader,))
        relations = [touch.at_host.reverse().apply_range(touch.element) for touch in touches]
        alike = relations and all(each.is_equal(relations[0]) for each in relations)
        return relations[0] if alike else None

    def _strips(self) -> tuple[str, str]:
        """The result's nest in strips: their loop, and the innermost one around blocks in them."""
        found, name = self.found, self.found.result
        statement = self._statement(name)
        size = self.choice.tiles * found.strip.tile
        self.plan = self.plan.tile(self.array, **{statement.iterators[found.strip.result]: size})
        strip = self._block_of(name, found.strip.result)
        around = [self._loop(name, d).name for d in found.batch]
        blocks = [self._loop(name, d).name for d in found.blocks]
        own = {*found.batch, *found.blocks}
        inside = [d for d in range(len(statement.iterators)) if d not in own]
        order = [*around, strip, *blocks, *(self._loop(name, d).name for d in inside)]
        self.plan = self.plan.reorder(*order)
        return strip, ([strip, *blocks])[-1]

    # -- before the sums ------------------------------------------------------------------------

    def _before(self) -> None:
        """What is read before the sums, for each block of them."""
        first, *others = self.found.before
        name = self._written(first)
        statement = self._statement(name)
        read = next(a for a in self.total.reads if a.array == first)
        last = last_iterator(statement)
        shared = {*self.found.batch, self.found.strip.result}
        outer = {d for a in self.found.along if a.result in shared for d in self._iterators(a)}
        strips = [d for d in _moved_by(read.relation, statement, outer) if d != last]
        summed = set(self.choice.sums.sums)
        blocks = [d for d in _moved_by(read.relation, statement, summed) if d != last]
        order = [*strips, *(d for d in blocks if d not in strips)]
        self._arrange(name, order)
        if not order:
            return
        at = self._loop(name, order[-1]).name
        for array in others:
            self.plan = self.plan.fuse(array, into=first, at=at)
        for array in others:
            self._arrange(self._written(array), [])

    def _iterators(self, along: Along) -> list[int]:
        """The dimensions of the sum that go with one of the results."""
        index = self.total.index[along.sums]
        return [d for d in range(len(self.total.iterators)) if step(index, d) == 1]

    # -- the sums -------------------------------------------------------------------------------

    def _sums(self, strip: str) -> None:
        """The sums in tiles in registers; places in a tile are outside, so that what they are
        multiplied by is near for all tiles of a strip."""
        sums, sizes = self.choice.sums, self.choice.registers.sizes
        name = self._copy(self.total)
        path = self.plan.program.places[name].loops
        inside = path[[loop.name for loop in path].index(strip) + 1]
        if len(copies_in(inside)) > 1:
            self.plan = self.plan.distribute(inside.name, at=name)
        statement = self.total
        self.plan = self.plan.tile(name, **{statement.iterators[d]: n for d, n in sizes.items()})
        points = {d: self._loop(name, d).name for d in range(len(statement.iterators))}
        with_results = {d for a in self.found.along for d in self._iterators(a)}
        places = [d for d in sums.results if d not in with_results]
        others = [d for d in sums.results if d in with_results]
        weights = [d for d in others if any(o.is_vector and d in o.moves for o in sums.operands)]
        order = [*places, *weights, *(d for d in others if d not in weights)]
        loops = [self._block_of(name, d) if d in sizes else points[d] for d in order]
        tiled = [points[d] for d in sums.results if d in sizes]
        steps = [points[d] for d in sums.sums]
        self.plan = self.plan.reorder(*loops, *steps, *tiled, points[sums.columns])
        for loop in tiled:
            self.plan = self.plan.unroll(loop)
        self.plan = self.plan.vectorize(points[sums.columns], sums.lanes).register_tile(steps[0])

    def _zeros(self) -> None:
        """What starts the sums, in vectors: tiles in registers may do without."""
        for name, place in self.plan.program.places.items():
            statement = self._statement(name)
            if statement.array == self.total.array and statement is not self.total:
                last = place.loops[-1].name
                self.plan = self.plan.vectorize(last)

    # -- others ---------------------------------------------------------------------------------

    def _results(self, arrays: Sequence[str]) -> None:
        """The results in vectors, each place of a tile a statement of its own; across where they
        are not written as they are computed."""
        name = self._written(arrays[-1])
        statement = self._statement(name)
        last = last_iterator(statement)
        for dim, tile in self._across(statement):
            self.plan = self.plan.tile(name, **{statement.iterators[dim]: tile})
            block, point = self._block_of(name, dim), self._loop(name, dim).name
            ends = [point] if last is None else [point, self._loop(name, last).name]
            self.plan = self.plan.reorder(block, *ends).unroll(point)
        if last is not None:
            self.plan = self.plan.vectorize(self._loop(name, last).name)
        if len(arrays) > 1:
            self.plan, said = transposes(self.plan, self.target)
            if not said:
                self._vectors(self._written(arrays[0]))

    def _across(self, statement: Statement) -> list[tuple[int, int]]:
        """Dimensions of a statement in tiles, beside that of the strips, and how long these are."""
        link = self._link(statement)
        found: list[tuple[int, int]] = []
        for along in self.found.along:
            if along.tile > 1 and along != self.found.strip:
                found += [(d, along.tile) for d in link[along.result]]
        return found

    def _link(self, statement: Statement) -> dict[int, list[int]]:
        """Per dimension of the result, the iterators of a statement that go with it: itself, or
        what it puts across."""
        result = self.plan.scop.statement(self._name_of(self.array))
        if statement.array == self.array:
            return {d: [d] for d in range(len(result.iterators))}
        relation = self._reads(statement.array, self.found.result)
        assert relation is not None
        return {d: _moved_by(relation, statement, {d}) for d in range(len(result.iterators))}

    def _name_of(self, array: str) -> str:
        return [s.name for s in self.plan.scop.statements if s.array == array][-1]

    def _vectors(self, name: str) -> None:
        """A statement in vectors along its last dimension, its cases written out."""
        statement = self._statement(name)
        last, case = last_iterator(statement), _case(statement)
        if last is None:
            return
        if case is not None and case != last:
            self.plan = self.plan.unroll(self._loop(name, case).name)
        self.plan = self.plan.vectorize(self._loop(name, last).name)

    def _arrange(self, name: str, outer: Sequence[int]) -> None:
        """A statement's own loops: some outside, those of cases and of vectors inside."""
        copy = self.plan.program.copies[name]
        ends = [d for d in (_case(copy.statement), last_iterator(copy.statement)) if d is not None]
        dims = (dimension_of(self.plan.program, name, loop)
                for loop in self.plan.program.places[name].loops)  # fmt: skip
        own = [d - copy.outer for d in dims if d is not None and d >= copy.outer]
        middle = [d for d in own if d not in {*outer, *ends}]
        order = dict.fromkeys([*outer, *middle, *(d for d in ends if d not in outer)])
        self.plan = self.plan.reorder(*(self._loop(name, d).name for d in order))

    # -- what there is --------------------------------------------------------------------------

    def _statement(self, name: str) -> Statement:
        return self.plan.program.copies[name].statement

    def _copy(self, statement: Statement) -> str:
        """The copy of a statement."""
        copies = self.plan.program.copies
        return next(n for n in self.plan.program.places if copies[n].statement is statement)

    def _written(self, array: str) -> str:
        """The copy that writes an array last."""
        copies = self.plan.program.copies
        return [n for n in self.plan.program.places if copies[n].statement.array == array][-1]

    def _loop(self, name: str, dim: int) -> PlanLoop:
        """The loop whose value is a dimension of a copy's statement."""
        return point_loop(self.plan.program, name, dim)

    def _block_of(self, name: str, dim: int) -> str:
        """The innermost loop over blocks of a dimension."""
        return block_loop(self.plan.program, name, dim)


def _case(statement: Statement) -> int | None:
    """The dimension whose values choose what a statement computes, where they are few."""
    tests = [node.where for node in walk(statement.value) if isinstance(node, Inside)]
    few = [
        d
        for d in range(len(statement.iterators))
        if any(test.involves_dims(dim_type.set, d, 1) for test in tests)
        and (length_of(statement.domain, d) or MOST_CASES + 1) <= MOST_CASES
    ]
    return few[-1] if few else None


def _moved_by(relation: Map, producer: Statement, dims: Collection[int]) -> list[int]:
    """The dimensions of the producer's instances that a reader's dimensions move."""
    link = relation.apply_range(producer.write.relation.reverse())
    found: list[int] = []
    for d in range(len(producer.iterators)):
        rank = link.dim(dim_type.out)
        line = link.project_out(dim_type.out, d + 1, rank - d - 1).project_out(dim_type.out, 0, d)
        line = line.gist_domain(line.domain())
        if any(line.involves_dims(dim_type.in_, k, 1) for k in dims):
            found.append(d)
    return found
