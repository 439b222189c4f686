"""Building affine expressions by operations, never by formatted text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from polyopt.isl.api import (
    Aff,
    IslError,
    Map,
    MultiAff,
    PwAff,
    PwMultiAff,
    Space,
    context,
    dim_type,
    integer_val,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


def params_space(params: Sequence[str]) -> Space:
    """``[params] -> { : }``."""
    space = Space.params_alloc(context(), len(params))
    for position, name in enumerate(params):
        space = space.set_dim_name(dim_type.param, position, name)
    return space


def instance_space(params: Sequence[str], name: str, iterators: Sequence[str]) -> Space:
    """``[params] -> { name[iterators] }``."""
    space = params_space(params).set_from_params().add_dims(dim_type.set, len(iterators))
    for position, iterator in enumerate(iterators):
        space = space.set_dim_name(dim_type.set, position, iterator)
    return space.set_tuple_name(dim_type.set, name) if name else space


def affine_constant(space: Space, value: int) -> PwAff:
    """``{ S[i] -> [value] }`` over the given set (or parameter) space."""
    return PwAff.from_aff(Aff.val_on_domain_space(space, integer_val(value)))


def affine_var(space: Space, position: int) -> PwAff:
    """``{ S[i] -> [i_position] }``."""
    return PwAff.from_aff(Aff.var_on_domain(space.to_local_space(), dim_type.set, position))


def affine_param(space: Space, name: str) -> PwAff:
    """``[N] -> { S[i] -> [N] }``; ``name`` has to be a parameter of ``space``."""
    position = space.find_dim_by_name(dim_type.param, name)
    return PwAff.from_aff(Aff.var_on_domain(space.to_local_space(), dim_type.param, position))


def constant_value(value: PwAff) -> int | None:
    """The constant that a quasi-affine expression is everywhere, or ``None``."""
    if value.n_piece() != 1:
        return None
    aff = value.as_aff() if value.isa_aff() else None
    if aff is None or not aff.is_cst():
        return None
    number = aff.get_constant_val()
    return number.to_python() if number.is_int() else None


def parse_value(params: Sequence[str], text: str) -> PwAff | None:
    """``[N] -> { [value] }`` from isl's text of an affine expression; ``None`` for another text."""
    if not re.fullmatch(r"[\w\s+*/(),-]+", text):
        return None
    try:
        found = PwAff.read_from_str(context(), f"[{', '.join(params)}] -> {{ [({text})] }}")
    except IslError:
        return None
    plain = found.dim(dim_type.in_) == 0 and found.n_piece() == 1
    return found if plain and not found.involves_nan() else None


def value_text(value: PwAff) -> str:
    """``floor((N)/2)``: an affine expression of sizes as ``parse_value`` reads it."""
    text = str(value)
    return text[text.index("[(") + 2 : text.rindex(")]")]


def identity_part(space: Space, first: int, count: int) -> PwMultiAff:
    """``{ C[d] -> [d_first, ..., d_(first+count-1)] }`` with an unnamed range."""
    whole = MultiAff.identity_on_domain_space(space).reset_tuple_id(dim_type.out)
    total = space.dim(dim_type.set)
    whole = whole.drop_dims(dim_type.out, first + count, total - first - count)
    return PwMultiAff.from_multi_aff(whole.drop_dims(dim_type.out, 0, first))


def joined_values(parts: Sequence[PwAff], name: str) -> PwMultiAff:
    """``{ S[z] -> name[parts] }``."""
    result = Map.from_pw_aff(parts[0])
    for part in parts[1:]:
        result = result.flat_range_product(Map.from_pw_aff(part))
    return PwMultiAff.from_map(result.set_tuple_name(dim_type.out, name))


def on_tuple(value: PwAff, space: Space) -> PwAff:
    """``{ T[d] -> [v] }`` of ``{ S[d] -> [v] }``, over the space of ``{ T[d] }``."""
    same = identity_part(space, 0, space.dim(dim_type.set))
    if value.has_tuple_id(dim_type.in_):
        same = same.set_tuple_id(dim_type.out, value.get_tuple_id(dim_type.in_))
    return value.pullback_pw_multi_aff(same)


def lift_form(form: PwAff, space: Space) -> PwAff:
    """``{ [i] -> [v] }`` as ``{ [i, j] -> [v] }`` over ``space``."""
    have = form.dim(dim_type.in_)
    form = form.add_dims(dim_type.in_, space.dim(dim_type.set) - have)
    for position in range(have, space.dim(dim_type.set)):
        if space.has_dim_id(dim_type.set, position):
            name = space.get_dim_id(dim_type.set, position)
            form = form.set_dim_id(dim_type.in_, position, name)
    return form
