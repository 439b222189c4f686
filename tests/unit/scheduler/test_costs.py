"""Costs of machines: typical ones by target, and those measured on this machine, kept in a file."""

import json
from dataclasses import asdict, replace

import pytest

from polyopt.codegen.target import cpu_id, native_target, target
from polyopt.errors import CacheError
from polyopt.scheduler.model import machine as module
from polyopt.scheduler.model.machine import (
    costs_of,
    keep_measured,
    measured_costs,
    typical_costs,
)

NAMED = ["generic", "avx2", "avx512", "neon"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A cache folder of the test's own."""
    monkeypatch.setenv("POLYOPT_CACHE", str(tmp_path / "cache"))
    module._read.cache_clear()
    yield tmp_path / "cache"
    module._read.cache_clear()


def numbers(costs):
    return [n for v in asdict(costs).values() for n in (v if isinstance(v, tuple) else (v,))]


def written(text):
    """What is said of a file of that text, and what costs there are with it."""
    path = measured_costs().path
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    module._read.cache_clear()
    found = measured_costs()
    assert found.path == path
    return found, costs_of(native_target())


def document(**changes):
    costs = {"clock": 2.5, "load": 3.0, "bandwidth": [9.0, 8.0, 7.0]}
    return {"format": 1, "cpu": cpu_id(), "cores": 4, "costs": costs, **changes}


@pytest.mark.parametrize("name", NAMED)
def test_typical_costs_are_in_the_order_of_all_machines(name):
    costs = costs_of(target(name))
    assert all(number > 0 for number in numbers(costs))
    for rates in (costs.bandwidth, costs.shared):
        assert rates[0] > rates[1] > rates[2]
    assert all(a >= one for a, one in zip(costs.shared, costs.bandwidth, strict=True))
    assert costs.scalar < costs.arithmetic < costs.latency
    assert costs.load <= costs.store
    assert costs.start <= costs.vector_start
    wide = costs.divide * target(name).vector_bytes
    assert costs.arithmetic < wide
    assert costs.call > costs.latency


def test_named_targets_differ():
    assert len({costs_of(target(name)) for name in NAMED}) == len(NAMED)


def test_caches_are_shared_by_cores_and_memory_is_one():
    two, eight = (typical_costs(replace(target("avx2"), cores=n)) for n in (2, 8))
    assert eight.shared[:2] == tuple(4 * rate for rate in two.shared[:2])
    assert eight.shared[2] == two.shared[2]
    assert eight.bandwidth == two.bandwidth


def test_a_target_of_ones_own_has_costs_of_its_instructions():
    own = replace(target("avx2"), name="mine")
    assert costs_of(own) == costs_of(target("avx2"))
    assert costs_of(replace(own, isa="other")) == costs_of(
        replace(target("generic"), cores=own.cores)
    )


def test_this_machine_has_typical_costs_until_they_are_measured(folder):
    native = native_target()
    assert measured_costs().values == {}
    assert measured_costs().fault == ""
    assert costs_of(native) == typical_costs(native)
    assert not folder.exists()


def test_measured_costs_are_those_of_this_machine_and_of_no_other():
    native, named = native_target(), costs_of(target("avx2"))
    kept = keep_measured(replace(typical_costs(native), load=3.0, shared=(9.0, 8.0, 7.0)), 6)
    assert kept.cores == 6
    module._read.cache_clear()
    assert measured_costs() == kept
    assert costs_of(native).load == 3.0
    assert costs_of(native).shared == (9.0, 8.0, 7.0)
    assert costs_of(target("avx2")) == named


def test_two_digits_are_kept():
    costs = replace(typical_costs(native_target()), clock=3.6947, region=1187.6, split=0.04996)
    kept = keep_measured(replace(costs, bandwidth=(31.66, 26.9, 7.749)), 2).values
    assert (kept["clock"], kept["region"], kept["split"]) == (3.7, 1200.0, 0.05)
    assert kept["bandwidth"] == (32.0, 27.0, 7.7)


def test_what_is_fitted_is_not_kept():
    native = native_target()
    kept = keep_measured(replace(typical_costs(native), overlap=7.0), 2)
    assert "overlap" not in kept.values
    assert "overlap" not in json.loads(kept.path.read_text(encoding="utf-8"))["costs"]
    assert costs_of(native).overlap == typical_costs(native).overlap
    found, costs = written(json.dumps(document(costs={"overlap": 7.0, "load": 3.0})))
    assert found.values == {"load": 3.0}
    assert costs.overlap == typical_costs(native).overlap


def test_names_of_other_versions_are_passed_over_and_missing_ones_typical():
    found, costs = written(json.dumps(document(costs={"load": 3, "teleport": "?"}, more=1)))
    assert found.values == {"load": 3.0}
    assert found.fault == ""
    assert costs == replace(typical_costs(native_target()), load=3.0)


@pytest.mark.parametrize("text", ["", "{", "costs", "[" * 100_000], ids=range(4))
def test_a_file_of_another_kind_is_ignored(text):
    found, costs = written(text)
    assert found == replace(measured_costs(), values={}, fault="it is no JSON document")
    assert costs == typical_costs(native_target())


@pytest.mark.parametrize("found", [[], {}, 7, document(costs=[1]), document(costs=None)])
def test_a_document_of_another_kind_is_ignored(found):
    said, costs = written(json.dumps(found))
    assert said.fault == "it is not what `polyopt doctor --measure` writes"
    assert costs == typical_costs(native_target())


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"format": 2}, "another version of polyopt wrote it"),
        ({"cpu": "abacus"}, "it is of another processor"),
        ({"cores": "many"}, 'cores is "many", and not a positive number'),
        ({"cores": float("inf")}, "cores is Infinity, and not a positive number"),
        ({"costs": {"load": 0}}, "load is 0, and not a positive number"),
        ({"costs": {"load": -1.5}}, "load is -1.5, and not a positive number"),
        ({"costs": {"load": True}}, "load is true, and not a positive number"),
        ({"costs": {"load": None}}, "load is null, and not a positive number"),
        ({"costs": {"load": float("nan")}}, "load is NaN, and not a positive number"),
        ({"costs": {"load": [1.0]}}, "load is [1.0], and not a positive number"),
        ({"costs": {"load": 10**400}}, f"load is 1{'0' * 39}, and not a positive number"),
        ({"costs": {"shared": [1.0, 2.0]}}, "shared is not 3 numbers"),
        ({"costs": {"shared": 1.0}}, "shared is not 3 numbers"),
        ({"costs": {"shared": [1, 2, "3"]}}, 'shared is "3", and not a positive number'),
    ],
)
def test_a_wrong_value_is_named_and_no_other_is_taken(changes, fault):
    found, costs = written(json.dumps(document(**changes)))
    assert found.fault == fault
    assert found.values == {}
    assert costs == typical_costs(native_target())


def test_a_file_that_cannot_be_read_is_ignored():
    path = measured_costs().path
    path.mkdir(parents=True)
    module._read.cache_clear()
    assert measured_costs().fault.startswith("it cannot be read: ")
    assert costs_of(native_target()) == typical_costs(native_target())


def test_a_broken_file_is_written_anew(folder):
    written("{")
    costs = replace(typical_costs(native_target()), load=3.0)
    assert keep_measured(costs, 2).fault == ""
    assert costs_of(native_target()).load == 3.0
    assert list(folder.iterdir()) == [measured_costs().path]


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("", encoding="ascii")
    monkeypatch.setenv("POLYOPT_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(CacheError, match="could not be written"):
        keep_measured(typical_costs(native_target()), 2)


def test_each_processor_has_a_file_of_its_own(monkeypatch):
    here = measured_costs().path
    monkeypatch.setattr(module, "cpu_id", lambda: "abacus")
    assert measured_costs().path != here
