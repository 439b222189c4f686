"""numba: image kernels as a user would write them for speed, fused by hand, rows in parallel; all
others as the plain loops of the program, with ``prange`` for the outermost that may be shared.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.bench.peers.call import Offer, PeerCall, needed
from polyopt.codegen.python.program import python_text
from polyopt.codegen.signature import signature_of
from polyopt.errors import UnsupportedError, UserError
from polyopt.runtime.arrays import aligned_copy
from polyopt.scheduler.threads.parallelize import independent
from polyopt.transform.plan import Plan
from polyopt.transform.schedule.tree import PlanLoop

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.bench.peers.call import Array, Request
    from polyopt.ir.scop import Scop
    from polyopt.transform.schedule.tree import Tree

#: rows of the result that one parallel task makes
_ROWS = 32
#: as C compilers are told: multiply-adds may round once, sums keep their order, division by zero is
#: no error
_OPTIONS = {"fastmath": {"contract"}, "error_model": "numpy"}


def calls(request: Request) -> Offer:
    """The form of a kernel: by hand of both blurs and of harris, else its loops."""
    makers = {"blur": _blur, "blur_f32": _blur_f32, "harris": _harris}
    if request.kernel in makers:
        return Offer([_by_hand(request, makers[request.kernel])])
    if request.scop is None:
        return Offer()
    try:
        return _loops(request, request.scop)
    except UnsupportedError as error:
        return Offer(notes=[f"numba of {request.kernel}: {error.diagnostic.message}"])


def _by_hand(request: Request, maker: Callable[[Any], Callable[..., object]]) -> PeerCall:
    numba = needed("numba", "numba")
    start = time.perf_counter()
    outputs = request.fresh_outputs()
    function = maker(numba)
    img, out = request.inputs["img"], outputs["out"]
    function(img, out)  # compiles
    taken = time.perf_counter() - start
    return PeerCall("numba", "", lambda: function(img, out), numba_threads(numba), outputs, taken)


def numba_threads(numba: Any) -> Callable[[int], object]:  # noqa: ANN401
    """What sets numba's number of threads, of which it has no more than it started with."""
    most = int(numba.config.NUMBA_NUM_THREADS)

    def set_threads(threads: int) -> None:
        numba.set_num_threads(min(threads, most))

    return set_threads


# -- loops of any program ---------------------------------------------------------------------


def _loops(request: Request, scop: Scop) -> Offer:
    """The fastest form for each number of threads, by a first call: with and without ``prange``."""
    numba = needed("numba", "numba")
    made = _Memory(request, scop)
    forms = {parallel: loops_text(scop, parallel=parallel) for parallel in (False, True)}
    if forms[True] == forms[False] or max(request.threads) == 1:
        del forms[True]
    offer = Offer()
    functions: dict[bool, tuple[Callable[..., object], float]] = {}
    for parallel, text in forms.items():
        start = time.perf_counter()
        names: dict[str, Any] = {"np": np, "prange": numba.prange}
        exec(text, names)  # noqa: S102 - written by python_text
        function = numba.njit(parallel=parallel, **_OPTIONS)(names["loops"])
        made.call(function)  # compiles
        functions[parallel] = function, time.perf_counter() - start
    chosen: dict[bool, list[int]] = {}
    for threads in request.threads:
        numba_threads(numba)(threads)
        tried = {p: made.seconds(f) for p, (f, _) in functions.items() if threads > 1 or not p}
        chosen.setdefault(min(tried, key=tried.__getitem__), []).append(threads)
    for parallel, counts in chosen.items():
        function, taken = functions[parallel]
        offer.calls.append(
            PeerCall(
                "numba",
                "prange" if parallel else "one thread",
                partial(made.call, function),
                numba_threads(numba),
                made.results,
                taken,
                restore=made.restore if made.first else None,
                threads=tuple(counts),
            )
        )
    return offer


def loops_text(scop: Scop, *, parallel: bool) -> str:
    """The program as a Python function ``loops`` of the scop's arguments, in the source's order.

    Raises ``UnsupportedError`` where data control what runs.
    """
    plan = Plan(scop)
    return python_text((_shared(plan, plan.program.tree) if parallel else plan).program, "loops")


def _shared(plan: Plan, nodes: Tree) -> Plan:
    """The plan with the outermost loops for threads whose iterations are independent."""
    for node in nodes:
        if isinstance(node, PlanLoop):
            try:
                plan = independent(plan, node)
            except UserError:
                plan = _shared(plan, node.body)
    return plan


class _Memory:
    """The arguments of a function; what is written is copied, what is only read the caller's."""

    def __init__(self, request: Request, scop: Scop) -> None:
        inputs, sizes = request.inputs, request.sizes
        self.results: dict[str, Array] = {
            n: aligned_copy(np.asarray(inputs.get(n, a))) for n, a in request.outputs.items()
        }
        self.first = {n: inputs[n] for n in self.results if n in inputs}
        given: dict[str, Any] = {
            a.name: int(sizes[a.name]) if a.kind == "size" else np.asarray(v, a.type.numpy_name)[()]
            for a in signature_of(scop)
            if (v := inputs.get(a.name)) is not None or a.kind == "size"
        }
        self._given = [{**given, **self.results}[name] for name in scop.signature]

    def call(self, function: Callable[..., object]) -> None:
        function(*self._given)

    def restore(self) -> None:
        for name, values in self.first.items():
            np.copyto(self.results[name], values)

    def seconds(self, function: Callable[..., object]) -> float:
        """What a call takes that is not the first."""
        self.restore()
        start = time.perf_counter()
        self.call(function)
        return time.perf_counter() - start


# -- images by hand ---------------------------------------------------------------------------


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
