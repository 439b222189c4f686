"""Some random ONNX models; ``make fuzz-onnx`` runs as many as are asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.fuzz import graphs


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
