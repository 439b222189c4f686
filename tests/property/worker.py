"""Runs compiled functions in a process of its own, where wrong code may crash.

``python worker.py JOB FIRST SECONDS`` reads a pickled list of groups from JOB and prints one JSON line per call:
``[number, problem]``, with an empty problem where all is well. A number alone announces a call, and
``"source"`` after it that the program's own C runs, so that the parent knows what crashed.
"""

from __future__ import annotations

import ctypes
import json
import pickle
import resource
import sys
from pathlib import Path

import numpy as np

#: Bytes on each side of an array that no function may touch, and what they hold.
_MARGIN = 256
_POISON = 0xA5


class Guarded:
    """A copy of an array with margins around it."""

    def __init__(self, values: np.ndarray) -> None:
        self.bytes = np.full(values.nbytes + 2 * _MARGIN, _POISON, np.uint8)
        inside = self.bytes[_MARGIN : _MARGIN + values.nbytes]
        self.values = inside.view(values.dtype).reshape(values.shape)
        self.values[...] = values

    @property
    def address(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.values.ctypes.data)

    @property
    def is_intact(self) -> bool:
        """Whether nothing was written around the array."""
        ends = (self.bytes[:_MARGIN], self.bytes[len(self.bytes) - _MARGIN :])
        return all(bool((end == _POISON).all()) for end in ends)


def poisoned(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """An array that holds what nobody wrote."""
    values = np.empty(shape, dtype)
    values.reshape(-1).view(np.uint8)[...] = _POISON
    return values


def filled(run: dict) -> tuple[dict[str, Guarded], list[object]]:
    """The arrays of a run, and all arguments in call order."""
    arrays: dict[str, Guarded] = {}
    arguments: list[object] = []
    for kind, name, type_ in run["arguments"]:
        if kind != "array":
            arguments.append(getattr(ctypes, type_)(run["values"][name]))
            continue
        given = run["values"].get(name)
        arrays[name] = Guarded(poisoned(run["shapes"][name], type_) if given is None else given)
        arguments.append(arrays[name].address)
    return arrays, arguments


def by_source(sources: ctypes.CDLL, run: dict) -> dict[str, np.ndarray]:
    """What the program's own C leaves in its arrays."""
    arrays, arguments = filled(run)
    # sizes are int there
    sizes = [kind == "size" for kind, _, _ in run["arguments"]]
    narrow = [
        ctypes.c_int(value.value) if size else value
        for size, value in zip(sizes, arguments, strict=True)
    ]
    getattr(sources, run["source"])(*narrow)
    return {name: guarded.values for name, guarded in arrays.items()}


def problem(library: ctypes.CDLL, call: dict, run: dict) -> str:
    """What is wrong with one call; empty where nothing is."""
    arrays, arguments = filled(run)
    status = getattr(library, call["function"])(*arguments, ctypes.c_int(call["threads"]))
    if status != 0:
        return f"returned {status}"
    for name, guarded in arrays.items():
        if not guarded.is_intact:
            return f"wrote outside {name}"
        expected = run["expected"].get(name, run["values"].get(name))
        if not np.array_equal(guarded.values, expected):
            return _difference(name, guarded.values, expected)
    return ""


def _difference(name: str, found: np.ndarray, expected: np.ndarray) -> str:
    where = np.argwhere(found != expected)
    at = tuple(int(x) for x in where[0])
    return f"{name}{list(at)} is {found[at]}, not {expected[at]} ({len(where)} differ)"


def main(job: str, start: int, seconds: int) -> None:
    """Make the calls of a job from the given one on; all within so much processor time."""
    if seconds:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    work = pickle.loads(Path(job).read_bytes())
    library = ctypes.CDLL(work["library"])
    sources = ctypes.CDLL(work["sources"]) if any(r["source"] for r in work["runs"]) else None
    for number, call in enumerate(work["calls"]):
        if number >= start:
            print(number, flush=True)  # noqa: T201
            run = work["runs"][call["run"]]
            if run["expected"] is None:
                print('"source"', flush=True)  # noqa: T201
                run["expected"] = by_source(sources, run)
                print(number, flush=True)  # noqa: T201
            found = problem(library, call, run)
            print(json.dumps([number, found]), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
