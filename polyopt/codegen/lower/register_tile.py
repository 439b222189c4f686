"""Blocks of elements kept in vector registers across the loop that updates them.

rewrite: ``for (k) { for (i < 4) for (j < 32) C[i][j] += A[i][k] * B[k][j]; }`` ->
``block = C; acc = block; for (k) acc[i][v] += A[i][k] * B[k][v]; block = acc; C = block;``

A block is computed whole even where the program ends inside it: values of its other elements are
computed from what the operands' buffers happen to hold there, and are never stored. Iterations
of the loop in which only part of the block takes part (a triangle's edge) run as plain loops
before and after. Where the program stores all of every block, accumulators are loaded from its
elements and stored to them, without a copy of the block in between.

*Requires* one statement in a perfect nest below the marked loop: reduction loops, then unrolled
ones of constant length, then a vector loop with a width; sums and products of floats, or sums of
dot products of packed pairs (``expressions/packed_dot.py``), a word by a vector of words; another
element for each place of a block; operands that move with the block read along it, from buffers
with room for all of it. *Does not apply* anywhere else: the loops then stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from polyopt.analysis.footprint import bounding_box
from polyopt.codegen.expressions.packed_dot import dot_update
from polyopt.codegen.schedule.accesses import LoweredStatement, lowered_statement
from polyopt.ir.expr import Affine, Binary, Const, Expr, Load, Unary, index_of, same_expr, walk
from polyopt.isl import (
    Map,
    PwAff,
    PwMultiAff,
    Set,
    affine_constant,
    affine_var,
    dim_type,
    identity_part,
    instance_space,
    params_of,
)
from polyopt.transform.schedule.tree import PlanLoop, ScheduledStatement, copies_in, loops_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyopt.transform.schedule.program import ScheduledProgram

#: accumulators of a block: more do not fit any machine's registers
MOST_VECTORS = 64
#: bytes of the vectors that C compilers have types for
VECTOR_BYTES = (16, 32, 64)
_OPERATIONS = frozenset({"add", "sub", "mul", "div"})


@dataclass(frozen=True, eq=False)
class Operand:
    """A load of the block's value: subscripts at the block's first element, and how they move."""

    buffer: str
    #: { core[t, k] -> [x] } per dimension, at the block's first element
    index: tuple[PwAff, ...]
    #: per dimension of the buffer, how far it moves with each loop of the block
    steps: tuple[tuple[int, ...], ...]

    @property
    def is_vector(self) -> bool:
        """Whether it varies with the block's last loop, and so is read as a vector."""
        return any(step[-1] for step in self.steps)

    @property
    def moves(self) -> bool:
        """Whether it varies with any loop of the block."""
        return any(map(any, self.steps))


@dataclass(frozen=True, eq=False)
class RegisterBlock:
    """What replaces the nest below a loop marked ``register_tile``."""

    copy: str
    loop: str
    #: iterations of the block's loops, the vector loop last
    extents: tuple[int, ...]
    lanes: int
    assignment: LoweredStatement
    #: by the id of each load in the assignment's value; the target's own is ``None``
    operands: Mapping[int, Operand | None]
    #: the names of the copies that load, compute and store a block
    fill: str
    core: str
    drain: str
    #: { fill[t, b] -> [x] } per dimension of the target, and { fill[t, b] -> [b - first(t)] }
    target: tuple[PwAff, ...]
    inside: tuple[PwAff, ...]
    #: the target's own elements, where the program stores all of every block, in one run of sums
    whole: Operand | None = None
    #: whether the sums start from zero: the statement that stores it is left out
    from_zero: bool = False

    @property
    def buffer(self) -> str:
        """The key of the block's buffer among those of its program."""
        return f"{self.copy}#block"

    @property
    def vectors(self) -> int:
        """Vectors per row of the block."""
        return self.extents[-1] // self.lanes

    @property
    def rows(self) -> Iterator[tuple[int, ...]]:
        """Positions of the block's rows along the loops but the last."""
        return product(*map(range, self.extents[:-1]))

    @property
    def filled(self) -> LoweredStatement:
        """The assignment of the copy that fills the block."""
        there, here = self._places(self.fill)
        value = Load(self.assignment.type, self.assignment.buffer, there)
        return LoweredStatement(self.buffer, here, value, ())

    @property
    def drained(self) -> LoweredStatement:
        """The assignment of the copy that empties it."""
        there, here = self._places(self.drain)
        value = Load(self.assignment.type, self.buffer, here)
        return LoweredStatement(self.assignment.buffer, there, value, ())

    def _places(self, name: str) -> tuple[tuple[Affine, ...], tuple[Affine, ...]]:
        """Where a copy finds an element in the target's array, and in the block."""
        places = (self.target, self.inside)
        there, here = (tuple(index_of(named(x, name)) for x in place) for place in places)
        return there, here


@dataclass(frozen=True, eq=False)
class Nest:
    """A marked loop's nest, in terms of the values of the loops around its one statement."""

    copy: ScheduledStatement
    loop: PlanLoop
    #: loops around the marked one, then reduction loops, then those of the block
    path: tuple[PlanLoop, ...]
    outer: int
    reductions: int
    #: { [t, k, b] }
    times: Set
    #: { [t] -> [first(t)] } and the extents
    firsts: tuple[PwAff, ...]
    extents: tuple[int, ...]
    context: Set


def nest_of(program: ScheduledProgram, loop: PlanLoop) -> Nest | None:
    """The nest of a marked loop; ``None`` where it has not the form of a block's."""
    names = copies_in(loop)
    if len(names) != 1 or any(len(node.body) != 1 for node in loops_of((loop,))):
        return None
    path = program.places[names[0]].loops
    outer = next(level for level, node in enumerate(path) if node.name == loop.name)
    block = len(path)
    while block > outer + 1 and (path[block - 1].mark == "unroll" or block == len(path)):
        block -= 1
    if outer == 0 or block == len(path) or path[-1].mark != "vector" or not path[-1].width:
        return None
    times = program.prefixes[names[0]].range().intersect_params(program.scop.context)
    box = bounding_box(_box_of(times, outer, block), program.scop.context)
    sides = box.constant_extents if box is not None else None
    if box is None or sides is None or any(stride != 1 for stride in box.strides):
        return None
    copy = program.copies[names[0]]
    context = program.scop.context
    return Nest(copy, loop, path, outer, block - outer, times, box.offsets, sides, context)


def _box_of(times: Set, outer: int, block: int) -> Map:
    """``{ [t] -> [b] }``."""
    pairs = times.project_out(dim_type.set, outer, block - outer).identity()
    count = pairs.dim(dim_type.out)
    pairs = pairs.project_out(dim_type.out, 0, outer)
    return pairs.project_out(dim_type.in_, outer, count - outer)


def block_of(program: ScheduledProgram, nest: Nest) -> tuple[RegisterBlock, Set] | None:
    """The block of a nest, and ``{ [t, k] }`` for which all of what it stores takes part."""
    assignment = lowered_statement(program, nest.copy.name)
    lanes, type_ = nest.path[-1].width, assignment.type
    if lanes * type_.bytes not in VECTOR_BYTES or nest.extents[-1] % lanes:
        return None
    if prod(nest.extents) // lanes > MOST_VECTORS or not is_arithmetic(assignment.value):
        return None
    to_copy = program.prefixes[nest.copy.name].reverse()
    if not to_copy.is_single_valued():
        return None
    onto = to_copy.as_pw_multi_aff()
    name = nest.copy.name
    fill_space = _space(program, f"{name}#fill", nest.outer + len(nest.extents))
    target = [x for e in assignment.index if (x := _plain(e, onto)) is not None]
    if len(target) != len(assignment.index):
        return None
    if any(x.involves_dims(dim_type.in_, nest.outer, nest.reductions) for x in target):
        return None
    full = _full(nest)
    operands = _operands(program, nest, assignment, onto, full)
    if operands is None:
        return None
    whole = _at_block(nest, fill_space)
    there = tuple(x.pullback_pw_multi_aff(whole).coalesce() for x in target)
    if not _is_apart(nest, there):
        return None
    inside = tuple(
        affine_var(fill_space.get_space(), nest.outer + p).sub(_of_outer(o, fill_space))
        for p, o in enumerate(nest.firsts)
    )
    names = (f"{name}#fill", f"{name}#core", f"{name}#drain")
    block = RegisterBlock(
        name, nest.loop.name, nest.extents, lanes, assignment, operands, *names, there, inside,
        _whole(program, nest, assignment, onto, full),
    )  # fmt: skip
    return block, full


def _is_apart(nest: Nest, target: Sequence[PwAff]) -> bool:
    """Whether the places of a block are different elements: ``{ fill[t, b] -> [x] }`` of each
    dimension. What several places updated, only the last would store."""
    if not target:
        return False
    at = target[0].get_space().domain()
    places = nest.times.project_out(dim_type.set, nest.outer, nest.reductions)
    places = places.set_tuple_id(at.get_tuple_id(dim_type.set))
    element = _joined([*(affine_var(at, level) for level in range(nest.outer)), *target])
    return element.as_map().intersect_domain(places).is_injective()


def _is_one_loop(nest: Nest, full: Set) -> bool:
    """Whether C has the sums of a block as one statement, and subscripts of its elements that name
    no loop of the sums: ``{ [t, k] }`` is in one piece, and tells nothing of one from the other."""
    blocks = full.project_out(dim_type.set, nest.outer, nest.reductions)
    blocks = blocks.insert_dims(dim_type.set, nest.outer, nest.reductions)
    sums = full.project_out(dim_type.set, 0, nest.outer).insert_dims(dim_type.set, 0, nest.outer)
    loops = nest.path[nest.outer : nest.outer + nest.reductions]
    if any(loop.mark == "unroll" for loop in loops) or not blocks.intersect(sums).is_subset(full):
        return False
    return len(full.coalesce().get_basic_sets()) == 1


def _whole(
    program: ScheduledProgram, nest: Nest, assignment: LoweredStatement, onto: PwMultiAff, full: Set
) -> Operand | None:
    """The target as it is loaded and stored where all elements of every block are stored."""
    start, count = nest.outer + nest.reductions, len(nest.extents)
    present = nest.times.project_out(dim_type.set, start, count)
    if not present.is_subset(full) or not _block(nest, full).is_subset(nest.times):
        return None
    if not _is_one_loop(nest, full):
        return None
    core = _space(program, f"{nest.copy.name}#core", start)
    target = Load(assignment.type, assignment.buffer, assignment.index)
    return _operand(target, onto, _first(nest, core), _box(nest, full))


def _operands(
    program: ScheduledProgram, nest: Nest, assignment: LoweredStatement, onto: PwMultiAff, full: Set
) -> dict[int, Operand | None] | None:
    """The loads by id, the target's own as ``None``; ``None`` where one does not fit a block."""
    box = _box(nest, full)
    core = _space(program, f"{nest.copy.name}#core", nest.outer + nest.reductions)
    first = _first(nest, core)
    operands: dict[int, Operand | None] = {}
    for load in _loads(assignment.value):
        if load.array == assignment.buffer:
            if not all(map(same_expr, load.index, assignment.index)):
                return None
            operands[id(load)] = None
            continue
        operand = _operand(load, onto, first, box)
        if operand is None or not _has_room(program, operand, nest, full):
            return None
        operands[id(load)] = operand
    if list(operands.values()).count(None) != 1:
        return None
    update = dot_update(assignment.value)
    if update is None:
        return operands
    sides = [operands[id(load)] for load in update.dot]
    return operands if [o is not None and o.is_vector for o in sides].count(True) == 1 else None


def is_arithmetic(value: Expr) -> bool:
    """Whether C has the value's operations on vectors as on numbers: one float type throughout, or
    a function of vectors for them, as for sums of dot products of packed pairs."""
    if not value.type.is_float:
        return dot_update(value) is not None
    for node in walk(value):
        if isinstance(node, Affine):
            continue  # a subscript, or refused below
        if node.type != value.type:
            return False
        if isinstance(node, Binary) and node.op not in _OPERATIONS:
            return False
        if isinstance(node, Unary) and node.op != "neg":
            return False
        if not isinstance(node, (Binary, Unary, Const, Load)):
            return False
        if not isinstance(node, Load) and any(isinstance(c, Affine) for c in node.children):
            return False
    return not isinstance(value, Load)


def _loads(value: Expr) -> Iterator[Load]:
    return (node for node in walk(value) if isinstance(node, Load))


def _space(program: ScheduledProgram, name: str, count: int) -> Set:
    params = params_of(program.scop.context.get_space())
    space = instance_space(params, name, [f"c{i}" for i in range(count)])
    return Set.universe(space)


def _plain(expr: Expr, onto: PwMultiAff) -> PwAff | None:
    """``{ [t, k, b] -> [x] }``: a subscript as the one form that it has everywhere."""
    if not isinstance(expr, Affine):
        return None
    pieces = expr.form.pullback_pw_multi_aff(onto).coalesce().get_pieces()
    return PwAff.from_aff(pieces[0][1]) if len(pieces) == 1 else None


def _dims(space: Set, first: int, count: int) -> PwMultiAff:
    return identity_part(space.get_space(), first, count)


def _of_outer(offset: PwAff, space: Set) -> PwAff:
    """``{ [t] -> [o] }`` over a space that starts with ``t``."""
    count = offset.dim(dim_type.in_)
    return offset.pullback_pw_multi_aff(_dims(space, 0, count))


def _joined(parts: list[PwAff]) -> PwMultiAff:
    result = PwMultiAff.from_pw_aff(parts[0])
    for part in parts[1:]:
        result = result.flat_range_product(PwMultiAff.from_pw_aff(part))
    return result


def _first(nest: Nest, core: Set) -> PwMultiAff:
    """``{ core[t, k] -> [t, k, first(t)] }``."""
    count = nest.outer + nest.reductions
    dims = [affine_var(core.get_space(), level) for level in range(count)]
    return _joined([*dims, *(_of_outer(o, core) for o in nest.firsts)])


def _at_block(nest: Nest, fill: Set) -> PwMultiAff:
    """``{ fill[t, b] -> [t, 0, b] }``."""
    space = fill.get_space()
    outer = [affine_var(space, level) for level in range(nest.outer)]
    zeros = [affine_constant(space, 0)] * nest.reductions
    inner = [affine_var(space, nest.outer + p) for p in range(len(nest.extents))]
    return _joined([*outer, *zeros, *inner])


def _block(nest: Nest, full: Set) -> Set:
    """``{ [t, k, b] }`` of whole blocks."""
    box = full.add_dims(dim_type.set, len(nest.extents))
    for line, extent in zip(_lines(nest, box), nest.extents, strict=True):
        box = box.intersect(line.nonneg_set())
        box = box.intersect(line.lt_set(affine_constant(box.get_space(), extent)))
    return box


def _box(nest: Nest, full: Set) -> Sequence[Set]:
    """``{ [t, k, b] }`` of whole blocks, per loop those with a neighbour further along it."""
    box = _block(nest, full)
    last = [affine_constant(box.get_space(), extent - 1) for extent in nest.extents]
    return [box.intersect(x.lt_set(end)) for x, end in zip(_lines(nest, box), last, strict=True)]


def _lines(nest: Nest, box: Set) -> Sequence[PwAff]:
    """``{ [t, k, b] -> [b - first(t)] }`` per loop of the block."""
    start, space = nest.outer + nest.reductions, box.get_space()
    return [affine_var(space, start + p).sub(_of_outer(o, box)) for p, o in enumerate(nest.firsts)]


def _operand(load: Load, onto: PwMultiAff, first: PwMultiAff, box: Sequence[Set]) -> Operand | None:
    forms = [_plain(expr, onto) for expr in load.index]
    start = first.dim(dim_type.out) - len(box)
    index: list[PwAff] = []
    steps: list[tuple[int, ...]] = []
    for form in forms:
        if form is None:
            return None
        moves = tuple(_step(form, start + p, part) for p, part in enumerate(box))
        if None in moves:
            return None
        steps.append(tuple(move or 0 for move in moves))
        index.append(form.pullback_pw_multi_aff(first).coalesce())
    operand = Operand(load.array, tuple(index), tuple(steps))
    along = [step[-1] for step in steps]
    if operand.is_vector and (along[-1] != 1 or any(along[:-1])):
        return None
    return operand


def _step(form: PwAff, position: int, where: Set) -> int | None:
    """The coefficient of a dimension in a form, if that is the same everywhere."""
    if not form.involves_dims(dim_type.in_, position, 1):
        return 0
    space = form.get_space().domain()
    dims = [affine_var(space, d) for d in range(space.dim(dim_type.set))]
    dims[position] = dims[position].add(affine_constant(space, 1))
    moved = form.pullback_pw_multi_aff(_joined(dims)).sub(form).intersect_domain(where)
    steps = moved.as_map().range()
    if steps.is_empty():
        return 0
    least, most = steps.dim_min_val(0), steps.dim_max_val(0)
    return least.to_python() if least.is_int() and least.eq(most) else None


def _has_room(program: ScheduledProgram, operand: Operand, nest: Nest, full: Set) -> bool:
    """Whether all elements of the block find a place in an operand's buffer."""
    if not operand.moves:
        return True
    scratches = {s.name: s for s in program.scratches}
    if operand.buffer in scratches:
        scratch = scratches[operand.buffer]
        extents, lower = scratch.ordered(scratch.extents), ()
    else:
        array = program.scop.array(operand.buffer)
        extents, lower = array.extents, array.lower
    domain = operand.index[0].get_space().domain()
    where = full.set_tuple_id(domain.get_tuple_id(dim_type.set))
    for place, (form, steps, extent) in enumerate(
        zip(operand.index, operand.steps, extents, strict=True)
    ):
        if lower:
            form = form.sub(lower[place].insert_domain(domain))  # noqa: PLW2901
        reach = [step * (size - 1) for step, size in zip(steps, nest.extents, strict=True)]
        low = form.add(affine_constant(domain, sum(r for r in reach if r < 0)))
        high = form.add(affine_constant(domain, sum(r for r in reach if r > 0)))
        room = low.nonneg_set().intersect(high.lt_set(extent.insert_domain(domain)))
        if not where.is_subset(room):
            return False
    return True


def _full(nest: Nest) -> Set:
    """``{ [t, k] }`` in which every element takes part that does in any ``k``, in one run."""
    start, count = nest.outer + nest.reductions, len(nest.extents)
    times = nest.times
    present = times.project_out(dim_type.set, start, count)
    ever = times.project_out(dim_type.set, nest.outer, nest.reductions)
    ever = ever.insert_dims(dim_type.set, nest.outer, nest.reductions)
    wanted = present.insert_dims(dim_type.set, start, count).intersect(ever)
    missing = wanted.subtract(times).project_out(dim_type.set, start, count)
    full = present.subtract(missing).coalesce()
    return _in_one_run(full, present.subtract(full), nest.outer)


def _in_one_run(full: Set, rest: Set, outer: int) -> Set:
    """Iterations that no others come between: those after the last that do.

    The others run before the block or after it, and the order of additions has to stay.
    """
    if rest.is_empty():
        return full
    later = Map.lex_lt(rest.get_space())
    for level in range(outer):
        later = later.equate(dim_type.in_, level, dim_type.out, level)
    earlier = later.reverse()
    between = rest.intersect(full.apply(later)).intersect(full.apply(earlier))
    return full if between.is_empty() else full.subtract(between.apply(earlier)).coalesce()


def named(form: PwAff, name: str) -> PwAff:
    """The form over a tuple of another name."""
    space = form.get_space().domain().set_tuple_name(dim_type.set, name)
    return form.set_tuple_id(dim_type.in_, space.get_tuple_id(dim_type.set))
