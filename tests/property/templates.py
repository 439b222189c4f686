"""What random programs are made of: each template writes one or more statements.

Every template leaves its target written in full before anything reads it, and reads only
subscripts that ``Builder`` finds in bounds.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from .builder import MOST_TRIPS, Axis, Builder, Cells, Form, Item, block, nest
from .values import C_NAMES, Lin, Value, literal, tamed, type_range

if TYPE_CHECKING:
    from collections.abc import Sequence


def _forms(axes: Sequence[Axis]) -> list[Form]:
    return [axis.form for axis in axes]


def _lins(axes: Sequence[Axis]) -> list[Lin]:
    return [axis.form.lin for axis in axes]


def _permuted(b: Builder, axes: list[Axis]) -> list[Axis]:
    """The loops in their own order, or with two exchanged."""
    if len(axes) > 1 and b.chance(15):
        at = b.draw.integer(0, len(axes) - 2)
        axes = [*axes[:at], axes[at + 1], axes[at], *axes[at + 2 :]]
    return axes


def _terms(b: Builder, source: Cells, axes: Sequence[Axis]) -> list[Value]:
    """One to three reads of the source, and perhaps one of another array."""
    align = _forms(axes)
    terms = [b.read(source, align, align) for _ in range(b.choose((2, 1, 3)))]
    if b.chance(30):
        terms.append(b.read(b.source(), align, align))
    return terms


def _value(b: Builder, source: Cells, axes: Sequence[Axis]) -> Value:
    return b.expression(_terms(b, source, axes), axes)


def _target(b: Builder, source: Cells) -> tuple[list[Lin], list[Axis]]:
    """Extents and loops for a consumer of the source."""
    dims = b.shrunk(source.dims)
    if len(dims) == 1 and b.chance(15):
        dims = [*dims, b.extent()]
    return dims, b.axes(dims)


def _guard(b: Builder, axes: Sequence[Axis]) -> str:
    """An affine condition on the position, true for some elements and false for others."""
    first, last = axes[0].form.lin, axes[-1].form.lin
    options = [f"({first}) % 2 == 0", f"({last}) % 3 != 1", f"{last} < 3", f"{first} >= 2"]
    if len(axes) > 1:
        options += [
            f"{first} <= {last}",
            f"({first + last}) % 2 == 0",
            f"{first + last} < 6",
            f"{first} == {last} || {last} == 0",
            f"{first} > 0 && {last} > 0",
            f"!({first} > {last + 1})",
        ]
    return b.choose(options)


def pointwise(b: Builder) -> None:
    """One statement that covers a new array."""
    source = b.source()
    dims, axes = _target(b, source)
    value = _value(b, source, axes)
    target = b.made(dims)
    statement = b.assign(target, _lins(axes), value)
    b.body.append(nest(_permuted(b, axes), [statement]))


def _stepped(axis: Axis, extent: Lin, start: int, *, downwards: bool) -> Axis:
    """Every other iteration of a loop over the extent, counted from its start or its end."""
    name = axis.iterator
    header = f"for (int {name} = {start}; {name} < {extent}; {name} += 2)"
    if downwards:
        header = f"for (int {name} = {extent - 1 - start}; {name} >= 0; {name} -= 2)"
    return Axis(header, name, Form(Lin.of(name), Lin(), extent - 1))


def strided(b: Builder) -> None:
    """Two statements, each with every other element along one dimension."""
    source = b.source()
    dims, axes = _target(b, source)
    at = b.draw.integer(0, len(dims) - 1)
    downwards = b.chance(25)
    nests = []
    for start in (0, 1):
        loops = [
            *axes[:at],
            _stepped(axes[at], dims[at], start, downwards=downwards),
            *axes[at + 1 :],
        ]
        nests.append((loops, _value(b, source, loops)))
    target = b.made(dims)
    if b.chance(30):
        nests.reverse()
    for loops, value in nests:
        b.body.append(nest(loops, [b.assign(target, _lins(loops), value)]))


def paired(b: Builder) -> None:
    """A loop of step 2 that writes two elements, the second under a guard."""
    source = b.source()
    dims, axes = _target(b, source)
    first = _stepped(axes[0], dims[0], 0, downwards=False)
    second = replace(first, form=Form(first.form.lin + 1, Lin({}, 1), dims[0] - 1))
    guard = f"if ({second.form.lin} < {dims[0]})"
    items: list[Item] = []
    values = [(loops := [axis, *axes[1:]], _value(b, source, loops)) for axis in (first, second)]
    target = b.made(dims)
    for loops, value in values:
        statement = b.assign(target, _lins(loops), value)
        inner = nest(loops[1:], [statement]) if loops[1:] else statement
        items.append(block(guard, [inner]) if items else inner)
    b.body.append(nest([first], items))


def branch(b: Builder) -> None:
    """Two statements on the two sides of a condition."""
    source = b.source()
    dims, axes = _target(b, source)
    values = [_value(b, source, axes) for _ in range(2)]
    guard = _guard(b, axes)
    target = b.made(dims)
    yes, no = (b.assign(target, _lins(axes), value) for value in values)
    item = block(f"if ({guard})", [yes], braces=True)
    item[-1] += " else {"
    b.body.append(nest(_permuted(b, axes), [[*item, *block("", [no], braces=True)[1:]]]))


def overwrite(b: Builder) -> None:
    """A whole array, then part of it again: a triangle, a stripe or the inside."""
    source = b.source()
    dims, axes = _target(b, source)
    value, again = (_value(b, source, axes) for _ in range(2))
    target = b.made(dims)
    b.body.append(nest(axes, [b.assign(target, _lins(axes), value)]))
    _partly(b, target, again, axes)


def _partly(b: Builder, target: Cells, value: Value, axes: list[Axis]) -> None:
    """Some elements of an array updated or replaced; the value is made over the axes."""
    if b.chance(50):
        statement = b.accumulate(target, _lins(axes), value, 1)
    else:
        statement = b.assign(target, _lins(axes), value)
    if len(axes) > 1 and b.chance(50):
        b.body.append(nest(_triangle(b, axes), [statement]))
        return
    b.body.append(nest(axes, [block(f"if ({_guard(b, axes)})", [statement])]))


def _triangle(b: Builder, axes: list[Axis]) -> list[Axis]:
    """The loops with the last one bounded by the first one's position as well."""
    outer, inner = axes[0], axes[-1]
    shift = inner.form.lin.constant
    name, here = inner.iterator, outer.form.lin - shift
    low, high = inner.form.low - shift, inner.form.high - shift
    if b.chance(50):
        header = f"for (int {name} = {low}; {name} <= {here} && {name} <= {high}; {name}++)"
    else:
        header = f"for (int {name} = {here}; {name} <= {high}; {name}++)"
    return [*axes[:-1], replace(inner, header=header)]


def reduction(b: Builder) -> None:
    """An initialisation and a reduction over a window, in one nest or in two."""
    source = b.source()
    dims = b.shrunk(source.dims)[:3]
    window = b.choose((2, 3))
    count = 2 if len(dims) == 2 and b.chance(50) else 1
    axes = b.axes(dims, "ijk")
    inner = [
        b.axis(name, Lin(), Lin({}, window - 1)) for name in ("kl" if len(dims) == 2 else "l")
    ][:count]
    forms = _forms(axes)
    moved = [form.plus(inner[d].form) if d < len(inner) else form for d, form in enumerate(forms)]
    term = b.read(source, moved, forms)
    if b.chance(50):
        other = b.read(b.source(), _forms(inner), [*_forms(inner), *forms])
        term = b.joined(term, other)
    _reduce(b, dims, axes, inner, term, window**count)


def contraction(b: Builder) -> None:
    """An initialisation and a reduction over whole dimensions, such as a matrix product."""
    wide = [a for a in b.arrays if len(a.dims) > 1]
    if not wide:
        pointwise(b)
        return
    source = b.choose(wide)
    dims = [*source.dims[:-1]]
    axes = b.axes(dims, "ij")
    last = source.dims[-1]
    inner = b.axis("l", Lin(), last - 1)
    if b.chance(30):
        inner = _triangle(b, [axes[0], inner])[-1] if last.natural(b.least) else inner
    term = b.read(source, [*_forms(axes), inner.form], [inner.form])
    if b.chance(60):
        align = [inner.form, *_forms(axes)]
        term = b.joined(term, b.read(b.source(), align, [*align]))
    _reduce(b, dims, axes, [inner], term, MOST_TRIPS)


def _reduce(
    b: Builder, dims: list[Lin], axes: list[Axis], inner: list[Axis], term: Value, trips: int
) -> None:
    start = literal("i32", b.choose((0, 1, 7)))
    target = b.made(dims)
    init = b.assign(target, _lins(axes), start)
    step = b.accumulate(target, _lins(axes), term, trips)
    if b.chance(50):
        b.body.append(nest(axes, [init, nest(inner, [step])]))
        return
    b.body.append(nest(axes, [init]))
    # the reduced loops may also come first
    loops = [*inner, *axes] if b.chance(40) and not _depends(inner, axes) else [*axes, *inner]
    b.body.append(nest(loops, [step]))


def _depends(inner: Sequence[Axis], axes: Sequence[Axis]) -> bool:
    return any(re.search(rf"\b{axis.iterator}\b", i.header) for i in inner for axis in axes)


def accumulator(b: Builder) -> None:
    """A reduction into a scalar that each iteration has for itself."""
    source = b.source()
    dims = b.shrunk(source.dims)[:2]
    axes = b.axes(dims, "ij")
    inner = b.axis("l", Lin(), Lin({}, b.choose((1, 2))))
    moved = [axes[0].form.plus(inner.form), *_forms(axes[1:])]
    term = b.read(source, moved, _forms(axes))
    target = b.made(dims)
    b.arrays.remove(target)
    total = Cells(f"s{len(b.body)}", target.type, (), 0, 0)
    init = b.assign(total, (), literal("i32", 0))
    init[0] = f"{C_NAMES[total.type]} {init[0]}"
    step = b.accumulate(total, (), term, 3)
    last = b.assign(target, _lins(axes), b.load(total, ()))
    b.arrays.append(target)
    b.body.append(nest(axes, [init, nest([inner], [step]), last]))


def inplace(b: Builder) -> None:
    """An array updated where it stands, perhaps from neighbours that were updated before."""
    target = b.source()
    if not _has_inside(target):
        pointwise(b)
        return
    axes = b.axes(target.dims)
    if not b.chance(50):
        others = [a for a in b.arrays if a is not target and (a.given or a.written)]
        source = b.choose(others) if others else target
        value = b.read(source, _forms(axes), _forms(axes))
        if source is target:
            low, high = type_range(target.type)
            value = replace(value, low=low, high=high)
        value = tamed(value)
        _partly(b, target, value, axes)
        return
    at = b.draw.integer(0, len(axes) - 1)
    axes[at] = b.axis(axes[at].iterator, Lin({}, 1), target.dims[at] - 1)
    lins = _lins(axes)
    before = [lin - 1 if d == at else lin for d, lin in enumerate(lins)]
    target.read = True
    earlier = tamed(_own(target, before))
    value = b.joined(earlier, tamed(_own(target, lins)))
    b.body.append(nest(axes, [b.assign(target, lins, tamed(value))]))


def _has_inside(cells: Cells) -> bool:
    """Whether no constant extent is so small that a loop without the border is empty."""
    return all(dim.terms or dim.constant > 2 for dim in cells.dims)


def _own(cells: Cells, subscripts: Sequence[Lin]) -> Value:
    """An element of an array that changes meanwhile: of whatever value the type has."""
    low, high = type_range(cells.type)
    return replace(Builder.load(cells, subscripts), low=low, high=high)


def time_loop(b: Builder) -> None:
    """Two buffers written in turn from each other, several times."""
    one = b.source()
    if not _has_inside(one):
        pointwise(b)
        return
    two = b.input(one)
    items = []
    for source, target in ((one, two), (two, one)):
        axes = [
            b.axis(name, Lin({}, 1), dim - 2) for name, dim in zip("ijk", one.dims, strict=False)
        ]
        source.read = True
        reads = [_own(source, _moved(b, axes)) for _ in range(b.choose((2, 3)))]
        value = b.joined(tamed(reads[0]), tamed(reads[1]))
        items.append(nest(axes, [b.assign(target, _lins(axes), tamed(value))]))
    steps = b.choose((2, 3))
    b.body.append(block(f"for (int t = 0; t < {steps}; t++)", items))


def _moved(b: Builder, axes: Sequence[Axis]) -> list[Lin]:
    """A neighbour's subscripts, one away in one dimension."""
    at, by = b.draw.integer(0, len(axes) - 1), b.choose((0, -1, 1))
    return [a.form.lin + by if d == at else a.form.lin for d, a in enumerate(axes)]


def lagged(b: Builder) -> None:
    """A producer and its consumer in one loop, the consumer an iteration behind."""
    source = b.source()
    dims = b.shrunk(source.dims)[:3]
    lag = b.choose((1, 2))
    if not (dims[0] - 1 - lag).natural(b.least):
        pointwise(b)
        return
    outer = Axis(f"for (int i = 0; i < {dims[0]}; i++)", "i", Form(Lin.of("i"), Lin(), dims[0] - 1))
    inner = b.axes(dims[1:], "jk")
    value = _value(b, source, [outer, *inner])
    first = b.made(dims)
    made = b.assign(first, _lins([outer, *inner]), value)
    late = Form(Lin.of("i") - lag, Lin(), dims[0] - 1 - lag)
    align = [late.shifted(b.draw.integer(0, lag)), *_forms(inner)]
    term = _row_read(b, first, align)
    term = b.joined(term, _row_read(b, first, [late, *_forms(inner)]))
    second = b.made([dims[0] - lag, *dims[1:]])
    used = b.assign(second, [late.lin, *_lins(inner)], term)
    items = [nest(inner, [made]) if inner else made]
    tail = nest(inner, [used]) if inner else used
    b.body.append(nest([outer], [*items, block(f"if (i >= {lag})", [tail])]))


def _row_read(b: Builder, cells: Cells, forms: Sequence[Form]) -> Value:
    """An element at exactly these subscripts."""
    cells.read = True
    return b.load(cells, [form.lin for form in forms])


def row(b: Builder) -> None:
    """A row computed and used in each iteration, in one buffer for all or one for each."""
    source = b.source()
    dims = b.shrunk(source.dims)[:2]
    if len(dims) < 2:
        dims = [*dims, b.extent()]
    reach = b.choose((1, 0, 2))
    outer, along = b.axes(dims, "ij")
    wide = b.axis("j", Lin(), dims[1] - 1 + reach)
    value = _value(b, source, [outer, wide])
    line = b.made([dims[1] + reach], name=f"row{len(b.body)}")
    b.arrays.remove(line)
    first = nest([wide], [b.assign(line, [wide.form.lin], value)])
    reads = [_row_read(b, line, [along.form.shifted(by)]) for by in (0, reach)]
    value = b.joined(*reads)
    target = b.made(dims)
    second = nest([along], [b.assign(target, _lins([outer, along]), value)])
    declared = f"{C_NAMES[line.type]} {line.name}[{line.dims[0]}];"
    if b.chance(50):
        b.body.append(nest([outer], [[declared], first, second]))
    else:
        b.body += [[declared], nest([outer], [first, second])]


#: Templates with the number of statements that they write.
COSTS = {
    pointwise: 1, strided: 2, paired: 2, branch: 2, overwrite: 2, reduction: 2, contraction: 2,
    accumulator: 3, inplace: 1, time_loop: 2, lagged: 2, row: 2,
}  # fmt: skip

#: What each profile draws from, with repetition for weight.
PROFILES = {
    "default": (
        pointwise, pointwise, pointwise, pointwise, reduction, reduction, contraction, strided,
        branch, overwrite, inplace, lagged, row, time_loop, paired, accumulator,
    ),
    "chains": (pointwise,),
    "reductions": (reduction, contraction, pointwise, accumulator),
    "inplace": (inplace, overwrite, time_loop, pointwise),
    "irregular": (strided, branch, overwrite, paired, lagged, row, pointwise),
}  # fmt: skip
