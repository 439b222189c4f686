"""``make peers-jit``: the twenty programs beside numba, Pythran and JAX, in turn, as a page.

``--rows`` keeps what was measured in a file, so that programs may be measured in several runs.
All of one program run in one process and by turns, so that what else the machine does meets all of
them; medians are compared. Each result is compared with NumPy's first.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import polyopt as po
from tests.jit_peers.peers import jax_form, numba_form, pythran_form, temporary
from tests.jit_peers.programs import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PEERS = ("numba", "Pythran", "JAX")


def forms_of(name: str, args: tuple[Any, ...], folder: Path) -> dict[str, Any]:
    """The program as each compiles it, and why one does not."""
    entry = PROGRAMS[name]
    makers: dict[str, Callable[[], Callable[..., Any]]] = {
        "polyopt": lambda: po.jit(fallback=False)(entry.function),
        "numba": lambda: numba_form(name),
        "Pythran": lambda: pythran_form(name, args, folder),
        "JAX": lambda: jax_form(name),
    }
    expected = entry.function(*args)
    found: dict[str, Any] = {}
    for who, maker in makers.items():
        try:
            form = maker()
            begin = time.perf_counter()
            result = np.asarray(form(*args))
            first = time.perf_counter() - begin
        except Exception as error:  # noqa: BLE001 - what a compiler does not take is a result
            found[who] = f"{type(error).__name__}: {str(error).strip().splitlines()[0][:80]}"
            continue
        if not np.allclose(result, expected, rtol=entry.tolerance, atol=entry.tolerance):
            found[who] = "another result"
            continue
        found[who] = (form, first)
        if who == "polyopt":
            _ = form.kernel.proof  # the check of its C is not to run beside what is measured
    return found


def measured(forms: dict[str, Any], args: tuple[Any, ...], seconds: float) -> dict[str, float]:
    """Medians of calls that take turns, in seconds."""
    running = {who: form[0] for who, form in forms.items() if not isinstance(form, str)}
    samples: dict[str, list[float]] = {who: [] for who in running}
    end = time.perf_counter() + seconds * len(running)
    while time.perf_counter() < end or len(next(iter(samples.values()))) < 5:
        for who, form in running.items():
            begin = time.perf_counter()
            form(*args)
            samples[who].append(time.perf_counter() - begin)
    return {who: statistics.median(times) for who, times in samples.items()}


def row_of(name: str, seconds: float, folder: Path) -> tuple[list[str], float | None]:
    """A line of the table, and the ratio to the fastest peer."""
    args = PROGRAMS[name].arguments(np.random.default_rng(0))
    forms = forms_of(name, args, folder)
    times = measured(forms, args, seconds)
    peers = [times[p] for p in PEERS if p in times]
    ratio = min(peers) / times["polyopt"] if peers and "polyopt" in times else None
    first = f"{forms['polyopt'][1]:.1f}" if "polyopt" in times else "-"
    cells = [f"{1e3 * times[w]:.2f}" if w in times else "-" for w in ("polyopt", *PEERS)]
    for who, form in forms.items():
        if isinstance(form, str):
            sys.stdout.write(f"{name}: {who}: {form}\n")
    return [name, *cells, f"{ratio:.2f}" if ratio else "-", first], ratio


def limit(threads: int) -> None:
    """Let all of them use so many threads, and cores: each reads its own variable when it is
    loaded; JAX starts as many threads as there are cores that it may use.
    """
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])
    for name in ("POLYOPT_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(threads)
    if threads == 1:
        os.environ["XLA_FLAGS"] = (
            "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        )


def page(rows: Sequence[Sequence[str]], ratios: Sequence[float], threads: int) -> str:
    """The page."""
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    head = ["program", "`po.jit` ms", *(f"{p} ms" for p in PEERS), "fastest peer / `po.jit`", "first result s"]  # fmt: skip
    align = ["---"] + ["---:"] * (len(head) - 1)
    table = "\n".join(f"| {' | '.join(line)} |" for line in (head, align, *rows))
    versions = ", ".join(f"{m} {_version(m)}" for m in ("numba", "pythran", "jax", "numpy"))
    return f"""# `po.jit` beside numba, Pythran and JAX

Twenty functions of the kinds that the documentation of these shows, as their users write them. `po.jit` and Pythran get the NumPy function (Pythran with `#omp parallel for` at independent loops), numba the same with `parallel=True` and
`prange` there, JAX a form without changes in place. Calls of all four take turns in one process that has as many cores as threads; medians of milliseconds. Results agree with NumPy's. A dash is what a compiler does not take, or cannot build here: Pythran links products with a BLAS library, and there was none.

{table}

Geometric mean of the ratios: {mean:.2f}; {sum(r >= 1 for r in ratios)} of {len(ratios)} are at least as fast as the fastest of the three. *First result* is the first call of a new function, with nothing cached; the first of the table
includes loading polyopt.

- machine: {platform.machine()}, {os.cpu_count()} cores, of which each used {threads}; load {os.getloadavg()[0]:.1f} at the end
- versions: {versions}, Python {platform.python_version()}

Measured, and this page made, by `make peers-jit`; `NAMES='softmax jacobi'` measures some.
"""


def _version(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return "-"


def main() -> None:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="programs; all without")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each compiler and program")
    parser.add_argument("-o", "--output", help="the page; none without")
    parser.add_argument("--rows", help="a file of rows: read where it has a program, and kept")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of all of them")
    given = parser.parse_args()
    limit(given.threads)
    rows: list[list[str]] = []
    ratios: list[float] = []
    kept: dict[str, tuple[list[str], float | None]] = {}
    if given.rows and Path(given.rows).exists():
        kept = json.loads(Path(given.rows).read_text(encoding="utf-8"))
    with temporary() as folder:
        for name in given.names or PROGRAMS:
            row, ratio = kept.get(name) or row_of(name, given.seconds, Path(folder))
            kept[name] = row, ratio
            sys.stdout.write(" | ".join(row) + "\n")
            sys.stdout.flush()
            rows.append(row)
            ratios += [ratio] if ratio else []
    if given.rows:
        Path(given.rows).write_text(json.dumps(kept), encoding="utf-8")
    if given.output and ratios:
        Path(given.output).write_text(page(rows, ratios, given.threads), encoding="utf-8")


if __name__ == "__main__":
    main()
