"""From stages to a Scop: which stages are needed, in which order, over which sizes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from polyopt.arguments import checks_arguments
from polyopt.errors import InvalidOptionError, shown
from polyopt.frontend.assemble import Draft, DraftLoop, Program, assemble
from polyopt.frontend.located import located
from polyopt.frontend.sizes import size_condition, size_names
from polyopt.frontend.stages.grids import Border, Grid, Input, Stage
from polyopt.frontend.stages.lower import Nest, Tables
from polyopt.frontend.stages.origin import origin, span_of
from polyopt.frontend.stages.term import Term, as_term
from polyopt.frontend.values import Where, truth, type_of
from polyopt.ir.scop import Array
from polyopt.ir.types import ScalarType
from polyopt.isl import (
    Set,
    affine_constant,
    affine_var,
    exclusive,
    instance_space,
    params_space,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from polyopt.frontend.stages.recurrences import Step, Steps
    from polyopt.frontend.values import Value
    from polyopt.ir.scop import Scop
    from polyopt.isl import PwAff, Space


@checks_arguments
@exclusive()
def pipeline(
    outputs: Stage | Sequence[Stage],
    *more: Stage,
    name: str = "pipeline",
    context: object = None,
) -> Scop:
    """The program that computes some stages: its arguments are the inputs, then the outputs.

    Several outputs come one after the other, ``pipeline(out, peak)``, or as a sequence.

    Inputs come, and stages run, in the order of their definition; what no output needs is left
    out. ``context`` states what may be assumed of sizes: text such as ``"H >= 8"``, a condition on
    ``size("H")``, or several. Raises ``InvalidOptionError``, and the kinds of errors that the
    stages' expressions have.
    """
    wanted = _outputs((outputs, *more) if more else outputs)
    stages, inputs = _needed(wanted)
    _check_names([*inputs, *stages])
    stated = _conditions(context)
    params = _params(inputs, wanted, stages, stated)
    _check_params(params, [*inputs, *stages])
    made = _lowered(stages, inputs, params)
    outs = tuple(made.arrays[s.name] for s in wanted)
    names = {a.name for a in outs} | {i.name for i in inputs}
    arguments = (*(made.arrays[i.name] for i in inputs), *outs)
    return assemble(
        Program(
            name=name,
            params=params,
            context=_context(params, stated),
            arguments=arguments,
            temps=tuple(a for a in made.arrays.values() if a.name not in names),
            body=made.body,
            signature=(*params, *(a.name for a in arguments)),
            source=span_of(wanted[0].origin).source,
        )
    )


def _outputs(given: object) -> tuple[Stage, ...]:
    single = isinstance(given, Grid | Term)
    wanted = (given,) if single else tuple(cast("Iterable[object]", given))
    for item in wanted:
        if not isinstance(item, Stage):
            raise InvalidOptionError(
                f"an output is a stage, not {getattr(item, 'name', item)!r}", span=span_of(origin())
            )
    if not wanted or len(set(wanted)) < len(wanted):
        raise InvalidOptionError(
            "a pipeline needs at least one output, and each once", span=span_of(origin())
        )
    return cast("tuple[Stage, ...]", wanted)


def _needed(wanted: Sequence[Stage]) -> tuple[list[Stage], list[Input]]:
    """Stages and inputs, both in order of definition."""
    found: dict[Stage, list[Grid]] = {}
    stack = list(wanted)
    while stack:
        stage = stack.pop()
        if stage not in found:
            found[stage] = [_plain(g) for g in _grids(stage)]
            stack += [g for g in found[stage] if isinstance(g, Stage)]
            stack += stage.steps.stages if stage.steps is not None else ()
    stages = sorted(found, key=_position)
    used = (g for s in stages for g in found[s] if isinstance(g, Input))
    return stages, sorted(dict.fromkeys(used), key=lambda i: i.number)


def _position(stage: Stage) -> tuple[int, int]:
    """Where a stage is computed: a recurrence, after all that was defined before its last array."""
    last = stage.number if stage.steps is None else stage.steps.stages[-1].number
    return last, stage.number


def _plain(grid: Grid) -> Grid:
    return grid.grid if isinstance(grid, Border) else grid


def _grids(stage: Stage) -> Iterator[Grid]:
    """What a stage reads, from left to right."""
    for node in _terms([*_computed(stage), *(end for r in stage.ranges for end in r)]):
        if node.op == "load":
            yield node.payload


def _computed(stage: Stage) -> Iterable[Term]:
    return [stage.expression] if stage.steps is None else stage.steps.terms()


def _terms(roots: Iterable[Term]) -> Iterator[Term]:
    """All terms below some, parents first, each once, with those of reductions and borders."""
    seen: set[Term] = set()
    stack = list(roots)[::-1]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        below = list(node.args)
        if node.op == "reduce":
            reduction = node.payload
            below = [*(end for r in reduction.ranges for end in r), reduction.body]
        elif node.op == "load" and isinstance(node.payload, Border):
            below += [node.payload.value] if node.payload.value is not None else []
        stack += below[::-1]


def _check_names(grids: Sequence[Grid]) -> None:
    known: dict[str, Grid] = {}
    for grid in grids:
        if known.setdefault(grid.name, grid) is not grid:
            raise InvalidOptionError(
                f"two arrays of this pipeline are called {grid.name!r}",
                span=span_of(grid.origin),
                hint="schedules refer to stages by name: give each its own",
            )


def _check_params(params: Sequence[str], grids: Sequence[Grid]) -> None:
    for grid in grids:
        if grid.name in params:
            raise InvalidOptionError(
                f"{grid.name!r} is both a size and an array", span=span_of(grid.origin)
            )


def _params(
    inputs: Sequence[Input],
    wanted: Sequence[Stage],
    stages: Sequence[Stage],
    stated: Sequence[Term],
) -> tuple[str, ...]:
    """Sizes in order of appearance: in inputs, outputs, other stages, expressions."""
    ends = [end for g in (*inputs, *wanted, *stages) for r in g.ranges for end in r]
    names: dict[str, None] = {}
    for node in _terms([*ends, *(e for s in stages for e in _computed(s)), *stated]):
        if node.op == "size":
            names[node.payload] = None
        elif node.op == "text":
            with located(lambda node=node: node.span):
                names.update(dict.fromkeys(size_names(node.payload)))
    return tuple(names)


def _conditions(context: object) -> tuple[Term, ...]:
    if context is None:
        return ()
    several = not isinstance(context, str | Term)
    if several and not isinstance(context, Iterable):
        raise InvalidOptionError(
            f"context is a condition, or several in a list, not {shown(context)}",
            span=span_of(origin()),
        )
    items = list(cast("Iterable[object]", context)) if several else [context]
    return tuple(Term("text", (), i) if isinstance(i, str) else as_term(i) for i in items)


def _context(params: tuple[str, ...], stated: Sequence[Term]) -> Set:
    space = instance_space(params, "", ())
    result = Set.universe(params_space(params))
    for condition in stated:
        with located(lambda condition=condition: condition.span):
            result = result.intersect(_condition(condition, space).params())
    return result


def _condition(condition: Term, space: Space) -> Set:
    if condition.op == "text":
        return size_condition(condition.payload, space)
    nest = Nest(_nowhere(), _no_tables(), Set.universe(space), {})
    found = truth(nest.value(condition))
    if not isinstance(found, Where):
        raise InvalidOptionError("the context states affine conditions on sizes")
    return found.where


def _nowhere() -> Stage:
    here = origin()
    return Stage("context", (), here, (), Term("value"), None)


def _no_tables() -> Tables:
    return Tables({}, lambda _array: None, str)


@dataclass(frozen=True, eq=False)
class _Made:
    arrays: dict[str, Array]
    body: list[Draft | DraftLoop]


def _lowered(stages: Sequence[Stage], inputs: Sequence[Input], params: tuple[str, ...]) -> _Made:
    universe = Set.universe(instance_space(params, "", ()))
    arrays: dict[str, Array] = {}
    taken = {*params, *(g.name for g in (*stages, *inputs))}

    def fresh(base: str) -> str:
        name, number = base, 1
        while name in taken:
            name, number = f"{base}{number}", number + 1
        taken.add(name)
        return name

    def declare(array: Array) -> None:
        arrays[array.name] = array

    tables = Tables(arrays, declare, fresh)
    body: list[Draft | DraftLoop] = []
    for grid in inputs:
        outer = Nest(_nowhere(), tables, universe, {})
        declare(_array(grid, grid.type, outer))
    for stage in stages:
        if stage.steps is None:
            body += _stage(stage, tables, universe)
        elif stage is stage.steps.stages[-1]:
            body += _recurrence(stage.steps, tables, universe)
    return _Made(arrays, body)


def _stored(expression: Term, value: Value) -> ScalarType:
    """The type that a stage has of its own accord: that of its values, or the half that they are
    rounded to at last."""
    kind = expression.payload if expression.op == "cast" else None
    return kind if isinstance(kind, ScalarType) and kind.is_half else type_of(value)


def _array(grid: Grid, kind: ScalarType, outer: Nest) -> Array:
    """The array of a grid: extents and first indices over the parameters."""
    ranges = [outer.range(ends) for ends in grid.ranges]
    lows = [r.first.project_domain_on_params() for r in ranges]
    highs = [r.stop.project_domain_on_params() for r in ranges]
    extents = tuple(high.sub(low) for high, low in zip(highs, lows, strict=True))
    lower: tuple[PwAff, ...] = tuple(lows)
    if all(low.is_equal(affine_constant(low.get_domain_space(), 0)) for low in lows):
        lower = ()
    role = "in" if isinstance(grid, Input) else "temp"
    return Array(grid.name, kind, extents, role, lower, span=span_of(grid.origin))


def _stage(stage: Stage, tables: Tables, universe: Set) -> list[Draft | DraftLoop]:
    """The loops of a stage around what it computes."""
    outer = Nest(stage, tables, universe, {})
    nest = outer
    for index, ends in zip(stage.indices, stage.ranges, strict=True):
        bounds = nest.range(ends)
        inner, loop = nest.inner(index, bounds)
        nest.body.append(loop)
        nest = inner

    def declare(kind: ScalarType) -> Array:
        array = _array(stage, stage.type or kind, outer)
        tables.declare(array)
        return array

    _assign(nest, stage.expression, nest.place, stage.type, declare)
    return outer.body


def _assign(
    nest: Nest,
    expression: Term,
    place: Callable[[Nest], tuple[PwAff, ...]],
    stored: ScalarType | None,
    declare: Callable[[ScalarType], Array],
) -> None:
    """What computes the element at a place of an array, of the type that is asked for."""
    if expression.op != "reduce":
        value = nest.value(expression)
        nest.add(declare(_stored(expression, value)), place(nest), value, expression)
        return
    op = expression.payload.op
    apart: list[Array] = []

    def into(kind: ScalarType) -> Array:
        if _holds_steps(stored or kind, kind, op):
            return declare(kind)
        apart.append(nest.local(op, kind, expression))
        return apart[0]

    def index(inside: Nest) -> tuple[PwAff, ...]:
        return nest.place(inside) if apart else place(inside)

    array, _ = nest.reduce(expression, index, into)
    if apart:
        nest.add(declare(array.type), place(nest), nest.element_of(array, expression), expression)


def _holds_steps(stored: ScalarType, computed: ScalarType, op: str) -> bool:
    """Whether a reduction may go on in the type that it is stored in: sums and products of integers
    wrap alike in each step and at last, anything else is converted once it is complete."""
    wraps = stored.is_integer and computed.is_integer and stored.bits <= computed.bits
    return stored == computed or (wraps and op in {"add", "mul"})


def _recurrence(steps: Steps, tables: Tables, universe: Set) -> list[Draft | DraftLoop]:
    """The first rows of states, then the loop over steps around what each computes."""
    anywhere = Nest(steps.stages[0], tables, universe, {})
    _check_nexts(steps)
    for stage in steps.stages:
        tables.declare(_array(stage, _kind(stage), anywhere))
    for first in steps.firsts:
        _step(first, Nest(first.stage, tables, universe, {}), anywhere.body)
    inside, loop = anywhere.inner(steps.index, anywhere.range((as_term(0), steps.count)))
    anywhere.body.append(loop)
    for member in steps.members:
        _step(member, inside.of(member.stage), loop.body)
    return anywhere.body


def _check_nexts(steps: Steps) -> None:
    updated = {member.stage for member in steps.members}
    missing = next((first.stage for first in steps.firsts if first.stage not in updated), None)
    if missing is not None:
        raise InvalidOptionError(
            f"the state {missing.name!r} has no next", span=span_of(missing.origin)
        )


def _kind(stage: Stage) -> ScalarType:
    """The type of an array of a recurrence, which is always given."""
    return cast("ScalarType", stage.type)


def _step(step: Step, outer: Nest, body: list[Draft | DraftLoop]) -> None:
    """The loops of one array's row inside those of a recurrence, appended to ``body``."""
    nest, stage = outer, step.stage
    outer.body = body
    for index, ends in zip(step.indices, stage.ranges[1:], strict=True):
        inner, loop = nest.inner(index, nest.range(ends))
        nest.body.append(loop)
        nest = inner
    rank, depth = len(step.indices), len(nest.iterators)

    def place(inside: Nest) -> tuple[PwAff, ...]:
        row = affine_constant(inside.space, step.offset)
        if depth > rank:
            row = row.add(affine_var(inside.space, 0))
        return (row, *(affine_var(inside.space, k) for k in range(depth - rank, depth)))

    array = nest.tables.arrays[stage.name]
    _assign(nest, step.expression, place, stage.type, lambda _kind: array)
