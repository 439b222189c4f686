"""SciPy: ``scipy.ndimage`` where it has the same function. Always on one thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.bench.peers.call import Offer, PeerCall, needed, nothing
from polyopt.bench.peers.taps import LUMA, gaussian

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.bench.peers.call import Array, Request


def calls(request: Request) -> Offer:
    """The form of a kernel, where there is one: of blur on floats, and of unsharp masking."""
    makers: dict[str, Callable[[Any, Request, Array], Callable[[], object]]] = {
        "blur_f32": _blur,
        "unsharp": _unsharp,
    }
    if request.kernel not in makers:
        return Offer()
    outputs = request.fresh_outputs()
    run = makers[request.kernel](needed("scipy.ndimage", "scipy"), request, outputs["out"])
    return Offer([PeerCall("scipy", "", run, nothing, outputs)])


def _blur(ndimage: Any, request: Request, out: Array) -> Callable[[], object]:  # noqa: ANN401
    """The filter of the whole image; without its border it is the result."""
    img = request.inputs["img"]
    full = np.empty_like(img)

    def run() -> None:
        ndimage.uniform_filter(img, size=3, output=full, mode="nearest")
        np.copyto(out, full[1:-1, 1:-1])

    return run


def _unsharp(ndimage: Any, request: Request, out: Array) -> Callable[[], object]:  # noqa: ANN401
    img: Array = request.inputs["img"]
    taps = gaussian()

    def run() -> None:
        gray: Array = np.tensordot(LUMA, img, 1)
        by = ndimage.correlate1d(gray, taps, axis=0, mode="nearest")
        bx = ndimage.correlate1d(by, taps, axis=1, mode="nearest")
        np.multiply((np.float32(2) * gray - bx) / gray, img, out=out)

    return run
