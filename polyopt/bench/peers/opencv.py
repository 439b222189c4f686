"""OpenCV: its filters where they compute the same function, up to rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.bench.peers.call import Offer, PeerCall, needed
from polyopt.bench.peers.taps import LUMA, gaussian

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.bench.peers.call import Array, Request


def calls(request: Request) -> Offer:
    """The forms of a kernel: of blur on floats, harris and unsharp masking.

    The blur of integers rounds after both directions there, not after each: it is another one.
    """
    if request.kernel not in _MAKERS:
        return Offer()
    cv2 = needed("cv2", "opencv")
    offer = Offer()
    for schedule, maker in _MAKERS[request.kernel].items():
        outputs = request.fresh_outputs()
        run = maker(cv2, request, outputs["out"])
        offer.calls.append(PeerCall("opencv", schedule, run, cv2.setNumThreads, outputs))
    return offer


def _box(cv2: Any, request: Request, out: Array) -> Callable[[], object]:  # noqa: ANN401
    """The filter of the whole image, of which the inner part is copied."""
    img = request.inputs["img"]
    full = np.empty_like(img)

    def run() -> None:
        cv2.boxFilter(img, -1, (3, 3), dst=full)
        np.copyto(out, full[1:-1, 1:-1])

    return run


def _separable(cv2: Any, request: Request, out: Array) -> Callable[[], object]:  # noqa: ANN401
    img = request.inputs["img"]
    full = np.empty_like(img)
    third = np.full(3, 1 / 3, np.float32)

    def run() -> None:
        cv2.sepFilter2D(img, -1, third, third, dst=full)
        np.copyto(out, full[1:-1, 1:-1])

    return run


def _harris(cv2: Any, request: Request, out: Array) -> Callable[[], object]:  # noqa: ANN401
    """Sobel's derivatives over 12, sums by unnormalised boxes, then arithmetic on whole images."""
    planes = request.inputs["img"]

    def run() -> None:
        gray = _gray(cv2, planes)
        ix = cv2.Sobel(gray, cv2.CV_32F, 1, 0, ksize=3, scale=1 / 12)
        iy = cv2.Sobel(gray, cv2.CV_32F, 0, 1, ksize=3, scale=1 / 12)
        sxx, syy, sxy = (
            cv2.boxFilter(cv2.multiply(a, b), -1, (3, 3), normalize=False)
            for a, b in ((ix, ix), (iy, iy), (ix, iy))
        )
        det = cv2.subtract(cv2.multiply(sxx, syy), cv2.multiply(sxy, sxy))
        trace = cv2.add(sxx, syy)
        full = cv2.subtract(det, cv2.multiply(trace, trace, scale=0.04))
        np.copyto(out, full[3:-3, 3:-3])

    return run


def _unsharp(cv2: Any, request: Request, out: Array) -> Callable[[], object]:  # noqa: ANN401
    planes = request.inputs["img"]
    taps = gaussian()

    def run() -> None:
        gray = _gray(cv2, planes)
        blurred = cv2.sepFilter2D(gray, -1, taps, taps, borderType=cv2.BORDER_REPLICATE)
        sharpen = cv2.addWeighted(gray, 2, blurred, -1, 0)
        ratio = cv2.divide(sharpen, gray)
        for plane, result in zip(planes, out, strict=True):
            cv2.multiply(ratio, plane, dst=result)

    return run


def _gray(cv2: Any, planes: Array) -> Array:  # noqa: ANN401
    red, green, blue = planes
    part = cv2.addWeighted(red, float(LUMA[0]), green, float(LUMA[1]), 0)
    return cv2.scaleAdd(blue, float(LUMA[2]), part)


_MAKERS = {
    "blur_f32": {"boxFilter": _box, "sepFilter2D": _separable},
    "harris": {"": _harris},
    "unsharp": {"": _unsharp},
}
