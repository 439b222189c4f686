"""One version of polyopt, which answers requests: a line of JSON each, on standard input.

Each version's own interpreter runs this file, old versions' too: it may use only what all have.
What is timed is a call on arguments that were checked before, with hot caches.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib.util
import json
import os
import resource
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

#: a form of JSON objects
Answer = dict[str, object]

#: the other version's threads may spin for as long after its turn
_SETTLING_S = 3e-3
#: a core that slept needs as long to speed up again
_WARMING_S = 3e-3
#: calls that take longer fill the caches themselves
_LONG_S = 0.2
#: shorter calls are timed several at once
_SAMPLE_S = 1e-3


# -- what there is ------------------------------------------------------------------------------


def hello() -> Answer:
    """Who answers; all that is imported late, and what the compiler is asked once, is behind us."""
    import polyopt
    from polyopt import auto
    from polyopt.bench.compiling import chain
    from polyopt.codegen.target import core_count, cpu_name
    from polyopt.runtime.toolchain import find_toolchain

    with tempfile.TemporaryDirectory() as folder:
        auto(chain(2), sizes={"H": 64, "W": 64}).compile(cache=folder)
    return {
        "package": str(Path(polyopt.__file__).parent),
        "cpu": cpu_name(),
        "cores": core_count(),
        "compiler": find_toolchain().version,
    }


def kernels() -> Answer:
    """Names by suite. What is in no suite of benchmarks is an image's if it lies outside of
    ``kernels/affine/``. Those of the field are told by their folder: older versions have none."""
    from polyopt.bench.suites import AFFINE, IMAGES, KERNELS, members
    from polyopt.library import kernels_dir

    images, affine = list(members(IMAGES)), list(members(AFFINE))
    field = sorted(path.stem for path in (kernels_dir() / "field").glob("*.py"))
    for name in members(KERNELS):
        if name not in {*images, *affine, *field}:
            in_affine = (kernels_dir() / "affine" / f"{name}.py").exists()
            (affine if in_affine else images).append(name)
    networks: list[str] = []
    if importlib.util.find_spec("onnx"):
        from polyopt.bench.nn import SUBJECTS

        networks = list(SUBJECTS)
    return {"images": images, "affine": affine, "networks": networks, "field": field}


def sizes(kernel: str, purpose: str) -> Answer:
    """A kernel's sizes for a purpose (``bench``)."""
    from polyopt.library import load_kernel

    return {"sizes": dict(load_kernel(kernel).sizes[purpose])}


# -- one kernel ---------------------------------------------------------------------------------


class Kernel:
    """A kernel of the library, planned for its sizes, with inputs from its own file."""

    def __init__(self, name: str, sizes: dict[str, int]) -> None:
        from polyopt import auto
        from polyopt.library import kernels_dir, load_kernel

        library = load_kernel(name)
        scop = library.scop
        files = sorted(kernels_dir().rglob(f"{name}.[cp]*"))
        self.program = digest(next(f for f in files if f.suffix in {".c", ".py"}).read_bytes())
        self.sizes = sizes
        gc.collect()
        taken = Taken()
        with tempfile.TemporaryDirectory() as folder:
            plan = auto(scop, sizes=sizes)
            taken.plan()
            self.kernel = plan.compile(cache=folder)
            taken.all()
            self.code = code_of([self.kernel])
        self.taken = taken
        self.given = library.inputs(sizes, np.random.default_rng(0))
        self.inputs = digest_of(self.given)
        self.renew()

    def renew(self) -> None:
        """Other memory for all arrays: where they lie changes times as well."""
        try:
            from polyopt.runtime.measuring.arguments import CallArguments
        except ModuleNotFoundError:  # older versions
            from polyopt.bench.arguments import CallArguments

        # the old ones are there until then, so that these lie elsewhere
        self.arguments = CallArguments.make(self.kernel, aligned(self.given), self.sizes)
        self.restore = self.arguments.restore if self.arguments.changes_inputs else None

    def bind(self, threads: int):
        """A call."""
        return self.arguments.bind(self.kernel, threads)

    def results(self) -> dict[str, np.ndarray]:
        """What the last call left."""
        return self.arguments.results


class Network:
    """A layer or network, fused as ``polyopt.compile_model`` does, with a random input."""

    restore = None

    def __init__(self, name: str, _sizes: dict[str, int]) -> None:
        from polyopt.bench.nn import SUBJECTS
        from polyopt.graph.compiling import compile_graph
        from polyopt.graph.kernels import seconds_of
        from polyopt.graph.onnx import load_onnx
        from polyopt.graph.passes import default_passes, run_passes
        from polyopt.graph.planning import Options

        proto = SUBJECTS[name]()
        self.program = digest(proto.SerializeToString())
        gc.collect()
        taken = Taken()
        with tempfile.TemporaryDirectory() as folder:
            graph = run_passes(load_onnx(proto), default_passes()).graph
            self.model = compile_graph(graph, options=Options(cache=folder))
            self.model.calls  # noqa: B018  # loads the libraries
            taken.all()
            self.code = code_of([step.kernel.kernel for step in self.model.steps])
        taken.plan_s = seconds_of(step.kernel for step in self.model.steps)["plan"]
        self.taken = taken
        (value,) = self.model.graph.inputs
        self.given = np.random.default_rng(0).standard_normal(value.shape).astype(np.float32)
        self.inputs = digest_of({value.name: self.given})
        self.renew()

    def renew(self) -> None:
        """Other memory for the input."""
        self.x = np.array(self.given)

    def bind(self, threads: int):
        """A call."""
        return partial(self._call, threads)

    def _call(self, threads: int) -> None:
        self.found = self.model(self.x, threads=threads)

    def results(self) -> dict[str, np.ndarray]:
        """What the last call gave."""
        found = self.found if isinstance(self.found, tuple) else (self.found,)
        return dict(zip(self.model.graph.outputs, found, strict=True))


class Taken:
    """Seconds since this was made: for the plan and for all by the clock, and of processor time,
    that of this process and that of compilers."""

    plan_s = all_s = own_s = compiler_s = 0.0

    def __init__(self) -> None:
        self._processor, self._start = processor_times(), time.perf_counter()

    def plan(self) -> None:
        """The plan is there."""
        self.plan_s = time.perf_counter() - self._start

    def all(self) -> None:
        """The kernel is there."""
        self.all_s = time.perf_counter() - self._start
        both = zip(processor_times(), self._processor, strict=True)
        self.own_s, self.compiler_s = (now - before for now, before in both)


def code_of(kernels: list[object]) -> dict[str, str]:
    """Short names of the C texts, of what the compiler was told, and of what it made."""
    return {
        "source": digest("\0".join(k.source for k in kernels).encode()),
        "flags": digest(json.dumps([list(k.built.flags) for k in kernels]).encode()),
        "library": digest(b"".join(Path(k.built.library).read_bytes() for k in kernels)),
    }


def processor_times() -> list[float]:
    """Seconds of this process, and of all that it waited for."""
    used = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return [u.ru_utime + u.ru_stime for u in used]


def aligned(values: dict[str, object]) -> dict[str, object]:
    """Arrays on boundaries of cache lines."""
    from polyopt.runtime.arrays import aligned_copy

    return {n: aligned_copy(v) if np.ndim(v) else v for n, v in values.items()}


def digest(data: bytes) -> str:
    """A short name of bytes."""
    return hashlib.blake2b(data, digest_size=10).hexdigest()


def digest_of(values: dict[str, object]) -> str:
    """A short name of arrays and scalars: their names, types, shapes and bits."""
    found = hashlib.blake2b(digest_size=10)
    for name in sorted(values):
        array = np.ascontiguousarray(values[name])
        found.update(f"{name} {array.dtype} {array.shape} ".encode())
        found.update(array.reshape(-1).view(np.uint8))
    return found.hexdigest()


# -- times --------------------------------------------------------------------------------------


def turn(call, restore, seconds: float, taken: float) -> list[float]:
    """Seconds a call, again and again for about so long; ``taken`` is what one took before."""
    time.sleep(_SETTLING_S)
    repeats = 1 if restore else max(1, min(1000, round(_SAMPLE_S / max(taken, 1e-7))))
    if taken < _LONG_S:
        sample(call, restore, 1)
        end = time.perf_counter() + _WARMING_S
        while time.perf_counter() < end:
            sample(call, restore, 1)
    times: list[float] = []
    end = time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        times.append(sample(call, restore, repeats))
    return times


def sample(call, restore, repeats: int) -> float:
    """Seconds a call."""
    if restore is not None:
        restore()
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


# -- requests -----------------------------------------------------------------------------------


class Worker:
    """What answers requests: ``do`` names one of these, the rest are its arguments."""

    hello, kernels, sizes = map(staticmethod, (hello, kernels, sizes))
    made: Kernel | Network | None = None

    def prepare(self, suite: str, kernel: str, sizes: dict[str, int]) -> Answer:
        """Plan and compile, with nothing in the cache."""
        self.made, self.taken = None, {}
        made = (Network if suite == "networks" else Kernel)(kernel, sizes)
        self.made = made
        taken = [getattr(made.taken, n) for n in ("plan_s", "all_s", "own_s", "compiler_s")]
        return {"program": made.program, "inputs": made.inputs, **made.code, "taken": taken}

    def check(self, threads: int) -> Answer:
        """Call twice, and name the results."""
        call = self.made.bind(threads)
        first, second = (sample(call, self.made.restore, 1) for _ in range(2))
        self.taken[threads] = min(first, second)
        return {"results": digest_of(self.made.results())}

    def save(self, path: str) -> Answer:
        """Write the results of the last call."""
        np.savez(path, **self.made.results())
        return {}

    def renew(self) -> Answer:
        """Other memory for all arrays."""
        self.made.renew()
        return {}

    def run(self, threads: int, seconds: float) -> Answer:
        """Times of calls, in seconds."""
        call = self.made.bind(threads)
        return {"times": turn(call, self.made.restore, seconds, self.taken[threads])}


def main() -> None:
    """Answer until the requests end. What anything else prints goes to the standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    worker = Worker()
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = getattr(worker, asked.pop("do"))(**asked)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong is the answer
            told = str(error).strip().splitlines() or [""]
            answer = {"error": f"{type(error).__name__}: {told[0]}"}
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
