"""Arrays computed once more: what comes of them, and what the proof refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import IllegalScheduleError, InvalidOptionError, UnknownNameError
from polyopt.ir.build import const
from polyopt.ir.expr import Const, rewrite
from polyopt.ir.verify import verify
from polyopt.transform.source.clone_stage import clone_stage
from polyopt.transform.source.proof import check_source

TEXT = """void f(int H, int W, const float a[H][W], float out[H][W]) {
    float b[H][W], c[H][W];
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            b[y][x] = a[y][x] * 3.0f + 1.0f;
    for (int y = 1; y < H; y++)
        for (int x = 0; x < W; x++)
            c[y][x] = b[y - 1][x] + b[y][x];
    for (int y = 1; y < H; y++)
        for (int x = 0; x < W; x++)
            out[y][x] = c[y][x] / b[y][x];
}"""


def test_readers_of_the_clone_read_it_and_others_the_original(tmp_path):
    scop = po.parse_c(TEXT)
    made = clone_stage(scop, "b", "out")
    verify(made)
    assert {a.array for a in made.statement("out").reads} == {"c", "b_again"}
    assert {a.array for a in made.statement("c").reads} == {"b"}
    plan = po.Plan(scop).clone_stage("b", "out").inline("b_again")
    assert "clones       computed by the same statement: b_again as b" in str(plan.prove(code=True))
    image = np.random.default_rng(0).random((5, 37)).astype(np.float32)
    np.testing.assert_array_equal(
        plan.compile(contract=False, cache=tmp_path)(a=image, out=np.zeros_like(image)),
        po.Plan(scop).compile(contract=False, cache=tmp_path)(a=image, out=np.zeros_like(image)),
    )


def test_a_clone_is_part_of_a_saved_plan(tmp_path):
    scop = po.parse_c(TEXT)
    plan = po.Plan(scop).clone_stage("b", "out").inline("b_again")
    plan.save(tmp_path / "plan.json")
    again = po.Plan.load(tmp_path / "plan.json", scop)
    assert again.emit().source == plan.emit().source
    assert again.source is scop


def test_what_cannot_be_computed_again_is_refused():
    plan = po.Plan(po.parse_c(TEXT))
    with pytest.raises(UnknownNameError, match="no reader of b is called 'b'"):
        plan.clone_stage("b", "b")
    with pytest.raises(UnknownNameError, match="no array is called 'd'"):
        plan.clone_stage("d", "out")
    with pytest.raises(InvalidOptionError, match="needs a statement that reads it"):
        plan.clone_stage("b")
    with pytest.raises(InvalidOptionError, match="one statement alone in its nest"):
        plan.clone_stage("a", "b")
    with pytest.raises(InvalidOptionError, match="has to come before other moves"):
        plan.inline("b").clone_stage("b", "out")


def test_a_clone_of_something_else_or_elsewhere_is_refused():
    scop = po.parse_c(TEXT)
    made = clone_stage(scop, "b", "out")
    assert [o.name for o in check_source(scop, made)] == ["clones"]
    maker = made.statement("b_again")
    value = rewrite(
        maker.value, lambda e: const(e.type, e.value + 1) if isinstance(e, Const) else e
    )
    with pytest.raises(IllegalScheduleError, match="something else"):
        check_source(scop, made.with_statements(replace(maker, value=value)))
    shorter = maker.domain.subtract(maker.domain.lexmin())
    with pytest.raises(IllegalScheduleError, match="something else"):
        check_source(scop, made.with_statements(replace(maker, domain=shorter)))
    first, again, *others = made.nest
    late = replace(made, nest=(first, others[0], again, *others[1:]))
    with pytest.raises(IllegalScheduleError, match="right after b"):
        check_source(scop, late)
    seen = replace(made, arrays=(*made.arrays[:-1], replace(made.arrays[-1], role="out")))
    with pytest.raises(IllegalScheduleError, match="arguments are not the source's"):
        check_source(scop, seen)
