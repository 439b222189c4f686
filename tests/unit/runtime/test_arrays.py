"""Memory of arrays: where it starts, and that it is used again, but never twice at once."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

from polyopt.runtime import arrays
from polyopt.runtime.arrays import LEAST_KEPT, MOST_KEPT, MOST_PIECES, address_of, empty, kept

F32 = np.dtype(np.float32)
LARGE = (LEAST_KEPT // 4,)


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch):
    monkeypatch.setattr(arrays, "_free", [])


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("shape", [(), (0,), (3, 5), (LEAST_KEPT,), (7, LEAST_KEPT // 16)])
@pytest.mark.parametrize("kind", ["f4", "u1", "f8", "?"])
def test_arrays_start_on_cache_lines_and_can_be_written(shape, kind):
    made = empty(shape, np.dtype(kind))
    assert (made.shape, made.dtype, address(made) % 64) == (shape, np.dtype(kind), 0)
    assert made.flags.c_contiguous
    assert made.flags.writeable
    made[...] = 1
    assert (made == 1).all()


def test_memory_serves_the_next_array_of_its_size():
    first = empty(LARGE, F32)
    where = address(first)
    assert kept() == 0
    del first
    assert kept() == LEAST_KEPT
    assert address(empty((2, LARGE[0]), F32)) != where
    assert address(empty((LARGE[0] // 2, 2), F32)) == where


def test_memory_that_a_view_reads_is_not_given_away():
    first = empty(LARGE, F32)
    first[:] = 7
    view = first[5:].reshape(-1, 1).T
    del first
    assert kept() == 0
    other = empty(LARGE, F32)
    other[:] = 1
    assert (view == 7).all()
    del view
    assert kept() == LEAST_KEPT


def test_small_arrays_are_left_to_the_allocator():
    small = empty((8,), F32)
    del small
    assert kept() == 0


def test_what_is_kept_has_limits():
    several = [empty(LARGE, F32) for _ in range(MOST_PIECES + 5)]
    del several
    assert kept() == MOST_PIECES * LEAST_KEPT
    large = [empty((MOST_KEPT // 8,), F32) for _ in range(3)]
    del large
    assert kept() <= MOST_KEPT
    larger = empty((MOST_KEPT // 2,), F32)
    del larger
    assert kept() <= MOST_KEPT


def test_cycles_and_threads_give_their_memory_back_once():
    def turns(number):
        for k in range(200):
            made = empty(LARGE, F32)
            made[:] = number
            cycle: list[object] = [made]
            cycle.append(cycle)
            assert (made == number).all(), k

    threads = [threading.Thread(target=turns, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    pieces = arrays._free
    assert len({piece.start for piece in pieces}) == len(pieces) <= MOST_PIECES


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(7, np.float32), np.zeros((3, 4), np.float16)[1:], np.zeros((4, 6)).T,
        np.zeros((4, 6))[::2, ::3], np.zeros(9)[::-1], np.zeros(0), np.array(3, np.float32),
        np.frombuffer(b"read only", np.uint8), np.zeros(3, np.complex64), np.zeros(2, "V7"),
    ],
)  # fmt: skip
def test_where_the_elements_start(array):
    assert address_of(array) == array.__array_interface__["data"][0]
