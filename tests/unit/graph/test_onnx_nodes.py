"""Every operator against ONNX's own node cases: results, shapes and types of its reference."""

from __future__ import annotations

import re
import warnings
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import ml_dtypes
import numpy as np
import onnx
import pytest

from polyopt.errors import GraphError, UnsupportedError
from polyopt.graph import compile_graph, load_onnx, onnx_operators

#: ONNX computes all its cases while they load: one process does, and not while it collects
pytestmark = pytest.mark.xdist_group("onnx node cases")

TAKEN = set(onnx_operators())
#: cases of a form that is refused, by name, and what the refusal says
REFUSED = {
    r"batchnorm_.*training": "training",
    r"^test_training_dropout|^test_dropout_.*mask": "training|mask",
    r"^test_resize.*crop_and": "is not taken",
    r"(_empty_set|zero_size|allowzero_reordered)": "0 elements",
    r"castlike": "0 elements",
    r"slice_start_out_of_bounds": "0 elements",
    r"^test_tri[lu]_zero": "0 elements",
    r"swiglu_alpha": "alpha has to be 1",
    r"^test_not_": "uses opset 1",
}  # fmt: skip
#: inputs that say how to compute, and have to be constants of the model
SETTINGS = re.compile(
    r"^(axes|shape|image_shape|block_shape|output_shape|new_shape|size|k|pads|value|axis|scales"
    r"|sizes|roi|starts|ends|steps|split|min|max|ratio|t|cond|repeats|depth)$"
)
#: the same, of one operator
SETTINGS_OF = {
    ("Tile", "y"), ("Trilu", "k"), *((op, "indices") for op in (
        "GatherND", "Scatter", "ScatterElements", "ScatterND")),
}  # fmt: skip
POINTWISE = {"Add", "Sub", "Mul", "Div", "Min", "Max", "Pow", "MatMul", "Sum", "Mean"}


@cache
def cases():
    """Cases of operators that are taken, on types that C has, by the first operator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case import node

        for module in modules_of_cases(node):
            import_module(f"{node.__name__}.{module}")
        loaded = node._NodeTestCases
    found = {}
    for case in loaded:
        operators = [node.op_type for node in case.model.graph.node]
        if operators and set(operators) <= TAKEN and has_c_types(case.model):
            found.setdefault(operators[0], []).append(case)
    return found


def modules_of_cases(package):
    """Those of ONNX's modules that may have a case of operators that are taken: all but those of one
    other operator that is no function of ours, for which nothing is computed then."""
    others = {
        schema.name.lower()
        for schema in onnx.defs.get_all_schemas()
        if schema.name not in TAKEN
        and not (schema.has_function or schema.has_context_dependent_function)
    }
    return [found.name for found in iter_modules(package.__path__) if found.name not in others]


def has_c_types(model):
    ours = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16}
    ends = [*model.graph.input, *model.graph.output]
    return all(end.type.tensor_type.elem_type in ours for end in ends)


def as_array(given):
    """Cases hold arrays, or messages with one."""
    is_message = isinstance(given, onnx.TensorProto)
    return onnx.numpy_helper.to_array(given) if is_message else np.asarray(given)


def with_settings(model, arrays):
    """The model with such inputs as constants, and the other inputs' arrays by name."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    named = dict(zip([i.name for i in model.graph.input], map(as_array, arrays), strict=True))
    is_setting = {
        name: (bool(SETTINGS.match(name)) or (model.graph.node[0].op_type, name) in SETTINGS_OF)
        and (name == "axes" or model.graph.node[0].op_type not in POINTWISE)
        for name in named
    }
    kept = [i for i in copy.graph.input if not is_setting[i.name]]
    del copy.graph.input[:]
    copy.graph.input.extend(kept)
    for name, array in named.items():
        if is_setting[name]:
            copy.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    fed = {n: np.require(a, requirements="C") for n, a in named.items() if not is_setting[n]}
    return copy, fed


def steps_of_halves(name, kind):
    """Two neighbours, relative, where functions of many steps round halves after each: ONNX's
    reference adds up in halves, too, and we do not."""
    is_half = kind.itemsize == 2 and kind.kind in "fV"
    return 2 * float(ml_dtypes.finfo(kind).eps) if is_half and "attention" in name else 0.0


@pytest.fixture(scope="module")
def kept():
    """Models in use: what is equal in a later one, such as parts of expanded functions, is known."""
    return []


@pytest.mark.parametrize("operator", sorted(TAKEN))
def test_node_cases(operator, kept):
    for case in cases().get(operator, ()):
        refusal = next((text for name, text in REFUSED.items() if re.search(name, case.name)), "")
        inputs, outputs = case.data_sets[0]
        model, fed = with_settings(case.model, inputs)
        if refusal:
            with pytest.raises((UnsupportedError, GraphError), match=refusal):
                load_onnx(model)
            continue
        kept.append(compile_graph(load_onnx(model)))
        found = kept[-1].run(fed)
        for mine, reference in zip(found, outputs, strict=True):
            theirs = as_array(reference)
            assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype), case.name
            np.testing.assert_allclose(
                mine, theirs, rtol=max(case.rtol, steps_of_halves(case.name, theirs.dtype)),
                atol=max(case.atol, 1e-6), err_msg=case.name,
            )  # fmt: skip


def test_every_operator_that_is_taken_has_a_case():
    met = {node.op_type for found in cases().values() for case in found
           for node in case.model.graph.node}  # fmt: skip
    # Upsample was replaced by Resize in opset 10: its cases may be gone; GlobalLpPool has none, and
    # a test in test_onnx_layers
    assert met | {"Upsample", "GlobalLpPool"} >= TAKEN
