"""The isl types polyopt uses, its one context, and parsing with clear errors."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import islpy
from islpy import (
    Aff,
    AstBuild,
    AstExpr,
    AstNode,
    BasicMap,
    BasicSet,
    Constraint,
    Context,
    Id,
    Map,
    MultiAff,
    MultiPwAff,
    MultiUnionPwAff,
    MultiVal,
    Point,
    PwAff,
    PwMultiAff,
    Schedule,
    ScheduleConstraints,
    ScheduleNode,
    Set,
    Space,
    UnionAccessInfo,
    UnionMap,
    UnionPwAff,
    UnionPwMultiAff,
    UnionSet,
    UnionSetList,
    Val,
    ast_expr_type,
    ast_loop_type,
    ast_node_type,
    dim_type,
    schedule_node_type,
)
from islpy import Error as IslError
from islpy import ast_expr_op_type as ast_op_type

from polyopt.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = [
    "Aff",
    "AstBuild",
    "AstExpr",
    "AstNode",
    "BasicMap",
    "BasicSet",
    "Constraint",
    "Context",
    "Id",
    "IslError",
    "Map",
    "MultiAff",
    "MultiPwAff",
    "MultiUnionPwAff",
    "MultiVal",
    "Point",
    "PwAff",
    "PwMultiAff",
    "Schedule",
    "ScheduleConstraints",
    "ScheduleNode",
    "Set",
    "Space",
    "UnionAccessInfo",
    "UnionMap",
    "UnionPwAff",
    "UnionPwMultiAff",
    "UnionSet",
    "UnionSetList",
    "Val",
    "ast_expr_type",
    "ast_loop_type",
    "ast_node_type",
    "ast_op_type",
    "ast_options",
    "context",
    "dim_type",
    "integer_val",
    "parse_map",
    "parse_set",
    "parse_union_map",
    "parse_union_set",
    "schedule_node_type",
]  # fmt: skip


def context() -> Context:
    """The isl context that all values live in."""
    return islpy.DEFAULT_CONTEXT


def integer_val(number: int) -> Val:
    """The isl value of an integer of any length.

    ``Val.int_from_si``, and what isl's functions make of an ``int`` in a value's place, is a C
    ``long``: more than that is a ``TypeError``.
    """
    if -(1 << 63) <= number < 1 << 63:
        return Val.int_from_si(context(), number)
    return Val.read_from_str(context(), str(number))


def _parse(kind: type, text: str) -> object:
    try:
        return kind.read_from_str(context(), text)  # type: ignore[attr-defined]
    except islpy.Error:
        msg = f"malformed {kind.__name__} text: {text!r}"
        raise InternalError(msg) from None


def parse_set(text: str) -> Set:
    """An isl set from its text; slow (340 us): for tests and fixed tables."""
    return _parse(Set, text)  # type: ignore[return-value]


def parse_map(text: str) -> Map:
    """An isl map from its text; slow: for tests and fixed tables."""
    return _parse(Map, text)  # type: ignore[return-value]


def parse_union_set(text: str) -> UnionSet:
    """An isl union set from its text; slow: for tests and fixed tables."""
    return _parse(UnionSet, text)  # type: ignore[return-value]


def parse_union_map(text: str) -> UnionMap:
    """An isl union map from its text; slow: for tests and fixed tables."""
    return _parse(UnionMap, text)  # type: ignore[return-value]


@contextmanager
def ast_options() -> Generator[None]:
    """isl's code generation as we want it: ``min`` and ``max`` in bounds, plain ``/`` and ``%``."""
    ctx = context()
    ctx.set_ast_build_detect_min_max(1)
    ctx.set_ast_build_exploit_nested_bounds(1)
    ctx.set_ast_build_atomic_upper_bound(1)
    # what shares an iteration stays in one loop: buffers live as long as that iteration
    ctx.set_ast_build_group_coscheduled(1)
    try:
        yield
    finally:
        # expressions built elsewhere are the same before and after
        ctx.set_ast_build_detect_min_max(0)
        ctx.set_ast_build_group_coscheduled(0)
