"""Halide: pipelines compiled ahead of time, by an expert's schedules and its autoschedulers.

Each form is built in a process of its own, which may crash or run out of time, and is called
here as a shared library.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.bench.peers.call import Offer, PeerCall
from polyopt.bench.peers.halide.library import HalideError, HalideLibrary
from polyopt.codegen.target import native_target
from polyopt.errors import CompilerFailedError
from polyopt.runtime.toolchain import find_toolchain

if TYPE_CHECKING:
    from polyopt.bench.peers.call import Request

#: kernel -> the module that defines it
PIPELINES = {
    "blur": "blur",
    "blur_f32": "blur",
    "harris": "harris",
    "unsharp": "unsharp",
    "stencil_chain": "stencil_chain",
    "interpolate": "interpolate",
    "bilateral_grid": "bilateral_grid",
    "local_laplacian": "local_laplacian",
    "camera_pipe": "camera_pipe",
}
AUTOSCHEDULERS = {
    "halide-mullapudi": "Mullapudi2016",
    "halide-adams": "Adams2019",
    "halide-li": "Li2018",
}
EXPERT = "halide-expert"
#: seconds for one form; some autoschedulers take minutes for long pipelines
TIME_LIMIT, EXPERT_TIME_LIMIT = 60.0, 300.0
#: Vectors and tiles of the schedules reach this far, and nothing checks bounds.
LEAST_EXTENT = 256


def calls(request: Request) -> Offer:
    """The forms of a kernel: each expert's schedule and each autoscheduler."""
    offer = Offer()
    if request.kernel not in PIPELINES:
        return offer
    if any(n < LEAST_EXTENT for a in request.outputs.values() for n in a.shape[-2:]):
        least = f"{LEAST_EXTENT} x {LEAST_EXTENT}"
        offer.notes.append(f"halide: its schedules of {request.kernel} need {least} at least")
        return offer
    module: Any = import_module(f"{__name__}.{PIPELINES[request.kernel]}")
    schedules: list[tuple[str, str]] = [(EXPERT, name) for name in module.SCHEDULES]
    schedules += [(name, "") for name in AUTOSCHEDULERS]
    for variant, schedule in schedules:
        try:
            offer.calls.append(_call(request, variant, schedule))
        except (_NotBuiltError, HalideError, CompilerFailedError) as error:
            shown = f"{variant} {schedule}".strip()
            offer.notes.append(f"{shown} of {request.kernel}: {error}")
    return offer


class _NotBuiltError(Exception):
    """Halide gave up on a form."""


def _call(request: Request, variant: str, schedule: str) -> PeerCall:
    """One form. Raises ``_NotBuiltError``, ``HalideError`` and ``CompilerFailedError``.

    Autoschedulers round stages up to whole vectors or tiles, beyond what is read of an input:
    where that leaves the input, its edge repeats.
    """
    try:
        return _one_call(request, variant, schedule, repeating=False)
    except HalideError:
        if schedule:
            raise
    return _one_call(request, variant, schedule, repeating=True)


def _one_call(
    request: Request, variant: str, schedule: str, *, repeating: bool, strict: bool = False
) -> PeerCall:
    start = time.perf_counter()
    outputs = request.fresh_outputs()
    with tempfile.TemporaryDirectory(prefix="polyopt-halide-") as folder:
        path = Path(folder)
        order = _build(request, variant, schedule, path, repeating=repeating, strict=strict)
        library = path / "peer.so"
        linux = ("-Wl,--no-as-needed", "-ldl") if sys.platform == "linux" else ()
        find_toolchain(None).compile_library(path / "peer.o", library, ("-pthread", *linux))
        loaded = HalideLibrary(library, request.threads)
    for name in order:
        if name not in request.inputs:
            msg = f"the kernel has no argument {name}"
            raise _NotBuiltError(msg)
    taken = time.perf_counter() - start
    run = loaded.bind([*(request.inputs[name] for name in order), *outputs.values()])
    run()
    exact = None
    if not strict:
        exact = partial(_one_call, request, variant, schedule, repeating=repeating, strict=True)
    return PeerCall(variant, schedule, run, loaded.set_threads, outputs, taken, exact)


def _build(
    request: Request, variant: str, schedule: str, folder: Path, *, repeating: bool, strict: bool
) -> list[str]:
    """Compile to ``peer.o`` in the folder; the names of the inputs, in the order of arguments.

    Raises ``_NotBuiltError`` with Halide's own message or that it ran out of time.
    """
    order = folder / "order.json"
    asked = {
        "kernel": request.kernel,
        "pipeline": PIPELINES[request.kernel],
        "schedule": schedule,
        "autoscheduler": AUTOSCHEDULERS.get(variant, ""),
        "repeating": repeating,
        "strict": strict,
        "parallelism": max(request.threads),
        "last_level_cache": native_target().l2_bytes,
        "inputs": {n: list(np.shape(v)) for n, v in request.inputs.items()},
        "output": list(next(iter(request.outputs.values())).shape),
        "object": str(folder / "peer.o"),
        "order": str(order),
    }
    command = [sys.executable, "-m", f"{__name__}.build", json.dumps(asked)]
    limit = EXPERT_TIME_LIMIT if schedule else TIME_LIMIT
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        msg = f"not ready after {limit:g} s"
        raise _NotBuiltError(msg) from None
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        msg = said[-1].strip() if said else f"exit status {done.returncode}"
        raise _NotBuiltError(msg)
    names: list[str] = json.loads(order.read_text(encoding="utf-8"))
    return names
