"""A subdomain: the program for a box of its results, on arrays that begin where the box needs them.

Before, with ``first`` and ``count`` saying which rows are wanted::

    for y in 0 .. H - 2:                 out[y] = in[y] + in[y + 1] + in[y + 2]

After::

    for y in 0 .. count:                 out[y] = in[y] + in[y + 1] + in[y + 2]

where ``out`` is what was ``out[first ..]`` and ``in`` what was ``in[first .. first + count + 2]``.
Corner and size of the box are parameters, so one subdomain serves every box of every image.

Requires: results in arrays whose elements are written by affine subscripts along the cut
dimensions. Fails when: the results have no shape in common (an internal error). Does not handle:
slabs of several pieces; what lies between them becomes part of the slab.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.analysis.alignment import alignment
from polyopt.analysis.needed import needed
from polyopt.analysis.sets.ranges import param_range
from polyopt.ir.block import Block
from polyopt.ir.scop import Array, Loop, Scop, Statement, role_of, statements_in
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
    empty_map,
    params_space,
    sets_of,
    tuple_name,
    union_all,
)
from polyopt.transform.subdomain.box import Axis, ParametricBox, fresh
from polyopt.transform.subdomain.footprints import Footprint, slabs_of
from polyopt.transform.subdomain.rebase import (
    involves,
    is_used,
    rebased_array,
    rebased_statement,
    shift_map,
    tidy,
    tidy_array,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyopt.analysis.dependences import Dependences

#: a dimension of a constant extent up to this, such as colours, is not cut by default
_FEW = 16


@dataclass(frozen=True, eq=False)
class Subdomain:
    """The program of a subdomain: of a box of the results of another program."""

    whole: Scop
    scop: Scop
    #: the arrays of which it computes a box; they have one shape
    outputs: tuple[str, ...]
    axes: tuple[Axis, ...]
    #: the arguments that are arrays, and the temporaries
    slabs: Mapping[str, Footprint]
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


def subdomain(
    deps: Dependences, outputs: Sequence[str], *, dims: Sequence[int] | None = None
) -> Subdomain:
    """The program for a box of ``outputs``, arrays of one shape that the program returns.

    ``dims`` are the dimensions to cut; by default all but short ones of constant extent.
    Raises ``NotCutError``, ``NotDecidedError``.
    """
    scop = deps.scop
    unit = alignment(deps, outputs)
    axes = tuple(replace(axis, unit=unit) for axis in _axes(scop, outputs, dims))
    box = ParametricBox.of(scop, outputs, axes)
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
    possible = [
        k for k in cuttable(scop, outputs[0]) if all(k in cuttable(scop, o) for o in outputs)
    ]
    if dims is None:
        extents = scop.array(outputs[0]).extents
        fixed = {k: constant_value(extents[k]) for k in possible}
        dims = [k for k, number in fixed.items() if number is None or number > _FEW]
    taken = {*scop.params, *(a.name for a in scop.arrays)}
    names = _dimension_names(scop, outputs[0])
    return tuple(
        Axis(k, fresh(f"{names[k]}_first", taken), fresh(f"{names[k]}_count", taken))
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


def _rebased(
    scop: Scop,
    outputs: Sequence[str],
    axes: tuple[Axis, ...],
    box: ParametricBox,
    instances: UnionSet,
) -> Subdomain:
    parts = {tuple_name(part): part for part in sets_of(instances)}
    kept = [s for s in scop.statements if s.name in parts]
    nest = tuple(_pruned(scop.nest, parts))
    offsets = _loop_offsets(nest, parts, axes, box)
    slabs = slabs_of(scop, kept, parts, box, offsets)
    names = {name for slab in slabs.values() for name in slab.spans if name}
    context = _with_spans(box, slabs, names)
    shifts = {s.name: shift_map(s, offsets[s.name], context) for s in kept}
    statements = [rebased_statement(s, shifts[s.name], parts[s.name], slabs, context) for s in kept]
    arrays = [rebased_array(a, slabs[a.name], context) for a in scop.arrays if a.name in slabs]
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
    nest: tuple[Loop | str, ...], parts: Mapping[str, Set], axes: Sequence[Axis], box: ParametricBox
) -> dict[str, list[PwAff]]:
    """Per statement, what its loops begin at: one offset for all statements in one loop."""
    result: dict[str, list[PwAff]] = {name: [] for name in parts}
    corners = {axis.first for axis in axes}

    def visit(node: Loop | str, depth: int) -> None:
        if isinstance(node, str):
            return
        members = list(statements_in(node))
        offset = _offset([parts[m] for m in members], depth, corners, box)
        for member in members:
            result[member].append(offset)
        for inner in node.body:
            visit(inner, depth + 1)

    for node in nest:
        visit(node, 0)
    return result


def _offset(parts: Sequence[Set], depth: int, corners: set[str], box: ParametricBox) -> PwAff:
    """The first value of a loop where that moves with the box, else 0."""
    zero = affine_constant(box.context.get_space(), 0)
    values: Set | None = None
    for part in parts:
        line = part.project_out(dim_type.set, depth + 1, part.dim(dim_type.set) - depth - 1)
        line = line.project_out(dim_type.set, 0, depth).reset_tuple_id()
        values = line if values is None else values.union(line)
    found = None if values is None else param_range(values, 0, box.typical)
    if found is None or not any(involves(found.low, name) for name in corners):
        return zero
    return found.low


def _with_spans(box: ParametricBox, slabs: Mapping[str, Footprint], names: set[str]) -> Set:
    """The box's context with: neighbours are no nearer than the slab is long."""
    space = params_space((*box.params, *sorted(names)))
    context = box.context.align_params(space)
    for slab in slabs.values():
        for name, extent in zip(slab.spans, slab.extents, strict=True):
            if name:
                context = context.intersect(affine_param(space, name).ge_set(extent))
    return context.coalesce()


@dataclass(frozen=True, eq=False)
class _Parts:
    whole: Scop
    outputs: tuple[str, ...]
    axes: tuple[Axis, ...]
    box: ParametricBox
    nest: tuple[Loop | str, ...]
    slabs: dict[str, Footprint]
    context: Set
    instances: UnionSet


def _assembled(
    parts: _Parts, arrays: list[Array], statements: list[Statement], shifts: Mapping[str, Map]
) -> Subdomain:
    """The subdomain with the parameters that it uses, and every array in its role."""
    whole = parts.whole
    every = (*whole.params, *_new_params(parts))
    used = {name for name in every if is_used(name, arrays, statements)}
    params = tuple(name for name in every if name in used)
    context = parts.context
    for name in every:
        if name not in used:
            position = context.find_dim_by_name(dim_type.param, name)
            context = context.project_out(dim_type.param, position, 1)
    context = context.coalesce()
    arrays = [tidy_array(a) for a in arrays]
    statements = [tidy(s) for s in statements]
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
    to_whole = union_all(shifts.values()) if shifts else empty_map()
    instances = parts.instances.intersect_params(parts.context)
    return Subdomain(
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


def _role(scop: Scop, array: Array, outputs: tuple[str, ...]) -> str:
    """Results that are not asked for are temporaries, unless the caller gives their contents."""
    if array.role in {"in", "temp"}:
        return array.role
    if array.name not in outputs and array.role == "out":
        return "temp"
    return role_of(scop, array.name)


def _to_element(scop: Scop, name: str, slab: Footprint, parts: _Parts) -> Map:
    """``{ A[x'] -> A[x' + shift] }``."""
    space = scop.elements[name].get_space()
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
