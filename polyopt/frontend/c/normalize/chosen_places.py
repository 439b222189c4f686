"""Choices of places: folded arrays at one of several neighbours, by tests of iterators.

rewrite: ``int w = x == 0 ? c : c - 1; ... A[w]`` -> ``... (x == 0 ? A[c] : A[c - 1])``

*Requires* that tests are linear, and about the iterators along which the places are neighbours:
then each is an element of an array with its dimensions (``delinearize.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.frontend.c.normalize.lvalues import replaced
from polyopt.frontend.c.normalize.polynomials import (
    Polynomial,
    combined,
    polynomial,
    target_of,
)

if TYPE_CHECKING:
    from polyopt.frontend.c.normalize.polynomials import Known


def is_access(node: c_ast.ArrayRef, name: str) -> bool:
    """Whether an element is one of the array of that name."""
    return isinstance(node.name, c_ast.ID) and node.name.name == name


def choices_apart(node: c_ast.Node, name: str, known: Known) -> c_ast.Node:
    """A node with choices of elements of an array for elements at chosen places.

    ``A[i == 0 ? c : c - 1]`` is ``i == 0 ? A[c] : A[c - 1]``, also where the place has a name.
    """
    target = target_of(node)
    changed = {
        child: new
        for child, below in node.children()
        if (new := choices_apart(below, name, known)) is not below
        and not (below is target and isinstance(new, c_ast.TernaryOp))
    }
    node = replaced(node, changed) if changed else node
    if not isinstance(node, c_ast.ArrayRef) or not is_access(node, name):
        return node
    place = _defined(node.subscript, known)
    if not isinstance(place, c_ast.TernaryOp) or not _stays_inside(place, known):
        return node
    then, other = (
        choices_apart(c_ast.ArrayRef(node.name, part, node.coord), name, known)
        for part in (place.iftrue, place.iffalse)
    )
    return replaced(place, {"iftrue": then, "iffalse": other})


def _defined(node: c_ast.Node, known: Known) -> c_ast.Node:
    """What a name stands for, where it is one."""
    while isinstance(node, c_ast.ID) and node.name in known.definitions:
        node = known.definitions[node.name]
    return node


def _stays_inside(place: c_ast.TernaryOp, known: Known) -> bool:
    """Whether tests of iterators choose between neighbours along those: what is not chosen lies
    beyond a border. ``y == 0 ? c : c - 1`` goes on in the row before, which no shape allows."""
    tested, places = _choices(place, known)
    if None in places or tested is None:
        return False
    first, *others = [p for p in places if p is not None]
    for other in others:
        for apart in combined("-", other, first):
            along = {m[k] for m in first for k in range(len(m)) if (*m[:k], *m[k + 1 :]) == apart}
            if not along & tested:
                return False
    return True


def _choices(
    node: c_ast.Node, known: Known
) -> tuple[frozenset[str] | None, list[Polynomial | None]]:
    """The names that the tests of a choice are about, ``None`` where one is not linear, and the
    places that it is between."""
    node = _defined(node, known)
    if not isinstance(node, c_ast.TernaryOp):
        return frozenset(), [polynomial(node, known)]
    names, places = _linear_test(node.cond, known), list[Polynomial | None]()
    for part in (node.iftrue, node.iffalse):
        more, found = _choices(part, known)
        names = None if names is None or more is None else names | more
        places += found
    return names, places


def _linear_test(node: c_ast.Node, known: Known) -> frozenset[str] | None:
    """The names in a test that is made of linear comparisons, or ``None``."""
    node = _defined(node, known)
    match node:
        case c_ast.UnaryOp(op="!"):
            return _linear_test(node.expr, known)
        case c_ast.BinaryOp(op="&&" | "||"):
            both = [_linear_test(part, known) for part in (node.left, node.right)]
            found = [names for names in both if names is not None]
            return found[0] | found[1] if len(found) == 2 else None
        case c_ast.BinaryOp(op="==" | "!=" | "<" | "<=" | ">" | ">="):
            sides = [polynomial(part, known) for part in (node.left, node.right)]
            if any(side is None or any(len(m) > 1 for m in side) for side in sides):
                return None
            return frozenset(name for side in sides for m in side or () for name in m)
        case _:
            return None
