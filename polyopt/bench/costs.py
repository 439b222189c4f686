"""Costs of this machine for the time model, measured with our own C.

What the C prints is in nanoseconds. A chain of integer additions, one a cycle, is its clock.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from polyopt.codegen.target import native_target
from polyopt.errors import CompilerFailedError
from polyopt.runtime.toolchain import find_toolchain
from polyopt.scheduler.model.machine import typical_costs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.codegen.target import Target
    from polyopt.runtime.toolchain import Toolchain
    from polyopt.scheduler.model.machine import Costs

_SOURCE = Path(__file__).with_suffix(".c")
_LEVELS = ("l2", "last", "memory")
_CALLS = ("exp", "expf", "logf", "powf", "sinf", "tanhf")
#: instructions that the model counts in an iteration of ``scalar_rows``: three loads, a store,
#: an addition, a multiply-add, and two of the loop
_SCALAR_ROW = 8
#: cycles below which a difference of two measurements says nothing
_LEAST = 0.05
_MIB = 1 << 20
#: no array that is read from memory is larger, and for each thread it is at least that large
_MOST_BYTES = 1024 * _MIB
_OWN_BYTES = 16 * _MIB
_PATIENCE_S = 300.0


#: run apart from this process: see ``_run``
_CHILD = """
import ctypes, sys
library, budget, threads, *sizes = sys.argv[1:]
bytes_of = [(ctypes.c_int64 * 3)(*map(int, part)) for part in (sizes[:3], sizes[3:])]
ctypes.CDLL(library).polyopt_print_costs(ctypes.c_double(float(budget)), int(threads), *bytes_of)
"""


def measured(cc: str | None = None, *, budget_ms: float = 20.0) -> Costs:
    """This machine's costs; each measurement takes ``budget_ms`` or some times that.

    The best of many rounds counts: other work on the machine makes a round slower, never faster.
    Raises ``CompilerMissingError`` and ``CompilerFailedError``.
    """
    target, toolchain = native_target(), find_toolchain(cc)
    threads = target.cores if toolchain.has_openmp else 1
    with tempfile.TemporaryDirectory(prefix="polyopt-") as folder:
        library = Path(folder, "costs.so")
        toolchain.compile_library(_SOURCE, library, _flags(toolchain, target))
        return costs_from(_run(library, target, threads, budget_ms), target)


def _flags(toolchain: Toolchain, target: Target) -> tuple[str, ...]:
    lanes = f"-DVECTOR_BYTES={target.vector_bytes}"
    accumulators = f"-DACCUMULATORS={target.registers // 2}"
    return toolchain.flags((*target.flags, lanes, accumulators), openmp=toolchain.has_openmp)


def _run(library: Path, target: Target, threads: int, budget_ms: float) -> dict[str, float]:
    """Nanoseconds by name.

    In a process of its own, where each thread can be kept on one core: two threads on one core
    would wait for each other. In a library like kernels, from which C compilers call differently.
    """
    sizes = [*_read_bytes(target, 1), *_read_bytes(target, threads)]
    command = [sys.executable, "-c", _CHILD, str(library), str(budget_ms * 1e6)]
    try:
        done = subprocess.run(
            [*command, str(threads), *map(str, sizes)], capture_output=True, text=True,
            check=True, timeout=_PATIENCE_S, env={**os.environ, "OMP_PROC_BIND": "true"},
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        msg = "what measures the machine's costs could not be run"
        raise CompilerFailedError(msg, notes=[str(error)], hint="see `polyopt doctor`") from None
    lines = (line.split() for line in done.stdout.splitlines())
    return {name: float(value) for name, value in lines}


def _read_bytes(target: Target, threads: int) -> tuple[int, int, int]:
    """Bytes for each thread that lie in the second-level cache, in the last one, in memory."""
    second = max(2 * target.l1_bytes, target.l2_bytes // 2)
    last = max(target.last_bytes // max(4, 2 * threads), target.l2_bytes * 3 // 2)
    memory = max(4 * target.last_bytes // threads, _OWN_BYTES)
    return second, last, min(memory, _MOST_BYTES // threads)


def costs_from(ns: Mapping[str, float], target: Target) -> Costs:
    """Costs out of nanoseconds by name; those of several threads are typical where none ran."""
    typical = typical_costs(target)
    cycles = {name: value / ns["cycle"] for name, value in ns.items()}
    divisions = (cycles["divide_f32"] + cycles["divide_f64"]) / 2
    load = cycles["load"] / target.vector_bytes
    one = [_rate(cycles[f"read_{level}"], load, typical.overlap) for level in _LEVELS]
    every = list(one)
    if "region" in ns:
        of_each = [cycles[f"shared_{level}"] * target.cores for level in _LEVELS]
        every = [_rate(each, load, typical.overlap) * target.cores for each in of_each]
    return replace(
        typical,
        clock=1 / ns["cycle"],
        load=cycles["load"],
        split=max(_LEAST, cycles["split_load"] - cycles["load"]),
        store=cycles["store"],
        arithmetic=(cycles["multiply_add"] + cycles["mixed"]) / 2,
        scalar=cycles["scalar_iteration"] / _SCALAR_ROW,
        latency=cycles["latency"],
        divide=divisions / target.vector_bytes,
        gather=cycles["gather"],
        call=sum(cycles[f"call_{name}"] for name in _CALLS) / len(_CALLS),
        integer_divide=cycles["integer_divide"],
        # small differences of long times: no digits after the point
        start=max(1.0, round(cycles["scalar_start"])),
        vector_start=max(1.0, round(cycles["vector_start"])),
        bandwidth=(one[0], one[1], one[2]),
        # all cores get what one gets, or something else was running
        shared=(max(one[0], every[0]), max(one[1], every[1]), max(one[2], every[2])),
        region=ns.get("region", typical.region),
    )


def _rate(read: float, load: float, overlap: float) -> float:
    """Bytes per cycle that are moved, of cycles that reading and loading a byte take.

    The model adds loads and moves as a power mean: what loads take of their own is taken off here.
    Where that leaves little, the loads were what took long: no more than twice as many are moved.
    """
    moving = max(read / 2, max(0.0, read**overlap - load**overlap) ** (1 / overlap))
    return 1 / moving
