"""Loops that emitted C has threads or lanes share: turned round, or called by their mark."""

# The parser's trees are copied and changed by the names of their parts, which have no types.
# pyright: basic, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportOptionalMemberAccess=false, reportReturnType=false, reportArgumentType=false
# pyright: reportAssignmentType=false

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.frontend.c.syntax.nodes import binary, constant, integer, renamed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    #: a name that nothing else has
    Fresh = Callable[[str], str]

#: in names of iterators: of loops whose iterations run together, and of what threads do in turn
_SHARED, IN_TURN = "__shared_", "__in_turn"
_MARK = re.compile(rf"{_SHARED}(threads|turns|lanes|sums)(\d*)__\d+")
#: how many loops threads share together
COLLAPSE = re.compile(r" collapse\((\d+)\)")
#: the fewest that they do
_PAIR = 2
_SAFELEN = re.compile(r"safelen\((\d+)\)")


@dataclass(frozen=True)
class Mark:
    """Who shares the iterations of a loop; ``width`` is how many lanes there are, 0 without one."""

    kind: str
    width: int


def mark_of(name: str) -> Mark | None:
    """What the name of an iterator says of its loop."""
    found = _MARK.search(name)
    return None if found is None else Mark(found[1], int(found[2] or 0))


def unmarked(text: str) -> str:
    """A name, or a message, in which iterators are called as in the C."""
    return _MARK.sub("", text)


def shared(loop: c_ast.For, pragma: str, fresh: Fresh) -> c_ast.For:
    """The loop with an iterator whose name says who shares its iterations, and how many lanes."""
    known = loop.init.decls[0].name
    found = _SAFELEN.search(pragma)
    width = str(int(found[1]) * _step(loop.next)) if found else ""
    kind = "lanes" if pragma.startswith("omp simd") else "threads"
    kind = "sums" if "reduction" in pragma else "turns" if pragma.endswith("ordered") else kind
    name = fresh(f"{known}{_SHARED}{kind}{width}")
    loop = renamed(loop, known, name)
    loop.init = c_ast.DeclList([integer(name, loop.init.decls[0].init)])
    return loop


def collapsed(loop: c_ast.For, pragma: str) -> tuple[c_ast.For | None, str]:
    """The loop directly inside that threads share together with a loop, and the pragma that says
    so of it; none where a loop is shared alone."""
    found = COLLAPSE.search(pragma)
    if found is None:
        return None, pragma
    fewer = f" collapse({int(found[1]) - 1})" if int(found[1]) > _PAIR else ""
    (inner,) = inside(loop)
    return inner, COLLAPSE.sub(fewer, pragma)


def inside(loop: c_ast.For) -> list[c_ast.Node]:
    """What a loop does in each iteration."""
    return loop.stmt.block_items or [] if isinstance(loop.stmt, c_ast.Compound) else [loop.stmt]


def in_turn(body: Sequence[c_ast.Node], fresh: Fresh) -> c_ast.For:
    """What threads do one after the other, as a loop of one iteration."""
    name = fresh(IN_TURN)
    condition = binary("<=", c_ast.ID(name), constant(0))
    step = c_ast.UnaryOp("p++", c_ast.ID(name))
    init = c_ast.DeclList([integer(name, constant(0))])
    return c_ast.For(init, condition, step, c_ast.Compound([*body]), body[0].coord)


def turned(loop: c_ast.For, pragma: str, fresh: Fresh) -> c_ast.Node:
    """The loop with its iterations, or those of each group of so many, backwards."""
    found = _SAFELEN.search(pragma)
    group = int(found[1]) if found else 0
    known, start = loop.init.decls[0].name, loop.init.decls[0].init
    iterator = fresh(known)  # other loops have one of that name
    loop = renamed(loop, known, iterator)
    bound, step = loop.cond.right, _step(loop.next)
    span = binary("/", binary("-", bound, start), constant(step))
    inner = fresh("back")
    number: c_ast.Node = c_ast.ID(inner)
    if group:
        outer = fresh("group")
        number = binary("+", binary("*", constant(group), c_ast.ID(outer)), number)
    value = binary("+", start, binary("*", constant(step), number))
    body = c_ast.Compound(
        [integer(iterator, value), c_ast.If(loop.cond, loop.stmt, None, loop.coord)]
    )
    last = constant(group - 1) if group else span
    down = c_ast.UnaryOp("p--", c_ast.ID(inner))
    condition = binary(">=", c_ast.ID(inner), constant(0))
    init = c_ast.DeclList([integer(inner, last)])
    turned = c_ast.For(init, condition, down, body, loop.coord)
    if not group:
        return turned
    groups = binary("/", span, constant(group))
    condition = binary("<=", c_ast.ID(outer), groups)
    up = c_ast.UnaryOp("p++", c_ast.ID(outer))
    init = c_ast.DeclList([integer(outer, constant(0))])
    return c_ast.For(init, condition, up, c_ast.Compound([turned]), loop.coord)


def _step(node: c_ast.Node) -> int:
    return int(node.rvalue.value) if isinstance(node, c_ast.Assignment) else 1
