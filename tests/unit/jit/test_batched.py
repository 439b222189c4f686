"""A function for one item, run for a batch: one kernel, whose outermost loop is the batch."""

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import ArgumentError, InvalidOptionError, UnsupportedError


def softmax(x):
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


def product(a, x):
    return a @ x


def length_and_half(a):
    return np.sqrt((a * a).sum()), a / 2


def edge(a, value):
    a[1:-1] = value
    a[0] = a[2]


def smoothed(u, steps):
    u = u.copy()
    for _ in range(steps):
        new = u.copy()
        new[1:-1] = (u[:-2] + u[2:]) / 2
        u = new
    return u


def one_of(item, out_0):
    return (item + out_0,)


def rng():
    return np.random.default_rng(0)


def test_each_item_gets_what_the_function_gives():
    found = po.batched(softmax, fallback=False)
    for shape in ((7, 33), (1, 1), (5, 200)):
        x = rng().standard_normal(shape)
        np.testing.assert_allclose(found(x), [softmax(v) for v in x], rtol=1e-13)
    assert "for out_0.item:  # parallel" in str(found.plan)
    assert len({found.kernel.name}) == 1


def test_the_batch_is_one_loop_around_all_of_the_function():
    found = po.batched(smoothed, fallback=False)
    u = rng().random((6, 40))
    np.testing.assert_allclose(found(u, 3), [smoothed(v, 3) for v in u])
    outermost = [line for line in str(found.plan).splitlines() if line.startswith("for ")]
    assert outermost == ["for out_0.item:  # parallel"]


def test_arrays_may_be_the_same_for_all_items():
    a, x = rng().random((5, 4, 6)), rng().random((5, 6))
    both = po.batched(product, fallback=False)
    np.testing.assert_allclose(both(a, x), np.einsum("bij,bj->bi", a, x))
    shared = po.batched(shared=["a"], fallback=False)(product)
    np.testing.assert_allclose(shared(a[0], x), x @ a[0].T)
    np.testing.assert_allclose(shared(x=x, a=a[1]), x @ a[1].T)


def test_results_may_be_several_and_numbers():
    a = rng().random((5, 4, 6))
    lengths, halves = po.batched(length_and_half, fallback=False)(a)
    np.testing.assert_allclose(lengths, [length_and_half(v)[0] for v in a])
    np.testing.assert_array_equal(halves, a / 2)
    (total,) = po.batched(one_of, fallback=False)(a, 1.0)
    np.testing.assert_array_equal(total, a + 1)


def test_items_may_be_changed_in_place_also_in_views():
    whole = rng().random((6, 12))
    given, expected = whole.copy()[::2, ::-1], whole.copy()[::2, ::-1]
    assert po.batched(po.jit(edge), fallback=False)(given, 2.5) is None
    for item in expected:
        edge(item, 2.5)
    np.testing.assert_array_equal(given, expected)


def test_what_is_not_compiled_runs_in_python_item_by_item():
    found = po.batched(lambda a: np.sort(a)[:2])
    a = rng().random((4, 9))
    with pytest.warns(po.FallbackWarning, match="Python runs it"):
        result = found(a)
    np.testing.assert_array_equal(result, np.sort(a, axis=1)[:, :2])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: po.batched(softmax)(2.0), ArgumentError, "no array with a first axis"),
        (lambda: po.batched(softmax)(np.ones((0, 3))), ArgumentError, "has no items"),
        (lambda: po.batched(product)(np.ones((2, 3, 3)), np.ones((3, 3))), ArgumentError,
         "differ in length: a: 2, x: 3"),
        (lambda: po.batched(product, shared=("b",)), InvalidOptionError, "no argument 'b'"),
        (lambda: po.batched(3), InvalidOptionError, "is no function"),
        (lambda: po.batched(str)(np.ones(3)), InvalidOptionError, "is no function"),
        (lambda: po.batched(lambda a: "text")(np.ones((2, 3))), UnsupportedError, "returns str"),
        (lambda: po.batched(softmax).plan, InvalidOptionError, "has not been compiled"),
    ],
)  # fmt: skip
def test_what_is_no_batch_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
