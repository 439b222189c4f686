"""What new users write in their first hour: gradients, norms, kernels of stencils as lists."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest

import polyopt as po

RNG = np.random.default_rng(5)
IMAGE = RNG.random((9, 8))


def parts(value):
    return value if isinstance(value, tuple) else (value,)


def gradients(a):
    down, across = np.gradient(a)
    return np.hypot(down, across), np.gradient(a[0]), np.gradient(a, 0.5, axis=0), across


def gradients_of_some_axes(a):
    return np.gradient(a, axis=1), np.gradient(2 * a, axis=(1, 0))[1], np.gradient(a, 2)[-1]


def norms(a):
    return (
        np.linalg.norm(a, axis=1), np.linalg.norm(a, axis=0, keepdims=True),
        np.linalg.norm(a, 1, axis=1), np.linalg.norm(a, ord=np.inf, axis=0),
        np.linalg.norm(a[0], 2), np.linalg.norm(a, axis=(0, 1)), np.linalg.norm(a),
        a / np.linalg.norm(a, axis=-1, keepdims=True),
    )  # fmt: skip


def lists(a):
    weights = np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]])
    found = np.zeros_like(a)
    for y in range(1, a.shape[0] - 1):
        for x in range(1, a.shape[1] - 1):
            for i in range(3):
                for j in range(3):
                    found[y, x] += weights[i, j] * a[y + i - 1, x + j - 1]
    return found, np.array([[a[0, 0], 1], [2, a[1, 1]]]), np.array([[[1.5], [2]]], np.float32)


@pytest.mark.parametrize("function", [gradients, gradients_of_some_axes, norms, lists])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_results_are_numpys(function, dtype):
    image = (10 * IMAGE + 1).astype(dtype)
    got, want = po.jit(fallback=False)(function)(image), function(image)
    for one, other in zip(parts(got), parts(want), strict=True):
        assert one.dtype == other.dtype
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=2e-6)


@pytest.mark.parametrize(
    ("expression", "reason", "hint"),
    [
        ("np.gradient(a, 1, 2)", "or several distances", "one distance"),
        ("np.gradient(a, a[0])", "with coordinates", "one distance"),
        ("np.linalg.norm(a, ord=1)", "this norm", "ord 1, 2 or np.inf"),
        ("np.linalg.norm(a, axis=1, where=a)", "argument where", "taken are x, ord, axis"),
        ("np.array([[1, 2], [3]])", "np.array of this", "each as long as the others"),
    ],
)
def test_what_is_not_taken_is_said_with_what_is(expression, reason, hint, tmp_path, monkeypatch):
    text = f"import numpy as np\n\n\ndef function(a):\n    return {expression}\n"
    (tmp_path / "refused_here.py").write_text(text, encoding="ascii")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "refused_here", raising=False)
    module = importlib.import_module("refused_here")
    with pytest.raises(po.errors.UnsupportedError) as refused:
        po.jit(fallback=False)(module.function)(IMAGE)
    shown = str(refused.value)
    assert "refused_here.py:5:" in shown
    assert reason in shown
    assert hint in shown


def leaves(xs):
    found = np.zeros(xs.size, np.int32)
    for i in range(xs.size):
        z = 0.0
        for n in range(50):
            z = z * z + xs[i]
            if z > 2:
                break
            found[i] = n
    return found


def with_a_flag(xs):
    found = np.zeros(xs.size, np.int32)
    for i in range(xs.size):
        z, done = 0.0, False
        for n in range(50):
            if not done:
                z = z * z + xs[i]
                if z > 2:
                    done = True
                else:
                    found[i] = n
    return found


def test_the_flag_that_break_is_refused_with_is_taken():
    xs = np.linspace(-1, 1, 40)
    with pytest.raises(po.errors.UnsupportedError, match="begin the loop with a condition on it"):
        po.jit(fallback=False)(leaves)(xs)
    np.testing.assert_array_equal(po.jit(fallback=False)(with_a_flag)(xs), leaves(xs))


def test_an_explanation_says_where_expressions_without_a_name_stand():
    @po.jit(fallback=False)
    def nearest(points, centers):
        apart = ((points[:, None] - centers[None]) ** 2).sum(-1)
        return apart.argmin(1)

    nearest(RNG.random((40, 3)), RNG.random((5, 3)))
    found = nearest.explain()
    named = {name: text for name, text in found.expressions.items() if "argmin" not in text}
    ((name, text),) = named.items()
    assert text.endswith("((points[:, None] - centers[None]) ** 2).sum(-1)")
    assert f"  {name}: {text}" in str(found).splitlines()
    assert "apart" not in found.expressions
    assert found.as_dict()["expressions"] == dict(found.expressions)
    assert nearest.plan.explain().expressions == {}
