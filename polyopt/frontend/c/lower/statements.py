"""C statements to records: one write each, under the loops and conditions around it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.errors import NonAffineError, TypeMismatchError, UnsupportedError, UserError
from polyopt.frontend.c.lower import arith
from polyopt.frontend.c.lower.declarations import Declarer
from polyopt.frontend.c.lower.diagnostics import unsupported
from polyopt.frontend.c.lower.expressions import Lowering, set_of
from polyopt.frontend.c.lower.loops import header
from polyopt.frontend.c.lower.opaque import BLOCKS, as_block
from polyopt.frontend.c.lower.scope import (
    Env,
    IteratorVar,
    Parameter,
    Pending,
    Place,
    Program,
    Record,
    Substituted,
    Variable,
)
from polyopt.frontend.c.normalize.continue_free import without_continue
from polyopt.frontend.c.syntax.usage import nodes, written_name
from polyopt.ir import build
from polyopt.ir.block import Block, If, Store
from polyopt.ir.expr import (
    Affine,
    Binary,
    Cast,
    Const,
    Expr,
    Inside,
    Load,
    Select,
    index_of,
    loads,
    same_expr,
    walk,
)
from polyopt.isl import affine_constant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.isl import PwAff
    from polyopt.source import Span

#: integer operations that C leaves undefined for some operands; sums and products wrap
_PARTIAL = frozenset({"div", "mod", "floordiv", "floormod", "shl", "shr"})
_STEPS = {"p++": "+", "++": "+", "p--": "-", "--": "-"}


@dataclass(frozen=True)
class LoopRecord:
    """A source loop around records and loops."""

    iterator: str
    body: tuple[Item, ...]
    step: int


Item = LoopRecord | Record


@dataclass(frozen=True, eq=False)
class Statements:
    """Lowers statements in order; ``lower`` returns the loop nest they make."""

    program: Program

    def block(self, items: list[c_ast.Node], env: Env, place: Place) -> list[Item]:
        """The items of a block, in the given scope."""
        result: list[Item] = []
        for item in items:
            result += self.lower(item, env, place)
        return result

    def lower(self, node: c_ast.Node | None, env: Env, place: Place) -> list[Item]:
        """One statement, as one block where it is not affine.

        Raises the errors of the frontend.
        """
        if not self.program.inbounds or not isinstance(node, BLOCKS):
            return self._lower(node, env, place)
        before, names = self.program.saved(), env.saved()
        try:
            return self._lower(node, env, place)
        except (NonAffineError, UnsupportedError) as error:
            self.program.restore(before)
            env.restore(names)
            try:
                found = as_block(self.program, node, env, place)
            except UserError:
                self.program.restore(before)
                env.restore(names)
                raise error from None
            if found is None:
                return []
            self.program.records.append(found)
            self.program.reasons.append(error)
            return [found]

    def _lower(self, node: c_ast.Node | None, env: Env, place: Place) -> list[Item]:
        match node:
            case None | c_ast.EmptyStatement() | c_ast.Pragma():
                return []
            case c_ast.Cast() | c_ast.ID() | c_ast.Constant():
                return []
            case c_ast.Compound():
                return self.block(node.block_items or [], env.inner(), place)
            case c_ast.ExprList():
                return self.block(node.exprs, env, place)
            case c_ast.Decl():
                return self._declare(node, env, place)
            case c_ast.For():
                return self._for(node, env, place)
            case c_ast.If():
                return self._if(node, env, place)
            case c_ast.Assignment():
                return self._assign(node, env, place)
            case _:
                return self._other(node, env, place)

    def _other(self, node: c_ast.Node, env: Env, place: Place) -> list[Item]:
        match node:
            case c_ast.UnaryOp() if node.op in _STEPS:
                one = c_ast.Constant("int", "1", node.coord)
                value = c_ast.BinaryOp(_STEPS[node.op], node.expr, one, node.coord)
                return self._write(node.expr, value, node, env, place)
            case c_ast.Return():
                raise self._return(node)
            case _:
                stated = self.program.inbounds
                raise unsupported(self.program.locator, node, stated=stated)

    def _return(self, node: c_ast.Return) -> Exception:
        what = "returning a value" if node.expr is not None else "return before the end"
        hint = "write results into an array argument"
        if node.expr is None:
            hint = "guard the rest with if"
        return self.program.locator.error(UnsupportedError, node, f"{what} is not taken", hint=hint)

    # -- loops and conditions ----------------------------------------------------------------
    def _for(self, node: c_ast.For, env: Env, place: Place) -> list[Item]:
        found = header(self.program, node, env, place)
        inside = without_continue(node.stmt)
        body = self.lower(inside, found.env.inner(), found.place)
        self.program.taken.discard(found.iterator)
        return [LoopRecord(found.iterator, tuple(body), found.step)] if body else []

    def _if(self, node: c_ast.If, env: Env, place: Place) -> list[Item]:
        lowering = Lowering(self.program, env, place, assuming=True)
        cond = lowering.condition(node.cond)
        where = set_of(cond)
        if where is not None:
            then = self.lower(node.iftrue, env.inner(), place.restricted(where))
            return then + self.lower(node.iffalse, env.inner(), place.without(where))
        if isinstance(cond, Const):
            branch = node.iftrue if cond.value else node.iffalse
            return self.lower(branch, env.inner(), place)
        return self._if_data(node, cond, env, place)

    def _if_data(self, node: c_ast.If, cond: Expr, env: Env, place: Place) -> list[Item]:
        """``if (data) A[x] = v;`` is ``A[x] = data ? v : A[x];``."""
        before: list[Item] = []
        if self._changes_condition(node, cond, env):
            cond, before = self._keep(node, cond, place)
        inner = place
        if not before and node.iffalse is None:
            cond, inner = _leading(cond, place)
        then = self.lower(node.iftrue, env.inner(), _guarded(inner, cond))
        other = self.lower(node.iffalse, env.inner(), _guarded(place, arith.opposite(cond)))
        return before + then + other

    def _changes_condition(self, node: c_ast.If, cond: Expr, env: Env) -> bool:
        """Whether a branch writes what the condition reads, other than as its one statement."""
        read = {load.array for load in loads(cond)}
        if node.iffalse is None and _single(node.iftrue):
            return False
        for branch in (node.iftrue, node.iffalse):
            for part in nodes(branch):
                base = written_name(part)
                binding = None if base is None else env.get(base)
                if isinstance(binding, Variable) and binding.array in read:
                    return True
        return False

    def _keep(self, node: c_ast.If, cond: Expr, place: Place) -> tuple[Expr, list[Item]]:
        """The condition's value in a scalar of its own, taken before the branches run.

        Where a condition around it fails, it is false without being looked at.
        """
        if place.guard is not None:
            cond = arith.both(place.guard, cond)
        declarer = Declarer(self.program, Env(), place)
        variable = declarer.variable(
            "condition", cond.type, (), self.program.locator.span(node.cond)
        )
        lowering = Lowering(self.program, Env(), place)
        record = self._record(variable, lowering.private(variable), cond, place, variable.span)
        kept = build.load(cond.type, variable.array, lowering.private(variable))
        return replace(kept, span=variable.span), [record]

    # -- declarations and assignments --------------------------------------------------------
    def _declare(self, node: c_ast.Decl, env: Env, place: Place) -> list[Item]:
        declarer = Declarer(self.program, env, place)
        writes = declarer.declare(node)
        return [self._fill(w.variable, w.subscripts, w.value, w.node, place, env) for w in writes]

    def _fill(
        self,
        variable: Variable,
        subscripts: tuple[int, ...],
        value: c_ast.Node,
        node: c_ast.Node,
        place: Place,
        env: Env,
    ) -> Item:
        """An initialiser: a write without a guard, since nothing was there before.

        What could fail is computed under the guard only.
        """
        lowering = Lowering(self.program, env, place)
        own = (index_of(affine_constant(place.space, number)) for number in subscripts)
        index = (*lowering.private(variable), *own)
        lowered = lowering.cast(variable.type, lowering.lower(value))
        span = self.program.locator.span(node)
        return self._record(variable, index, *self._unguarded(variable, lowered, place), span)

    def _unguarded(self, variable: Variable, value: Expr, place: Place) -> tuple[Expr, Place]:
        """A first value, for instances whose guard fails, too: nothing is lost by it."""
        if place.guard is not None and self._may_fail(value):
            value = build.cast(variable.type, value)
            value = build.select(place.guard, value, build.const(variable.type, 0))
        return value, replace(place, guard=None)

    def _is_first(self, variable: Variable, place: Place) -> bool:
        """Whether nothing was written yet to an iteration's own scalar."""
        if variable.argument or variable.extents or len(variable.private) != place.depth:
            return False
        return all(record.array != variable.array for record in self.program.records)

    def _may_fail(self, value: Expr) -> bool:
        """Whether a value is only for places that its guard lets through.

        It reads elements that may not be there, or does what C leaves undefined for some operands.
        """
        return any(
            self._may_miss(node)
            if isinstance(node, Load)
            else isinstance(node, (Binary, Cast)) and _is_partial(node)
            for node in walk(value)
        )

    def _may_miss(self, load: Load) -> bool:
        """Whether the element of a load is in its array only as far as the program says."""
        variable = self.program.variables.get(load.array)
        declared = variable is not None and all(e is not None for e in variable.extents)
        return not declared or not all(isinstance(part, Affine) for part in load.index)

    def _assign(self, node: c_ast.Assignment, env: Env, place: Place) -> list[Item]:
        value = node.rvalue
        if isinstance(value, c_ast.Assignment):
            last = c_ast.Assignment(node.op, node.lvalue, value.lvalue, node.coord)
            return [*self._assign(value, env, place), *self._assign(last, env, place)]
        if node.op != "=":
            value = c_ast.BinaryOp(node.op[:-1], node.lvalue, value, node.coord)
        elif isinstance(node.lvalue, c_ast.ID) and self._substitute(
            node.lvalue.name, node.rvalue, env, place
        ):
            return []
        return self._write(node.lvalue, value, node, env, place)

    def _substitute(self, name: str, node: c_ast.Node, env: Env, place: Place) -> bool:
        """Take ``int w; w = W / 2;`` as a name for the expression."""
        pending = env.get(name)
        if not isinstance(pending, Pending) or self.program.usage.assigned.get(name, 0) != 1:
            return False
        same_place = (
            pending.place.domain.is_equal(place.domain)
            if (pending.place.depth == place.depth)
            else False
        )
        if not same_place or place.guard is not None:
            return False
        lowering = Lowering(self.program, env, place)
        value = lowering.cast(pending.type, lowering.lower(node))
        if not isinstance(value, (Affine, Const)):
            return False
        env.rebind(name, Substituted(value, place.depth))
        return True

    def _write(
        self, target: c_ast.Node, value: c_ast.Node, node: c_ast.Node, env: Env, place: Place
    ) -> list[Item]:
        lowering = Lowering(self.program, env, place)
        variable, index = self._lvalue(target, lowering)
        if variable.const:
            msg = f"{variable.array!r} is const"
            raise self.program.locator.error(
                TypeMismatchError, target, msg, hint="drop const, or write into another array"
            )
        lowered = lowering.cast(variable.type, lowering.lower(value))
        span = self.program.locator.span(node)
        if place.guard is not None and self._may_not_exist(variable, index, place.guard):
            # of a pointer only those elements exist for certain that the source writes
            put = Store(index, build.cast(variable.type, lowered))
            block = Block(variable.type, (If(place.guard, (put,)),))
            return [self._record(variable, index, block, replace(place, guard=None), span)]
        if place.guard is not None and self._is_first(variable, place):
            return [self._record(variable, index, *self._unguarded(variable, lowered, place), span)]
        if place.guard is not None:
            old = build.load(variable.type, variable.array, index)
            old = replace(old, span=self.program.locator.span(target))
            lowered = build.select(place.guard, lowered, old)
        return [self._record(variable, index, lowered, place, span)]

    def _may_not_exist(self, variable: Variable, index: tuple[Affine, ...], guard: Expr) -> bool:
        """Whether an element that a guarded write leaves alone may not be there to be left."""
        declared = all(extent is not None for extent in variable.extents)
        if declared or not self.program.inbounds:
            return False
        return not any(
            load.array == variable.array and all(map(same_expr, load.index, index))
            for load in _always_loaded(guard)
        )

    def _lvalue(
        self, target: c_ast.Node, lowering: Lowering
    ) -> tuple[Variable, tuple[Affine, ...]]:
        if isinstance(target, c_ast.ID):
            scalar = self._scalar(target, lowering)
            return scalar, lowering.private(scalar)
        if not isinstance(target, c_ast.ArrayRef):
            raise unsupported(self.program.locator, target)
        variable, subscripts = lowering.target(target)
        own = tuple(index_of(self._subscript(s, lowering)) for s in subscripts)
        return variable, (*lowering.private(variable), *own)

    def _subscript(self, node: c_ast.Node, lowering: Lowering) -> PwAff:
        return lowering.affine(node, "the subscript of this write")

    def _scalar(self, target: c_ast.ID, lowering: Lowering) -> Variable:
        """The scalar variable that is assigned."""
        binding = lowering.env.get(target.name)
        if isinstance(binding, Pending) and target.name not in self.program.usage.iterated:
            declarer = Declarer(self.program, lowering.env, binding.place)
            span = self.program.locator.span(binding.decl)
            binding = declarer.variable(target.name, binding.type, (), span)
            lowering.env.rebind(target.name, binding)
        match binding:
            case Variable(argument=True, shared=False, extents=()):
                msg = f"the argument {target.name!r} is changed"
                hint = "arguments by value keep nothing for the caller; use a local variable"
            case Variable(extents=()):
                return binding
            case Variable(extents=(None, *_)):
                msg = f"the pointer {target.name!r} is moved"
                hint = "let it stay, and add to subscripts what it moves by: p[i + 8]"
            case Variable():
                msg, hint = f"{target.name!r} is an array", "assign to its elements"
            case IteratorVar() | Pending():
                msg = f"the iterator {target.name!r} is changed outside its loop's header"
                hint = "use another variable"
            case Parameter() | Substituted():
                msg = f"the size {target.name!r} is changed"
                hint = "use another variable"
            case _:
                lowering.lower(target)
                msg, hint = f"{target.name!r} cannot be assigned", "declare it as a variable"
        raise self.program.locator.error(UnsupportedError, target, msg, hint=hint)

    def _record(
        self,
        variable: Variable,
        index: tuple[Affine, ...],
        value: Expr,
        place: Place,
        span: Span | None,
    ) -> Record:
        assert span is not None
        record = Record(variable.array, index, build.cast(variable.type, value), place, span)
        self.program.records.append(record)
        return record


def _single(node: c_ast.Node | None) -> bool:
    """Whether a branch is one assignment to one place, not within a loop."""
    while isinstance(node, c_ast.Compound) and len(items := node.block_items or []) == 1:
        node = items[0]
    if isinstance(node, c_ast.Assignment):
        return not isinstance(node.rvalue, c_ast.Assignment)
    return isinstance(node, c_ast.UnaryOp)


def _is_partial(node: Binary | Cast) -> bool:
    """Whether C leaves an operation undefined for some operands."""
    if isinstance(node, Cast):
        return node.type.is_integer and node.operand.type.is_float
    return node.type.is_integer and isinstance(node, Binary) and node.op in _PARTIAL


def _always_loaded(expr: Expr) -> Iterator[Load]:
    """The loads of an expression that happen whatever its conditions say."""
    if isinstance(expr, Load):
        yield expr
    for child in expr.children[:1] if isinstance(expr, Select) else expr.children:
        yield from _always_loaded(child)


def _guarded(place: Place, cond: Expr) -> Place:
    guard = cond if place.guard is None else arith.both(place.guard, cond)
    return replace(place, guard=guard)


def _leading(cond: Expr, place: Place) -> tuple[Expr, Place]:
    """``affine && data``: the affine part restricts the instances."""
    while isinstance(cond, Select) and isinstance(cond.cond, Inside):
        if not (isinstance(cond.other, Const) and cond.other.value == 0):
            break
        place, cond = place.restricted(cond.cond.where), cond.then
    return cond, place
