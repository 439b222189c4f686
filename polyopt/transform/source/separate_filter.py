"""Separable filter: a two-dimensional convolution becomes a column and a row pass.

A weighted sum over a window is added up across the last dimension, and then along it.

relation: ``S[i]`` reads ``A[f(i) + (p, q)]`` with weight ``a[p] * b[q]``; a new statement
``{ T[i] }`` adds up over ``p``, and ``S[i]`` reads ``T[i + q]`` over ``q``.

rewrite: ``out[y][x] = sum_p sum_q a[p]*b[q] * in[y+p][x+q];`` ->
``t[y][x] = sum_p a[p] * in[y+p][x]; out[y][x] = sum_q b[q] * t[y][x+q];``

*Requires* integers, whose sums wrap: factors may be taken out of them. Weights have to be products
of one per row and one per column (a *separable* window), and the statement alone in its nest.
It has to come before all other moves: the program gets one more array. *Does not handle* floating
sums: they would be rounded differently.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd
from typing import TYPE_CHECKING

from polyopt.errors import InvalidOptionError
from polyopt.ir.block import Block
from polyopt.ir.build import binary, const, load, negate
from polyopt.ir.expr import Affine, Expr, Load, index_of, rewrite
from polyopt.ir.scop import Array, Statement
from polyopt.isl import Map, affine_constant, affine_var, constant_value, dim_type
from polyopt.transform.schedule.nest import is_alone, renamed
from polyopt.transform.schedule.query import unknown
from polyopt.transform.schedule.registry import transformation
from polyopt.transform.source.linear_combination import element_load, terms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.ir.scop import Scop
    from polyopt.ir.types import ScalarType
    from polyopt.isl import PwAff, Set, Space

#: how far an element lies from the first one of a window, by dimension of its array
Offset = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Window:
    """A separable weighted sum inside a statement's value."""

    #: the node of the value that is the sum, and one of its elements
    sum: Expr
    element: Expr
    #: the iterator that the second pass goes along: in the first it is the element's place
    iterator: int
    #: weights of the first pass by offset from ``element``, of the second by offset from the place
    first: Mapping[Offset, int]
    second: Mapping[int, int]
    constant: int


@transformation("source")
def separate_filter(scop: Scop, *names: str) -> Scop:
    """The program with some statements' separable filters as a column and a row pass."""
    for name in names:
        scop = _in_two(scop, name)
    return scop


def _in_two(scop: Scop, name: str) -> Scop:
    statement = next((s for s in scop.statements if s.name == name), None)
    if statement is None:
        raise unknown("statement", name, [s.name for s in scop.statements])
    window = window_of(scop, statement)
    if window is None:
        message = f"{name} adds up no separable window of integers"
        hint = "weights have to be products of one per row and one per column"
        raise InvalidOptionError(message, span=statement.span, hint=hint)
    made = _passes(scop, statement, window)
    if made is None:
        message = f"the first pass of {name} would have no simple bounds"
        raise InvalidOptionError(message, span=statement.span)
    array, first, second = made
    at = scop.statements.index(statement)
    statements = (*scop.statements[:at], first, second, *scop.statements[at + 1 :])
    nest = tuple(
        new
        for node in scop.nest
        for new in ((renamed(node, first.name), node) if is_alone(node, name) else (node,))
    )
    return replace(scop, arrays=(*scop.arrays, array), statements=statements, nest=nest)


def window_of(scop: Scop, statement: Statement) -> Window | None:
    """The separable window that a statement adds up; ``None`` where there is none."""
    alone = any(is_alone(node, statement.name) for node in scop.nest)
    if isinstance(statement.value, Block) or statement.spread or not alone:
        return None
    for node in _outermost_sums(statement.value):
        found = _window(node, statement)
        if found is not None:
            return found
    return None


def _outermost_sums(expr: Expr) -> list[Expr]:
    found = terms(expr)
    if found is not None and len(found) > 1:
        return [expr]
    return [node for child in expr.children for node in _outermost_sums(child)]


def _window(node: Expr, statement: Statement) -> Window | None:
    """A sum as a window: all terms are one array's elements, a constant distance apart."""
    found = terms(node) or []
    elements = [(weight, e, element_load(e)) for weight, e in found if e is not None]
    if len(elements) < 4:
        return None
    _, element, base = elements[0]
    weights: dict[Offset, int] = {}
    for weight, other, other_load in elements:
        offset = _offset(base, other_load)
        if offset is None or other_load.array == statement.array or not _converted(element, other):
            return None
        weights[offset] = weights.get(offset, 0) + weight
    moving = [d for d in range(len(base.index)) if len({offset[d] for offset in weights}) > 1]
    if len(moving) < 2:
        return None
    along = moving[-1]
    walked = _iterator(base, along, statement)
    factors = _factors(weights, along, node.type)
    if walked is None or factors is None:
        return None
    iterator, start = walked
    first = {
        tuple(o - start * (d == along) for d, o in enumerate(k)): v for k, v in factors[0].items()
    }
    second = {offset + start: weight for offset, weight in factors[1].items()}
    constant = sum(weight for weight, e in found if e is None)
    return Window(node, element, iterator, first, second, constant)


def _offset(base: Load, other: Load) -> Offset | None:
    """How far one element is from another, where that is the same for all instances."""
    if base.array != other.array:
        return None
    result: list[int] = []
    for one, two in zip(base.index, other.index, strict=True):
        assert isinstance(one, Affine)
        assert isinstance(two, Affine)
        away = constant_value(two.form.sub(one.form))
        if away is None:
            return None
        result.append(away)
    return tuple(result)


def _converted(one: Expr, other: Expr) -> bool:
    """Whether two elements go through the same types."""
    if one.type != other.type or isinstance(one, Load) != isinstance(other, Load):
        return False
    return isinstance(one, Load) or _converted(one.children[0], other.children[0])


def _iterator(base: Load, along: int, statement: Statement) -> tuple[int, int] | None:
    """The iterator that a subscript moves one by one with, and no other subscript does; with what
    is added to it, where that is a number."""
    index = base.index[along]
    assert isinstance(index, Affine)
    used = [k for k in range(len(statement.iterators)) if _involves(index.form, k)]
    if len(used) != 1:
        return None
    others = [i.form for d, i in enumerate(base.index) if isinstance(i, Affine) and d != along]
    away = index.form.sub(affine_var(statement.space, used[0]))
    is_unit = not _involves(away, used[0]) and away.n_piece() == 1
    if not is_unit or any(_involves(form, used[0]) for form in others):
        return None
    return used[0], constant_value(away) or 0


def _involves(form: PwAff, iterator: int) -> bool:
    return form.involves_dims(dim_type.in_, iterator, 1)


def _factors(
    weights: Mapping[Offset, int], along: int, type_: ScalarType
) -> tuple[dict[Offset, int], dict[int, int]] | None:
    """The weights as products, across and along a dimension; ``None`` where they are none."""
    rows: dict[Offset, dict[int, int]] = {}
    for offset, weight in weights.items():
        signed = (weight + (1 << (type_.bits - 1))) % (1 << type_.bits) - (1 << (type_.bits - 1))
        if signed:
            across = tuple(0 if d == along else o for d, o in enumerate(offset))
            rows.setdefault(across, {})[offset[along]] = signed
    if len(rows) < 2:
        return None
    model = next(iter(rows.values()))
    common = gcd(*model.values())
    second = {offset: weight // common for offset, weight in model.items()}
    first: dict[Offset, int] = {}
    for across, row in rows.items():
        factor, rest = divmod(next(iter(row.values())), second.get(next(iter(row)), 0) or 1)
        if rest or row != {offset: factor * weight for offset, weight in second.items()}:
            return None
        first[across] = factor
    return (first, second) if len(second) > 1 else None


def _passes(
    scop: Scop, statement: Statement, window: Window
) -> tuple[Array, Statement, Statement] | None:
    """The array between the passes, the first, and the second: the statement itself."""
    name = scop.unused_name(f"{statement.array}_pass")
    domain = statement.domain.apply(_shifts(statement, window, name)).coalesce()
    domain = domain.set_tuple_name(name)
    box = array_box(domain, scop)
    if box is None or domain.n_basic_set() != 1:
        return None
    lows, extents = box
    type_ = window.sum.type
    array = Array(name, type_, extents, "temp", lows, span=statement.span)
    space = domain.get_space()
    own = tuple(index_of(affine_var(space, d)) for d in range(len(statement.iterators)))
    across = [
        (weight, _element(window.element, offset, space)) for offset, weight in window.first.items()
    ]
    first = Statement(name, statement.iterators, domain, name, own, _sum(across, 0), statement.span)
    space = statement.space
    shifted: list[tuple[int, Expr]] = []
    for offset, weight in window.second.items():
        index = [affine_var(space, d) for d in range(len(statement.iterators))]
        index[window.iterator] = index[window.iterator].add(affine_constant(space, offset))
        shifted.append((weight, load(type_, name, tuple(map(index_of, index)))))
    added = _sum(shifted, window.constant)
    value = rewrite(statement.value, lambda node: added if node is window.sum else node)
    return array, first, replace(statement, value=value)


def _shifts(statement: Statement, window: Window, name: str) -> Map:
    """``{ S[i] -> T[i + q] }`` for all offsets of the second pass, and those between them."""
    space, result = statement.space, None
    for offset in range(min(window.second), max(window.second) + 1):
        parts = [affine_var(space, d) for d in range(len(statement.iterators))]
        parts[window.iterator] = parts[window.iterator].add(affine_constant(space, offset))
        shift = Map.from_pw_aff(parts[0])
        for part in parts[1:]:
            shift = shift.flat_range_product(Map.from_pw_aff(part))
        shift = shift.set_tuple_name(dim_type.out, name)
        result = shift if result is None else result.union(shift)
    assert result is not None
    for d, iterator in enumerate(statement.iterators):
        result = result.set_dim_name(dim_type.out, d, iterator)
    return result


def array_box(domain: Set, scop: Scop) -> tuple[tuple[PwAff, ...], tuple[PwAff, ...]] | None:
    """First indices and extents of an array over a domain."""
    known = domain.intersect_params(scop.context)
    lows: list[PwAff] = []
    extents: list[PwAff] = []
    for d in range(domain.dim(dim_type.set)):
        low = known.dim_min(d).gist(scop.context).coalesce()
        high = known.dim_max(d).gist(scop.context).coalesce()
        if low.n_piece() != 1 or high.n_piece() != 1:
            return None
        lows.append(low)
        extents.append(high.sub(low).add(affine_constant(low.get_domain_space(), 1)).coalesce())
    return tuple(lows), tuple(extents)


def _element(element: Expr, offset: Offset, space: Space) -> Expr:
    """The first element of a window, moved by an offset, as the statement of ``space`` reads it."""
    if not isinstance(element, Load):
        return element.with_children((_element(element.children[0], offset, space),))
    index: list[Expr] = []
    for part, away in zip(element.index, offset, strict=True):
        assert isinstance(part, Affine)
        form = part.form.set_tuple_id(dim_type.in_, space.get_tuple_id(dim_type.set))
        constant = affine_constant(form.get_domain_space(), away)
        index.append(index_of(form.add(constant)))
    return load(element.type, element.array, tuple(index))


def _sum(weighted: list[tuple[int, Expr]], constant: int) -> Expr:
    result: Expr | None = None
    for weight, element in weighted:
        term = element
        if weight == -1:
            term = negate(element)
        elif weight != 1:
            term = binary("mul", const(element.type, weight), element)
        result = term if result is None else binary("add", result, term)
    assert result is not None
    if constant:
        result = binary("add", result, const(result.type, constant))
    return result
