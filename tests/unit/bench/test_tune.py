"""Tuning: the model's own choice stays unless beaten, and an interrupted run goes on."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from click.testing import CliRunner
from distributed import Client, LocalCluster

import polyopt as po
from polyopt.bench.tuning import tune as tuning
from polyopt.bench.tuning.journal import Journal, Times
from polyopt.bench.tuning.tune import Effort
from polyopt.cli import cli
from polyopt.errors import InvalidOptionError
from polyopt.runtime.cache import KernelCache
from polyopt.runtime.measuring.alternate import Sample

#: enough rows for tiles: candidates of several kinds
SIZES = {"H": 120, "W": 160}


@pytest.fixture(scope="module")
def plans():
    """The candidates, made once."""
    return tuning.candidates(po.load_kernel("unsharp").scop, SIZES)


@pytest.fixture(scope="module")
def own():
    return str(po.auto(po.load_kernel("unsharp").scop, sizes=SIZES))


@pytest.fixture(scope="module")
def kernels(plans):
    """Each candidate compiled, by its script."""
    return {plan.script: plan.compile() for plan in plans.values()}


@pytest.fixture
def measured(timed, kernels, monkeypatch):
    """Runs nothing, and compiles nothing."""
    monkeypatch.setattr(po.Plan, "compile", lambda plan: kernels[plan.script])
    return timed


@pytest.fixture
def timed(plans, monkeypatch):
    """Runs nothing: the model's own choice takes 10 ms, what is measured with it 9 ms or so."""
    monkeypatch.setattr(tuning, "candidates", lambda *_: dict(plans))
    calls: list[tuple[str, ...]] = []

    def at_once(subjects, *, seconds):
        calls.append(tuple(subjects))
        own, *others = subjects
        samples = {own: Sample(10.0, 10.0, 0.0, 7)}
        return samples | {name: Sample(calls_take[0], 8.0, 0.1, 7) for name in others}

    calls_take = [9.0]
    monkeypatch.setattr(tuning, "alternate", at_once)
    return calls, calls_take


def search(**options):
    return tuning.tune(po.load_kernel("unsharp").scop, SIZES, **options)


def test_a_plan_that_is_clearly_faster_wins(measured):
    trials = search()
    assert trials[0].ratio == 0.9
    assert trials[-1].ratio == 1.0


def test_the_models_own_choice_stays_where_others_are_hardly_faster(measured, own):
    _, take = measured
    take[0] = 9.9
    best = search()[0]
    assert best.ratio == 1.0
    assert str(best.plan) == own


def test_a_plan_that_is_faster_by_chance_does_not_win(measured, own, monkeypatch):
    calls, _ = measured
    at_once = tuning.alternate

    def slower_again(subjects, *, seconds):
        seen = tuple(subjects) in calls
        samples = at_once(subjects, seconds=seconds)
        return {n: Sample(10.0 if seen else s.median_ms, 8.0, 0.1, 7) for n, s in samples.items()}

    monkeypatch.setattr(tuning, "alternate", slower_again)
    trials = search()
    assert trials[0].ratio == 1.0
    assert str(trials[0].plan) == own
    assert len(calls) == 2 * len(trials) - 1


def test_every_candidate_takes_turns_with_the_own_choice(measured):
    calls, _ = measured
    trials = search()
    own = next(t.name for t in trials if t.ratio == 1.0)
    assert all(names[0] == own for names in calls)
    assert {names[-1] for names in calls} == {t.name for t in trials}


def test_it_says_how_far_it_is(measured):
    heard: list[tuple[int, int]] = []
    trials = search(report=lambda done, total: heard.append((done, total)))
    assert heard == [(done, len(trials)) for done in range(len(trials) + 1)]


def test_an_interrupted_run_goes_on(measured, tmp_path, monkeypatch):
    calls, _ = measured
    file = tmp_path / "journal.json"

    def stop(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(journal=Journal(file, "unsharp", SIZES, None), report=stop)
    assert len(calls) == 2
    trials = search(journal=Journal(file, "unsharp", SIZES, None))
    assert len(calls) == len(trials) + 1  # the best takes turns once more
    again = search(journal=Journal(file, "unsharp", SIZES, None))
    assert len(calls) == len(trials) + 1
    assert [(t.name, t.times) for t in again] == [(t.name, t.times) for t in trials]
    assert [p.name for p in tmp_path.iterdir()] == ["journal.json"]


@pytest.mark.parametrize(
    ("program", "sizes", "threads", "said"),
    [
        ("blur", SIZES, None, "about program unsharp, not blur"),
        ("unsharp", {"H": 9, "W": 9}, None, "about sizes"),
        ("unsharp", SIZES, 1, "about threads None, not 1"),
    ],
)
def test_a_journal_of_something_else_is_refused(tmp_path, program, sizes, threads, said):
    file = tmp_path / "journal.json"
    times = Times(**asdict(Sample(1.0, 1.0, 0.0, 1)), own_ms=1.0)
    Journal(file, "unsharp", SIZES, None).add("own", "script", times)
    with pytest.raises(InvalidOptionError, match=said):
        Journal(file, program, sizes, threads)


@pytest.mark.parametrize("text", ["", "[]", '{"trials": [{}]}', '{"trials": 3}'])
def test_what_is_no_journal_is_refused(tmp_path, text):
    file = tmp_path / "journal.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidOptionError, match="is not a journal of tuning"):
        Journal(file, "unsharp", SIZES, None)


def test_a_journal_that_cannot_be_written_says_so(tmp_path):
    times = Times(**asdict(Sample(1.0, 1.0, 0.0, 1)), own_ms=1.0)
    with pytest.raises(InvalidOptionError, match="cannot be written"):
        Journal(tmp_path / "none" / "j.json", "unsharp", SIZES, None).add("own", "script", times)


def test_the_command_keeps_a_journal(tmp_path):
    file = tmp_path / "journal.json"
    arguments = ["tune", "blur", "--size", "test", "--seconds", "0.01", "--journal", str(file)]
    first, second = (CliRunner().invoke(cli, arguments) for _ in range(2))
    assert first.exit_code == second.exit_code == 0
    assert first.stdout == second.stdout
    names = [e["name"] for e in json.loads(file.read_text(encoding="utf-8"))["trials"]]
    assert len(set(names)) >= 2


def test_a_budget_ends_the_measuring_with_the_best_so_far(measured, monkeypatch):
    calls, _ = measured
    now = iter(range(1000))
    monkeypatch.setattr(tuning.time, "monotonic", lambda: next(now))
    trials = search(effort=Effort(budget=2.5))
    assert len(calls) == len(trials) == 3
    assert [t.ratio for t in trials] == [0.9, 0.9, 1.0]


def test_the_own_choice_is_measured_however_small_the_budget(measured, own):
    (trial,) = search(effort=Effort(budget=1e-9))
    assert str(trial.plan) == own


@pytest.mark.parametrize("kind", ["threads", "processes", "client"])
def test_workers_compile_all_plans_before_the_first_is_measured(
    timed, plans, monkeypatch, tmp_path, kind
):
    monkeypatch.setenv("POLYOPT_CACHE", str(tmp_path / "cache"))
    some = dict([*plans.items()][-3:])
    monkeypatch.setattr(tuning, "candidates", lambda *_: some)
    compiled: list[int] = []
    usual = tuning.alternate

    def counted(subjects, *, seconds):
        compiled.append(len(KernelCache().list()))
        return usual(subjects, seconds=seconds)

    monkeypatch.setattr(tuning, "alternate", counted)
    if kind == "client":
        cluster = LocalCluster(1, threads_per_worker=2, dashboard_address=None)
        with cluster as there, Client(there) as client:
            trials = search(effort=Effort(executor=client))
    else:
        trials = search(effort=Effort(executor=kind))
    assert {t.plan for t in trials} == set(some.values())
    assert set(compiled) == {len({plan.emit().source for plan in some.values()})}


def test_a_cluster_that_is_none_is_refused():
    done = CliRunner().invoke(cli, ["tune", "blur", "--cluster", "tcp://127.0.0.1:9"])
    assert done.exit_code == 2
    assert "no cluster answers at tcp://127.0.0.1:9" in done.stderr
