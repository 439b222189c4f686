"""What this machine can do at most: memory bandwidth and arithmetic, measured with our own C."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polyopt.codegen.target import Target, core_count, cpu_name, native_target
from polyopt.runtime.arrays import empty
from polyopt.runtime.cache import LIBRARY, SOURCE, KernelCache, content_key
from polyopt.runtime.toolchain import find_toolchain

if TYPE_CHECKING:
    from collections.abc import Callable

_SOURCE = Path(__file__).parent / "machine.c"
#: Large enough that no cache holds it: bytes of each of the two arrays.
_STREAM_BYTES = 128 << 20
_ROUNDS = 7
_FMA_STEPS = 20_000_000


@dataclass(frozen=True)
class Machine:
    """Limits of a machine; each by number of threads, ``1`` and all.

    ``bandwidth_gbs`` counts live bytes, one read and one written per element, in 10^9 bytes per
    second; ``peak_gflops`` is fused multiply-adds on ``f32``, two operations each.
    """

    cpu: str
    cores: int
    compiler: str
    bandwidth_gbs: dict[int, float] = field(default_factory=dict[int, float])
    peak_gflops: dict[int, float] = field(default_factory=dict[int, float])
    #: (live bytes, threads) -> GB/s when that much is streamed again and again: where it stays in
    #: a cache, more than memory gives
    stream: Callable[[int, int], float] | None = field(default=None, repr=False, compare=False)
    #: (live bytes, threads) -> what copies that much once, the fastest way that there is here
    copying: Callable[[int, int], Callable[[], object]] | None = field(
        default=None, repr=False, compare=False
    )

    def limit_ms(self, live_bytes: float, flops: float, threads: int | None = None) -> float:
        """The least time for that much memory traffic and arithmetic, in milliseconds.

        Traffic is weighed at the rate measured for arrays of that size.
        """
        known = min(self.bandwidth_gbs, key=lambda n: abs(n - (threads or self.cores)))
        rate = self.bandwidth_gbs[known]
        if self.stream is not None and live_bytes > 0:
            rate = max(rate, self.stream(int(live_bytes), known))
        memory = live_bytes / (rate * 1e6)
        return max(memory, flops / (self.peak_gflops[known] * 1e6))

    def as_json(self) -> dict[str, object]:
        """The object that ``bench --json`` prints."""
        return {
            "cpu": self.cpu,
            "cores": self.cores,
            "compiler": self.compiler,
            "bandwidth_gbs": {str(n): v for n, v in self.bandwidth_gbs.items()},
            "peak_gflops": {str(n): v for n, v in self.peak_gflops.items()},
        }


@cache
def machine(cc: str | None = None, folder: Path | None = None) -> Machine:
    """This machine's limits, measured once per process (about a second).

    ``folder`` keeps what is compiled for it; the kernel cache unless given.

    Raises ``CompilerMissingError`` and the compiler's and the cache's other errors.
    """
    toolchain = find_toolchain(cc)
    library = _library(cc, native_target(), folder)
    counts = sorted({1, core_count()}) if toolchain.has_openmp else [1]
    bandwidth: dict[int, float] = {}
    peak: dict[int, float] = {}
    for threads in counts:
        bandwidth[threads], _ = _fastest_copy(library, _STREAM_BYTES, _ROUNDS, threads)
        peak[threads] = library.polyopt_peak(_FMA_STEPS, _ROUNDS, threads)

    @cache
    def fastest(bytes_: int, threads: int) -> tuple[float, int]:
        rounds = max(_ROUNDS, min(400, _STREAM_BYTES // bytes_ * _ROUNDS))
        return _fastest_copy(library, bytes_, rounds, threads)

    def stream(live_bytes: int, threads: int) -> float:
        return fastest(_copied(live_bytes), threads)[0]

    def copying(live_bytes: int, threads: int) -> Callable[[], object]:
        bytes_ = _copied(live_bytes)
        source, target = (empty((bytes_,), np.dtype(np.uint8)) for _ in range(2))
        source.fill(1)
        target.fill(2)
        way = fastest(bytes_, threads)[1]

        def copy() -> None:
            library.polyopt_copy(way, target.ctypes.data, source.ctypes.data, bytes_, threads)

        return copy

    return Machine(cpu_name(), core_count(), toolchain.version, bandwidth, peak, stream, copying)


def _copied(live_bytes: int) -> int:
    """The bytes of each of two arrays, of which one is read and one is written."""
    return max(live_bytes // 2, 1 << 14) // 4096 * 4096


def _fastest_copy(
    library: ctypes.CDLL, bytes_: int, rounds: int, threads: int
) -> tuple[float, int]:
    """GB/s of live bytes, and which of the ways to copy them reached it."""
    way = ctypes.c_int(0)
    rate = library.polyopt_bandwidth(bytes_, rounds, threads, ctypes.byref(way))
    return rate, way.value


def _library(cc: str | None, target: Target, folder: Path | None) -> ctypes.CDLL:
    toolchain = find_toolchain(cc)
    text = _SOURCE.read_text(encoding="utf-8")
    lanes = f"-DVECTOR_BYTES={target.vector_bytes}"
    accumulators = f"-DACCUMULATORS={target.registers // 2}"
    flags = toolchain.flags((*target.flags, lanes, accumulators), openmp=toolchain.has_openmp)

    def build(directory: Path) -> None:
        (directory / SOURCE).write_text(text, encoding="utf-8")
        toolchain.compile_library(directory / SOURCE, directory / LIBRARY, flags)

    key = content_key(
        "machine", text, " ".join(flags), toolchain.version, toolchain.identity, cpu_name()
    )
    loaded = ctypes.CDLL(str(KernelCache(folder).library(key, "machine", build)))
    size, number, place = ctypes.c_int64, ctypes.c_int, ctypes.c_void_p
    loaded.polyopt_bandwidth.argtypes = [size, number, number, ctypes.POINTER(number)]
    loaded.polyopt_peak.argtypes = [size, number, number]
    loaded.polyopt_copy.argtypes = [number, place, place, size, number]
    for function in (loaded.polyopt_bandwidth, loaded.polyopt_peak):
        function.restype = ctypes.c_double
    loaded.polyopt_copy.restype = None
    return loaded
