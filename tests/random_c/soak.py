"""Random C for hours: ``python -m tests.random_c.soak --programs N --seed S --jobs J``.

Goes on where the last run stopped, writes what fails, made small unless it is slow, to
``tests/random_c/corpus``, and its numbers to the page that ``tests.property.soak`` writes its own
to. The exit code is 1 after any failure.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.property.soak import Kind, main

from .batches import apart, batch, one_by_one
from .examples import Example
from .shrink import shrunk
from .subjects import Failure
from .trial import BATCH, check

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.property.trial import Failure as Died

CORPUS = Path(__file__).with_name("corpus")


def kept(seed: int, failure: Failure | Died) -> str:
    """The name of the file that keeps a failure, made small; none where a process died."""
    if not isinstance(failure, Failure):
        return ""
    # what is slow is so at each try to make it smaller
    small = failure if failure.kind == "slow" else shrunk(failure, seed)
    CORPUS.mkdir(exist_ok=True)
    path = CORPUS / f"seed_{seed}_{small.kind}_{small.way.form}.c"
    Example.of(small, seed).save(path, f"{small.kind}: {small.text.splitlines()[0]}")
    return path.name


def mended(example: Mapping[str, Any]) -> bool:
    """Whether a failure's file does no wrong any more; where there is none, its seed."""
    if (path := CORPUS / example["file"]).is_file():
        loaded = Example.load(path)
        return check(loaded.program, loaded.way, seed=loaded.seed, build=loaded.flags) is None
    return not example["file"] and not apart(example["seed"], 1).failures


RANDOM_C = Kind("random_c", BATCH, batch, apart, one_by_one, kept, mended)

if __name__ == "__main__":
    sys.exit(main(None, RANDOM_C, __doc__))
