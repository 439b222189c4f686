"""Chains of contractions in tiles of vectors: what is found, what is left, and what comes out."""

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.target import target
from polyopt.scheduler.strategies.contractions.chains import contraction_chains

MACHINE = target("avx2")


def attention(queries, keys, inner=32, outer=32, *, heads=2, causal=False):
    """``[h][i][v]`` by stages whose queries are last, as the operator has them."""
    q, k = (po.input(n, po.f32, [heads, m, inner]) for n, m in (("q", queries), ("k", keys)))
    v = po.input("v", po.f32, [heads, keys, outer])
    s = po.stage("s", [heads, keys, queries],
                 lambda h, j, i: po.sum(lambda d: k[h, j, d] * q[h, i, d], d=inner))  # fmt: skip
    scores = s
    if causal:
        mask = po.input("mask", po.f32, [queries, keys])
        scores = po.stage("x", [heads, keys, queries], lambda h, j, i: s[h, j, i] + mask[i, j])
    m = po.stage("m", [heads, queries],
                 lambda h, i: po.max(lambda j: scores[h, j, i], over={"j": keys}))  # fmt: skip
    e = po.stage("e", [heads, keys, queries], lambda h, j, i: po.exp(scores[h, j, i] - m[h, i]))
    z = po.stage("z", [heads, queries], lambda h, i: po.sum(lambda j: e[h, j, i], j=keys))
    o = po.stage("o", [heads, outer, queries],
                 lambda h, d, i: po.sum(lambda j: e[h, j, i] * v[h, j, d], j=keys))  # fmt: skip
    out = po.stage("out", [heads, queries, outer], lambda h, i, d: o[h, d, i] / z[h, i])
    return po.pipeline(out)


def expected(q, k, v, mask=0.0):
    scores = np.einsum("hid,hjd->hij", q.astype(np.float64), k) + mask
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hij,hjd->hid", powers / powers.sum(-1, keepdims=True), v)


def arrays(queries, keys, inner=32, outer=32, *, heads=2):
    rng = np.random.default_rng(queries + keys)
    shapes = {"q": (queries, inner), "k": (keys, inner), "v": (keys, outer)}
    return {n: rng.standard_normal((heads, *s)).astype(np.float32) for n, s in shapes.items()}


def chained(program):
    plan, remarks = contraction_chains(po.Plan(program), MACHINE, {})
    return plan, [str(remark) for remark in remarks]


@pytest.mark.parametrize(
    ("queries", "keys", "inner", "outer"), [(64, 96, 32, 32), (45, 37, 33, 35), (32, 250, 40, 64)]
)
@pytest.mark.parametrize("causal", [False, True])
def test_results_are_those_of_numpy(queries, keys, inner, outer, causal):
    program = attention(queries, keys, inner, outer, causal=causal)
    plan = po.auto(program)
    assert any("contractions 2" in str(remark) for remark in plan.remarks)
    plan.prove()
    given = arrays(queries, keys, inner, outer)
    if causal:
        given["mask"] = np.where(np.tri(queries, keys, dtype=bool), 0, -np.inf).astype(np.float32)
    found = plan.compile()(**given)
    wanted = expected(given["q"], given["k"], given["v"], given.get("mask", 0.0))
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-6)


def test_all_that_lies_between_is_in_one_tile_of_two_vectors():
    plan, said = chained(attention(64, 96))
    assert len(plan.program.tree) == 1
    width = 2 * MACHINE.lanes(4)
    tiles = {s.array: s.extents for s in plan.cost({}, target=MACHINE).scratch}
    assert tiles == {
        "s": (1, 96, width), "m": (1, width), "e": (1, 96, width), "z": (1, width),
        "o": (1, 32, width), "q": (1, width, 32),
    }  # fmt: skip
    reason = "each tile computes the contractions that it needs, in vectors along it"
    assert said == [f"applied  fuse       out: {reason} [columns {width}, contractions 2]"]


def test_memory_beside_the_arrays_is_linear_in_the_sequence():
    def scratch(length):
        plan, _ = chained(attention(length, length))
        return sum(one.bytes for one in plan.cost({}, target=MACHINE).scratch)

    assert scratch(512) - scratch(256) == 2 * (scratch(256) - scratch(128))


@pytest.mark.parametrize("cc", ["avx2", "generic"])
def test_register_blocks_are_found_in_tiles(cc):
    """Their elements stay in locals, for rows that fill blocks and for rows that do not."""
    for keys in (96, 97):
        plan, _ = contraction_chains(po.Plan(attention(64, keys)), target(cc), {})
        source = plan.emit().source
        assert "s_block_0_0" in source
        assert "o_block_0_0" in source


def test_sums_keep_their_order():
    """Each is taken one after the other, in vectors of queries: the bits of the unfused program."""
    program = attention(48, 50, heads=1)
    given = arrays(48, 50, heads=1)
    options = {"contract": False, "check": False}
    plain = po.Plan(program).compile(**options)(**given)
    fused = po.auto(program).compile(**options)(**given)
    np.testing.assert_array_equal(fused, plain)


def product(rows, columns):
    """A contraction alone."""
    a, b = po.input("a", po.f32, [64, 64]), po.input("b", po.f32, [64, 64])
    t = po.stage("t", [64, 64], lambda i, j: po.sum(lambda k: a[i, k] * b[k, j], k=64))
    return po.pipeline(po.stage("out", [rows, columns], lambda i, j: t[i, j] * 2.0))


def rows_last():
    """A chain whose arrays between do not have the results' rows last."""
    a, b, c = (po.input(n, po.f32, [64, 64]) for n in "abc")
    s = po.stage("s", [64, 64], lambda i, j: po.sum(lambda k: a[i, k] * b[k, j], k=64))
    t = po.stage("t", [64, 64], lambda i, j: po.sum(lambda k: s[i, k] * c[k, j], k=64))
    return po.pipeline(po.stage("out", [64, 64], lambda i, j: t[i, j] + 1.0))


def test_what_is_no_chain_is_left():
    for program in (product(64, 64), attention(16, 16, 8, 8)):
        plan = po.Plan(program)
        assert contraction_chains(plan, MACHINE, {}) == (plan, ())


def test_buffers_wider_than_a_tile_are_refused_by_name():
    plan, said = chained(rows_last())
    assert len(plan.program.tree) > 1
    (refused,) = said
    assert refused.startswith(
        "refused  fuse       out: not in one tile with what it is made of: s "
    )
