"""numba: kernels as a user would write them for speed, fused by hand, rows in parallel."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.bench.peers.call import Offer, PeerCall, needed

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.bench.peers.call import Request

#: rows of the result that one parallel task makes
_ROWS = 32


def calls(request: Request) -> Offer:
    """The form of a kernel, where there is one: of both blurs, and of harris."""
    makers = {"blur": _blur, "blur_f32": _blur_f32, "harris": _harris}
    if request.kernel not in makers:
        return Offer()
    numba = needed("numba", "numba")
    start = time.perf_counter()
    outputs = request.fresh_outputs()
    function = makers[request.kernel](numba)
    img, out = request.inputs["img"], outputs["out"]
    function(img, out)  # compiles
    taken = time.perf_counter() - start
    most = int(numba.config.NUMBA_NUM_THREADS)

    def set_threads(threads: int) -> None:
        numba.set_num_threads(min(threads, most))

    return Offer([PeerCall("numba", "", lambda: function(img, out), set_threads, outputs, taken)])


def _blur(numba: Any) -> Callable[..., object]:  # noqa: ANN401
    def blur(img: Any, out: Any) -> None:  # noqa: ANN401
        height, width = out.shape
        three = np.uint16(3)
        for task in numba.prange((height + _ROWS - 1) // _ROWS):
            rows = np.empty((3, width), np.uint16)
            first = task * _ROWS
            for y in range(first, min(first + _ROWS, height) + 2):
                row, src = rows[y % 3], img[y]
                for x in range(width):
                    row[x] = np.uint16(src[x] + src[x + 1] + src[x + 2]) // three
                if y >= first + 2:
                    dst = out[y - 2]
                    for x in range(width):
                        dst[x] = np.uint16(rows[0, x] + rows[1, x] + rows[2, x]) // three

    return numba.njit(parallel=True, fastmath=True, error_model="numpy")(blur)


def _blur_f32(numba: Any) -> Callable[..., object]:  # noqa: ANN401
    def blur_f32(img: Any, out: Any) -> None:  # noqa: ANN401
        height, width = out.shape
        third = np.float32(1 / 3)
        for task in numba.prange((height + _ROWS - 1) // _ROWS):
            rows = np.empty((3, width), np.float32)
            first = task * _ROWS
            for y in range(first, min(first + _ROWS, height) + 2):
                row, src = rows[y % 3], img[y]
                for x in range(width):
                    row[x] = (src[x] + src[x + 1] + src[x + 2]) * third
                if y >= first + 2:
                    dst = out[y - 2]
                    for x in range(width):
                        dst[x] = (rows[0, x] + rows[1, x] + rows[2, x]) * third

    return numba.njit(parallel=True, fastmath=True)(blur_f32)


def _harris(numba: Any) -> Callable[..., object]:  # noqa: ANN401
    compiled = numba.njit(fastmath=True)
    gray, products, response = (compiled(f) for f in (_gray, _products, _response))

    def harris(img: Any, out: Any) -> None:  # noqa: ANN401
        height, width = out.shape
        for task in numba.prange((height + _ROWS - 1) // _ROWS):
            first = task * _ROWS
            count = min(_ROWS, height - first)
            g = np.empty((count + 4, width + 4), np.float32)
            p = np.empty((3, count + 2, width + 2), np.float32)
            gray(img, first, g)
            products(g, p)
            response(p, out[first : first + count])

    return numba.njit(parallel=True, fastmath=True)(harris)


def _gray(img: Any, first: int, g: Any) -> None:  # noqa: ANN401
    for y in range(g.shape[0]):
        red, green, blue = img[0, first + y + 1], img[1, first + y + 1], img[2, first + y + 1]
        for x in range(g.shape[1]):
            g[y, x] = (
                np.float32(0.299) * red[x + 1]
                + np.float32(0.587) * green[x + 1]
                + np.float32(0.114) * blue[x + 1]
            )


def _products(g: Any, p: Any) -> None:  # noqa: ANN401
    one, two = np.float32(1 / 12), np.float32(2 / 12)
    for y in range(p.shape[1]):
        a, b, c = g[y], g[y + 1], g[y + 2]
        for x in range(p.shape[2]):
            dy = one * (c[x] - a[x] + c[x + 2] - a[x + 2]) + two * (c[x + 1] - a[x + 1])
            dx = one * (a[x + 2] - a[x] + c[x + 2] - c[x]) + two * (b[x + 2] - b[x])
            p[0, y, x], p[1, y, x], p[2, y, x] = dx * dx, dy * dy, dx * dy


def _response(p: Any, out: Any) -> None:  # noqa: ANN401
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            xx = yy = xy = np.float32(0)
            for j in range(3):
                for i in range(3):
                    xx += p[0, y + j, x + i]
                    yy += p[1, y + j, x + i]
                    xy += p[2, y + j, x + i]
            trace = xx + yy
            out[y, x] = xx * yy - xy * xy - np.float32(0.04) * trace * trace
