"""Functions of the kind that people compile, as they write them with NumPy, and arguments for each.

The oracle is NumPy: the same function, run by Python.
"""

import math

import numpy as np

from tests.jit_peers.programs import PROGRAMS as PEERS

PROGRAMS = {}


def program(*makers):
    """Register a function with what makes its arguments, from a random generator."""

    def register(function):
        PROGRAMS[function.__name__] = (function, makers)
        return function

    return register


def floats(*shape, kind=np.float64):
    return lambda rng: rng.standard_normal(shape).astype(kind)


def integers(low, high, *shape, kind=np.int64):
    return lambda rng: rng.integers(low, high, shape).astype(kind)


def given(value):
    return lambda _: value


@program(floats(9, 12))
def total(a):
    result = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            result += a[i, j]
    return result


@program(floats(8, 8))
def trace_of_tanh(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


@program(floats(30, 3, kind=np.float32))
def pairwise_distances_of_floats(points):
    n, dimensions = points.shape
    result = np.empty((n, n), dtype=np.float32)
    for i in range(n):
        for j in range(n):
            d = np.float32(0.0)
            for k in range(dimensions):
                gap = points[i, k] - points[j, k]
                d += gap * gap
            result[i, j] = np.sqrt(d)
    return result


@program(floats(30, 3))
def distances_by_broadcasting(points):
    gap = points[:, np.newaxis, :] - points[np.newaxis, :, :]
    return np.sqrt((gap**2).sum(axis=-1))


@program(floats(20, 23), given(4))
def jacobi_swapped(u, steps):
    a = u.copy()
    b = u.copy()
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
        a, b = b, a
    return a


@program(floats(16, 16), given(0.1))
def heat_in_place(u, c):
    u[1:-1, 1:-1] += c * (
        u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
    )


def normal(x):
    """The distribution function of the normal distribution, by a polynomial."""
    k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    poly = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978))))
    tail = np.exp(-0.5 * x * x) * 0.3989422804 * poly
    return np.where(x > 0, 1.0 - tail, tail)


@program(floats(10, 14))
def laplacian_of_rolls(u):
    return (
        np.roll(u, 1, axis=0) + np.roll(u, -1, axis=0) + np.roll(u, 1, axis=1)
        + np.roll(u, -1, axis=1) - 4 * u
    )  # fmt: skip


@program(floats(11, 13))
def standardized(a):
    return (a - a.mean(axis=0)) / a.std(axis=0)


@program(floats(6, 10))
def softmax_of_rows(x):
    shifted = np.exp(x - np.max(x, axis=1, keepdims=True))
    return shifted / np.sum(shifted, axis=1, keepdims=True)


@program(integers(0, 8, 60), floats(60))
def sums_by_key(keys, values):
    sums = np.zeros(8)
    np.add.at(sums, keys, values)
    return sums


@program(floats(64), given(0.2))
def thresholded(a, limit):
    result = a.copy()
    result[result < limit] = 0.0
    result[a > 1.0] *= 2.0
    return result


@program(integers(0, 256, 18, 15, kind=np.uint8))
def gray_gradient(image):
    wide = image.astype(np.int32)
    dx = wide[1:-1, 2:] - wide[1:-1, :-2]
    dy = wide[2:, 1:-1] - wide[:-2, 1:-1]
    return np.minimum(np.abs(dx) + np.abs(dy), 255).astype(np.uint8)


@program(floats(21), floats(5))
def convolved(signal, taps):
    n, m = signal.shape[0], taps.shape[0]
    result = np.zeros(n - m + 1)
    for k in range(m):
        result += signal[k : k + n - m + 1] * taps[m - 1 - k]
    return result


@program(floats(30), floats(30))
def correlation(x, y):
    dx = x - np.mean(x)
    dy = y - np.mean(y)
    return np.sum(dx * dy) / np.sqrt(np.sum(dx**2) * np.sum(dy**2))


@program(floats(14, 3), floats(14), given(0.01), given(3))
def n_body(positions, masses, dt, steps):
    moved = positions.copy()
    velocity = np.zeros_like(moved)
    for _ in range(steps):
        gap = moved[None, :, :] - moved[:, None, :]
        inverse = ((gap**2).sum(axis=2) + 0.01) ** -1.5
        velocity += dt * (gap * (masses[None, :] * inverse)[:, :, None]).sum(axis=1)
        moved += dt * velocity
    return moved, velocity


@program(floats(12, 12), floats(12))
def forward_substitution(lower, b):
    x = np.zeros_like(b)
    for i in range(b.shape[0]):
        x[i] = (b[i] - np.dot(lower[i, :i], x[:i])) / (3.0 + lower[i, i] ** 2)
    return x


@program(floats(40))
def running_maximum(x):
    result = np.empty_like(x)
    best = x[0]
    for i in range(x.shape[0]):
        best = max(best, x[i])
        result[i] = best
    return result


@program(floats(33, 31), given(0.3), given(True))
def clipped_or_not(a, limit, clip):
    if clip:
        return np.clip(a, -limit, limit)
    return a + 1


@program(given(9), floats(2))
def polynomial_table(n, c):
    x = np.linspace(-1.0, 1.0, n)
    return c[0] + c[1] * x**2 + math.pi * np.arange(n)


@program(floats(9, 9), integers(0, 9, 6))
def rows_gathered(table, rows):
    result = np.empty((rows.shape[0], table.shape[1]))
    for i in range(rows.shape[0]):
        for j in range(table.shape[1]):
            result[i, j] = table[rows[i], j]
    return result


@program(floats(15), floats(15))
def trapezoid(y, x):
    return 0.5 * ((x[1:] - x[:-1]) * (y[1:] + y[:-1])).sum()


@program(floats(13, 4))
def extremes(a):
    return a.max(), np.argmin(a[:, 0]), np.any(a > 2), a.min(axis=1), np.count_nonzero(a > 0)


@program(floats(10, 6, kind=np.float32), floats(6, kind=np.float32), floats(6, kind=np.float32))
def layer_norm(x, weight, bias):
    mean = x.mean(axis=-1, keepdims=True)
    var = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return weight * (x - mean) / np.sqrt(var + 1e-5) + bias


@program(floats(24), given(3))
def haar(signal, levels):
    out = signal.copy()
    for _ in range(levels):
        even = out[::2].copy()
        odd = out[1::2].copy()
        out[:12] = (even + odd) / 2
        out[12:] = (even - odd) / 2
    return out


@program(floats(8, 9))
def stacked(a):
    return np.concatenate((a[:2], a[::-1], 2 * a[-3:])), np.stack((a[0], a[1])), np.diff(a)


@program(integers(0, 2, 9, 11, kind=np.uint8), given(3))
def life_on_a_torus(grid, steps):
    h, w = grid.shape
    grid = grid.copy()
    for _ in range(steps):
        new = np.zeros_like(grid)
        for y in range(h):
            for x in range(w):
                n = 0
                for dy in (-1, 0, 1):
                    for dx in (-1, 0, 1):
                        if (dy, dx) != (0, 0):
                            n += grid[(y + dy) % h, (x + dx) % w]
                if n == 3 or (n == 2 and grid[y, x] == 1):
                    new[y, x] = 1
        grid = new
    return grid


@program(integers(0, 2, 9, 11, kind=np.uint8))
def life_by_comprehension(grid):
    around = [(i, j) for i in (-1, 0, 1) for j in range(-1, 2) if (i, j) != (0, 0)]
    n = sum(np.roll(grid, (i, j), axis=(0, 1)) for i, j in around)
    return ((n == 3) | ((grid == 1) & (n == 2))).astype(grid.dtype)


@program(integers(0, 2, 9, 11, kind=np.uint8))
def life_by_border(grid):
    p = np.pad(grid, 1, mode="wrap")
    n = p[:-2, :-2] + p[:-2, 1:-1] + p[:-2, 2:] + p[1:-1, :-2]
    n = n + p[1:-1, 2:] + p[2:, :-2] + p[2:, 1:-1] + p[2:, 2:]
    return np.where((n == 3) | ((n == 2) & (grid == 1)), 1, 0)


@program(floats(7, 8))
def borders(a):
    return (
        np.pad(a, 2),
        np.pad(a, (1, 2), "edge"),
        np.pad(a, ((0, 1), (2, 0)), mode="reflect"),
        np.pad(a, 1, mode="symmetric"),
        np.pad(a, ((1, 0), (0, 1)), constant_values=7),
    )


@program(floats(9, 9), given(9.0))
def lu_by_slices(a, shift):
    a = a + shift * np.eye(len(a))
    for k in range(len(a) - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return np.tril(a, -1) + np.eye(len(a)), np.triu(a)


@program(floats(9, 9))
def elimination_with_named_multipliers(a):
    for k in range(len(a) - 1):
        m = a[k + 1 :, k] / (1 + a[k, k] ** 2)
        a[k + 1 :, k:] -= m[:, None] * a[k, k:]
        a[k + 1 :, k] = m


@program(floats(16))
def slices_that_meet_and_that_do_not(a):
    a[:8] = a[8:] + 1
    a[::2] += a[1::2]
    a[1:] = a[:-1] + 1
    a[3:5] = a[4:6] * 2


@program(floats(50, 3), integers(0, 7, 50), given(7))
def means_of_clusters(points, labels, k):
    sums = np.zeros((k, points.shape[1]))
    count = np.zeros(k, dtype=int)
    for i in range(len(points)):
        sums[labels[i]] += points[i]
        count[labels[i]] += 1
    return sums / np.maximum(count, 1)[:, None]


@program(floats(11, 12, kind=np.float32), given(0.3))
def rotated_by_lookup(image, angle):
    h, w = image.shape
    out = np.zeros_like(image)
    c, s = np.cos(angle), np.sin(angle)
    for y in range(h):
        for x in range(w):
            sy = round(c * (y - h // 2) - s * (x - w // 2) + h // 2)
            sx = round(s * (y - h // 2) + c * (x - w // 2) + w // 2)
            if 0 <= sy < h and 0 <= sx < w:
                out[y, x] = image[sy, sx]
    return out


@program(floats(9))
def ring(a):
    n = len(a)
    out = np.empty_like(a)
    for i in range(n):
        out[i] = a[(i + 1) % n] + 2 * a[(i - 1) % n] + (i + n) // n
    return out


@program(floats(9), integers(0, 9, 6))
def chosen_one_by_one(table, key):
    out = np.empty(len(key))
    for i in range(len(out)):
        out[i] = table[key[i]] + (0.5 if i in (1, 4) and i not in (2, 4) else 0.0)
    return out


@program(floats(9), given(3.5))
def rounded_in_python(a, x):
    total = round(x)
    for i in range(len(a)):
        total += round(10 * a[i])
    return total


def positive(*shape):
    return lambda rng: rng.random(shape) * 90 + 10


#: the programs of docs/jit-peers.md with small arguments
SMALL = {
    "saxpy": (given(0.5), floats(17), floats(17)),
    "black_scholes": (positive(50), positive(50), positive(50), given(0.02), given(0.3)),
    "softmax": (floats(6, 10, kind=np.float32),),
    "normalised_rows": (floats(5, 140),),
    "pairwise_distances": (floats(30, 3),),
    "jacobi": (floats(20, 23), given(7)),
    "heat_step": (floats(16, 19), given(0.1)),
    "matrix_product": (floats(12, 7, kind=np.float32), floats(7, 9, kind=np.float32)),
    "mandelbrot": (given(20), given(24), given(12)),
    "histogram": (integers(0, 10, 100), given(10)),
    "moving_average": (floats(40), given(9)),
    "logistic_regression": (floats(25, 4), floats(25), floats(4), given(5)),
    "nearest_centroid": (floats(40, 4), floats(6, 4)),
    "pi_by_points": (positive(50), positive(50)),
    "filtered": (floats(12, 15, kind=np.float32), floats(3, 3, kind=np.float32)),
    "covariance": (floats(40, 6),),
    "forces": (floats(12, 3), positive(12)),
    "rosenbrock": (floats(300),),
    "tone_mapped": (floats(9, 9), given(0.1), given(0.9), given(0.6)),
    "cosine_similarity": (floats(9, 150), floats(150)),
}
PROGRAMS |= {name: (PEERS[name].function, makers) for name, makers in SMALL.items()}
