"""Many at once and many in a row: threads, processes, and compilations without end.

``make faults`` and ``make soak`` run all of it in full: 64 threads, 16 processes, 10,000
compilations. The tests run the same with smaller numbers.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING

import numpy as np

import polyopt as po
from polyopt.runtime.cache import KernelCache
from polyopt.runtime.kernel import compile_kernel
from tests.unit.runtime.programs import BLUR, program

from .cases import compiler, python

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TEXT = """
void f(int N, const float a[N + 2], float out[N])
{
    float mid[N + 2];
    for (int i = 0; i < N + 2; i++)
        mid[i] = 2 * a[i];
    for (int i = 0; i < N; i++)
        out[i] = mid[i] + NUMBER * mid[i + 1] + mid[i + 2];
}
"""


def plan_and_run(number: int, folder: Path, cc: str | None = None) -> bool:
    """Parse, plan, prove, compile and run one of several programs."""
    scop = po.parse_c(TEXT.replace("NUMBER", f"{number}.0f"))
    plan = po.Plan(scop).tile("out", i=8).fuse("mid", into="out").parallelize("out.i_tile")
    kernel = plan.compile(cache=folder / "cache", cc=cc, openmp=False)
    a = np.arange(102, dtype=np.float32)
    expected = 2 * a[:-2] + number * 2 * a[1:-1] + 2 * a[2:]
    return all(np.array_equal(kernel(a), expected) for _ in range(20))


def threads(folder: Path, count: int, programs: int) -> int:
    """So many threads, each with one of so many programs; how often the compiler ran."""
    cc = compiler(folder, f"echo run >> {folder}/log")
    with ThreadPoolExecutor(count) as pool:
        done = list(pool.map(lambda k: plan_and_run(k % programs, folder, cc), range(count)))
    assert all(done)
    return len((folder / "log").read_text().splitlines())


def processes(folder: Path, count: int, programs: int) -> int:
    """The same with processes of two threads each."""
    cc = compiler(folder, f"echo run >> {folder}/log")
    text = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from tests.faults.crowds import plan_and_run\n"
        "with ThreadPoolExecutor(2) as pool:\n"
        f"    done = pool.map(lambda k: plan_and_run(k % {programs}, folder, {cc!r}),"
        " (int(sys.argv[-1]), int(sys.argv[-1]) + 1))\n"
        "    assert all(done)\n"
    )
    running = [python(folder, f"sys.argv.append('{k}')\n{text}") for k in range(count)]
    ends = [p.communicate() for p in running]
    assert [p.returncode for p in running] == [0] * count, ends
    return len((folder / "log").read_text().splitlines())


def calls(count: int, folder: Path) -> bool:
    """So many threads call one kernel at once, each with arrays of its own."""
    scop = po.parse_c(TEXT.replace("NUMBER", "3.0f"))
    plan = po.Plan(scop).tile("out", i=8).fuse("mid", into="out").parallelize("out.i_tile")
    kernel = plan.compile(cache=folder / "cache")
    start = Barrier(count)

    def run(number: int) -> bool:
        a = np.arange(number, number + 5002, dtype=np.float32)
        expected = 2 * a[:-2] + 3 * 2 * a[1:-1] + 2 * a[2:]
        start.wait()
        return all(np.array_equal(kernel(a, threads=1 + k % 2), expected) for k in range(50))

    with ThreadPoolExecutor(count) as pool:
        return all(pool.map(run, range(count)))


@dataclass(frozen=True)
class Used:
    """What this process holds: bytes in memory, Python objects, open files, mapped libraries."""

    resident: int
    objects: int
    files: int
    libraries: int


def used() -> Used:
    """What is left after a collection."""
    gc.collect()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    maps = Path("/proc/self/maps").read_text()
    files = len(list(Path("/proc/self/fd").iterdir()))
    return Used(resident, len(gc.get_objects()), files, maps.count("kernel.so"))


def compiled(number: int, folder: Path) -> bool:
    """Compile, load, run and forget the C text of one of many kernels."""
    body = f"out[0][0] = {number % 65521};\n    return 0;\n"
    kernel = compile_kernel(program(BLUR, body), BLUR.context, openmp=False, cache=folder / "cache")
    return kernel(np.zeros((1, 3), np.uint16))[0, 0] == number % 65521


def in_a_row(one: Callable[[int, Path], bool], folder: Path, count: int) -> tuple[Used, Used]:
    """That many different compilations; what is used after a tenth of them, and at last."""
    cache = KernelCache(folder / "cache")
    early = used()
    for number in range(count):
        assert one(number, folder)
        if number == count // 10:
            early = used()
        if number % 500 == 499:
            cache.clear()
    return early, used()


def crowds(count: int, of: int, row: int) -> Iterator[tuple[str, str, bool]]:
    """What was done, what came of it, and whether it is as it should be.

    ``count`` threads, ``of`` processes, ``row`` compilations.
    """
    for programs in (1, 4):
        what = "the same kernel" if programs == 1 else f"{programs} different kernels"
        with tempfile.TemporaryDirectory() as folder:
            runs = threads(Path(folder), count, programs)
            yield f"{count} threads compile and run {what}", _right(runs), runs == programs
        with tempfile.TemporaryDirectory() as folder:
            runs = processes(Path(folder), of, programs)
            told = f"{of} processes of 2 threads compile and run {what}"
            yield told, _right(runs), runs == programs
    with tempfile.TemporaryDirectory() as folder:
        right = calls(count, Path(folder))
        yield f"{count} threads call one kernel", "all results right" if right else "wrong", right
    with tempfile.TemporaryDirectory() as folder:
        early, late = in_a_row(compiled, Path(folder), row)
        flat = late.resident - early.resident < FLAT and _same(early, late)
        yield f"{row:,} kernels compiled, run and forgotten", _growth(early, late, row), flat
    with tempfile.TemporaryDirectory() as folder:
        early, late = in_a_row(plan_and_run, Path(folder), row)
        told = f"{row:,} programs parsed, planned, proved, compiled, run and forgotten"
        yield told, _growth(early, late, row), _same(early, late)


#: compilations in a row at least: the first ones import what they need
LEAST = 50
#: bytes by which the memory of many compilations may differ
FLAT = 20e6


def _right(runs: int) -> str:
    return f"all results right, the compiler ran {runs} {'time' if runs == 1 else 'times'}"


def _same(early: Used, late: Used) -> bool:
    """Whether nothing of Python or the system is left over; what fills is no more than a few."""
    few = late.objects - early.objects < 1000
    return few and (late.files, late.libraries) == (early.files, early.libraries)


def _growth(early: Used, late: Used, row: int) -> str:
    memory = (late.resident - early.resident) / (0.9 * row) / 1e3
    return (
        f"since the first tenth {late.objects - early.objects:+} Python objects,"
        f" {late.files - early.files:+} open files, {late.libraries - early.libraries:+} libraries,"
        f" {memory:+.1f} kB of memory each"
    )


def main() -> int:
    """Print what comes of each; the exit code is 1 where it is not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.crowds", description=__doc__)
    parser.add_argument("--threads", type=int, default=64)
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--compilations", type=int, default=10_000)
    given = parser.parse_args()
    failed = False
    for what, seen, right in crowds(given.threads, given.processes, max(given.compilations, LEAST)):
        failed = failed or not right
        print(f"{what}: {seen}{'' if right else ': WRONG'}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
