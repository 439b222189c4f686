"""A section: the program for a box of its results, on arrays that begin where the box needs them.

Before, with ``first`` and ``count`` saying which rows are wanted::

    for y in 0 .. H - 2:                 out[y] = in[y] + in[y + 1] + in[y + 2]

After::

    for y in 0 .. count:                 out[y] = in[y] + in[y + 1] + in[y + 2]

where ``out`` is what was ``out[first ..]`` and ``in`` what was ``in[first .. first + count + 2]``.
Corner and size of the box are parameters, so one section serves every box of every image.

Requires: results in arrays whose elements are written by affine subscripts along the cut
dimensions. Fails when: the results have no shape in common (``NotCutError``). Does not handle:
slabs of several pieces; what lies between them becomes part of the slab.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.analysis.needed import needed
from polyopt.analysis.ranges import Range, param_range, typical_values
from polyopt.errors import NotCutError
from polyopt.ir.block import Block
from polyopt.ir.expr import Affine, Inside, Load, Within, inside, rewrite
from polyopt.ir.scop import Array, Loop, Scop, Statement, role_of
from polyopt.isl import (
    Map,
    PwAff,
    Set,
    UnionMap,
    UnionSet,
    affine_constant,
    affine_param,
    affine_var,
    constant_value,
    dim_type,
    params_space,
    sets_of,
    tuple_name,
    union_all,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyopt.analysis.dependences import Dependences
    from polyopt.ir.expr import Expr
    from polyopt.isl import PwMultiAff

#: for what corner and size of the box its bounds are to be tight: in the middle of large arrays
_CORNER, _COUNT = 1 << 19, 1 << 16
_SMALL_CORNERS = (1 << 11, 1 << 7, 1 << 3, 0)
#: a dimension of a constant extent up to this, such as colours, is not cut by default
_FEW = 16


@dataclass(frozen=True)
class Axis:
    """A dimension along which results are cut: ``first <= x < first + count``."""

    dim: int
    first: str
    count: str


@dataclass(frozen=True, eq=False)
class Slab:
    """Where a section's array lies in the whole one.

    Element ``x`` of the section is element ``x + shift`` of the whole. Some of its elements may
    lie outside the whole array: no instance touches those.
    """

    #: [N] -> { [shift] }, one per dimension
    shift: tuple[PwAff, ...]
    #: [N] -> { [offset] }: how many elements of the whole come before the first one
    offset: tuple[PwAff, ...]
    #: [N] -> { [extent] } of what is touched
    extents: tuple[PwAff, ...]
    #: per dimension the parameter that says how far apart its neighbours lie in memory, as the
    #: extent of the array that the slab is a part of; empty where the extent itself says so
    spans: tuple[str, ...]
    #: dimensions of which the slab is all there is
    whole: tuple[bool, ...]
    #: whether all that is touched belongs to the box, or is only read: the memory of the whole
    #: array can stand for the slab
    shared: bool


@dataclass(frozen=True, eq=False)
class Section:
    """A program for a box of the results of another."""

    whole: Scop
    scop: Scop
    #: the arrays of which it computes a box; they have one shape
    outputs: tuple[str, ...]
    axes: tuple[Axis, ...]
    #: the arguments that are arrays, and the temporaries
    slabs: Mapping[str, Slab]
    #: the parameters of the whole program and those of the box
    params: tuple[str, ...]
    #: [N] -> { : what sizes and box satisfy }
    context: Set
    #: { A[x] : x in the box }, of the whole program's arrays
    elements: UnionSet
    #: { S[i] }: the instances of the whole program that it runs
    instances: UnionSet
    #: { S[i'] -> S[i] }: its instances to those of the whole program
    to_whole: UnionMap
    #: { A[x'] -> A[x] }: its elements to those of the whole program
    to_elements: UnionMap


def section(
    deps: Dependences, outputs: Sequence[str], *, dims: Sequence[int] | None = None
) -> Section:
    """The program for a box of ``outputs``, arrays of one shape that the program returns.

    ``dims`` are the dimensions to cut; by default all but short ones of constant extent.
    Raises ``NotCutError``, ``NotDecidedError``.
    """
    scop = deps.scop
    axes = _axes(scop, outputs, dims)
    box = _Box.of(scop, outputs, axes)
    instances = needed(deps, box.elements, box.typical)
    return _rebased(scop, outputs, axes, box, instances)


def cuttable(scop: Scop, output: str) -> tuple[int, ...]:
    """The dimensions of a result along which boxes of it can be computed on their own.

    Not those where data say which element is written.
    """
    writers = [s for s in scop.statements if s.array == output]
    if any(isinstance(s.value, Block) for s in writers):
        return ()
    free = {k for s in writers for k in s.spread}
    return tuple(k for k in range(scop.array(output).rank) if k not in free)


def _axes(scop: Scop, outputs: Sequence[str], dims: Sequence[int] | None) -> tuple[Axis, ...]:
    possible = [k for k in cuttable(scop, outputs[0]) if all(k in cuttable(scop, o) for o in outputs)]
    if dims is None:
        extents = scop.array(outputs[0]).extents
        fixed = {k: constant_value(extents[k]) for k in possible}
        dims = [k for k, number in fixed.items() if number is None or number > _FEW]
    taken = {*scop.params, *(a.name for a in scop.arrays)}
    names = _dimension_names(scop, outputs[0])
    return tuple(
        Axis(k, _fresh(f"{names[k]}_first", taken), _fresh(f"{names[k]}_count", taken))
        for k in dims
        if k in possible
    )


def _dimension_names(scop: Scop, output: str) -> list[str]:
    """What the program's loops call an array's dimensions: the iterator that is the subscript."""
    rank = scop.array(output).rank
    names = [f"{output}{k}" for k in range(rank)]
    for statement in scop.statements:
        if statement.array != output:
            continue
        for k, part in enumerate(statement.index):
            for position, iterator in enumerate(statement.iterators):
                if part.form.is_equal(affine_var(statement.space, position)):
                    names[k] = iterator
    return names if len(set(names)) == rank else [f"{output}{k}" for k in range(rank)]


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


@dataclass(frozen=True, eq=False)
class _Box:
    """The box as sets over all parameters."""

    params: tuple[str, ...]
    #: [N] -> { : ... }
    context: Set
    #: { A[x] : x in the box }, for each output
    elements: UnionSet
    typical: dict[str, int]

    @classmethod
    def of(cls, scop: Scop, outputs: Sequence[str], axes: Sequence[Axis]) -> _Box:
        params = (*scop.params, *(name for a in axes for name in (a.first, a.count)))
        space = params_space(params)
        context = scop.context.align_params(space)
        extents = scop.array(outputs[0]).extents
        one, zero = affine_constant(space, 1), affine_constant(space, 0)
        for axis in axes:
            first, count = affine_param(space, axis.first), affine_param(space, axis.count)
            context = context.intersect(first.ge_set(zero)).intersect(count.ge_set(one))
            context = context.intersect(first.add(count).le_set(extents[axis.dim]))
        context = context.coalesce()
        elements = [_cut(scop, scop.array(name), axes, params, context) for name in outputs]
        wanted = {a.first: _CORNER for a in axes} | {a.count: _COUNT for a in axes}
        typical = typical_values(context, scop.params, wanted)
        for corner in _SMALL_CORNERS:
            if all(typical[a.first] > 0 for a in axes):
                break
            wanted = {a.first: corner for a in axes} | {a.count: max(1, corner // 4) for a in axes}
            typical = typical_values(context, scop.params, wanted)
        union = UnionSet.empty_ctx(space.get_ctx())
        for part in elements:
            union = union.union(part.to_union_set())
        return cls(params, context, union, typical)


def _cut(
    scop: Scop, array: Array, axes: Sequence[Axis], params: tuple[str, ...], context: Set
) -> Set:
    elements = array.elements(scop.params).align_params(params_space(params))
    space = elements.get_space()
    for axis in axes:
        index = affine_var(space, axis.dim)
        if array.lower:
            index = index.sub(array.lower[axis.dim].insert_domain(space))
        first, count = affine_param(space, axis.first), affine_param(space, axis.count)
        elements = elements.intersect(index.ge_set(first)).intersect(index.lt_set(first.add(count)))
    return elements.intersect_params(context)


def _rebased(
    scop: Scop, outputs: Sequence[str], axes: tuple[Axis, ...], box: _Box, instances: UnionSet
) -> Section:
    parts = {tuple_name(part): part for part in sets_of(instances)}
    kept = [s for s in scop.statements if s.name in parts]
    nest = tuple(_pruned(scop.nest, parts))
    offsets = _loop_offsets(nest, parts, axes, box)
    slabs = _slabs(scop, outputs, kept, parts, axes, box, offsets)
    names = {name for slab in slabs.values() for name in slab.spans if name}
    context = _with_spans(box, slabs, names)
    shifts = {s.name: _shift(s, offsets[s.name], context) for s in kept}
    statements = [
        _statement(s, shifts[s.name], parts[s.name], slabs, context) for s in kept
    ]
    arrays = [_array(a, slabs[a.name], context) for a in scop.arrays if a.name in slabs]
    return _assembled(
        _Parts(scop, tuple(outputs), axes, box, nest, slabs, context, instances),
        arrays,
        statements,
        shifts,
    )


def _pruned(body: tuple[Loop | str, ...], kept: Mapping[str, Set]) -> Iterator[Loop | str]:
    for node in body:
        if isinstance(node, str):
            if node in kept:
                yield node
        elif inner := tuple(_pruned(node.body, kept)):
            yield replace(node, body=inner)


def _loop_offsets(
    nest: tuple[Loop | str, ...], parts: Mapping[str, Set], axes: Sequence[Axis], box: _Box
) -> dict[str, list[PwAff]]:
    """Per statement, what its loops begin at: one offset for all statements in one loop."""
    result: dict[str, list[PwAff]] = {name: [] for name in parts}
    corners = {axis.first for axis in axes}

    def visit(node: Loop | str, depth: int) -> None:
        if isinstance(node, str):
            return
        members = list(_members(node))
        offset = _offset([parts[m] for m in members], depth, corners, box)
        for member in members:
            result[member].append(offset)
        for inner in node.body:
            visit(inner, depth + 1)

    for node in nest:
        visit(node, 0)
    return result


def _members(node: Loop | str) -> Iterator[str]:
    if isinstance(node, str):
        yield node
        return
    for inner in node.body:
        yield from _members(inner)


def _offset(parts: Sequence[Set], depth: int, corners: set[str], box: _Box) -> PwAff:
    """The first value of a loop where that moves with the box, else 0."""
    zero = affine_constant(box.context.get_space(), 0)
    values: Set | None = None
    for part in parts:
        line = part.project_out(dim_type.set, depth + 1, part.dim(dim_type.set) - depth - 1)
        line = line.project_out(dim_type.set, 0, depth).reset_tuple_id()
        values = line if values is None else values.union(line)
    found = None if values is None else param_range(values, 0, box.typical)
    if found is None or not any(_involves(found.low, name) for name in corners):
        return zero
    return found.low


def _involves(form: PwAff, name: str) -> bool:
    position = form.find_dim_by_name(dim_type.param, name)
    return position >= 0 and form.involves_dims(dim_type.param, position, 1)


def _slabs(
    scop: Scop,
    outputs: Sequence[str],
    kept: Sequence[Statement],
    parts: Mapping[str, Set],
    axes: Sequence[Axis],
    box: _Box,
    offsets: Mapping[str, list[PwAff]],
) -> dict[str, Slab]:
    """What of each array the instances touch."""
    touched: dict[str, Set] = {tuple_name(p): p for p in sets_of(box.elements)}
    opaque: set[str] = set()
    for statement in kept:
        for access in (*statement.reads, statement.write):
            found = access.relation.intersect_domain(parts[statement.name]).range()
            elements = scop.array(access.array).elements(scop.params)
            found = found.intersect(elements)
            known = touched.get(access.array)
            touched[access.array] = found if known is None else known.union(found)
        if isinstance(statement.value, Block):
            opaque.add(statement.array)
    taken = {*box.params, *(a.name for a in scop.arrays)}
    inexact = _inexact(kept)
    result: dict[str, Slab] = {}
    for array in scop.arrays:
        if array.name not in touched:
            continue
        fixed = inexact.get(array.name, set()) | (
            set(range(array.rank)) if array.name in opaque else set()
        )
        exact = array.role == "in" or touched[array.name].is_equal(
            box.elements.extract_set(touched[array.name].get_space())
        )
        result[array.name] = _slab(array, touched[array.name], fixed, box, taken, shared=exact)
    for array in scop.arrays:
        if array.private and array.name in result:
            writer = next(s for s in kept if s.array == array.name)
            result[array.name] = _private(array, result[array.name], offsets[writer.name])
    return result


def _inexact(kept: Sequence[Statement]) -> dict[str, set[int]]:
    """Dimensions of arrays along which data say what is touched."""
    found: dict[str, set[int]] = {}
    for statement in kept:
        for k in statement.spread:
            found.setdefault(statement.array, set()).add(k)
        for node in _loads(statement.value):
            dims = {k for k, part in enumerate(node.index) if not isinstance(part, Affine)}
            found.setdefault(node.array, set()).update(dims)
    return found


def _loads(expr: Expr) -> Iterator[Load]:
    if isinstance(expr, Load):
        yield expr
    for child in expr.children:
        yield from _loads(child)


def _slab(
    array: Array, touched: Set, fixed: set[int], box: _Box, taken: set[str], *, shared: bool
) -> Slab:
    space = box.context.get_space()
    zero = affine_constant(space, 0)
    shift: list[PwAff] = []
    offset: list[PwAff] = []
    extents: list[PwAff] = []
    spans: list[str] = []
    whole: list[bool] = []
    for k, extent in enumerate(array.extents):
        begin = array.lower[k].align_params(space) if array.lower else zero
        found = None if k in fixed else param_range(touched, k, box.typical)
        if found is None or _is_all(found, begin, extent, box.context):
            shift.append(zero)
            offset.append(zero)
            extents.append(extent.align_params(space))
            spans.append("")
            whole.append(True)
            continue
        low = found.low.align_params(space)
        shift.append(low)
        offset.append(low.sub(begin).coalesce())
        extents.append(_positive(found, box.context).align_params(space))
        # a temporary is the section's own; the outermost dimension needs no distance
        has_span = k > 0 and array.role != "temp" and shared
        spans.append(_fresh(f"{array.name}_span{k}", taken) if has_span else "")
        whole.append(False)
    return Slab(
        tuple(shift), tuple(offset), tuple(extents), tuple(spans), tuple(whole), shared
    )


def _private(array: Array, slab: Slab, offsets: Sequence[PwAff]) -> Slab:
    """A variable of each iteration begins where the loops around it do."""
    shift, extents = list(slab.shift), list(slab.extents)
    for k in range(array.private):
        extents[k] = extents[k].add(shift[k]).sub(offsets[k]).coalesce()
        shift[k] = offsets[k]
    return replace(slab, shift=tuple(shift), extents=tuple(extents))


def _is_all(found: Range, begin: PwAff, extent: PwAff, context: Set) -> bool:
    same = found.low.eq_set(begin)
    same = same.intersect(found.extent.eq_set(extent))
    return context.is_subset(same)


def _positive(found: Range, context: Set) -> PwAff:
    """The extent; 1 where the bounds, which cross where nothing is touched, give less."""
    extent = found.extent
    one = affine_constant(extent.get_domain_space(), 1)
    if extent.lt_set(one).intersect(context).is_empty():
        return extent
    return extent.max(one).coalesce()


def _with_spans(box: _Box, slabs: Mapping[str, Slab], names: set[str]) -> Set:
    """The box's context with: neighbours are no nearer than the slab is long."""
    space = params_space((*box.params, *sorted(names)))
    context = box.context.align_params(space)
    for slab in slabs.values():
        for name, extent in zip(slab.spans, slab.extents, strict=True):
            if name:
                context = context.intersect(affine_param(space, name).ge_set(extent))
    return context.coalesce()


def _shift(statement: Statement, offsets: Sequence[PwAff], context: Set) -> Map:
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


def _statement(
    statement: Statement, shift: Map, instances: Set, slabs: Mapping[str, Slab], context: Set
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
            case Within():
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


def _array(array: Array, slab: Slab, context: Set) -> Array:
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


@dataclass(frozen=True, eq=False)
class _Parts:
    whole: Scop
    outputs: tuple[str, ...]
    axes: tuple[Axis, ...]
    box: _Box
    nest: tuple[Loop | str, ...]
    slabs: dict[str, Slab]
    context: Set
    instances: UnionSet


def _assembled(
    parts: _Parts, arrays: list[Array], statements: list[Statement], shifts: Mapping[str, Map]
) -> Section:
    """The section with the parameters that it uses, and every array in its role."""
    whole = parts.whole
    every = (*whole.params, *_new_params(parts))
    used = {name for name in every if _is_used(name, arrays, statements)}
    params = tuple(name for name in every if name in used)
    context = parts.context
    for name in every:
        if name not in used:
            position = context.find_dim_by_name(dim_type.param, name)
            context = context.project_out(dim_type.param, position, 1)
    context = context.coalesce()
    arrays = [_tidy_array(a) for a in arrays]
    statements = [_tidy(s) for s in statements]
    order = [n for n in whole.signature if n in {a.name for a in arrays} or n in used]
    scop = Scop(
        name=f"{whole.name}_section",
        params=params,
        context=context,
        arrays=tuple(arrays),
        statements=tuple(statements),
        nest=parts.nest,
        source=whole.source,
        signature=(*(n for n in params if n not in order), *order),
    )
    # what lies between the rows of a slab is nobody's: roles are those of what is touched
    touched = tuple(replace(a, extents=parts.slabs[a.name].extents) for a in arrays)
    tight = replace(scop, arrays=touched, context=parts.context)
    roles = {a.name: _role(tight, a, parts.outputs) for a in touched}
    scop = replace(scop, arrays=tuple(replace(a, role=roles[a.name]) for a in scop.arrays))
    arguments = {*params, *(a.name for a in scop.arrays if a.role != "temp")}
    scop = replace(scop, signature=tuple(n for n in scop.signature if n in arguments))
    to_elements = union_all(_to_element(whole, n, s, parts) for n, s in parts.slabs.items())
    to_whole = union_all(shifts.values()) if shifts else UnionMap.empty_ctx(context.get_ctx())
    instances = parts.instances.intersect_params(parts.context)
    return Section(
        whole,
        scop,
        parts.outputs,
        parts.axes,
        parts.slabs,
        every,
        parts.context,
        parts.box.elements,
        instances,
        to_whole,
        to_elements,
    )


def _new_params(parts: _Parts) -> tuple[str, ...]:
    spans = sorted(name for slab in parts.slabs.values() for name in slab.spans if name)
    return (*(n for a in parts.axes for n in (a.first, a.count)), *spans)


def _is_used(name: str, arrays: Sequence[Array], statements: Sequence[Statement]) -> bool:
    if any(_involves(form, name) for a in arrays for form in (*a.extents, *a.lower)):
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
            used = _involves(expr.form, name)
        case Inside():
            used = _set_involves(expr.where, name)
        case Within():
            used = _involves(expr.low, name) or _involves(expr.high, name)
        case _:
            used = False
    return used or any(_value_uses(child, name) for child in expr.children)


def _tidy_array(array: Array) -> Array:
    """The array without parameters that nothing uses."""
    extents = tuple(e.drop_unused_params() for e in array.extents)
    return replace(array, extents=extents, lower=tuple(e.drop_unused_params() for e in array.lower))


def _tidy(statement: Statement) -> Statement:
    """The statement without parameters that nothing uses."""

    def change(node: Expr) -> Expr:
        match node:
            case Affine():
                return replace(node, form=node.form.drop_unused_params())
            case Inside():
                return replace(node, where=node.where.drop_unused_params())
            case Within():
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


def _role(scop: Scop, array: Array, outputs: tuple[str, ...]) -> str:
    """Results that are not asked for are temporaries, unless the caller gives their contents."""
    if array.role in {"in", "temp"}:
        return array.role
    if array.name not in outputs and array.role == "out":
        return "temp"
    return role_of(scop, array.name)


def _to_element(scop: Scop, name: str, slab: Slab, parts: _Parts) -> Map:
    """``{ A[x'] -> A[x' + shift] }``."""
    space = scop.array(name).elements(scop.params).get_space()
    space = space.align_params(parts.context.get_space())
    shifted = [
        affine_var(space, k).add(shift.align_params(parts.context.get_space()).insert_domain(space))
        for k, shift in enumerate(slab.shift)
    ]
    if not shifted:
        return Set.universe(space).identity()
    result = Map.from_pw_aff(shifted[0])
    for part in shifted[1:]:
        result = result.flat_range_product(Map.from_pw_aff(part))
    return result.set_tuple_name(dim_type.out, name)

