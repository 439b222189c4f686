"""Statements over whole arrays, as loops over the elements: what ``loops.statements`` reads, and
assignments of arrays, helper functions, and results."""

from __future__ import annotations

import ast
from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from polyopt.errors import TypeMismatchError, UnsupportedError
from polyopt.frontend.arrays.complex_names import Stored, assign_complex, is_complex_name
from polyopt.frontend.arrays.expressions import ArrayExpressions
from polyopt.frontend.arrays.grid import Grid, Pair, Placed, Unfilled, whole
from polyopt.frontend.arrays.iteration import as_range
from polyopt.frontend.arrays.operands import AnyOperand, Items, is_number
from polyopt.frontend.arrays.results import Results
from polyopt.frontend.arrays.storing import Storing
from polyopt.frontend.complex_values import Complex, kind_of
from polyopt.frontend.located import located
from polyopt.frontend.loops.merge import base_name, names_in
from polyopt.frontend.loops.scope import Alias, Known, Shape, Variable, View
from polyopt.frontend.values import (
    Form,
    Number,
    Value,
    Where,
    select,
    truth,
)
from polyopt.isl import lift_form

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FunctionType

    from polyopt.frontend.arrays.facts import Facts
    from polyopt.frontend.arrays.helpers import Helpers
    from polyopt.frontend.loops.scope import Scope
    from polyopt.ir.scop import Array
    from polyopt.ir.types import ScalarType


class ArrayStatements(Storing):
    """Reads the statements of a function, or of a helper in place of its call."""

    def __init__(
        self,
        scope: Scope,
        taken: set[str],
        types: dict[ast.AST, tuple[ScalarType, bool]],
        facts: Facts,
        helpers: Helpers,
    ) -> None:
        super().__init__(scope, taken, types, facts, helpers)
        self.read = ArrayExpressions(self)
        self.results = Results(self)
        #: how many sums the function adds up itself, in an order that it chose
        self.own_updates = 0

    def saw(self, origin: object, name: str, value: object) -> None:
        """Note a name that a function or a module has from outside, and what it is."""
        self.helpers.seen[id(origin), name] = (origin, value)

    def block(self, nodes: list[ast.stmt]) -> None:
        """All statements of a block, to the first return."""
        for node in nodes:
            if self.results.done:
                return
            super().block([node])

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign | ast.Expr | ast.Return):
            self.helpers.direct = node.value
        match node:
            case ast.AugAssign():
                self._augmented(node)
            case ast.Expr(value=ast.Call()):
                self._effect(node)
            case ast.Return():
                self.results.take(node)
            case ast.Assign() if len(node.targets) > 1:
                operand = self.read.operand(node.value)
                for target in node.targets:
                    self._assign_operand(target, operand, node)
            case _:
                super()._statement(node)

    # loops and conditions

    def _for(self, node: ast.For) -> None:
        with located(lambda: self.read.span(node.iter)):
            loop = as_range(self, node)
        if isinstance(loop, Items):
            for item in loop.items:
                self._assign_operand(node.target, item, node)
                self.block(node.body)
            return
        self._own((loop or node).body, node)
        super()._for(loop or node)

    def unused(self, name: str) -> str:
        """A name that neither the function nor its surroundings use."""
        number = 0
        while self.scope.binding(found := f"{name}{number or ''}") or found in self.scope.locals:
            number += 1
        return found

    def _if(self, node: ast.If) -> None:
        test = truth(self.read.value(node.test))
        if isinstance(test, Number):
            self.block(node.body if test.value else node.orelse)
            return
        body = [*node.body, *node.orelse]
        if any(isinstance(n, ast.Return) for s in body for n in ast.walk(s)):
            raise UnsupportedError(
                "a return under a condition that is known at run time only",
                hint="assign the result in both branches, and return it at the end",
            )
        self._own(body, node)
        if any(isinstance(n, ast.Call) for n in ast.walk(node.test)):
            node = self._tested_once(node, test)
        names = self.scope.frames[-1].names
        before = set(names)
        super()._if(node)
        for name in set(names) - before:  # a view or a shape that one of the branches names
            if isinstance(names[name], Alias):
                del names[name]

    def _tested_once(self, node: ast.If, test: Value) -> ast.If:
        """The statement with a test that is computed before, not where it is asked for."""
        if isinstance(test, Where):
            return node
        name = self.helpers.target("<test>", node).id
        self.scope.frames[-1].names[name] = Alias(self.stored(test, node))
        return ast.copy_location(
            ast.If(
                ast.copy_location(ast.Name(name, ast.Load()), node.test), node.body, node.orelse
            ),
            node,
        )

    def _own(self, body: list[ast.stmt], node: ast.AST) -> None:
        """Give names storage of their own that loops or branches assign."""
        anew, in_place = assigned_names(body)
        for name in sorted(anew | in_place):
            found = self.scope.binding(name)
            if found is None or (isinstance(found, Variable) and not found.argument):
                continue
            if isinstance(found, Stored) or is_complex_name(found):
                continue
            operand = self.read.operand(ast.copy_location(ast.Name(name, ast.Load()), node))
            if isinstance(operand, Grid):
                if name not in anew:
                    continue
                if name in in_place:
                    raise UnsupportedError(
                        f"{name!r} is changed in place and assigned anew in one loop",
                        hint="assign to all of its elements, such as a[...] = b, or use two names",
                    )
                self._bind_copy(name, operand, node)
            elif not isinstance(operand, Known | Shape | Items):
                self._bind_scalar(name, operand, node)

    def _bind_copy(self, name: str, grid: Grid, node: ast.AST) -> None:
        copy = self.materialise(grid, node, name)
        self.helpers.unnamed.discard(copy.array.name)
        is_pair = isinstance(copy, Pair)
        self.scope.frames[-1].names[name] = Stored(copy) if is_pair else Variable(copy.array)

    def _bind_scalar(self, name: str, value: Value, node: ast.AST) -> None:
        target = self.helpers.target(name, node)
        self.scope.frames[-1].names.pop(name, None)
        if isinstance(value, Complex):
            assign_complex(self, target, value, node)
            return
        variable = self._new_scalar(target, value)
        index = self.scope.private_index(variable.array)
        self._emit(variable.array, index, value, node, first=True)

    # assignments

    def _assign(self, target: ast.expr, value: ast.expr, node: ast.AST) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            self._assign_together(target, value, node)
            return
        self._assign_operand(target, self.read.operand(value), node)

    def _assign_together(self, target: ast.Tuple, value: ast.Tuple, node: ast.AST) -> None:
        """``a, b = b, a + b``: what is read is what was there before."""
        operands = [self.read.operand(item) for item in value.elts]
        changed = {base_name(t) for t in target.elts}
        kept = [
            self._kept(o, node) if names_in(item) & changed else o
            for o, item in zip(operands, value.elts, strict=True)
        ]
        self._assign_operand(target, Items(tuple(kept)), node)

    def _kept(self, operand: AnyOperand, node: ast.AST) -> AnyOperand:
        """The operand as it is now, whatever is assigned afterwards."""
        if isinstance(operand, Grid) and not is_number(operand):
            aliases = self.scope.depth == 0 and self.is_certain
            return (
                operand
                if aliases and isinstance(operand, Placed | Pair)
                else self.materialise(operand, node)
            )
        if isinstance(operand, Known | Shape | Items | Number | Form | Where):
            return operand
        return self.stored(self.read.as_number(operand), node)

    def _assign_operand(self, target: ast.expr, operand: AnyOperand, node: ast.AST) -> None:
        match target:
            case ast.Name():
                self._assign_to_name(target, operand, node)
            case ast.Subscript():
                self._assign_to_elements(target, operand, node)
            case ast.Tuple():
                items = self._items(operand, target)
                for one, item in zip(target.elts, items, strict=True):
                    self._assign_operand(one, item, node)
            case _:
                raise UnsupportedError(
                    "only variables and array elements are assigned", span=self.read.span(target)
                )

    def _items(self, operand: AnyOperand, target: ast.Tuple) -> Sequence[AnyOperand]:
        items: Sequence[AnyOperand] = ()
        if isinstance(operand, Shape | Items):
            items = operand.sizes if isinstance(operand, Shape) else operand.items
        if len(items) != len(target.elts):
            raise UnsupportedError("both sides need the same number of items")
        return items

    def _assign_to_name(self, target: ast.Name, operand: AnyOperand, node: ast.AST) -> None:
        if isinstance(operand, Grid) and not is_number(operand):
            self._assign_array(target.id, operand, node)
        elif isinstance(operand, Known | Shape | Items):
            if target.id != "_":
                self._bind_known(target, operand)
        else:
            self._assign_number(target, self.read.as_number(operand), node)

    def _bind_known(self, target: ast.Name, operand: AnyOperand) -> None:
        found = self.scope.binding(target.id)
        if found is not None and not (self.is_certain and target.id in self.scope.frames[-1].names):
            raise UnsupportedError(
                f"{target.id!r} is assigned more than once",
                span=self.read.span(target),
                hint="give each size, shape or view a name of its own",
            )
        self.scope.frames[-1].names[target.id] = Alias(operand)

    def _assign_number(self, target: ast.Name, number: Value, node: ast.AST) -> None:
        names = self.scope.frames[-1].names
        found = names.get(target.id)
        if isinstance(number, Complex) or is_complex_name(self.scope.binding(target.id)):
            assign_complex(self, target, number, node)
            return
        is_fixed = isinstance(found, Alias) or (found is not None and found.argument)
        is_array = isinstance(found, Variable) and not found.is_scalar
        if (is_fixed or is_array) and self.is_certain:
            del names[target.id]  # a new value under the same name
        super()._assign_number(target, number, node)

    def assign_real(self, target: ast.Name, number: Value, node: ast.AST) -> None:
        """``x = ...`` of a real number, in storage that the name has or gets."""
        super()._assign_number(target, number, node)

    def _assign_array(self, name: str, grid: Grid, node: ast.AST) -> None:
        """``a = ...`` of a whole array: a new array, a name for a view, or, where loops or
        branches go on with it, the same storage with new values."""
        names = self.scope.frames[-1].names
        found = self.scope.binding(name)
        if found is None or (name in names and self.is_certain):
            if not isinstance(grid, Placed | Pair):
                grid = self.materialise(grid, node, name)
                if isinstance(grid, Pair):
                    names[name] = Stored(grid)
                else:
                    names[name] = Variable(grid.array) if grid.is_whole else Alias(grid)
            else:
                names[name] = Alias(grid)
            self.helpers.unnamed.discard(grid.array.name)
            return
        self._replace(name, found, grid, node)

    def _replace(self, name: str, found: Alias | Variable, grid: Grid, node: ast.AST) -> None:
        space = self.scope.space
        if isinstance(found, Stored):
            target: Placed | Pair = found.operand
        elif isinstance(found, Variable) and not found.is_scalar:
            target = whole(found.array, self.scope.private_index(found.array), space)
        else:
            raise UnsupportedError(f"{name!r} was no array before", hint="use a new name")
        self._check_alias(name, target.array, grid, node)
        same = len(target.shape) == grid.rank and all(
            self.read.here.equal(lift_form(one, space), lift_form(other, space))
            for one, other in zip(target.shape, grid.shape, strict=True)
        )
        if not same or grid.type(space) != target.type(space):
            raise UnsupportedError(
                f"{name!r} would change its shape or type from one iteration to the next",
                hint="use a new name",
            )
        if not isinstance(grid, Unfilled):
            self.store(target, grid, node)

    def _check_alias(self, name: str, array: Array, grid: Grid, node: ast.AST) -> None:
        """Refuse to give values where Python gives a second name to one array."""
        for frame in self.scope.frames:
            for other, binding in frame.names.items():
                operand = binding.operand if isinstance(binding, Alias) else None
                is_stored = isinstance(operand, Placed | Pair)
                if other != name and is_stored and operand.array is array:
                    raise UnsupportedError(f"{name!r} is assigned while {other!r} is a view of it")
        if isinstance(grid, Placed | Pair) and not self.helpers.is_fresh(
            grid.array, self.scope, node
        ):
            source = grid.array.name
            raise UnsupportedError(
                f"{name!r} becomes a second name of {source!r}, which may change under it",
                hint=f"assign the elements, {name}[...] = {source}, or a copy",
            )

    def _assign_to_elements(
        self, target: ast.Subscript, operand: AnyOperand, node: ast.AST
    ) -> None:
        mask = self._mask(target)
        if mask is not None:
            self._assign_where(target, mask, self.read.numeric(operand), node)
            return
        place = self.read.operand(target)
        value = self.read.numeric(operand)
        if isinstance(place, Placed | Pair):
            self.store(place, value, node)
        elif isinstance(place, View):
            self.put(place, self.read.as_number(value), target, node)
        elif isinstance(place, Grid):
            raise self._several(target)
        else:
            raise UnsupportedError("this has no elements to assign", span=self.read.span(target))

    def _several(self, target: ast.expr) -> UnsupportedError:
        return UnsupportedError(
            "several elements that data choose are assigned at once",
            span=self.read.span(target),
            hint="loop over the elements",
        )

    def _mask(self, target: ast.Subscript) -> Grid | None:
        """The array of truth values that chooses the elements, where one does."""
        if isinstance(target.slice, ast.Slice | ast.Tuple | ast.Constant):
            return None
        operand = self.read.operand(target.slice)
        if isinstance(operand, Grid) and operand.type(self.scope.space).kind == "bool":
            return operand
        return None

    def _assign_where(
        self, target: ast.Subscript, mask: Grid, value: Grid | Value, node: ast.AST
    ) -> None:
        """``a[mask] = value``: the other elements keep theirs."""
        place = self.read.operand(target.value)
        stored = isinstance(place, Placed | Pair)
        if not stored or mask.rank != place.rank or isinstance(value, Grid):
            raise UnsupportedError(
                "a mask chooses elements of a whole array for one number",
                span=self.read.span(target),
                hint="write a[...] = np.where(mask, value, a)",
            )
        kind = place.type(self.scope.space)

        def chosen(test: Value, new: Value, old: Value) -> Value:
            return select(test, self.read.converted(new, kind), old)

        self.store(place, self.read.elementwise(chosen, [mask, value, place], node), node)

    def _augmented(self, node: ast.AugAssign) -> None:
        target = node.target
        loaded = _loaded(target)
        mask = self._mask(target) if isinstance(target, ast.Subscript) else None
        if mask is not None:
            self._augment_where(node, mask)
            return
        place = self.read.operand(loaded)
        value = self.read.array_or_number(node.value)
        result = self.read.binary(node.op, self.read.numeric(place), value, node)
        if isinstance(place, Placed | Pair):
            self.own_updates += is_number(place)
            self.check_same_kind(place, result, node)
            self.store(place, result, node)
        elif isinstance(place, Grid):
            raise self._several(target)
        elif isinstance(place, View) and isinstance(target, ast.Subscript):
            self.own_updates += 1
            self.put(place, self.read.as_number(result), target, node)
        else:
            self.own_updates += 1
            self._assign_operand(target, result, node)

    def _augment_where(self, node: ast.AugAssign, mask: Grid) -> None:
        assert isinstance(node.target, ast.Subscript)
        place = self.read.array_or_number(node.target.value)
        value = self.read.array_or_number(node.value)
        stored = isinstance(place, Placed | Pair)
        if not stored or isinstance(value, Grid) or mask.rank != place.rank:
            raise UnsupportedError(
                "a mask chooses elements of a whole array for one number",
                hint="write a[...] = np.where(mask, ..., a)",
            )
        new = self.read.binary(node.op, place, value, node)
        kind = place.type(self.scope.space)

        def chosen(test: Value, result: Value, old: Value) -> Value:
            return select(test, self.read.converted(result, kind), old)

        self.store(place, self.read.elementwise(chosen, [mask, new, place], node), node)

    def check_same_kind(self, place: Placed | Pair, result: Grid | Value, node: ast.AST) -> None:
        """Raise ``TypeMismatchError`` where NumPy does not cast a result to an array's type."""
        kind = result.type(self.scope.space) if isinstance(result, Grid) else kind_of(result)
        have = place.type(self.scope.space)
        if not np.can_cast(kind.dtype, have.dtype, "same_kind"):
            raise TypeMismatchError(
                f"an array of {have} cannot be updated in place with {kind}",
                span=self.read.span(node),
                hint="write a = a + ... for a new array, or cast with .astype",
            )

    def _effect(self, node: ast.Expr) -> None:
        """A call for what it does: a helper, or a method that changes an array."""
        assert isinstance(node.value, ast.Call)
        self.read.operand(node.value)

    # helpers

    def inline(self, node: ast.Call, function: FunctionType) -> AnyOperand:
        """A helper's statements in place of its call; what it returns."""
        return self.helpers.inline(self, node, function)

    def child(self, scope: Scope) -> ArrayStatements:
        """A reader of a helper's statements, which go where these go."""
        inner = ArrayStatements(scope, self._taken, self._types, self.facts, self.helpers)
        inner.body, inner.temps = self.body, self.temps
        inner._domain, inner._tests = self._domain, list(self._tests)
        inner._declared = self._declared
        inner.results.is_helper = True
        inner.results.begin()
        return inner


def _loaded(target: ast.Name | ast.Attribute | ast.Subscript) -> ast.expr:
    """The target as an expression that is read."""
    result = copy(target)
    result.ctx = ast.Load()
    return result


def assigned_names(body: list[ast.stmt]) -> tuple[set[str], set[str]]:
    """Names that some statements assign, and those that they change in place, if arrays."""
    in_place: set[str] = set()
    augmented: set[int] = set()
    for node in (n for statement in body for n in ast.walk(statement)):
        if isinstance(node, ast.AugAssign):
            in_place.add(base_name(node.target))
            augmented.add(id(node.target))
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            in_place.add(base_name(node))
    anew = {
        node.id
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and id(node) not in augmented
    }
    return anew, in_place
