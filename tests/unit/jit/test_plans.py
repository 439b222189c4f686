"""Plans are found once: another process, or another function of the same text, takes them."""

import numpy as np
import pytest

import polyopt as po
from polyopt.runtime.cache import KernelCache
from polyopt.specialize import plans

pytestmark = pytest.mark.usefixtures("kept_plans")


def fresh():
    @po.jit(fallback=False)
    def blur(a):
        return (a[:-2] + a[1:-1] + a[2:]) / 3

    return blur


def test_a_plan_is_searched_for_once(monkeypatch, tmp_path):
    monkeypatch.setenv("POLYOPT_CACHE", str(tmp_path))
    searched, array = [], np.arange(10.0)
    search = plans.continued
    monkeypatch.setattr(plans, "continued", lambda *a, **k: searched.append(a) or search(*a, **k))
    first, second = fresh(), fresh()
    assert first(array).tolist() == second(array).tolist()
    assert len(searched) == 1
    assert str(first.explain()) == str(second.explain())
    assert second.plan.prove()


def test_a_plan_that_does_not_fit_is_made_anew(monkeypatch, tmp_path):
    monkeypatch.setenv("POLYOPT_CACHE", str(tmp_path))
    array = np.arange(10.0)
    fresh()(array)
    (file,) = (tmp_path / "plans").iterdir()
    KernelCache().keep_plan(file.name, b"no plan")
    np.testing.assert_allclose(fresh()(array), np.arange(1.0, 9.0))


def test_a_plan_is_explained_for_the_sizes_of_its_call():
    blur = fresh()
    blur(np.arange(1234.0))
    assert str(blur.explain()).startswith("blur  a_0=1234\n")
