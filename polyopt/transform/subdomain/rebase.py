"""Statements and arrays of a program, over instances and elements that begin elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.ir.expr import Affine, Inside, Load, RangeHint, inside, rewrite
from polyopt.isl import (
    Map,
    Set,
    affine_constant,
    affine_param,
    affine_var,
    dim_type,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.ir.expr import Expr
    from polyopt.ir.scop import Array, Statement
    from polyopt.isl import PwAff, PwMultiAff
    from polyopt.transform.subdomain.footprints import Footprint


def shift_map(statement: Statement, offsets: Sequence[PwAff], context: Set) -> Map:
    """``{ S[i'] -> S[i' + offset] }``."""
    space = statement.space.align_params(context.get_space())
    parts = [
        affine_var(space, k).add(offset.align_params(context.get_space()).insert_domain(space))
        for k, offset in enumerate(offsets)
    ]
    if not parts:
        return Set.universe(space).identity()
    result = Map.from_pw_aff(parts[0])
    for part in parts[1:]:
        result = result.flat_range_product(Map.from_pw_aff(part))
    return result.set_tuple_name(dim_type.out, statement.name)


def rebased_statement(
    statement: Statement, shift: Map, instances: Set, slabs: Mapping[str, Footprint], context: Set
) -> Statement:
    """The statement over its shifted instances, with subscripts from the slabs' first elements."""
    to_whole = shift.as_pw_multi_aff()
    domain = instances.preimage_pw_multi_aff(to_whole).coalesce()
    domain = domain.gist_params(context).coalesce()
    known = domain.intersect_params(context)

    def based(array: str, index: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(
            _subscript(part, shift, known)
            for part, shift in zip(index, slabs[array].shift, strict=True)
        )

    def change(node: Expr) -> Expr:
        match node:
            case Affine():
                return replace(node, form=_pulled(node.form, to_whole, known))
            case Inside():
                where = node.where.preimage_pw_multi_aff(to_whole)
                return inside(where.gist(known).coalesce())
            case Load():
                return replace(node, index=based(node.array, node.index))
            case RangeHint():
                return node
            case _:
                return node

    index = tuple(replace(e, form=_pulled(e.form, to_whole, known)) for e in statement.index)
    return replace(
        statement,
        domain=domain,
        index=based(statement.array, index),
        value=rewrite(statement.value, change),
    )


def _pulled(form: PwAff, to_whole: PwMultiAff, known: Set) -> PwAff:
    return form.pullback_pw_multi_aff(to_whole).gist(known).coalesce()


def _subscript(part: Expr, shift: PwAff, known: Set) -> Expr:
    """``part - shift``; what is not affine belongs to a dimension that is not shifted."""
    if not isinstance(part, Affine):
        return part
    form = part.form.sub(shift.insert_domain(part.form.get_domain_space()))
    return replace(part, form=form.gist(known).coalesce())


def rebased_array(array: Array, slab: Footprint, context: Set) -> Array:
    """The array as long as its slab, or as the memory that it lies in."""
    space = context.get_space()
    extents = tuple(
        affine_param(space, name) if name else extent.align_params(space)
        for name, extent in zip(slab.spans, slab.extents, strict=True)
    )
    lower = tuple(
        low.align_params(space) if whole else affine_constant(space, 0)
        for low, whole in zip(array.lower, slab.whole, strict=bool(array.lower))
    )
    return replace(array, extents=tuple(e.gist(context).coalesce() for e in extents), lower=lower)


def is_used(name: str, arrays: Sequence[Array], statements: Sequence[Statement]) -> bool:
    """Whether an extent, a domain or an expression depends on a parameter."""
    if any(involves(form, name) for a in arrays for form in (*a.extents, *a.lower)):
        return True
    return any(
        _set_involves(s.domain, name) or any(_value_uses(e, name) for e in (*s.index, s.value))
        for s in statements
    )


def _set_involves(where: Set, name: str) -> bool:
    position = where.find_dim_by_name(dim_type.param, name)
    return position >= 0 and where.involves_dims(dim_type.param, position, 1)


def _value_uses(expr: Expr, name: str) -> bool:
    match expr:
        case Affine():
            used = involves(expr.form, name)
        case Inside():
            used = _set_involves(expr.where, name)
        case RangeHint():
            used = involves(expr.low, name) or involves(expr.high, name)
        case _:
            used = False
    return used or any(_value_uses(child, name) for child in expr.children)


def tidy_array(array: Array) -> Array:
    """The array without parameters that nothing uses."""
    extents = tuple(e.drop_unused_params() for e in array.extents)
    return replace(array, extents=extents, lower=tuple(e.drop_unused_params() for e in array.lower))


def tidy(statement: Statement) -> Statement:
    """The statement without parameters that nothing uses."""

    def change(node: Expr) -> Expr:
        match node:
            case Affine():
                return replace(node, form=node.form.drop_unused_params())
            case Inside():
                return replace(node, where=node.where.drop_unused_params())
            case RangeHint():
                low, high = node.low.drop_unused_params(), node.high.drop_unused_params()
                return replace(node, low=low, high=high)
            case _:
                return node

    return replace(
        statement,
        domain=statement.domain.drop_unused_params(),
        index=tuple(replace(e, form=e.form.drop_unused_params()) for e in statement.index),
        value=rewrite(statement.value, change),
    )


def involves(form: PwAff, name: str) -> bool:
    """Whether an expression depends on a parameter."""
    position = form.find_dim_by_name(dim_type.param, name)
    return position >= 0 and form.involves_dims(dim_type.param, position, 1)
