"""Peers: the same kernels in other people's systems, measured beside ours in one run.

Each module of this package has ``calls``, which makes the forms that one peer offers of a kernel;
a kernel's own module may have more (``modules``).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from polyopt.bench.peers import compilers
from polyopt.bench.peers.call import Offer, Request, needed
from polyopt.bench.peers.compilers import COMPILERS, check_compiler
from polyopt.bench.peers.frameworks import FRAMEWORKS
from polyopt.bench.peers.modules import module_calls
from polyopt.errors import InvalidOptionError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterable

#: peers that are libraries: the module of this package, and what it imports
LIBRARIES = {
    "blas": "scipy.linalg.blas", "halide": "halide", "numba": "numba", "opencv": "cv2",
    "scipy": "scipy.ndimage",
}  # fmt: skip
KNOWN = (*COMPILERS, *LIBRARIES, *FRAMEWORKS)


def parse_peers(text: str) -> tuple[str, ...]:
    """Names between commas, each once, as ``--peers`` takes them."""
    return tuple(dict.fromkeys(p.strip() for p in text.split(",") if p.strip()))


def check_peers(peers: Iterable[str]) -> None:
    """Refuse peers that are not known or not installed.

    Raises ``InvalidOptionError`` and ``MissingExtraError``.
    """
    for peer in peers:
        if peer not in KNOWN:
            msg = f"no peer is called {peer!r}"
            raise InvalidOptionError(msg, hint="there are: " + ", ".join(KNOWN))
        if peer in LIBRARIES or peer in FRAMEWORKS:
            needed({**LIBRARIES, **FRAMEWORKS}[peer], peer)
        else:
            check_compiler(peer)


def split_installed(peers: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Peers that can be measured here, and those that are not installed.

    Raises ``InvalidOptionError`` for one that is not known.
    """
    there: list[str] = []
    missing: list[str] = []
    for peer in peers:
        try:
            check_peers((peer,))
        except MissingExtraError:
            missing.append(peer)
        else:
            there.append(peer)
    return tuple(there), tuple(missing)


def offers(peers: Iterable[str], request: Request) -> Offer:
    """All forms of a kernel that peers offer, and what they lack."""
    result = Offer()
    for peer in peers:
        found = _offer(peer, request)
        found.calls += module_calls(request, peer)
        if not found.calls and not found.notes:
            result.notes.append(_lacking(peer, request.kernel))
        result.calls += found.calls
        result.notes += found.notes
    return result


def _lacking(peer: str, kernel: str) -> str:
    networks = ", it runs networks (--suite nn)" if peer in FRAMEWORKS else ""
    return f"{peer} has no form of {kernel}{networks}"


def _offer(peer: str, request: Request) -> Offer:
    if peer in FRAMEWORKS:
        return Offer()
    if peer in COMPILERS:
        return compilers.calls(request, peer)
    module: Any = importlib.import_module(f"{__name__}.{peer}")
    return module.calls(request)
