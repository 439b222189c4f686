"""Machine limits: measured, plausible, and turned into a time."""

from __future__ import annotations

import json

import numpy as np

from polyopt.bench import machine as module
from polyopt.bench.machine import Machine, machine
from polyopt.runtime.arrays import empty


def test_limits_are_measured(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("POLYOPT_CACHE", str(tmp_path))
    monkeypatch.setattr(module, "_STREAM_BYTES", 1 << 20)
    monkeypatch.setattr(module, "_FMA_STEPS", 100_000)
    machine.cache_clear()
    found = machine()
    assert machine() is found
    machine.cache_clear()
    assert 1 in found.bandwidth_gbs
    assert all(v > 0 for v in (*found.bandwidth_gbs.values(), *found.peak_gflops.values()))
    shown = json.loads(json.dumps(found.as_json()))
    assert set(shown) == {"cpu", "cores", "compiler", "bandwidth_gbs", "peak_gflops"}
    assert set(shown["bandwidth_gbs"]) == set(shown["peak_gflops"])


def test_a_copy_of_as_many_bytes_copies_them(tmp_path, monkeypatch) -> None:
    made: list[np.ndarray] = []

    def kept(shape, dtype):
        made.append(empty(shape, dtype))
        return made[-1]

    monkeypatch.setenv("POLYOPT_CACHE", str(tmp_path))
    monkeypatch.setattr(module, "_STREAM_BYTES", 1 << 20)
    monkeypatch.setattr(module, "_FMA_STEPS", 100_000)
    monkeypatch.setattr(module, "empty", kept)
    machine.cache_clear()
    copying = machine().copying
    machine.cache_clear()
    for threads in (1, 2):
        made.clear()
        copy = copying(200_000, threads)
        source, target = made
        assert source.nbytes == target.nbytes == 98304
        source[:] = np.arange(98304) % 251
        copy()
        assert np.array_equal(source, target)


def test_the_limit_is_the_larger_of_memory_and_arithmetic() -> None:
    box = Machine("cpu", 4, "cc", {1: 10.0, 4: 20.0}, {1: 100.0, 4: 400.0})
    assert box.limit_ms(20e6, 0) == 1.0
    assert box.limit_ms(20e6, 0, threads=1) == 2.0
    assert box.limit_ms(0, 400e6) == 1.0
    assert box.limit_ms(20e6, 4e9) == 10.0
