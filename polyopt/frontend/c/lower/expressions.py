"""C expressions to typed IR expressions, affine parts kept affine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.errors import (
    NonAffineError,
    TooDeepError,
    TooLargeError,
    TypeMismatchError,
    UnknownNameError,
    UnsupportedError,
)
from polyopt.frontend.c.lower import arith
from polyopt.frontend.c.lower.affine import affine_form, deepen
from polyopt.frontend.c.lower.scope import (
    BlockLocal,
    Env,
    Inline,
    IteratorVar,
    Parameter,
    Pending,
    Place,
    Program,
    Substituted,
    Variable,
)
from polyopt.frontend.c.syntax.literals import literal
from polyopt.frontend.c.syntax.math_functions import EXTREMA, KNOWN, MATH
from polyopt.ir import build
from polyopt.ir.expr import (
    Affine,
    Binary,
    Cast,
    Const,
    Expr,
    Inside,
    Load,
    Local,
    index_of,
    inside,
    loads,
    walk,
)
from polyopt.ir.types import BOOL, F32, I32, I64, promote_c
from polyopt.isl import affine_param

if TYPE_CHECKING:
    from polyopt.errors import PolyoptError
    from polyopt.frontend.c.lower.affine import Assume
    from polyopt.ir.types import ScalarType
    from polyopt.isl import PwAff, Set

#: Deepest expression: later stages recurse over it within Python's usual limit.
MAX_EXPRESSION = 256

#: operands and operations that calls of functions that are a value may come to in one place
MOST_INLINED = 10_000
#: characters of a literal that a message shows
_SHOWN = 40

_ARITHMETIC = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "%": "mod", "&": "and", "|": "or",
    "^": "xor", "<<": "shl", ">>": "shr",
}  # fmt: skip
_RELATIONAL = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
_LOGICAL = {"&&", "||"}


@dataclass(frozen=True, eq=False)
class Lowering:
    """Lowers the expressions at one place of the program.

    ``assuming`` says that an unsigned expression may be taken not to wrap, as a fact about the
    sizes: so in bounds, conditions and subscripts. ``never`` is told the instances where it would.
    """

    program: Program
    env: Env
    place: Place
    assuming: bool = False
    depth: int = 0
    #: functions whose values the expression is part of
    within: frozenset[str] = frozenset()
    never: Assume | None = None

    @property
    def known(self) -> Set:
        """The instances here, for sizes that there can be."""
        return self.program.bounded(self.place)

    # -- affine ------------------------------------------------------------------------------
    def affine(self, node: c_ast.Node, what: str) -> PwAff:
        """``{ [i] -> [value] }`` of an expression that has to be affine.

        Raises ``NonAffineError`` that points at the part that is not.
        """
        lowering = replace(self, assuming=True)
        form = lowering.form(lowering.lower(node))
        if form is not None:
            return form
        raise lowering.not_affine(node, what)

    def form(self, expr: Expr) -> PwAff | None:
        """The affine form of a lowered expression here, or ``None``."""
        assumes = self.assuming and not self.program.closed
        never = (self.never or self.program.never) if assumes else None
        return affine_form(expr, self.known, never)

    def not_affine(self, node: c_ast.Node, what: str) -> PolyoptError:
        """The error for an expression that should be affine."""
        from polyopt.frontend.c.lower.diagnostics import culprit

        part, reason, hint = culprit(self, node, what)
        message = f"{what} is not affine: {reason}"
        return self.program.locator.error(NonAffineError, part, message, hint=hint)

    # -- values ------------------------------------------------------------------------------
    def lower(self, node: c_ast.Node) -> Expr:
        """The value of an expression, with its C type; comparisons are of type bool."""
        self._check_depth(node)
        try:
            return self._inner().dispatch(node)
        except TypeMismatchError as error:
            if error.diagnostic.span is not None:
                raise
            raise self.program.locator.error(
                TypeMismatchError, node, error.diagnostic.message, hint="a cast may help"
            ) from None

    def _check_depth(self, node: c_ast.Node) -> None:
        if self.depth > MAX_EXPRESSION:
            msg = f"an expression of more than {MAX_EXPRESSION} levels"
            hint = "split it into several statements, or use a loop over an array"
            raise self.program.locator.error(TooDeepError, node, msg, hint=hint)

    def dispatch(self, node: c_ast.Node) -> Expr:
        """The value of an expression one level down."""
        match node:
            case c_ast.Constant():
                return self._constant(node)
            case c_ast.ID():
                return self._name(node)
            case c_ast.ArrayRef():
                return self._element(node)
            case c_ast.BinaryOp() if node.op in _ARITHMETIC:
                return self._arithmetic(node)
            case c_ast.BinaryOp() if node.op in _RELATIONAL or node.op in _LOGICAL:
                return self.condition(node)
            case c_ast.UnaryOp() if node.op in {"-", "+", "~", "!"}:
                return self._unary(node)
            case c_ast.TernaryOp():
                return self._ternary(node)
            case c_ast.Cast():
                type_ = self.program.types.scalar(node.to_type)
                return self.cast(type_, self.lower(node.expr))
            case c_ast.FuncCall():
                return self._call(node)
            case _:
                from polyopt.frontend.c.lower.diagnostics import unsupported

                raise unsupported(self.program.locator, node, stepped=self.program.stepped)

    def _constant(self, node: c_ast.Constant) -> Expr:
        found = literal(node.value)
        if found is not None:
            return found
        text = node.value if len(node.value) <= _SHOWN else f"{node.value[:_SHOWN]}..."
        msg = f"the literal {text} is not taken"
        hint = "use integers up to 64 bits, and float or double numbers"
        raise self.program.locator.error(UnsupportedError, node, msg, hint=hint)

    def _name(self, node: c_ast.ID) -> Expr:
        match self.env.get(node.name):
            case Parameter(name=name, type=type_):
                return build.affine(type_, affine_param(self.place.space, name))
            case IteratorVar(type=type_, level=level):
                return build.affine(type_, self.place.variable(level))
            case Substituted(value=value, depth=depth):
                return deepen(value, self.place.depth - depth)
            case Variable() as variable:
                return self._load(variable, (), node)
            case BlockLocal(name=name, type=type_):
                return Local(type_, name)
            case Pending() as pending:
                from polyopt.frontend.c.lower.diagnostics import unset

                raise unset(self.program, node, pending)
            case Inline():
                msg = f"the function {node.name!r} is not a value"
                raise self.program.locator.error(TypeMismatchError, node, msg, hint="call it")
            case None:
                return self._builtin_name(node)

    def _builtin_name(self, node: c_ast.ID) -> Expr:
        if node.name in {"true", "false"}:
            return build.const(I32, node.name == "true")
        if node.name in {"INFINITY", "HUGE_VALF"}:
            return build.const(F32, float("inf"))
        known = sorted(set(self.env.names()) - set(self.program.functions))
        msg = f"nothing is called {node.name!r} here"
        hint = f"there are: {', '.join(known)}" if known else "declare it as an argument"
        raise self.program.locator.error(UnknownNameError, node, msg, hint=hint)

    def _element(self, node: c_ast.ArrayRef) -> Expr:
        variable, subscripts = self.target(node)
        return self._load(variable, tuple(subscript_value(self, s) for s in subscripts), node)

    def target(self, node: c_ast.Node) -> tuple[Variable, list[c_ast.Node]]:
        """The variable that an lvalue names, and its subscripts.

        Raises ``UnknownNameError``, ``TypeMismatchError`` or ``UnsupportedError``.
        """
        subscripts: list[c_ast.Node] = []
        base = node
        while isinstance(base, c_ast.ArrayRef):
            subscripts.insert(0, base.subscript)
            base = base.name
        if not isinstance(base, c_ast.ID):
            from polyopt.frontend.c.lower.diagnostics import unsupported

            raise unsupported(self.program.locator, base)
        binding = self.env.get(base.name)
        if binding is None:
            self._builtin_name(base)
        if not isinstance(binding, Variable):
            msg = f"{base.name!r} is not an array"
            raise self.program.locator.error(
                TypeMismatchError, node, msg, hint="only arrays take subscripts"
            )
        if len(subscripts) != len(binding.extents):
            rank, count = len(binding.extents), len(subscripts)
            msg = f"{base.name!r} has {rank} dimension(s) but is used with {count} subscript(s)"
            hint = "name one element: pointers to rows are not taken"
            if rank == 0:
                msg, hint = f"{base.name!r} is not an array", "only arrays take subscripts"
            raise self.program.locator.error(TypeMismatchError, node, msg, hint=hint)
        return binding, subscripts

    def _load(self, variable: Variable, index: tuple[Expr, ...], node: c_ast.Node) -> Load:
        if len(index) != len(variable.extents):
            msg = f"{variable.array!r} is an array, not a number"
            raise self.program.locator.error(
                TypeMismatchError, node, msg, hint="name one element with subscripts"
            )
        found = build.load(variable.type, variable.array, (*self.private(variable), *index))
        return replace(found, span=self.program.locator.span(node))

    def private(self, variable: Variable) -> tuple[Affine, ...]:
        """The subscripts that say whose copy of a privatised variable is meant."""
        return tuple(index_of(self.place.variable(k)) for k in range(len(variable.private)))

    # -- operators ---------------------------------------------------------------------------
    def cast(self, type_: ScalarType, expr: Expr) -> Expr:
        """Conversion that keeps affine values affine where that is exact."""
        return arith.cast(type_, expr, self.known)

    def operate(self, op: str, left: Expr, right: Expr) -> Expr:
        """An arithmetic operation under C's promotions."""
        return arith.operate(op, left, right, self.known)

    def _arithmetic(self, node: c_ast.BinaryOp) -> Expr:
        left, right = self.lower(node.left), self.lower(node.right)
        op = _ARITHMETIC[node.op]
        if op not in {"add", "sub", "mul", "div"} and promote_c(left.type, right.type).is_float:
            msg = f"{node.op!r} is not defined on {left.type} and {right.type}"
            hint = "use fmod for floating remainders" if op == "mod" else "cast to integers first"
            raise self.program.locator.error(TypeMismatchError, node, msg, hint=hint)
        whole = not left.type.is_float and not right.type.is_float
        if whole and op in {"div", "mod"} and isinstance(right, Const) and right.value == 0:
            raise self.program.locator.error(
                TypeMismatchError, node, "division by zero", hint="the divisor is always 0"
            )
        result = self.operate(op, left, right)
        if whole and self.assuming and _overflows(op, left, right, result.type):
            msg = f"this overflows: {result.type.c_name} does not hold it"
            raise self.program.locator.error(
                TypeMismatchError, node, msg, hint="give one operand a wider type, such as 1L"
            )
        return result

    def _unary(self, node: c_ast.UnaryOp) -> Expr:
        if node.op == "!":
            return self.condition(node)
        operand = self.lower(node.expr)
        type_ = promote_c(operand.type, operand.type) if not operand.type.is_float else operand.type
        operand = self.cast(type_, operand)
        if node.op == "+":
            return operand
        if node.op == "~":
            return build.invert(operand)
        return arith.negate(operand, self.known)

    def _ternary(self, node: c_ast.TernaryOp) -> Expr:
        cond = self.condition(node.cond)
        where, elsewhere = self.under(cond), self.under(cond, holds=False)
        then, other = where.lower(node.iftrue), elsewhere.lower(node.iffalse)
        if then.type == BOOL == other.type:
            return build.select(cond, then, other)
        type_ = promote_c(then.type, other.type)
        then, other = where.cast(type_, then), elsewhere.cast(type_, other)
        return arith.choose(cond, then, other, self.known)

    def under(self, cond: Expr, *, holds: bool = True) -> Lowering:
        """Lowering where an affine condition is known to hold, or not to."""
        if not isinstance(cond, Inside):
            return self
        place = self.place.restricted(cond.where) if holds else self.place.without(cond.where)
        return replace(self, place=place)

    def condition(self, node: c_ast.Node) -> Expr:
        """Truth of an expression: ``Inside`` where affine, else a bool computed from data."""
        self._check_depth(node)
        match node:
            case c_ast.BinaryOp(op="&&"):
                left = self._inner().condition(node.left)
                right = self._inner().under(left).condition(node.right)
                return arith.both(left, right)
            case c_ast.BinaryOp(op="||"):
                left = self._inner().condition(node.left)
                right = self._inner().under(left, holds=False).condition(node.right)
                return arith.either(left, right)
            case c_ast.UnaryOp(op="!"):
                return arith.opposite(self._inner().condition(node.expr))
            case c_ast.BinaryOp() if node.op in _RELATIONAL:
                return self._compare(node)
            case _:
                return self._truth(self.lower(node))

    def _inner(self) -> Lowering:
        return replace(self, depth=self.depth + 1)

    def _truth(self, value: Expr) -> Expr:
        if value.type == BOOL:
            return value
        form = None if value.type.is_float else self.form(value)
        if isinstance(value, Const):
            return build.const(BOOL, value.value != 0)
        if form is not None:
            return inside(form.non_zero_set())
        if isinstance(value, Binary) and value.op in {"and", "or"}:
            sides = [x.operand for x in value.children if isinstance(x, Cast)]
            if len(sides) == len(value.children) and all(side.type == BOOL for side in sides):
                return build.binary(value.op, *sides)
        return build.compare("ne", value, build.const(value.type, 0))

    def _compare(self, node: c_ast.BinaryOp) -> Expr:
        left, right = self._inner().lower(node.left), self._inner().lower(node.right)
        type_ = promote_c(left.type, right.type)
        left, right = self.cast(type_, left), self.cast(type_, right)
        op = _RELATIONAL[node.op]
        if isinstance(left, Const) and isinstance(right, Const):
            return build.const(BOOL, arith.compare_numbers(op, left.value, right.value))
        forms = (None, None) if type_.is_float else (self.form(left), self.form(right))
        if forms[0] is not None and forms[1] is not None:
            return inside(arith.compare_forms(op, forms[0], forms[1]))
        return build.compare(op, left, right)

    # -- calls -------------------------------------------------------------------------------
    def _call(self, node: c_ast.FuncCall) -> Expr:
        name = node.name.name if isinstance(node.name, c_ast.ID) else ""
        arguments = list(node.args.exprs) if node.args is not None else []
        if name in self.program.functions:
            return self._inline(self.program.functions[name], arguments, node)
        if name not in MATH and name not in EXTREMA:
            msg = f"calls of {name or 'this'!r} are not taken"
            hint = f"known functions (and their float forms): {KNOWN}"
            raise self.program.locator.error(UnsupportedError, node, msg, hint=hint)
        values = [self.lower(argument) for argument in arguments]
        if name in EXTREMA:
            return self._extremum(name, values, node)
        function, type_ = MATH[name]
        return build.call(function, *(self.cast(type_, value) for value in values))

    def _extremum(self, name: str, values: list[Expr], node: c_ast.Node) -> Expr:
        if len(values) != 2:
            msg = f"{name} takes 2 arguments, not {len(values)}"
            raise self.program.locator.error(TypeMismatchError, node, msg, hint=f"{name}(a, b)")
        op, type_ = EXTREMA[name]
        type_ = type_ or promote_c(values[0].type, values[1].type)
        left, right = (self.cast(type_, value) for value in values)
        if type_.is_float and self.program.inbounds and name.startswith("f"):
            # C's own take the other operand where one is NaN
            first, second = (left, right) if op == "min" else (right, left)
            chosen: Expr = build.compare("lt", first, second)
            if not isinstance(right, Const):
                chosen = arith.either(chosen, build.compare("ne", right, right))
            return build.select(chosen, left, right)
        return self.operate(op, left, right)

    def _inline(self, function: Inline, arguments: list[c_ast.Node], node: c_ast.Node) -> Expr:
        decl = function.decl.decl
        listed = decl.type.args.params if decl.type.args is not None else []
        formals = [formal for formal in listed if isinstance(formal, c_ast.Decl)]
        if len(formals) != len(arguments):
            msg = f"{decl.name!r} takes {len(formals)} argument(s), not {len(arguments)}"
            hint = "see its definition"
            raise self.program.locator.error(TypeMismatchError, node, msg, hint=hint)
        if decl.name in self.within:
            msg, hint = f"{decl.name!r} calls itself", "write the recursion as a loop"
            raise self.program.locator.error(UnsupportedError, node, msg, hint=hint)
        scope = Env()
        for formal, argument in zip(formals, arguments, strict=True):
            type_ = self.program.types.scalar(formal.type)
            value = self.cast(type_, self.lower(argument))
            scope.declare(formal.name, Substituted(value, self.place.depth))
        body = replace(self, env=scope, within=self.within | {decl.name})
        value = self.cast(self.program.types.scalar(decl.type.type), body.lower(function.value))
        if size_of(value) > MOST_INLINED:
            msg = f"{decl.name!r} inlined here has more than {MOST_INLINED:,} operands"
            hint = "keep what it is called with in a variable, or use a loop over an array"
            raise self.program.locator.error(TooLargeError, node, msg, hint=hint)
        return value


def subscript_value(lowering: Lowering, node: c_ast.Node) -> Expr:
    """A subscript: affine, or computed from data.

    Raises ``TypeMismatchError`` for a float, ``NonAffineError`` for sizes and iterators alone,
    unless the program says that all subscripts stay within their arrays.
    """
    lowering = replace(lowering, assuming=True)
    expr = lowering.lower(node)
    if expr.type.is_float:
        msg = f"a subscript has to be an integer, not {expr.type}"
        raise lowering.program.locator.error(TypeMismatchError, node, msg, hint="cast it: (int)x")
    form = lowering.form(expr)
    if form is not None:
        return index_of(form)
    known = not loads(expr) and not any(isinstance(part, Local) for part in walk(expr))
    if known and not lowering.program.inbounds:
        raise lowering.not_affine(node, "this subscript")
    return build.cast(I64, expr)


def size_of(expr: Expr) -> int:
    """The number of nodes of an expression as a tree, those that it shares counted each time."""
    known: dict[int, int] = {}

    def size(node: Expr) -> int:
        if id(node) not in known:
            known[id(node)] = 1 + sum(size(child) for child in node.children)
        return known[id(node)]

    return size(expr)


def set_of(cond: Expr) -> Set | None:
    """The set of an affine condition, ``None`` for one on data."""
    return cond.where if isinstance(cond, Inside) else None


def _overflows(op: str, left: Expr, right: Expr, type_: ScalarType) -> bool:
    """Whether C leaves a sum or product of constants undefined."""
    if type_.kind != "int" or not (isinstance(left, Const) and isinstance(right, Const)):
        return False
    exact = {"add": int.__add__, "sub": int.__sub__, "mul": int.__mul__}.get(op)
    low, high = type_.range
    return exact is not None and not low <= exact(int(left.value), int(right.value)) <= high
