"""A C translation unit and how to call it: what code generation hands to the runtime."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from polyopt.codegen.ctext import (
    ADD,
    EQUAL,
    LESS,
    LOGICAL_AND,
    LOGICAL_OR,
    MUL,
    PRIMARY,
    CText,
    common_type,
    decided,
    explicit,
    is_inside,
)
from polyopt.codegen.indices import (
    index_choice,
    index_negation,
    index_number,
    index_operand,
    index_operation,
    index_variable,
)
from polyopt.codegen.names import c_names, function_name
from polyopt.errors import InternalError
from polyopt.ir.types import BOOL, I32, I64, ScalarType
from polyopt.isl import (
    AstBuild,
    AstExpr,
    PwAff,
    Set,
    affine_constant,
    ast_expr_type,
    constant_value,
    dim_type,
)
from polyopt.oneline import one_line, some

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.ir.indices import IndexArray
    from polyopt.ir.scop import Array, Scop


@dataclass(frozen=True, eq=False)
class Argument:
    """One parameter of a generated function.

    ``kind`` is ``size`` (an ``int64_t``), ``scalar`` (a rank-0 input, by value) or ``array``
    (a pointer; rank 0 for a scalar that the function writes).
    """

    name: str
    c_name: str
    kind: str
    type: ScalarType
    #: [N] -> { [extent] }, one per dimension of an array
    extents: tuple[PwAff, ...] = ()
    #: the extents as C text over the sizes' C names
    c_extents: tuple[str, ...] = ()
    role: str = "in"

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.extents)

    @property
    def is_live_in(self) -> bool:
        """Whether the caller gives its contents."""
        return self.role in {"in", "inout"}

    @property
    def is_live_out(self) -> bool:
        """Whether the caller sees its contents afterwards."""
        return self.role in {"out", "inout"}


@dataclass(frozen=True, eq=False)
class CProgram:
    """A complete C translation unit that defines one function.

    ``flops`` and ``bytes`` are arithmetic expressions over the sizes' names that C and Python
    read alike (``"2 * N * N * N"``): operations done, and live bytes in and out; may be empty.
    """

    name: str
    source: str
    prototype: str
    arguments: tuple[Argument, ...]
    params: tuple[str, ...]
    flags: tuple[str, ...] = ()
    uses_openmp: bool = False
    flops: str = ""
    bytes: str = ""
    #: arguments whose elements choose elements of others
    indices: tuple[IndexArray, ...] = ()

    def __repr__(self) -> str:
        """The prototype, and how long the source is."""
        return one_line(self, self.prototype, some(self.source.count("\n"), "line"))

    @property
    def c_name(self) -> str:
        """The function's C name."""
        return function_name(self.name)

    @property
    def may_contract(self) -> bool:
        """Whether ``a * b + c`` may round once without being asked: not where integers come out.

        Rounding once or twice moves a float in its last place, and an integer made of it by one,
        or, through a table or another choice, by anything.
        """
        return not any(a.is_live_out and a.type.is_integer for a in self.arguments)


def signature_of(scop: Scop) -> tuple[Argument, ...]:
    """The arguments in ABI order: the Scop's order, with sizes before the arrays that use them."""
    names = c_names(scop.signature)
    arrays = {a.name: a for a in scop.arrays}
    ordered: dict[str, None] = {}
    for name in scop.signature:
        if name in arrays:
            ordered.update(dict.fromkeys(p for p in scop.params if _uses(arrays[name], p)))
        ordered[name] = None
    return tuple(
        _array_argument(arrays[name], names, scop)
        if name in arrays
        else Argument(name, names[name], "size", I64)
        for name in ordered
    )


def _uses(array: Array, param: str) -> bool:
    for extent in array.extents:
        position = extent.find_dim_by_name(dim_type.param, param)
        if position >= 0 and extent.involves_dims(dim_type.param, position, 1):
            return True
    return False


def _array_argument(array: Array, names: Mapping[str, str], scop: Scop) -> Argument:
    kind = "scalar" if array.rank == 0 and array.role == "in" else "array"
    sizes = {name: index_variable(text) for name, text in names.items()}
    texts = tuple(c_extent(extent, scop.context, sizes).text for extent in array.extents)
    c_name = names[array.name]
    return Argument(array.name, c_name, kind, array.type, array.extents, texts, array.role)


def c_prototype(name: str, arguments: Sequence[Argument]) -> str:
    """The function's declarator: ``int f(int64_t N, const float A[restrict N][N], int threads)``.

    Array parameters are VLA types, so that the body reads ``A[i][j]``.
    """
    shown = ", ".join([*map(declared, arguments), "int threads"])
    return f"int {function_name(name)}({shown})"


def declared(argument: Argument) -> str:
    """An argument as the parameter of a C function."""
    if argument.kind == "size":
        return f"int64_t {argument.c_name}"
    type_ = argument.type.c_name
    if argument.kind == "scalar":
        return f"{type_} {argument.c_name}"
    const = "const " if argument.role == "in" else ""
    if argument.rank == 0:
        return f"{const}{type_} *restrict {argument.c_name}"
    first, *rest = argument.c_extents
    inner = "".join(f"[{extent}]" for extent in rest)
    return f"{const}{type_} {argument.c_name}[restrict {first}]{inner}"


def c_extent(extent: PwAff, context: Set, names: Mapping[str, CText]) -> CText:
    """An affine expression of the parameters as C, simplified under the context."""
    build = AstBuild.from_context(context)
    return c_affine(build.expr_from_pw_aff(extent), names)


def at_least_one(extent: PwAff, context: Set) -> PwAff:
    """C has no arrays without elements, or with fewer, for sizes at which nothing is stored."""
    one = affine_constant(extent.get_domain_space(), 1)
    return extent if context.is_subset(extent.ge_set(one)) else extent.union_max(one)


def c_trips(start: CText, bound: CText) -> str:
    """About how many iterations a loop runs: its bound less its start; never below zero.

    One less than that is no overflow either.
    """
    if start.text == "0":
        low, _ = bound.bounds
        fits = is_inside((low - 1, low), common_type(bound))
        return bound.text if bound.ctype == I64 or fits else explicit(bound, I64).text
    count = index_operation("-", bound, index_operand(start)).text
    return (
        f"({count} > 0 ? {count} : 0)"  # no helper, which a compiler without OpenMP would not need
    )


def c_condition(context: Set, names: Mapping[str, CText]) -> str:
    """A condition on the parameters as C."""
    build = AstBuild.from_context(Set.universe(context.get_space()))
    return c_affine(build.expr_from_set(context.coalesce()), names).text


_INFIX = {
    "add": ("+", ADD), "sub": ("-", ADD), "mul": ("*", MUL),
    "div": ("/", MUL), "pdiv_q": ("/", MUL), "pdiv_r": ("%", MUL),
    "zdiv_r": ("%", MUL), "lt": ("<", LESS), "le": ("<=", LESS),
    "gt": (">", LESS), "ge": (">=", LESS), "eq": ("==", EQUAL),
    "and": ("&&", LOGICAL_AND), "and_then": ("&&", LOGICAL_AND),
    "or": ("||", LOGICAL_OR), "or_else": ("||", LOGICAL_OR),
}  # fmt: skip


def operation_name(expr: AstExpr) -> str:
    """The name of an operation in isl's AST: ``add``, ``fdiv_q``, ``and``, ..."""
    kind: Any = expr.get_op_type()
    return str(kind.name).rstrip("_")


def c_affine(expr: AstExpr, names: Mapping[str, CText]) -> CText:
    """C of an affine expression or condition in isl's AST, and the type that it has in C.

    ``names`` maps iterators and sizes to C; others are 64-bit variables of their own name.
    Rounding down becomes ``floordiv_i64``.
    """
    kind = expr.get_type()
    if kind == ast_expr_type.int:
        return index_number(int(str(expr.get_val())))
    if kind == ast_expr_type.id:
        name = expr.get_id().get_name()
        return names.get(name) or index_variable(name)
    op = operation_name(expr)
    args = [c_affine(expr.get_op_arg(i), names) for i in range(expr.get_op_n_arg())]
    if op in _INFIX and len(args) == 2:
        found = _infix(*_INFIX[op], *args)
        if found.ctype == I64 != common_type(*args):
            return _wide(expr, names)
        return found
    match op:
        case "minus":
            return index_negation(args[0])
        case "fdiv_q":
            text = f"floordiv_i64({args[0].text}, {args[1].text})"
            return index_variable(text)
        case "min" | "max":
            return index_variable(_nested(op, args))
        case "cond" | "select":
            cond, then, other = args
            return index_choice(cond.at(LOGICAL_OR), then, other)
        case _:
            msg = f"no C for isl's operation {op}"
            raise InternalError(msg)


def _wide(expr: AstExpr, names: Mapping[str, CText]) -> CText:
    """An expression in 64 bits from its first variable on: C then converts what follows."""
    op = operation_name(expr) if expr.get_type() == ast_expr_type.op else ""
    if op not in {"add", "sub", "mul"}:
        return explicit(c_affine(expr, names), I64)
    args = [c_affine(expr.get_op_arg(k), names) for k in (0, 1)]
    # what starts with a minus goes behind the other operand
    second = expr.get_op_arg(0).get_type() == ast_expr_type.int or args[0].text.startswith("-")
    args[second] = _wide(expr.get_op_arg(int(second)), names)
    return _infix(*_INFIX[op], *args)


def _infix(sign: str, level: int, left: CText, right: CText) -> CText:
    negative = left.text.startswith("-") and left.precedence >= MUL  # one term: "-i - j" is two
    if sign == "+" and negative and not right.text.startswith("-"):
        low, high = left.bounds
        positive = replace(left, text=left.text[1:], bounds=(-high, -low))
        if left.ctype == I64 or is_inside(positive.bounds, left.ctype):
            return index_operation("-", right, positive)
    if level in {ADD, MUL}:
        return index_operation(sign, left, right)
    if level in {LESS, EQUAL}:
        if not (is_inside(left.bounds, I64) and is_inside(right.bounds, I64)):
            return _beyond(sign, left, right)
        return _truth(f"{left.at(ADD)} {sign} {right.at(ADD)}", level)
    one, two = (t.text if t.precedence == level else t.at(EQUAL) for t in (left, right))
    return _truth(f"{one} {sign} {two}", level)


def _beyond(sign: str, left: CText, right: CText) -> CText:
    """A comparison with a number that no variable has: C would compare without signs."""
    op = "eq" if sign == "==" else "lt" if len(sign) == 1 else "le"
    first, second = (right, left) if sign[0] == ">" else (left, right)
    found = decided(op, first.bounds, second.bounds)
    if found is None:
        message = f"a comparison in more than 64 bits: {left.text} {sign} {right.text}"
        raise InternalError(message)
    value = int(found)
    return CText(str(value), PRIMARY, BOOL, I32, (value, value))


def _truth(text: str, level: int) -> CText:
    return CText(text, level, BOOL, I32, (0, 1))


def _nested(name: str, args: list[CText]) -> str:
    """``min`` of any number of operands by the helper of two."""
    text = args[-1].text
    for arg in reversed(args[:-1]):
        text = f"{name}_i64({arg.text}, {text})"
    return text


def constant_bytes(extents: tuple[PwAff, ...], element: int) -> int | None:
    """The bytes of so many elements; ``None`` where sizes decide."""
    total = element
    for extent in extents:
        number = constant_value(extent)
        if number is None:
            return None
        total *= max(number, 1)
    return total
