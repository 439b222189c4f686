"""Nests that gcc takes for groups of loads under tests, as it did wrongly once.

Short loops in loops whose iterations a test tells apart: by type, trips, kind of test, order of
elements, and what is done with them. ``python -m tests.property.groups 5000`` tries so many.
"""

from __future__ import annotations

import argparse
import random
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import polyopt as po
from polyopt.codegen.emit import emit
from polyopt.codegen.target import native_target
from polyopt.errors import PolyoptError
from polyopt.runtime.toolchain import find_toolchain
from polyopt.transform.schedule.tree import loops_of

from .compile import Build, Subject, differences, runs_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .compile import Wrong

TYPES = ("float", "double", "int", "short", "signed char", "long", "unsigned char")
TESTS = (
    "y >= 1 && y <= {Y} - 2", "y >= 1", "y <= 3", "z >= 1 && z <= {Z} - 2", "y % 3 != 0",
    "z >= 1 && z <= {Z} - 2 && y >= 1 && y <= {Y} - 2", "w[y] > 0", "k >= 1 && y >= 1",
    "x[0][y][k] > 2",
)  # fmt: skip
ELEMENTS = ("k", "k", "k", "{N} - 1 - k", "k / 2", "2 * k")
VALUES = ("{}", "{}", "3 + ({})", "w[k] * ({})", "({}) - w[k]")
_SHORT = "for (int k = 0; k < {N}; k++)"
BODIES = {
    "chosen": f"{_SHORT} o[z][y][k] = {{v}};",
    "either": f"{_SHORT} o[z][y][k] = {{t}} ? {{x}} : x[0][y][{{e}}];",
    "sides": f"{_SHORT} {{{{ if ({{t}}) o[z][y][k] = {{x}}; else o[z][y][k] = 0; }}}}",
    "then": f"{_SHORT} {{{{ o[z][y][k] = 7; if ({{t}}) o[z][y][k] = {{x}}; }}}}",
    "only": f"{_SHORT} {{{{ if ({{t}}) o[z][y][k] = {{x}}; }}}}",
    "sums": f"{_SHORT} o[z][0][k] += {{v}};",
    "sum": f"{_SHORT} o[z][y][0] += {{v}};",
    "written": "{each}",
}
MOVES = (
    (), (), (("unroll", "k"),), (("vectorize", "k"),),
    (("unroll", "k"), ("vectorize", "y")), (("unroll", "k"), ("unroll", "y"), ("vectorize", "z")),
)  # fmt: skip
#: z, y, and whether the number of rows is known
SIZES = ((5, 5, True), (4, 9, True), (3, 17, True), (3, 21, False))


@dataclass(frozen=True)
class Nest:
    """One function in C, and the sizes to run it at."""

    text: str
    sizes: Mapping[str, int]


def random_nest(seed: int) -> Nest:
    """The nest of a seed."""
    rng = random.Random(f"groups {seed}")  # noqa: S311
    planes, rows, known = rng.choice(SIZES)
    n, kind, body = rng.randint(2, 18), rng.choice(TYPES), rng.choice(list(BODIES))
    y, test, at = str(rows) if known else "m", rng.choice(TESTS), rng.choice(ELEMENTS)
    chosen = "({t} ? {x} : 0)"
    sizes = {"Y": y, "Z": planes, "N": n}
    words = {"t": test.format(**sizes), "e": at.format(**sizes)}
    words["x"] = f"x[z][y][{words['e']}]"
    words["v"] = rng.choice(VALUES).format(chosen.format(**words))
    one = f"o[z][y][k] = {words['v']};"
    words["each"] = " ".join(re.sub(r"\bk\b", str(k), one) for k in range(n))
    made = BODIES[body].format(**words, N=n)
    row = 2 * n if at.startswith("2") else n
    size = "" if known else "int m, "
    text = (
        f"void nest{seed}({size}{kind} x[{planes}][{y}][{row}], {kind} w[64], "
        f"{kind} o[{planes}][{y}][{n}]) {{\n    for (int z = 0; z < {planes}; z++)\n"
        f"        for (int y = 0; y < {y}; y++) {{ {made} }}\n}}\n"
    )
    if not known:
        text = text.replace("    for", "#pragma polyopt assume(m <= 64)\n    for", 1)
    return Nest(text, {} if known else {"m": rows})


def plan_of(text: str, seed: int) -> po.Plan:
    """A plan of a nest: none, or short loops written out, and rows or elements as lanes."""
    rng = random.Random(f"plan {seed}")  # noqa: S311
    plan = po.Plan(po.parse_c(text))
    for move, iterator in rng.choice(MOVES):
        for loop in loops_of(plan.program.tree):
            if loop.name.rpartition(".")[2] == iterator:
                with suppress(PolyoptError):
                    plan = getattr(plan, move)(loop.name)
    return plan


@cache
def _subject(seed: int) -> Subject:
    nest = random_nest(seed)
    plan = plan_of(nest.text, seed)
    runs = runs_of(plan.scop, [nest.sizes], seed, expect=None)
    return Subject(plan.scop, runs, [emit(plan.program)], nest.text)


def different(
    seeds: Iterable[int], compiler: str = "", extra: Sequence[str] = ()
) -> tuple[Wrong, ...]:
    """What generated C, compiled as kernels are, computes otherwise than the nests' own C."""
    flags = find_toolchain(compiler or None).flags(native_target().flags, contract=False)
    build = Build(compiler, (*flags, *extra), openmp=False)
    return differences([_subject(seed) for seed in seeds], build=build)


def main() -> None:
    """Try many seeds, some hundreds in each compilation, and say which differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cc", default="")
    parser.add_argument("--flags", default="", help="after the others")
    asked = parser.parse_args()
    seeds = range(asked.first, asked.first + asked.count)
    found: list[Wrong] = []
    for start in range(0, len(seeds), 500):
        found += different(seeds[start : start + 500], asked.cc, asked.flags.split())
    for wrong in found[:20]:
        print(random_nest(int(wrong.function.removeprefix("nest"))).text, wrong.text)  # noqa: T201
    print(f"{len(found)} of {len(seeds)} differ")  # noqa: T201


if __name__ == "__main__":
    main()
