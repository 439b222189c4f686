"""Budgets of memory: what would grow without end is refused by count, and left out by itself."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import TooLargeError
from polyopt.transform.schedule.limits import (
    MOST_BUFFERED,
    MOST_LOOPS,
    MOST_OPERANDS,
    MOST_WRITTEN,
    operands,
)
from tests.property.plans import replayed
from tests.property.trial import Example
from tests.unit.transform.programs import BLUR

CORPUS = Path(__file__).parents[2] / "property" / "corpus"


def powers(stages):
    """A chain of stages each of which reads the one before three times."""
    lines = ["void f(int N, const float a[N], float out[N]) {"]
    lines += [f"  float t{k}[N];" for k in range(stages)]
    names = ["a", *(f"t{k}" for k in range(stages)), "out"]
    for one, other in pairwise(names):
        lines.append(f"  for (int i = 0; i < N; i++) {other}[i] = {one}[i] * {one}[i] - {one}[i];")
    return po.parse_c("\n".join([*lines, "}"]))


def test_operands_multiply_through_what_is_inlined():
    plan = po.Plan(powers(3))
    assert operands(plan.program)["out"] == 3
    assert operands(plan.inline("t2").inline("t1").program)["out"] == 27
    assert operands(plan.inline("t0").inline("t1").program)["t2"] == 27


def test_inlining_stops_before_it_explodes():
    plan = po.Plan(powers(7))
    for name in ("t6", "t5", "t4", "t3"):
        plan = plan.inline(name)
    with pytest.raises(TooLargeError, match="t2 inlined would give out 729 operands") as caught:
        plan.inline("t2")
    assert f"{MOST_OPERANDS} operands are the most" in str(caught.value)
    assert caught.value.diagnostic.span is not None


def test_a_chain_that_would_explode_is_planned_all_the_same():
    scop = powers(12)
    plan = po.auto(scop, sizes={"N": 1000})
    assert max(operands(plan.program).values()) <= MOST_OPERANDS
    assert any(r.code == "too-large" and r.kind == "refused" for r in plan.remarks)
    assert plan.script == po.auto(scop, sizes={"N": 1000}).script
    values = np.linspace(0, 1, 33, dtype=np.float32)
    assert np.array_equal(plan.compile()(values), po.Plan(scop).compile()(values))


def test_unrolled_loops_are_counted_together():
    loops = "".join(
        f"for (int i = 0; i < N; i++) for (int j = 0; j < 64; j++) for (int k = 0; k < 64; k++) "
        f"b{n}[i][j][k] = {' + '.join(f'a[i][j][k + {d}]' for d in range(12))};\n"
        for n in range(3)
    )
    arrays = ", ".join(f"float b{n}[N][64][64]" for n in range(3))
    plan = po.Plan(po.parse_c(f"void f(int N, const float a[N][64][80], {arrays}) {{ {loops} }}"))
    for n in range(2):
        plan = plan.unroll(f"b{n}.j").unroll(f"b{n}.k")
    with pytest.raises(TooLargeError, match=r"b2\.k unrolled would make statements of 147456"):
        plan.unroll("b2.j").unroll("b2.k")
    assert MOST_WRITTEN < 147456


def test_packs_are_counted_as_they_are():
    plan = po.Plan(po.parse_c(BLUR)).tile("out", y=4, x=8).pack("bx", at="out.x_tile")
    pack = next(name for name, copy in plan.program.copies.items() if copy.fills)
    assert operands(plan.program)[plan.program.copies[pack].statement.name] == 1
    assert plan.unroll("out.y").prove().obligations


def test_buffers_are_no_larger_than_their_budget():
    plan = po.Plan(po.parse_c(BLUR))
    for side in (1 << 15, 1 << 31):
        tiled = plan.tile("out", y=min(side, (1 << 31) - 1), x=min(side, (1 << 31) - 1))
        with pytest.raises(TooLargeError, match="bytes of each thread") as caught:
            tiled.fuse("bx", into="out")
        assert f"{MOST_BUFFERED} bytes are the most" in str(caught.value)
    tiled = plan.tile("out", y=1 << 12, x=1 << 12).fuse("bx", into="out")
    assert tiled.prove().obligations


def test_a_file_cannot_nest_loops_without_end(tmp_path):
    moves = [{"move": "tile", "args": ["out"], "options": {"y": 4}}] * 300
    (tmp_path / "plan.json").write_text(json.dumps({"format": 2, "moves": moves}))
    with pytest.raises(TooLargeError, match=f"inside of {MOST_LOOPS} loops"):
        po.Plan.load(tmp_path / "plan.json", po.parse_c(BLUR))


def test_conditions_inside_of_each_other_have_an_end():
    # one tile of 256 unrolled, each iteration under a bound of its own: a chain of conditions
    example = Example.load(CORPUS / "seed_9474_emit_unroll.c")
    plan = replayed(example.scop, example.calls)
    with pytest.raises(TooLargeError, match="more than 128 loops and conditions in each other"):
        plan.emit()
