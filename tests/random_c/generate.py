"""Random C as people write it: ``random_c(seed)``.

Nothing in it follows from polyopt's own representation. Programs are defined whatever their arrays
hold, as far as ranges can tell; a sanitizer has the last word.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

from .builder import Builder, Helper, Scope
from .ctypes import COUNTERS, DATA, INTEGERS
from .draw import Draw
from .nests import Nests
from .shapes import Cells, Extent
from .values import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

#: calls of a nest's innermost statement are about that many at most
_WORK = 30_000


@dataclass(frozen=True)
class Parameter:
    """An argument: a size, a scalar, or an array (with extents)."""

    name: str
    key: str
    kind: str
    extents: tuple[tuple[str, int, int], ...] = ()
    #: elements are subscripts of that extent
    into: tuple[str, int, int] | None = None
    #: it may overlap with others
    aliases: bool = False
    #: its type as the program spells it: `long` and `long long` are two types that never alias
    spelling: str = ""

    def count(self, sizes: Mapping[str, int]) -> int:
        """Elements, at these sizes."""
        return prod(Extent(*e).at(sizes) for e in self.extents)


@dataclass(frozen=True)
class Program:
    """A function's text, and all that is needed to call it."""

    name: str
    text: str
    parameters: tuple[Parameter, ...]
    #: what the file defines besides
    file_names: tuple[str, ...] = ()
    headers: bool = False
    wild: bool = False
    #: of macros that are sizes
    fixed: Mapping[str, int] = field(default_factory=dict[str, int])
    depth: int = 2

    @property
    def sizes(self) -> tuple[str, ...]:
        """The names of its sizes."""
        return tuple(p.name for p in self.parameters if p.kind == "size")

    @property
    def most(self) -> int:
        """How large sizes may be."""
        return max(4, min(90, int(_WORK ** (1 / max(1, self.depth)))))

    def describe(self) -> dict[str, Any]:
        """All but the text, for a file's head."""
        known = asdict(self)
        del known["text"]
        return known

    @classmethod
    def of(cls, text: str, known: Mapping[str, Any]) -> Program:
        """The program that ``describe`` told, with that text."""
        parameters = tuple(
            Parameter(**{**p, "extents": tuple(map(tuple, p["extents"])), "into": tuple(p["into"]) if p["into"] else None})
            for p in known["parameters"]
        )  # fmt: skip
        return cls(
            text=text,
            **{**known, "parameters": parameters, "file_names": tuple(known["file_names"])},
        )


def random_c(seed: int, *, wild: bool | None = None) -> Program:
    """The program of a seed."""
    draw = Draw(f"random C {seed}")
    wild = draw.chance(50) if wild is None else wild
    b = Builder(draw, wild=wild, headers=draw.chance(50))
    name = f"p{seed}"
    _file_scope(b)
    _arguments(b)
    nests = Nests(b)
    count = draw.choose((1, 1, 1, 2, 2, 3))
    region = [line for _ in range(count) for line in nests.nest()]
    parameters = _parameters(b)
    depth = max(1, nests.depth)
    text = _text(b, name, nests, region, parameters)
    known = [p for p, _ in parameters]
    return Program(name, text, tuple(known), tuple(b.file_names), b.headers, wild, b.fixed, depth)


# -- the file -------------------------------------------------------------------------------------


def _file_scope(b: Builder) -> None:
    draw = b.draw
    if draw.chance(40):
        b.minimum, b.maximum = (
            draw.choose(pair) for pair in (("MIN", "min", "MIN2", "imin"), ("MAX", "max", "MAX2"))
        )
        for name, op in ((b.minimum, "<"), (b.maximum, ">")):
            b.head.append(f"#define {name}(a, b) ((a) {op} (b) ? (a) : (b))")
            b.names.take(name)
    for _ in range(draw.choose((0, 0, 1, 1, 2))):
        _helper(b)


def _helper(b: Builder) -> None:
    draw = b.draw
    name = b.names.fresh(local=False)
    keys = tuple(draw.choose(DATA) for _ in range(draw.integer(1, 2)))
    result = draw.choose(DATA)
    names = [b.names.fresh() for _ in keys]
    scope = Scope([], [Value.any_of(n, k) for n, k in zip(names, keys, strict=True)])
    parameters = ", ".join(f"{b.spelled(k)} {n}" for n, k in zip(names, keys, strict=True))
    lines = []
    if draw.chance(40):
        key = draw.choose(DATA)
        local = b.names.fresh()
        names.append(local)
        lines.append(f"    {b.spelled(key)} {local} = {b.fitted(b.expression(scope, 2), key)};")
        scope.values.append(Value.any_of(local, key))
    if draw.chance(35):
        lines.append(f"    if ({b.test(scope, data=True)})")
        lines.append(f"        return {b.fitted(b.expression(scope, 1), result)};")
    lines.append(f"    return {b.fitted(b.expression(scope, 2), result)};")
    static = draw.choose(("static ", "static inline ", "static "))
    b.head += [f"{static}{b.spelled(result)} {name}({parameters})", "{", *lines, "}"]
    b.helpers.append(Helper(name, result, keys))
    b.file_names.append(name)
    for local in names:
        b.names.again(local)


# -- parameters -----------------------------------------------------------------------------------


def _arguments(b: Builder) -> None:
    draw = b.draw
    for _ in range(draw.choose((1, 1, 2, 2, 2, 3))):
        b.sizes[b.names.fresh()] = draw.choose(COUNTERS)
    if draw.chance(25):
        name = draw.choose(("N", "M", "WIDTH", "ROWS"))
        if b.names.take(name):
            value = draw.choose((1, 2, 5, 8, 12, 16, 33))
            b.sizes[name], b.fixed[name] = "i32", value
            b.head.append(
                draw.choose(
                    (
                        f"#define {name} {value}",
                        f"#define {name} ({value})",
                        f"enum {{ {name} = {value} }};",
                    )
                )
            )
    for _ in range(draw.integer(10, 14) if draw.chance(8) else draw.integer(2, 5)):
        b.arrays.append(_array(b))
    if b.wild and draw.chance(60):
        _index_array(b)
    for _ in range(draw.choose((0, 0, 1, 2))):
        b.scalars.append(Value.any_of(b.names.fresh(), draw.choose(DATA)))


def _extent(b: Builder) -> Extent:
    draw = b.draw
    if draw.chance(12):
        return Extent("", draw.choose((1, 2, 4, 8, 16, 7, 3)))
    factor = 2 if draw.chance(7) else 1
    return Extent(draw.choose(list(b.sizes)), draw.choose((0, 0, 0, 0, 1, 1, 2, 3)), factor)


def _array(b: Builder) -> Cells:
    draw = b.draw
    extents = tuple(_extent(b) for _ in range(draw.choose((1, 1, 1, 2, 2, 2, 2, 3))))
    if b.wild and len(extents) == 1 and draw.chance(20):
        extents = (Extent("", draw.choose((8, 16, 16, 10))),)
    key = draw.choose(b.types) if draw.chance(80) else draw.choose(DATA)
    cells = Cells(b.names.fresh(), key, extents)
    if b.wild and len(extents) > 1 and draw.chance(40):
        cells.form = "flat"
        if len(extents) == 2 and not b.fixed.get(extents[1].size) and draw.chance(30):
            cells.form, cells.macro = "macro", f"AT_{len(b.arrays)}"
            width = str(extents[1])
            b.names.take(cells.macro)
            base, row, column = (b.names.fresh() for _ in range(3))
            b.head.append(
                f"#define {cells.macro}({base}, {row}, {column}) ({base})[({row}) * ({width}) + ({column})]"
            )
    return cells


def _index_array(b: Builder) -> None:
    draw = b.draw
    target = draw.choose(b.arrays)
    key = draw.choose([k for k in INTEGERS if k != "bool"])
    cells = Cells(b.names.fresh(), key, (draw.choose(draw.choose(b.arrays).extents),))
    cells.into = draw.choose(target.extents)
    b.arrays.append(cells)


def _parameters(b: Builder) -> list[tuple[Parameter, str]]:
    """The parameters with their declarations, sizes before the arrays that they are of."""
    draw = b.draw
    sizes = [
        (Parameter(n, k, "size"), f"{b.spelled(k)} {n}")
        for n, k in b.sizes.items()
        if n not in b.fixed
    ]
    if draw.chance(20):
        sizes = [(p, f"const {text}") for p, text in sizes]
    scalars = [
        (Parameter(v.text, v.type, "scalar"), f"{b.spelled(v.type)} {v.text}") for v in b.scalars
    ]
    arrays = [_declared(b, a) for a in b.arrays if not a.local]
    rest = draw.shuffled([*scalars, *arrays]) if draw.chance(50) else [*scalars, *arrays]
    return [*sizes, *rest]


def _declared(b: Builder, cells: Cells) -> tuple[Parameter, str]:
    draw = b.draw
    const = "" if cells.written or draw.chance(30) else "const "
    spelling = b.spelled(cells.key)
    type_ = f"{const}{spelling} "
    restrict = draw.chance(30)
    extents = [str(e) for e in cells.extents]
    if cells.form != "rows":
        text = f"{type_}*{'restrict ' if restrict else ''}{cells.name}"
    elif b.wild and draw.chance(40):
        star = f"*{'restrict ' if restrict else ''}{cells.name}"
        text = type_ + (
            star if len(extents) == 1 else f"({star})" + "".join(f"[{e}]" for e in extents[1:])
        )
    else:
        first = f"restrict {extents[0]}" if restrict else extents[0]
        if draw.chance(8):
            first = f"static {extents[0]}"
        text = f"{type_}{cells.name}[{first}]" + "".join(f"[{e}]" for e in extents[1:])
    made = Parameter(
        cells.name, cells.key, "array", tuple((e.size, e.more, e.factor) for e in cells.extents),
        (cells.into.size, cells.into.more, cells.into.factor) if cells.into else None,
        "restrict" not in text and not cells.into, spelling,
    )  # fmt: skip
    return made, text


# -- text -----------------------------------------------------------------------------------------


def _text(
    b: Builder, name: str, nests: Nests, region: list[str], parameters: list[tuple[Parameter, str]]
) -> str:
    draw = b.draw
    lines = (
        [f"#include <{h}.h>" for h in ("math", "stddef", "stdint", "stdbool")] if b.headers else []
    )
    lines += b.head
    macros = [line.split()[1].partition("(")[0] for line in b.head if line.startswith("#define")]
    b.file_names += [n for n in b.fixed if n not in macros]
    declared = (
        draw.shuffled(nests.declared)
        if not any("[" in d for d in nests.declared)
        else nests.declared
    )
    inside = draw.chance(15)
    body = [
        "#pragma scop",
        *(declared if inside and not nests.after else []),
        *region,
        "#pragma endscop",
    ]
    if not inside or nests.after:
        body = [*declared, *body]
    body += nests.after
    indented = [line if line.startswith("#") else "    " + line for line in body]
    signature = ", ".join(text for _, text in parameters)
    lines += [f"void {name}({signature})", "{", *indented, "}"]
    return "\n".join(lines) + "\n"
