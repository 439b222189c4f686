"""After a change, exactly what depends on it is computed again."""

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import ArgumentError, NotCutError


def differences(kernel, image, region, change=1):
    """The results before, those after an update, and the report."""
    out = kernel(image)
    changed = image.copy()
    changed[region] += change
    before = out.copy()
    report = kernel.update({"img": region}, changed, out=out, threads=1)
    assert out.tobytes() == kernel(changed).tobytes()
    return before, out, report


def test_a_change_reaches_as_far_as_the_stencil(blur, image):
    before, after, report = differences(blur, image, np.s_[10:12, 20:21])
    # the taps are two apart: what lies between them does not depend on it
    assert report.boxes["out"] == tuple((slice(6, 12), slice(x, x + 1)) for x in (16, 18, 20))
    assert report.recomputed["out"] == report.changed["out"] == 18
    rows, columns = np.nonzero(before != after)
    assert 6 <= rows.min() <= rows.max() < 12
    assert 16 <= columns.min() <= columns.max() < 21
    assert "out: 18 of 1,221 elements computed again, 18 depend on the change" in str(report)


def test_nothing_else_is_written(blur, image):
    out = blur(image)
    out[0, 0] = -1
    blur.update({"img": np.s_[30, 30]}, image, out=out)
    assert out[0, 0] == -1


@pytest.mark.parametrize("region", [np.s_[0, 0], np.s_[36:, 40:], np.s_[10:13, :], np.s_[:, 3]])
def test_borders_and_samples(pyramid, image, region):
    _, _, report = differences(pyramid, image, region)
    assert report.changed["up"] <= report.recomputed["up"] < report.elements["up"]


def test_what_changes_in_two_places_is_computed_in_two():
    scop = po.pipeline(ring(), name="ring", context=["N >= 4"])
    kernel = po.Plan(scop).compile()
    a = np.arange(50, dtype=np.int32)
    b = kernel(a)
    a[0] = 9
    report = kernel.update({"a": 0}, a, out=b)
    assert report.boxes["b"] == ((slice(1, 2),), (slice(49, 50),))
    assert (b == kernel(a)).all()


def ring():
    n = po.size("N")
    around = po.wrapped(po.input("a", po.i32, ["N"]))
    return po.stage("b", [n], lambda i: around[i - 1] + around[i + 1])


def test_an_empty_region_changes_nothing(blur, image):
    out = blur(image)
    report = blur.update({"img": np.s_[5:5, :]}, image, out=out)
    assert report.recomputed["out"] == 0


def test_regions_that_are_none(blur, image):
    out = blur(image)
    with pytest.raises(ArgumentError, match="no array 'image'"):
        blur.update({"image": 0}, image, out=out)
    with pytest.raises(ArgumentError, match="3 dimensions, not 2"):
        blur.update({"img": np.s_[0, 0, 0]}, image, out=out)
    with pytest.raises(ArgumentError, match="has a step"):
        blur.update({"img": np.s_[::2]}, image, out=out)


def test_inputs_that_are_gone_cannot_be_updated():
    text = "void f(int N, float a[restrict N]) { for (int i = 0; i < N; i++) a[i] = a[i] * 2; }"
    kernel = po.Plan(po.parse_c(text)).compile()
    a = np.ones(5, np.float32)
    with pytest.raises(NotCutError, match="changes a in place"):
        kernel.update({"a": 0}, a, out=a)
