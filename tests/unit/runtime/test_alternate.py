"""Timing in turns: medians, spreads, and measuring again."""

import itertools
import statistics

import pytest

from polyopt.runtime.measuring import alternate as measuring
from polyopt.runtime.measuring.alternate import Sample, Subject, alternate, summary


@pytest.fixture
def clock(monkeypatch):
    """A clock that only the subjects move."""

    class Clock:
        now = 0.0

        def perf_counter(self):
            return self.now

        def sleep(self, seconds):
            self.now += seconds

    found = Clock()
    monkeypatch.setattr(measuring, "time", found)
    return found


def taking(clock, seconds, calls=None, name=""):
    """A subject whose calls take the given times, round and round."""
    times = itertools.cycle(seconds)

    def call():
        clock.now += next(times)
        if calls is not None:
            calls.append(name)

    return call


def test_variants_take_turns(clock):
    calls = []
    subjects = {n: Subject(taking(clock, [0.01], calls, n)) for n in ("a", "b", "c")}
    alternate(subjects, rounds=4)
    first = [name for name in "abc" for _ in range(2)]
    assert calls == first * 5


def test_a_sample_does_not_count_what_its_neighbour_left_in_the_caches(clock):
    cached = []

    def touching(name):
        def call():
            clock.now += 0.01 if cached == [name] else 0.05
            cached[:] = [name]

        return call

    samples = alternate({n: Subject(touching(n)) for n in "ab"}, rounds=7)
    assert [s.median_ms for s in samples.values()] == [pytest.approx(10)] * 2


def test_a_sample_waits_until_other_threads_sleep(clock):
    busy_until = 0.0

    def call():
        nonlocal busy_until
        clock.now += 0.01 if clock.now >= busy_until else 0.03

    def other():
        nonlocal busy_until
        clock.now += 0.01
        busy_until = clock.now + 1e-3

    samples = alternate({"a": Subject(call), "b": Subject(other)}, rounds=7)
    assert samples["a"].median_ms == pytest.approx(10)


def test_short_calls_are_timed_several_at_once(clock):
    calls = []
    samples = alternate({"a": Subject(taking(clock, [1.0001e-5], calls))}, rounds=7)
    assert samples["a"].median_ms == pytest.approx(1.0001e-2)
    assert samples["a"].runs == 7
    assert len(calls) == 2 + 7 * (300 + 100)  # 3 ms in which the core gets up to speed


def test_long_calls_have_none_before_them(clock):
    calls = []
    alternate({"a": Subject(taking(clock, [0.3], calls))}, rounds=7)
    assert len(calls) == 1 + 7


def test_what_changes_its_input_gets_it_back_before_each_call(clock):
    state = {"value": 1.0, "restored": 0}

    def call():
        assert state["value"] == 1.0
        state["value"] = 2.0
        clock.now += 1e-5

    def restore():
        state["value"] = 1.0
        state["restored"] += 1
        clock.now += 5.0

    sample = alternate({"a": Subject(call, restore)}, rounds=7)["a"]
    assert sample.median_ms == pytest.approx(1e-2)
    assert state["restored"] == 2 * (1 + 7)


def test_seconds_bound_the_rounds(clock):
    sample = alternate({"a": Subject(taking(clock, [0.1]))}, seconds=2.1)["a"]
    assert sample.runs == 11
    assert alternate({"a": Subject(taking(clock, [9.0]))}, seconds=2.0)["a"].runs == 7


def test_a_wide_spread_is_measured_again_until_it_is_narrow(clock):
    warm, wide, narrow = [0.1] * 2, [0.1, 0.1, 0.1, 0.2] * 4, [0.1] * 16
    calls = []
    times = [*warm, *wide, *narrow]
    sample = alternate({"a": Subject(taking(clock, times, calls))}, rounds=8)["a"]
    assert sample == Sample(pytest.approx(100), pytest.approx(100), pytest.approx(0), 8)
    assert not sample.noisy
    assert len(calls) == 2 + 2 * (8 + 8)


def test_a_spread_that_stays_wide_is_told(clock):
    calls = []
    sample = alternate({"a": Subject(taking(clock, [0.1, 0.1, 0.1, 0.2], calls))}, rounds=8)["a"]
    assert sample.noisy
    assert sample.runs == 3 * 8
    assert len(calls) == 2 + 3 * 2 * 8


def test_a_narrow_median_far_from_the_least_is_told(clock):
    """As of threads that wait, in most calls, for one that another program holds up."""
    slow = [0.030] * 9 + [0.001]
    found = alternate({"waits": Subject(taking(clock, slow), restore=int)}, rounds=10)
    sample = found["waits"]
    assert sample.spread < measuring.WIDE
    assert sample.noisy


def test_rounds_of_attempts_that_are_all_spread_out_count_together(clock):
    rounds = [0.1, 0.19] * 4 + [0.1, 0.1, 0.17] * 3 + [0.18, 0.1] * 4
    calls = [seconds for one in rounds[:24] for seconds in (one, one)]  # the first fills caches
    sample = alternate({"a": Subject(taking(clock, [0.1, 0.1, *calls]))}, rounds=8)["a"]
    assert sample.median_ms == pytest.approx(statistics.median(rounds[:24]) * 1e3)
    assert (sample.runs, sample.noisy) == (24, True)


def test_all_variants_are_measured_again_together(clock):
    calls = []
    subjects = {
        "calm": Subject(taking(clock, [0.1], calls, "calm")),
        "wild": Subject(taking(clock, [0.1, 0.1, 0.1, 0.2], calls, "wild")),
    }
    samples = alternate(subjects, rounds=8)
    assert (samples["calm"].noisy, samples["wild"].noisy) == (False, True)
    assert calls.count("calm") == calls.count("wild")


def test_summary_is_median_least_and_middle_half():
    times = [5.0, 1.0, 2.0, 4.0, 3.0]
    low, _, high = statistics.quantiles(times, n=4, method="inclusive")
    assert summary(times) == Sample(3.0, 1.0, high - low, 5)
    assert summary([2.5]) == Sample(2.5, 2.5, 0.0, 1)
