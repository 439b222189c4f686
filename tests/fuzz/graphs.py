"""Random ONNX models: ``python -m tests.fuzz.graphs --seeds 0:300``.

Each is valid by ONNX's checker and strict shape inference, and run by polyopt and, node by node, by
ONNX's reference evaluator. It has to be taken with the same results, or refused with an operator's
name. Where results differ, the model runs once more with all tensors as results: each node is then
judged by what it was given, so that errors do not add up. Models are compiled in four ways: as
they are, after the usual passes, with fast numerics, and scheduled as well. A first dimension may be
open.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import warnings
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

import tests.fuzz.layers
import tests.fuzz.selections  # noqa: F401  (they register)
from polyopt.errors import InternalError, PolyoptError
from polyopt.graph import compile_graph, default_passes, load_onnx, onnx_operators, run_passes
from polyopt.graph.planning import Options
from tests.fuzz.drawing import Drawing, Refused, inferred, info, read_by, schema, types_of
from tests.fuzz.nodes import DRAWERS
from tests.fuzz.reference import differs, evaluate, undefined

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

OLDEST, NEWEST = 11, onnx.defs.onnx_opset_version()
_FINE = ("equal", "declined")
_WAYS = ("plain", "passes", "fast", "scheduled")


@dataclass(frozen=True)
class Case:
    """A model: its nodes, the tensors that they read, and those that are results."""

    opset: int
    nodes: tuple[Any, ...]
    #: elements of inputs, weights and of what nodes make
    arrays: Mapping[str, Any]
    weights: frozenset[str]
    outputs: tuple[str, ...]
    way: str = "plain"
    batch: int = 0

    @property
    def made(self) -> list[str]:
        """What nodes make."""
        return [name for node in self.nodes for name in node.output if name]

    @property
    def given(self) -> list[str]:
        """Inputs and weights that are read."""
        read = [name for node in self.nodes for name in read_by(node)]
        return [n for n in dict.fromkeys([*read, *self.outputs]) if n not in self.made]

    @property
    def inputs(self) -> dict[str, Any]:
        """Arrays of the inputs."""
        return {n: self.arrays[n] for n in self.given if n not in self.weights}

    def model(self) -> Any:
        """As ONNX has it."""
        ends = [self._end(name) for name in self.outputs]
        stored = [numpy_helper.from_array(self.arrays[n], n) for n in self.given
                  if n in self.weights]  # fmt: skip
        inputs = [info(n, a, self.batch) for n, a in self.inputs.items()]
        graph = helper.make_graph(list(self.nodes), "fuzz", inputs, ends, stored)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])

    def _end(self, name: str) -> Any:
        array = self.arrays[name]
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        said: list[Any] = [f"{name}_{d}" for d in range(array.ndim)]
        return helper.make_tensor_value_info(name, kind, said if self.batch else array.shape)

    def __str__(self) -> str:
        lines = [f"opset {self.opset}, {self.way}, open {self.batch}, results {self.outputs}"]
        for name in self.given:
            role = "weight" if name in self.weights else "input"
            lines.append(f"{role} {name}: {self.arrays[name].dtype} {self.arrays[name].tolist()}")
        for node in self.nodes:
            options = {a.name: helper.get_attribute_value(a) for a in node.attribute
                       if not a.HasField("g")}  # fmt: skip
            lines.append(f"{list(node.output)} = {node.op_type}{list(node.input)} {options}")
        return "\n    ".join(lines)


# -- drawing --------------------------------------------------------------------------------------


@cache
def operators(opset: int) -> tuple[str, ...]:
    """Operators that are taken, drawn here and there in an opset."""
    found = [op for op in onnx_operators() if op in DRAWERS and _is_there(op, opset)]
    return tuple(found)


def _is_there(op: str, opset: int) -> bool:
    try:
        return not schema(op, opset).deprecated
    except onnx.defs.SchemaError:
        return False


def random_case(seed: int, most: int = 8) -> Case:
    """A random model of up to ``most`` nodes."""
    draw = np.random.default_rng(seed)
    opset = int(draw.integers(OLDEST, NEWEST + 1)) if draw.random() < 0.97 else 9
    d = Drawing(draw, opset)
    d.batch = 3 if d.chance(0.2) else 0
    d.specials = 0.1 if d.chance(0.25) else 0.0
    d.extremes = 0.1 if d.chance(0.1) else 0.0
    count, names = d.number(1, most), operators(opset)
    while len(d.nodes) < count:
        before = dict(d.arrays), list(d.inputs), list(d.weights)
        op = d.one(names)
        try:
            DRAWERS[op](d, op)
        except Refused:
            d.arrays, d.inputs, d.weights = before
    made = [name for node in d.nodes for name in node.output if name]
    read = {name for node in d.nodes for name in read_by(node)}
    outputs = [n for n in made if n not in read or d.chance(0.15)]
    outputs += [n for n in d.arrays if n not in made and d.chance(0.02)]
    return Case(opset, tuple(d.nodes), d.arrays, frozenset(d.weights), tuple(outputs),
                _WAYS[seed % len(_WAYS)], d.batch)  # fmt: skip


def is_valid(case: Case) -> bool:
    """Whether ONNX's own checks take the model as a whole."""
    try:
        onnx.checker.check_model(case.model(), full_check=True)
    except Exception:  # noqa: BLE001  (bindings raise what C++ raises)
        return False
    return True


# -- judging --------------------------------------------------------------------------------------


def compiled(case: Case) -> Any:
    """The model, compiled in its way. Raises ``RuntimeError`` where that warns of something."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        model = _compiled(case)
    if warned:
        raise RuntimeError(f"it warns: {warned[0].message}")
    return model


def _compiled(case: Case) -> Any:
    graph = load_onnx(case.model())
    if case.way != "plain":
        numerics = "fast" if case.way == "fast" else "exact"
        graph = run_passes(graph, default_passes(numerics=numerics)).graph
    fusion = "off" if case.way == "plain" else None
    return compile_graph(graph, fusion=fusion, options=Options(scheduled=case.way == "scheduled"))


def results_of(case: Case, arrays: Mapping[str, Any], model: Any = None) -> dict[str, Any]:
    """Results of polyopt by name."""
    found = (model or compiled(case)).run({n: arrays[n] for n in case.inputs})
    return dict(zip(case.outputs, found, strict=True))


def evaluated(case: Case, given: Mapping[str, Any]) -> dict[str, Any]:
    """All tensors, from inputs and weights, by the reference evaluator."""
    arrays = dict(given)
    for node in case.nodes:
        fed = {n: arrays[n] for n in read_by(node)}
        types = types_of(inferred(node, case.opset, fed, case.weights))
        made = evaluate(node, case.opset, fed, types)
        arrays.update(zip([n for n in node.output if n], made, strict=True))
    return arrays


def difference(case: Case, arrays: Mapping[str, Any], model: Any = None) -> str:
    """What polyopt computes otherwise, from elements of all tensors; "" where nothing."""
    found = results_of(case, arrays, model)
    if all(_same(found[n], arrays[n]) for n in case.outputs):
        return ""
    every = replace(case, outputs=tuple(dict.fromkeys([*case.outputs, *case.made])))
    judged = {**arrays, **results_of(every, arrays)}
    is_open = False
    for node in case.nodes:
        told, is_free = _judged(case, node, judged)
        if told:
            return f"{node.op_type}: {told}"
        is_open |= is_free
    other = [n for n in case.outputs if not _same(found[n], judged[n], 1e-3)]
    if other and not is_open:
        return f"{other[0]} is other than where all tensors are results"
    return ""


def _judged(case: Case, node: Any, arrays: Mapping[str, Any]) -> tuple[str, bool]:
    """What is wrong with a node's results, and whether some are not defined."""
    fed = {n: arrays[n] for n in read_by(node)}
    types = types_of(inferred(node, case.opset, fed, case.weights))
    expected = evaluate(node, case.opset, fed, types)
    try:
        wide = evaluate(node, case.opset, fed, types, wide=True)
    except Exception:  # noqa: BLE001  (an operator that takes no float64)
        wide = [None] * len(expected)
    is_open = False
    for name, theirs, exact in zip([n for n in node.output if n], expected, wide, strict=True):
        told = differs(node, arrays[name], theirs, exact, fed)
        if told:
            return f"{name} is {told}", is_open
        is_open |= bool(np.any(undefined(node, theirs, fed)))
    return "", is_open


def _same(found: Any, expected: Any, near: float = 0.0) -> bool:
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        return False
    if found.dtype.kind in "iub":
        return bool(np.array_equal(found, expected))
    x, y = found.astype(np.float64), expected.astype(np.float64)
    rough = near or {2: 1e-3, 4: 1e-6, 8: 1e-12}[found.dtype.itemsize]
    is_signed = near or bool((np.signbit(x) == np.signbit(y))[y == 0].all())
    return bool(is_signed) and np.allclose(x, y, rough, rough, equal_nan=True)


def outcome(case: Case) -> tuple[str, str]:
    """``equal``, ``declined``, ``wrong`` or ``raw``, and what there is to tell."""
    try:
        model = compiled(case)
        told = difference(case, case.arrays, model) or _other_size(case, model)
    except InternalError as error:
        return "raw", str(error)[:600]
    except PolyoptError as error:
        if case.batch:  # it may be one for one number alone
            return outcome(replace(case, batch=0))
        return ("declined" if is_named(case, str(error)) else "unnamed"), str(error)[:600]
    except Exception as error:  # noqa: BLE001  (any is a defect)
        return "raw", f"{type(error).__name__}: {str(error)[:600]}"
    return ("wrong", told) if told else ("equal", "")


def is_named(case: Case, message: str) -> bool:
    """Whether a refusal says what it is about: an operator, ours or ONNX's, or a tensor."""
    words = message.lower().replace("_", "")
    operators = {node.op_type.lower() for node in case.nodes}
    is_ours = any(len(w) > 3 and w in op for w in words.split() for op in operators)
    is_theirs = any(op in words for op in operators)
    return is_ours or is_theirs or any(f"'{n}" in message for n in case.arrays)


def _other_size(case: Case, model: Any) -> str:
    """What is otherwise for another number in the open dimension."""
    if not case.batch or not model.graph.open:
        return ""
    given = {n: case.arrays[n] for n in case.given}
    for n, a in case.inputs.items():
        if a.ndim and a.shape[0] == case.batch:
            given[n] = np.resize(a, (case.batch + 2, *a.shape[1:]))
    try:
        arrays = evaluated(case, given)
    except Exception:  # noqa: BLE001  (a model that is of one size after all)
        return ""
    told = difference(case, arrays, model)
    return f"for {case.batch + 2}: {told}" if told else ""


def smaller(case: Case, kind: str) -> Case:
    """The case with as few nodes as end the same way."""
    for k, node in enumerate(case.nodes):
        rest = (*case.nodes[:k], *case.nodes[k + 1 :])
        made = {n for one in rest for n in one.output if n}
        outputs = tuple(n for n in case.outputs if n in made)
        read = {n for one in rest for n in read_by(one)}
        outputs += tuple(n for n in made if n not in read and n not in outputs)
        fewer = replace(case, nodes=rest, outputs=outputs)
        if rest and outcome(fewer)[0] == kind:
            return smaller(fewer, kind)
        _ = node
    closed = replace(case, batch=0)
    return closed if case.batch and outcome(closed)[0] == kind else case


def run(
    seeds: Sequence[int], say: Callable[[str], None], most: int = 8, *, shrink: bool = True
) -> Counter[str]:
    """Run random models; how many ended how."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        case = random_case(seed, most)
        if not is_valid(case):
            counts["not valid"] += 1
            continue
        kind, told = outcome(case)
        counts[kind] += 1
        if kind in _FINE:
            continue
        if shrink:
            case = smaller(case, kind)
            told = outcome(case)[1]
        say(f"seed {seed}: {kind}: {told}\n    {case}")
    return counts


def main() -> int:
    """The command line; 1 where something is computed otherwise, or refused in no user's words."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.graphs", description=__doc__)
    parser.add_argument("--seeds", default="0:100", help="first and end, such as 0:100")
    parser.add_argument("--nodes", type=int, default=8, help="most nodes of a model")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    first, end = map(int, given.seeds.split(":"))

    os.environ.setdefault("POLYOPT_CHECK", "0")
    folder = TemporaryDirectory(prefix="polyopt-fuzz-")
    os.environ.setdefault("POLYOPT_CACHE", folder.name)

    def say(line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    counts: Counter[str] = Counter()
    with contextlib.suppress(KeyboardInterrupt):  # what was tried so far is told
        for seed in range(first, end):
            counts += run([seed], say, given.nodes)
    folder.cleanup()
    say(f"{counts.total()} models: {dict(counts)}")
    return int(bool(set(counts) - {*_FINE, "not valid"}))


if __name__ == "__main__":
    sys.exit(main())
