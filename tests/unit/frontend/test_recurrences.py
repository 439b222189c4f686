"""Recurrences as stages: what steps compute, against loops of NumPy, and what is refused."""

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import InvalidOptionError

RANDOM = np.random.default_rng(5)


def test_a_state_is_updated_from_its_row_before():
    x, w = po.input("x", po.f32, ["T", "N"]), po.input("w", po.f32, ["N", "N"])
    run = po.steps("T")
    state = run.state("state", ["N"], lambda i: w[0, i], type=po.f32)
    run.next(state, lambda t, i: po.sum(lambda k: state[t, k] * w[i, k], k="N") + x[t, i])
    kernel = po.auto(po.pipeline(state)).compile()
    rows, weights = RANDOM.random((6, 5), np.float32), RANDOM.random((5, 5), np.float32)
    expected = [weights[0]]
    for row in rows:
        expected.append(weights @ expected[-1] + row)
    np.testing.assert_allclose(kernel(rows, weights), expected, rtol=1e-5)


def test_steps_hand_several_states_on_in_the_order_that_they_are_written_in():
    run = po.steps(20)
    one = run.state("one", [1], lambda _i: 0, type=po.i64)
    two = run.state("two", [1], lambda _i: 1, type=po.i64)
    both = run.stage("both", [1], lambda t, i: one[t, i] + two[t, i], type=po.i64)
    run.next(one, lambda t, i: two[t, i])
    run.next(two, lambda t, i: both[t, i])
    found = po.auto(po.pipeline(one, two)).compile()()
    fibonacci = [0, 1]
    while len(fibonacci) < 22:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    assert found[0].ravel().tolist() == fibonacci[:21]
    assert found[1].ravel().tolist() == fibonacci[1:]


def test_a_reduction_in_a_narrower_array_is_rounded_once():
    x = po.input("x", po.f64, [4, 9])
    run = po.steps(4)
    state = run.state("state", [1], lambda _i: 0.0, type=po.f32)
    run.next(state, lambda t, _i: po.sum(lambda k: x[t, k], k=9))
    rows = RANDOM.random((4, 9)) * 1e6
    found = po.auto(po.pipeline(state)).compile()(rows)
    assert (found[1:, 0] == rows.sum(1).astype(np.float32)).all()


def test_a_stage_reads_states_that_are_complete():
    x = po.input("x", po.i32, ["T"])
    run = po.steps("T")
    total = run.state("total", [1], lambda _i: 0, type=po.i32)
    run.next(total, lambda t, i: total[t, i] + x[t])
    mirrored = po.stage("mirrored", ["T + 1"], lambda t: total[po.size("T") - t, 0])
    found = po.auto(po.pipeline(mirrored)).compile()(np.arange(1, 6, dtype=np.int32))
    assert found.tolist() == [15, 10, 6, 3, 1, 0]


def test_a_state_without_next_is_refused():
    run = po.steps(3)
    state = run.state("state", [2], lambda _i: 0.0, type=po.f32)
    with pytest.raises(InvalidOptionError, match="'state' has no next"):
        po.pipeline(state)


def test_a_state_has_one_next_and_others_have_none():
    run, x = po.steps(3), po.stage("x", [2], lambda i: i * 1.0)
    state = run.state("state", [2], lambda _i: 0.0, type=po.f32)
    run.next(state, lambda t, i: state[t, i] + 1.0)
    with pytest.raises(InvalidOptionError, match="has its next already"):
        run.next(state, lambda t, i: state[t, i])
    with pytest.raises(InvalidOptionError, match="'x' is no state of these steps"):
        run.next(x, lambda _t, _i: 0.0)


@pytest.mark.parametrize("function", [lambda t: t * 1.0, lambda t, i, j: t * 1.0 + i + j])
def test_functions_take_the_step_and_each_dimension(function):
    run = po.steps(3)
    with pytest.raises(InvalidOptionError, match=r"has 1 dimension\(s\), its function takes"):
        run.stage("part", [2], function, type=po.f32)
