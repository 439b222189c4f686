"""Some random ONNX models; ``make fuzz-onnx`` runs as many as are asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.fuzz import convolutions, graphs


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_random_models_are_computed_as_onnx_says_or_refused(first):
    told: list[str] = []
    counts = graphs.run(range(first, first + 10), told.append, most=4, shrink=False)
    assert not told
    assert counts["equal"] >= 3


def test_a_wrong_result_is_seen(monkeypatch):
    case = next(c for c in map(graphs.random_case, range(20)) if graphs.outcome(c)[0] == "equal")
    right = graphs.results_of

    def wrong(one, arrays, model=None):
        return {n: np.logical_not(a) if a.dtype == bool else a + a.dtype.type(1)
                for n, a in right(one, arrays, model).items()}  # fmt: skip

    monkeypatch.setattr(graphs, "results_of", wrong)
    assert graphs.outcome(replace(case, batch=0))[0] == "wrong"


def test_random_convolutions_are_those_of_the_definition():
    told: list[str] = []
    counts = convolutions.run(range(12), told.append)
    assert not told
    assert counts["equal"] >= 3
    assert counts["equal, in tiles"] >= 1


def test_a_convolution_that_is_off_by_more_than_rounding_is_seen():
    case = convolutions.random_convolution(3)
    model = case.compiled()
    assert convolutions.difference(case, model) == ""

    def off(x, threads):
        return np.roll(model(x, threads=threads), 1, axis=1) if threads == 2 else model(x)

    assert "2 threads" in convolutions.difference(case, off)
