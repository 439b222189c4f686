"""Kernels on arrays as people have them: right, on the very memory, and no copy that is not said.

The oracle is NumPy on copies; addresses say what the compiled function got.
"""

from unittest.mock import patch

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import AliasError, ArgumentError
from polyopt.runtime.kernel import Kernel
from tests.offers import Exported, Offered

STENCIL = """
void sharpen(int H, int W, const double a[H][W], double out[H - 2][W])
{
    double mid[H][W];
    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++)
            mid[i][j] = 2.0 * a[i][j];
    for (int i = 0; i < H - 2; i++)
        for (int j = 0; j < W; j++)
            out[i][j] = mid[i][j] + mid[i + 2][j] - a[i + 1][j];
}
"""
UPDATE = """
void scale(int N, int M, double a[N][M], const double by[N])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++)
            a[i][j] *= by[i];
}
"""
GATHER = """
void gather(int N, int K, const double table[N], const int64_t at[K], double out[K])
{
    for (int k = 0; k < K; k++)
        out[k] = table[at[k]];
}
"""


def sharpened(a):
    return 2.0 * a[:-2] + 2.0 * a[2:] - a[1:-1]


@pytest.fixture(scope="module")
def stencil():
    scop = po.parse_c(STENCIL)
    return po.Plan(scop).tile("out", i=4, j=8).fuse("mid", into="out").compile()


@pytest.fixture(scope="module")
def update():
    return po.auto(po.parse_c(UPDATE)).compile()


LAYOUTS = {
    "fortran": np.asfortranarray,
    "every second row": lambda a: np.repeat(a, 2, axis=0)[::2],
    "every third column": lambda a: np.repeat(a, 3, axis=1)[:, ::3],
    "backwards": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "padded rows": lambda a: np.pad(a, ((0, 0), (2, 5)))[:, 2:-5],
    "inner block": lambda a: np.pad(a, 3)[3:-3, 3:-3],
    "part of a transpose": lambda a: np.pad(a.T, 2)[2:-2, 2:-2].T,
    "plane of a cube": lambda a: np.stack((a, -a, a + 1), axis=1)[:, 0],
    "one channel": lambda a: np.stack((a, -a), axis=-1)[..., 0],
}


def passed(kernel, *args, **named):
    """What the compiled kernel got of a call, by name, and the result."""
    seen = {}
    run = Kernel.run_at

    def spy(self, addresses, *given):
        seen.update(addresses)
        return run(self, addresses, *given)

    with patch.object(Kernel, "run_at", spy):
        result = kernel(*args, **named)
    return seen, result


def memory_of(array):
    """Where the memory begins that an array lies in, and ends."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.ctypes.data, array.ctypes.data + array.nbytes


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("shape", [(3, 1), (11, 19)])
def test_an_input_is_read_where_it_lies(stencil, layout, shape):
    values = np.random.default_rng(1).standard_normal(shape)
    given = layout(values)
    seen, result = passed(stencil, given)
    assert np.allclose(result, sharpened(values), rtol=1e-12)
    if seen:  # it is not in C order
        begin, end = memory_of(given)
        assert begin <= seen["a"] < end
    assert stencil.remarks == ()


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_a_result_is_written_where_it_lies_and_nothing_beside(stencil, layout):
    values = np.random.default_rng(2).standard_normal((12, 10))
    out = layout(np.full((10, 10), np.nan))
    whole = out
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    before = whole.copy()
    seen, result = passed(stencil, values, out=out)
    begin, end = memory_of(whole)
    assert result is out
    assert begin <= seen["out"] < end
    assert np.allclose(out, sharpened(values), rtol=1e-12)
    out[:] = np.nan  # now all is as it was
    assert np.array_equal(whole, before, equal_nan=True)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_an_update_changes_the_callers_array(update, layout):
    values = np.random.default_rng(3).standard_normal((7, 13))
    by = np.arange(14.0)[::2]
    given = layout(values.copy())
    assert update(given, by) is given
    assert np.array_equal(given, values * by[:, None])


def test_rows_that_are_repeated_may_be_read_and_not_written(update, stencil):
    row = np.arange(6.0)
    repeated = np.broadcast_to(row, (5, 6))
    assert np.array_equal(stencil(repeated), sharpened(repeated))
    writable = np.lib.stride_tricks.as_strided(row, (5, 6), (0, 8), writeable=True)
    with pytest.raises(AliasError, match="lie in one place"):
        update(writable, np.ones(5))


def test_one_kernel_serves_all_sizes_of_a_layout(stencil):
    made = len(stencil.views.made)
    for shape in ((5, 40), (9, 7), (20, 33)):
        values = np.random.default_rng(4).standard_normal((shape[0] * 5, shape[1]))
        assert np.allclose(stencil(values[::5]), sharpened(values[::5]))
    assert len(stencil.views.made) <= made + 1


def test_interleaved_arrays_share_no_element(update):
    memory = np.arange(40.0).reshape(4, 10)
    expected = memory.copy()
    expected[:, ::2] *= expected[:, 1][:, None]
    update(memory[:, ::2], memory[:, 1])
    assert np.array_equal(memory, expected)
    with pytest.raises(AliasError, match="a and by share memory"):
        update(memory[:, ::2], memory[:, 2])


@pytest.mark.parametrize("offer", [Offered, Exported])
@pytest.mark.parametrize("part", [np.s_[:], np.s_[:, 1::2]])
def test_other_libraries_memory_is_used_as_it_lies(update, stencil, offer, part):
    values = np.random.default_rng(5).standard_normal((6, 8))
    memory = values.copy()
    given = offer(memory[part])
    assert update(given, np.full(6, 3.0)) is given
    assert np.array_equal(memory[part], values[part] * 3.0)
    assert np.allclose(stencil(given), sharpened(memory[part]))
    out = np.zeros((4, 8))
    assert stencil(given, out=offer(out[part])).array.base is not None
    assert np.allclose(out[part], sharpened(memory[part]))


def test_an_owner_is_read_off_the_strides_where_there_is_no_array_for_it():
    kernel = po.auto(po.parse_c(UPDATE)).compile()
    memory = np.arange(40.0)
    given = np.lib.stride_tricks.as_strided(memory, (3, 3), (7 * 8, 3 * 8))
    nested = np.lib.stride_tricks.as_strided(memory, (3, 3), (9 * 8, 3 * 8))
    expected = given * 2.0
    kernel(given, np.full(3, 2.0))
    assert np.array_equal(given, expected)
    assert kernel.remarks == ()  # the last of two axes has a unit of its own
    expected = nested[..., None] * 2.0
    kernel(nested, np.full(3, 2.0))
    assert np.array_equal(nested, expected[..., 0])
    assert kernel.remarks == ()


def test_results_are_offered_by_dlpack(stencil):
    result = stencil(np.ones((4, 4))[:, ::2])
    assert np.from_dlpack(result).ctypes.data == result.ctypes.data


def test_what_has_to_be_copied_is_said(update):
    records = np.zeros((3, 4), [("x", np.float64), ("n", np.int16)])
    records["x"] = 1.5
    kernel = po.auto(po.parse_c(UPDATE)).compile()
    kernel(records["x"], np.full(3, 2.0))
    assert records["x"].tolist() == [[3.0] * 4] * 3
    (said,) = kernel.remarks
    assert said.startswith("a is copied before a call, and back where it is written: it is not")
    assert update.remarks == ()


def test_elements_that_data_choose_are_copied_and_that_is_said():
    kernel = po.auto(po.parse_c(GATHER.replace("{", "{\n#pragma polyopt inbounds", 1))).compile()
    table, at = np.arange(20.0)[::2], np.array([3, 99, 1, 99, 9, 99])[::2]
    assert kernel(table, at).tolist() == [6.0, 2.0, 18.0]
    assert sorted(line.split()[0] for line in kernel.remarks) == ["at", "table"]


def test_types_and_shapes_are_those_of_the_kernel(stencil):
    with pytest.raises(ArgumentError, match="a is an array of float32"):
        stencil(np.ones((4, 4), np.float32)[::2])
    with pytest.raises(ArgumentError, match="a has 1 dimension"):
        stencil(np.ones(8)[::2])
    with pytest.raises(ArgumentError, match="a is a list, not a NumPy array"):
        stencil([[1.0]])
    frozen = np.zeros((4, 8))
    frozen.flags.writeable = False
    with pytest.raises(ArgumentError, match="out is written by the kernel, but"):
        stencil(np.ones((6, 4)), out=frozen[:, ::2])
    with pytest.raises(ArgumentError, match="out has shape"):
        stencil(np.ones((6, 4)), out=np.zeros((4, 6))[:, ::2])


def test_a_bound_call_takes_c_order_alone(stencil):
    with pytest.raises(ArgumentError, match="a is not contiguous"):
        stencil.bind(np.ones((6, 8))[:, ::2])


@pytest.mark.parametrize(("kind", "wrong"), [("int64", -1), ("int64", 10), ("int32", -(2**31))])
def test_elements_that_leave_what_they_index_are_refused(kind, wrong):
    text = GATHER.replace("int64_t at", f"{kind}_t at").replace(
        "{", "{\n#pragma polyopt inbounds", 1
    )
    kernel = po.auto(po.parse_c(text)).compile()
    right = np.array([0, 9, 4], kind)
    assert kernel(np.arange(10.0), right).tolist() == [0.0, 9.0, 4.0]
    right[1] = wrong
    with pytest.raises(ArgumentError, match=rf"at\[1\] is {wrong}, but"):
        kernel(np.arange(10.0), right)
