"""Python expressions as values: affine where they are, typed operations elsewhere."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import TYPE_CHECKING

from polyopt.errors import NonAffineError, TypeMismatchError, UnsupportedError
from polyopt.frontend.functions import constant, convert
from polyopt.frontend.located import located
from polyopt.frontend.loops.annotations import Scalar, as_scalar
from polyopt.frontend.loops.calls import call_known, is_known
from polyopt.frontend.loops.merge import item_by_item
from polyopt.frontend.loops.scope import Known, Operand, Shape, Variable, View
from polyopt.frontend.loops.text import function_text
from polyopt.frontend.sizes import BINARY_OPERATORS, COMPARE_OPERATORS
from polyopt.frontend.values import (
    Form,
    Number,
    Value,
    Weak,
    as_expr,
    binary,
    both,
    compare,
    complement,
    either,
    form_of,
    index_form,
    loaded,
    negation,
    negative,
    select,
    truth,
    type_of,
)
from polyopt.ir import build
from polyopt.ir.expr import Expr, Load, index_of
from polyopt.ir.types import I64
from polyopt.isl import constant_value, floor_quotient, floor_remainder

if TYPE_CHECKING:
    from polyopt.frontend.loops.scope import Scope
    from polyopt.isl import Set
    from polyopt.source import Span

#: Helper functions may call helpers, but not without end.
_MAX_INLINE = 16


class Expressions:
    """Reads the expressions of one function in a scope."""

    def __init__(
        self, scope: Scope, arguments: dict[str, Operand] | None = None, inlined: int = 0
    ) -> None:
        self.scope = scope
        self._arguments = arguments
        self._inlined = inlined

    def span(self, node: ast.AST) -> Span:
        """Where a node stands."""
        return self.scope.text.span(node)

    def value(self, node: ast.expr) -> Value:
        """The node as a number. Raises ``UserError`` kinds with the node's span."""
        operand = self.operand(node)
        with located(lambda: self.span(node)):
            return self._as_value(operand)

    def operand(self, node: ast.expr) -> Operand:
        """The node as a number, an array, a shape, or a known Python object."""
        with located(lambda: self.span(node)):
            return self._operand(node)

    @staticmethod
    def _as_value(operand: Operand) -> Value:
        match operand:
            case View():
                if operand.rank:
                    missing = f"{operand.rank} subscript(s) missing"
                    raise UnsupportedError(
                        f"an array cannot be used as a number here: {missing}",
                        hint="loop over the elements: whole-array operations are not taken",
                    )
                load = Load(operand.array.type, operand.array.name, operand.index, operand.span)
                return loaded(load)
            case Known():
                return constant(operand.value)
            case Shape():
                raise UnsupportedError("a shape is not a number; take one of its sizes")
            case _:
                return operand

    def _operand(self, node: ast.expr) -> Operand:
        match node:
            case ast.Constant():
                return constant(node.value)
            case ast.Name():
                return self._name(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.Call():
                return self._call(node)
            case _:
                return self._operation(node)

    def _operation(self, node: ast.expr) -> Value:
        match node:
            case ast.BinOp():
                return self._binary(node)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BoolOp():
                return self._bool(node)
            case ast.Compare():
                return (
                    self._operation(apart) if (apart := item_by_item(node)) else self._compare(node)
                )
            case ast.IfExp():
                return self._choice(node)
            case _:
                raise UnsupportedError(_what(node), hint="write it with loops over elements")

    def _name(self, node: ast.Name) -> Operand:
        if self._arguments is not None and node.id in self._arguments:
            return self._arguments[node.id]
        found = self.scope.lookup(node.id, self.span(node))
        if not isinstance(found, Variable):
            return found
        view = View(found.array, self.scope.private_index(found.array), self.span(node))
        if not found.is_scalar:
            return view
        load = Load(found.array.type, found.array.name, view.index, view.span)
        return Weak(load) if found.weak else self._loaded(load)

    def _loaded(self, load: Load) -> Value:
        return loaded(load)

    def _attribute(self, node: ast.Attribute) -> Operand:
        base = self.operand(node.value)
        if isinstance(base, Known):
            if not hasattr(base.value, node.attr):
                raise UnsupportedError(f"{ast.unparse(node.value)} has no {node.attr!r}")
            return Known(getattr(base.value, node.attr))
        if isinstance(base, View):
            match node.attr:
                case "shape":
                    return self.shape(base)
                case "dtype":
                    return Known(base.array.type.dtype)
                case "ndim":
                    return Number(base.rank)
                case _:
                    pass
        raise UnsupportedError(
            f"the attribute .{node.attr} is not taken",
            hint="arrays have .shape, .dtype and .ndim here",
        )

    def shape(self, view: View) -> Shape:
        """The sizes of an array or of a part of it."""
        extents = view.array.extents[len(view.index) :]
        return Shape(tuple(Form(e.insert_domain(self.scope.space)) for e in extents))

    def _subscript(self, node: ast.Subscript) -> Operand:
        base = self.operand(node.value)
        if isinstance(base, Shape):
            return self._shape_item(base, node.slice)
        if isinstance(base, Known):
            return self._table_item(base, node.slice)
        if not isinstance(base, View):
            raise UnsupportedError(f"{ast.unparse(node.value)} is a number: it has no elements")
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(parts) > base.rank:
            raise UnsupportedError(
                f"{len(parts)} subscripts where {base.array.name!r} has {base.rank} dimension(s)"
            )
        index = base.index
        for part in parts:
            extent = base.array.extents[len(index)]
            with located(lambda part=part: self.span(part)):
                index = (*index, self._index(part, Form(extent.insert_domain(self.scope.space))))
        return View(base.array, index, self.span(node))

    def _index(self, node: ast.expr, extent: Form) -> Expr:
        if isinstance(node, ast.Slice) or (
            isinstance(node, ast.Constant) and node.value in (None, ...)
        ):
            raise UnsupportedError(
                "slices are not taken", hint="loop over the elements with range()"
            )
        value = self.value(node)
        form = index_form(value, self.scope.space)
        if form is None:
            if type_of(value).is_float:
                raise TypeMismatchError(
                    "a subscript has to be an integer", hint="wrap it in int(...)"
                )
            return build.cast(I64, as_expr(value))
        number = constant_value(form)
        if number is not None and number < 0:  # from the end, as Python counts
            form = extent.form.add(form)
        return index_of(form)

    def _shape_item(self, shape: Shape, node: ast.expr) -> Operand:
        index = self.value(node)
        if not isinstance(index, Number) or not isinstance(index.value, int):
            raise NonAffineError("which size of a shape has to be a constant")
        if not -len(shape.sizes) <= index.value < len(shape.sizes):
            raise UnsupportedError(f"this array has only {len(shape.sizes)} dimension(s)")
        return shape.sizes[index.value]

    def _table_item(self, base: Known, node: ast.expr) -> Operand:
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        values = [self.value(p) for p in parts]
        known = [v.value for v in values if isinstance(v, Number)]
        if len(known) < len(values):
            raise UnsupportedError(
                "a table from outside the function needs constant subscripts",
                hint="pass the table as an array argument",
            )
        try:
            return Known(base.value[tuple(known) if len(known) > 1 else known[0]])
        except (IndexError, KeyError, TypeError):
            raise UnsupportedError("this table has no such element") from None

    def _binary(self, node: ast.BinOp) -> Value:
        """Long sums lean to the left: their spine is walked, not recursed into."""
        spine = [node]
        while isinstance(spine[-1].left, ast.BinOp):
            spine.append(spine[-1].left)
        result = self.value(spine[-1].left)
        for part in reversed(spine):
            with located(lambda part=part: self.span(part)):
                if type(part.op) not in BINARY_OPERATORS:
                    raise UnsupportedError("the operator @ is not taken")
                op = BINARY_OPERATORS[type(part.op)]
                right = self.value(part.right)
                wrapped = self.by_size(op, result, right)
                result = binary(op, result, right) if wrapped is None else wrapped
        return result

    @property
    def known(self) -> Set:
        """``{ [i] : ... }``: the iterations in which an expression is evaluated."""
        return self.scope.frames[-1].domain

    def by_size(self, op: str, one: Value, other: Value) -> Form | None:
        """``one // other`` and ``one % other`` of what is wrapped by a size, where it is affine."""
        if op not in {"floordiv", "mod"} or not isinstance(other, Form):
            return None
        left, right = (form_of(value, self.scope.space) for value in (one, other))
        if left is None or right is None or constant_value(right) is not None:
            return None
        divide = floor_quotient if op == "floordiv" else floor_remainder
        found = divide(left, right, self.known)
        return None if found is None else Form(found)

    def _choice(self, node: ast.IfExp) -> Value:
        test = truth(self.value(node.test))
        if isinstance(test, Number):  # the other branch may make no sense at all
            return self.value(node.body if test.value else node.orelse)
        return select(test, self.value(node.body), self.value(node.orelse))

    def _unary(self, node: ast.UnaryOp) -> Value:
        operand = self.value(node.operand)
        match node.op:
            case ast.USub():
                return negative(operand)
            case ast.Not():
                return negation(operand)
            case ast.Invert():
                return complement(operand)
            case _:
                return operand

    def _bool(self, node: ast.BoolOp) -> Value:
        join = both if isinstance(node.op, ast.And) else either
        result = self.value(node.values[-1])
        for part in reversed(node.values[:-1]):
            result = join(self.value(part), result)
        return result

    def _compare(self, node: ast.Compare) -> Value:
        result: Value = Number(True)
        left = self.value(node.left)
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            if type(op) not in COMPARE_OPERATORS:
                raise UnsupportedError("only < <= > >= == != compare here")
            right = self.value(right_node)
            result = both(result, compare(COMPARE_OPERATORS[type(op)], left, right))
            left = right
        return result

    def _call(self, node: ast.Call) -> Operand:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
            base = self.operand(node.func.value)
            if not isinstance(base, Known) and len(node.args) == 1 and not node.keywords:
                kind = self.dtype(node.args[0])
                return convert(kind.type, self._as_value(base))
        target = self.operand(node.func)
        if not isinstance(target, Known):
            raise UnsupportedError("this cannot be called")
        function = target.value
        if function is len and len(node.args) == 1:
            base = self.operand(node.args[0])
            if isinstance(base, View) and base.rank:
                return self.shape(base).sizes[0]
        foreign = getattr(function, "__module__", None) or ""
        if isinstance(function, FunctionType) and foreign.partition(".")[0] != "numpy":
            return self._inline(node, function)
        if not (is_known(function) or isinstance(function, Scalar)) or node.keywords:
            name = ast.unparse(node.func)
            raise UnsupportedError(
                f"a call of {name} is not taken here",
                hint="taken are abs, min, max, casts, and the functions of math and NumPy on"
                " single numbers",
            )
        args = [self.value(a) for a in node.args]
        if isinstance(function, Scalar):
            return convert(function.type, *args)
        return call_known(function, args)

    def dtype(self, node: ast.expr) -> Scalar:
        """A scalar type given as ``np.uint16``, ``"uint16"``, ``u16`` or ``a.dtype``."""
        if isinstance(node, ast.Constant):
            return as_scalar(node.value)
        operand = self.operand(node)
        if isinstance(operand, Known):
            return as_scalar(operand.value)
        raise UnsupportedError("a dtype has to be known beforehand")

    def _inline(self, node: ast.Call, function: FunctionType) -> Operand:
        """A helper function that is one ``return``, with its arguments put in place."""
        text = function_text(function)
        body = [s for s in text.tree.body if not _is_docstring(s)]
        names = [a.arg for a in (*text.tree.args.posonlyargs, *text.tree.args.args)]
        if self._inlined >= _MAX_INLINE:
            raise UnsupportedError(f"{function.__name__} calls itself, or helpers nest too deeply")
        if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
            raise UnsupportedError(
                f"the helper {function.__name__!r} is more than one return statement",
                hint="write it as `return <expression>`, or write its body out here",
            )
        if len(names) != len(node.args) or node.keywords:
            raise UnsupportedError(
                f"{function.__name__} takes {len(names)} positional argument(s) here"
            )
        arguments = {n: self.operand(a) for n, a in zip(names, node.args, strict=True)}
        inner = Expressions(self.scope.inside(text, function), arguments, self._inlined + 1)
        return inner.operand(body[0].value)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _what(node: ast.expr) -> str:
    names = {
        "ListComp": "list comprehensions", "GeneratorExp": "generator expressions",
        "List": "lists", "Tuple": "tuples", "Lambda": "lambdas", "JoinedStr": "texts",
        "NamedExpr": "assignments inside expressions", "Dict": "dictionaries",
        "Starred": "starred expressions", "Slice": "slices",
    }  # fmt: skip
    kind = type(node).__name__
    return f"{names.get(kind, kind)} are not taken here"
