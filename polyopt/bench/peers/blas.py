"""BLAS: what OpenBLAS, as SciPy and NumPy carry it, makes of kernels that are its own functions.

A limit more than a peer: its inner loops are written in assembly, per processor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.bench.peers.call import Offer, PeerCall, needed
from polyopt.runtime.arrays import aligned_copy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from polyopt.bench.peers.call import Array, Request

    _Run = Callable[[], object]


def calls(request: Request) -> Offer:
    """The form of a kernel, where BLAS has one: of products of matrices of all kinds."""
    if request.kernel not in _MAKERS:
        return Offer()
    pools = needed("threadpoolctl", "blas")
    blas = _Typed(needed("scipy.linalg.blas", "blas"), request.outputs)
    inputs = request.inputs
    outputs = {n: aligned_copy(inputs.get(n, a)) for n, a in request.outputs.items()}
    first = {n: inputs[n] for n in outputs if n in inputs}
    run = _MAKERS[request.kernel](blas, {**inputs, **outputs})

    def restore() -> None:
        for name, values in first.items():
            np.copyto(outputs[name], values)

    def set_threads(threads: int) -> None:
        pools.threadpool_limits(limits=threads, user_api="blas")

    return Offer(
        [PeerCall("blas", "", run, set_threads, outputs, restore=restore if first else None)]
    )


class _Typed:
    """Functions of BLAS for one type of floats, on arrays in C's order.

    BLAS stores columns: it sees each array transposed, so that it is asked for transposed results.
    """

    def __init__(self, blas: Any, outputs: Mapping[str, Array]) -> None:  # noqa: ANN401
        self.blas = blas
        self.kind = "d" if next(iter(outputs.values())).dtype == np.float64 else "s"

    def __getattr__(self, name: str) -> Callable[..., object]:
        """The function of that name without its letter for the type."""
        return getattr(self.blas, self.kind + name)

    def product(self, a: Array, b: Array, c: Array, alpha: float = 1, beta: float = 0) -> None:
        """``c = alpha * a * b + beta * c``."""
        self.gemm(alpha, b.T, a.T, beta=beta, c=c.T, overwrite_c=1)


def _gemm(blas: _Typed, of: Mapping[str, Any]) -> _Run:
    return lambda: blas.product(of["A"], of["B"], of["C"], of["alpha"], of["beta"])


def _2mm(blas: _Typed, of: Mapping[str, Any]) -> _Run:
    def run() -> None:
        blas.product(of["A"], of["B"], of["tmp"], of["alpha"])
        blas.product(of["tmp"], of["C"], of["D"], 1, of["beta"])

    return run


def _3mm(blas: _Typed, of: Mapping[str, Any]) -> _Run:
    def run() -> None:
        blas.product(of["A"], of["B"], of["E"])
        blas.product(of["C"], of["D"], of["F"])
        blas.product(of["E"], of["F"], of["G"])

    return run


def _syrk(blas: _Typed, of: Mapping[str, Any]) -> _Run:
    a, c = of["A"].T, of["C"].T
    return lambda: blas.syrk(of["alpha"], a, beta=of["beta"], c=c, trans=1, overwrite_c=1)


def _syr2k(blas: _Typed, of: Mapping[str, Any]) -> _Run:
    a, b, c = of["A"].T, of["B"].T, of["C"].T
    return lambda: blas.syr2k(of["alpha"], a, b, beta=of["beta"], c=c, trans=1, overwrite_c=1)


def _trmm(blas: _Typed, of: Mapping[str, Any]) -> _Run:
    a, b = of["A"].T, of["B"].T
    return lambda: blas.trmm(of["alpha"], a, b, side=1, trans_a=1, diag=1, overwrite_b=1)


def _symm(blas: _Typed, of: Mapping[str, Any]) -> _Run:
    a, b, c = of["A"].T, of["B"].T, of["C"].T
    return lambda: blas.symm(of["alpha"], a, b, beta=of["beta"], c=c, side=1, overwrite_c=1)


def _doitgen(blas: _Typed, of: Mapping[str, Any]) -> _Run:
    rows = of["A"].reshape(-1, of["A"].shape[-1])
    made = np.empty_like(rows)

    def run() -> None:
        blas.product(rows, of["C4"], made)
        np.copyto(rows, made)

    return run


def _covariance(_blas: _Typed, of: Mapping[str, Any]) -> _Run:
    data, cov = of["data"], of["cov"]

    def run() -> None:
        np.mean(data, axis=0, out=of["mean"])
        np.subtract(data, of["mean"], out=data)
        np.matmul(data.T, data, out=cov)  # NumPy takes syrk, and mirrors the triangle
        np.divide(cov, len(data), out=cov)

    return run


def _correlation(_blas: _Typed, of: Mapping[str, Any]) -> _Run:
    data, stddev, corr = of["data"], of["stddev"], of["corr"]

    def run() -> None:
        np.mean(data, axis=0, out=of["mean"])
        np.subtract(data, of["mean"], out=data)
        np.sqrt(np.einsum("ij,ij->j", data, data) / len(data), out=stddev)
        stddev[stddev <= 0.1] = 1
        np.divide(data, np.sqrt(len(data)) * stddev, out=data)
        np.matmul(data.T, data, out=corr)
        np.fill_diagonal(corr, 1)

    return run


_MAKERS: Mapping[str, Callable[[_Typed, Mapping[str, Any]], _Run]] = {
    "gemm": _gemm, "2mm": _2mm, "3mm": _3mm, "syrk": _syrk, "syr2k": _syr2k, "trmm": _trmm,
    "symm": _symm, "doitgen": _doitgen, "covariance": _covariance, "correlation": _correlation,
}  # fmt: skip
