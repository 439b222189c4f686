"""Harris over an image on disk by a cluster that loses a worker: run by hand, or by make.

    python -m tests.cluster.check --side 1200
    python -m tests.cluster.check --side 44722 --memory 1GiB --folder /some/large/disk

writes an image of ``side`` by ``side`` pixels, f32 in three planes, computes harris box by box
within the memory given, kills one of the workers midway, and compares all seams and some blocks
with what one call of the kernel computes there. 44722 is two gigapixels: 32 GB of files.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import polyopt as po
from polyopt.runtime.kernel import Kernel

#: harris reads this many pixels more than it writes, in each direction
MARGIN = 6
#: rows that are made at once
ROWS = 256


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=1200)
    parser.add_argument("--memory", default="16MiB")
    parser.add_argument("--folder", type=Path)
    parser.add_argument(
        "--executor", choices=("cluster", "threads", "processes"), default="cluster"
    )
    parser.add_argument("--samples", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        check(Path(folder), options)


def check(folder: Path, options: argparse.Namespace) -> None:
    """Make the image, run, compare."""
    side = options.side
    start = time.perf_counter()
    make_image(folder / "img.npy", side)
    print(f"image of {side} x {side} x 3 f32 made in {time.perf_counter() - start:.0f} s")
    image = np.load(folder / "img.npy", mmap_mode="r")
    shape = (side - MARGIN, side - MARGIN)
    out = np.lib.format.open_memmap(folder / "out.npy", "w+", np.float32, shape)
    kernel = po.auto(po.load_kernel("harris").scop).compile(contract=False)
    (found,) = po.cuts(kernel)
    print(found)
    start = time.perf_counter()
    peaks = run(kernel, image, out, options)
    seconds = time.perf_counter() - start
    print(f"computed in {seconds:.1f} s, {side * side / seconds / 1e6:.0f} megapixels a second")
    for name, peak in peaks.items():
        print(f"most memory of {name}: {peak / (1 << 20):.0f} MiB")
    compared = compare(kernel, image, out, options)
    print(f"equal, bit for bit, on {compared} blocks, all seams among them")


def make_image(path: Path, side: int) -> None:
    """Noise, other noise in every row: nothing repeats that a wrong row could hide behind."""
    image = np.lib.format.open_memmap(path, "w+", np.float32, (3, side, side))
    rng = np.random.default_rng(0)
    for plane in range(3):
        for row in range(0, side, ROWS):
            count = min(ROWS, side - row)
            image[plane, row : row + count] = rng.random((count, side), dtype=np.float32)
        image.flush()
        image._mmap.madvise(4)


def run(
    kernel: Kernel, image: np.ndarray, out: np.ndarray, options: argparse.Namespace
) -> dict[str, int]:
    """The peak of resident memory per process, files' pages included, in bytes."""
    if options.executor != "cluster":
        watch = Watch({"this process": os.getpid()})
        with watch:
            po.map_blocks(
                kernel,
                image,
                out=out,
                memory=options.memory,
                executor=options.executor,
                progress=True,
            )
        return watch.peaks
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        pids = sorted(client.run(os.getpid).values())
        killed: list[int] = []

        def kill_one(done: int, of: int) -> None:
            if not killed and done >= of // 2:
                os.kill(pids[0], signal.SIGKILL)
                killed.append(done)

        watch = Watch({f"worker {k}": pid for k, pid in enumerate(pids)})
        with watch:
            po.map_blocks(
                kernel,
                image,
                out=out,
                memory=options.memory,
                workers=4,
                executor=client,
                progress=kill_one,
            )
        assert killed, "no worker was killed"
        print(f"a worker was killed after {killed[0]} boxes")
        return watch.peaks


class Watch:
    """Resident memory of processes, looked at ten times a second."""

    def __init__(self, pids: dict[str, int]) -> None:
        self.pids = pids
        self.peaks = dict.fromkeys(pids, 0)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._end.wait(0.1):
            for name, pid in self.pids.items():
                self.peaks[name] = max(self.peaks[name], resident(pid))


def resident(pid: int) -> int:
    """Bytes of a process in memory; of a process that is gone, nothing."""
    try:
        text = Path(f"/proc/{pid}/statm").read_text(encoding="ascii")
    except OSError:
        return 0
    return int(text.split()[1]) * resource.getpagesize()


def compare(kernel: Kernel, image: np.ndarray, out: np.ndarray, options: argparse.Namespace) -> int:
    """Strips across all seams, and blocks anywhere, against one call on what they read."""
    from polyopt.scale.grid import box_shape, parse_bytes

    workers = {"cluster": 4}.get(options.executor, os.cpu_count() or 1)
    sizes = {"H": image.shape[1], "W": image.shape[2]}
    limit = parse_bytes(options.memory)
    rows, columns = box_shape(po.cuts(kernel)[0], sizes, limit=limit, workers=workers)
    height, width = out.shape
    places = [(max(0, y - 4), 0, 8, width) for y in range(rows, height, rows)]
    places += [(0, max(0, x - 4), height, 8) for x in range(columns, width, columns)]
    rng = np.random.default_rng(1)
    for _ in range(options.samples):
        y, x = rng.integers(0, height - 40), rng.integers(0, width - 40)
        places.append((int(y), int(x), 40, 40))
    for y, x, tall, wide in places:
        tall, wide = min(tall, height - y), min(wide, width - x)
        part = np.ascontiguousarray(image[:, y : y + tall + MARGIN, x : x + wide + MARGIN])
        expected = kernel(part)
        assert np.array_equal(expected, out[y : y + tall, x : x + wide]), (y, x)
        for mapped in (image, out):
            mapped._mmap.madvise(4)
    return len(places)


if __name__ == "__main__":
    main()
