"""Iterators whose last value is used after a region: loops get their own, and the value is set.

rewrite: ``for (k = lo; k < hi; k++) S(k);`` ->
``for (int k_1 = lo; k_1 < hi; k_1++) S(k_1); k = lo < hi ? hi : lo;``

*Requires* loops of the region itself, with steps of one, that no ``break`` leaves, and bounds that
the region does not change.
"""

# The parser's trees are copied and changed by the names of their parts, which have no types.
# pyright: basic, reportCallIssue=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.frontend.c.syntax.desugar import stepped_name
from polyopt.frontend.c.syntax.loop_headers import counted
from polyopt.frontend.c.syntax.nodes import binary, constant, renamed
from polyopt.frontend.c.syntax.usage import iterator_of, names_in, nodes, usage_of

if TYPE_CHECKING:
    from collections.abc import Sequence

#: by relation and step: what is added to the bound
_ENDS = {("<", 1): 0, ("<=", 1): 1, (">", -1): 0, (">=", -1): -1, ("!=", 1): 0, ("!=", -1): 0}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}
#: what bounds may be made of, so that they can be worked out once more
_PLAIN = (
    c_ast.ID, c_ast.Constant, c_ast.BinaryOp, c_ast.UnaryOp, c_ast.Cast, c_ast.Typename,
    c_ast.TypeDecl, c_ast.IdentifierType,
)  # fmt: skip
_STEPS = {"p++": 1, "++": 1, "p--": -1, "--": -1}


def with_final(
    items: Sequence[c_ast.Node], decl: c_ast.Decl, fresh: str
) -> list[c_ast.Node] | None:
    """The items with loops over ``fresh`` in place of those over a variable, and its last value.

    ``None`` where that is not simply found.
    """
    name = decl.name
    loops = [item for item in items if isinstance(item, c_ast.For) and iterator_of(item) == name]
    elsewhere = [item for item in items if not any(item is loop for loop in loops)]
    if not loops or any(name in _mentioned(item) for item in elsewhere):
        return None
    if any(_is_left(loop, name) for loop in loops):
        return None
    usage = usage_of(items)
    value = _final(loops[-1], decl, {*usage.assigned, *usage.iterated})
    if value is None:
        return None
    changed = [_own(item, decl, fresh) if item not in elsewhere else item for item in items]
    target = c_ast.ID(name, loops[-1].coord)
    return [*changed, c_ast.Assignment("=", target, value, loops[-1].coord)]


def with_start(
    items: Sequence[c_ast.Node], decl: c_ast.Decl, fresh: str
) -> list[c_ast.Node] | None:
    """The items with a loop over ``fresh`` in place of one that goes on from a variable's value.

    rewrite: ``for (; k < hi; k++) S(k);`` -> ``for (int k_1 = k; k_1 < hi; k_1++) S(k_1);``, where
    the variable is not used afterwards. ``None`` where that is not simply found.
    """
    name = decl.name
    users = [item for item in items if name in _mentioned(item)]
    loop = users[0] if len(users) == 1 else None
    if not isinstance(loop, c_ast.For) or loop.init is not None or stepped_name(loop) != name:
        return None
    if _is_left(loop, name):
        return None
    started = copy.copy(loop)
    started.init = c_ast.Assignment("=", c_ast.ID(name, loop.coord), constant(0), loop.coord)
    made = _own(started, decl, fresh)
    made.init.decls[0].init = c_ast.ID(name, loop.coord)
    return [made if item is loop else item for item in items]


def over_own(loop: c_ast.For, decl: c_ast.Decl, fresh: str) -> c_ast.For:
    """A loop over ``fresh`` in place of a variable; its start may still be of that."""
    made = _own(loop, decl, fresh)
    made.init.decls[0].init = loop.init.rvalue
    return made


def _mentioned(node: c_ast.Node) -> set[str]:
    return names_in(node) | {n.name for n in nodes(node) if isinstance(n, c_ast.Decl)}


def _is_left(loop: c_ast.For, name: str) -> bool:
    """Whether a loop may end early, or its body has to do with the variable's own value."""
    if isinstance(loop.init, c_ast.DeclList):
        return True
    for node in nodes(loop.stmt):
        if isinstance(node, (c_ast.Break, c_ast.Return, c_ast.Goto)):
            return True
        if isinstance(node, c_ast.Decl) and node.name == name:
            return True
        if isinstance(node, c_ast.For) and iterator_of(node) == name:
            return True
    return usage_of([loop.stmt]).assigned.get(name, 0) > 0


def _final(loop: c_ast.For, decl: c_ast.Decl, changed: set[str]) -> c_ast.Node | None:
    """The value of a loop's variable after it."""
    cond, start, step = loop.cond, loop.init, _step(loop)
    test = counted(loop, decl.name)
    if test is not None:
        cond, step = test.cond, test.step
    if not isinstance(cond, c_ast.BinaryOp) or not isinstance(start, c_ast.Assignment):
        return None
    sides = {_name(cond.left): (cond.op, cond.right)}
    sides.setdefault(_name(cond.right), (_MIRRORED.get(cond.op, ""), cond.left))
    relation, bound = sides.get(decl.name, ("", cond))
    more = _ENDS.get((relation, step))
    if (
        more is None
        or start.op != "="
        or not all(_is_fixed(n, changed) for n in (bound, start.rvalue))
    ):
        return None
    type_ = c_ast.Typename(None, [], None, decl.type, decl.coord)
    first: c_ast.Node = c_ast.Cast(type_, start.rvalue, start.coord)
    if test is not None and test.stepped:
        first = c_ast.Cast(type_, _plus(first, step), start.coord)
    entered = copy.copy(cond)
    if _name(cond.left) == decl.name:
        entered.left = first
    else:
        entered.right = first
    value = c_ast.TernaryOp(entered, _plus(bound, more), first, loop.coord)
    # the test that fails steps, too
    return value if test is None or test.stepped else _plus(value, step)


def _plus(value: c_ast.Node, more: int) -> c_ast.Node:
    return binary("+" if more > 0 else "-", value, constant(1)) if more else value


def _is_fixed(node: c_ast.Node, changed: set[str]) -> bool:
    return all(isinstance(n, _PLAIN) for n in nodes(node)) and not names_in(node) & changed


def _step(loop: c_ast.For) -> int:
    """One or minus one; 0 for other steps."""
    following = loop.next
    if isinstance(following, c_ast.UnaryOp):
        return _STEPS.get(following.op, 0)
    if isinstance(following, c_ast.Assignment) and following.op in {"+=", "-="}:
        value = following.rvalue
        if isinstance(value, c_ast.Constant) and value.value == "1":
            return 1 if following.op == "+=" else -1
    return 0


def _name(node: c_ast.Node) -> str:
    return node.name if isinstance(node, c_ast.ID) else ""


def _own(loop: c_ast.Node, decl: c_ast.Decl, fresh: str) -> c_ast.For:
    """The loop over a variable of its own, of the same type."""
    result = renamed(loop, decl.name, fresh)
    assert isinstance(result, c_ast.For)
    assert isinstance(result.init, c_ast.Assignment)
    assert isinstance(decl.type, c_ast.TypeDecl)
    kind = c_ast.TypeDecl(fresh, [], None, decl.type.type, decl.coord)
    own = c_ast.Decl(fresh, [], [], [], [], kind, result.init.rvalue, None, result.init.coord)
    result.init = c_ast.DeclList([own], own.coord)
    return result
