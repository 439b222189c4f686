"""Plan cache: what was planned in one process is there for the next, beside the compiled kernels.

A plan depends on the program, the target, what is known of its speed, and the engine itself. All of
that is in the key; the engine by the content of its files.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
import time
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import polyopt
from polyopt.codegen.target import target as target_of
from polyopt.runtime.cache import KernelCache, content_key
from polyopt.scheduler.model.machine import costs_of

if TYPE_CHECKING:
    from polyopt.codegen.target import Target

#: what pickles raise where classes are not those that were stored
_UNFIT = (pickle.PickleError, AttributeError, ImportError, EOFError, TypeError, ValueError)
#: a file of the engine that was written later may not be what this process computes with
_STARTED = time.time()


@dataclass(frozen=True)
class PlanCache:
    """Plans for one target, in a directory of compiled kernels."""

    directory: str | None
    #: target and its costs, engine, versions: all that plans depend on beside their program
    circumstances: tuple[str, ...]

    @classmethod
    def of(cls, target: str | Target, directory: str | None = None) -> PlanCache | None:
        """The cache for plans for a target; ``None`` where the engine is being changed, or
        ``POLYOPT_PLAN_CACHE`` is 0."""
        if os.environ.get("POLYOPT_PLAN_CACHE") == "0":
            return None
        engine = fingerprint()
        if not engine:
            return None
        machine = target_of(target)
        return cls(directory, (engine, repr(machine), repr(costs_of(machine)), *_versions()))

    def get(self, choices: tuple[object, ...]) -> object | None:
        """What was stored for these choices; ``None`` where there is nothing that fits."""
        found = KernelCache(self.directory).plan(self._key(choices))
        try:
            return found and pickle.loads(found)  # noqa: S301 (of our own directory, checksummed)
        except _UNFIT:
            return None

    def put(self, choices: tuple[object, ...], plan: bytes) -> None:
        """Keep a plan for these choices, as far as the directory can be written."""
        KernelCache(self.directory).keep_plan(self._key(choices), plan)

    def _key(self, choices: tuple[object, ...]) -> str:
        return content_key(*self.circumstances, *map(repr, choices))


@cache
def _versions() -> tuple[str, ...]:
    return polyopt.__version__, version("islpy"), version("numpy"), sys.version


@cache
def fingerprint() -> str:
    """A digest of the engine's files; empty where one was written since this process started."""
    folder = Path(polyopt.__file__).parent
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.suffix in {".pyc", ""} or not file.is_file():
            continue
        if file.stat().st_mtime > _STARTED:
            return ""
        content = file.read_bytes()
        digest.update(f"{file.relative_to(folder)}:{len(content)}:".encode())
        digest.update(content)
    return digest.hexdigest()
