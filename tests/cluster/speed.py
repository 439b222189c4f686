"""How fast arrays are gone through box by box, beside one call of the kernel on the same data.

    python -m tests.cluster.speed --side 6000 --memory 1GiB

runs each kernel in one call on arrays in memory, and box by box within the memory given, on these
arrays and on files of them, in turns. It fails where the median ratio of two runs in a turn is
below what is asked for in memory. Files are told beside it: their pages are read and written anew
for each box, and given back after it, which a call on arrays in memory has not to do.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KERNELS = ("harris", "unsharp", "blur_f32", "blur")


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="*", default=KERNELS)
    parser.add_argument("--side", type=int, default=6000)
    parser.add_argument("--memory", default="1GiB")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--least", type=float, default=0.85)
    options = parser.parse_args()
    slow = [
        f"{name} {where}"
        for name in options.kernels
        for where, ratio in rows(name, options)
        if where == "in memory" and ratio < options.least
    ]
    if slow:
        sys.exit(f"below {options.least} of the speed of one call: {', '.join(slow)}")


def rows(name: str, options: argparse.Namespace) -> Iterator[tuple[str, float]]:
    """Where the arrays lie, and box by box's speed by that of one call; each row is printed."""
    library = po.load_kernel(name)
    sizes = dict.fromkeys(library.scop.params, options.side)
    kernel = po.auto(library.scop, sizes=sizes).compile(contract=False)
    arrays = library.inputs(sizes, np.random.default_rng(0))
    # both write to results that begin with a cache line, as what is allocated for them does: the
    # ends of rows that begin elsewhere, as in NumPy's large arrays, go through the caches
    expected, result = (kernel(**arrays, **sizes, threads=options.threads) for _ in range(2))
    result.fill(0)
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        places = {
            "in memory": (arrays, result),
            "on disk": (on_disk(Path(folder), arrays), file_like(Path(folder), expected)),
        }
        for where, (given, out) in places.items():
            boxes: list[int] = []
            one, by_box = in_turns(
                options.turns,
                lambda: kernel(**arrays, **sizes, out=expected, threads=options.threads),
                lambda given=given, out=out, boxes=boxes: po.map_blocks(
                    kernel,
                    **given,
                    out=out,
                    memory=options.memory,
                    workers=options.threads,
                    progress=lambda _, of: boxes.append(of),
                ),
            )
            assert np.array_equal(out, expected), f"{name} {where}: other results"
            ratio = statistics.median(a / b for a, b in zip(one, by_box, strict=True))
            told = f"{name:10} {where:10} {1e3 * statistics.median(one):8.1f} ms in one call"
            told += f" {1e3 * statistics.median(by_box):8.1f} ms in {boxes[-1]:4} boxes"
            print(f"{told}   {ratio:.2f} of its speed", flush=True)
            yield where, ratio


def on_disk(folder: Path, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays as mapped files; scalars as they are."""
    found = dict(arrays)
    for name, values in arrays.items():
        if np.ndim(values):
            np.save(folder / f"{name}.npy", values)
            found[name] = np.load(folder / f"{name}.npy", mmap_mode="r")
    return found


def file_like(folder: Path, values: np.ndarray) -> np.ndarray:
    """A mapped file to write such values to."""
    return np.lib.format.open_memmap(folder / "out.npy", "w+", values.dtype, values.shape)


def in_turns(
    turns: int, one: Callable[[], object], other: Callable[[], object]
) -> tuple[list[float], list[float]]:
    """Seconds of both, run in turns after one run that does not count."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(turns + 1):
        for run, seconds in zip((one, other), times, strict=True):
            start = time.perf_counter()
            run()
            if turn:
                seconds.append(time.perf_counter() - start)
    return times


if __name__ == "__main__":
    main()
