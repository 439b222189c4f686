"""The isl types polyopt uses, its one context, budgets, and parsing with clear errors."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import islpy
from islpy import (
    Aff,
    AstBuild,
    AstExpr,
    AstNode,
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

from polyopt.errors import InternalError, InvalidOptionError, NotDecidedError

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = [
    "Aff",
    "AstBuild",
    "AstExpr",
    "AstNode",
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
    "budget",
    "context",
    "dim_type",
    "exclusive",
    "parse_map",
    "parse_set",
    "parse_union_map",
    "parse_union_set",
    "schedule_node_type",
    "stretches",
]  # fmt: skip


def context() -> Context:
    """The isl context that all values live in."""
    return islpy.DEFAULT_CONTEXT


#: isl's context, and its count of operations, are for one thread at a time
_ONE = threading.RLock()
# a process is forked between two uses: the child's copy is whole, and free
os.register_at_fork(before=_ONE.acquire, after_in_parent=_ONE.release, after_in_child=_ONE.release)


@contextmanager
def exclusive() -> Generator[None]:
    """Let no other thread use isl meanwhile; the same thread may ask again."""
    with _ONE:
        yield


@contextmanager
def budget(operations: int, what: str) -> Generator[None]:
    """Stop ``what`` after that many isl operations, the same on every machine.

    An inner budget never extends an outer one. Raises ``NotDecidedError`` when it is spent,
    ``InvalidOptionError`` for one below 1.
    """
    if operations < 1:
        msg = f"{what}: a budget of {operations} isl operations; it has to be 1 or more"
        raise InvalidOptionError(msg)
    with _ONE:
        if _bounds and _bounds[-1][1]:
            yield  # the outer budget already bounds this work
        else:
            yield from _bounded(operations, what, whole=True)


@contextmanager
def stretches(operations: int, what: str) -> Generator[None]:
    """Stop ``what`` where isl takes more operations at a stretch, between two budgets within.

    ``budget`` bounds all of a computation; this bounds what of a search has no budget of its own,
    and leaves the budgets of its steps as they are. Raises as ``budget`` does.
    """
    with _ONE:
        if _bounds:
            yield  # what is around bounds this work
        else:
            yield from _bounded(operations, what, whole=False)


#: operations that are allowed, and whether for all of what runs: a stretch, and a budget in it
_bounds: list[tuple[int, bool]] = []


def _bounded(operations: int, what: str, *, whole: bool) -> Generator[None]:
    _bounds.append((operations, whole))
    _count(operations)
    try:
        yield
    except islpy.Error as error:
        if "maximal number of operations" in str(error) or _is_spent():
            msg = f"{what}: not decided within {operations:,} isl operations"
            raise NotDecidedError(msg, hint="raise the budget, or fix some sizes") from None
        msg = f"isl failed in {what}: {error}"
        raise InternalError(msg) from error
    finally:
        _bounds.pop()
        _count(_bounds[-1][0] if _bounds else 0)


def _count(operations: int) -> None:
    """Count from here on, up to so many operations; without end for 0."""
    context().set_max_operations(operations)
    context().reset_operations()


def _is_spent() -> bool:
    """Whether isl does nothing any more: of what fails in a callback, it loses the reason."""
    try:
        islpy.Set.read_from_str(context(), "{ : }")
    except islpy.Error:
        return True
    return False


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
