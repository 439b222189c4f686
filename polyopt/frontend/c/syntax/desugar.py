"""Desugaring: forms of C that say the same as plainer ones, rewritten once for the whole file.

rewrite: ``f(n, a) int n; float *a; { ... }`` -> ``f(int n, float *a) { ... }``

rewrite: ``again: S`` -> ``S``, where nothing jumps to the label

rewrite: ``i = 2; for (; i < n; i++) S`` -> ``for (i = 2; i < n; i++) S``

rewrite: ``for (i = 0, k = 3; i < n; i++, k--) S`` ->
``{ k = 3; for (i = 0; i < n; i++) { S; k--; } }``
"""

# The parser's trees are changed by the names of their parts, which have no types.
# pyright: basic, reportAttributeAccessIssue=false, reportCallIssue=false

from __future__ import annotations

import copy

from pycparser import c_ast

from polyopt.frontend.c.syntax.liveness import continues
from polyopt.frontend.c.syntax.nodes import put
from polyopt.frontend.c.syntax.usage import names_in, nodes, written_name

#: parts of a header from which on it sets more than its iterator
_SEVERAL = 2


def desugared(tree: c_ast.FileAST) -> c_ast.FileAST:
    """The file's tree with its functions in plainer forms; what needs none is shared."""
    result = copy.copy(tree)
    result.ext = [_function(n) if isinstance(n, c_ast.FuncDef) else n for n in tree.ext]
    return result


def _function(node: c_ast.FuncDef) -> c_ast.FuncDef:
    result = copy.copy(node)
    if node.param_decls:
        result.decl = _with_prototype(node.decl, node.param_decls)
        result.param_decls = None
    targets = {n.name for n in nodes(node.body) if isinstance(n, c_ast.Goto)}
    result.body = _plainer(node.body, targets)
    return result


def _with_prototype(decl: c_ast.Decl, given: list[c_ast.Decl]) -> c_ast.Decl:
    """A function's declaration with the types that stand after its arguments' names."""
    types = {one.name: one for one in given}
    result, kind, listed = copy.copy(decl), copy.copy(decl.type), copy.copy(decl.type.args)
    listed.params = [
        types.get(p.name, _integer(p)) if isinstance(p, c_ast.ID) else p for p in listed.params
    ]
    kind.args, result.type = listed, kind
    return result


def _integer(name: c_ast.ID) -> c_ast.Decl:
    kind = c_ast.TypeDecl(name.name, [], None, c_ast.IdentifierType(["int"]), name.coord)
    return c_ast.Decl(name.name, [], [], [], [], kind, None, None, name.coord)


def _plainer(node: c_ast.Node, targets: set[str]) -> c_ast.Node:
    """A statement without labels that nothing jumps to, its loops with starts of their own."""
    if isinstance(node, c_ast.Label) and node.name not in targets:
        return _plainer(node.stmt, targets)
    changed = {
        place: new
        for place, child in node.children()
        if (new := _plainer(child, targets)) is not child
    }
    result = copy.copy(node) if changed else node
    for place, child in changed.items():
        put(result, place, child)
    if isinstance(result, c_ast.For):
        result = _with_one_iterator(result)
    if isinstance(result, c_ast.Compound) and any(map(_has_no_start, result.block_items or [])):
        return c_ast.Compound(_with_starts(list(result.block_items or [])), result.coord)
    return result


def _has_no_start(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.For) and node.init is None and bool(stepped_name(node))


def stepped_name(loop: c_ast.For) -> str:
    """The variable that a loop's last part steps."""
    match loop.next:
        case c_ast.UnaryOp(op="p++" | "++" | "p--" | "--", expr=c_ast.ID(name=name)):
            return name
        case c_ast.Assignment(lvalue=c_ast.ID(name=name)):
            return name
        case _:
            return ""


def _with_starts(items: list[c_ast.Node]) -> list[c_ast.Node]:
    """A block's statements, with what sets a loop's variable just before it in its header."""
    result: list[c_ast.Node] = []
    for item in items:
        if isinstance(item, c_ast.For) and _has_no_start(item):
            start = _taken_start(result, name := stepped_name(item))
            if start is not None:
                loop = copy.copy(item)
                loop.init = c_ast.Assignment("=", c_ast.ID(name, start.coord), start, start.coord)
                result.append(loop)
                continue
        result.append(item)
    return result


def _taken_start(before: list[c_ast.Node], name: str) -> c_ast.Node | None:
    """The value that the last statements give to a variable, taken out of them; or ``None``.

    Constants may be set before other statements that have nothing to do with the variable.
    """
    for position in range(len(before) - 1, -1, -1):
        item = before[position]
        is_last = position == len(before) - 1
        match item:
            case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=found)) if found == name:
                value = item.rvalue
                kept: list[c_ast.Node] = []
            case c_ast.Decl(name=found, storage=[]) if found == name:
                value = item.init
                bare = copy.copy(item)
                bare.init = None
                kept = [bare]
            case c_ast.Pragma() | c_ast.Label():
                return None
            case _:
                if name in names_in(item) or _leaves(item):
                    return None
                continue
        if value is None or name in names_in(value):
            return None
        if not (is_last or isinstance(value, c_ast.Constant)):
            return None
        before[position : position + 1] = kept
        return value
    return None


def _with_one_iterator(loop: c_ast.For) -> c_ast.Node:
    """A loop whose header sets and steps its iterator alone, where the rest can stand outside."""
    starts = list(loop.init.decls) if isinstance(loop.init, c_ast.DeclList) else _listed(loop.init)
    steps = _listed(loop.next)
    if max(len(starts), len(steps)) < _SEVERAL:
        return loop
    tested = names_in(loop.cond)
    own = [one for one in steps if _set_name(one) in tested]
    if len(own) != 1:
        return loop
    name = _set_name(own[0])
    before = [one for one in starts if _set_name(one) != name]
    after = [one for one in steps if one is not own[0]]
    first = [one for one in starts if _set_name(one) == name]
    others = {_set_name(one) for one in (*before, *after)}
    read = {n for one in (*before, *after) for n in names_in(one)}
    if name in read or "" in others or len(first) != 1 or others & _read(first[0], own[0]):
        return loop
    if after and continues(loop.stmt):
        return loop
    result = copy.copy(loop)
    result.next = own[0]
    if isinstance(loop.init, c_ast.DeclList):
        result.init = c_ast.DeclList(first, loop.init.coord)
    else:
        result.init = first[0]
    if after:
        result.stmt = c_ast.Compound([loop.stmt, *after], loop.stmt.coord)
    return c_ast.Compound([*before, result], loop.coord) if before else result


def _listed(node: c_ast.Node | None) -> list[c_ast.Node]:
    if node is None:
        return []
    return list(node.exprs) if isinstance(node, c_ast.ExprList) else [node]


def _set_name(node: c_ast.Node) -> str:
    """The variable that a part of a header declares or sets; "" of anything else."""
    if isinstance(node, c_ast.Decl):
        return node.name if node.init is not None else ""
    return written_name(node) or "" if _is_of_scalar(node) else ""


def _is_of_scalar(node: c_ast.Node) -> bool:
    target = getattr(node, "lvalue", None) or getattr(node, "expr", None)
    return isinstance(target, c_ast.ID)


def _read(start: c_ast.Node, step: c_ast.Node) -> set[str]:
    return names_in(start) | names_in(step)


def _leaves(item: c_ast.Node) -> bool:
    """Whether a statement may go elsewhere than to the next one."""
    jumps = (c_ast.Goto, c_ast.Break, c_ast.Continue, c_ast.Return, c_ast.Label)
    return any(isinstance(node, jumps) for node in nodes(item))
