"""Wrong plans: faults in copies, loops, marks and storage of a plan's program."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.ir.expr import Binary, Const, rewrite
from polyopt.isl import Map, affine_constant, dim_type, maps_of, union_all
from polyopt.transform.schedule.program import ScheduledProgram
from polyopt.transform.schedule.tree import PlanLoop, loops_of, replace_loop, without

from .kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from polyopt.isl import Set
    from polyopt.transform.schedule.storage import Scratch, StorageDirective
    from polyopt.transform.schedule.tree import ScheduledStatement


@dataclass(frozen=True, eq=False)
class WrongStorage(ScheduledProgram):
    """A program whose buffers are not those that its stores ask for."""

    change: Callable[[Scratch], Scratch] = field(default=lambda s: s)

    @cached_property
    def changed(self) -> dict[StorageDirective, Scratch]:
        return {}

    def scratch_of(self, store: StorageDirective) -> Scratch:
        if store not in self.changed:
            self.changed[store] = self.change(super().scratch_of(store))
        return self.changed[store]


def _with_storage(
    program: ScheduledProgram, change: Callable[[Scratch], Scratch]
) -> ScheduledProgram:
    known = {f.name: getattr(program, f.name) for f in fields(ScheduledProgram)}
    return WrongStorage(**known, change=change)


def _with_copy(program: ScheduledProgram, name: str, **changes: object) -> ScheduledProgram:
    copy = replace(program.copies[name], **changes)
    return replace(program, copies={**program.copies, name: copy})


def _each_copy(change: Callable[[ScheduledStatement], dict[str, object] | None]):
    def make(program: ScheduledProgram) -> Iterator[ScheduledProgram]:
        for name in program.places:
            found = change(program.copies[name])
            if found is not None:
                yield _with_copy(program, name, **found)

    return make


def _moved(domain: Set, by: int) -> Map:
    """``{ C[d] -> C[d + by] }`` along the last dimension."""
    form = domain.identity().as_pw_multi_aff()
    last = domain.dim(dim_type.set) - 1
    value = form.get_at(last)
    return form.set_pw_aff(last, value.add(affine_constant(value.get_domain_space(), by))).as_map()


def _statement(copy: ScheduledStatement, **changes: object) -> dict[str, object]:
    return {"statement": replace(copy.statement, **changes)}


def _another_operation(copy: ScheduledStatement) -> dict[str, object] | None:
    swapped = {"add": "sub", "sub": "add", "mul": "add", "div": "mul"}

    def change(node):
        return replace(node, op=swapped.get(node.op, node.op)) if isinstance(node, Binary) else node

    value = copy.statement.value
    new = rewrite(value, change) if isinstance(value, Binary) else value
    return None if new is value else _statement(copy, value=new)


def _another_constant(copy: ScheduledStatement) -> dict[str, object] | None:
    def change(node):
        return replace(node, value=node.value + 1) if isinstance(node, Const) else node

    value = copy.statement.value
    new = rewrite(value, change)
    return None if new is value else _statement(copy, value=new)


def _another_read(copy: ScheduledStatement) -> dict[str, object] | None:
    """Its operands in the opposite order: they are other elements, at the same places."""
    value = copy.statement.value
    if not isinstance(value, Binary):
        return None
    return _statement(copy, value=replace(value, left=value.right, right=value.left))


def _another_target(copy: ScheduledStatement) -> dict[str, object] | None:
    if not copy.statement.index:
        return None
    last = copy.statement.index[-1]
    form = last.form.add(affine_constant(last.form.get_domain_space(), 1))
    return _statement(copy, index=(*copy.statement.index[:-1], replace(last, form=form)))


def _loop_values(change) -> Callable[[ScheduledProgram], Iterator[ScheduledProgram]]:
    """Another value of one loop at one copy."""

    def make(program: ScheduledProgram) -> Iterator[ScheduledProgram]:
        for loop in loops_of(program.tree):
            for name, value in loop.values.items():
                new = {**loop.values, name: change(value)}
                tree = replace_loop(
                    program.tree, loop.name, lambda n, new=new: (replace(n, values=new),)
                )
                yield replace(program, tree=tree)

    return make


def _reversed_loops(program: ScheduledProgram) -> Iterator[ScheduledProgram]:
    for loop in loops_of(program.tree):
        new = {name: value.neg() for name, value in loop.values.items()}
        tree = replace_loop(program.tree, loop.name, lambda n, new=new: (replace(n, values=new),))
        yield replace(program, tree=tree)


def _turned_bodies(program: ScheduledProgram) -> Iterator[ScheduledProgram]:
    if len(program.tree) > 1:
        yield replace(program, tree=program.tree[::-1])
    for loop in loops_of(program.tree):
        if len(loop.body) > 1:
            tree = replace_loop(program.tree, loop.name, lambda n: (replace(n, body=n.body[::-1]),))
            yield replace(program, tree=tree)


def _exchanged(program: ScheduledProgram) -> Iterator[ScheduledProgram]:
    for loop in loops_of(program.tree):
        if len(loop.body) == 1 and isinstance(loop.body[0], PlanLoop):
            inner = loop.body[0]
            changed = replace(inner, body=(replace(loop, body=inner.body),))
            tree = replace_loop(program.tree, loop.name, lambda _, c=changed: (c,))
            yield replace(program, tree=tree)


def _dropped(program: ScheduledProgram) -> Iterator[ScheduledProgram]:
    for name in program.places:
        copies = {n: c for n, c in program.copies.items() if n != name}
        if len(copies) > 0:
            yield replace(program, copies=copies, tree=without(program.tree, {name}))


def _hoisted(program: ScheduledProgram) -> Iterator[ScheduledProgram]:
    """A loop's first child before the loop: it runs at the loop's first value alone."""
    for loop in loops_of(program.tree):
        if len(loop.body) > 1:
            first, *rest = loop.body
            tree = replace_loop(
                program.tree,
                loop.name,
                lambda n, f=first, r=rest: (f, replace(n, body=tuple(r))),
            )
            yield replace(program, tree=tree)


def _marked(mark: str, width: int):
    def make(program: ScheduledProgram) -> Iterator[ScheduledProgram]:
        for loop in loops_of(program.tree):
            if loop.mark != mark:
                tree = replace_loop(
                    program.tree,
                    loop.name,
                    lambda n: (replace(n, mark=mark, width=width),),
                )
                yield replace(program, tree=tree)

    return make


def _whole_vectors(program: ScheduledProgram) -> Iterator[ScheduledProgram]:
    """Lanes that come from whole vectors, also where lanes may not run together."""
    for loop in loops_of(program.tree):
        tree = replace_loop(
            program.tree, loop.name, lambda n: (replace(n, mark="vector", width=0, lanes=4),)
        )
        yield replace(program, tree=tree)


def _streamed(program: ScheduledProgram) -> Iterator[ScheduledProgram]:
    """An array stored past the caches, also where it is read again."""
    for array in program.scop.arrays:
        if array.rank:
            yield replace(program, nontemporal={**program.nontemporal, array.name: 0})


def _flow_moved(program: ScheduledProgram) -> Iterator[ScheduledProgram]:
    """Inlined operands are instances one further on."""
    if not program.inlined or program.flow is None:
        return
    parts = [m.apply_domain(_moved(m.domain(), 1)) for m in maps_of(program.flow)]
    yield replace(program, flow=union_all(parts))


def _fills_nothing(copy: ScheduledStatement) -> dict[str, object] | None:
    """A pack copies each element's neighbour."""
    if not copy.fills:
        return None
    return _another_target(copy)


# -- storage --------------------------------------------------------------------------------------


def _each_store(change: Callable[[StorageDirective], Iterator[StorageDirective]]):
    def make(program: ScheduledProgram) -> Iterator[ScheduledProgram]:
        for number, store in enumerate(program.stores):
            for new in change(store):
                stores = (*program.stores[:number], new, *program.stores[number + 1 :])
                yield replace(program, stores=stores)

    return make


def _rank(program: ScheduledProgram, store: StorageDirective) -> int:
    return program.scop.array(store.array).rank


def _smaller(program: ScheduledProgram) -> Iterator[ScheduledProgram]:
    for store, scratch in zip(program.stores, program.scratches, strict=True):
        for dimension in range(_rank(program, store)):
            if not scratch.fold(dimension):
                yield _with_storage(
                    program,
                    lambda s, name=store.name, d=dimension: _less(s, d) if s.name == name else s,
                )


def _less(scratch: Scratch, dimension: int) -> Scratch:
    extents = list(scratch.extents)
    one = affine_constant(extents[dimension].get_domain_space(), 1)
    extents[dimension] = extents[dimension].sub(one)
    return replace(scratch, extents=tuple(extents))


def _later(program: ScheduledProgram) -> Iterator[ScheduledProgram]:
    """A buffer starts one element later."""

    def change(scratch: Scratch, name: str, dimension: int) -> Scratch:
        if scratch.name != name:
            return scratch
        offsets = list(scratch.offsets)
        one = affine_constant(offsets[dimension].get_domain_space(), 1)
        offsets[dimension] = offsets[dimension].add(one)
        return replace(scratch, offsets=tuple(offsets))

    for store in program.stores:
        for dimension in range(_rank(program, store)):
            yield _with_storage(program, lambda s, n=store.name, d=dimension: change(s, n, d))


def _stretched(program: ScheduledProgram) -> Iterator[ScheduledProgram]:
    """A buffer holds each second element."""

    def change(scratch: Scratch, name: str, dimension: int) -> Scratch:
        if scratch.name != name or scratch.folds:
            return scratch
        strides = list(scratch.strides or (1,) * len(scratch.extents))
        strides[dimension] = 2
        return replace(scratch, strides=tuple(strides))

    for store in program.stores:
        for dimension in range(_rank(program, store)):
            yield _with_storage(program, lambda s, n=store.name, d=dimension: change(s, n, d))


def _shallower(program: ScheduledProgram) -> Iterator[ScheduledProgram]:
    """A buffer's place in an iteration is forgotten: it starts where the first one does."""

    def change(scratch: Scratch, name: str) -> Scratch:
        if scratch.name != name or not scratch.depth:
            return scratch
        zero = [affine_constant(o.get_domain_space(), 0) for o in scratch.offsets]
        return replace(scratch, offsets=tuple(zero))

    for store in program.stores:
        yield _with_storage(program, lambda s, n=store.name: change(s, n))


def _folded(program: ScheduledProgram, fold: int) -> Iterator[ScheduledProgram]:
    for number, store in enumerate(program.stores):
        for dimension in range(_rank(program, store)):
            folds = [0] * _rank(program, store)
            folds[dimension] = fold
            new = replace(store, folds=tuple(folds), extents=())
            stores = (*program.stores[:number], new, *program.stores[number + 1 :])
            yield replace(program, stores=stores)


def _smaller_fold(store: StorageDirective) -> Iterator[StorageDirective]:
    if any(store.folds):
        yield replace(store, folds=tuple(max(f - 1, 0) for f in store.folds))


def _placed(program: ScheduledProgram) -> Iterator[ScheduledProgram]:
    """A buffer at another loop."""
    for number, store in enumerate(program.stores):
        for loop in ("", *(n.name for n in loops_of(program.tree))):
            if loop != store.at:
                new = replace(store, at=loop)
                stores = (*program.stores[:number], new, *program.stores[number + 1 :])
                yield replace(program, stores=stores)


def _forgotten(program: ScheduledProgram) -> Iterator[ScheduledProgram]:
    for number in range(len(program.stores)):
        yield replace(program, stores=program.stores[:number] + program.stores[number + 1 :])


def _added(program: ScheduledProgram) -> Iterator[ScheduledProgram]:
    """A buffer that is private to an iteration, for an array of the caller."""
    from polyopt.transform.schedule.storage import StorageDirective

    for array in program.scop.arrays:
        for loop in loops_of(program.tree):
            if array.role != "temp" and array.rank:
                yield replace(
                    program,
                    stores=(*program.stores, StorageDirective("added", array.name, loop.name)),
                )


def _shared_name(program: ScheduledProgram) -> Iterator[ScheduledProgram]:
    for one in range(len(program.stores)):
        for other in range(len(program.stores)):
            if one != other:
                stores = list(program.stores)
                stores[one] = replace(stores[one], name=stores[other].name)
                yield replace(program, stores=tuple(stores))


def _one_reference(program: ScheduledProgram) -> Iterator[ScheduledProgram]:
    """A buffer that only one of its readers knows."""
    for number, store in enumerate(program.stores):
        refs = [a.ref for s in program.scop.statements for a in s.reads if a.array == store.array]
        if not store.refs and refs:
            new = replace(store, refs=(refs[0],))
            stores = (*program.stores[:number], new, *program.stores[number + 1 :])
            yield replace(program, stores=stores)


def _turned_order(program: ScheduledProgram) -> Iterator[ScheduledProgram]:
    for number, store in enumerate(program.stores):
        rank = _rank(program, store)
        if rank > 1:
            order = tuple(reversed(store.order or range(rank)))
            stores = list(program.stores)
            stores[number] = replace(store, order=order)
            yield replace(program, stores=tuple(stores))


KINDS = (
    Kind("plan", "the first instance left out",
         _each_copy(lambda c: {"domain": c.domain.subtract(c.domain.lexmin())})),
    Kind("plan", "the last instance left out",
         _each_copy(lambda c: {"domain": c.domain.subtract(c.domain.lexmax())})),
    Kind("plan", "instances beyond the domain",
         _each_copy(lambda c: {"domain": c.domain.union(c.domain.apply(_moved(c.domain, 1)))})),
    Kind("plan", "all instances one further on",
         _each_copy(lambda c: {"domain": c.domain.apply(_moved(c.domain, 1))})),
    Kind("plan", "another operation", _each_copy(_another_operation)),
    Kind("plan", "another constant", _each_copy(_another_constant)),
    Kind("plan", "operands exchanged", _each_copy(_another_read)),
    Kind("plan", "another element written", _each_copy(_another_target)),
    Kind("plan", "a pack of neighbours", _each_copy(_fills_nothing)),
    Kind("plan", "one copy later in a loop",
         _loop_values(lambda v: v.add(affine_constant(v.get_domain_space(), 1)))),
    Kind("plan", "one copy earlier in a loop",
         _loop_values(lambda v: v.sub(affine_constant(v.get_domain_space(), 1)))),
    Kind("plan", "one copy at no iteration of its own",
         _loop_values(lambda v: affine_constant(v.get_domain_space(), 0))),
    Kind("plan", "a loop backwards", _reversed_loops),
    Kind("plan", "a body backwards", _turned_bodies),
    Kind("plan", "neighbouring loops exchanged", _exchanged),
    Kind("plan", "a copy left out", _dropped),
    Kind("plan", "the first of a body before its loop", _hoisted),
    Kind("plan", "a parallel mark", _marked("parallel", 0)),
    Kind("plan", "a vector mark", _marked("vector", 0)),
    Kind("plan", "a vector mark of 4", _marked("vector", 4)),
    Kind("plan", "whole vectors", _whole_vectors),
    Kind("plan", "an array stored past the caches", _streamed),
    Kind("plan", "inlined neighbours", _flow_moved),
    Kind("storage", "an extent one less", _smaller),
    Kind("storage", "a buffer that starts later", _later),
    Kind("storage", "each second element", _stretched),
    Kind("storage", "a buffer that does not move", _shallower),
    Kind("storage", "a fold of 1", lambda p: _folded(p, 1)),
    Kind("storage", "a fold of 2", lambda p: _folded(p, 2)),
    Kind("storage", "a smaller fold", _each_store(_smaller_fold)),
    Kind("storage", "a buffer at another loop", _placed),
    Kind("storage", "a buffer forgotten", _forgotten),
    Kind("storage", "a private buffer for a caller's array", _added),
    Kind("storage", "two buffers of one name", _shared_name),
    Kind("storage", "a buffer for one reader", _one_reference),
    Kind("storage", "a buffer transposed", _turned_order),
    Kind("storage", "more operations in a pack",
         _each_store(lambda s: iter([replace(s, above=s.above + 1)]))),
    Kind("storage", "fewer operations in a pack",
         _each_store(lambda s: iter([replace(s, above=s.above - 1)] if s.above else []))),
    Kind("storage", "a buffer inside another loop alone",
         _each_store(lambda s: iter([replace(s, within=s.at)] if not s.within else []))),
)  # fmt: skip
