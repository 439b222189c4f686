"""The instructions that an expression takes: vectors of them, divisions, and calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.codegen.expressions.packed_dot import packed_dot
from polyopt.ir.expr import (
    INSTRUCTIONS,
    Affine,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Inside,
    Load,
    Select,
    payload,
)
from polyopt.ir.types import BF16, F16, F32, F64
from polyopt.memo import memo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.codegen.target import Target
    from polyopt.scheduler.model.machine import Costs

#: math functions of our own (``codegen/helpers/math``): instructions for a vector of doubles, as
#: gcc 12 makes them for AVX2 (SSE2 takes a quarter more, AVX-512 a tenth less), and its divisions
OWN_CALLS = {
    ("exp", F32): (39, 0), ("exp2", F32): (37, 0), ("log", F32): (38, 1), ("log2", F32): (36, 1),
    ("tanh", F32): (40, 1), ("erf", F32): (68, 0), ("pow", F32): (141, 1), ("sin", F32): (100, 0),
    ("cos", F32): (92, 0), ("tan", F32): (90, 1), ("exp", F64): (68, 0), ("exp2", F64): (74, 0),
    ("log", F64): (86, 1), ("log2", F64): (94, 1), ("tanh", F64): (94, 2), ("erf", F64): (247, 1),
    ("pow", F64): (349, 1),
}  # fmt: skip
#: the same where there are fused multiply-adds, for a vector of the type itself; a division of
#: doubles counts as two of floats
FUSED_CALLS = {
    ("exp", F32): (35, 0), ("exp2", F32): (38, 0), ("erf", F32): (55, 0), ("tanh", F32): (43, 1),
    ("exp", F64): (39, 0), ("exp2", F64): (43, 0), ("log", F64): (54, 1), ("log2", F64): (57, 1),
    ("tanh", F64): (49, 1), ("log", F32): (54, 2), ("log2", F32): (52, 2), ("pow", F32): (189, 2),
    ("erf", F64): (131, 1), ("pow", F64): (223, 1),
}  # fmt: skip
#: instructions of conversions of halves, as ``codegen/helpers/math/halves.py`` has them
HALF_CASTS = {(F32, F16): 9, (F16, F32): 16, (F32, BF16): 2, (BF16, F32): 8}
#: times of a number alone for one of vectors, as measured: products go to integers and back
_ALONE = 3.0


@dataclass(frozen=True)
class Operations:
    """Instructions of one evaluation of an expression, by kind."""

    #: vectors of additions and the like, or numbers
    simple: float = 0.0
    #: bytes of vectors that are divided; half as much again for roots
    divided: float = 0.0
    #: numbers one by one: math functions, divisions of integers, elements at places of their own
    calls: float = 0.0
    integer_divisions: float = 0.0

    def slow(self, costs: Costs) -> float:
        """Cycles of all that is not simple."""
        found = self.divided * costs.divide + self.calls * costs.call
        return found + self.integer_divisions * costs.integer_divide

    def plus(self, other: Operations, times: float) -> Operations:
        """With ``times`` another one."""
        return Operations(
            self.simple + times * other.simple,
            self.divided + times * other.divided,
            self.calls + times * other.calls,
            self.integer_divisions + times * other.integer_divisions,
        )


def has_vectors(expr: Expr, own_math: bool) -> bool:  # noqa: FBT001
    """Whether compilers have vector code for a node; with our own math functions, or without."""
    if not isinstance(expr, Call) or expr.function in INSTRUCTIONS:
        return True
    return own_math and (expr.function, expr.type) in OWN_CALLS


def operations(expr: Expr, machine: Target, lanes: int, *, own_math: bool) -> Operations:
    """The instructions of one evaluation, in all lanes; ``own_math`` is that of ``has_vectors``."""
    total = Operations()
    for node, fused in distinct_nodes(expr).items():
        if not fused:
            total = total.plus(own_operations(node, machine, lanes, own_math=own_math), 1)
    return total


def own_operations(node: Expr, machine: Target, lanes: int, *, own_math: bool) -> Operations:
    """The instructions of a node alone, without those of its operands; loads are none."""
    vectors = max(1.0, lanes * node.type.bytes / machine.vector_bytes) if lanes > 1 else 1.0
    match node:
        case Affine() | Const() | Inside() | Load():
            return Operations()
        case Binary(op="div") if node.type.is_float:
            return Operations(divided=max(8, lanes * node.type.bytes))
        case Binary(op="div" | "mod" | "floordiv" | "floormod"):
            if isinstance(node.right, Const):  # a multiplication and shifts
                return Operations(simple=3 * vectors)
            return Operations(integer_divisions=lanes)
        case Call(function="sqrt"):
            return Operations(divided=1.5 * max(8, lanes * node.type.bytes))
        case Call() if node.function not in INSTRUCTIONS:
            if has_vectors(node, own_math):
                return _own_call(node, machine, lanes)
            return Operations(calls=lanes)
        case Select():
            return Operations(simple=2 * vectors)
        case Cast() if node.type.is_half or node.operand.type.is_half:
            wide = max(1.0, lanes * F32.bytes / machine.vector_bytes) if lanes > 1 else 1.0
            return Operations(simple=HALF_CASTS[node.type, node.operand.type] * wide)
        case _:
            return Operations(simple=vectors)


def _own_call(call: Call, machine: Target, lanes: int) -> Operations:
    """The instructions of one of our math functions, and the bytes that it divides: its numbers are
    doubles, or floats."""
    key = call.function, call.type
    if key in FUSED_CALLS and machine.isa != "generic":
        instructions, divisions = FUSED_CALLS[key]
        bytes_ = lanes * call.type.bytes
        vectors = max(1.0, bytes_ / machine.vector_bytes) if lanes > 1 else _ALONE
        return Operations(instructions * vectors, divisions * max(8.0, bytes_))
    instructions, divisions = OWN_CALLS[key]
    vectors = max(1.0, lanes * F64.bytes / machine.vector_bytes) if lanes > 1 else _ALONE
    return Operations(instructions * vectors, divisions * max(8.0, lanes * F64.bytes))


def distinct_nodes(expr: Expr) -> dict[Expr, bool]:
    """One node for each value that is computed, as compilers find equal ones."""
    found: dict[object, tuple[Expr, bool]] = {}
    for node, fused in _nodes(expr):
        key = _key(node)
        found[key] = node, fused and found.get(key, (node, True))[1]
    return dict(found.values())


@memo
def _key(expr: Expr) -> object:
    """What equal expressions share."""
    if isinstance(expr, Affine):
        return str(expr.form)
    if isinstance(expr, Inside):
        return str(expr.where)
    below = tuple(map(_key, expr.children))
    return type(expr).__name__, expr.type.numpy_name, payload(expr), below


def _nodes(expr: Expr, parent: Expr | None = None) -> Iterator[tuple[Expr, bool]]:
    """All nodes but those of affine subscripts; whether one is a factor that an addition takes."""
    fused = (
        isinstance(expr, Binary) and expr.op == "mul" and expr.type.is_float
        and isinstance(parent, Binary) and parent.op in {"add", "sub"}
    )  # fmt: skip
    yield expr, fused
    children = expr.children
    if isinstance(expr, Load):
        children = tuple(index for index in expr.index if not isinstance(index, Affine))
    elif (dot := packed_dot(expr)) is not None:  # one instruction, where it stays in registers
        children = dot
    for child in children:
        yield from _nodes(child, expr)
