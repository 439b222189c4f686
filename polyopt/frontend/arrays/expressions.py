"""Python expressions over whole arrays: what ``loops.expressions`` reads, and array values."""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from polyopt.errors import NonAffineError, TypeMismatchError, UnsupportedError
from polyopt.frontend.arrays.comprehensions import items_of
from polyopt.frontend.arrays.functions.integers import operation
from polyopt.frontend.arrays.grid import (
    Along,
    Computed,
    Fixed,
    Grid,
    Pair,
    Placed,
    Subscript,
    reindexed,
)
from polyopt.frontend.arrays.operands import AnyOperand, ArrayOperands, Items, Method
from polyopt.frontend.arrays.slices import broadcast, broadcast_to, index_from, walk
from polyopt.frontend.located import located
from polyopt.frontend.loops.scope import Known, Shape, View
from polyopt.frontend.sizes import BINARY_OPERATORS, COMPARE_OPERATORS
from polyopt.frontend.values import (
    Number,
    Value,
    Where,
    as_expr,
    compare,
    complement,
    index_form,
    negative,
    select,
    truth,
    type_of,
)
from polyopt.ir import build
from polyopt.ir.expr import index_of
from polyopt.ir.types import I64
from polyopt.isl import affine_constant, constant_value

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FunctionType

    from polyopt.ir.expr import Expr
    from polyopt.isl import PwAff, Set, Space


class ArrayExpressions(ArrayOperands):
    """Reads expressions; what has to be stored on the way is stored by the statements' reader."""

    # subscripts

    def _subscript(self, node: ast.Subscript) -> AnyOperand:
        base = self.operand(node.value)
        if isinstance(base, Shape):
            return self._sizes(base, node.slice)
        if isinstance(base, Known):
            if not isinstance(base.value, tuple):
                raise UnsupportedError(
                    "an object whose items may change", hint="pass an array, or use a tuple"
                )
            return self._table_item(base, node.slice)
        if isinstance(base, Items):
            return self._item(base, node.slice)
        if not isinstance(base, Grid):
            raise UnsupportedError(f"{ast.unparse(node.value)} is a number: it has no elements")
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return self._view(base, [self._plain(part) for part in parts], node)

    def _plain(self, part: ast.expr) -> ast.expr:
        """A subscript with ``np.newaxis`` as the ``None`` that it is."""
        if isinstance(part, ast.Attribute) and part.attr == "newaxis":
            return ast.copy_location(ast.Constant(None), part)
        return part

    def _sizes(self, shape: Shape, node: ast.expr) -> AnyOperand:
        if not isinstance(node, ast.Slice):
            return self._shape_item(shape, node)
        if node.step is not None:
            raise UnsupportedError("some sizes of a shape in steps")
        return Shape(shape.sizes[self._constant_end(node.lower) : self._constant_end(node.upper)])

    def _constant_end(self, node: ast.expr | None) -> int | None:
        if node is None:
            return None
        value = self.value(node)
        if not isinstance(value, Number) or not isinstance(value.value, int):
            raise NonAffineError("which sizes of a shape has to be a constant")
        return value.value

    def _item(self, base: Items, node: ast.expr) -> AnyOperand:
        index = self.value(node)
        if not isinstance(index, Number) or not isinstance(index.value, int):
            raise NonAffineError("which item of a tuple has to be a constant")
        if not -len(base.items) <= index.value < len(base.items):
            raise UnsupportedError(f"this tuple has only {len(base.items)} item(s)")
        return base.items[index.value]

    def _view(self, base: Grid, parts: list[ast.expr], node: ast.Subscript) -> AnyOperand:
        parts = self._without_ellipsis(base, parts)
        picks: list[Subscript] = []
        shape: list[PwAff] = []
        chosen: list[tuple[int, Grid]] = []
        for part in parts:
            if isinstance(part, ast.Constant) and part.value is None:
                shape.append(affine_constant(self.scope.space, 1))
                continue
            extent = self.lifted(base.shape[len(picks)])
            with located(lambda part=part: self.span(part)):
                if isinstance(part, ast.Slice):
                    first, count, step = self._slice(part, extent)
                    picks.append(Along(len(shape), first, step))
                    shape.append(count)
                    continue
                found = self._index_or_array(part, extent)
            if isinstance(found, Grid):
                chosen.append((len(picks), found))
                picks.append(Fixed(index_of(affine_constant(self.scope.space, 0))))
                continue
            picks.append(Fixed(found))
        if chosen:
            return self._gathered(base, picks, shape, chosen)
        if not shape:
            return self._element(base, picks, node)
        return reindexed(base, picks, shape, self.scope.space)

    def _without_ellipsis(self, base: Grid, parts: list[ast.expr]) -> list[ast.expr]:
        """The parts with full slices in place of ``...``, and for what is left out."""
        dots = [k for k, p in enumerate(parts) if isinstance(p, ast.Constant) and p.value is ...]
        axes = sum(not (isinstance(p, ast.Constant) and p.value in (None, ...)) for p in parts)
        if axes > base.rank or len(dots) > 1:
            raise UnsupportedError(f"{axes} subscripts where there are {base.rank} dimension(s)")
        missing = [ast.Slice()] * (base.rank - axes)
        at = dots[0] if dots else len(parts)
        return [*parts[:at], *missing, *parts[at + len(dots) :]]

    def _slice(self, part: ast.Slice, extent: PwAff) -> tuple[PwAff, PwAff, int]:
        step = 1
        if part.step is not None:
            form = index_form(self.value(part.step), self.scope.space)
            number = None if form is None else constant_value(form)
            if not number:
                raise NonAffineError("the step of a slice has to be a constant other than 0")
            step = number
        lower, upper = self._end(part.lower), self._end(part.upper)
        first, count = walk(lower, upper, step, extent, self.here)
        return first, count, step

    def _end(self, node: ast.expr | None) -> PwAff | None:
        if node is None or (isinstance(node, ast.Constant) and node.value is None):
            return None
        form = index_form(self.value(node), self.scope.space)
        if form is None:
            raise NonAffineError(
                "this end of a slice is not affine in iterators and sizes",
                span=self.span(node),
                hint="ends are sums of iterators and sizes times constants",
            )
        return form

    def _index_or_array(self, node: ast.expr, extent: PwAff) -> Expr | Grid:
        operand = self.operand(node)
        if isinstance(operand, Grid):
            if not operand.type(self.scope.space).is_integer:
                raise UnsupportedError(
                    "a choice by an array of truth values has a size that data decide",
                    hint="write np.where(mask, ..., ...), or assign to a[mask]",
                )
            return operand
        value = self._as_value(operand)
        form = index_form(value, self.scope.space)
        if form is not None:
            return index_of(index_from(form, extent, self.here))
        if type_of(value).is_float:
            raise TypeMismatchError("a subscript has to be an integer", hint="wrap it in int(...)")
        self._statements.covers(as_expr(value))
        return build.cast(I64, as_expr(value))

    def _element(self, base: Grid, picks: Sequence[Subscript], node: ast.AST) -> AnyOperand:
        space = self.scope.space
        if isinstance(base, Placed):
            found = reindexed(base, picks, (), space)
            assert isinstance(found, Placed)
            return View(found.array, found.place((), space), self.span(node))
        if isinstance(base, Pair):
            found = reindexed(base, picks, (), space)
            assert isinstance(found, Pair)
            return replace(found, space=space)
        return reindexed(base, picks, (), space).at((), space)

    def _gathered(
        self,
        base: Grid,
        picks: Sequence[Subscript],
        shape: Sequence[PwAff],
        chosen: Sequence[tuple[int, Grid]],
    ) -> Grid:
        """``a[key]``: elements that other arrays choose."""
        if shape or not isinstance(base, Placed | Pair):
            raise UnsupportedError(
                "elements are chosen by arrays along with slices, or of an expression",
                hint="loop over the elements, or give the expression a name",
            )
        here = self.here
        wanted = broadcast([grid.shape for _, grid in chosen], here)
        keys = {axis: broadcast_to(grid, wanted, here) for axis, grid in chosen}

        def element(index: Sequence[PwAff], space: Space) -> Value:
            inner = [
                Fixed(build.cast(I64, as_expr(keys[axis].at(index, space))))
                if axis in keys
                else pick
                for axis, pick in enumerate(picks)
            ]
            return reindexed(base, inner, (), space).at((), space)

        return Computed(wanted, element)

    # operations

    def _operation(self, node: ast.expr) -> AnyOperand:
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            return Items(tuple(items_of(self, node)))
        return super()._operation(node)

    def value(self, node: ast.expr) -> Value:
        """The node as a number. Raises ``UserError`` kinds with the node's span."""
        operand = self.operand(node)
        with located(lambda: self.span(node)):
            return self._as_value(operand)

    def _binary(self, node: ast.BinOp) -> AnyOperand:
        spine = [node]
        while isinstance(spine[-1].left, ast.BinOp):
            spine.append(spine[-1].left)
        result = self.array_or_number(spine[-1].left)
        for part in reversed(spine):
            with located(lambda part=part: self.span(part)):
                result = self.binary(part.op, result, self.array_or_number(part.right), part)
        return result

    def binary(
        self, op: ast.operator, one: Grid | Value, other: Grid | Value, node: ast.AST
    ) -> Grid | Value:
        """A binary operator on arrays or numbers."""
        if isinstance(op, ast.MatMult):
            from polyopt.frontend.arrays.functions.products import matmul

            return matmul(self, one, other, node)
        name = BINARY_OPERATORS[type(op)]
        if not isinstance(one, Grid) and not isinstance(other, Grid):
            wrapped = self.by_size(name, one, other)
            if wrapped is not None:
                return wrapped
        return self.elementwise(partial(operation, name), [one, other], node)

    def _unary(self, node: ast.UnaryOp) -> AnyOperand:
        operand = self.array_or_number(node.operand)
        match node.op:
            case ast.USub():
                return self.elementwise(negative, [operand], node)
            case ast.Invert():
                return self.elementwise(complement, [operand], node)
            case ast.UAdd():
                return operand
            case _:
                return super()._unary(node)

    def _compare(self, node: ast.Compare) -> AnyOperand:
        if len(node.ops) > 1:
            return super()._compare(node)
        found = self._identity(node)
        if found is not None:
            return found
        if type(node.ops[0]) not in COMPARE_OPERATORS:
            raise UnsupportedError("only < <= > >= == != compare here")
        op = COMPARE_OPERATORS[type(node.ops[0])]
        sides = [self.array_or_number(n) for n in (node.left, node.comparators[0])]
        return self.elementwise(partial(compare, op), sides, node)

    def _identity(self, node: ast.Compare) -> Value | None:
        """``x is None``, and equality of what is known beforehand."""
        op = node.ops[0]
        if isinstance(op, ast.Is | ast.IsNot):
            left, right = (self.operand(n) for n in (node.left, node.comparators[0]))
            if not isinstance(right, Known) or right.value is not None:
                raise UnsupportedError("only `is None` and `is not None` are taken")
            same = isinstance(left, Known) and left.value is None
            return Number(value=same == isinstance(op, ast.Is))
        if not isinstance(op, ast.Eq | ast.NotEq) or not isinstance(node.left, ast.Name):
            return None
        left, right = (self.operand(n) for n in (node.left, node.comparators[0]))
        if isinstance(left, Known) and isinstance(right, Known) and isinstance(left.value, str):
            return Number(value=(left.value == right.value) == isinstance(op, ast.Eq))
        return None

    def _choice(self, node: ast.IfExp) -> AnyOperand:
        test = truth(self.value(node.test))
        if isinstance(test, Number):
            return self.operand(node.body if test.value else node.orelse)
        if isinstance(test, Where):
            one = self.within(test.where, node.body)
            other = self.within(test.where.complement(), node.orelse)
        else:
            one, other = (self.array_or_number(n) for n in (node.body, node.orelse))
        return self.elementwise(select, [test, one, other], node)

    def within(self, where: Set, node: ast.expr) -> Grid | Value:
        """A node that is evaluated where a condition holds."""
        outer = self._region
        self._region = where if outer is None else outer.intersect(where)
        try:
            return self.array_or_number(node)
        finally:
            self._region = outer

    # calls

    def _call(self, node: ast.Call) -> AnyOperand:
        from polyopt.frontend.arrays.functions.calls import call

        target = self.operand(node.func)
        if isinstance(target, Known | Method):
            return call(self, target, node)
        raise UnsupportedError("this cannot be called")

    def inline(self, node: ast.Call, function: FunctionType) -> AnyOperand:
        """A helper function, with its statements put in place of the call."""
        return self._statements.inline(node, function)
