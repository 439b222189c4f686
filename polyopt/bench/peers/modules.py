"""Peers that a kernel's own module has: what its author would call in a library.

A module in ``kernels/`` may have functions called like libraries (``numba``, ``opencv``, ``scipy``,
``torch``). Each takes the imported library and the kernel's arguments by name, and returns a call
without arguments whose results are arrays by name. What is done before that call is not timed.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.bench.peers.call import PeerCall, needed, nothing
from polyopt.bench.peers.numba import numba_threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.bench.peers.call import Array, Request

#: by the function's name: what the library is imported as
MODULES = {"numba": "numba", "opencv": "cv2", "scipy": "scipy", "torch": "torch"}


def module_calls(request: Request, peer: str) -> list[PeerCall]:
    """The form that the kernel's module has of a peer, if any.

    Raises ``MissingExtraError`` where there is one and the library is not installed.
    """
    make = getattr(request.module, peer, None) if peer in MODULES else None
    if make is None:
        return []
    library = needed(MODULES[peer], peer)
    start = time.perf_counter()
    arguments = {n: np.array(v) if np.ndim(v) else v for n, v in request.inputs.items()}
    call: Callable[[], dict[str, Array]] = make(library, **arguments, **request.sizes)
    outputs = dict(call())  # compiles, where it does

    def run() -> None:
        outputs.update(call())

    taken = time.perf_counter() - start
    return [PeerCall(peer, "its kernel's", run, _threads(library, peer), outputs, taken)]


def _threads(library: Any, peer: str) -> Callable[[int], object]:  # noqa: ANN401
    """What sets a library's number of threads."""
    if peer == "opencv":
        return library.setNumThreads
    if peer == "torch":
        return library.set_num_threads
    return numba_threads(library) if peer == "numba" else nothing
