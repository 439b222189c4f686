"""What the soak is made of: other words, Python loops and stages mean what the C means."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import Future
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from polyopt.codegen.emit import emit
from polyopt.frontend.c import parse_c
from polyopt.isl import same_map
from polyopt.transform.legality.proof import program_flow
from polyopt.transform.plan import Plan
from polyopt.transform.schedule.identity import initial_program

from .batches import Outcome, batch
from .cases import BATCH, build_of, make_case
from .compile import Subject, differences
from .plans import Tally
from .programs import random_program
from .soak import PROPERTY, Soak, drive, report, reported
from .soak_page import page
from .stages import stages_text
from .trial import Example, failures_of
from .variants import CHANGES, variant

ROOT = Path(__file__).parents[2]
SEEDS = range(200, 212)


@cache
def unfused(form: str, seed: int) -> Subject:
    """A program in some form, unfused, beside what the C or NumPy says of it."""
    program = random_program(seed)
    example = Example(program.text, program.sizes, (), form)
    if form == "stages":
        example = Example(stages_text(seed), {}, (), form)
    if form == "variant":
        text, sizes, _ = variant(program.text, program.sizes, seed)
        example = Example(text, sizes, ())
    scop = example.scop
    function = emit(initial_program(scop), name=f"{form}_{seed}")
    subject = example.subject(scop, (function,), seed)
    return replace(subject, source=program.text) if form == "variant" else subject


@pytest.mark.parametrize("form", ["python", "variant", "stages"])
def test_every_form_computes_what_its_source_does(form):
    assert differences([unfused(form, seed) for seed in SEEDS]) == ()


@pytest.mark.parametrize("form", ["python", "variant", "stages"])
def test_another_meaning_would_be_seen(form):
    subject = unfused(form, SEEDS[0])
    (function,) = subject.functions
    broken = function.source.replace(
        "return 0;", f"*(char *){function.arguments[-1].c_name} ^= 1;\n    return 0;"
    )
    wrong = replace(function, source=broken)
    assert len(differences([replace(subject, functions=(wrong,))])) == 1


def test_every_change_changes_some_program():
    program = random_program(3)
    for name, change in CHANGES.items():
        found = {_changed(change, seed) for seed in range(40)}
        assert True in found, name
    text, sizes, _ = variant(program.text, program.sizes, 1)
    assert sorted(sizes.values()) == sorted(program.sizes.values())
    assert text != program.text


def _changed(change, seed):
    from random import Random

    text = random_program(seed).text
    return change(text, Random(seed)) != text  # noqa: S311


def test_a_seed_gives_one_case():
    one, other = (make_case(31, Tally()) for _ in range(2))
    assert one.kinds == other.kinds
    assert one.trial.plans == other.trial.plans
    assert [f.source for f in one.trial.subject.functions] == [
        f.source for f in other.trial.subject.functions
    ]


def test_a_batch_is_counted_goes_on_and_makes_a_page(tmp_path):
    outcome = batch(4 * BATCH, 4)
    assert outcome.failures == []
    assert outcome.plans == 4
    run = Soak(tmp_path, 0)
    run.add(outcome)
    run.next_seed = 4
    run.save()
    again = Soak.resume(tmp_path, None)
    assert again.summary() == run.summary()
    again.add(outcome)
    assert again.totals["programs"] == 8
    text = page({"property": again.summary()})
    assert "| programs | 8 |" in text
    assert f"| `{build_of(4 * BATCH)}` | 8 |" in text
    assert "## Failures\n\nNone." in text


def test_a_run_goes_on_from_a_page_on_another_machine(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    report = tmp_path / "soak.md"
    words = ["--programs", "2", "--jobs", "1", "--seed", "7", "--page", str(report)]
    command = [sys.executable, "-m", "tests.property.soak", *words, "--folder", str(here)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    again = Soak.resume(there, None, report)
    assert (again.first_seed, again.next_seed, again.totals["programs"]) == (7, 9, 2)
    assert again.summary() == Soak.resume(here, None).summary()
    assert "| seeds | 7 to 8 |" in report.read_text()
    assert sum(n for kind, n in again.counts["kinds"].items() if kind.startswith("code: ")) == 2
    assert Soak.resume(there, 0, report).totals["programs"] == 0


def test_failures_stand_by_commit_and_mended_ones_apart(tmp_path):
    """Two generators share a page; who writes it leaves the other's numbers as they are."""
    other = replace(PROPERTY, name="random_c", mended=lambda example: example["seed"] == 3)
    first, second = Soak(tmp_path, 0), Soak(tmp_path, 0, kind=other)
    for run in (first, second):
        run.code = "0123abcd"
        run.counts["kinds"]["code: 0123abcd"] = 7
        found = {"kind": "wrong", "text": "what", "file": "", "code": run.code}
        run.examples = [{**found, "seed": 3}, {**found, "seed": 4}]
    second.examples[0]["mended"] = "4567cdef"
    path = tmp_path / "soak.md"
    report(first, path)
    report(second, path)
    assert reported(path) == {"property": first.summary(), "random_c": second.summary()}
    mine, yours = path.read_text().split("## C as people write it")
    assert "| `0123abcd` | 7 | 2 | 0 |" in mine
    assert "| `0123abcd` | 7 | 2 | 1 |" in yours
    assert yours.index("| 4 | wrong |") < yours.index("#### Mended") < yours.index("| 3 | wrong |")
    assert "| `0123abcd` | `4567cdef` |" in yours
    path.with_suffix(".json").write_text(json.dumps(first.summary()))  # as one generator wrote it
    assert Soak.resume(tmp_path / "new", None, path).summary() == first.summary()


def test_batches_that_ended_before_an_earlier_one_run_once(tmp_path):
    run = Soak(tmp_path, 0)
    run.done(BATCH, BATCH)
    run.save()
    again, asked = Soak.resume(tmp_path, None), []

    def submit(first: int, count: int) -> Future[Outcome]:
        asked.append((first, count))
        future: Future[Outcome] = Future()
        future.set_result(Outcome(programs=count))
        return future

    drive(again, submit, range(again.next_seed, 3 * BATCH), float("inf"), 1)
    assert asked == [(0, BATCH), (2 * BATCH, BATCH)]
    assert (again.next_seed, again.ahead) == (3 * BATCH, {})


def test_a_search_that_gives_python_no_chance_is_killed():
    words = "from tests.property.batches import limited; from itertools import repeat\n"
    words += "with limited(0.5): sum(repeat(0))"
    done = subprocess.run([sys.executable, "-c", words], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGXCPU


def test_a_process_that_dies_is_a_finding_and_the_soak_goes_on(tmp_path):
    """A module in the way of the tests' own makes every process end that tries seed 3."""
    (tmp_path / "sitecustomize.py").write_text(_DIES)
    words = ["--programs", "2", "--jobs", "2", "--seed", "2", "--folder", str(tmp_path / "soak")]
    done = subprocess.run(
        [sys.executable, "-m", "tests.property.soak", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    left = Soak.resume(tmp_path / "soak", None)
    assert (left.totals["programs"], left.next_seed) == (2, 4)
    assert dict(left.counts["failed"]) == {"crash": 1}
    (found,) = left.examples
    assert found["seed"] == 3
    assert "ended with -9" in found["text"]


_DIES = """
import os, random, signal

class Random(random.Random):
    def __init__(self, seed=None):
        if seed == "case 3":
            os.kill(os.getpid(), signal.SIGKILL)
        super().__init__(seed)

random.Random = Random
"""


def test_a_failure_keeps_its_form_and_build(tmp_path):
    example = Example(stages_text(5), {}, (), "stages", "gcc -O2 -march=native -fopenmp")
    example.save(tmp_path / "kept.c", "wrong: once")
    loaded = Example.load(tmp_path / "kept.c")
    assert (loaded.form, loaded.build, loaded.calls) == (example.form, example.build, ())
    assert loaded.text.strip() == example.text.strip()


def test_a_defect_of_a_search_is_a_failure(monkeypatch):
    def broken(*_args, **_options):
        raise ZeroDivisionError

    monkeypatch.setattr("polyopt.auto", broken)
    cases = [make_case(seed, Tally()) for seed in range(20)]
    found = failures_of([c.trial for c in cases if c.trial.failures])
    assert found
    assert {f.kind for f in found} == {"auto"}


def test_time_leaves_out_only_what_tells_nothing_apart():
    """Flow over times in full is the flow over those that the proof takes."""
    scop = parse_c(random_program(5).text)
    program = Plan(scop).program
    full = replace(program)
    full.__dict__["clock"] = (True,) * len(program.clock)
    assert full.time_columns > program.time_columns
    assert same_map(program_flow(program).raw, program_flow(full).raw)
