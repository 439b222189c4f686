"""Terms as values and drafts, in the loops of their stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.errors import TypeMismatchError
from polyopt.frontend.assemble import Draft, DraftLoop
from polyopt.frontend.functions import clamp, convert, float_call
from polyopt.frontend.located import located
from polyopt.frontend.loops.calls import call_known
from polyopt.frontend.loops.ranges import Range, loop_domain
from polyopt.frontend.loops.storage import expanded
from polyopt.frontend.sizes import BINARY_OPERATORS, COMPARE_OPERATORS, size_form, size_value
from polyopt.frontend.stages.borders import border_index, inside
from polyopt.frontend.stages.grids import Border, Grid, Stage
from polyopt.frontend.values import (
    Form,
    Number,
    Strong,
    Value,
    Weak,
    as_expr,
    binary,
    both,
    compare,
    complement,
    index_form,
    is_weak,
    loaded,
    need_form,
    negative,
    select,
    type_of,
    typed,
)
from polyopt.ir import build
from polyopt.ir.expr import Load, index_of
from polyopt.ir.types import BOOL, I64, ScalarType
from polyopt.isl import affine_var, params_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polyopt.frontend.stages.reductions import Reduction
    from polyopt.frontend.stages.term import Term
    from polyopt.ir.expr import Expr
    from polyopt.ir.scop import Array
    from polyopt.isl import PwAff, Set

_BINARY = {*BINARY_OPERATORS.values(), "min", "max"}
_COMPARE = set(COMPARE_OPERATORS.values())


@dataclass(frozen=True, eq=False)
class Tables:
    """What is known outside a stage: arrays by name, and how to add a local one."""

    arrays: Mapping[str, Array]
    declare: Callable[[Array], None]
    fresh: Callable[[str], str]


class Nest:
    """Some loops being filled: reads terms in them, and adds statements to ``body``."""

    def __init__(
        self, stage: Stage, tables: Tables, domain: Set, positions: Mapping[Term, int]
    ) -> None:
        self.stage = stage
        self.tables = tables
        self.domain = domain
        self.space = domain.get_space()
        self.body: list[Draft | DraftLoop] = []
        self.iterators: tuple[str, ...] = ()
        self._positions = dict(positions)
        self._known: dict[Term, Value] = {}

    def of(self, stage: Stage) -> Nest:
        """The same loops, for another stage."""
        nest = Nest(stage, self.tables, self.domain, self._positions)
        nest.iterators, nest.body = self.iterators, self.body
        return nest

    def inner(self, index: Term, bounds: Range) -> tuple[Nest, DraftLoop]:
        """One more loop inside these."""
        name, number = str(index.payload), 0
        while name in self.iterators or name in self._params():
            name, number = f"{index.payload}{number}", number + 1
        domain = loop_domain(self.domain, name, bounds)
        positions = {**self._positions, index: len(self.iterators)}
        nest = Nest(self.stage, self.tables, domain, positions)
        nest.iterators = (*self.iterators, name)
        loop = DraftLoop(name)
        nest.body = loop.body
        return nest, loop

    def _params(self) -> set[str]:
        return set(params_of(self.space))

    def range(self, ends: tuple[Term, Term]) -> Range:
        """The loop from ``low`` to before ``high``."""
        low, high = (self._bound(end) for end in ends)
        return Range(low, high, 1)

    def _bound(self, end: Term) -> PwAff:
        value = self.value(end)
        with located(lambda: end.span):
            return need_form(value, self.space, "this bound")

    def value(self, term: Term) -> Value:
        """A term as a value: operands first, without recursion, each shared one once."""
        stack = [term]
        while stack:
            node = stack[-1]
            missing = [a for a in node.args if a not in self._known]
            if node in self._known or missing:
                if missing:
                    stack += reversed(missing)
                else:
                    stack.pop()
                continue
            with located(lambda node=node: node.span):
                self._known[node] = self._compute(node, [self._known[a] for a in node.args])
            stack.pop()
        return self._known[term]

    def _compute(self, node: Term, args: Sequence[Value]) -> Value:
        match node.op:
            case "value":
                return node.payload
            case "index":
                return self._index(node)
            case "size":
                return Form(size_form(node.payload, self.space))
            case "text":
                return size_value(node.payload, self.space)
            case "load":
                return self._load(node, args)
            case "reduce":
                return self._reduced(node)
            case "cast":
                return convert(node.payload, args[0])
            case "call":
                return float_call(node.payload, args)
            case "known":
                return call_known(node.payload, args)
            case _:
                return _operation(node.op, args)

    def _index(self, node: Term) -> Value:
        if node not in self._positions:
            raise TypeMismatchError(
                f"the index {node.payload!r} belongs to another stage or reduction"
            )
        return Form(affine_var(self.space, self._positions[node]))

    # loads

    def _load(self, node: Term, index: Sequence[Value]) -> Value:
        grid: Grid = node.payload
        if not isinstance(grid, Border):
            return self._element(grid, index, node)
        integers = [_integer(value) for value in index]
        ends = [(self.value(low), self.value(high)) for low, high in grid.ranges]
        moved = [
            border_index(grid.kind, value, low, high, self.domain)
            for value, (low, high) in zip(integers, ends, strict=True)
        ]
        element = self._element(grid.grid, moved, node)
        if grid.value is None:
            return element
        condition: Value = Number(True)
        for value, (low, high) in zip(integers, ends, strict=True):
            condition = both(condition, inside(value, low, high, self.domain))
        return select(condition, element, self._padding(grid, element))

    def _padding(self, grid: Border, element: Value) -> Value:
        value = Number(0) if grid.value is None else self.value(grid.value)
        return Strong(typed(value, type_of(element)))

    def _element(self, grid: Grid, index: Sequence[Value], node: Term) -> Value:
        array = self.tables.arrays[grid.name]
        subscripts = tuple(self._subscript(value) for value in index)
        return loaded(Load(array.type, array.name, subscripts, node.span))

    def _subscript(self, value: Value) -> Expr:
        form = index_form(value, self.space)
        return build.cast(I64, as_expr(_integer(value))) if form is None else index_of(form)

    # reductions

    def _reduced(self, node: Term) -> Value:
        """A reduction inside an expression: accumulated in a local of its own."""
        array, weak = self.reduce(
            node, self.place, lambda kind: self.local(node.payload.op, kind, node)
        )
        value = self.element_of(array, node)
        return Weak(value.expr) if weak else value

    def local(self, op: str, kind: ScalarType, node: Term) -> Array:
        """A new array with an element for each iteration of the loops, for a reduction."""
        word = {"add": "sum", "mul": "product"}.get(op, op)
        name = self.tables.fresh(f"{self.stage.name}_{word}")
        array = expanded(name, kind, (), self.domain, node.span)
        self.tables.declare(array)
        return array

    def element_of(self, array: Array, node: Term) -> Strong:
        """The element of such an array that is this iteration's."""
        index = tuple(map(index_of, self.place(self)))
        return Strong(Load(array.type, array.name, index, node.span))

    def place(self, nest: Nest) -> tuple[PwAff, ...]:
        """The iterators of these loops, in those loops or in a nest inside of them."""
        return tuple(affine_var(nest.space, k) for k in range(len(self.iterators)))

    def reduce(
        self,
        node: Term,
        index: Callable[[Nest], tuple[PwAff, ...]],
        declare: Callable[[ScalarType], Array],
    ) -> tuple[Array, bool]:
        """The statements of a reduction into ``array[index]``; the array, and whether weak.

        ``index`` gives the subscripts in these loops and in those of the reduction.
        """
        reduction: Reduction = node.payload
        nest: Nest = self
        loops: list[DraftLoop] = []
        for position, ends in zip(reduction.indices, reduction.ranges, strict=True):
            nest, loop = nest.inner(position, nest.range(ends))
            if loops:
                loops[-1].body.append(loop)
            loops.append(loop)
        value = nest.value(reduction.body)
        if type_of(value) == BOOL and reduction.op in {"add", "mul"}:
            value = Weak(typed(value, I64))
        array = declare(type_of(value))
        self.add(array, index(self), Strong(build.identity(reduction.op, array.type)), node)
        inner = index(nest)
        old = Load(array.type, array.name, tuple(index_of(f) for f in inner), node.span)
        new = binary(reduction.op, Strong(old), Strong(typed(value, array.type)))
        nest.add(array, inner, new, node)
        self.body.append(loops[0])
        return array, is_weak(value)

    def add(self, array: Array, index: tuple[PwAff, ...], value: Value, node: Term) -> None:
        """The statement ``array[index] = value``."""
        expr = typed(value, array.type)
        draft = Draft(array.name, index, expr, self.domain, self.iterators, node.span)
        self.body.append(draft)


def _operation(op: str, args: Sequence[Value]) -> Value:
    if op in _BINARY:
        return binary(op, *args)
    if op in _COMPARE:
        return compare(op, *args)
    match op:
        case "neg":
            return negative(*args)
        case "invert":
            return complement(*args)
        case "select":
            return select(*args)
        case _:
            return clamp(*args)


def _integer(value: Value) -> Value:
    """An index as a weak integer. Raises ``TypeMismatchError`` for other numbers."""
    if isinstance(value, Number | Form) and type_of(value) == I64:
        return value
    if not type_of(value).is_integer:
        raise TypeMismatchError(
            f"a subscript has to be an integer, not {type_of(value)}",
            hint='cast it: po.cast("i32", value)',
        )
    return Weak(build.cast(I64, as_expr(value)))
