"""The memory pool: buffers stay from call to call, and never more than were in use at once."""

import ctypes
import gc
import os
import resource
import signal
import subprocess
import threading

import numpy as np
import pytest

import polyopt as po
from polyopt.runtime.memory import pool
from polyopt.runtime.toolchain import find_toolchain

TEXT = """
void {name}(int N, const float a[restrict N + 2], float out[restrict N])
{{
    float mid[N + 2];
    for (int i = 0; i < N + 2; i++)
        mid[i] = 2 * a[i];
    for (int i = 0; i < N; i++)
        out[i] = mid[i] + mid[i + 2];
}}
"""


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """A pool of the test's own: another library from the same text, with its functions."""
    monkeypatch.setenv("POLYOPT_CACHE", str(tmp_path))
    made = pool._pool
    made.cache_clear()
    library = made()
    library.pool_allocate.restype = ctypes.c_void_p
    library.pool_allocate.argtypes = [ctypes.c_size_t]
    library.pool_release.argtypes = [ctypes.c_void_p]
    yield library
    made.cache_clear()


def kernel(name="chain"):
    return po.Plan(po.parse_c(TEXT.format(name=name))).compile(check=False)


def test_kernels_of_a_process_have_their_buffers_from_one_pool(fresh):
    n = 1_000_000
    a, size = np.ones(n + 2, np.float32), 4 * (n + 2)
    one, other = kernel("one"), kernel("other")
    assert pool.usage() == pool.Usage(0, 0, 0)
    for function in (one, other, one):
        np.testing.assert_array_equal(function(a), np.full(n, 4, np.float32))
        found = pool.usage()
        assert (found.in_use, found.kept) == (0, found.peak)
        assert size <= found.peak < size + 200
    one(a[:1000])  # a smaller buffer is a part of it
    assert pool.usage() == found


def test_calls_after_the_first_cost_no_faults(fresh):
    n = 8_000_000
    a, out, function = np.ones(n + 2, np.float32), np.ones(n, np.float32), kernel()
    function(a, out=out)

    def faults():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        function(a, out=out)
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    assert min(faults() for _ in range(5)) < 4 * n / 4096 / 100


def test_no_more_is_kept_than_was_in_use_at_once(fresh):
    take, give = fresh.pool_allocate, fresh.pool_release
    blocks = [take(size) for size in (1000, 2000, 3000)]
    assert len(set(blocks)) == 3
    assert all(block % 64 == 0 for block in blocks)
    peak = pool.usage().peak
    for block in blocks:
        give(block)
    assert pool.usage() == pool.Usage(0, peak, peak)
    large = take(5000)  # what is kept makes room for it, the smallest first
    found = pool.usage()
    assert found.in_use + found.kept <= found.peak == peak
    again = take(2900)
    assert again == blocks[2] or found.kept == 0
    give(again)
    give(large)
    give(None)
    assert pool.usage().in_use == 0
    assert take(2**64 - 10) is None
    assert take(2**62) is None
    assert pool.usage().in_use == 0


def test_blocks_do_not_overlap_where_threads_take_and_give(fresh):
    failures = []

    def work(mark):
        rng = np.random.default_rng(mark)
        for _ in range(300):
            size = int(rng.integers(1, 5000))
            address = fresh.pool_allocate(size)
            ctypes.memset(address, mark, size)
            if ctypes.string_at(address, size) != bytes([mark]) * size:
                failures.append(mark)
            fresh.pool_release(address)

    threads = [threading.Thread(target=work, args=(mark,)) for mark in range(1, 7)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not failures
    found = pool.usage()
    assert found.in_use == 0
    assert found.kept <= found.peak <= 6 * 5128


def test_memory_is_given_back_when_a_kernel_is_gone(fresh):
    a = np.ones(1_000_002, np.float32)
    one, other = kernel("one"), kernel("other")
    one(a)
    other(a)
    assert pool.usage().kept > a.nbytes
    del other
    gc.collect()
    assert pool.usage() == pool.Usage(0, 0, 0)
    one(a)
    assert pool.usage().kept > a.nbytes


def test_without_a_pool_buffers_come_from_the_c_library(fresh, monkeypatch, tmp_path):
    monkeypatch.setattr(pool, "_pool", lambda: None)
    a = np.ones(1002, np.float32)
    np.testing.assert_array_equal(kernel()(a), np.full(1000, 4, np.float32))
    assert [fresh.pool_usage(found := (ctypes.c_size_t * 3)()), *found][1:] == [0, 0, 0]


def test_a_pool_that_cannot_be_made_is_none(monkeypatch, tmp_path):
    monkeypatch.setenv("POLYOPT_CC", "no-such-compiler")
    monkeypatch.setenv("POLYOPT_CACHE", str(tmp_path))
    pool._pool.cache_clear()
    assert pool._pool() is None
    pool._pool.cache_clear()


#: takes and gives blocks until it is told to stop, without Python's lock
BUSY = """
#include <pthread.h>
#include <stddef.h>
static void *(*take)(size_t);
static void (*give)(void *);
static int stop;
static pthread_t thread;
static void *work(void *none) {
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) give(take(256));
    return none;
}
void begin(void *(*a)(size_t), void (*b)(void *)) {
    take = a, give = b;
    pthread_create(&thread, NULL, work, NULL);
}
void end(void) {
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
}
"""


def test_a_fork_beside_a_thread_that_takes_a_buffer_leaves_the_lock_open(fresh, tmp_path):
    source, library = tmp_path / "busy.c", tmp_path / "busy.so"
    source.write_text(BUSY)
    command = [*find_toolchain(None).command, "-O2", "-shared", "-fPIC", "-pthread"]
    subprocess.run([*command, source, "-o", library], check=True)
    busy = ctypes.CDLL(str(library))
    busy.begin(fresh.pool_allocate, fresh.pool_release)
    stuck = 0
    for _ in range(100):
        child = os.fork()
        if not child:  # killed by the alarm where it waits for a thread that it has not
            signal.alarm(5)
            fresh.pool_release(fresh.pool_allocate(100))
            os._exit(0)
        stuck += os.waitpid(child, 0)[1] != 0
        if stuck:
            break
    busy.end()
    assert not stuck
