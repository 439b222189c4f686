"""Random loops over steps that copy arrays back: results are the source's, whichever take turns."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.target import target
from polyopt.errors import UserError
from polyopt.ir.scop import Loop
from polyopt.transform.source.double_buffer import copied_back
from tests.unit.transform.programs import assert_right

if TYPE_CHECKING:
    from collections.abc import Iterator

#: caches so small that grids leave them of which some steps are soon run
SMALL = replace(target("avx2"), l1_bytes=4096, l2_bytes=65536, last_bytes=65536, cores=2)
SIZES = {1: {"T": 64, "N": 5000}, 2: {"T": 64, "N": 300}}


def program(seed: int) -> tuple[str, int]:
    """A loop over steps as C, and the dimensions of its grids."""
    rng = random.Random(f"steps {seed}")  # noqa: S311
    rank, states = rng.choice([1, 1, 2]), rng.choice([1, 1, 2, 3])
    names = [f"s{k}" for k in range(states)]
    fresh = rng.choice(["local", "local", "argument"])
    arguments = [*names, "fresh"] if fresh == "argument" else names
    extents = "[N]" * rank
    body = [*_sweep(rng, names, rank), *_copies(rng, names, rank)]
    if rng.random() < 0.3:
        body += _border(rng, rng.choice(names), rank)
    local = f"    float fresh{extents};\n" if fresh == "local" else ""
    first = rng.choice([0, 0, 1, 3])
    lines = "\n".join(f"        {line}" for line in body)
    given = ", ".join(f"float {name}{extents}" for name in arguments)
    return (
        f"void steps(int T, int N, {given})\n{{\n{local}"
        f"    for (int t = {first}; t < T; t++) {{\n{lines}\n    }}\n}}\n"
    ), rank


def _loops(rank: int, *statements: str) -> list[str]:
    axes = "ij"[:rank]
    heads = [f"for (int {a} = 1; {a} < N - 1; {a}++)" for a in axes]
    return [*heads, "{", *statements, "}"]


def _at(rng: random.Random, rank: int, reach: int) -> str:
    moved = (rng.randint(-reach, reach) for _ in range(rank))
    return "".join(f"[{a} + {k}]".replace("+ -", "- ") for a, k in zip("ij", moved, strict=False))


def _sweep(rng: random.Random, names: list[str], rank: int) -> list[str]:
    here = "[i][j]"[: 3 * rank]
    terms = [
        f"{rng.randint(1, 3)} * {rng.choice(names)}{_at(rng, rank, rng.choice([0, 1, 1]))}"
        for _ in range(rng.randint(2, 4))
    ]
    if rng.random() < 0.2:
        terms.append("t")
    if rng.random() < 0.3:
        local = f"float part = {' + '.join(terms[:2])};"
        return _loops(rank, local, f"fresh{here} = part * {' - '.join(['2', *terms[2:]])} + part;")
    return _loops(rank, f"fresh{here} = {' - '.join(terms)};")


def _copies(rng: random.Random, names: list[str], rank: int) -> list[str]:
    here = "[i][j]"[: 3 * rank]
    chain = [*names, "fresh"]
    copies = [f"{a}{here} = {b}{here};" for a, b in pairwise(chain)]
    if rng.random() < 0.2:
        rng.shuffle(copies)
    if rng.random() < 0.5:
        return _loops(rank, *copies)
    return [line for copy in copies for line in _loops(rank, copy)]


def _border(rng: random.Random, name: str, rank: int) -> list[str]:
    end = rng.choice(["0", "N - 1"])
    near = "1" if end == "0" else "N - 2"
    if rank == 1:
        return [f"if (N > 2) {name}[{end}] = {name}[{near}] + 1;"]
    return ["for (int j = 0; j < N; j++)", f"    if (N > 2) {name}[{end}][j] = {name}[{near}][j];"]


def _taken(scop: po.Scop) -> Iterator[str]:
    for node in scop.nest:
        if isinstance(node, Loop):
            yield from (s.array for s in copied_back(scop, node))


@pytest.mark.parametrize("seed", range(24))
def test_steps_of_random_loops_may_take_turns(seed):
    text, rank = program(seed)
    scop = po.parse_c(text)
    small = [{"T": steps, "N": n} for steps in (0, 1, 2, 5, 8) for n in (1, 2, 3, 6)]
    with suppress(UserError):  # refused: that is right as well
        assert_right(po.Plan(scop).double_buffer(*_taken(scop)), *small)
    if seed % 3:
        return
    plan = po.auto(scop, target=SMALL, sizes=SIZES[rank])
    # values leave what floats hold exactly: each product is rounded for itself
    kernel, source = (p.compile(contract=False) for p in (plan, po.Plan(scop)))
    rng = np.random.default_rng(seed)
    for steps, n in ((0, 9), (5, 17), (12, 40), (37, 101)):
        given = {
            a.name: rng.integers(0, 3, (n,) * rank).astype("f4")
            for a in scop.arrays
            if a.role != "temp"
        }
        expected = {name: values.copy() for name, values in given.items()}
        kernel(**given, T=steps, threads=2)
        source(**expected, T=steps)
        for name, values in given.items():
            np.testing.assert_array_equal(values, expected[name], err_msg=name)
