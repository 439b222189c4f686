"""Loop nests: what people write between the braces."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .builder import Scope
from .ctypes import COUNTERS, DATA, TYPES, usual
from .shapes import Axis, Cells, Extent, Loop, downwards, shifted, upwards
from .values import Value, combined, joined, smaller

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .builder import Builder

#: sums of so small terms fit whatever the sizes are
_TERM = 255


class Nests:
    """Writes nests into a program; ``declared`` is what the function has to declare before them."""

    def __init__(self, b: Builder) -> None:
        self.b = b
        self.declared: list[str] = []
        #: iterators that the function declares, with their types
        self.shared: dict[str, str] = {}
        #: after the region: scalars that it computes go into results
        self.after: list[str] = []
        self.depth = 0

    # -- loops ------------------------------------------------------------------------------------

    def loop(self, size: str, low: int, top: int, high: int = 0, *, whole: bool = False) -> Loop:
        """A loop over a size, or to ``high``; a whole one takes all in steps of one."""
        b, draw = self.b, self.b.draw
        name, key, declared = self._iterator(signed=low < 0)
        axis = Axis(name, key, size, low, top, high)
        size_key = b.sizes.get(size, "i32")
        make = downwards if draw.chance(20) and not whole else upwards
        while True:
            made = make(draw, name, key, declared, axis, size_key)
            if not whole or "++" in made.header:
                return made

    def _iterator(self, *, signed: bool) -> tuple[str, str, str]:
        """Its name, type, and how its header declares it."""
        b, draw = self.b, self.b.draw
        if self.shared and draw.chance(30):
            free = [
                n
                for n, k in self.shared.items()
                if n not in self._used and (TYPES[k].signed or not signed)
            ]
            if free:
                name = draw.choose(free)
                self._used.append(name)
                return name, self.shared[name], ""
        key = draw.choose([k for k in COUNTERS if TYPES[k].signed or not signed])
        name = b.names.fresh()
        self._used.append(name)
        if draw.chance(25):
            self.shared[name] = key
            self.declared.append(f"{b.spelled(key)} {name};")
            return name, key, ""
        self._scoped.append(name)
        return name, key, f"{b.spelled(key)} "

    def nest(self) -> list[str]:
        """A new nest of some kind."""
        self._used: list[str] = []
        self._scoped: list[str] = []
        draw = self.b.draw
        kinds = _KINDS + (_WILD if self.b.wild else ())
        lines = draw.choose(kinds)(self)
        for name in self._scoped:
            if draw.chance(60):
                self.b.names.again(name)
        return lines

    def _over(self, cells: Cells, *, whole: bool = False) -> list[Loop]:
        """A loop for each dimension such that the array may be written there."""
        loops: list[Loop] = []
        for extent in cells.extents:
            if extent.size and (extent.factor == 1 or whole):
                low, top = self._range(extent, whole=whole)
                loops.append(self.loop(extent.size, low, top, whole=whole))
                continue
            if extent.size:
                loops.append(self.loop(extent.size, 0, self.b.draw.integer(0, 1)))
                continue
            low = 0 if whole else self.b.draw.integer(0, extent.more - 1)
            high = extent.more - 1 if whole else self.b.draw.integer(low, extent.more - 1)
            low = low if whole or self.b.draw.chance(30) else 0
            loops.append(self.loop("", low, 0, high, whole=whole))
        return loops

    def _range(self, extent: Extent, *, whole: bool) -> tuple[int, int]:
        if whole:
            return 0, -extent.more
        draw = self.b.draw
        return draw.choose((0, 0, 0, 0, 1, 1, 2, -1)), draw.choose((0, 0, 0, 1, 1, 2, -extent.more))

    # -- bodies -----------------------------------------------------------------------------------

    def _written(self, cells: Cells, scope: Scope) -> str:
        """An element to write: by the loops over its dimensions, mostly."""
        cells.written = True
        b = self.b
        found: list[str] = []
        left = list(scope.axes)
        for extent in cells.extents:
            known = ((a, b.positions(extent, [a])) for a in left)
            axis, positions = next(((a, p) for a, p in known if p), (None, []))
            if axis is None:
                found.append(b.subscript(extent, scope))
                continue
            left.remove(axis)
            plain = [p for p in positions if p == axis.text] or positions
            found.append(b.draw.choose(plain if b.draw.chance(75) else positions))
        return cells.element(found)

    def _target(self) -> Cells:
        return self.b.draw.choose([a for a in self.b.arrays if a.into is None])

    def _statement(self, scope: Scope, cells: Cells | None = None) -> str:
        b = self.b
        cells = cells or self._target()
        element = self._written(cells, scope)
        return b.assignment(element, cells.key, b.expression(scope, b.draw.choose((1, 1, 2, 2, 3))))

    def _body(self, scope: Scope, cells: Cells) -> list[str]:
        b, draw = self.b, self.b.draw
        lines = [self._scalar(scope) for _ in range(draw.choose((0, 0, 0, 1, 1, 2)))]
        kind = draw.choose(("one", "one", "one", "two", "if", "else", "continue", "reduce", "data"))
        first = self._statement(scope, cells)
        if kind == "two":
            return [*lines, first, self._statement(scope)]
        if kind in {"if", "else", "data"}:
            lines += _block(f"if ({b.test(scope, data=kind == 'data')})", [first], draw.chance(50))
            if kind == "else":
                lines += _block("else", [self._statement(scope, cells)], draw.chance(50))
            return lines
        if kind == "continue":
            test = b.test(scope, data=self.b.wild and draw.chance(30))
            return [*lines, f"if ({test})", "    continue;", first]
        if kind == "reduce":
            return [*lines, *self._reduced(scope, cells)]
        return [*lines, first]

    def _scalar(self, scope: Scope) -> str:
        b = self.b
        key = b.draw.choose(DATA)
        value = b.expression(scope, 2)
        name = b.names.fresh()
        self._scoped.append(name)
        scope.values.append(Value.any_of(name, key))
        const = "const " if b.draw.chance(30) else ""
        return f"{const}{b.spelled(key)} {name} = {b.fitted(value, key)};"

    def _term(self, scope: Scope, key: str) -> Value:
        """What may be added up in that type any number of times."""
        b = self.b
        term = b.expression(scope, 2)
        if TYPES[key].floating:
            return term
        term = term if not term.floating else Value(b.fitted(term, "i16"), "i16", -32768, 32767, 3)
        if TYPES[usual(key, term.type)].signed and max(-term.low, term.high) > _TERM:
            return smaller(b.draw, term)
        return term

    def _reduced(self, scope: Scope, cells: Cells) -> list[str]:
        """A local scalar that a loop adds up, stored at the end."""
        b, draw = self.b, self.b.draw
        key = draw.choose(
            ("i32", "i64", "u32", "f32", "f64", "f64", "u64", "u8", "bool", cells.key)
        )
        total = b.names.fresh()
        self._scoped.append(total)
        inner = self._inner(scope)
        inside = scope.inside(inner.axis)
        step = self._step(total, key, inside)
        element = self._written(cells, scope)
        start = draw.choose(("0", "1", "0", "7"))
        return [
            f"{b.spelled(key)} {total} = {start};",
            *_block(inner.header, [step], draw.chance(40)),
            b.assignment(element, cells.key, Value.any_of(total, key), 0),
        ]

    def _inner(self, scope: Scope) -> Loop:
        """A loop for a sum: over a window, a size, or a triangle."""
        draw = self.b.draw
        sizes = list(self.b.sizes)
        outer = [a for a in scope.axes if a.size and a.low >= 0]
        self.depth = max(self.depth, 1 + sum(bool(a.size) for a in scope.axes))
        if outer and draw.chance(25):
            return self._triangle(draw.choose(outer))
        if sizes and draw.chance(45) and len([a for a in scope.axes if a.size]) < 3:
            return self.loop(
                draw.choose(sizes), draw.choose((0, 0, 0, 1)), draw.choose((0, 0, 0, 1))
            )
        low = draw.choose((0, 0, 0, 1, 3, -1, -2))
        return self.loop("", low, 0, low + draw.choose((0, 0, 1, 2, 2, 4)))

    def _triangle(self, outer: Axis) -> Loop:
        draw = self.b.draw
        name, key, declared = self._iterator(signed=False)
        step = draw.choose((f"{name}++", f"++{name}"))
        kind = draw.integer(0, 2)
        if kind == 0:
            axis = Axis(name, key, outer.size, 0, outer.top)
            return Loop(f"for ({declared}{name} = 0; {name} <= {outer.text}; {step})", axis, name)
        if kind == 1:
            axis = Axis(name, key, outer.size, 0, outer.top + 1)
            return Loop(f"for ({declared}{name} = 0; {name} < {outer.text}; {step})", axis, name)
        more = draw.integer(0, 1)
        axis = Axis(name, key, outer.size, outer.low + more, 0)
        header = (
            f"for ({declared}{name} = {shifted(outer.text, more)}; {name} < {outer.size}; {step})"
        )
        return Loop(header, axis, name)

    def _step(self, total: str, key: str, scope: Scope) -> str:
        """One step of a sum, product, extreme or disjunction."""
        b, draw = self.b, self.b.draw
        term = self._term(scope, key)
        kind = draw.choose(("sum", "sum", "sum", "least", "if", "other"))
        now = Value.any_of(total, key)
        whole = b.fitted(term, key)
        if kind == "least" and len(whole) < 60:
            op = draw.choose("<>")
            test = joined(op, replace(term, text=whole, level=3), now)
            return f"{total} = {test.text if test else '1'} ? {whole} : {total};"
        if kind == "if" and len(whole) < 60:
            test = joined(draw.choose("<>"), replace(term, text=whole, level=3), now)
            return f"if ({test.text if test else '1'}) {total} = {whole};"
        if key == "bool":
            return draw.choose(
                (
                    f"{total} |= {whole};",
                    f"{total} = {total} && {whole};",
                    f"{total} = {total} || ({whole});",
                )
            )
        if kind == "other" and not TYPES[key].signed:
            op = draw.choose("*^|&-")
            return (
                f"{total} {op}= {whole};"
                if TYPES[key].bits > 16 or op != "*"
                else f"{total} ^= {whole};"
            )
        if kind == "other" and TYPES[key].floating:
            return draw.choose(
                (
                    f"{total} = {total} * 0.5 + ({whole});",
                    f"{total} -= {whole};",
                    f"{total} *= {whole};",
                )
            )
        return draw.choose(
            (
                f"{total} += {term.text};",
                f"{total} += {term.text};",
                f"{total} -= {term.text};",
                f"{total} = {total} + ({term.text});",
            )
        )

    # -- kinds of nests -----------------------------------------------------------------------------

    def _wrapped(self, loops: Sequence[Loop], body: list[str]) -> list[str]:
        self.depth = max(self.depth, sum(bool(loop.axis.size) for loop in loops))
        for loop in reversed(loops):
            body = _block(loop.header, body, self.b.draw.chance(40))
        return body

    def mapped(self) -> list[str]:
        """An array from others, perhaps in another order of loops."""
        cells = self._target()
        loops = self._over(cells)
        scope = Scope([loop.axis for loop in loops])
        if self.b.draw.chance(20):
            loops = self.b.draw.shuffled(loops)
        return self._wrapped(loops, self._body(scope, cells))

    def imperfect(self) -> list[str]:
        """Statements before and after an inner loop."""
        cells = self._target()
        loops = self._over(cells)
        scope = Scope([loop.axis for loop in loops])
        if len(loops) < 2:
            return self._wrapped(loops, self._body(scope, cells))
        outer = Scope([loops[0].axis])
        before, after = (
            [self._statement(outer)] if self.b.draw.chance(60) else [] for _ in range(2)
        )
        body = self._wrapped(loops[1:], self._body(scope, cells))
        self._wrapped(loops, [])
        return _block(loops[0].header, [*before, *body, *after], braces=False)

    def accumulated(self) -> list[str]:
        """An array that sums are added up in, from a number or from what was there."""
        draw = self.b.draw
        cells = self._target()
        loops = self._over(cells)
        scope = Scope([loop.axis for loop in loops])
        element = self._written(cells, scope)
        inner = self._inner(scope)
        step = self._step(element, cells.key, scope.inside(inner.axis))
        body = [
            f"{element} = {draw.integer(0, 3)};",
            *_block(inner.header, [step], draw.chance(40)),
        ]
        self._wrapped([*loops, inner], [])
        return self._wrapped(loops, body)

    def total(self) -> list[str]:
        """A scalar of the function, which goes into a result."""
        b, draw = self.b, self.b.draw
        key = draw.choose(("i32", "i64", "u32", "f32", "f64", "f64", "u64", "bool", "i16"))
        name = b.names.fresh()
        self.declared.append(f"{b.spelled(key)} {name};")
        loops = self._over(self._target())
        step = self._step(name, key, Scope([loop.axis for loop in loops]))
        lines = [f"{name} = {draw.integer(0, 2)};", *self._wrapped(loops, [step])]
        result = self._target()
        element = result.element(
            [str(draw.integer(0, min(e.least, 2) - 1)) for e in result.extents]
        )
        result.written = True
        last = b.assignment(element, result.key, Value.any_of(name, key), 0)
        if draw.chance(60):
            return [*lines, last]
        self.after.append(last)
        return lines

    def temporary(self) -> list[str]:
        """A local array, filled and then read."""
        b, draw = self.b, self.b.draw
        like = self._target()
        extents = tuple(e for e in like.extents if e.factor == 1)
        if len(extents) < len(like.extents):
            return self.mapped()
        cells = Cells(b.names.fresh(), draw.choose(DATA), extents, local=True)
        self.declared.append(f"{b.spelled(cells.key)} {cells.element([str(e) for e in extents])};")
        loops = self._over(cells, whole=True)
        scope = Scope([loop.axis for loop in loops])
        element = cells.element([a.text for a in scope.axes])
        value = b.fitted(b.expression(scope, 2), cells.key)
        lines = self._wrapped(loops, [f"{element} = {value};"])
        b.arrays.append(cells)
        return lines

    def timed(self) -> list[str]:
        """Steps in time: nests that run again and again on what they left."""
        draw = self.b.draw
        sizes = list(self.b.sizes)
        if sizes and draw.chance(40):
            steps = self.loop(draw.choose(sizes), 0, draw.integer(0, 2), whole=True)
        else:
            steps = self.loop("", 0, 0, draw.integer(0, 4), whole=True)
        body: list[str] = []
        for _ in range(draw.choose((1, 2, 2))):
            cells = self._target()
            loops = self._over(cells)
            scope = Scope([loop.axis for loop in loops])
            element = self._written(cells, scope)
            near = [
                self.b.load(scope, cells if draw.chance(60) else None)
                for _ in range(draw.integer(2, 3))
            ]
            value = near[0]
            for other in near[1:]:
                value = combined(draw, draw.choose("++-*"), value, other, self.b.spelled("i64"))
            body += self._wrapped(loops, [f"{element} = {self.b.fitted(value, cells.key)};"])
        self.depth += bool(steps.axis.size)
        return _block(steps.header, body, braces=True)

    def scattered(self) -> list[str]:
        """A histogram, or a scatter by an index array."""
        b, draw = self.b, self.b.draw
        pairs = [
            (a, c)
            for a in b.arrays
            if a.into
            for c in b.arrays
            if c.extents == (a.into,) and not c.into
        ]
        tables = [
            c
            for c in b.arrays
            if len(c.extents) == 1
            and not c.extents[0].size
            and c.extents[0].more > 3
            and not c.into
        ]
        over = self._target()
        loops = self._over(over)
        scope = Scope([loop.axis for loop in loops])
        if pairs and (not tables or draw.chance(60)):
            at, cells = draw.choose(pairs)
            where = b.load_plain(at, scope)
        elif tables:
            cells = draw.choose(tables)
            where = b.gathered(cells.extents[0], scope) or "0"
        else:
            return self.mapped()
        cells.written = True
        body = b.assignment(cells.element([where]), cells.key, b.expression(scope, 2), 70)
        return self._wrapped(loops, [body])


def _block(header: str, body: list[str], braces: bool) -> list[str]:  # noqa: FBT001
    """A loop or condition around lines; braces where they are needed."""
    inside = ["    " + line for line in body]
    single = bool(body) and all(line[0] in " }" for line in body[1:])
    return [header, *inside] if single and not braces else [header + " {", *inside, "}"]


_KINDS: tuple[Callable[[Nests], list[str]], ...] = (
    *[Nests.mapped] * 6, *[Nests.imperfect] * 2, *[Nests.accumulated] * 3, *[Nests.total] * 2, *[Nests.temporary] * 2,
    *[Nests.timed] * 2,
)  # fmt: skip
_WILD: tuple[Callable[[Nests], list[str]], ...] = (*[Nests.scattered] * 5,)
