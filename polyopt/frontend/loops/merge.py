"""``if`` on data as a choice of values: ``if c: a = u else: a = v`` is ``a = u if c else v``."""

from __future__ import annotations

import ast
import copy

Assignment = tuple[ast.expr, ast.expr]


def merged(node: ast.If) -> list[Assignment] | None:
    """The assignments that an ``if`` amounts to, where both branches assign the same targets.

    ``None`` where they do not, or where a test could see what an earlier assignment changed.
    """
    then, other = _branch(node.body), _branch(node.orelse)
    if then is None or other is None or not then or len(then) != len(other):
        return None
    targets = [ast.dump(_loaded(target)) for target, _ in then]
    if targets != [ast.dump(_loaded(target)) for target, _ in other]:
        return None
    changed = {base_name(target) for target, _ in then[:-1]}
    if changed & names_in(node.test):
        return None
    return [
        (target, _choice(node, value, alternative))
        for (target, value), (_, alternative) in zip(then, other, strict=True)
    ]


def _branch(body: list[ast.stmt]) -> list[Assignment] | None:
    result: list[Assignment] = []
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name() | ast.Subscript() as target]):
                result.append((target, node.value))
            case ast.AugAssign():
                result.append((node.target, augmented(node)))
            case ast.If() if node.orelse and (inner := merged(node)) is not None:
                result += inner
            case ast.Pass():
                continue
            case _:
                return None
    return result


def augmented(node: ast.AugAssign) -> ast.expr:
    """``a[x] + v`` of ``a[x] += v``."""
    value = ast.BinOp(_loaded(node.target), node.op, node.value)
    return ast.copy_location(value, node)


def _choice(node: ast.If, then: ast.expr, other: ast.expr) -> ast.expr:
    return ast.copy_location(ast.IfExp(node.test, then, other), then)


def _loaded(target: ast.expr) -> ast.expr:
    """The target as an expression that is read."""
    result = copy.copy(target)
    if isinstance(result, ast.Name | ast.Subscript):
        result.ctx = ast.Load()
    return result


def base_name(target: ast.expr) -> str:
    """The variable that an assignment changes."""
    while isinstance(target, ast.Subscript | ast.Attribute):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def names_in(node: ast.AST) -> set[str]:
    """All names that occur below a node."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _unpacked(target: ast.expr) -> list[ast.expr]:
    """The single targets of ``a, b = ...``."""
    if not isinstance(target, ast.Tuple | ast.List):
        return [target]
    return [part for item in target.elts for part in _unpacked(item)]


def changed_in(body: list[ast.stmt]) -> set[str]:
    """The variables and arrays that some statements may change."""
    result: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign):
                result |= {base_name(t) for target in node.targets for t in _unpacked(target)}
            elif isinstance(node, ast.AugAssign | ast.AnnAssign):
                result.add(base_name(node.target))
    return result


def item_by_item(node: ast.Compare) -> ast.expr | None:
    """``(a, b) == (c, d)`` as ``a == c and b == d``, and ``a in (b, c)`` as ``a == b or a == c``.

    ``None`` for comparisons that are neither.
    """
    if len(node.ops) > 1:
        return None
    left, (op,), (right,) = node.left, node.ops, node.comparators
    if not isinstance(right, ast.Tuple | ast.List) or not right.elts:
        return None

    def one(a: ast.expr, b: ast.expr, same: type[ast.cmpop]) -> ast.expr:
        return ast.copy_location(ast.Compare(a, [same()], [b]), node)

    if isinstance(op, ast.In | ast.NotIn):
        same, join = (ast.Eq, ast.Or()) if isinstance(op, ast.In) else (ast.NotEq, ast.And())
        parts = [one(left, item, same) for item in right.elts]
    elif isinstance(op, ast.Eq | ast.NotEq) and isinstance(left, ast.Tuple | ast.List):
        if type(left) is not type(right) or len(left.elts) != len(right.elts):
            return None
        same, join = (ast.Eq, ast.And()) if isinstance(op, ast.Eq) else (ast.NotEq, ast.Or())
        parts = [one(a, b, same) for a, b in zip(left.elts, right.elts, strict=True)]
    else:
        return None
    return parts[0] if len(parts) == 1 else ast.copy_location(ast.BoolOp(join, parts), node)
