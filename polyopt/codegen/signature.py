"""A C translation unit and how to call it: what code generation hands to the runtime."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Symbol, Var, scalar
from polyopt.codegen.ast.names import c_names, function_name
from polyopt.codegen.ast.nodes import Parameter
from polyopt.codegen.expressions.affine import c_extent
from polyopt.codegen.expressions.indices import index_variable
from polyopt.codegen.printers.c_expr import c_text, declared, hints
from polyopt.ir.types import I64, ScalarType
from polyopt.isl import dim_type
from polyopt.oneline import one_line, some

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.codegen.ast.expr import Expr
    from polyopt.codegen.expressions.lowered import Lowered
    from polyopt.codegen.printers.vector_loops import VectorLoop
    from polyopt.ir.indices import IndexArray
    from polyopt.ir.scop import Array, Scop
    from polyopt.isl import PwAff


@dataclass(frozen=True, eq=False)
class Argument:
    """One parameter of a generated function.

    ``kind`` is ``size`` (an ``int64_t``), ``scalar`` (a rank-0 input, by value) or ``array``
    (a pointer; rank 0 for a scalar that the function writes).
    """

    name: str
    kind: str
    symbol: Symbol
    #: [N] -> { [extent] }, one per dimension of an array
    extents: tuple[PwAff, ...] = ()
    #: the extents as C over the sizes
    lengths: tuple[Expr, ...] = ()
    role: str = "in"

    @property
    def c_name(self) -> str:
        """What it is called in C: callers may name it."""
        return self.symbol.hint

    @property
    def type(self) -> ScalarType:
        """The type of a scalar, or of an array's elements."""
        return scalar(self.symbol.type)

    @property
    def c_extents(self) -> tuple[str, ...]:
        """The extents as C text over the sizes' C names."""
        return tuple(c_text(length, hints) for length in self.lengths)

    @property
    def parameter(self) -> Parameter:
        """It as a parameter of a C function."""
        is_array = self.kind == "array"
        constant = is_array and self.role == "in"
        lengths = self.lengths if is_array and self.lengths else None
        return Parameter(self.symbol, lengths, constant, pointer=is_array and not self.lengths)

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
    #: those of them that the C checks where it uses them, as its own status says
    checked_indices: tuple[IndexArray, ...] = ()
    #: the loops that are marked as vector loops, in the order of the source
    vector_loops: tuple[VectorLoop, ...] = ()
    #: the outermost loops of the plan that a clock is read after, where it is
    nests: tuple[str, ...] = ()
    #: line of the source, counted from 1 -> the loop of the plan that it begins, or the array or
    #: buffer that it writes to
    origins: Mapping[int, str] = field(default_factory=dict[int, str], repr=False, compare=False)

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
    sizes = {name: Symbol(names[name], I64, name) for name in ordered if name not in arrays}
    lengths = {name: index_variable(Var(symbol)) for name, symbol in sizes.items()}
    return tuple(
        _array_argument(arrays[name], names[name], lengths, scop)
        if name in arrays
        else Argument(name, "size", sizes[name])
        for name in ordered
    )


def sizes_called(names: Mapping[str, str]) -> dict[str, Lowered]:
    """Sizes of a program by what they are called in C."""
    return {name: index_variable(Var(Symbol(text, I64, name))) for name, text in names.items()}


def _uses(array: Array, param: str) -> bool:
    for extent in array.extents:
        position = extent.find_dim_by_name(dim_type.param, param)
        if position >= 0 and extent.involves_dims(dim_type.param, position, 1):
            return True
    return False


def _array_argument(array: Array, name: str, sizes: Mapping[str, Lowered], scop: Scop) -> Argument:
    kind = "scalar" if array.rank == 0 and array.role == "in" else "array"
    lengths = tuple(c_extent(extent, scop.context, sizes).node for extent in array.extents)
    symbol = Symbol(name, array.type, array.name)
    return Argument(array.name, kind, symbol, array.extents, lengths, array.role)


def c_prototype(name: str, arguments: Sequence[Argument]) -> str:
    """The function's declarator: ``int f(int64_t N, const float A[restrict N][N], int threads)``.

    Array parameters are VLA types, so that the body reads ``A[i][j]``.
    """
    shown = ", ".join([*(declared(a.parameter, hints) for a in arguments), "int threads"])
    return f"int {function_name(name)}({shown})"
