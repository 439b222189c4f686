"""Schedules of parallel loops: one piece for each thread where each then finds its rows in its own cache."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.target import target
from polyopt.codegen.validate.translation import check_code
from polyopt.errors import InvalidOptionError

ROWS = """\
void rows(int H, float a[H][H], float b[H][H]) {
#pragma scop
  for (int y = 0; y < H; y++)
    for (int x = 0; x < BOUND; x++)
      b[y][x] = VALUE;
#pragma endscop
}
"""
SIZES = {"H": 1200}


def made(*, bound="H", value="a[y][x] + 1", last=1 << 25):
    machine = replace(target("avx512"), last_bytes=last, cores=2)
    scop = po.parse_c(ROWS.replace("BOUND", bound).replace("VALUE", value))
    return po.auto(scop, target=machine, sizes=SIZES)


def test_threads_have_one_piece_each_where_caches_hold_a_call():
    plan = made()
    (move,) = [m for m in plan.moves if m.name == "parallelize"]
    assert str(move) == ".parallelize('b.y', schedule='static')"
    assert "schedule(static)" in plan.emit().source
    (said,) = [r for r in plan.remarks if r.move == "parallelize"]
    assert "the same in every call" in said.reason


@pytest.mark.parametrize(
    "other",
    [
        {"last": 1 << 20},  # memory is as far from every thread
        {"bound": "y + 1"},  # late iterations do more
        {"value": "a[y][x] / (1 + a[y][x] * a[y][x]) / (2 + a[y][x]) / (3 + a[y][x])"},
    ],
)
def test_threads_take_pieces_as_they_get_free_elsewhere(other):
    plan = made(**other)
    assert [m.args for m in plan.moves if m.name == "parallelize"] == [("b.y",)]
    assert "schedule(dynamic, 1 + " in plan.emit().source


def test_a_schedule_is_static_or_dynamic():
    plan = po.Plan(po.parse_c(ROWS.replace("BOUND", "H").replace("VALUE", "a[y][x]")))
    with pytest.raises(InvalidOptionError, match="there is no schedule 'guided'"):
        plan.parallelize("b.y", schedule="guided")


def test_one_piece_each_is_the_source():
    plan = made()
    assert "for all sizes" in check_code(plan.scop, plan.emit()).detail
    a = np.random.default_rng(1).standard_normal((129, 129)).astype(np.float32)
    for threads in (1, 2, 3):
        assert np.array_equal(plan.compile()(a, threads=threads), a + 1)


def test_eight_pieces_are_no_more_than_eight():
    source = made(last=1 << 20).emit().source
    (chunk,) = re.findall(r"schedule\(dynamic, (.*)\)$", source, re.MULTILINE)
    assert eval(chunk.replace("/", "//"), {"H": 32, "threads": 2}) == 2  # noqa: S307
    assert eval(chunk.replace("/", "//"), {"H": 33, "threads": 2}) == 3  # noqa: S307
