"""Sums between transformations of tiles, in strips: what is found, what is left, what comes out."""

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.target import target
from polyopt.isl import constant_value
from polyopt.scheduler.strategies.contractions.strips import contraction_strips, strip_cycles
from polyopt.transform.schedule.tree import loops_of

MACHINE = target("avx2")
LANES = 8


def filtered(rows, columns, inner=2, outer=2, *, shared=False, batch=1, put_across=False):
    """Correlations with two weights by three products for two results (F(2, 2)), along columns,
    summed over channels in blocks; another one of the same data would be ``shared``."""
    tiles = -(-columns // 2)
    x = po.input("x", po.f32, [batch, inner, rows, 2 * tiles + 1, LANES])
    u = po.input("u", po.f32, [3, outer, inner, LANES, LANES])

    def data(n, t, i, c, y, lane):
        one, two, three = (x[n, c, y, 2 * t + k, lane] for k in range(3))
        return po.select(i == 0, one - two, po.select(i == 1, two, three - two))

    v = po.stage("v", [batch, tiles, 3, inner, rows, LANES], data)
    m = po.stage("m", [batch, tiles, 3, outer, rows, LANES],
                 lambda n, t, i, c, y, lane: po.sum(
                     lambda b, k: v[n, t, i, b, y, k] * u[i, c, b, k, lane],
                     {"b": inner, "k": LANES}))  # fmt: skip

    def result(n, c, y, column, lane):
        t, place = column // 2, column % 2
        return m[n, t, 1, c, y, lane] + po.select(
            place == 0, m[n, t, 0, c, y, lane], m[n, t, 2, c, y, lane]
        )

    out = po.stage("out", [batch, outer, rows, columns, LANES], result)
    if put_across:
        out = po.stage("back", [batch, outer, LANES, rows, columns],
                       lambda n, c, lane, y, column: out[n, c, y, column, lane])  # fmt: skip
    if not shared:
        return po.pipeline(out)
    return po.pipeline(out, po.stage("more", [batch, tiles], lambda n, t: v[n, t, 0, 0, 0, 0]))


def given(program, seed=0):
    rng = np.random.default_rng(seed)
    shapes = {a.name: [constant_value(e) for e in a.extents] for a in program.arrays
              if a.role == "in"}  # fmt: skip
    return {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()}


def expected(x, u, columns):
    """The same in doubles, from weights ``g`` with ``u = [g0, g0 + g1, g1]``."""
    g = np.stack([u[0], u[2]]).astype(np.float64)
    ends = [x[:, :, :, k : k + columns].astype(np.float64) for k in range(2)]
    return sum(np.einsum("nbyxk,cbkl->ncyxl", end, g[k]) for k, end in enumerate(ends))


def in_strips(program, **sizes):
    plan, remarks = contraction_strips(po.Plan(program), MACHINE, sizes)
    return plan, [str(remark) for remark in remarks]


@pytest.mark.parametrize(
    ("rows", "columns", "batch", "put_across"),
    [(6, 8, 1, False), (4, 7, 2, False), (8, 12, 1, True)],
)
def test_results_are_those_of_numpy(rows, columns, batch, put_across):
    program = filtered(rows, columns, batch=batch, put_across=put_across)
    plan = po.auto(program, target=MACHINE)
    assert any("each strip of tiles computes the sums" in str(r) for r in plan.remarks)
    plan.prove()
    arrays = given(program)
    arrays["u"][1] = arrays["u"][0] + arrays["u"][2]
    found = plan.compile()(**arrays)
    wanted = expected(**arrays, columns=columns)
    wanted = np.moveaxis(wanted, -1, 2) if put_across else wanted
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_what_lies_between_is_as_large_as_a_strip():
    plan, said = in_strips(filtered(8, 64, 16, 16))
    assert len(plan.program.tree) == 1
    sizes = {s.array: s.extents for s in plan.cost({}, target=MACHINE).scratch}
    assert sizes.keys() == {"v", "m"}
    assert sizes["v"][1] == sizes["m"][1] < 32
    assert any(loop.mark == "register_tile" for loop in loops_of(plan.program.tree))
    assert "results of a tile 2" in said[0]


def test_sums_that_something_else_needs_are_left():
    plan, said = in_strips(filtered(6, 8, shared=True))
    assert plan.script == "po.Plan(scop)"
    assert not said


def test_a_convolution_without_tiles_is_left():
    x = po.input("x", po.f32, [2, 6, 9, LANES])
    w = po.input("w", po.f32, [2, 2, 2, LANES, LANES])
    v = po.stage("v", [2, 6, 9, LANES], lambda c, y, i, lane: x[c, y, i, lane] * 2)
    out = po.stage("out", [2, 6, 8, LANES], lambda c, y, i, lane: po.sum(
        lambda b, k, j: v[b, y, i + k, j] * w[c, b, k, j, lane], {"b": 2, "k": 2, "j": LANES}))  # fmt: skip
    relu = po.stage("relu", [2, 6, 8, LANES], lambda c, y, i, lane: po.max(out[c, y, i, lane], 0))
    plan, said = in_strips(po.pipeline(relu))
    assert plan.script == "po.Plan(scop)"
    assert not said


def test_strips_weigh_shared_operands_against_what_lies_between():
    # operands that come while sums are computed cost nothing, and what is near costs less
    second = MACHINE.l2_bytes
    few = strip_cycles(MACHINE, 2, 1e6, second, 4 * second)
    many = strip_cycles(MACHINE, 8, 2.5e5, second, second)
    assert 2e6 < many < few
    starved = strip_cycles(MACHINE, 8, 1.0, 32 * second, second)
    assert starved > many


def test_the_outermost_size_may_be_open():
    plan, said = in_strips(filtered(6, 8, batch=po.size("N")), N=3)
    assert "each strip of tiles computes the sums" in said[0]
    plan.prove()
    assert [s.extents[0] for s in plan.cost({"N": 3}, target=MACHINE).scratch] == [1, 1]


@pytest.mark.parametrize(
    "updates",
    [
        "for (int t = 0; t < 3; t++) P[i] = P[i] * 0.5f + S[i];",
        "for (int t = 0; t < 3; t++) { P[i] = Q[i] + S[i]; Q[i] = P[i] * 0.5f; }",
    ],
    ids=["itself", "each other"],
)
def test_arrays_that_are_computed_from_themselves_are_left(updates):
    plan = po.Plan(
        po.parse_c(
            "void f(const float A[8][8], float out[8]) {"
            "    float V[8][8], S[8], P[8], Q[8];"
            "    for (int i = 0; i < 8; i++) for (int k = 0; k < 8; k++) V[i][k] = A[i][k] + 1.0f;"
            "    for (int i = 0; i < 8; i++) {"
            "        S[i] = 0.0f;"
            "        for (int k = 0; k < 8; k++) S[i] += V[i][k] * A[k][i];"
            "        P[i] = 0.0f; Q[i] = 1.0f;"
            f"       {updates}"
            "        out[i] = P[i] + Q[i];"
            "    }"
            "}"
        )
    )
    assert contraction_strips(plan, MACHINE, {}) == (plan, ())
