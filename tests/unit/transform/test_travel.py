"""Programs, plans and kernels travel: pickled, copied, sent to other processes, saved in files."""

from __future__ import annotations

import copy
import json
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import InvalidOptionError, PolyoptError

BLUR = """
void blur(int H, int W, const float img[H][W], float out[H - 2][W - 2]) {
  float bx[H][W - 2];
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W - 2; x++)
      bx[y][x] = img[y][x] + img[y][x + 1] + img[y][x + 2];
  for (int y = 0; y < H - 2; y++)
    for (int x = 0; x < W - 2; x++)
      out[y][x] = bx[y][x] + bx[y + 1][x] + bx[y + 2][x];
}
"""
TRIPLED = """
void tripled(int N, const float a[N], float b[N]) {
  for (int i = 0; i < N; i++) b[i] = 3 * a[i];
}
"""
SCOP = po.parse_c(BLUR)
PLANS = {
    "source": po.Plan(SCOP),
    "window": po.Plan(SCOP).tile("out", y=4, x=8).fuse("bx", "out", at="out.y").vectorize("out.x"),
    "inlined": po.Plan(SCOP).inline("bx").parallelize("out.y"),
    "twice": po.Plan(SCOP).interchange("bx.y", "bx.x").skew("out.x", "out.y"),
    "unchecked": po.Plan(SCOP, checked=False).interchange("out.y", "out.x"),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_that_travelled_is_the_same(name):
    plan = PLANS[name]
    other = pickle.loads(pickle.dumps(plan))
    assert (str(other), other.script, other.checked) == (str(plan), plan.script, plan.checked)
    assert po.same_scop(other.scop, plan.scop)
    assert other.emit().source == plan.emit().source
    assert copy.copy(plan) is copy.deepcopy(plan) is plan


def test_remarks_of_an_automatic_plan_travel():
    plan = po.auto(po.parse_c(TRIPLED), target="avx2")
    other = pickle.loads(pickle.dumps(plan))
    assert other.remarks == plan.remarks
    assert other.script == plan.script


@pytest.mark.parametrize(
    "change", [lambda o: pickle.loads(pickle.dumps(o)), copy.deepcopy, copy.copy]
)
def test_what_a_plan_is_made_of_and_makes_travels(change):
    assert po.same_scop(change(SCOP), SCOP)
    assert str(change(SCOP.dependences())) == str(SCOP.dependences())
    program = PLANS["window"].emit()
    assert change(program).source == program.source
    proof = PLANS["window"].prove()
    assert str(change(proof)) == str(proof)


def test_the_program_inside_of_a_plan_says_that_the_plan_travels():
    program = PLANS["window"].program
    assert copy.copy(program) is copy.deepcopy(program) is program
    with pytest.raises(InvalidOptionError, match="does not travel") as caught:
        pickle.dumps(program)
    assert "pickle the plan" in caught.value.diagnostic.hint


def emitted(plan, kernel, array):
    return plan.emit().source, kernel(array)


def test_plans_and_kernels_go_to_other_processes():
    plan, image = PLANS["inlined"], np.random.default_rng(0).random((6, 9), dtype=np.float32)
    kernel = plan.compile()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        source, found = pool.submit(emitted, plan, kernel, image).result()
    assert source == plan.emit().source
    assert found.tobytes() == kernel(image).tobytes()


# -- files --------------------------------------------------------------------------------------


def test_a_plan_of_another_program_says_of_which_and_what_differs(tmp_path):
    file = tmp_path / "plan.json"
    PLANS["window"].save(file)
    with pytest.raises(InvalidOptionError, match="is a plan of blur, which does not fit this"
                       " program, tripled") as caught:  # fmt: skip
        po.Plan.load(file, po.parse_c(TRIPLED))
    notes = caught.value.diagnostic.notes
    assert "array img is of rank 2 there, and nothing here" in notes
    assert "statement out is in loops y, x there, and nothing here" in notes
    assert notes[-1].startswith("and ")


def test_a_plan_without_moves_is_of_its_program_too(tmp_path):
    PLANS["source"].save(tmp_path / "plan.json")
    with pytest.raises(InvalidOptionError, match="a plan of blur, which does not fit"):
        po.Plan.load(tmp_path / "plan.json", po.parse_c(TRIPLED))


def test_a_program_that_was_changed_since_is_told_where_a_move_fails(tmp_path):
    file = tmp_path / "plan.json"
    PLANS["window"].save(file)
    changed = BLUR.replace("bx", "rows")
    with pytest.raises(InvalidOptionError, match="does not fit this program, blur") as caught:
        po.Plan.load(file, po.parse_c(changed))
    notes = " | ".join(caught.value.diagnostic.notes)
    assert "array bx is of rank 2 there, and nothing here" in notes
    assert "array rows is of rank 2 here, and nothing there" in notes
    assert "no computation space is called 'bx'" in notes


def test_plans_fit_programs_of_the_same_parts_and_what_still_has_them(tmp_path):
    file = tmp_path / "plan.json"
    PLANS["window"].save(file)
    renamed = BLUR.replace("blur", "smooth").replace("float", "double")
    assert po.Plan.load(file, po.parse_c(renamed)).script == PLANS["window"].script
    longer = BLUR.replace("float out[", "float more[H], float out[")
    longer = longer.rstrip().removesuffix("}") + "for (int y = 0; y < H; y++) more[y] = 1; }"
    assert po.Plan.load(file, po.parse_c(longer)).script == PLANS["window"].script
    older = json.loads(file.read_text())
    del older["parts"]
    file.write_text(json.dumps(older))
    assert po.Plan.load(file, SCOP).script == PLANS["window"].script
    with pytest.raises(PolyoptError, match="no computation space is called"):
        po.Plan.load(file, po.parse_c(TRIPLED))


@pytest.mark.parametrize("parts", [[], {"array a": 1}, "all"])
def test_a_file_that_does_not_say_its_program(tmp_path, parts):
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"format": 2, "scop": "blur", "parts": parts, "moves": []}))
    with pytest.raises(InvalidOptionError, match="does not say which program it is of"):
        po.Plan.load(file, SCOP)
