"""Plans on disk: what another process planned is taken, where nothing that it depends on changed."""

import gc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import polyopt
from polyopt.graph import Graph, Node, compile_graph, operator, planning
from polyopt.graph.execution.run import random_inputs, run_plainly
from polyopt.graph.operators import get_operator
from polyopt.graph.planning import Options
from polyopt.runtime.cache import KernelCache
from polyopt.scheduler import auto, plan_cache

pytestmark = pytest.mark.usefixtures("kept_plans")


@pytest.fixture
def planned(monkeypatch):
    """The programs that were planned so far."""
    names = []

    def counted(scop, **options):
        names.append(scop.name)
        return auto(scop, **options)

    monkeypatch.setattr(planning, "auto", counted)
    return names


@pytest.fixture
def compiled(stem, tmp_path):
    """The network compiled as in a process of its own, and run; what it plans is kept apart."""

    def made(graph=stem, **options):
        gc.collect()  # models that are gone are known no more
        model = compile_graph(graph, options=Options(cache=str(tmp_path / "kept"), **options))
        given = random_inputs(graph)
        for found, wanted in zip(model.run(given), run_plainly(graph, given), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
        return model

    return made


def the_plan(tmp_path):
    (file,) = (tmp_path / "kept" / "plans").iterdir()
    return file


def test_a_plan_is_made_once_for_all_processes(compiled, planned):
    first = compiled()
    made = first.steps[0].kernel.planned
    said, moves, text, proof = str(made.plan), made.plan.moves, made.program.source, first.proof
    assert len(planned) == 1
    del first, made
    again = compiled()
    found = again.steps[0].kernel.planned
    assert len(planned) == 1
    assert (found.program.source, again.proof) == (text, proof)
    assert (str(found.plan), found.plan.moves, found.plan.emit().source) == (said, moves, text)
    assert found.plan.prove().obligations == found.proof.obligations
    assert "max_pool" in str(again.explain())


def test_what_a_plan_depends_on_is_what_it_is_kept_for(compiled, planned, monkeypatch, stem):
    def plans(**changes):
        """How many more are made with these options."""
        before = len(planned)
        compiled(**changes)
        return len(planned) - before

    assert (plans(), plans()) == (1, 0)
    assert (plans(target="avx2"), plans(target="avx2")) == (1, 0)
    slower = replace(plan_cache.costs_of(plan_cache.target_of("native")), clock=0.5)
    monkeypatch.setattr(plan_cache, "costs_of", lambda _: slower)
    assert (plans(), plans()) == (1, 0)
    other = Graph("other", stem.inputs, stem.constants, stem.nodes[:2], ("b",))
    assert (plans(graph=other), plans(graph=other), plans()) == (1, 0, 0)
    monkeypatch.setenv("POLYOPT_PLAN_CACHE", "0")
    assert plans() == 1


def test_another_engine_plans_anew(compiled, planned, monkeypatch, tmp_path):
    engine = tmp_path / "engine"
    engine.mkdir()
    (engine / "__init__.py").write_text("a = 1")
    monkeypatch.setattr(polyopt, "__file__", str(engine / "__init__.py"))
    compiled()
    for change in (
        lambda: (engine / "__init__.py").write_text("a = 2"),
        lambda: (engine / "more.h").write_text(""),
        lambda: (engine / "more.h").rename(engine / "moved.h"),
    ):
        change()
        plan_cache.fingerprint.cache_clear()
        before = len(planned)
        compiled()
        compiled()
        assert len(planned) == before + 1


def test_an_engine_that_changed_under_the_process_keeps_nothing(compiled, monkeypatch, tmp_path):
    last = max(f.stat().st_mtime for f in Path(polyopt.__file__).parent.rglob("*.py"))
    monkeypatch.setattr(plan_cache, "_STARTED", last - 1)
    compiled()
    assert not (tmp_path / "kept" / "plans").exists()


def test_operators_of_ones_own_are_planned_in_each_process(compiled, planned, stem):
    own = Graph(
        "own", stem.inputs, stem.constants, (*stem.nodes, Node("y", "twice", ("p",))), ("y",)
    )

    @operator("twice")
    def twice(make, x):
        return make.stage(x.shape, lambda *i: x[i] + x[i])

    for graph in (own, own):
        compiled(graph)
    assert len(planned) == 2
    relu = get_operator("relu")
    operator("relu", schedule=lambda plan: plan, replace=True)(relu.build)
    compiled()
    compiled()
    assert len(planned) == 4


def test_plans_that_are_damaged_are_made_anew(compiled, planned, tmp_path):
    compiled()
    whole = the_plan(tmp_path).read_bytes()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(whole)

    def link(file):
        file.unlink()
        file.symlink_to(elsewhere)

    for damage in (
        lambda file: file.write_bytes(whole[:-1]),
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(whole + b"more"),
        link,
        lambda file: KernelCache(tmp_path / "kept").keep_plan(file.name, b"no pickle"),
        lambda file: KernelCache(tmp_path / "kept").keep_plan(file.name, b"cno_module\nname\n."),
    ):
        file = the_plan(tmp_path)
        damage(file)
        before = len(planned)
        compiled()
        assert len(planned) == before + 1
        compiled()
        assert len(planned) == before + 1
        assert not file.is_symlink()


def test_a_plan_of_one_key_is_none_for_another(tmp_path):
    store = KernelCache(tmp_path / "kept")
    store.keep_plan("one", b"plan")
    assert store.plan("one") == b"plan"
    (tmp_path / "kept" / "plans" / "one").rename(tmp_path / "kept" / "plans" / "two")
    assert (store.plan("one"), store.plan("two")) == (None, None)


def test_a_cache_counts_and_clears_plans(tmp_path):
    store = KernelCache(tmp_path / "kept")
    store.keep_plan("one", b"plan" * 1000)
    assert store.size() > 4000
    assert (store.list(), store.clear(), store.size()) == ([], 0, 0)


def test_a_cache_that_cannot_be_written_keeps_no_plans(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    store = KernelCache(shared)
    store.keep_plan("one", b"plan")
    assert not list(shared.iterdir())
    (shared / "plans").mkdir()
    (shared / "plans" / "one").write_bytes(b"")
    assert store.plan("one") is None
