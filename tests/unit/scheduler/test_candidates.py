"""Candidates: what a search chose from, in the order of predictions, and raced."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import polyopt as po
from polyopt.cli.root import cli
from polyopt.runtime.measuring.alternate import Sample
from polyopt.scheduler.search.candidates import CHOSEN, SOURCE, race, winner

KERNEL = po.load_kernel("bn_relu_maxpool")
SIZES = {"N": 1, "C": 4, "H": 64, "W": 64}


@pytest.fixture(scope="module")
def found():
    return po.candidates(KERNEL.scop, target="avx2", sizes=KERNEL.sizes["bench"])


def took(found, **ms):
    """The candidates as if the first, the second, ... and the source had taken some milliseconds."""
    samples = [Sample(t, t, 0.0, 9) for t in ms.values()]
    rows = [replace(r, measured=s) for r, s in zip(found.rows, samples, strict=False)]
    return replace(found, rows=(*rows, *found.rows[len(rows) :]))


def test_the_choice_is_the_first_and_the_source_the_last(found):
    assert found.rows[0].name == CHOSEN
    assert (
        found.rows[0].plan.script
        == po.auto(KERNEL.scop, target="avx2", sizes=KERNEL.sizes["bench"]).script
    )
    assert found.rows[-1].name == SOURCE
    assert found.rows[-1].plan.script == po.Plan(KERNEL.scop).script
    others = [row.prediction.ns for row in found.rows[1:-1]]
    assert others == sorted(others)
    assert len({row.plan.script for row in found}) == len(found) > 2


def test_a_table_tells_nests_and_what_bounds_them_within_eighty_columns(found):
    lines = str(found).splitlines()
    assert max(map(len, lines)) <= 80
    assert "bytes from" in str(found)
    document = json.loads(json.dumps(found.as_dict()))
    first = document["candidates"][0]
    assert sum(nest["ms"] for nest in first["nests"]) == pytest.approx(first["predicted_ms"])


def test_the_fastest_has_to_be_clearly_faster_than_the_choice(found):
    assert found.fastest is found.rows[0]
    assert took(found, a=10.0, b=9.9).fastest.name == CHOSEN
    faster = took(found, a=10.0, b=9.0)
    assert faster.fastest is faster.rows[1]
    plan = winner(faster)
    assert plan.script == faster.rows[1].plan.script
    (said,) = [r for r in plan.remarks if r.move == "measure"]
    assert faster.rows[1].name in said.reason
    assert said.numbers[f"{CHOSEN}, ms"] == 10.0


def test_a_measured_plan_is_one_that_raced_and_computes_the_same():
    plan = po.auto(KERNEL.scop, sizes=SIZES, measure=True)
    raced = [r for r in plan.remarks if r.move == "measure"]
    assert len(raced) == 1
    assert f"{SOURCE}, ms" in raced[0].numbers
    given = KERNEL.inputs(SIZES, np.random.default_rng(0))
    expected = KERNEL.reference(**given, **SIZES)["out"]
    assert np.allclose(plan.compile()(**given), expected)


def test_every_nest_of_a_measured_candidate_has_its_time():
    raced = po.candidates(KERNEL.scop, sizes=SIZES, measure=True)
    for row in raced:
        nests = [nest.name for nest in row.prediction.nests]
        assert list(row.nest_ms) == nests
        assert all(ms > 0 for ms in row.nest_ms.values())
    first = raced.as_dict()["candidates"][0]["nests"]
    assert [n["measured_ms"] for n in first] == list(raced.rows[0].nest_ms.values())
    assert not any(row.nest_ms for row in po.candidates(KERNEL.scop, sizes=SIZES))


def test_only_plans_for_this_machine_are_measured(found):
    with pytest.raises(po.errors.InvalidOptionError, match="cannot be measured"):
        po.auto(KERNEL.scop, target="avx2", measure=True)
    with pytest.raises(po.errors.InvalidOptionError, match="cannot be measured"):
        po.candidates(KERNEL.scop, target="avx2", measure=True)
    with pytest.raises(po.errors.InvalidOptionError, match="is no time"):
        race(found, seconds=0)


def test_the_command_line_shows_them():
    asked = ["explain", "blur", "--candidates", "--size", "H=200", "--size", "W=300"]
    shown = CliRunner().invoke(cli, asked)
    assert shown.exit_code == 0
    assert CHOSEN in shown.output
    raced = json.loads(CliRunner().invoke(cli, [*asked, "--measure", "--json"]).output)
    assert all(row["measured_ms"] > 0 for row in raced["candidates"])
    refused = CliRunner().invoke(cli, ["explain", "blur", "--measure"])
    assert refused.exit_code != 0
    assert "add --candidates" in refused.output
