"""Converters of functions of numbers, remainders and roundings, of truth values along axes."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from polyopt.graph.fx.call import CONVERTERS, converts
from polyopt.graph.operators import normal_axis

if TYPE_CHECKING:
    from polyopt.graph.fx.call import Call

#: ATen's name -> ours, of one operand without options
FUNCTIONS = {
    "acos": "acos", "asin": "asin", "atan": "atan", "cosh": "cosh", "log10": "log10",
    "sgn": "sign", "sign": "sign", "sinh": "sinh",
}  # fmt: skip
DIVISIONS = {"remainder": "remainder", "fmod": "fmod", "floor_divide": "floor_divide"}


def _function(call: Call) -> None:
    if call.result.dtype.name == "bool":
        raise call.unsupported("of bool it is not taken")
    call.define(FUNCTIONS[call.op], [call.converted("self", call.result.dtype)])


CONVERTERS.update(dict.fromkeys(FUNCTIONS, _function))


def _division(call: Call) -> None:
    one, other = (call.converted(name, call.result.dtype) for name in ("self", "other"))
    divided(call, DIVISIONS[call.op], one, other)


CONVERTERS.update(dict.fromkeys(DIVISIONS, _division))


def divided(call: Call, op: str, one: str, other: str) -> None:
    """The result of a division. Raises ``UnsupportedError`` for integers that are divided by 0,
    or may be."""
    if not call.result.dtype.is_float:
        known = call.importer.known.get(other)
        if known is None or not known.all():
            raise call.unsupported("an integer divisor has to be known, and not 0")
    if op == "trunc" and call.result.dtype.is_float:
        call.define("trunc", [call.step("div", [one, other])])
        return
    call.define({"floor": "floor_divide", "trunc": "div"}.get(op, op), [one, other])


@converts("atan2")
def _atan2(call: Call) -> None:
    call.define("atan2", [call.converted(name, call.result.dtype) for name in ("self", "other")])


@converts("erfc")
def _erfc(call: Call) -> None:
    given = call.converted("self", call.result.dtype)
    call.define("sub", [call.number_like(given, 1.0), call.step("erf", [given])])


@converts("isinf", "isfinite")
def _is_finite(call: Call) -> None:
    given = call.tensor("self")
    if not call.value("self").dtype.is_float:
        raise call.unsupported("of integers it is not taken")
    infinity = call.number_like(given, np.inf)
    op = "equal" if call.op == "isinf" else "less"
    call.define(op, [call.step("abs", [given]), infinity])


@converts("any", "all")
def _any(call: Call) -> None:
    """What is not 0 is true, NaN as well."""
    given, kind = call.tensor("self"), call.value("self").dtype
    if kind.name != "bool":
        zero = call.number_like(given, 0)
        given = call.step("logical_not", [call.step("equal", [given, zero])])
    numbers = call.step("cast", [given], to="i32")
    op = "reduce_max" if call.op == "any" else "reduce_min"
    keep = int(call.arguments.get("keepdim", False))
    found = call.step(op, [numbers], axes=axes_of(call), keepdims=keep)
    call.define("greater", [found, call.number_like(found, 0)])


def axes_of(call: Call) -> tuple[int, ...]:
    """The axes of ``dim``, from 0 up; all where none is given."""
    given, rank = call.arguments.get("dim"), len(call.value("self").shape)
    if isinstance(given, int):
        given = [given]
    return tuple(normal_axis(int(d), rank) for d in given or range(rank)) if rank else ()


@converts("prod", "logsumexp")
def _reduce(call: Call) -> None:
    _ = call.arguments.get("dtype")  # the result has it
    op = "reduce_prod" if call.op == "prod" else "reduce_log_sum_exp"
    keep = int(call.arguments.get("keepdim", False))
    given = call.converted("self", call.result.dtype)
    call.define(op, [given], axes=axes_of(call), keepdims=keep)


@converts("linalg_vector_norm")
def _norm(call: Call) -> None:
    op = {1: "reduce_l1", 2: "reduce_l2"}.get(call["ord"])
    if op is None:
        raise call.unsupported(f"the order {call['ord']} is not taken")
    _ = call.arguments.get("dtype")  # the result has it
    call.define(op, [call.converted("self", call.result.dtype)], axes=axes_of(call),
                keepdims=int(call["keepdim"]))  # fmt: skip


@converts("sort")
def _sort(call: Call) -> None:
    _ = call.arguments.get("stable")  # it is
    shape = call.value("self").shape
    if not shape or call.value("self").dtype.is_float:
        raise call.unsupported("of floats, of which NaN has a place, it is not taken")
    axis = normal_axis(int(call["dim"]), len(shape))
    options = {"axis": axis, "k": shape[axis], "largest": int(call["descending"])}
    call.several(
        [call.step(op, [call.tensor("self")], **options) for op in ("top_k", "top_k_places")]
    )


@converts("diagonal")
def _diagonal(call: Call) -> None:
    """Neighbours of a diagonal lie one row and one column apart in the flat matrix."""
    shape, rank = call.value("self").shape, len(call.value("self").shape)
    one, two = (normal_axis(int(call[n]), rank) for n in ("dim1", "dim2"))
    rest = [d for d in range(rank) if d not in {one, two}]
    turned = call.step("transpose", [call.tensor("self")], perm=(*rest, one, two))
    beside, columns = tuple(shape[d] for d in rest), shape[two]
    flat = call.step("reshape", [turned], shape=(*beside, prod((shape[one], columns))))
    offset, count = int(call["offset"]), call.result.shape[-1]
    if not count:
        raise call.unsupported("it takes no element")
    first = offset if offset >= 0 else -offset * columns
    call.define("slice", [flat], starts=(*(0 for _ in rest), first),
                steps=(*(1 for _ in rest), columns + 1), shape=(*beside, count))  # fmt: skip
