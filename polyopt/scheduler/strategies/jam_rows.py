"""Unroll-and-jam of rows: a few rows of a row pipeline at once, inside the loop over columns.

The rows of a block share what they load, and values of producers that are computed where they
are read: with blocks of r rows, a producer whose rows are read h at a time is evaluated
(r + h - 1) / r times an element and no longer h times. So stages become cheap to inline that were
not before, and with each goes a loop, a buffer, and its stores and loads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from polyopt.analysis.sets.count import about
from polyopt.analysis.sets.points import affine_values, holds
from polyopt.ir.expr import Affine, Expr, Inside, Load, Select, payload, walk
from polyopt.isl import dim_type, fix_param_values
from polyopt.scheduler.model.op_cost import Weights
from polyopt.scheduler.strategies.inline import is_candidate
from polyopt.transform.schedule.query import copies_of, find_loop, iterators_of
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.schedule.tree import loops_of
from polyopt.transform.storage.sliding_window import drift

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from polyopt.ir.scop import Scop, Statement
    from polyopt.isl import PwAff
    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop

    Instance = tuple[int, ...]
    #: a value's number in a loop body, or that of an affine expression, in a tuple of its own
    Value = int | tuple[int]
    #: per subscript of a write: the iterator, and what is added to it
    Places = tuple[tuple[int, int], ...]

#: operations and loads of the largest loop body: more values do not stay in registers
LARGEST_BODY = 300


@dataclass(frozen=True)
class UnrollAndJam:
    """An unroll-and-jam of rows: how many in a block, and the producers that are inlined then."""

    height: int
    inlined: tuple[str, ...]
    #: producers whose rows share nothing: one after the other, each is a longer stream
    apart: frozenset[str] = frozenset()

    def remarks(self, root: str, numbers: Mapping[str, float]) -> tuple[Remark, ...]:
        """What was decided for a result, with the numbers."""
        numbers = {"rows": self.height, **numbers}
        shared = "rows of a block share what they load"
        inlined = "rows of a block share it"
        return (
            Remark("applied", "unroll_and_jam", root, shared, numbers=numbers),
            *(Remark("applied", "inline", a, inlined, numbers=numbers) for a in self.inlined),
        )


def blocks_of(
    program: ScheduledProgram, root: str, fused: Sequence[str], step: str, model: SearchContext
) -> Iterator[UnrollAndJam]:
    """Blocks of 2, 4, 8, ... rows for a row pipeline that runs row by row at the loop ``step``,
    each with the producers whose inlining computes least.

    Bodies are not too large, and each row has a register for what it computes and one for what it
    loads.
    """
    group = _group(program, root, fused, step, model)
    height = 2
    while group is not None and 2 * height <= model.target.registers:
        inlined, cost = group.cheapest(height, fused)
        if cost == inf:
            return
        kept = tuple(p for p in fused if p in inlined)
        yield UnrollAndJam(height, kept, group.apart(height, inlined))
        height *= 2


def row_loop(program: ScheduledProgram, space: str, step: str) -> PlanLoop | None:
    """The loop of a fused producer that goes over the rows of one step: it moves along with it."""
    found: list[tuple[int, int, PlanLoop]] = []
    for name in copies_of(program, space):
        copy, path = program.copies[name], program.places[name].loops
        names = [loop.name for loop in path]
        if step not in names or not copy.outer:
            continue
        depth = names.index(step)
        values = program.prefixes[name].range()
        for position in range(depth + 1, len(path)):
            line = values.project_out(dim_type.set, position + 1, len(path) - position - 1)
            line = line.project_out(dim_type.set, depth + 1, position - depth - 1)
            #: { [outer, step] -> [value] }
            pairs = line.identity().project_out(dim_type.in_, depth + 1, 1)
            away = drift(pairs.project_out(dim_type.out, 0, depth + 1))
            if away is not None:
                found.append((away, -position, path[position]))
    return min(found, key=lambda f: f[:2])[2] if found else None


def unroll_rows(plan: Plan, space: str, step: str) -> Plan:
    """The plan with the rows of a step of a fused producer unrolled inside its other loops.

    Raises ``PolyoptError`` where they cannot be.
    """
    rows = row_loop(plan.program, space, step)
    if rows is None:
        return plan
    path = plan.program.places[rows.copies[0]].loops
    inner = [loop.name for loop in path[path.index(rows) + 1 :]]
    if inner:
        plan = plan.reorder(*inner, rows.name)
    return plan.unroll(rows.name)


@dataclass(frozen=True, eq=False)
class _Stage:
    """The statement of a stage, one of its instances away from borders, and its row iterator."""

    statement: Statement
    instance: Instance
    row: int
    #: rows of it per row of the result, and instances per instance of the result
    rate: float
    share: float


@dataclass(frozen=True, eq=False)
class _Group:
    """The stages of a row pipeline, the result first."""

    scop: Scop
    sizes: Mapping[str, int]
    weights: Weights
    stages: tuple[_Stage, ...]
    #: arrays that are computed where they are read already
    inlined: frozenset[str]
    #: id of an expression -> what all its instances have in common
    nodes: dict[int, _Node] = field(default_factory=dict[int, "_Node"])
    kinds: dict[tuple[object, ...], int] = field(default_factory=dict[tuple[object, ...], int])
    reached: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    bodies: dict[tuple[str, int, frozenset[str]], tuple[int, float]] = field(
        default_factory=dict[tuple[str, int, frozenset[str]], tuple[int, float]]
    )

    @property
    def has_tests(self) -> bool:
        """Whether some value depends on a test of where it is: its loop is written once for each
        outcome, which rows that are written out would multiply."""
        involved = {stage.statement.array for stage in self.stages}
        for stage in self.stages:
            involved |= self._reached(stage.statement) & self.inlined
        values = (s.value for s in self.scop.statements if s.array in involved)
        return any(isinstance(node, Inside) for value in values for node in walk(value))

    def can_inline(self, array: str) -> bool:
        """Whether an array's elements can be computed where they are read, in this group alone."""
        inside = {stage.statement.array for stage in self.stages} | self.inlined
        readers = [s for s in self.scop.statements if any(a.array == array for a in s.reads)]
        return array in self.producers and all(s.array in inside for s in readers)

    @cached_property
    def producers(self) -> dict[str, tuple[Statement, Places]]:
        """The arrays whose elements have one instance each that could run where they are read."""
        found = {
            s.array: (s, _places(s)) for s in self.scop.statements if is_candidate(self.scop, s)
        }
        return {array: (s, places) for array, (s, places) in found.items() if places is not None}

    def cheapest(self, height: int, fused: Sequence[str]) -> tuple[frozenset[str], float]:
        """The producers to inline in blocks of a height, found one at a time, and the cost."""
        inlined = frozenset[str]()
        cost = self.cost(height, inlined)
        waiting = [producer for producer in fused if self.can_inline(producer)]
        while waiting:
            costs = {p: self.cost(height, inlined | {p}) for p in waiting}
            taken = [p for p in waiting if costs[p] < cost]
            for producer in taken:
                larger = inlined | {producer}
                if (less := self.cost(height, larger)) < cost:
                    inlined, cost = larger, less
            waiting = [p for p in waiting if p not in inlined] if taken else []
        return inlined, cost

    def cost(self, height: int, inlined: frozenset[str]) -> float:
        """Operations of a lane per element of the result; endless where a body is too large."""
        total, inlined = 0.0, inlined | self.inlined
        for stage in self.stages:
            if stage.statement.array in inlined:
                continue
            rows = max(1, round(height * stage.rate))
            count, operations = self._body(stage, rows, inlined & self._reached(stage.statement))
            if height > 1 and count > LARGEST_BODY:
                return inf
            stored = self.weights.store
            stored += self.weights.buffer if stage is not self.stages[0] else 0.0
            total += stage.share * (operations / rows + stored)
        return total

    def apart(self, height: int, inlined: frozenset[str]) -> frozenset[str]:
        """The producers of which the rows of a block share no value."""
        inlined = inlined | self.inlined
        found: set[str] = set()
        for stage in self.stages[1:]:
            rows = max(1, round(height * stage.rate))
            inside = inlined & self._reached(stage.statement)
            alone = self._body(stage, 1, inside)[0]
            if rows > 1 and self._body(stage, rows, inside)[0] == rows * alone:
                found.add(stage.statement.array)
        return frozenset(found)

    def _reached(self, statement: Statement) -> frozenset[str]:
        """The arrays that a statement reads, and through which it could read others."""
        if statement.array not in self.reached:
            self.reached[statement.array] = frozenset()  # ends a cycle
            found = {a.array for a in statement.reads} - {statement.array}
            for other in self.scop.statements:
                if other.array in found:
                    found |= self._reached(other)
            self.reached[statement.array] = frozenset(found)
        return self.reached[statement.array]

    def _body(self, stage: _Stage, rows: int, inlined: frozenset[str]) -> tuple[int, float]:
        """How many values a loop body over some rows computes and loads, and their weight."""
        key = stage.statement.array, rows, inlined
        if key not in self.bodies:
            body = _Body(self, inlined)
            for row in range(rows):
                instance = list(stage.instance)
                instance[stage.row] += row
                body.add(self.node(stage.statement.value), tuple(instance))
            self.bodies[key] = sum(w > 0 for w in body.weights), sum(body.weights)
        return self.bodies[key]

    def node(self, expr: Expr) -> _Node:
        """What all instances of an expression have in common."""
        if id(expr) not in self.nodes:
            children = tuple(map(self.node, expr.children))
            kind = (type(expr), expr.type, payload(expr))
            number = self.kinds.setdefault(kind, len(self.kinds))
            self.nodes[id(expr)] = _Node(expr, children, number, self._weight(expr))
        return self.nodes[id(expr)]

    def _weight(self, expr: Expr) -> float:
        """What a node takes for a vector of results."""
        bytes_ = self.stages[0].statement.value.type.bytes
        return self.weights.node(expr, self.weights.target.lanes(bytes_))


@dataclass(frozen=True, eq=False)
class _Node:
    """An expression of a statement, whatever the instance."""

    expr: Expr
    children: tuple[_Node, ...]
    #: what tells it from others over the same operands, by number
    kind: int
    weight: float
    #: by the rank of the instances: the value of an affine expression at the origin, and by each
    #: dimension that it moves with; nothing where it is not so simple
    linear: dict[int, tuple[int, tuple[tuple[int, int], ...]] | None] = field(
        default_factory=dict[int, "tuple[int, tuple[tuple[int, int], ...]] | None"]
    )

    def value(self, form: PwAff, at: Instance, sizes: Mapping[str, int]) -> int:
        """An affine expression at an instance."""
        if len(at) not in self.linear:
            found = _linear(form, len(at), sizes)
            moving = tuple((d, c) for d, c in enumerate(found[1:]) if c) if found else ()
            self.linear[len(at)] = (found[0], moving) if found else None
        linear = self.linear[len(at)]
        if linear is None:
            return int(affine_values(form, np.array([at], np.int64), sizes)[0])
        result, moving = linear
        for dimension, coefficient in moving:
            result += coefficient * at[dimension]
        return result


@dataclass(frozen=True, eq=False)
class _Body:
    """The distinct values of a loop body, by number, with what each takes."""

    group: _Group
    inlined: frozenset[str]
    weights: list[float] = field(default_factory=list[float])
    numbers: dict[tuple[object, ...], int] = field(default_factory=dict[tuple[object, ...], int])
    #: element of an inlined array -> its value's number
    elements: dict[tuple[str, Instance], Value] = field(
        default_factory=dict[tuple[str, "Instance"], "Value"]
    )

    @cached_property
    def computed(self) -> frozenset[str]:
        """The arrays whose elements are computed where they are read."""
        return self.inlined & self.group.producers.keys()

    def add(self, node: _Node, at: Instance) -> Value:
        """What tells the value of an expression at an instance from others: a number, or the
        value of an affine expression in a tuple of its own."""
        expr, sizes = node.expr, self.group.sizes
        if isinstance(expr, Affine):
            return (node.value(expr.form, at, sizes),)
        if isinstance(expr, Inside):
            return bool(holds(expr.where, np.array([at], np.int64), sizes)[0])
        if isinstance(expr, Select) and isinstance(expr.cond, Inside):
            cond, then, other = node.children
            return self.add(then if self.add(cond, at) else other, at)
        children = tuple([self.add(child, at) for child in node.children])
        if isinstance(expr, Load) and expr.array in self.computed:
            places = tuple([c[0] for c in children if isinstance(c, tuple)])
            if len(places) == len(children):
                return self._element(expr.array, places)
        key = (node.kind, children)
        if key not in self.numbers:
            self.numbers[key] = len(self.weights)
            self.weights.append(node.weight)
        return self.numbers[key]

    def _element(self, array: str, element: Instance) -> Value:
        """The value of an element that is computed where it is read."""
        if (array, element) not in self.elements:
            producer, places = self.group.producers[array]
            point = [0] * len(places)
            for (position, offset), value in zip(places, element, strict=True):
                point[position] = value - offset
            found = self.add(self.group.node(producer.value), tuple(point))
            self.elements[array, element] = found
        return self.elements[array, element]


def _linear(form: PwAff, rank: int, sizes: Mapping[str, int]) -> tuple[int, ...] | None:
    pieces = form.get_pieces()
    if len(pieces) > 1 or pieces[0][1].dim(dim_type.div):
        return None
    rows = np.vstack((np.zeros((1, rank), np.int64), np.eye(rank, dtype=np.int64)))
    first, *others = (int(v) for v in affine_values(form, rows, sizes))
    return (first, *(value - first for value in others))


def _places(statement: Statement) -> Places | None:
    """Per subscript of what a statement writes: its iterator and what is added to that."""
    rank = len(statement.iterators)
    result: list[tuple[int, int]] = []
    for index in statement.index:
        linear = _linear(index.form, rank, {}) if not _has_params(index.form) else None
        if linear is None or sorted(linear[1:]) != [0] * (rank - 1) + [1]:
            return None
        result.append((linear.index(1, 1) - 1, linear[0]))
    return tuple(result) if len({p for p, _ in result}) == rank == len(result) else None


def _has_params(form: PwAff) -> bool:
    return form.involves_dims(dim_type.param, 0, form.dim(dim_type.param))


def _group(
    program: ScheduledProgram, root: str, fused: Sequence[str], step: str, model: SearchContext
) -> _Group | None:
    """The pipeline's stages; ``None`` where one is no single statement over rows."""
    scop = program.scop
    stages: list[_Stage] = []
    for array in (root, *fused):
        statements = [s for s in scop.statements if s.array == array]
        names = copies_of(program, array)
        if len(statements) != 1 or statements[0].reduction is not None or not names:
            return None
        loop = find_loop(program, step) if array == root else row_loop(program, array, step)
        if loop is None:
            return None
        name = next(n for n in names if n in loop.values)
        moving = iterators_of(program.copies[name], loop)
        if len(moving) != 1:
            return None
        stages.append(_stage(statements[0], moving[0], stages, model.sizes))
    placed = {program.copies[name].statement.array for name in program.places}
    gone = frozenset(s.array for s in scop.statements) - placed
    weights = Weights.of(model.target, scop)
    group = _Group(scop, model.sizes, weights, tuple(stages), gone)
    return None if group.has_tests else group


def _stage(
    statement: Statement, row: int, known: Sequence[_Stage], sizes: Mapping[str, int]
) -> _Stage:
    domain = fix_param_values(statement.domain, sizes)
    lows = [domain.dim_min_val(d).to_python() for d in range(len(statement.iterators))]
    highs = [domain.dim_max_val(d).to_python() for d in range(len(statement.iterators))]
    rows, instances = highs[row] - lows[row] + 1, about(statement.domain, sizes)
    middle = tuple((low + high) // 2 // 8 * 8 for low, high in zip(lows, highs, strict=True))
    if not known:
        return _Stage(statement, middle, row, 1.0, 1.0)
    first = known[0]
    of_root = fix_param_values(first.statement.domain, sizes)
    extent = of_root.dim_max_val(first.row).sub(of_root.dim_min_val(first.row)).to_python() + 1
    share = instances / max(about(first.statement.domain, sizes), 1)
    return _Stage(statement, middle, row, rows / extent, share)


def block(
    plan: Plan, blocks: UnrollAndJam, cut: Callable[[Plan], Plan], rows: str, fused: Sequence[str]
) -> Plan:
    """The pipeline made again in blocks: ``cut`` gives the strips with their loop ``rows``.

    Where nothing is left to run down them, there are no strips.

    Raises ``PolyoptError`` where a step is not possible.
    """
    for array in blocks.inlined:
        plan = plan.inline(array)
    if len(blocks.inlined) < len(fused):
        plan = cut(plan)
    root = rows.rpartition(".")[0]
    known = {loop.name for loop in loops_of(plan.program.tree)}
    plan = plan.unroll_and_jam(rows, blocks.height)
    (step,) = (n.name for n in loops_of(plan.program.tree) if n.name not in known)
    for producer in fused:
        if producer not in blocks.inlined:
            plan = plan.fuse(producer, into=root, at=step, storage="sliding")
            plan = plan if producer in blocks.apart else unroll_rows(plan, producer, step)
    return plan.separate_full_tiles(step)
