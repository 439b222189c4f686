"""Arrays of one dimension that the source folds by hand: ``A[i * n + j]`` is ``A[i][j]``.

relation: a subscript that is a polynomial ``q1 * s1 + ... + qk * sk + r`` in iterators and sizes,
with strides ``s1, ..., sk`` of products of sizes where each divides the one before, becomes the
subscripts ``[q1]...[qk][r]`` of an array with the inner extents ``s1 / s2, ..., sk``.

A row may be longer than a size by a number, ``A[i * (n + 2) + j]``, as arrays with borders have it.

*Requires* that all accesses of the region to the array have such a form with the same strides.
That each inner subscript stays within its extent is part of what the Scop's accesses have to
satisfy: for sizes at which they do not, the source's own code runs. (After T. Grosser et al.,
"Optimistic delinearization of parametrically sized arrays", 2015.)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import prod
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.frontend.c.normalize.chosen_places import choices_apart, is_access
from polyopt.frontend.c.normalize.lvalues import replaced
from polyopt.frontend.c.normalize.polynomials import Known, combined, definitions_in, polynomial
from polyopt.frontend.c.syntax.nodes import as_long
from polyopt.frontend.c.syntax.usage import names_in, nodes, usage_of
from polyopt.ir.types import BOOL, I32

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from polyopt.frontend.c.lower.ctypes import CType, Types
    from polyopt.frontend.c.normalize.polynomials import Monomial, Polynomial

#: ways of padding rows are tried, if they are no more
_MOST_SHAPES = 32


@dataclass(frozen=True)
class Shape:
    """How an array of one dimension is folded: its strides, the largest first.

    ``pads`` are what is added to sizes in row lengths: ``m`` and 2 where a row is ``m + 2`` long.
    Strides have such a length as one name, which ``_padded`` gives it.
    """

    strides: tuple[Monomial, ...]
    pads: tuple[tuple[str, int], ...] = ()

    @property
    def extents(self) -> tuple[Monomial, ...]:
        """The inner extents, from the outside in."""
        after = (*self.strides[1:], ())
        return tuple(
            _quotient(one, two) or () for one, two in zip(self.strides, after, strict=True)
        )

    @property
    def lengths(self) -> tuple[tuple[tuple[str, int], ...], ...]:
        """The inner extents as products of sizes and what is added to each."""
        return tuple(tuple(map(_unpadded, names)) for names in self.extents)

    def spelling(self, name: str, sizes: Mapping[str, str]) -> str:
        """``A[({(0)} * n + {(1)}) * m + {2}]``; ``sizes`` are texts of sizes, where not names."""
        text = "{(0)}"
        for k, names in enumerate(self.extents):
            extent = [_spelled(size, sizes) for size in names]
            last = k == len(self.strides) - 1
            inner = f"{{{k + 1}}}" if last else f"{{({k + 1})}}"
            text = f"{f'({text})' if k else text} * {' * '.join(extent)} + {inner}"
        return f"{name}[{text}]"


def unfolded(
    items: list[c_ast.Node], visible: Mapping[str, c_ast.Decl], types: Types
) -> tuple[list[c_ast.Node], dict[str, Shape], dict[str, c_ast.Decl]]:
    """The items with folded arrays unfolded, the arrays' shapes, and their declarations then.

    ``visible`` is what is declared around the items: the arrays and sizes that are looked at.
    """
    names = {name for item in items for name in names_in(item)}
    usage = usage_of(items)
    inside = {n.name for item in items for n in nodes(item) if isinstance(n, c_ast.Decl)}
    fixed = names - set(usage.assigned) - usage.iterated - inside
    sizes = frozenset(n for n in fixed if n in visible and is_size(visible[n], types))
    flat = [n for n in visible if n in fixed and _rank(visible[n].type) == 1]
    items, shapes = delinearized(items, flat, sizes, types, visible)
    return items, shapes, {n: _with_inner(visible[n], shape) for n, shape in shapes.items()}


def is_size(decl: c_ast.Decl, types: Types) -> bool:
    """Whether a declaration is of an integer that extents may be made of."""
    if not isinstance(decl.type, c_ast.TypeDecl):
        return False
    kind = types.of(decl.type)
    return kind.scalar is not None and kind.scalar.is_integer and kind.scalar != BOOL


def _rank(type_: c_ast.Node) -> int:
    rank = 0
    while isinstance(type_, (c_ast.ArrayDecl, c_ast.PtrDecl)):
        type_ = type_.type
        rank += 1
    return rank


def _with_inner(decl: c_ast.Decl, shape: Shape) -> c_ast.Decl:
    """The declaration of an array of one dimension with the inner extents of a shape."""
    assert isinstance(decl.type, (c_ast.ArrayDecl, c_ast.PtrDecl))
    type_: c_ast.Node = decl.type.type
    for extent in reversed(shape.extents):
        dim = _named(extent[0], decl)
        for name in extent[1:]:
            dim = c_ast.BinaryOp("*", dim, _named(name, decl), decl.coord)
        type_ = c_ast.ArrayDecl(type_, dim, [], decl.coord)
    pointer = c_ast.PtrDecl([], type_, decl.coord)
    return c_ast.Decl(decl.name, decl.quals, [], decl.storage, [], pointer, None, None, decl.coord)


def delinearized(
    items: list[c_ast.Node],
    arrays: Iterable[str],
    sizes: frozenset[str],
    types: Types,
    visible: Mapping[str, c_ast.Decl],
) -> tuple[list[c_ast.Node], dict[str, Shape]]:
    """The items with folded arrays unfolded, and the shapes of those arrays.

    ``arrays`` are the candidates, ``sizes`` the names that are the same in the whole region, and
    ``visible`` what is declared around it.
    """
    known = Known(definitions_in(items, types), types, _wrapping(items, visible, types))
    found: dict[str, Shape] = {}
    for name in arrays:
        apart = [choices_apart(item, name, known) for item in items]
        polynomials = [
            polynomial(node.subscript, known)
            for item in apart
            for node in nodes(item)
            if isinstance(node, c_ast.ArrayRef) and is_access(node, name)
        ]
        shape = _padded_shape([p for p in polynomials if p is not None], sizes)
        if shape is not None and all(p is not None for p in polynomials):
            found[name], items = shape, apart
    if not found:
        return items, {}
    return [_unfolded(item, found, known) for item in items], found


def _wrapping(
    items: list[c_ast.Node], visible: Mapping[str, c_ast.Decl], types: Types
) -> frozenset[str]:
    """Names of which some are variables of unsigned types of at least the width of ``int``."""
    inside = [n for item in items for n in nodes(item) if isinstance(n, c_ast.Decl)]
    used = {name for item in items for name in names_in(item)}
    decls = (visible[name] for name in used & visible.keys())
    scalars = [d for d in (*decls, *inside) if isinstance(d.type, c_ast.TypeDecl)]
    return frozenset(d.name for d in scalars if _wraps(types.of(d.type)))


def _wraps(kind: CType) -> bool:
    scalar = kind.scalar
    return scalar is not None and scalar.kind == "uint" and scalar.bits >= I32.bits


def _quotient(one: Monomial, two: Monomial) -> Monomial | None:
    """``one / two`` where that is a product, too."""
    rest = Counter(one)
    rest.subtract(Counter(two))
    if any(count < 0 for count in rest.values()):
        return None
    return tuple(sorted(rest.elements()))


def _shape(polynomials: list[Polynomial], sizes: frozenset[str]) -> Shape | None:
    """Strides that all subscripts share, each a multiple of the next; ``None`` without any."""
    strides: set[Monomial] = set()
    for poly in polynomials:
        for monomial in poly:
            factors = tuple(name for name in monomial if name in sizes)
            if factors and len(monomial) - len(factors) == 1:
                strides.add(factors)
    ordered = sorted(strides, key=lambda s: (-len(s), s))
    for one, two in pairwise(ordered):
        if _quotient(one, two) is None:
            return None
    if not ordered:
        return None
    shape = Shape(tuple(ordered))
    return shape if all(_parts(poly, shape) is not None for poly in polynomials) else None


def _padded_shape(polynomials: list[Polynomial], sizes: frozenset[str]) -> Shape | None:
    """The shape, with or without something added to row lengths, that keeps loops apart best."""
    choices = {name: _pads(polynomials, name, sizes) for name in sorted(sizes)}
    if prod(map(len, choices.values())) > _MOST_SHAPES:
        return _shape(polynomials, sizes)
    best: tuple[int, Shape] | None = None
    for chosen in product(*choices.values()):
        pads = tuple((name, by) for name, by in zip(choices, chosen, strict=True) if by)
        rewritten = [_with_pads(poly, pads) for poly in polynomials]
        shape = _shape(rewritten, sizes | {_padded(*pad) for pad in pads})
        if shape is None:
            continue
        shared = sum(_shared(_parts(poly, shape) or []) for poly in rewritten)
        if best is None or shared < best[0]:
            best = shared, replace(shape, pads=pads)
    return best[1] if best else None


def _pads(polynomials: list[Polynomial], size: str, sizes: frozenset[str]) -> list[int]:
    """What may be added to a size in row lengths: nothing, first."""
    found = {0: None}
    for poly in polynomials:
        for monomial, count in poly.items():
            if monomial.count(size) == 1 and len([n for n in monomial if n not in sizes]) == 1:
                rest = _quotient(monomial, (size,)) or ()
                by, left = divmod(poly.get(rest, 0), count)
                found |= {} if left else {by: None}
    return list(found)


def _padded(size: str, by: int) -> str:
    """What stands for a size and something added in monomials: no name of the program."""
    return f"{size} {'+' if by > 0 else '-'} {abs(by)}"


def _unpadded(name: str) -> tuple[str, int]:
    """The size that a name of a monomial stands for, and what is added to it."""
    size, _, by = name.partition(" ")
    return size, int(by.replace(" ", "") or 0)


def _spelled(name: str, sizes: Mapping[str, str]) -> str:
    size, blank, by = name.partition(" ")
    text = sizes.get(size, size)
    return f"({text} {by})" if blank else text


def _named(name: str, node: c_ast.Node) -> c_ast.Node:
    """A name of a monomial as C."""
    size, by = _unpadded(name)
    made = c_ast.ID(size, node.coord)
    if not by:
        return made
    added = c_ast.Constant("int", str(abs(by)), node.coord)
    return c_ast.BinaryOp("+" if by > 0 else "-", made, added, node.coord)


def _with_pads(poly: Polynomial, pads: tuple[tuple[str, int], ...]) -> Polynomial:
    """The polynomial over padded lengths: ``m`` is what is 2 less than ``m + 2``."""
    for size, by in pads:
        total: Polynomial = {}
        for monomial, count in poly.items():
            term: Polynomial = {tuple(n for n in monomial if n != size): count}
            for _ in range(monomial.count(size)):
                term = combined("*", term, {(_padded(size, by),): 1, (): -by})
            total = combined("+", total, term)
        poly = total
    return poly


def _shared(parts: list[Polynomial]) -> int:
    """How many subscripts names are in, beyond one for each."""
    names = [name for part in parts for name in {n for monomial in part for n in monomial}]
    return len(names) - len(set(names))


def _parts(poly: Polynomial, shape: Shape) -> list[Polynomial] | None:
    """The subscripts of a polynomial, all affine, or ``None``."""
    parts: list[Polynomial] = [{} for _ in range(len(shape.strides) + 1)]
    for monomial, count in poly.items():
        for k, stride in enumerate((*shape.strides, ())):
            rest = _quotient(monomial, stride)
            if rest is not None:
                if len(rest) > 1:
                    return None
                parts[k][rest] = parts[k].get(rest, 0) + count
                break
    return _borrowed(parts, shape)


def _borrowed(parts: list[Polynomial], shape: Shape) -> list[Polynomial]:
    """The parts with a row's length moved to where something is subtracted from it.

    ``A[i * n + n - 1 - j]`` is ``A[i][n - 1 - j]``, not ``A[i + 1][-1 - j]``. Which
    is meant decides what is taken, and never what is computed: all have to be in their extents.
    """
    moved = [dict(part) for part in parts]
    for k in range(len(moved) - 1, 0, -1):
        extent = shape.extents[k - 1]
        if not _is_below(moved[k]):
            continue
        if len(extent) != 1:
            return parts
        moved[k][extent] = moved[k].get(extent, 0) + 1
        moved[k - 1][()] = moved[k - 1].get((), 0) - 1
    moved = [{m: c for m, c in part.items() if c} for part in moved]
    # a row before the one that is written is meant only where even the last element is before it
    before = moved[0].get((), 0) < 0 <= parts[0].get((), 0) and () not in parts[-1]
    return parts if before or _is_below(moved[0]) else moved


def _is_below(part: Polynomial) -> bool:
    """Whether nothing is added and something subtracted."""
    return bool(part) and all(count < 0 for count in part.values())


def _unfolded(node: c_ast.Node, shapes: Mapping[str, Shape], known: Known) -> c_ast.Node:
    if (
        isinstance(node, c_ast.ArrayRef)
        and isinstance(node.name, c_ast.ID)
        and node.name.name in shapes
    ):
        shape = shapes[node.name.name]
        poly = polynomial(node.subscript, known)
        parts = _parts(_with_pads(poly or {}, shape.pads), shape)
        result: c_ast.Node = node.name
        for part in parts or []:
            subscript = _expression(part, node.subscript, known)
            result = c_ast.ArrayRef(result, subscript, node.coord)
        return result
    changed = {
        name: new
        for name, child in node.children()
        if (new := _unfolded(child, shapes, known)) is not child
    }
    return replaced(node, changed) if changed else node


def _expression(poly: Polynomial, node: c_ast.Node, known: Known) -> c_ast.Node:
    """A polynomial of single names as C that does not wrap.

    ``b - 1 - j`` of an unsigned ``j`` may be below zero: with the row added to it, it is the
    element that is meant, and alone it would be far beyond the array.
    """
    coord = node.coord
    total: c_ast.Node | None = None
    for monomial, count in sorted(poly.items(), key=lambda item: (not item[0], item[0])):
        term: c_ast.Node = c_ast.Constant("int", str(abs(count)), coord)
        if monomial:
            name = _named(monomial[0], node)
            name = as_long(name) if _unpadded(monomial[0])[0] in known.wrapping else name
            term = name if abs(count) == 1 else c_ast.BinaryOp("*", term, name, coord)
        if total is None:
            total = term if count > 0 else c_ast.UnaryOp("-", term, coord)
        else:
            total = c_ast.BinaryOp("+" if count > 0 else "-", total, term, coord)
    return total if total is not None else c_ast.Constant("int", "0", coord)
