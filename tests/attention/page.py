"""Attention from short sequences to long ones: ``python -m tests.attention.page [CASES]``.

Figures are kept in ``build/attention``, and ``docs/attention.md`` tells of them. It fails where an
error is beyond ``TOLERANCE``, or where memory grows faster than the sequence.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import time
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from polyopt import compile_model
from polyopt.codegen.target import cpu_name, target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import onnx

    from polyopt.ir.scop import NumPyArray

KEPT = Path("build/attention")
PAGE = Path("docs/attention.md")
HEADS, WIDTH = 2, 64
TOKENS = (128, 512, 2048, 8192, 16384)
KINDS = ("plain", "causal", "cache")
#: rounds in which both take turns, and the seconds that each gets in one, one call at least
ROUNDS, SECONDS = 5, 0.2
#: the largest error, over the largest result: sums of floats over 16,384 keys in blocks
TOLERANCE = 1e-5
#: queries whose exact results are computed at once
BLOCK = 512
HEAD = f"""# Attention

`softmax(q k' / 8 + mask) v` of {HEADS} heads with {WIDTH} numbers each, floats, batch 1, one thread, as exporters write it out in ONNX; `po.compile_model` makes one kernel of it
([decision 51](adr/0051-attention-in-tiles-of-queries.md)). *plain* has as many queries as keys, *causal* also, with a constant mask that hides later keys, and
*cache* is a step of decoding: one query on keys and values kept from before.

Milliseconds are medians of {ROUNDS} rounds in which both take turns. *Memory* is by how much the process grows at most in a call, the results not counted.
Errors are the largest beside NumPy's results in doubles, over the largest result. ONNX Runtime runs the same file, one thread.

| tokens | kind | ours ms | GFLOP/s | ONNX Runtime ms | times faster | memory KiB | ONNX Runtime's | error | ONNX Runtime's |
| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""


@dataclass(frozen=True)
class Case:
    """A number of keys, and what kind of queries there are."""

    tokens: int
    kind: str

    @property
    def name(self) -> str:
        """As the command line has it."""
        return f"{self.kind}-{self.tokens}"

    @property
    def queries(self) -> int:
        """How many there are."""
        return 1 if self.kind == "cache" else self.tokens

    @property
    def flops(self) -> float:
        """Additions and multiplications of both products; of what a causal mask leaves."""
        seen = (self.tokens + 1) / 2 if self.kind == "causal" else self.tokens
        return 4.0 * HEADS * WIDTH * self.queries * seen

    def model(self) -> onnx.ModelProto:
        """The ONNX file."""
        nodes = [
            helper.make_node("Transpose", ["k"], ["turned"], perm=[0, 1, 3, 2]),
            helper.make_node("MatMul", ["q", "turned"], ["products"]),
            helper.make_node("Mul", ["products", "scale"], ["scores"]),
        ]
        constants = {"scale": np.array(WIDTH**-0.5, np.float32)}
        if self.kind == "causal":
            hidden = np.triu(np.full((self.tokens, self.tokens), -np.inf, np.float32), 1)
            constants["mask"] = hidden
            nodes.append(helper.make_node("Add", ["scores", "mask"], ["masked"]))
        last = nodes[-1].output[0]
        nodes += [
            helper.make_node("Softmax", [last], ["weights"], axis=-1),
            helper.make_node("MatMul", ["weights", "v"], ["y"]),
        ]
        rows = {"q": self.queries, "k": self.tokens, "v": self.tokens}
        kind = TensorProto.FLOAT
        graph = helper.make_graph(
            nodes, "attention",
            [helper.make_tensor_value_info(n, kind, [1, HEADS, m, WIDTH]) for n, m in rows.items()],
            [helper.make_tensor_value_info("y", kind, [1, HEADS, self.queries, WIDTH])],
            [numpy_helper.from_array(a, n) for n, a in constants.items()],
        )  # fmt: skip
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)

    def inputs(self) -> dict[str, NumPyArray]:
        """Normally distributed queries, keys and values."""
        rng = np.random.default_rng(0)
        rows = {"q": self.queries, "k": self.tokens, "v": self.tokens}
        return {n: rng.standard_normal((1, HEADS, m, WIDTH), np.float32) for n, m in rows.items()}

    def exact(self, given: Mapping[str, NumPyArray]) -> NumPyArray:
        """The result in doubles, some queries at a time."""
        q, k, v = (given[n].astype(np.float64) for n in "qkv")
        parts: list[NumPyArray] = []
        for start in range(0, self.queries, BLOCK):
            scores = q[..., start : start + BLOCK, :] @ np.swapaxes(k, -1, -2) * WIDTH**-0.5
            if self.kind == "causal":
                later = np.arange(self.tokens) > start + np.arange(scores.shape[-2])[:, None]
                scores = np.where(later, -np.inf, scores)
            powers = np.exp(scores - scores.max(-1, keepdims=True))
            parts.append(powers @ v / powers.sum(-1, keepdims=True))
        return np.concatenate(parts, axis=-2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="plain-128, ...: those not measured, unless given")
    parser.add_argument("--compile", action="store_true", help="make kernels ready, time nothing")
    given = parser.parse_args(arguments)
    KEPT.mkdir(parents=True, exist_ok=True)
    cases = [Case(tokens, kind) for kind in KINDS for tokens in TOKENS]
    for case in cases:
        file = KEPT / f"{case.name}.json"
        if given.compile:
            compile_model(case.model())
        elif case.name in given.cases or not (given.cases or file.exists()):
            file.write_text(json.dumps(measured(case)))
    rows = {c: json.loads(f.read_text()) for c in cases if (f := KEPT / f"{c.name}.json").exists()}
    if rows and not given.compile:
        PAGE.write_text(page(rows))
    return any(row["ours"]["error"] > TOLERANCE for row in rows.values()) or not is_linear(rows)


def is_linear(rows: Mapping[Case, Mapping[str, Any]]) -> bool:
    """Whether the longest sequence takes no more memory for a token than a fourth of it does."""
    return all(
        row["ours"]["kib"] <= 1.25 * case.tokens / other.tokens * rows[other]["ours"]["kib"] + 64
        for case, row in rows.items()
        for other in rows
        if (other.kind, 4 * other.tokens) == (case.kind, case.tokens)
    )


def measured(case: Case) -> dict[str, Any]:
    """Times, memory and errors of a case."""
    given, file = case.inputs(), case.model()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(file.SerializeToString(), options)
    model = compile_model(file)
    calls: dict[str, Callable[[], Any]] = {
        "ours": partial(model.run, given, threads=1),
        "runtime": partial(session.run, None, given),
    }
    exact = case.exact(given)
    found: dict[str, Any] = {"steps": len(model.steps)}
    for name, call in calls.items():
        before = _peak(reset=True)
        (result,) = call()
        kib = max(0.0, _peak() - before - result.nbytes / 1024)
        error = float(np.abs(result - exact).max() / np.abs(exact).max())
        found[name] = {"kib": kib, "error": error, "ms": []}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            found[name]["ms"].append(_median(call))
    return found


def _peak(*, reset: bool = False) -> float:
    """KiB of memory that the process had at most since the last reset."""
    if reset:
        ctypes.CDLL(None).malloc_trim(0)  # what was freed before is the process's no more
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("VmHWM")))


def _median(call: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    taken: list[float] = []
    end = time.perf_counter() + SECONDS
    while not taken or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        taken.append(1e3 * (time.perf_counter() - start))
    return statistics.median(taken)


def page(rows: Mapping[Case, Mapping[str, Any]]) -> str:
    """The page."""
    text = HEAD
    for case, row in rows.items():
        ours, runtime = (statistics.median(row[n]["ms"]) for n in ("ours", "runtime"))
        cells = [
            f"{case.tokens:,}", case.kind, f"{ours:.3f}", f"{case.flops / ours / 1e6:.1f}",
            f"{runtime:.3f}", f"{runtime / ours:.2f}",
            *(f"{row[n]['kib']:,.0f}" for n in ("ours", "runtime")),
            *(f"{row[n]['error']:.1e}" for n in ("ours", "runtime")),
        ]  # fmt: skip
        text += f"| {' | '.join(cells)} |\n"
    kernels = sorted({row["steps"] for row in rows.values()})
    text += f"\nKernels of a model: {', '.join(map(str, kernels))}. "
    text += f"{cpu_name()}, vectors of {target().vector_bytes} bytes; ONNX Runtime "
    return text + f"{version('onnxruntime')}. `make peers-attention` measures anew.\n"


if __name__ == "__main__":
    raise SystemExit(main())
