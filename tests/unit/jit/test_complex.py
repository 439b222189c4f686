"""complex64 and complex128: pairs of reals in NumPy's memory, and NumPy's values."""

import numpy as np
import pytest

import polyopt as po
from polyopt.specialize.arguments import described

RNG = np.random.default_rng(3)
SHAPE = (7, 10)


def numbers(kind=np.complex128):
    return (RNG.standard_normal(SHAPE) + 1j * RNG.standard_normal(SHAPE)).astype(kind)


A, B = numbers(), numbers()


def arithmetic(a, b):
    return a * b + a, a / b, a - 1j, 2 - a, 1 / b, a * 2.5, a / 2, -a, a**2, a**3, a * b.real


def parts(a, b):
    return a.real + 0, a.imag * 1, np.real(a * b), (a + b).imag, np.conj(a), a.conj() * a


def sizes_and_angles(a, b):
    return np.abs(a), abs(a) ** 2, np.angle(b), np.exp(a / 4)


def sums(a, b):
    return (
        a.sum(),
        np.mean(a, axis=0),
        np.sum(a * b.conj(), axis=1),
        np.prod(b / 2),
        np.cumsum(a, 0),
    )


def products(a, b):
    return a @ b.T, np.dot(a[0], b[0]), np.vdot(a[0], b[0]), np.outer(a[0], b[1]), a @ b.real.T


def in_place(a, b):
    a[1:] += b[:-1]
    a[0] = 2j
    a *= 1 + 1j
    a.real[:, 2] = b.imag[:, 3]


def reads_what_it_writes(a, b):
    a[1:, 1:] = a[:-1, :-1] * b[1:, 1:]
    a[...] = a * a[::-1]


def loops(a, b):
    out = np.zeros_like(a)
    total = 0j
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            z = a[i, j]
            z = z * z + b[i, j]
            out[i, j] = z
            if z.real > 0:
                out[i, j] *= 1j
        total += a[i, 0] * b[i, 1]
    return out, total


def carried(a, b):
    for i in range(1, a.shape[0]):
        a[i, 1:] = a[i - 1, :-1] * b[i, 1:] + a[i, 1:]


def escape(a, b):
    count = np.zeros(a.shape, np.int32)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            z = 0j
            for _ in range(9):
                if abs(z) < 2:
                    z = z * z + a[i, j]
                    count[i, j] += 1
    return count


def whole_arrays_again(a, b):
    z = np.zeros_like(a)
    inside = np.zeros(a.shape, np.int64)
    for _ in range(4):
        z = z * z + a / 2
        inside += np.abs(z) < 1
    return z, inside


def chooses(a, b):
    return np.where(a.real > 0, a, b), np.where(a.imag > 0, a, 0), a == b, a != 1j, np.isnan(a)


def made(a, b):
    line = np.arange(4) + 1j * np.arange(4)
    copied = a.copy()
    copied[1] = 7
    return line, np.ones(3, a.dtype), np.full((2, 3), 1 + 2j), a.astype(np.complex64), copied


def moved(a, b):
    return a.T + 0, a[::-1, ::2] * 1, a.ravel()[3:] + 0, np.roll(a, 1, axis=0), a.reshape(2, -1) + 0


def helps(a, b):
    return turned(a[0, 1], b) + turned(a, b)


def turned(z, w):
    return z * 1j + w


FUNCTIONS = [
    arithmetic, parts, sizes_and_angles, sums, products, in_place, reads_what_it_writes, loops,
    carried, escape, whole_arrays_again, chooses, made, helps,
]  # fmt: skip


def items(value):
    return value if isinstance(value, tuple) else (value,)


def assert_near(got, want):
    """The same types, and values within a few roundings of the number's size."""
    for found, expected in zip(items(got), items(want), strict=True):
        assert type(found) is type(expected)
        if expected is None:
            continue
        one, other = np.asarray(found), np.asarray(expected)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        single = other.dtype in (np.complex64, np.float32)
        np.testing.assert_allclose(one, other, rtol=3e-5 if single else 1e-13, atol=0)


@pytest.mark.parametrize("kind", [np.complex128, np.complex64])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_values_and_types_are_numpys(function, kind):
    ours = [A.astype(kind), B.astype(kind)]
    theirs = [A.astype(kind), B.astype(kind)]
    got, want = po.jit(fallback=False)(function)(*ours), function(*theirs)
    assert_near((*items(got), *ours), (*items(want), *theirs))


def test_axes_are_moved():
    with_even = A[:6]
    got = po.jit(fallback=False)(moved)(with_even.copy(), B[:6].copy())
    assert_near(got, moved(with_even, B[:6]))


def add(z, w):
    z += w * 2


@pytest.mark.parametrize("kind", [np.complex64, np.complex128])
@pytest.mark.parametrize(
    "view",
    [
        lambda a: a,
        np.asfortranarray,
        lambda a: a.T,
        lambda a: a[::2, ::-1],
        lambda a: a[1:-1, 3:7],
        lambda a: a[:, 3],
        lambda a: np.broadcast_to(a[0], a.shape).copy(),
    ],
)
def test_memory_is_passed_as_it_lies(view, kind):
    ours, theirs = A.astype(kind), A.astype(kind)
    z, w = view(ours), view(B.astype(kind))
    call = described({"z": z, "w": w})
    assert not call.copied
    assert any(np.shares_memory(memory, z) for memory in call.arrays.values())
    function = po.jit(fallback=False)(add)
    function(z, w)
    target = view(theirs)
    add(target, view(B.astype(kind)))
    assert_near(z, target)
    assert function.signatures[0].remarks == ()


def test_signatures_show_complex_arrays():
    function = po.jit(fallback=False)(add)
    function(A[::2].copy(), B[::2])
    assert str(function.signatures[0]) == (
        "z: c128[z_0, z_1], w: c128, view of w_all f64[w_all_0, w_all_1, 2] (axis 0 by 2, axis 1 by 1,"
        " axis 2 by 1)"
    )


def test_batches_of_complex_numbers_are_one_kernel():
    def both(z, w):
        return z * w, np.sum(z)

    assert_near(po.batched(both, fallback=False)(A, B), (A * B, A.sum(axis=1)))


def test_views_of_one_array_and_its_parts_may_overlap():
    def shift(z, w, x):
        z += w
        x[:] = 1.0

    ours, theirs = A.copy(), A.copy()
    po.jit(fallback=False)(shift)(ours[1:], ours[:-1], ours.real[:, 1])
    shift(theirs[1:], theirs[:-1], theirs.real[:, 1])
    assert_near(ours, theirs)


@pytest.mark.parametrize("number", [2 - 3j, np.complex64(1 + 2j), np.complex128(0.5j)])
@pytest.mark.parametrize("array", [A, A.astype(np.complex64), A.real, np.arange(5, dtype=np.int16)])
def test_complex_numbers_are_arguments(number, array):
    def scale(a, s):
        return a * s, s + 1, s * s

    assert_near(po.jit(fallback=False)(scale)(array, number), scale(array, number))


def test_types_are_promoted_as_numpy_does():
    pair, single = A[0].astype(np.complex64), A[0].real.astype(np.float32)

    @po.jit(fallback=False)
    def mix(c, f, i, d):
        return c + f, f * 1j, c * i, c + d, i + 1j, f + complex(1, 2), c * np.complex128(2)

    arguments = (pair, single, np.arange(10, dtype=np.int32), A[0].real)
    assert_near(mix(*arguments), mix.__wrapped__(*arguments))


def test_quotients_are_smiths():
    """Parts whose squares would overflow; by zero there are infinities, as NumPy has them."""
    top = np.array([1e300 + 1e300j, 1 + 1j, 1e-300j, 3 - 4j, 1 + 2j])
    below = np.array([1e300 - 1e299j, 1e-200 + 1e-200j, 1e-300 + 1e-301j, 0j, -2 + 0j])

    @po.jit(fallback=False)
    def divide(a, b):
        return a / b

    with np.errstate(all="ignore"):
        expected = divide.__wrapped__(top, below)
    np.testing.assert_allclose(divide(top, below), expected, rtol=1e-15)


def test_moduli_of_singles_do_not_overflow():
    large = np.array([3e30 + 4e30j, 3e-30 + 4e-30j], np.complex64)
    np.testing.assert_allclose(
        po.jit(fallback=False)(size)(large), np.array([5e30, 5e-30], np.float32), rtol=1e-6
    )


def size(z):
    return np.abs(z)


def test_reals_stay_reals_beside_infinities():
    """NumPy makes ``2.0`` a complex number first, and has NaN for ``inf * 0``."""
    infinite = np.array([complex(np.inf, 1)])

    @po.jit(fallback=False)
    def double(z, x):
        return z * x

    got = double(infinite, np.array([2.0]))
    assert (got.real, got.imag) == (np.inf, 2.0)


def orders(a):
    return a < 1j


def largest(a):
    return np.max(a)


def spread(a):
    return np.var(a)


def root(a):
    return np.sqrt(a)


def high_power(a):
    return a**5


def floors(a):
    return a // 2


def loses_a_part(a):
    out = np.zeros(a.shape)
    out[:] = a
    return out


def turns_complex(a):
    z = 1.0
    for i in range(a.shape[0]):
        z = z * a[i, 0]
    return z


def whole_number(a):
    return a.astype(np.int64)


REFUSED = {
    orders: "an order of complex numbers",
    largest: "of type complex128 is not taken here",
    spread: "the variance of complex numbers",
    root: "sqrt of complex numbers is not taken",
    high_power: "a power of a complex number other than 2 or 3",
    floors: "// is not taken of complex numbers",
    loses_a_part: "of type complex128 is not taken here",
    turns_complex: "becomes a complex number in a loop",
    whole_number: "a complex number where a real one is needed",
}


@pytest.mark.parametrize("function", REFUSED)
def test_what_is_not_taken_is_refused_by_name(function):
    with pytest.raises(po.errors.UserError, match=REFUSED[function]) as refused:
        po.jit(fallback=False)(function)(A.copy())
    assert refused.value.diagnostic.span is not None


def parts_by_functions_written(a, b):
    np.real(a)[0] = 3
    part = np.imag(b)
    part[1:] *= 2
    return np.real(a) + 0, np.real(b.real) * 2


def other_shapes_written(a, b):
    flat = a.reshape(-1)
    flat[::3] = 2j
    b.reshape(2, -1)[1] += flat[:35]
    reals = a[0].real.ravel()
    reals[4:7] = 9


def own_targets(a, b):
    np.multiply(a, b, out=a)
    np.copyto(b, a.real)
    np.abs(a, out=b.imag)
    a[1].fill(3j)


@pytest.mark.parametrize("kind", [np.complex128, np.complex64])
@pytest.mark.parametrize(
    "function", [parts_by_functions_written, other_shapes_written, own_targets]
)
def test_views_are_written_through(function, kind):
    ours, theirs = ([A.astype(kind), B.astype(kind)] for _ in range(2))
    found, expected = po.jit(fallback=False)(function)(*ours), function(*theirs)
    for one, other in zip(ours + list(found or []), theirs + list(expected or []), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, strict=True)


def test_the_conjugate_of_reals_is_themselves():
    def written(a):
        same = a.conj()
        same[0] = 7
        copied = np.conj(a)
        copied[1] = 8

    ours, theirs = np.arange(4.0), np.arange(4.0)
    po.jit(fallback=False)(written)(ours)
    written(theirs)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kind", [np.complex128, np.complex64])
def test_exponentials_of_reals_are_real(kind):
    def powers(a):
        return np.exp(a)

    ends = np.array(
        [complex(x, y) for x in (np.inf, -np.inf, 1000, np.nan, 0) for y in (0.0, -0.0)]
    )
    with np.errstate(all="ignore"):
        expected = powers(ends.astype(kind))
    found = po.jit(fallback=False)(powers)(ends.astype(kind))
    for one, other in ((found.real, expected.real), (found.imag, expected.imag)):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(np.signbit(one)[6:8], np.signbit(other)[6:8])


def test_quotients_by_zeros_of_any_sign_are_by_their_modulus():
    def quotients(a, b):
        return a / b

    zeros = np.array([complex(x, y) for x in (0.0, -0.0) for y in (0.0, -0.0)])
    tops, below = np.repeat([1 + 2j, -3j, 1.5], 4), np.tile(zeros, 3)
    with np.errstate(all="ignore"):
        expected = quotients(tops, below)
    np.testing.assert_array_equal(po.jit(fallback=False)(quotients)(tops, below), expected)
