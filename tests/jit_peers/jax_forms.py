"""The programs that change arrays in place, as JAX's documentation writes their kind."""

import jax
import jax.numpy as jnp


def softmax(x):
    return jax.nn.softmax(x, axis=1)


def normalised_rows(a):
    return (a - a.mean(axis=1, keepdims=True)) / a.std(axis=1, keepdims=True)


def pairwise_distances(points):
    gap = points[:, None, :] - points[None, :, :]
    return jnp.sqrt((gap * gap).sum(axis=-1))


def jacobi(u, steps):
    def step(_, u):
        inner = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        return u.at[1:-1, 1:-1].set(inner)

    return jax.lax.fori_loop(0, steps, step, u)


def mandelbrot(height, width, limit):
    cr = (-2.0 + 3.0 * jnp.arange(width) / width)[None, :]
    ci = (-1.0 + 2.0 * jnp.arange(height) / height)[:, None]

    def step(_, state):
        zr, zi, count = state
        inside = zr * zr + zi * zi <= 4.0
        return (
            jnp.where(inside, zr * zr - zi * zi + cr, zr),
            jnp.where(inside, 2.0 * zr * zi + ci, zi),
            count + inside,
        )

    zero = jnp.zeros((height, width))
    return jax.lax.fori_loop(0, limit, step, (zero, zero, zero.astype(jnp.int64)))[2]


def histogram(values, bins):
    return jnp.zeros(bins, jnp.int64).at[values].add(1)


def moving_average(x, width):
    n = x.size - width + 1
    return sum(x[k : k + n] for k in range(width)) / width


def nearest_centroid(points, centroids):
    gap = points[:, None, :] - centroids[None, :, :]
    return jnp.argmin((gap * gap).sum(axis=-1), axis=1)


def filtered(image, weights):
    h, w = image.shape
    return sum(
        image[i : i + h - 2, j : j + w - 2] * weights[i, j] for i in range(3) for j in range(3)
    )


def forces(positions, masses):
    gap = positions[None, :, :] - positions[:, None, :]
    square = (gap * gap).sum(axis=-1) + 0.01
    pull = masses[None, :] / (square * jnp.sqrt(square))
    return (gap * pull[:, :, None]).sum(axis=1)


def cosine_similarity(rows, query):
    lengths = jnp.sqrt((rows * rows).sum(axis=1)) * jnp.sqrt(jnp.dot(query, query))
    return rows @ query / lengths


FORMS = {
    f.__name__: f
    for f in (softmax, normalised_rows, pairwise_distances, jacobi, mandelbrot, histogram,
              moving_average, nearest_centroid, filtered, forces, cosine_similarity)
}  # fmt: skip
