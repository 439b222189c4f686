"""Tuning and random programs by a cluster that loses a worker: what comes of it is what comes here.

python -m tests.cluster.work --programs 6
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import time
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING

from polyopt.bench.tuning.tune import Effort, tune
from polyopt.library import load_kernel
from tests.property.cases import BATCH
from tests.property.soak import Soak, soak

if TYPE_CHECKING:
    from distributed import Client

#: seconds until a worker is killed: long enough to have begun
BEGUN_S = 2.0


def main() -> None:
    """See the module."""
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=6)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        os.environ["POLYOPT_CACHE"] = folder
        check_tuning(client)
        check_soak(client, Path(folder), options.programs)


def check_tuning(client: Client) -> None:
    """Plans are compiled by workers, and measured here; the plans are those that are tried here."""
    kernel = load_kernel("blur")
    sizes = {"H": 66, "W": 130}
    effort = Effort(seconds=0.01, budget=60.0, executor=client)
    there = tune(kernel.scop, sizes, library=kernel, effort=effort)
    here = tune(kernel.scop, sizes, library=kernel, effort=Effort(seconds=0.01, budget=60.0))
    assert {t.name for t in there} == {t.name for t in here}
    print(f"tuned: {len(there)} plans, compiled by {len(client.nthreads())} workers")


def check_soak(client: Client, folder: Path, programs: int) -> None:
    """A cluster that loses a worker finds what this process finds, and goes on from where it is."""
    first = BATCH - programs // 2  # the border of two batches, which two workers get
    address = client.scheduler.address
    spread = Soak(folder / "there", first)
    victim = min(client.run(os.getpid).values())
    killer = Timer(BEGUN_S, os.kill, (victim, signal.SIGKILL))
    killer.start()
    soak(spread, programs - 1, time.monotonic() + 600, 1, address)
    killer.cancel()
    resumed = Soak.resume(folder / "there", None)
    assert resumed.next_seed == first + programs - 1, resumed.next_seed
    soak(resumed, 1, time.monotonic() + 600, 1, address)
    alone = Soak(folder / "here", first)
    soak(alone, programs, time.monotonic() + 600, 1)
    for name in ("programs", "plans"):
        assert resumed.totals[name] == alone.totals[name], name
    assert resumed.counts == alone.counts
    assert resumed.next_seed == alone.next_seed == first + programs
    print(f"random programs: {programs} by a cluster that lost a worker, the same by this machine")


if __name__ == "__main__":
    main()
