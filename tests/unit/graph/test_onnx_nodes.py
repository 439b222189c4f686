"""Operators against ONNX's own node cases: results, shapes and types of its reference.

All cases are read here, and some of each operator run; ``make onnx-cases`` runs all of them.
"""

from __future__ import annotations

import re
from functools import cache

import pytest

from polyopt.errors import PolyoptError
from polyopt.graph import compile_graph, onnx_operators
from tests.oracle.onnx_cases import all_cases, compare, operator_of, read

#: ONNX computes all its cases while they load: one process does, and not while it collects
pytestmark = pytest.mark.xdist_group("onnx node cases")

TAKEN = onnx_operators()
#: cases of a form that is refused, by name, and what the refusal says
REFUSED = {
    r"batchnorm_.*training": "training",
    r"^test_training_dropout|^test_dropout_.*mask": "training|mask",
    r"^test_resize.*crop_and": "is not taken",
    r"(_empty_set|zero_size|allowzero_reordered)": "0 elements",
    r"castlike_DOUBLE": "0 elements",
    r"slice_start_out_of_bounds": "0 elements",
    r"^test_tri[lu]_zero": "0 elements",
    r"swiglu_alpha": "alpha has to be 1",
    r"^test_not_": "uses opset 1",
}  # fmt: skip
#: cases that are read, at least
LEAST_READ = 1500
#: cases of each operator that are run
RUN = 2


@cache
def reasons():
    """Why each case is declined, by name; nothing for those that are read."""
    found = {}
    for name, case in all_cases().items():
        try:
            read(case)
            found[name] = ""
        except PolyoptError as error:
            found[name] = str(error)
    return found


def test_cases_are_read_or_declined_by_their_operator():
    silent = {
        name: text
        for name, text in reasons().items()
        if text and not any(n.op_type in text for n in all_cases()[name].model.graph.node)
    }
    assert silent == {}
    assert sum(not text for text in reasons().values()) >= LEAST_READ


@pytest.mark.parametrize(("names", "text"), REFUSED.items())
def test_refused_forms(names, text):
    found = {name: why for name, why in reasons().items() if re.search(names, name)}
    assert found
    assert [name for name, why in found.items() if not re.search(text, why)] == []


@cache
def chosen():
    """Cases that are read, spread over those of each operator."""
    found = {}
    for name, text in reasons().items():
        if not text and (operator_of(name) != "Attention" or "expanded" not in name):
            found.setdefault(operator_of(name), []).append(name)
    return {operator: names[:: max(1, -(-len(names) // RUN))] for operator, names in found.items()}


@pytest.mark.parametrize("operator", TAKEN)
def test_node_cases(operator):
    # Upsample was replaced by Resize in opset 10: its cases may be gone; GlobalLpPool has none, and
    # a test in test_onnx_layers
    assert operator in chosen() or operator in {"Upsample", "GlobalLpPool"}
    for name in chosen().get(operator, ()):
        case = all_cases()[name]
        graph, fed = read(case)
        compare(case, compile_graph(graph).run(fed))
