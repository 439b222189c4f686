"""Operators against ONNX's own node cases: results, shapes and types of its reference.

All cases are read here, and some of each operator run; ``make onnx-cases`` runs all of them.
"""

from __future__ import annotations

import re
from functools import cache

import pytest

from polyopt.errors import PolyoptError
from polyopt.graph import onnx_operators
from tests.oracle.onnx_cases import all_cases, compare, compiled, operator_of, read

#: ONNX computes all its cases while they load: one process does, and not while it collects
pytestmark = pytest.mark.xdist_group("onnx node cases")

TAKEN = onnx_operators()
#: cases of a form that is refused, by name, and what the refusal says
REFUSED = {
    r"batchnorm_.*training": "training",
    r"^test_training_dropout(?!_zero)": "training is not taken",
    r"^test_resize.*crop_and": "is not taken",
    r"castlike.*(FLOAT8|FLOAT4|INT4|INT2)": "type",
    r"split_to_sequence|sequence_(map|insert)|optional_get|_(seq|opt)$|_seq_none": "sequence|optional",
    r"string|strnorm": "type that is not taken: string",
    r"momentum|adagrad|adam": "ai.onnx.preview.training is not taken",
    r"^test_not_": "uses opset 1",
}  # fmt: skip
#: cases that are read, at least
LEAST_READ = 1575
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


@cache
def met():
    """Operators of all cases that are read."""
    return {
        node.op_type
        for name, text in reasons().items() if not text
        for node in all_cases()[name].model.graph.node
    }  # fmt: skip


@pytest.mark.parametrize("operator", TAKEN)
def test_node_cases(operator):
    # Upsample was replaced by Resize in opset 10: its cases may be gone; GlobalLpPool has none, and
    # a test in test_onnx_layers
    assert operator in met() or operator in {"Upsample", "GlobalLpPool"}
    for name in chosen().get(operator, ()):
        case = all_cases()[name]
        model, fed = compiled(case)
        compare(case, model.run(fed))
