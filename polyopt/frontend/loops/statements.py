"""Python statements as drafts of the Scop's statements, in their loops."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from polyopt.errors import TypeMismatchError, UnsupportedError
from polyopt.frontend.assemble import Draft, DraftLoop
from polyopt.frontend.located import located
from polyopt.frontend.loops.expressions import Expressions
from polyopt.frontend.loops.merge import augmented, changed_in, merged, names_in
from polyopt.frontend.loops.ranges import loop_domain, read_range
from polyopt.frontend.loops.scatter import scattered
from polyopt.frontend.loops.scope import Alias, Frame, Known, Scope, Shape, Variable, View, stores
from polyopt.frontend.loops.storage import expanded, made_array, maker_of
from polyopt.frontend.values import (
    Form,
    Number,
    Strong,
    Value,
    Weak,
    Where,
    both,
    is_weak,
    negation,
    select,
    truth,
    type_of,
    typed,
    weak_join,
)
from polyopt.ir.expr import Affine, Const, Load, index_of
from polyopt.ir.types import BOOL, ScalarType, promote_numpy
from polyopt.isl import Set, affine_var

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.frontend.loops.scope import Operand
    from polyopt.ir.expr import Expr
    from polyopt.ir.scop import Array
    from polyopt.isl import PwAff

#: Statements people may try, and what to do instead.
_HINTS = {
    "While": "give it a bound, for ... in range(limit), and what data decide as a condition inside",
    "Break": "set a flag instead, and begin the loop with a condition on it: if not done: ...",
    "Continue": "put the rest of the loop under an if",
    "With": "", "Try": "", "Raise": "", "Global": "pass it as an argument",
    "FunctionDef": "define helpers outside the function", "Import": "import outside the function",
    "Delete": "", "Match": "use if and elif",
}  # fmt: skip


class Retype(Exception):  # noqa: N818
    """A local first typed as a Python number turned out to be wider: read it all again."""

    def __init__(self, node: ast.AST, type_: ScalarType, *, weak: bool) -> None:
        super().__init__()
        self.node = node
        self.type = type_
        self.weak = weak


class Statements:
    """Reads the statements of one function; what it found is in ``body``, ``temps``, ``outs``."""

    def __init__(
        self, scope: Scope, taken: set[str], types: dict[ast.AST, tuple[ScalarType, bool]]
    ) -> None:
        self.scope = scope
        self.read = Expressions(scope)
        self.body: list[Draft | DraftLoop] = []
        self.temps: list[Array] = []
        self.outs: list[Array] = []
        self.context: list[Set] = []
        self._domain = scope.frames[-1].domain
        self._tests: list[Callable[[], Value]] = []
        self._taken = taken
        self._types = types
        self._declared: dict[str, ast.AST] = {}

    def block(self, nodes: list[ast.stmt]) -> None:
        """All statements of a block."""
        for node in nodes:
            with located(lambda node=node: self.read.span(node)):
                self._statement(node)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                return
            case ast.Assign(targets=[target]):
                self._assign(target, node.value, node)
            case ast.AnnAssign():
                if node.value is not None:
                    self._assign(node.target, node.value, node)
            case ast.AugAssign():
                self._assign(node.target, augmented(node), node)
            case ast.For():
                self._for(node)
            case ast.If():
                self._if(node)
            case ast.Return():
                self._return(node)
            case ast.Assert():
                self._assert(node)
            case _:
                kind = type(node).__name__
                name = {"Expr": "a bare expression", "Assign": "an assignment to several targets"}
                what = name.get(kind, f"the statement {kind.lower()!r}")
                raise UnsupportedError(f"{what} is not taken", hint=_HINTS.get(kind, ""))

    # loops and conditions

    def _for(self, node: ast.For) -> None:
        if node.orelse:
            raise UnsupportedError(
                "for ... else is not taken",
                hint="set a flag in the loop, and ask for it after the loop",
            )
        if not isinstance(node.target, ast.Name):
            raise UnsupportedError(
                "a loop has one variable",
                span=self.read.span(node.target),
                hint="instead of enumerate or zip: `for i in range(N):`, and i as a subscript",
            )
        name = node.target.id
        if name != "_" and self.scope.binding(name) is not None:
            raise UnsupportedError(
                f"the loop variable {name!r} is in use already",
                span=self.read.span(node.target),
                hint="give each of the nested loops and variables its own name",
            )
        bounds = read_range(node.iter, self.read)
        iterator = self._iterator_name(name)
        outer = self._domain
        domain = loop_domain(outer, iterator, bounds)
        iterators = (*self.scope.frames[-1].iterators, iterator)
        frame = Frame(iterators, domain, stores(node.body))
        position = len(iterators) - 1
        frame.names[name] = Alias(Form(affine_var(domain.get_space(), position)))
        loop = DraftLoop(iterator, bounds.step)
        self.body.append(loop)
        self._nested(frame, loop, node.body)
        self._domain = outer

    def _nested(self, frame: Frame, loop: DraftLoop, nodes: list[ast.stmt]) -> None:
        body, self.body = self.body, loop.body
        self.scope.frames.append(frame)
        self._domain = frame.domain
        self.block(nodes)
        self.scope.frames.pop()
        self.body = body

    def _iterator_name(self, name: str) -> str:
        used = {*self.scope.frames[-1].iterators, *self.scope.params}
        base = "i" if name == "_" else name
        result, number = base, 0
        while result in used:
            result, number = f"{base}{number}", number + 1
        return result

    def _if(self, node: ast.If) -> None:
        test = truth(self.read.value(node.test))
        if isinstance(test, Number):
            self.block(node.body if test.value else node.orelse)
        elif isinstance(test, Where):
            outer = self._domain
            self._domain = outer.intersect(test.where)
            self.block(node.body)
            self._domain = outer.subtract(test.where)
            self.block(node.orelse)
            self._domain = outer
        elif (assignments := merged(node)) is not None:
            for target, value in assignments:
                self._assign(target, value, node)
        else:
            self._branches(node)

    def _branches(self, node: ast.If) -> None:
        """Both branches run; each assignment keeps the old value where its test fails."""

        def again() -> Value:
            return truth(self.read.value(node.test))

        test = again
        if changed_in([*node.body, *node.orelse]) & names_in(node.test):
            test = self._saved(node, again())
        names = self.scope.frames[-1].names
        before = dict(names)
        for body, branch_test in ((node.body, test), (node.orelse, lambda: negation(test()))):
            self._tests.append(branch_test)
            self.block(body)
            self._tests.pop()
            for name in names.keys() - before.keys():  # has a value in this branch alone
                del names[name]

    def _saved(self, node: ast.If, test: Value) -> Callable[[], Value]:
        """A test whose operands change under it is stored first."""
        array = self._declare("cond", BOOL, (), node.test)
        index = self.scope.private_index(array)
        for outer in reversed(self._tests):
            test = both(outer(), test)
        self._emit(array, index, test, node.test, first=True)
        span = self.read.span(node.test)

        def load() -> Value:
            return Strong(Load(BOOL, array.name, self.scope.private_index(array), span))

        return load

    def _assert(self, node: ast.Assert) -> None:
        test = truth(self.read.value(node.test))
        if not isinstance(test, Where) or self.scope.depth or self._tests:
            raise UnsupportedError(
                "an assert states affine facts about sizes, outside of loops",
                span=self.read.span(node.test),
            )
        self.context.append(test.where)

    # assignments

    def _assign(self, target: ast.expr, value: ast.expr, node: ast.AST) -> None:
        match target:
            case ast.Name():
                self._assign_name(target, value, node)
            case ast.Subscript():
                self._assign_element(target, value, node)
            case ast.Tuple():
                self._unpack(target, value, node)
            case _:
                raise UnsupportedError(
                    "only variables and array elements are assigned",
                    span=self.read.span(target),
                )

    def _unpack(self, target: ast.Tuple, value: ast.expr, node: ast.AST) -> None:
        if isinstance(value, ast.Tuple):
            if len(value.elts) != len(target.elts):
                raise UnsupportedError("both sides need the same number of items")
            seen: set[str] = set()
            for one, other in zip(target.elts, value.elts, strict=True):
                if names_in(other) & seen:
                    raise UnsupportedError(
                        "this assignment reads what it has just changed",
                        hint="assign one variable at a time, through a helper variable",
                    )
                seen |= changed_in([ast.Assign([one], other)])
                self._assign(one, other, node)
            return
        operand = self.read.operand(value)
        if not isinstance(operand, Shape) or len(operand.sizes) != len(target.elts):
            raise UnsupportedError(
                "this cannot be unpacked here",
                span=self.read.span(value),
                hint="write `H, W = a.shape` with a name for each dimension of a",
            )
        for one, size in zip(target.elts, operand.sizes, strict=True):
            if not isinstance(one, ast.Name):
                raise UnsupportedError("sizes are unpacked into names")
            if one.id != "_":
                self._bind(one, size)

    def _bind(self, target: ast.Name, operand: Operand) -> None:
        """A name for a size, a constant, a view: needs no storage, is assigned once."""
        frame = self.scope.frames[-1]
        if frame.stores[target.id] > 1 or self.scope.binding(target.id) is not None:
            raise UnsupportedError(
                f"{target.id!r} is assigned more than once",
                span=self.read.span(target),
                hint="give each size, shape or view a name of its own",
            )
        frame.names[target.id] = Alias(operand)

    def _assign_name(self, target: ast.Name, value: ast.expr, node: ast.AST) -> None:
        maker = maker_of(value, self.read)
        if maker is not None and isinstance(value, ast.Call):
            self._make_array(target, value, maker)
            return
        operand = self.read.operand(value)
        if isinstance(operand, Known | Shape) or (isinstance(operand, View) and operand.rank):
            if isinstance(operand, View) and not all(isinstance(e, Affine) for e in operand.index):
                raise UnsupportedError("a row chosen by data cannot be given a name")
            self._bind(target, operand)
            return
        self._assign_number(target, self.read.value(value), node)

    def _assign_number(self, target: ast.Name, number: Value, node: ast.AST) -> None:
        found = self.scope.binding(target.id)
        frame = self.scope.frames[-1]
        if found is None and frame.stores[target.id] == 1 and self._needs_no_storage(number):
            frame.names[target.id] = Alias(number)
            return
        first = found is None
        variable = self._new_scalar(target, number) if found is None else found
        if not isinstance(variable, Variable) or not variable.is_scalar or variable.argument:
            raise UnsupportedError(
                f"{target.id!r} cannot be assigned again",
                span=self.read.span(target),
                hint="use a new name; elements of an array are assigned as a[i] = ...",
            )
        self._check_type(variable, number, target)
        index = self.scope.private_index(variable.array)
        self._emit(variable.array, index, number, node, first=first)

    def _needs_no_storage(self, value: Value) -> bool:
        """Known or affine values, assigned in every iteration, are put in place where used."""
        constant = isinstance(value, Weak | Strong) and isinstance(value.expr, Const)
        always = self._domain is self.scope.frames[-1].domain
        return always and (constant or isinstance(value, Number | Form | Where))

    def _new_scalar(self, target: ast.Name, value: Value) -> Variable:
        type_, weak = self._types.get(target, (type_of(value), is_weak(value)))
        array = self._declare(target.id, type_, (), target)
        self._declared[array.name] = target
        variable = Variable(array, weak)
        self.scope.frames[-1].names[target.id] = variable
        return variable

    def _check_type(self, variable: Variable, value: Value, target: ast.Name) -> None:
        """A local keeps one type; one that began as a Python number takes NumPy's, once."""
        have, got = variable.array.type, type_of(value)
        node = self._declared[variable.array.name]
        if variable.weak and is_weak(value):
            if (joined := promote_numpy(have, got)) != have:
                raise Retype(node, joined, weak=True)
        elif variable.weak:
            raise Retype(node, weak_join(have, got), weak=False)
        elif (weak_join(got, have) if is_weak(value) else got) != have:
            raise TypeMismatchError(
                f"{target.id!r} is {have} and would become {got} here",
                span=self.read.span(target),
                hint=f"use a new name, or start it as {got}",
            )

    def _make_array(self, target: ast.Name, value: ast.Call, maker: object) -> None:
        if self.scope.binding(target.id) is not None:
            raise UnsupportedError(f"the array {target.id!r} exists already")
        kind, own, fill = made_array(value, maker, self.read)
        array = self._declare(target.id, kind, own, target)
        self.scope.frames[-1].names[target.id] = Variable(array)
        if fill is not None:
            self._fill(array, fill, value)

    def _fill(self, array: Array, fill: Value, node: ast.AST) -> None:
        """The loops of ``np.zeros``."""
        depth, body, outer = len(self.scope.frames), self.body, self._domain
        for extent in array.extents[array.private :]:
            iterator = self._iterator_name(f"i{len(self.scope.frames) - depth}")
            domain = loop_domain(self._domain, iterator, extent)
            frame = Frame((*self.scope.frames[-1].iterators, iterator), domain, stores([]))
            self.scope.frames.append(frame)
            self._domain = domain
            loop = DraftLoop(iterator)
            self.body.append(loop)
            self.body = loop.body
        index = tuple(index_of(self.scope.form(k)) for k in range(self.scope.depth))
        self._emit(array, index[self.scope.depth - array.rank :], fill, node, first=True)
        del self.scope.frames[depth:]
        self.body, self._domain = body, outer

    def _declare(self, name: str, kind: ScalarType, own: tuple[PwAff, ...], node: ast.AST) -> Array:
        unique, number = name, 1
        while unique in self._taken:
            number += 1
            unique = f"{name}_{number}"
        self._taken.add(unique)
        domain = self.scope.frames[-1].domain
        array = expanded(unique, kind, own, domain, self.read.span(node))
        self.temps.append(array)
        return array

    def _assign_element(self, target: ast.Subscript, value: ast.expr, node: ast.AST) -> None:
        operand = self.read.operand(target)
        if not isinstance(operand, View):
            raise UnsupportedError("this has no elements to assign", span=self.read.span(target))
        if operand.rank:
            raise UnsupportedError(
                f"{operand.rank} subscript(s) missing: only single elements are assigned",
                span=self.read.span(target),
                hint="loop over the elements",
            )
        if not all(isinstance(part, Affine) for part in operand.index):
            self._scatter(operand, target, self.read.value(value), node)
            return
        self._emit(operand.array, operand.index, self.read.value(value), node)

    def _scatter(self, operand: View, target: ast.AST, value: Value, node: ast.AST) -> None:
        """A write to an element that data choose."""
        array, span = operand.array, self.read.span(target)
        test = self._test()
        new = typed(value, array.type)
        holds = None if test is None else typed(test, BOOL)
        index, block, spread = scattered(array, operand.index, new, holds, self._domain, span)
        forms = tuple(part.form for part in index)
        iterators = self.scope.frames[-1].iterators
        at = self.read.span(node)
        self.body.append(Draft(array.name, forms, block, self._domain, iterators, at, spread))

    def _test(self) -> Value | None:
        """Whether the branches around run, where data decide on them."""
        if not self._tests:
            return None
        test = self._tests[0]()
        for other in self._tests[1:]:
            test = both(test, other())
        return test

    def _emit(
        self,
        array: Array,
        index: tuple[Expr, ...],
        value: Value,
        node: ast.AST,
        *,
        first: bool = False,
    ) -> None:
        """``array[index] = value``, or the old value where a test on data fails."""
        forms = tuple(e for e in index if isinstance(e, Affine))
        span = self.read.span(node)
        test = None if first else self._test()
        if test is not None:
            old = Load(array.type, array.name, index, span)
            value = select(test, Strong(typed(value, array.type)), Strong(old))
        self.body.append(
            Draft(
                array=array.name,
                index=tuple(f.form for f in forms),
                value=typed(value, array.type),
                domain=self._domain,
                iterators=self.scope.frames[-1].iterators,
                span=span,
            )
        )

    # results

    def _return(self, node: ast.Return) -> None:
        if self.scope.depth or self._tests or node is not self.scope.text.tree.body[-1]:
            raise UnsupportedError("return stands at the end of the function")
        if node.value is None or (isinstance(node.value, ast.Constant) and not node.value.value):
            return
        items = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        for item in items:
            found = self.scope.binding(item.id) if isinstance(item, ast.Name) else None
            if not isinstance(found, Variable) or (found.argument and found.is_scalar):
                raise UnsupportedError(
                    "only arrays are returned",
                    span=self.read.span(item),
                    hint="store the result in an array made with np.empty and return that",
                )
            if not found.argument and found.array not in self.outs:
                self.outs.append(found.array)
