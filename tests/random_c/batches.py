"""A batch of random C, for soaks: ``python -m tests.random_c.batches FILE FIRST COUNT`` runs one apart."""

from __future__ import annotations

import gc
import os
import pickle
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tests.property import batches

from .trial import trial

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.property.batches import Outcome


def batch(first: int, count: int) -> Outcome:
    """Make, compile and compare the programs of some seeds."""
    started = sum(os.times()[:4])
    gc.disable()  # a batch is short, and what it makes is many small values that stay
    outcome = trial(range(first, first + count))
    gc.enable()
    gc.collect()
    outcome.seconds = sum(os.times()[:4]) - started
    return outcome


apart = partial(batches.apart, module="tests.random_c.batches")


def one_by_one(first: int, count: int) -> Iterable[Outcome]:
    """A batch whose process died, each program in its own."""
    return batches.one_by_one(first, count, apart)


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(pickle.dumps(batch(int(sys.argv[2]), int(sys.argv[3]))))
