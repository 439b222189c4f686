"""fuse: pull a producer into a loop of its consumer, with exactly the instances it needs there.

relation: ``needed = { [t] -> A[x] }`` is what the consumers inside the loop read;
``extension = needed . writes^-1 = { [t] -> P[j] }`` are the producer's instances, overlapping
between iterations where footprints overlap. (Zhao and Di, MICRO 2020, Algorithm 1.)

rewrite: ``for (y, x) bx; for (yt) for (y, x) out;`` ->
``for (yt) { for (y, x of the tile's footprint) bx; for (y, x) out; }``

*Requires* (1) a bounded footprint, (2) that the producer's own reads of its array add nothing
without end, (3) that every reader of a scratch gets its value in the same iteration.
*Fails when* a value would be lost or changed: the proof names the instances.
*Does not handle* a producer that already has producers fused into its own loops: fuse from the
outputs backwards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.analysis.footprint import bounding_box, box_map
from polyopt.errors import InvalidOptionError, LiveOutError, NotFusableError, Witness, given
from polyopt.ir.type_bounds import without_type_bounds
from polyopt.isl import (
    Map,
    Set,
    affine_var,
    coalesced,
    coalesced_map,
    constant_value,
    dim_type,
    instance_of,
    irredundant,
)
from polyopt.transform.schedule.printer import describe
from polyopt.transform.schedule.query import copies_of, fusion_loop, path_to
from polyopt.transform.schedule.registry import transformation
from polyopt.transform.schedule.storage import StorageDirective, project_tail, store_for
from polyopt.transform.schedule.tree import (
    PlanLoop,
    ScheduledStatement,
    Tree,
    copies_in,
    loops_of,
    only,
    rename_copies,
    rename_loops,
    replace_loop,
    with_values,
    without,
)
from polyopt.transform.storage.inline import inline
from polyopt.transform.storage.private_scalars import (
    companions,
    local_instances,
    local_stores,
    unread_elsewhere,
    without_lost_stores,
)
from polyopt.transform.storage.sliding_window import new_instances

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.analysis.footprint import Box
    from polyopt.ir.scop import Access
    from polyopt.isl import PwAff, PwMultiAff
    from polyopt.transform.schedule.program import ScheduledAccess, ScheduledProgram

STORAGES = ("scratch", "sliding", "full")
#: a footprint of more pieces than this is replaced by its convex hull: a little recompute for
#: relations that stay small through long chains
MAX_PIECES = 1
#: rounds of adding the producer's own reads before it counts as endless
MAX_ROUNDS = 4


@dataclass(frozen=True, eq=False)
class Extension:
    """What a fused producer runs per iteration of the loop it is fused into."""

    #: { [t] -> A[x] }
    needed: Map
    #: producer copy -> { [t] -> P[j] }
    instances: dict[str, Map]


@transformation("storage")
def fuse(
    program: ScheduledProgram,
    producer: str,
    into: str,
    at: str | None,
    storage: str,
    *,
    keep: bool | None,
) -> ScheduledProgram:
    """The program with ``producer`` computed for its readers in ``into``: at each of its reads
    (``inline``), else inside the loop ``at``, or one that the storage asks for."""
    if storage == "inline":
        return inline(program, producer)
    loop = fusion_loop(program, into, at, storage)
    kind = "scratch" if storage == "register" else storage
    fused = fuse_at(program, producer, loop, storage=kind, keep=keep)
    if storage == "register":
        check_register(fused)
    return fused


def fuse_at(
    program: ScheduledProgram,
    producer: str,
    loop: str,
    *,
    storage: str = "scratch",
    keep: bool | None = None,
) -> ScheduledProgram:
    """The program with array ``producer`` computed inside ``loop`` for the readers there.

    ``storage``: ``scratch`` keeps its values for one iteration of the loop; ``sliding`` computes
    only what earlier iterations have not, and keeps a folded window; ``full`` writes the array
    itself. ``keep`` keeps the original too (default: only while someone else needs it).
    """
    if storage not in STORAGES:
        message = f"unknown storage {given(storage)}"
        named = ", ".join((*STORAGES, "register", "inline"))
        raise InvalidOptionError(message, hint=f"one of {named}")
    node = path_to(program, loop)[-1]
    names = _producers(program, producer, node)
    array = program.copies[names[0]].statement.array
    found = extension(program, array, names, loop)
    instances = found.instances
    if storage == "sliding":
        instances = {
            name: new_instances(part, program.copies[name].domain)
            for name, part in instances.items()
        }
    others = companions(program, names)
    instances = local_instances(program, others, instances)
    result = _graft(program, node, array, tuple(instances), instances)
    result = local_stores(program, result, others, len(path_to(program, loop)))
    if storage != "full":
        result = _with_store(result, array, loop, storage)
    return _drop_originals(program, result, array, names, loop, keep=keep)


def _producers(program: ScheduledProgram, producer: str, node: PlanLoop) -> tuple[str, ...]:
    inside = set(copies_in(node))
    names = tuple(name for name in copies_of(program, producer) if name not in inside)
    if not names:
        message = f"{producer} is inside {node.name} already"
        raise NotFusableError(message)
    arrays = {program.copies[name].statement.array for name in names}
    if len(arrays) > 1:
        message = f"{producer} writes several arrays: {', '.join(sorted(arrays))}"
        raise NotFusableError(message, hint="name one array")
    # what another loop has of it are copies: its own loops are the ones to copy again
    names = tuple(name for name in names if not program.copies[name].outer)
    if not names:
        message = f"{producer} is fused into another loop already, and its own loops are gone"
        hint = "fuse with keep=True there, or fuse into both consumers before that"
        raise NotFusableError(message, hint=hint)
    loops = {loop.name for name in names for loop in program.places[name].loops}
    others = {name for name, place in program.places.items() if program.copies[name].outer
              and any(loop.name in loops for loop in place.loops)}  # fmt: skip
    if others:
        message = f"{producer} has producers fused into its own loops: {', '.join(sorted(others))}"
        raise NotFusableError(message, hint="fuse from the outputs backwards: consumers first")
    return names


def extension(
    program: ScheduledProgram, array: str, names: tuple[str, ...], loop: str
) -> Extension:
    """``{ [t] -> A[x] }`` needed in each iteration of ``loop`` and the instances that make it."""
    path = path_to(program, loop)
    inside = set(copies_in(path[-1])) - set(names)
    hosts = [
        name for name in inside if store_for(program.stores, array, program.places[name]) is None
    ]
    reads = program.reads_of(array, hosts)
    if not reads:
        message = f"nothing inside {loop} reads {array} from the array itself"
        raise NotFusableError(message, hint="fuse into a loop around a consumer")
    needed = footprint(program, reads, len(path), array)
    for _ in range(MAX_ROUNDS):
        instances = {name: _instances(program, name, needed) for name in names}
        more = [_own_reads(program, name, part) for name, part in instances.items()]
        grown = needed
        for part in more:
            grown = grown.union(part)
        if grown.is_subset(needed):
            return Extension(needed, instances)
        needed = _boxed(program, array, grown)
    message = f"{array} needs more and more of itself: its tile has no end"
    hint = "a recurrence cannot be recomputed per tile; leave it a loop nest of its own"
    raise NotFusableError(message, hint=hint)


def footprint(
    program: ScheduledProgram, reads: Sequence[ScheduledAccess], depth: int, array: str
) -> Map:
    """``{ [t] -> A[x] }`` of some reads per iteration of the loop at ``depth``; one piece."""
    parts = [project_tail(t.prefix, depth).reverse().apply_range(t.element) for t in reads]
    result = parts[0]
    for part in parts[1:]:
        result = result.union(part)
    result = result.intersect_range(program.elements[array])
    return _boxed(program, array, result.intersect_params(program.scop.context))


def _boxed(program: ScheduledProgram, array: str, footprint: Map) -> Map:
    simple = _simple(footprint, program.scop.context)
    # isl cannot tell whether two "exists" are the same one: each intersection of such a set with
    # itself doubles its pieces, and its integer divisions can be compared
    where = irredundant(coalesced(footprint.domain().compute_divs()))
    return simple.intersect_range(program.elements[array]).intersect_domain(where)


def _simple(footprint: Map, context: Set) -> Map:
    """The footprint as one piece without divisions: itself, or the box around it.

    Unions of up- and down-sampled footprints would multiply pieces and divisions with the depth
    of a pyramid, and the time of everything after; a box costs a little recompute instead.
    """
    footprint = coalesced_map(without_type_bounds(footprint, context))
    if footprint.n_basic_map() <= MAX_PIECES and not _has_divisions(footprint):
        return footprint
    box = bounding_box(footprint, context)
    if box is None or any(stride != 1 for stride in box.strides):
        if footprint.n_basic_map() == 1:
            return Map.from_basic_map(footprint.simple_hull()).coalesce()
        footprint = Map.from_basic_map(footprint.remove_divs().simple_hull()).coalesce()
        box = bounding_box(footprint, context)
    if box is None:
        return footprint
    simple = _with_bounds(box_map(footprint.get_space(), box).coalesce(), box, footprint)
    if simple.n_basic_map() <= MAX_PIECES:
        return simple
    # the box's own corners depend on remainders of the sizes: what is true of all of them
    return Map.from_basic_map(footprint.remove_divs().simple_hull()).coalesce()


def _with_bounds(boxed: Map, box: Box, footprint: Map) -> Map:
    """A box, in dimensions where it is the same for all tiles, within the greatest element that a
    tile needs: the keys that a block of queries sees."""
    rank, outer = len(box.offsets), boxed.dim(dim_type.in_)
    for d, offset in enumerate(box.offsets):
        if offset.involves_dims(dim_type.in_, 0, outer):
            continue
        greatest = footprint.dim_max(d).coalesce()
        if greatest.n_piece() == 1 and greatest.involves_dims(dim_type.in_, 0, outer):
            last = Map.from_pw_aff(greatest)
            upto = last.apply_range(Map.lex_ge(last.get_space().range()))
            upto = upto.insert_dims(dim_type.out, 1, rank - d - 1).insert_dims(dim_type.out, 0, d)
            named = upto.set_tuple_id(dim_type.out, boxed.get_tuple_id(dim_type.out))
            boxed = boxed.intersect(named)
    return boxed.coalesce()


def _has_divisions(footprint: Map) -> bool:
    return any(piece.dim(dim_type.div) > 0 for piece in footprint.compute_divs().get_basic_maps())


def _instances(program: ScheduledProgram, name: str, needed: Map) -> Map:
    """``{ [t] -> P[j] }`` that write needed elements."""
    copy = program.copies[name]
    writes = _at_copy(copy, copy.statement.write).intersect_domain(copy.domain)
    return coalesced_map(needed.apply_range(writes.reverse()))


def _at_copy(copy: ScheduledStatement, access: Access) -> Map:
    """``{ C[j] -> A[x] }``: what a part of a statement has a name of its own for."""
    if copy.name == copy.statement.name:
        return access.relation
    return access.relation.preimage_domain_pw_multi_aff(copy.to_instance)


def _own_reads(program: ScheduledProgram, name: str, instances: Map) -> Map:
    """``{ [t] -> A[x] }`` that the producer's instances read of the array they write."""
    copy = program.copies[name]
    statement = copy.statement
    element = program.elements[statement.array].get_space()
    result = Map.empty(instances.get_space().domain().map_from_domain_and_range(element))
    for access in statement.reads:
        if access.array == statement.array:
            result = result.union(instances.apply_range(_at_copy(copy, access)))
    written = Set.empty(element)
    for writer in copies_of(program, statement.array):
        written = written.union(program.copies[writer].statement.write.relation.range())
    return result.intersect_range(written)


def _graft(
    program: ScheduledProgram,
    node: PlanLoop,
    array: str,
    names: tuple[str, ...],
    instances: dict[str, Map],
) -> ScheduledProgram:
    """The program with copies of the producers, per iteration of ``node``, before their readers."""
    depth = len(path_to(program, node.name))
    copies = dict(program.copies)
    renamed: dict[str, str] = {}
    lifts: dict[str, PwMultiAff] = {}
    for name in names:
        new = _fresh(copies, f"{name}@{node.name}")
        part = instances[name]
        domain = part.wrap().flatten().set_tuple_name(new).coalesce()
        copies[new] = ScheduledStatement(new, program.copies[name].statement, domain, depth)
        renamed[name] = new
        own = program.copies[name].domain.get_tuple_id()
        lifts[name] = copies[new].to_instance.set_tuple_id(dim_type.out, own)

    def lift(copy: str, value: PwAff) -> PwAff:
        return value.pullback_pw_multi_aff(lifts[copy])

    taken = {loop.name for loop in loops_of(program.tree)}
    subtree = rename_copies(
        only(program.tree, set(names)), renamed, lift, lambda n: _free(n, taken, node.name)
    )
    readers = set(program.readers(array)).difference(names)

    def change(found: PlanLoop) -> Tree:
        position = next(i for i, child in enumerate(found.body) if readers & set(copies_in(child)))
        return (replace(found, body=(*found.body[:position], *subtree, *found.body[position:])),)

    tree = replace_loop(program.tree, node.name, change)
    added = {
        loop.name: {
            new: affine_var(copies[new].domain.get_space(), level) for new in renamed.values()
        }
        for level, loop in enumerate(path_to(program, node.name))
    }
    return replace(program, copies=copies, tree=with_values(tree, added))


def _free(name: str, taken: set[str], at: str) -> str:
    owner, _, iterator = name.rpartition(".")
    result, number = name, 0
    while result in taken:
        number += 1
        again = f"#{number}" if number > 1 else ""
        result = f"{owner}@{at.replace('.', '_')}{again}.{iterator}"
    return result


def _fresh(copies: dict[str, ScheduledStatement], name: str) -> str:
    result, number = name, 1
    while result in copies:
        number += 1
        result = f"{name}#{number}"
    return result


def _with_store(program: ScheduledProgram, array: str, loop: str, storage: str) -> ScheduledProgram:
    name = f"{array}@{loop}"
    if storage == "scratch":
        return replace(program, stores=(*program.stores, StorageDirective(name, array, loop)))
    path = path_to(program, loop)
    outer = path[-2].name if len(path) > 1 else ""
    window = StorageDirective(name, array, loop)
    folds = _window(program, window, outer)
    sweep = StorageDirective(name, array, outer, folds, within=loop)
    return replace(program, stores=(*program.stores, sweep))


def check_register(program: ScheduledProgram) -> None:
    """Raise ``NotFusableError`` unless the buffer made last is one element."""
    scratch = program.scratches[-1]
    if all(constant_value(extent) == 1 for extent in scratch.extents):
        return
    message = f"{describe(scratch)} in {scratch.at} is more than a register holds"
    hint = 'choose storage="scratch", or an inner loop that needs one element at a time'
    raise NotFusableError(message, hint=hint)


def _window(program: ScheduledProgram, window: StorageDirective, outer: str) -> tuple[int, ...]:
    """The modulus per dimension: the extent per iteration where that is less than per sweep."""
    small = replace(program, stores=(*program.stores, window)).scratch_of(window)
    sweep = StorageDirective(window.name, window.array, outer, within=window.at)
    large = replace(program, stores=(*program.stores, sweep)).scratch_of(sweep)
    folds: list[int] = []
    for inner, wide in zip(small.extents, large.extents, strict=True):
        size, whole = constant_value(inner), constant_value(wide)
        slides = size is not None and (whole is None or size < whole)
        folds.append(size if slides and size is not None else 0)
    return tuple(folds)


def _drop_originals(
    before: ScheduledProgram,
    after: ScheduledProgram,
    array: str,
    names: tuple[str, ...],
    loop: str,
    *,
    keep: bool | None,
) -> ScheduledProgram:
    """Remove the producer's own nest unless someone outside the loop still needs it."""
    if keep:
        return after
    served = {*names, *copies_in(path_to(after, loop)[-1])}
    needed = [
        host
        for host in after.readers(array)
        if host not in served and store_for(after.stores, array, after.places[host]) is None
    ]
    live = before.scop.array(array).is_live_out
    stored = store_for(after.stores, array, after.places[_made(before, after)])
    if (needed or live) and keep is None:
        return after
    if live and stored is not None:
        raise _lost(before, array, names)
    dropped = {*names, *unread_elsewhere(before, names, companions(before, names))}
    copies = {name: copy for name, copy in after.copies.items() if name not in dropped}
    result = replace(after, copies=copies, tree=without(after.tree, dropped))
    return _original_names(without_lost_stores(result))


def _made(before: ScheduledProgram, after: ScheduledProgram) -> str:
    """A copy that fusing made."""
    return next(name for name in after.copies if name not in before.copies)


def _original_names(program: ScheduledProgram) -> ScheduledProgram:
    """Loops of a producer that moved get their plain names back: ``bx.y``, not ``bx@out_y.y``."""
    taken = {loop.name for loop in loops_of(program.tree)}
    names: dict[str, str] = {}
    for loop in loops_of(program.tree):
        if "@" not in loop.name:
            continue
        short = f"{loop.owner.split('@')[0]}.{loop.iterator}"
        if short not in taken:
            taken.add(short)
            names[loop.name] = short

    stores = tuple(
        replace(s, at=names.get(s.at, s.at), within=names.get(s.within, s.within))
        for s in program.stores
    )
    return replace(program, tree=rename_loops(program.tree, names), stores=stores)


def _lost(program: ScheduledProgram, array: str, names: tuple[str, ...]) -> LiveOutError:
    """The refusal to drop a producer whose array the caller reads."""
    copy = program.copies[names[-1]]
    found = instance_of(copy.instances)
    element = instance_of(Set.universe(program.elements[array].get_space()))
    message = f"{array} is live-out: fusing it away would lose its values"
    witnesses = ()
    if found is not None and element is not None:
        cell = copy.statement.write.relation.intersect_domain(copy.instances)
        pair = instance_of(cell.range())
        source = (copy.statement.name, found[1])
        at = (array, pair[1]) if pair else None
        witnesses = (Witness("live-out", source, ("end", at[1] if at else ()), found[2], at),)
    hint = "leave keep= out: a copy is fused and the original stays"
    return LiveOutError(message, witnesses=witnesses, span=copy.statement.span, hint=hint)
