"""Searches that test strips of whole vectors at once, read as the loops that they leave out.

rewrite: ``int32_t changes = n != 64; if (n == 64) simd for (j) changes = changes | (best < a[j]);
if (changes != 0) for (j) { best = best < a[j] ? a[j] : best; }`` ->
``for (j) { best = best < a[j] ? a[j] : best; }``

A loop that is left out changes nothing: each of its assignments keeps what it assigns to where the
condition is false, so that the first iteration leaves what the second compares, and so on. What is
no such search stays, and is refused for its pragma.
"""

# The parser's trees have no types.
# pyright: basic, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false

from __future__ import annotations

from pycparser import c_ast

from polyopt.frontend.c.readback.whitelist import odd_storage
from polyopt.frontend.c.syntax.nodes import text_of
from polyopt.frontend.c.syntax.usage import names_in

_COMPARISONS = frozenset({"<", "<=", ">", ">="})
#: a test, a loop of tests, and the search
_PARTS = 3


def with_plain_searches(items: list[c_ast.Node]) -> list[c_ast.Node]:
    """Statements of a block, with the plain loop in place of each search in strips."""
    result: list[c_ast.Node] = []
    rest = list(items)
    while rest:
        found = _plain_search(*rest[:_PARTS]) if len(rest) >= _PARTS else None
        result.append(rest[0] if found is None else found)
        rest = rest[1 if found is None else _PARTS :]
    return result


def _plain_search(decl: c_ast.Node, tested: c_ast.Node, kept: c_ast.Node) -> c_ast.For | None:
    """The loop that three statements run, or leave out where nothing would change."""
    if not isinstance(decl, c_ast.Decl) or odd_storage(decl):
        return None
    name, init = decl.name, decl.init
    if not isinstance(init, c_ast.BinaryOp):
        return None
    if not (isinstance(tested, c_ast.If) and isinstance(kept, c_ast.If)):
        return None
    if tested.iffalse or kept.iffalse or text_of(kept.cond) != f"{name} != 0":
        return None
    # either the strip is whole, and tested, or it is kept
    if init.op != "!=" or not _are_opposites(init, tested.cond):
        return None
    test, search = _body(tested), _body(kept)
    if (len(test), len(search)) != (2, 1):
        return None
    pragma, loop, found = *test, *search
    if getattr(pragma, "string", "") != f"omp simd reduction(| : {name})":
        return None
    if not (isinstance(loop, c_ast.For) and isinstance(found, c_ast.For)):
        return None
    if _header(loop) != _header(found):
        return None
    condition = _condition(loop, name)
    return found if condition is not None and _is_search(found, condition) else None


def _are_opposites(one: c_ast.BinaryOp, other: c_ast.Node) -> bool:
    """Whether ``a != b`` and ``a == b`` are of the same two."""
    if not isinstance(other, c_ast.BinaryOp) or other.op != "==":
        return False
    return (text_of(one.left), text_of(one.right)) == (text_of(other.left), text_of(other.right))


def _body(node: c_ast.If | c_ast.For) -> list[c_ast.Node]:
    stmt = node.iftrue if isinstance(node, c_ast.If) else node.stmt
    return list(stmt.block_items or []) if isinstance(stmt, c_ast.Compound) else []


def _header(loop: c_ast.For) -> tuple[str, ...]:
    return tuple(text_of(part) for part in (loop.init, loop.cond, loop.next))


def _condition(loop: c_ast.For, name: str) -> c_ast.BinaryOp | None:
    """What a loop of ``name = name | condition`` compares."""
    body = _body(loop)
    value = getattr(body[0], "rvalue", None) if len(body) == 1 else None
    if not isinstance(value, c_ast.BinaryOp) or value.op != "|" or body[0].op != "=":
        return None
    if text_of(body[0].lvalue) != name or text_of(value.left) != name:
        return None
    found = value.right
    return found if isinstance(found, c_ast.BinaryOp) and found.op in _COMPARISONS else None


def _is_search(loop: c_ast.For, condition: c_ast.BinaryOp) -> bool:
    """Whether a loop changes nothing in iterations before the first for which it holds."""
    compared, wanted = set(names_in(condition)), text_of(condition)
    #: variables of an iteration, with the text of what they are
    own: dict[str, str | None] = {}
    changed: set[str] = set()
    for item in _body(loop):
        if isinstance(item, c_ast.Decl):
            own[item.name] = None
            value, name = item.init, item.name
        elif isinstance(item, c_ast.Assignment) and isinstance(item.lvalue, c_ast.ID):
            value, name = item.rvalue, item.lvalue.name
            if item.op != "=":
                return False
        else:
            return False
        if name in own:
            # what is read after a change is not what the iteration began with
            stale = value is None or changed & set(names_in(value))
            own[name] = None if stale else text_of(value)
            continue
        if not isinstance(value, c_ast.TernaryOp) or text_of(value.iffalse) != name:
            return False
        asked = text_of(value.cond)
        known = own.get(asked) if isinstance(value.cond, c_ast.ID) else asked
        if known != wanted or (asked == wanted and changed & compared):
            return False
        changed.add(name)
    header = {name for part in (loop.init, loop.cond, loop.next) for name in names_in(part)}
    if changed & header or set(own) & compared:
        return False
    sides = (condition.left, condition.right)
    return all(isinstance(s, c_ast.ID) or not changed & set(names_in(s)) for s in sides)
