"""Separable reduction: partial reductions along one dimension of a window, shared by all results
that read them.

relation: ``S[y, x, p, q]`` updates ``A[y, x]`` with ``f(y + p, x, q)``. Instances with one
``u = y + p`` share ``{ T[u, x, q] }``, which updates ``t[u, x]``; ``{ S[y, x, p] }`` reads
``t[y + p, x]``.

rewrite: ``for (p) for (q) out[y][x] = max(out[y][x], in[y+p][x+q]);`` ->
``t[u][x] = lowest; for (q) t[u][x] = max(t[u][x], in[u][x+q]);`` in a nest right before, and
``for (p) out[y][x] = max(out[y][x], t[y+p][x]);``. Seven by seven updates are fourteen then.

*Requires* integers, whose sums, products, minima and maxima may be taken in any order and grouping,
or leave to do so with floats (``reassociate``); a statement that updates one element in two
innermost loops or more, alone in them, with a value that depends on one of these and a loop outside
by their sum or difference alone, or on the one inside and not on the other. Comes before all other
moves, but those that change the program as well: it gets one more array. With leave, sums of floats
round differently, and maxima may choose another of NaNs and of zeros of both signs.
(G. Gautam and S. Rajopadhye, "Simplifying reductions", POPL 2006.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

from polyopt.errors import InvalidOptionError
from polyopt.ir.block import Block
from polyopt.ir.build import binary, identity, load
from polyopt.ir.expr import Affine, Expr, Inside, index_of, pulled_back, walk
from polyopt.ir.scop import Array, Loop, Statement, statements_in
from polyopt.isl import Map, PwMultiAff, Set, affine_constant, affine_var, dim_type, joined_values
from polyopt.transform.schedule.query import unknown
from polyopt.transform.schedule.registry import transformation
from polyopt.transform.source.separate_filter import array_box

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polyopt.ir.scop import Scop
    from polyopt.isl import PwAff, Space


ROUNDS = "floats round, and keep their order"


@transformation("source")
def separate_reduction(scop: Scop, *names: str, reassociate: bool = False) -> Scop:
    """The program with partial reductions of some statements in arrays of their own.

    ``reassociate`` lets floats be reduced in another order.
    """
    if not names:
        raise InvalidOptionError("separate_reduction() needs a statement")
    for name in names:
        scop = _separated(scop, name, floats=reassociate)
    return scop


def _separated(scop: Scop, name: str, *, floats: bool) -> Scop:
    statement = next((s for s in scop.statements if s.name == name), None)
    if statement is None:
        raise unknown("statement", name, [s.name for s in scop.statements])
    reason = not_reducing(scop, statement, floats=floats)
    if reason:
        message = f"{name} has no partial reductions that are shared: {reason}"
        hint = "reassociate=True lets them round otherwise" if reason == ROUNDS else ""
        raise InvalidOptionError(message, span=statement.span, hint=hint)
    rows = next(shared_rows(scop, statement), None)
    if rows is None:
        message = f"{name} has no partial reductions that are shared"
        hint = "its value has to depend on a loop inside and one outside by their sum alone"
        raise InvalidOptionError(message, span=statement.span, hint=hint)
    return rows.program()


def kept_loops(statement: Statement) -> int | None:
    """How many loops are around the reduction: the outermost, each a subscript of what is written;
    ``None`` where subscripts are others."""
    return len(statement.index) if statement.is_own(statement.index) else None


def alone_below(nest: Sequence[Loop | str], name: str, depth: int) -> bool:
    """Whether a statement is alone in what is inside of ``depth`` loops around it."""
    for node in nest:
        if name in statements_in(node):
            if depth == 0:
                return [*statements_in(node)] == [name]
            return not isinstance(node, str) and alone_below(node.body, name, depth - 1)
    return False


def not_reducing(scop: Scop, statement: Statement, *, floats: bool = False) -> str:
    """Why a statement is no reduction over a window, of integers unless ``floats`` are free; empty
    where it is one."""
    if statement.reduction is None or isinstance(statement.value, Block):
        return "it updates no element with one operation"
    if statement.value.type.is_float and not floats:
        return ROUNDS
    if statement.value.type.bits == 1:
        return "truths are no numbers"
    kept = kept_loops(statement)
    if kept is None or len(statement.iterators) - kept < 2:
        return "it is not in two loops or more over one element"
    if not alone_below(scop.nest, statement.name, kept):
        return "other statements are in its innermost loops"
    written = scop.written_around(statement.name)
    operand = operand_of(statement)
    if any(a.array in written for a in statement.reads if a.array != statement.array):
        return "what it reads is written in its own loops"
    if sum(a.array == statement.array for a in statement.reads) > 1 or operand is None:
        return "it reads what it writes at other places"
    return ""


def operand_of(statement: Statement) -> Expr | None:
    """What an update combines its element with."""
    left, right = statement.value.children
    if statement.is_target(left):
        return right
    return left if statement.is_target(right) else None


def shared_rows(scop: Scop, statement: Statement) -> Iterator[Rows]:
    """The ways in which a statement's partial reductions are shared, outer loops first."""
    kept = len(statement.index)
    inner = range(kept, len(statement.iterators))
    for moved, across, sign in product(range(kept), inner, (1, -1, 0)):
        rows = Rows(scop, statement, moved, across, sign)
        if rows.are_shared:
            yield rows


@dataclass(frozen=True, eq=False)
class Rows:
    """Partial reductions that results share where ``moved + sign * across`` is one; without a sign,
    where ``across`` is: windows whose iterators are places."""

    scop: Scop
    statement: Statement
    #: the iterator of a subscript, and the one of the window that moves with it
    moved: int
    across: int
    sign: int

    @cached_property
    def kept(self) -> int:
        """How many loops are around the reduction."""
        return len(self.statement.index)

    @cached_property
    def along(self) -> tuple[int, ...]:
        """The iterators that partial reductions go along."""
        rest = range(self.kept, len(self.statement.iterators))
        return tuple(k for k in rest if k != self.across)

    @cached_property
    def names(self) -> tuple[str, str]:
        """The array of the partial reductions, named like what updates it, and what sets it."""
        name = self.scop.unused_name(f"{self.statement.array}_part", "", "_start")
        return name, f"{name}_start"

    @cached_property
    def onto(self) -> PwMultiAff:
        """``{ S[y, x, p, q] -> T[y + p, x, q] }``."""
        space = self.statement.space
        row = self._row(affine_var(space, self.moved), affine_var(space, self.across))
        kept = [row if k == self.moved else affine_var(space, k) for k in range(self.kept)]
        return joined_values([*kept, *(affine_var(space, k) for k in self.along)], self.names[0])

    def _row(self, moved: PwAff, across: PwAff) -> PwAff:
        """Which row an instance is of, from its two iterators."""
        if self.sign == 0:
            return across
        return moved.add(across) if self.sign > 0 else moved.sub(across)

    @cached_property
    def back(self) -> PwMultiAff:
        """``{ T[u, x, q] -> S[u, x, 0, q] }``, the instance that stands for all; ``S[u, x, u, q]``
        where iterators are places."""
        space = self.runs.get_space()
        parts = [affine_var(space, k) for k in range(self.kept)]
        inner = {k: affine_var(space, self.kept + n) for n, k in enumerate(self.along)}
        here = affine_constant(space, 0) if self.sign else affine_var(space, self.moved)
        inner[self.across] = here
        parts += [inner[k] for k in sorted(inner)]
        return joined_values(parts, self.statement.name)

    @cached_property
    def runs(self) -> Set:
        """``{ T[u, x, q] }``."""
        runs = self.statement.domain.apply(Map.from_pw_multi_aff(self.onto)).coalesce()
        iterators = self.statement.iterators
        names = [*iterators[: self.kept], *(iterators[k] for k in self.along)]
        for position, name in enumerate(names):
            runs = runs.set_dim_name(dim_type.set, position, name)
        return runs

    @cached_property
    def across_runs(self) -> Set:
        """``{ S[y, x, p] }``: what is left of the statement."""
        result = self.statement.domain
        for k in sorted(self.along, reverse=True):
            result = result.project_out(dim_type.set, k, 1)
        return result.set_tuple_name(self.statement.name).coalesce()

    @property
    def are_shared(self) -> bool:
        """Whether rows are the same for all results that read them, and so are values in them."""
        domain = self.statement.domain
        rows = self.runs.apply(Map.from_pw_multi_aff(self.onto).reverse())
        window = self.across_runs
        for k in self.along:
            window = window.insert_dims(dim_type.set, k, 1)
        window = window.set_tuple_name(self.statement.name)
        if not rows.intersect(window).is_subset(domain):
            return False
        operand = operand_of(self.statement)
        assert operand is not None
        there = PwMultiAff.from_map(Map.from_pw_multi_aff(self.onto).intersect_domain(domain))
        return all(self._is_shared(node, there) for node in walk(operand))

    def _is_shared(self, node: Expr, there: PwMultiAff) -> bool:
        """Whether a node has one value for all instances that share a row."""
        domain = self.statement.domain
        if isinstance(node, Affine):
            moved = node.form.pullback_pw_multi_aff(self.back)
            own = node.form.intersect_domain(domain)
            if not self.runs.is_subset(moved.domain()):
                return False
            return moved.pullback_pw_multi_aff(there).is_equal(own)
        if isinstance(node, Inside):
            moved = node.where.preimage_pw_multi_aff(self.back)
            own = node.where.intersect(domain)
            return moved.preimage_pw_multi_aff(there).is_equal(own)
        return True

    def program(self) -> Scop:
        """The program with the rows in an array. Raises ``InvalidOptionError``."""
        scop, statement, (name, start) = self.scop, self.statement, self.names
        cells = self.runs.project_out(dim_type.set, self.kept, len(self.along)).coalesce()
        box = array_box(cells.set_tuple_name(name), scop)
        if box is None:
            message = f"the partial reductions of {statement.name} would have no simple bounds"
            raise InvalidOptionError(message, span=statement.span)
        lows, extents = box
        type_, op = statement.value.type, statement.reduction
        assert op is not None
        array = Array(name, type_, extents, "temp", lows, span=statement.span)
        own = cells.set_tuple_name(start)
        value = identity(op, type_)
        names = statement.iterators[: self.kept]
        first = Statement(start, names, own, name, self._cell(own.get_space()), value,
                          statement.span)  # fmt: skip
        second, rest = self._update(array, op), self._rest(array, op)
        at = scop.statements.index(statement)
        statements = (*scop.statements[:at], first, second, rest, *scop.statements[at + 1 :])
        return replace(
            scop, arrays=(*scop.arrays, array), statements=statements, nest=self._nest(scop.nest)
        )

    def _cell(self, space: Space) -> tuple[Affine, ...]:
        return tuple(index_of(affine_var(space, k)) for k in range(self.kept))

    def _update(self, array: Array, op: str) -> Statement:
        """``t[u, x] = t[u, x] op f(u, x, q)``."""
        statement = self.statement
        operand = operand_of(statement)
        assert operand is not None

        iterators = (
            *statement.iterators[: self.kept],
            *(statement.iterators[k] for k in self.along),
        )
        cell = self._cell(self.runs.get_space())
        value = binary(op, load(array.type, array.name, cell), pulled_back(operand, self.back))
        return Statement(array.name, iterators, self.runs, array.name, cell, value, statement.span)

    def _rest(self, array: Array, op: str) -> Statement:
        """``A[y, x] = A[y, x] op t[y + p, x]``."""
        statement, domain = self.statement, self.across_runs
        space = domain.get_space()
        step = affine_var(space, self.kept)
        parts = [affine_var(space, k) for k in range(self.kept)]
        own = tuple(index_of(part) for part in parts)
        parts[self.moved] = self._row(parts[self.moved], step)
        row = load(array.type, array.name, tuple(map(index_of, parts)))
        value = binary(op, load(array.type, statement.array, own), row)
        iterators = (*statement.iterators[: self.kept], statement.iterators[self.across])
        return replace(statement, iterators=iterators, domain=domain, index=own, value=value)

    def _nest(self, nest: tuple[Loop | str, ...]) -> tuple[Loop | str, ...]:
        """The rows' nest right before the statement's, whose loop along rows is gone."""
        result: list[Loop | str] = []
        for node in nest:
            if self.statement.name in statements_in(node):
                result.append(self._own_nest())
                result += self._without(node, 0)
            else:
                result.append(node)
        return tuple(result)

    def _own_nest(self) -> Loop:
        name, start = self.names
        iterators = self.statement.iterators
        node: Loop | str = name
        for k in reversed(self.along):
            node = Loop(iterators[k], (node,))
        nest = Loop(iterators[self.kept - 1], (start, node))
        for k in reversed(range(self.kept - 1)):
            nest = Loop(iterators[k], (nest,))
        return nest

    def _without(self, node: Loop | str, depth: int) -> list[Loop | str]:
        if isinstance(node, str) or self.statement.name not in statements_in(node):
            return [node]
        body = tuple(new for child in node.body for new in self._without(child, depth + 1))
        return [*body] if depth in self.along else [replace(node, body=body)]
