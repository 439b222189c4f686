"""What this machine can do at most: memory bandwidth and arithmetic, measured with our own C."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from polyopt.codegen.target import Target, core_count, cpu_name, native_target
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
        bandwidth[threads] = library.polyopt_bandwidth(_STREAM_BYTES, _ROUNDS, threads)
        peak[threads] = library.polyopt_peak(_FMA_STEPS, _ROUNDS, threads)

    @cache
    def stream(live_bytes: int, threads: int) -> float:
        bytes_ = max(live_bytes // 2, 1 << 14) // 4096 * 4096
        rounds = max(_ROUNDS, min(400, _STREAM_BYTES // bytes_ * _ROUNDS))
        return library.polyopt_bandwidth(bytes_, rounds, threads)

    return Machine(cpu_name(), core_count(), toolchain.version, bandwidth, peak, stream)


def _library(cc: str | None, target: Target, folder: Path | None) -> ctypes.CDLL:
    toolchain = find_toolchain(cc)
    text = _SOURCE.read_text(encoding="utf-8")
    lanes = f"-DVECTOR_BYTES={target.vector_bytes}"
    accumulators = f"-DACCUMULATORS={target.registers // 2}"
    flags = toolchain.flags((*target.flags, lanes, accumulators), openmp=toolchain.has_openmp)

    def build(directory: Path) -> None:
        (directory / SOURCE).write_text(text, encoding="utf-8")
        toolchain.compile_library(directory / SOURCE, directory / LIBRARY, flags)

    key = content_key("machine", text, " ".join(flags), toolchain.version, cpu_name())
    loaded = ctypes.CDLL(str(KernelCache(folder).library(key, "machine", build)))
    for function in (loaded.polyopt_bandwidth, loaded.polyopt_peak):
        function.argtypes = [ctypes.c_int64, ctypes.c_int, ctypes.c_int]
        function.restype = ctypes.c_double
    return loaded
