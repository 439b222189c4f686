"""ONNX's own node cases: what becomes of each, and the page that tells it.

``python -m tests.oracle.onnx_cases --part 1/4`` tries every fourth case, keeps what became of it
in ``build/onnx``, and writes ``docs/onnx.md`` of all that is kept there; names choose cases by
regular expressions.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import signal
import sys
import time
import warnings
from collections import Counter
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import ml_dtypes
import numpy as np
import onnx

from polyopt.errors import PolyoptError
from polyopt.graph import compile_graph, load_onnx

KEPT = Path("build/onnx")
PAGE = Path("docs/onnx.md")
#: seconds that one case may take
BUDGET = 120
#: inputs that say how to compute: where a model is declined with them as data, they are constants
SETTINGS = re.compile(
    r"^(axes|shape|image_shape|block_shape|output_shape|new_shape|size|k|K|pads|value|axis|scales"
    r"|sizes|roi|starts|ends|steps|split|min|max|ratio|t|training_mode|cond|repeats|depth"
    r"|trip_count|max_output_boxes_per_class|frame_step|frame_length|dft_length|past_sequence_length)$"
)
#: the same, of one operator
SETTINGS_OF = {
    ("Tile", "y"), ("OneHot", "values"), ("Dropout", "r"), ("HannWindow", "x"), ("HammingWindow", "x"),
    ("BlackmanWindow", "x"), ("Range", "start"), ("Range", "limit"), ("Range", "delta"),
    ("ConstantOfShape", "x"), ("DequantizeLinear", "x"),
    ("DequantizeLinear", "x_zero_point"), ("DequantizeLinear", "zero_point"), *(("MelWeightMatrix", name) for name in (
        "num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz")), *((op, "indices") for op in (
        "GatherND", "Scatter", "ScatterElements", "ScatterND", "MaxUnpool")),
}  # fmt: skip
#: operators whose inputs called so are operands
POINTWISE = {"Add", "Sub", "Mul", "Div", "Min", "Max", "Pow", "MatMul", "Sum", "Mean"}


@dataclass(frozen=True)
class Outcome:
    """What became of a case: passed, read, declined, wrong, error or slow, and why.

    ``read`` is one whose results are computed while reading, by ONNX's reference itself.
    """

    name: str
    operator: str
    kind: str
    reason: str = ""
    seconds: float = 0.0


@cache
def all_cases():
    """Every node case of the installed ONNX, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case import node

        for module in iter_modules(node.__path__):
            import_module(f"{node.__name__}.{module.name}")
    return {case.name: case for case in sorted(node._NodeTestCases, key=lambda c: c.name)}


def operator_of(name):
    """The operator that a case is of; one of a function's body, of the function."""
    found = all_cases()
    base = re.sub(r"_expanded(_ver\d+)?$", "", name)
    nodes = found[base if base in found else name].model.graph.node
    return next((n.op_type for n in nodes if n.op_type != "Constant"), nodes[0].op_type)


def as_array(given):
    """Cases hold arrays, or messages with one."""
    is_message = isinstance(given, onnx.TensorProto)
    return onnx.numpy_helper.to_array(given) if is_message else np.asarray(given)


def with_constants(model, arrays, is_constant):
    """The model with some inputs as constants, and the other inputs by name."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    named = dict(zip([i.name for i in model.graph.input], arrays, strict=True))
    kept = [i for i in copy.graph.input if not is_constant(i.name)]
    del copy.graph.input[:]
    copy.graph.input.extend(kept)
    fed = {}
    for name, array in named.items():
        if is_constant(name):
            copy.graph.initializer.append(onnx.numpy_helper.from_array(as_array(array), name))
        else:
            fed[name] = array
    return copy, fed


def read(case):
    """The graph of a case, and what to feed it. Raises what reading raises."""
    return first_of(case, load_onnx)


def compiled(case):
    """The model of a case, and what to feed it. Raises what reading and compiling raise."""
    return first_of(case, lambda model: compile_graph(load_onnx(model)))


def first_of(case, made):
    """What is made of a case with all inputs as data, or else with settings as constants."""
    operator = operator_of(case.name)
    arrays = case.data_sets[0][0]

    def is_setting(name):
        named = bool(SETTINGS.match(name)) and (name == "axes" or operator not in POINTWISE)
        return named or (operator, name) in SETTINGS_OF

    try:
        model, fed = with_constants(case.model, arrays, lambda _: False)
        return made(model), arrays_of(fed)
    except PolyoptError:
        if not any(is_setting(entry.name) for entry in case.model.graph.input):
            raise
    model, fed = with_constants(case.model, arrays, is_setting)
    return made(model), arrays_of(fed)


def arrays_of(fed):
    return {name: np.require(as_array(array), requirements="C") for name, array in fed.items()}


def compare(case, results):
    """Raises ``AssertionError`` where results are not those of the case, in value, shape or type."""
    outputs = case.data_sets[0][1]
    assert len(results) == len(outputs), f"{len(results)} results, not {len(outputs)}"
    for mine, reference in zip(results, outputs, strict=True):
        theirs = as_array(reference)
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype), (
            f"{mine.dtype}{list(mine.shape)} is not {theirs.dtype}{list(theirs.shape)}"
        )
        np.testing.assert_allclose(
            mine, theirs, rtol=max(case.rtol, steps_of_halves(case.name, theirs.dtype)),
            atol=max(case.atol, 1e-6), err_msg=case.name,
        )  # fmt: skip


def steps_of_halves(name, kind):
    """Two neighbours, relative, where functions of many steps round halves after each: ONNX's
    reference adds up in halves, too, and we do not."""
    is_half = kind.itemsize == 2 and kind.kind in "fV"
    return 2 * float(ml_dtypes.finfo(kind).eps) if is_half and "attention" in name else 0.0


def outcome(case, budget=BUDGET):
    """What becomes of a case, in so many seconds at most."""
    start = time.monotonic()
    kind, reason = "passed", ""
    try:
        with at_most(budget):
            model, fed = compiled(case)
            kind = "passed" if model.graph.nodes else "read"
            compare(case, model.run(fed))
    except PolyoptError as error:
        shown = error.diagnostic
        kind, reason = "declined", "; ".join([shown.message, *shown.notes[:1]])
    except AssertionError as error:
        kind, reason = "wrong", " ".join(str(error).split())[:300]
    except TimeoutError:
        kind, reason = "slow", f"more than {budget} seconds"
    except Exception as error:  # noqa: BLE001  (whatever is raw is what is looked for)
        kind, reason = "error", f"{type(error).__name__}: {error}"[:300]
    return Outcome(case.name, operator_of(case.name), kind, reason, time.monotonic() - start)


@contextmanager
def at_most(seconds):
    """Raises ``TimeoutError`` after so many seconds."""

    def stop(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


# -- the page -----------------------------------------------------------------------------------

HEAD = """# ONNX's node cases

What became of each of the {count:,} node cases of onnx {version}, on which its own backends are tested: read, compiled, run, and compared with the arrays
that come with the case, in values, shapes and types. `make onnx-cases` tries all of them and writes this page.
A case is first tried with all its inputs as data. Where that is declined, inputs that say how to compute (axes, shapes, numbers of steps, `k`) are put into
the model as constants, as files of networks have them. Cases of which every result is known then, or is an input, need no kernel; known ones are computed
while reading, mostly by ONNX's reference evaluator: they are counted apart. A case is declined by an error with the operator, the place, the reason and a hint.

| | cases |
|---|---|
"""


def page(outcomes):
    """The text of the page."""
    kinds = Counter(o.kind for o in outcomes)
    words = {
        "passed": "equal", "read": "equal, without a kernel", "declined": "declined",
        "wrong": "wrong", "error": "other errors", "slow": f"not done after {BUDGET} seconds",
    }  # fmt: skip
    lines = [HEAD.format(count=len(outcomes), version=onnx.__version__).rstrip()]
    lines += [f"| {text} | {kinds[kind]:,} |" for kind, text in words.items()]
    lines += [
        "",
        "| operator | equal | without a kernel | declined | why declined |",
        "|---|---|---|---|---|",
    ]
    for operator in sorted({o.operator for o in outcomes}):
        own = [o for o in outcomes if o.operator == operator]
        counts = Counter(o.kind for o in own)
        others = counts.total() - counts["passed"] - counts["read"]
        reasons = Counter(
            o.reason.replace(o.name, "the model") for o in own if o.kind not in {"passed", "read"}
        )
        why = "<br>".join(cell(reason, count) for reason, count in reasons.most_common())
        lines.append(f"| {operator} | {counts['passed'] or ''} | {counts['read'] or ''} |"
                     f" {others or ''} | {why} |")  # fmt: skip
    return "\n".join(lines) + "\n"


def cell(reason, count):
    """A reason in a table, with the number of cases where there are several."""
    text = reason.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
    return f"{text} ({count})" if count > 1 else text


def main(arguments):
    """Try cases, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="regular expressions; all cases, unless given")
    parser.add_argument("--part", default="1/1", help="k/n: the k-th of n parts")
    parser.add_argument("--budget", type=int, default=BUDGET, help="seconds that a case may take")
    parser.add_argument("--minutes", type=float, default=60.0, help="start no case after these")
    parser.add_argument("--anew", action="store_true", help="try again what is kept, too")
    given = parser.parse_args(arguments)
    KEPT.mkdir(parents=True, exist_ok=True)
    part, parts = map(int, given.part.split("/"))
    file = KEPT / ("named.jsonl" if given.names else f"{part}-of-{parts}.jsonl")
    known = {} if given.anew or given.names else kept()
    start = time.monotonic()
    chosen = [c for c in list(all_cases().values())[part - 1 :: parts] if c.name not in known
              and (not given.names or any(re.search(n, c.name) for n in given.names))]  # fmt: skip
    with file.open("a") as stream:
        for case in chosen:
            if time.monotonic() - start > 60 * given.minutes:
                break
            found = outcome(case, given.budget)
            stream.write(json.dumps(asdict(found)) + "\n")
            stream.flush()
            if found.kind not in {"passed", "read"} or given.names:
                sys.stdout.write(f"{found.kind} {found.name} {found.seconds:.1f}: {found.reason}\n")
                sys.stdout.flush()
            gc.collect()
    outcomes = [o for name, o in sorted(kept().items()) if name in all_cases()]
    PAGE.write_text(page(outcomes))
    bad = [o for o in outcomes if o.kind in {"wrong", "error", "slow"}]
    return 1 if bad or len(outcomes) < len(all_cases()) else 0


def kept():
    """The last outcome of each case that was tried."""
    lines = [
        line for file in sorted(KEPT.glob("*.jsonl"), key=lambda f: f.stat().st_mtime)
        for line in file.read_text().splitlines()
    ]  # fmt: skip
    found = [Outcome(**json.loads(line)) for line in lines]
    return {one.name: one for one in found}


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.exit(main(sys.argv[1:]))
