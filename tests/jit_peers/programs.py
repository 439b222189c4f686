"""Twenty functions of the kinds that the documentation of numba, Pythran and JAX shows.

Each is written as its kind is written for NumPy, and is what ``po.jit`` and Pythran get. numba gets
the same with ``parallel=True``, or, where a loop has to say that it is parallel, a form with
``prange``; JAX gets one without changes in place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Program:
    """A function, the forms that numba and JAX get, and arguments."""

    function: Callable[..., Any]
    arguments: Callable[[np.random.Generator], tuple[Any, ...]]
    #: how far floats may be apart, as a share
    tolerance: float = 1e-9
    #: positions of arguments that JAX has to know beforehand
    static: tuple[int, ...] = ()


PROGRAMS: dict[str, Program] = {}


def program(
    arguments: Callable[[np.random.Generator], tuple[Any, ...]],
    *,
    tolerance: float = 1e-9,
    static: tuple[int, ...] = (),
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function with what makes its arguments."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[function.__name__] = Program(function, arguments, tolerance, static)
        return function

    return register


def f32(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


@program(lambda r: (2.0, r.standard_normal(2_000_000), r.standard_normal(2_000_000)))
def saxpy(alpha, x, y):
    return alpha * x + y


@program(lambda r: (r.random(400_000) * 90 + 10, r.random(400_000) * 90 + 10,
                    r.random(400_000) + 0.1, 0.02, 0.3))  # fmt: skip
def black_scholes(price, strike, years, rate, sigma):
    root = sigma * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + 0.5 * sigma**2) * years) / root
    d2 = d1 - root
    k1 = 1.0 / (1.0 + 0.2316419 * np.abs(d1))
    p1 = k1 * (0.31938153 + k1 * (-0.356563782 + k1 * (1.781477937 + k1 * -1.821255978)))
    t1 = np.exp(-0.5 * d1 * d1) * 0.3989422804 * p1
    n1 = np.where(d1 > 0, 1.0 - t1, t1)
    k2 = 1.0 / (1.0 + 0.2316419 * np.abs(d2))
    p2 = k2 * (0.31938153 + k2 * (-0.356563782 + k2 * (1.781477937 + k2 * -1.821255978)))
    t2 = np.exp(-0.5 * d2 * d2) * 0.3989422804 * p2
    n2 = np.where(d2 > 0, 1.0 - t2, t2)
    return price * n1 - strike * np.exp(-rate * years) * n2


@program(lambda r: (f32(r, 2000, 1000),), tolerance=1e-4)
def softmax(x):
    result = np.empty_like(x)
    for i in range(x.shape[0]):
        shifted = np.exp(x[i] - np.max(x[i]))
        result[i] = shifted / np.sum(shifted)
    return result


@program(lambda r: (r.standard_normal((2000, 1000)),))
def normalised_rows(a):
    result = np.empty_like(a)
    for i in range(a.shape[0]):
        row = a[i]
        result[i] = (row - np.mean(row)) / np.std(row)
    return result


@program(lambda r: (r.standard_normal((1500, 3)),))
def pairwise_distances(points):
    n = points.shape[0]
    result = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            total = 0.0
            for k in range(points.shape[1]):
                gap = points[i, k] - points[j, k]
                total += gap * gap
            result[i, j] = np.sqrt(total)
    return result


@program(lambda r: (r.standard_normal((1200, 1200)), 10), static=(1,))
def jacobi(u, steps):
    u = u.copy()
    for _ in range(steps):
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        u = new
    return u


@program(lambda r: (r.standard_normal((1500, 1500)), 0.1))
def heat_step(u, c):
    return u[1:-1, 1:-1] + c * (
        u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
    )


@program(lambda r: (f32(r, 700, 700), f32(r, 700, 700)), tolerance=1e-3)
def matrix_product(a, b):
    return a @ b


@program(lambda _: (500, 600, 80), static=(0, 1, 2))
def mandelbrot(height, width, limit):
    result = np.zeros((height, width), dtype=np.int64)
    for y in range(height):
        for x in range(width):
            cr, ci = -2.0 + 3.0 * x / width, -1.0 + 2.0 * y / height
            zr, zi = 0.0, 0.0
            count = 0
            for _ in range(limit):
                if zr * zr + zi * zi <= 4.0:
                    zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
                    count += 1
            result[y, x] = count
    return result


@program(lambda r: (r.integers(0, 256, 2_000_000), 256), static=(1,))
def histogram(values, bins):
    counts = np.zeros(bins, dtype=np.int64)
    for i in range(values.shape[0]):
        counts[values[i]] += 1
    return counts


@program(lambda r: (r.standard_normal(500_000), 9), static=(1,))
def moving_average(x, width):
    result = np.zeros(x.size - width + 1)
    for i in range(result.shape[0]):
        total = 0.0
        for k in range(width):
            total += x[i + k]
        result[i] = total / width
    return result


@program(lambda r: (r.standard_normal((20_000, 10)), r.choice((-1.0, 1.0), 20_000),
                    np.zeros(10), 20), static=(3,))  # fmt: skip
def logistic_regression(x, y, w, steps):
    for _ in range(steps):
        w = w - 0.0001 * np.dot(((1.0 / (1.0 + np.exp(-y * np.dot(x, w)))) - 1.0) * y, x)
    return w


@program(lambda r: (r.standard_normal((30_000, 4)), r.standard_normal((16, 4))))
def nearest_centroid(points, centroids):
    result = np.empty(points.shape[0], dtype=np.int64)
    for i in range(points.shape[0]):
        best, at = np.inf, 0
        for c in range(centroids.shape[0]):
            total = 0.0
            for k in range(points.shape[1]):
                total += (points[i, k] - centroids[c, k]) ** 2
            if total < best:
                best, at = total, c
        result[i] = at
    return result


@program(lambda r: (r.random(2_000_000), r.random(2_000_000)))
def pi_by_points(x, y):
    return 4.0 * np.sum(x * x + y * y < 1.0) / x.size


@program(lambda r: (f32(r, 1000, 1000), f32(r, 3, 3)), tolerance=1e-4)
def filtered(image, weights):
    h, w = image.shape
    result = np.zeros((h - 2, w - 2), dtype=np.float32)
    for y in range(h - 2):
        for x in range(w - 2):
            total = np.float32(0.0)
            for i in range(3):
                for j in range(3):
                    total += image[y + i, x + j] * weights[i, j]
            result[y, x] = total
    return result


@program(lambda r: (r.standard_normal((4000, 60)),))
def covariance(x):
    centred = x - np.sum(x, axis=0) / x.shape[0]
    return centred.T @ centred / (x.shape[0] - 1)


@program(lambda r: (r.standard_normal((1000, 3)), r.random(1000)))
def forces(positions, masses):
    n = positions.shape[0]
    result = np.zeros((n, 3))
    for i in range(n):
        for j in range(n):
            dx = positions[j, 0] - positions[i, 0]
            dy = positions[j, 1] - positions[i, 1]
            dz = positions[j, 2] - positions[i, 2]
            square = dx * dx + dy * dy + dz * dz + 0.01
            pull = masses[j] / (square * np.sqrt(square))
            result[i, 0] += dx * pull
            result[i, 1] += dy * pull
            result[i, 2] += dz * pull
    return result


@program(lambda r: (r.standard_normal(2_000_000),))
def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


@program(lambda r: (r.random((1000, 1000)), 0.1, 0.9, 0.6))
def tone_mapped(a, low, high, gamma):
    return np.clip((a - low) / (high - low), 0.0, 1.0) ** gamma


@program(lambda r: (r.standard_normal((3000, 500)), r.standard_normal(500)))
def cosine_similarity(rows, query):
    result = np.empty(rows.shape[0])
    for i in range(rows.shape[0]):
        row = rows[i]
        result[i] = np.dot(row, query) / (np.sqrt(np.dot(row, row)) * np.sqrt(np.dot(query, query)))
    return result
