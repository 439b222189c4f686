"""Costs of this machine, measured: plausible, and out of the right measurements."""

import subprocess
from dataclasses import asdict, replace
from math import isfinite

import pytest

from polyopt.bench import costs as module
from polyopt.bench.costs import costs_from, measured
from polyopt.codegen.target import native_target, target
from polyopt.errors import CompilerFailedError
from polyopt.scheduler.model.machine import typical_costs

#: nanoseconds on a machine of two cycles each
NS = {
    "cycle": 0.5, "latency": 2.0, "load": 0.25, "split_load": 0.5, "store": 0.5,
    "multiply_add": 0.5, "mixed": 0.25, "divide_f32": 4.0, "divide_f64": 8.0, "gather": 0.5,
    "call_exp": 10.0, "call_expf": 5.0, "call_logf": 5.0, "call_powf": 10.0, "call_sinf": 5.0,
    "call_tanhf": 10.0, "integer_divide": 4.0, "scalar_iteration": 1.0, "scalar_start": 1.6,
    "vector_iteration": 0.1, "vector_start": 3.0, "read_l2": 0.025, "read_last": 0.05,
    "read_memory": 0.1,
}  # fmt: skip
MANY = {"shared_l2": 0.0125, "shared_last": 0.025, "shared_memory": 0.2, "region": 700.0}


def test_costs_are_cycles_of_what_was_measured():
    costs = costs_from({**NS, **MANY}, target("avx2"))
    assert costs.clock == 2.0
    assert (costs.load, costs.split, costs.store) == (0.5, 0.5, 1.0)
    assert (costs.arithmetic, costs.scalar, costs.latency) == (0.75, 0.25, 4.0)
    assert costs.divide == 12.0 / 32
    assert (costs.gather, costs.call, costs.integer_divide) == (1.0, 15.0, 8.0)
    assert (costs.start, costs.vector_start) == (3, 6)
    assert costs.region == 700.0
    assert costs.overlap == typical_costs(target("avx2")).overlap


def test_what_loads_take_themselves_is_taken_off_what_is_read():
    """A byte of 20 a cycle takes 0.05 cycles to read, of which its load is a 64th."""
    box = target("avx2")
    overlap = typical_costs(box).overlap
    costs = costs_from({**NS, **MANY}, box)
    for rate, read in zip(costs.bandwidth, (0.05, 0.1, 0.2), strict=True):
        assert rate > 1 / read
        moved = 1 / rate
        assert (moved**overlap + (1 / 64) ** overlap) ** (1 / overlap) == pytest.approx(read)


def test_reads_that_are_as_fast_as_loads_say_little_of_moves():
    costs = costs_from({**NS, "read_l2": 0.5 / 64, "read_last": 0.4 / 64}, target("avx2"))
    assert costs.bandwidth[:2] == (2 * 64.0, 2 * 80.0)


def test_all_cores_get_no_less_than_one():
    costs = costs_from({**NS, **MANY}, replace(target("avx2"), cores=2))
    assert costs.shared == (2 * costs.bandwidth[0], 2 * costs.bandwidth[1], costs.bandwidth[2])


def test_one_thread_shares_with_nobody():
    costs = costs_from(NS, target("avx2"))
    assert costs.shared == costs.bandwidth
    assert costs.region == typical_costs(target("avx2")).region


def test_differences_that_say_nothing_are_small_and_not_negative():
    costs = costs_from({**NS, "split_load": 0.2, "scalar_start": -1.0}, target("avx2"))
    assert 0 < costs.split < costs.load
    assert costs.start == 1.0


@pytest.mark.parametrize("threads", [1, 2, 64])
@pytest.mark.parametrize("name", ["generic", "avx2", "avx512"])
def test_what_is_read_lies_in_the_cache_that_it_is_for(name, threads):
    box = target(name)
    second, last, memory = module._read_bytes(box, threads)
    assert box.l1_bytes < second < box.l2_bytes
    assert box.l2_bytes < last < memory
    assert last < box.last_bytes
    assert memory * threads >= 4 * box.last_bytes


def test_the_machine_is_measured(monkeypatch):
    monkeypatch.setattr(module, "_MOST_BYTES", 8 << 20)
    costs = measured(budget_ms=0.01)
    values = [n for v in asdict(costs).values() for n in (v if isinstance(v, tuple) else (v,))]
    assert all(isfinite(n) and n > 0 for n in values)
    # what other work on the machine cannot turn round: it makes rounds longer by a factor at most
    typical = typical_costs(native_target())
    assert costs.clock < 20
    assert typical.latency / 100 < costs.latency < typical.latency * 100


def test_a_measurement_that_fails_is_an_error(monkeypatch):
    def fails(*arguments, **options):
        raise subprocess.CalledProcessError(3, "costs")

    monkeypatch.setattr(module.subprocess, "run", fails)
    with pytest.raises(CompilerFailedError, match="could not be run"):
        measured(budget_ms=0.01)
