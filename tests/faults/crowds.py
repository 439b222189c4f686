"""Many at once and many in a row: threads, processes, and compilations without end.

``python -m tests.faults.crowds`` runs all of it in full: 64 threads, 16 processes, 10,000
compilations. The tests run the same with smaller numbers.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import polyopt as po
from polyopt.runtime.cache import KernelCache
from polyopt.runtime.kernel import compile_kernel
from tests.unit.runtime.programs import BLUR, program

from .cases import compiler, python

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


def used() -> tuple[int, int, int]:
    """Bytes of this process in memory, its open files, and the libraries mapped into it."""
    gc.collect()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    maps = Path("/proc/self/maps").read_text()
    return resident, len(list(Path("/proc/self/fd").iterdir())), maps.count("kernel.so")


def compilations(folder: Path, count: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Compile, load, run and forget that many different kernels; use after a tenth, and at last."""
    cache = KernelCache(folder / "cache")
    early = used()
    for number in range(count):
        body = f"out[0][0] = {number % 65521};\n    return 0;\n"
        kernel = compile_kernel(
            program(BLUR, body), BLUR.context, openmp=False, cache=cache.directory
        )
        assert kernel(np.zeros((1, 3), np.uint16))[0, 0] == number % 65521
        del kernel
        if number == count // 10:
            early = used()
        if number % 500 == 499:
            cache.clear()
    return early, used()


def main() -> int:
    """Everything in full; the exit code is 1 where something is not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=64)
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--compilations", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = threads(Path(folder), options.threads, 4)
        print(f"{options.threads} threads, 4 programs: the compiler ran {runs} times")
    with tempfile.TemporaryDirectory() as folder:
        both = processes(Path(folder), options.processes, 4)
        print(f"{options.processes} processes, 4 programs: the compiler ran {both} times")
    with tempfile.TemporaryDirectory() as folder:
        early, late = compilations(Path(folder), options.compilations)
        growth = (late[0] - early[0]) / 1e6
        print(f"{options.compilations} compilations: {growth:+.1f} MB, {late[1] - early[1]:+} open"
              f" files, {late[2] - early[2]:+} libraries since the first tenth")  # fmt: skip
    flat = growth < 20 and late[1:] == early[1:]
    return int(not (runs == both == 4 and flat))


if __name__ == "__main__":
    sys.exit(main())
